#include "device.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../sanitized.h"

struct vf_cuda *device_open(void)
{
    struct vf_cuda *cuda;
    struct vf_error error;
    cr_assert_eq(vf_cuda_open(&cuda, &error), VF_OK, "%s", error.text);
    cuda->strict = true;
    cuda->frees_at_once = true;
    return cuda;
}

static unsigned hash_of(unsigned hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

bool device_takes(const char *scheme, const char *what, unsigned number)
{
    static bool any;
    const char *share = getenv("CUDA_TESTS_SHARE");
    const unsigned one_in = share != NULL ? (unsigned)atoi(share) : 1;
    const unsigned hash = hash_of(hash_of((2166136261u ^ number) * 16777619u, scheme), what);
    const bool is_first = !any && !UNDER_SANITIZERS;
    any = true;
    return is_first || one_in <= 1 || (hash >> 8) % one_in == 0;
}

static void compare(const struct pipeline *p, const struct vf_volume *got, const struct vf_volume *right)
{
    const size_t element = vf_type_size(right->type), count = volume_size(right) / element;
    const char *a = got->data, *b = right->data;
    cr_assert_eq(volume_size(got), volume_size(right));
    for (size_t i = 0; i < count; i++)
        cr_assert(memcmp(a + i * element, b + i * element, element) == 0,
                  "%s by '%s', boundary %d, %s %tdx%tdx%td to %s: element %zu of %zu differs", p->chain,
                  p->scheme != NULL ? p->scheme : "plan", (int)p->boundary, vf_type_name(p->type), p->nx,
                  p->ny, p->nz, vf_type_name(p->result_type), i, count);
}

void device_check(const struct pipeline *p, struct vf_cuda *cuda, const char *const *scheme)
{
    struct pipeline run = *p;
    struct vf_volume in = pipeline_input(p, 1);
    run.scheme = "reference";
    struct vf_volume right = pipeline_run(&run, &in, NULL);
    run.cuda = cuda;
    for (; *scheme != NULL; scheme++) {
        if (!device_takes(*scheme, p->chain, (unsigned)p->boundary * 16 + (unsigned)p->type))
            continue;
        run.scheme = (*scheme)[0] != '\0' ? *scheme : NULL;
        struct vf_volume got = pipeline_run(&run, &in, NULL);
        cr_assert_eq(cuda->refused_count, 0, "%s by '%s': a kernel does not compile", p->chain, *scheme);
        compare(&run, &got, &right);
        vf_volume_free(&got);
    }
    vf_volume_free(&right);
    vf_volume_free(&in);
}

bool next_call(FILE *log, int *number, char name[64])
{
    char counted[16];
    const bool found = fscanf(log, "%15s %63s", counted, name) == 2;
    *number = found ? atoi(counted) : 0;
    return found;
}
