/* The kernel: how tiles are dealt to blocks. Included at the end of every scheme's file. */

VF_INLINE void vf_numbered_tile(const VfArgs &args, long long tile)
{
    const long long row = tile / args.tiles_x;
    vf_tile(args, (int)(tile % args.tiles_x), (int)(row % args.tiles_y), (int)(row / args.tiles_y));
}

/* A scheme may say how many blocks an SM should hold at least: without, the compiler sometimes spills. */
#ifdef VF_LEAST_BLOCKS
#define VF_BOUNDS VF_THREADS, VF_LEAST_BLOCKS
#else
#define VF_BOUNDS VF_THREADS
#endif

extern "C" __global__ void __launch_bounds__(VF_BOUNDS) vf_kernel(const __grid_constant__ VfArgs args)
{
    vf_wait_for_earlier_kernels();
#if VF_VIRTUAL
    const long long tiles = (long long)args.tiles_x * args.tiles_y * args.tiles_z;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        vf_numbered_tile(args, tile);
        /* Nobody overwrites what others still read. */
        __syncthreads();
    }
#elif VF_FLAT_GRID
    vf_numbered_tile(args, blockIdx.x);
#else
    vf_tile(args, blockIdx.x, blockIdx.y, blockIdx.z);
#endif
}

VF_ENTRY(VfArgs)
