#include "cubin_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "alloc.h"
#include "descriptor.h"

/* What an entry's file begins with; the thing follows, and nothing after it. Numbers are the machine's own: a
 * folder is not carried to another, and a foreign version number is none of ours. */
struct header {
    char magic[8];
    uint32_t version;
    uint32_t crc; /* of the header with 0 here, then of the thing */
    uint64_t bytes;
    uint8_t digest[VF_SHA256_BYTES];
};
_Static_assert(sizeof(struct header) == 24 + VF_SHA256_BYTES, "no padding: all bytes are checked");

static const char magic[8] = {'v', 'f', 'c', 'a', 'c', 'h', 'e', '\n'};
enum { VERSION = 1 };

/* A file that is being written; one whose writer died is removed when it is this old, or as far from now in a
 * future that the clock was set back from. */
#define TEMPORARY ".new-"
#define TEMPORARY_SECONDS 3600

/* ---- the folder ---- */

/* False when the path is too long. */
static bool set_path(struct vf_cache *cache, const char *folder, const char *below)
{
    return snprintf(cache->path, sizeof cache->path, "%s%s", folder, below) < (int)sizeof cache->path;
}

void vf_cache_open(struct vf_cache *cache)
{
    const char *own = getenv("VOLFILTER_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool fits = true;
    cache->path[0] = '\0';
    cache->bound = VF_CACHE_BOUND;
    cache->owner = geteuid();
    if (own != NULL)
        fits = set_path(cache, own, "");
    else if (xdg != NULL && xdg[0] == '/') /* the specification: relative ones are passed over */
        fits = set_path(cache, xdg, "/volfilter");
    else if (home != NULL && home[0] == '/')
        fits = set_path(cache, home, "/.cache/volfilter");
    if (!fits)
        cache->path[0] = '\0';
}

/* What others can write, they could fill with code. */
static bool is_trusted(const struct vf_cache *cache, const struct stat *is)
{
    return (is->st_uid == geteuid() || is->st_uid == cache->owner) &&
           (is->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder's descriptor; -1: there is none to use. */
static int open_folder(const struct vf_cache *cache)
{
    struct stat is;
    if (cache->path[0] == '\0')
        return -1;
    const int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -1;
    if (fstat(folder, &is) == 0 && is_trusted(cache, &is))
        return folder;
    close(folder);
    return -1;
}

/* With the folders that it lies in, as ~/.cache may be missing too. Whether all went well is seen when the
 * folder is opened. */
static void make_folder(const struct vf_cache *cache)
{
    char path[sizeof cache->path];
    memcpy(path, cache->path, sizeof path);
    if (path[0] == '\0')
        return;
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, S_IRWXU);
        *slash = '/';
    }
    mkdir(path, S_IRWXU);
}

/* ---- keys ---- */

void vf_cache_key_begin(struct vf_cache_key *key, const char *kind)
{
    vf_sha256_begin(&key->hash);
    vf_cache_key_add_text(key, kind);
}

void vf_cache_key_add_text(struct vf_cache_key *key, const char *part)
{
    const uint64_t length = strlen(part);
    vf_sha256_add(&key->hash, &length, sizeof length);
    vf_sha256_add(&key->hash, part, length);
}

void vf_cache_key_digest(const struct vf_cache_key *key, uint8_t digest[VF_SHA256_BYTES])
{
    struct vf_sha256 hash = key->hash;
    vf_sha256_end(&hash, digest);
}

/* ---- reading ---- */

static bool read_all(int fd, void *to, size_t bytes)
{
    return vf_read_up_to(fd, to, bytes, true) == (ssize_t)bytes;
}

static uint32_t checksum(const struct header *header, const void *data)
{
    struct header plain = *header;
    plain.crc = 0;
    const uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)&plain, sizeof plain);
    return (uint32_t)crc32(crc, data, (uInt)header->bytes);
}

