#include "cuda_memory.h"

#include "alloc.h"

/* Runs that are on their way may use it. */
static void free_memory(struct vf_cuda *cuda, CUdeviceptr address)
{
    if (cuda->stream != NULL)
        cuda->api.cuStreamSynchronize(cuda->stream);
    cuda->api.cuMemFree(address);
}

static bool take_kept(struct vf_cuda *cuda, CUdeviceptr *address, size_t bytes)
{
    for (int i = 0; i < cuda->block_count; i++) {
        struct vf_cuda_block *block = &cuda->block[i];
        if (block->used || block->bytes != bytes)
            continue;
        block->used = true;
        *address = block->address;
        return true;
    }
    return false;
}

/* What cannot be listed is freed when it is given back. */
static void list(struct vf_cuda *cuda, CUdeviceptr address, size_t bytes)
{
    struct vf_error ignored;
    struct vf_cuda_block *grown = vf_grow(cuda->block, (size_t)cuda->block_count, &cuda->block_room,
                                          sizeof *grown, "list of device memory", &ignored);
    if (grown == NULL)
        return;
    cuda->block = grown;
    cuda->block[cuda->block_count++] = (struct vf_cuda_block){address, bytes, true};
}

CUresult vf_cuda_take(struct vf_cuda *cuda, CUdeviceptr *address, size_t bytes)
{
    if (take_kept(cuda, address, bytes))
        return CUDA_SUCCESS;
    CUresult result = cuda->api.cuMemAlloc(address, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && vf_cuda_kept_bytes(cuda) > 0) {
        vf_cuda_free_kept(cuda);
        result = cuda->api.cuMemAlloc(address, bytes);
    }
    if (result == CUDA_SUCCESS && !cuda->frees_at_once)
        list(cuda, *address, bytes);
    return result;
}

void vf_cuda_give_back(struct vf_cuda *cuda, CUdeviceptr address)
{
    for (int i = 0; i < cuda->block_count; i++)
        if (cuda->block[i].address == address) {
            cuda->block[i].used = false;
            return;
        }
    if (address != 0)
        free_memory(cuda, address);
}

size_t vf_cuda_kept_bytes(const struct vf_cuda *cuda)
{
    size_t bytes = 0;
    for (int i = 0; i < cuda->block_count; i++)
        bytes += cuda->block[i].used ? 0 : cuda->block[i].bytes;
    return bytes;
}

void vf_cuda_free_kept(struct vf_cuda *cuda)
{
    int used = 0;
    for (int i = 0; i < cuda->block_count; i++)
        if (cuda->block[i].used)
            cuda->block[used++] = cuda->block[i];
        else
            free_memory(cuda, cuda->block[i].address);
    cuda->block_count = used;
}

void *vf_cuda_host_room(struct vf_cuda *cuda, size_t bytes, struct vf_error *error)
{
    struct vf_cuda_host *host = &cuda->host;
    if (host->data != NULL && bytes <= host->bytes)
        return host->data;
    vf_cuda_free_host(cuda);
    host->pinned = cuda->api.cuMemHostAlloc(&host->data, bytes, 0) == CUDA_SUCCESS;
    if (!host->pinned)
        host->data = vf_alloc(bytes, 1, "buffers for transfers", error);
    host->bytes = host->data != NULL ? bytes : 0;
    return host->data;
}

void vf_cuda_free_host(struct vf_cuda *cuda)
{
    if (cuda->host.pinned)
        cuda->api.cuMemFreeHost(cuda->host.data);
    else
        vf_free(cuda->host.data);
    cuda->host = (struct vf_cuda_host){0};
}
