/* The first input less the second one. */
VF_STENCIL(minus)
{
    PUT(0, AT(0, 0, 0, 0) - AT(1, 0, 0, 0));
}