/* Whether the open file can be an entry of the cache's own making with this digest. */
static bool read_header(const struct vf_cache *cache, int fd, const uint8_t digest[VF_SHA256_BYTES],
                        struct header *header)
{
    struct stat is;
    return fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is_trusted(cache, &is) &&
           read_all(fd, header, sizeof *header) && memcmp(header->magic, magic, sizeof magic) == 0 &&
           header->version == VERSION && memcmp(header->digest, digest, VF_SHA256_BYTES) == 0 &&
           header->bytes > 0 && header->bytes <= VF_CACHE_ENTRY_BOUND &&
           (uint64_t)is.st_size == sizeof *header + header->bytes;
}

static bool read_entry(const struct vf_cache *cache, int fd, const uint8_t digest[VF_SHA256_BYTES],
                       void **data, size_t *bytes)
{
    struct header header;
    struct vf_error ignored;
    if (!read_header(cache, fd, digest, &header))
        return false;
    const size_t length = (size_t)header.bytes;
    char *thing = vf_alloc(length + 1, 1, "cached entry", &ignored);
    if (thing == NULL)
        return false;
    if (!read_all(fd, thing, length) || checksum(&header, thing) != header.crc) {
        vf_free(thing);
        return false;
    }
    thing[length] = '\0';
    *data = thing;
    *bytes = length;
    return true;
}

/* The file that would be the key's entry; -1: there is none. */
static int open_entry(const struct vf_cache *cache, const struct vf_cache_key *key,
                      uint8_t digest[VF_SHA256_BYTES])
{
    char name[VF_SHA256_DIGITS + 1];
    const int folder = open_folder(cache);
    if (folder < 0)
        return -1;
    vf_cache_key_digest(key, digest);
    vf_sha256_text(digest, name);
    /* O_NONBLOCK: a pipe put in its place is not waited for. */
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(folder);
    return fd;
}

bool vf_cache_get(const struct vf_cache *cache, const struct vf_cache_key *key, void **data, size_t *bytes)
{
    uint8_t digest[VF_SHA256_BYTES];
    *data = NULL;
    *bytes = 0;
    const int fd = open_entry(cache, key, digest);
    if (fd < 0)
        return false;
    const bool found = read_entry(cache, fd, digest, data, bytes);
    if (found)
        futimens(fd, NULL); /* the last use, which mounts without access times would not tell */
    close(fd);
    return found;
}

bool vf_cache_has(const struct vf_cache *cache, const struct vf_cache_key *key)
{
    uint8_t digest[VF_SHA256_BYTES];
    struct header header;
    const int fd = open_entry(cache, key, digest);
    if (fd < 0)
        return false;
    const bool found = read_header(cache, fd, digest, &header);
    close(fd);
    return found;
}

/* ---- the size ---- */

struct entry {
    char name[VF_SHA256_DIGITS + 1];
    size_t bytes;
    struct timespec used;
};

struct listing {
    struct entry *entry; /* owned */
    int count;
    size_t room;
    size_t bytes; /* of all */
};

static bool is_entry_name(const char *name)
{
    return strlen(name) == VF_SHA256_DIGITS && strspn(name, "0123456789abcdef") == VF_SHA256_DIGITS;
}

static void list_entry(struct listing *listing, const char *name, const struct stat *is)
{
    struct vf_error ignored;
    struct entry *grown = vf_grow(listing->entry, (size_t)listing->count, &listing->room, sizeof *grown,
                                  "list of cached entries", &ignored);
    if (grown == NULL)
        return;
    listing->entry = grown;
    struct entry *entry = &listing->entry[listing->count++];
    memcpy(entry->name, name, sizeof entry->name);
    entry->bytes = (size_t)is->st_size;
    entry->used = is->st_mtim;
    listing->bytes += entry->bytes;
}

