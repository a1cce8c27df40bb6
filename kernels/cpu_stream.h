/* Results to memory past the caches, for the tables of rows. STORE_REAL is what stores the compute type. */
#ifndef VF_CPU_STREAM_H
#define VF_CPU_STREAM_H

#include "kernels/cpu_vector.h"

/* What is converted before it is streamed: small enough for the nearest cache. */
#define STREAM_BYTES 2048

/* Whole cache lines, to where one begins; returns how many elements that were. */
static ptrdiff_t stream_lines(void (*store)(const void *, void *, ptrdiff_t), size_t size, const REAL *from,
                              char *to, ptrdiff_t n)
{
    _Alignas(VF_VECTOR_BYTES) char line[STREAM_BYTES];
    const ptrdiff_t in_line = VF_ALIGNMENT / (ptrdiff_t)size, whole = n / in_line * in_line;
    if (store == STORE_REAL) {
        vf_vectors_stream(to, from, whole);
        return whole;
    }
    for (ptrdiff_t i = 0, part; i < whole; i += part) {
        part = whole - i < STREAM_BYTES / (ptrdiff_t)size ? whole - i : STREAM_BYTES / (ptrdiff_t)size;
        store(from + i, line, part);
        for (size_t at = 0; at < (size_t)part * size; at += VF_VECTOR_BYTES)
            vf_vector_stream(to + (size_t)i * size + at,
                             vf_vector_load((const REAL *)(const void *)(line + at)));
    }
    return whole;
}

/* Stores as `store` does, but past the caches; the ends that fill no cache line go through them. A line that
 * is stored in both ways would be written back between. */
static void stream(void (*store)(const void *, void *, ptrdiff_t), size_t size, const void *in, void *out,
                   ptrdiff_t n)
{
    const REAL *from = in;
    char *to = out;
    const ptrdiff_t before = (ptrdiff_t)(-(size_t)to % VF_ALIGNMENT / size), head = before < n ? before : n;
    store(from, to, head);
    const ptrdiff_t done = head + stream_lines(store, size, from + head, to + (size_t)head * size, n - head);
    store(from + done, to + (size_t)done * size, n - done);
}

#endif
