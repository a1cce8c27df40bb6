/* A folder of things that are dear to make, kept from run to run: compiled kernels. One file an entry, named
 * by the SHA-256 of all that the thing was made from, so that an entry is never out of date and never
 * mistaken for another. A cache may fail to find or to keep, and nothing else: what is damaged, foreign or
 * not ours is passed over in silence. Safe among threads and processes. */
#ifndef VF_CUBIN_CACHE_H
#define VF_CUBIN_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "error.h"
#include "sha256.h"

#define VF_CACHE_BOUND ((size_t)256 << 20)      /* bytes of the folder */
#define VF_CACHE_ENTRY_BOUND ((size_t)64 << 20) /* of an entry */

struct vf_cache {
    char path[PATH_MAX]; /* "": no cache, every look finds nothing */
    size_t bound;        /* bytes of all entries together; the longest unused ones go first */
    uid_t owner;         /* who else than the user may have made the folder and what is in it */
};

/* What a thing is made from, part by part; parts do not run together. A plain value: a copy of a key is the
 * beginning of others. */
struct vf_cache_key {
    struct vf_sha256 hash;
};

/* The user's cache: $VOLFILTER_CACHE (empty: none), else $XDG_CACHE_HOME/volfilter, else
 * $HOME/.cache/volfilter. The folder is made, for the user alone, when there is something to keep; one of
 * another owner, or that others may write to, is not used. */
void vf_cache_open(struct vf_cache *cache);

/* `kind` keeps things apart that are made from the same parts. */
void vf_cache_key_begin(struct vf_cache_key *key, const char *kind);
void vf_cache_key_add_text(struct vf_cache_key *key, const char *part);
void vf_cache_key_digest(const struct vf_cache_key *key, uint8_t digest[VF_SHA256_BYTES]);

/* Whether the thing is there: *data, freed with vf_free, holds its *bytes and a 0 after them. */
bool vf_cache_get(const struct vf_cache *cache, const struct vf_cache_key *key, void **data, size_t *bytes);

/* Whether the thing is there, as far as can be told without reading it; that is no use of it. */
bool vf_cache_has(const struct vf_cache *cache, const struct vf_cache_key *key);

/* Keeps the thing, in place of what is there; empty things and those over VF_CACHE_ENTRY_BOUND are not kept.
 * False where it is not kept. */
bool vf_cache_put(const struct vf_cache *cache, const struct vf_cache_key *key, const void *data,
                  size_t bytes);

/* Why a folder that is there is not used; NULL: it is, or it will be made. */
const char *vf_cache_fault(const struct vf_cache *cache);

/* Makes the folder where it is missing. Fails where there can be none, or nothing can be written into it,
 * with what to do. */
enum vf_status vf_cache_make(const struct vf_cache *cache, struct vf_error *error);

/* What the folder holds. */
void vf_cache_measure(const struct vf_cache *cache, int *entries, size_t *bytes);

#endif