static void list_entries(int folder, struct listing *listing)
{
    memset(listing, 0, sizeof *listing);
    const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *walk = own >= 0 ? fdopendir(own) : NULL;
    if (walk == NULL && own >= 0)
        close(own);
    if (walk == NULL)
        return;
    struct dirent *found;
    while ((found = readdir(walk)) != NULL) {
        struct stat is;
        const bool is_temporary = strncmp(found->d_name, TEMPORARY, strlen(TEMPORARY)) == 0;
        if (!is_temporary && !is_entry_name(found->d_name))
            continue;
        if (fstatat(folder, found->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(is.st_mode))
            continue;
        if (!is_temporary)
            list_entry(listing, found->d_name, &is);
        else if (labs(time(NULL) - is.st_mtim.tv_sec) > TEMPORARY_SECONDS)
            unlinkat(folder, found->d_name, 0);
    }
    closedir(walk);
}

static int by_use(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Entries go, the longest unused first, until the rest is within the bound; `kept` is new and stays. */
static void trim(int folder, size_t bound, const char *kept)
{
    struct listing listing;
    list_entries(folder, &listing);
    if (listing.bytes > bound)
        qsort(listing.entry, (size_t)listing.count, sizeof *listing.entry, by_use);
    for (int i = 0; i < listing.count && listing.bytes > bound; i++) {
        if (strcmp(listing.entry[i].name, kept) == 0)
            continue;
        unlinkat(folder, listing.entry[i].name, 0);
        listing.bytes -= listing.entry[i].bytes;
    }
    vf_free(listing.entry);
}

const char *vf_cache_fault(const struct vf_cache *cache)
{
    struct stat is;
    if (cache->path[0] == '\0' || lstat(cache->path, &is) != 0)
        return NULL;
    if (!S_ISDIR(is.st_mode))
        return S_ISLNK(is.st_mode) ? "it is a symbolic link" : "it is not a directory";
    return is_trusted(cache, &is) ? NULL : "it belongs to another user, or others can write to it";
}

enum vf_status vf_cache_make(const struct vf_cache *cache, struct vf_error *error)
{
    make_folder(cache);
    const char *fault = vf_cache_fault(cache);
    if (cache->path[0] == '\0')
        return vf_fail(error, VF_FAILED,
                       "there is no cache, because VOLFILTER_CACHE is empty or HOME is not set; set "
                       "VOLFILTER_CACHE to a directory of your own");
    if (fault == NULL && access(cache->path, W_OK | X_OK) != 0)
        fault = vf_cause(errno);
    return fault == NULL
               ? VF_OK
               : vf_fail(error, VF_FAILED,
                         "nothing can be kept in %.600s: %s; set VOLFILTER_CACHE to a directory of your own",
                         cache->path, fault);
}

void vf_cache_measure(const struct vf_cache *cache, int *entries, size_t *bytes)
{
    *entries = 0;
    *bytes = 0;
    const int folder = open_folder(cache);
    if (folder < 0)
        return;
    struct listing listing;
    list_entries(folder, &listing);
    *entries = listing.count;
    *bytes = listing.bytes;
    vf_free(listing.entry);
    close(folder);
}

/* ---- writing ---- */

/* Under another name first: whoever looks meanwhile, and whoever else writes it, sees a whole entry or none.
 */
static bool write_entry(int folder, const char *name, const struct header *header, const void *data)
{
    uint64_t number;
    char temporary[sizeof TEMPORARY + 16];
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return false;
    snprintf(temporary, sizeof temporary, TEMPORARY "%016llx", (unsigned long long)number);
    const int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool written =
        vf_write_all(fd, header, sizeof *header, true) && vf_write_all(fd, data, (size_t)header->bytes, true);
    written = close(fd) == 0 && written;
    if (written && renameat(folder, temporary, folder, name) == 0)
        return true;
    unlinkat(folder, temporary, 0);
    return false;
}

bool vf_cache_put(const struct vf_cache *cache, const struct vf_cache_key *key, const void *data,
                  size_t bytes)
{
    struct header header = {.version = VERSION, .bytes = bytes};
    char name[VF_SHA256_DIGITS + 1];
    if (bytes == 0 || bytes > VF_CACHE_ENTRY_BOUND || sizeof header + bytes > cache->bound)
        return false;
    make_folder(cache);
    const int folder = open_folder(cache);
    if (folder < 0)
        return false;
    memcpy(header.magic, magic, sizeof magic);
    vf_cache_key_digest(key, header.digest);
    header.crc = checksum(&header, data);
    vf_sha256_text(header.digest, name);
    const bool kept = write_entry(folder, name, &header, data);
    if (kept)
        trim(folder, cache->bound, name);
    close(folder);
    return kept;
}
