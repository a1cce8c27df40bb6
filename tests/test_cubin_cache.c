/* The cache of compiled kernels: what it keeps, what it passes over, and which folder it takes. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/alloc.h"
#include "src/cubin_cache.h"
#include "tests/io_samples.h"

#define THING "machine code, or what passes for it"
#define HEADER_BYTES 56

static char folder[PATH_MAX]; /* the cache's */
static struct vf_cache cache;

static void begin(void)
{
    samples_begin();
    snprintf(folder, sizeof folder, "%s", sample_path("cache"));
    setenv("VOLFILTER_CACHE", folder, 1);
    vf_cache_open(&cache);
    cr_assert_str_eq(cache.path, folder);
}

TestSuite(cache, .init = begin, .fini = samples_end);

static struct vf_cache_key key_of(const char *text)
{
    struct vf_cache_key key;
    vf_cache_key_begin(&key, "test");
    vf_cache_key_add_text(&key, text);
    return key;
}

static void put(const char *text, const void *data, size_t bytes)
{
    const struct vf_cache_key key = key_of(text);
    vf_cache_put(&cache, &key, data, bytes);
}

/* Whether the cache has the thing; it fails when what it has is another. */
static bool has(const char *text, const void *expected, size_t expected_bytes)
{
    const struct vf_cache_key key = key_of(text);
    void *data;
    size_t bytes;
    if (!vf_cache_get(&cache, &key, &data, &bytes)) {
        cr_assert_null(data);
        return false;
    }
    cr_assert_eq(bytes, expected_bytes);
    cr_assert_arr_eq(data, expected, bytes);
    cr_assert_eq(((char *)data)[bytes], '\0');
    vf_free(data);
    return true;
}

static bool has_thing(const char *text)
{
    return has(text, THING, sizeof THING);
}

static void put_thing(const char *text)
{
    put(text, THING, sizeof THING);
}

static const char *path_of(const char *text)
{
    static char path[256];
    char name[VF_SHA256_DIGITS + 1];
    const struct vf_cache_key key = key_of(text);
    uint8_t digest[VF_SHA256_BYTES];
    vf_cache_key_digest(&key, digest);
    vf_sha256_text(digest, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void set_age(const char *path, time_t seconds)
{
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    cr_assert_eq(utimensat(AT_FDCWD, path, (const struct timespec[]){then, then}, 0), 0);
}

static size_t read_file(const char *path, unsigned char *data, size_t room)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    const size_t bytes = fread(data, 1, room, file);
    fclose(file);
    return bytes;
}

static int count_files(void)
{
    char command[128], text[16] = "";
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *pipe = popen(command, "r"); /* NOLINT: a name that mkdtemp made */
    cr_assert_not_null(fgets(text, sizeof text, pipe));
    pclose(pipe);
    return atoi(text);
}

/* ---- keeping ---- */

Test(cache, gives_back_what_was_put)
{
    static unsigned char large[3 << 20];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (unsigned char)(i * i >> 7);
    cr_assert(!has_thing("a"));
    put_thing("a");
    put("large", large, sizeof large);
    put("byte", "\0", 1);
    cr_assert(has_thing("a"));
    cr_assert(has("large", large, sizeof large));
    cr_assert(has("byte", "\0", 1));
    cr_assert(!has_thing("b"));
}

/* What is there is told without reading it, and without that being a use. */
Test(cache, tells_what_it_has)
{
    struct stat before, after;
    const struct vf_cache_key key = key_of("a");
    cr_assert(!vf_cache_has(&cache, &key));
    put_thing("a");
    set_age(path_of("a"), 1000);
    cr_assert_eq(stat(path_of("a"), &before), 0);
    cr_assert(vf_cache_has(&cache, &key));
    cr_assert_eq(stat(path_of("a"), &after), 0);
    cr_assert_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    cr_assert_eq(truncate(path_of("a"), before.st_size - 1), 0);
    cr_assert(!vf_cache_has(&cache, &key));
}

Test(cache, puts_in_place_of_what_is_there)
{
    put("a", "old", 3);
    put_thing("a");
    cr_assert(has_thing("a"));
    cr_assert_eq(count_files(), 1);
}

Test(cache, tells_kinds_and_parts_apart)
{
    struct vf_cache_key keys[4];
    uint8_t digest[4][VF_SHA256_BYTES];
    vf_cache_key_begin(&keys[0], "kind");
    vf_cache_key_begin(&keys[3], "kinda");
    keys[1] = keys[0];
    keys[2] = keys[0];
    vf_cache_key_add_text(&keys[0], "ab");
    vf_cache_key_add_text(&keys[0], "c");
    vf_cache_key_add_text(&keys[1], "a");
    vf_cache_key_add_text(&keys[1], "bc");
    vf_cache_key_add_text(&keys[2], "abc");
    vf_cache_key_add_text(&keys[3], "b");
    for (int i = 0; i < 4; i++)
        vf_cache_key_digest(&keys[i], digest[i]);
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++)
            cr_assert_neq(memcmp(digest[i], digest[k], VF_SHA256_BYTES), 0, "%d and %d", i, k);
}

Test(cache, keeps_neither_nothing_nor_too_much)
{
    put("nothing", "", 0);
    cache.bound = 100;
    put("much", (char[100]){1}, 100);
    cache.bound = VF_CACHE_BOUND;
    char *much = vf_alloc(VF_CACHE_ENTRY_BOUND + 1, 1, "test", &(struct vf_error){.text = ""});
    cr_assert_not_null(much);
    put("more", much, VF_CACHE_ENTRY_BOUND + 1);
    vf_free(much);
    cr_assert(!has("nothing", "", 0));
    cr_assert_neq(access(folder, F_OK), 0, "the folder was made for nothing");
}

/* ---- damage ---- */

Test(cache, passes_over_an_entry_with_any_byte_changed_and_mends_it)
{
    unsigned char file[256];
    put_thing("a");
    const size_t bytes = read_file(path_of("a"), file, sizeof file);
    cr_assert_eq(bytes, HEADER_BYTES + sizeof THING);
    for (size_t i = 0; i < bytes; i++) {
        for (int bit = 0; bit < 8; bit += 7) {
            file[i] ^= (unsigned char)(1 << bit);
            sample_put(path_of("a"), file, bytes);
            cr_assert(!has_thing("a"), "byte %zu, bit %d", i, bit);
            file[i] ^= (unsigned char)(1 << bit);
        }
    }
    put_thing("a");
    cr_assert(has_thing("a"));
}

Test(cache, passes_over_an_entry_of_another_length)
{
    unsigned char file[256] = {0};
    put_thing("a");
    const size_t bytes = read_file(path_of("a"), file, sizeof file);
    for (size_t length = 0; length < bytes; length++) {
        sample_put(path_of("a"), file, length);
        cr_assert(!has_thing("a"), "%zu of %zu bytes", length, bytes);
    }
    sample_put(path_of("a"), file, bytes + 1);
    cr_assert(!has_thing("a"));
    sample_put(path_of("a"), file, bytes);
    cr_assert(has_thing("a"));
}

/* The length that the file gives is looked at before memory is asked for. */
Test(cache, passes_over_an_entry_of_absurd_size)
{
    unsigned char file[256];
    put_thing("a");
    const size_t bytes = read_file(path_of("a"), file, sizeof file);
    memset(file + 16, 0xff, 8);
    sample_put(path_of("a"), file, bytes);
    cr_assert(!has_thing("a"));
    memset(file + 16, 0, 8);
    file[16 + 4] = 1; /* 4 GiB, and a file of that size, full of holes */
    sample_put(path_of("a"), file, bytes);
    cr_assert_eq(truncate(path_of("a"), HEADER_BYTES + ((off_t)4 << 30)), 0);
    cr_assert(!has_thing("a"));
}

Test(cache, passes_over_another_keys_entry)
{
    unsigned char file[256];
    put_thing("a");
    const size_t bytes = read_file(path_of("a"), file, sizeof file);
    sample_put(path_of("b"), file, bytes);
    cr_assert(!has_thing("b"));
}

Test(cache, passes_over_what_is_no_plain_file_of_ones_own)
{
    const char *const elsewhere = sample_path("elsewhere");
    put_thing("a");
    cr_assert_eq(rename(path_of("a"), elsewhere), 0);
    cr_assert_eq(symlink(elsewhere, path_of("a")), 0);
    cr_assert(!has_thing("a"), "a link");
    put_thing("a");
    cr_assert(has_thing("a"), "a link is replaced");
    cr_assert_eq(chmod(path_of("a"), 0620), 0);
    cr_assert(!has_thing("a"), "others may write it");
    cr_assert_eq(unlink(path_of("a")), 0);
    cr_assert_eq(mkfifo(path_of("a"), 0600), 0);
    cr_assert(!has_thing("a"), "a pipe");
    cr_assert_eq(unlink(path_of("a")), 0);
    cr_assert_eq(mkdir(path_of("a"), 0700), 0);
    cr_assert(!has_thing("a"), "a folder");
    put_thing("a");
    cr_assert(!has_thing("a"), "a folder stays");
    cr_assert_eq(count_files(), 1, "the temporary is gone");
}

/* ---- the folder ---- */

Test(cache, folder_is_made_for_the_user_alone)
{
    struct stat is;
    umask(0);
    put_thing("a");
    cr_assert_eq(stat(folder, &is), 0);
    cr_assert_eq(is.st_mode & 0777, 0700);
    cr_assert_eq(stat(path_of("a"), &is), 0);
    cr_assert_eq(is.st_mode & 0777, 0600);
}

Test(cache, folder_is_made_with_all_that_it_lies_in)
{
    static const char *const folders[] = {"a/b/c", "d//e/f/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        setenv("VOLFILTER_CACHE", sample_path(folders[i]), 1);
        vf_cache_open(&cache);
        put_thing("a");
        cr_assert(has_thing("a"), "%s", folders[i]);
    }
}

Test(cache, folder_that_others_may_write_to_is_not_used)
{
    static const mode_t open_modes[] = {0720, 0702, 0777, 01777};
    put_thing("a");
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        cr_assert_eq(chmod(folder, open_modes[i]), 0);
        put_thing("b");
        cr_assert(!has_thing("a"), "mode %o", (unsigned)open_modes[i]);
        cr_assert_eq(count_files(), 1, "mode %o", (unsigned)open_modes[i]);
    }
    cr_assert_eq(chmod(folder, 0755), 0);
    cr_assert(has_thing("a"));
    cr_assert(!has_thing("b"));
}

Test(cache, folder_behind_a_link_or_no_folder_is_not_used)
{
    const char *const other = sample_path("other");
    int entries;
    size_t bytes;
    cr_assert_eq(mkdir(other, 0700), 0);
    cr_assert_eq(symlink(other, folder), 0);
    put_thing("a");
    cr_assert(!has_thing("a"));
    cr_assert_eq(rmdir(other), 0, "something was put behind the link");
    cr_assert_eq(unlink(folder), 0);
    sample_put(folder, "x", 1);
    put_thing("a");
    cr_assert(!has_thing("a"));
    vf_cache_measure(&cache, &entries, &bytes);
    cr_assert_eq(entries, 0);
    cr_assert_eq(bytes, 0);
}

Test(cache, folder_of_another_owner_is_not_used)
{
    if (geteuid() != 0)
        cr_skip_test("only root can make one");
    put_thing("a");
    cr_assert_eq(chown(folder, 12345, 12345), 0);
    cr_assert(!has_thing("a"));
    cr_assert_eq(chown(folder, 0, 0), 0);
    cr_assert_eq(chown(path_of("a"), 12345, 12345), 0);
    cr_assert(!has_thing("a"));
}

Test(cache, place_comes_from_the_environment)
{
    char long_path[PATH_MAX + 8];
    setenv("HOME", sample_path("home"), 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("VOLFILTER_CACHE", "", 1);
    vf_cache_open(&cache);
    cr_assert_str_eq(cache.path, "", "none is wanted");
    put_thing("a");
    cr_assert(!has_thing("a"));

    unsetenv("VOLFILTER_CACHE");
    vf_cache_open(&cache);
    cr_assert_str_eq(cache.path, "/xdg/volfilter");

    setenv("XDG_CACHE_HOME", "relative", 1);
    vf_cache_open(&cache);
    cr_assert_str_eq(cache.path, sample_path("home/.cache/volfilter"));
    put_thing("a");
    cr_assert(has_thing("a"), "~/.cache is made too");

    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    vf_cache_open(&cache);
    cr_assert_str_eq(cache.path, "");

    memset(long_path, 'x', sizeof long_path);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    setenv("VOLFILTER_CACHE", long_path, 1);
    vf_cache_open(&cache);
    cr_assert_str_eq(cache.path, "");
}

/* ---- the size ---- */

Test(cache, longest_unused_entries_go_when_the_folder_is_full)
{
    static const char *const names[] = {"0", "1", "2", "3"};
    char block[1000] = "block";
    int entries;
    size_t bytes;
    cache.bound = 4 * (sizeof block + HEADER_BYTES);
    for (int i = 0; i < 4; i++) {
        put(names[i], block, sizeof block);
        set_age(path_of(names[i]), 1000 - i);
    }
    vf_cache_measure(&cache, &entries, &bytes);
    cr_assert_eq(entries, 4);
    cr_assert_eq(bytes, cache.bound);
    cr_assert(has("0", block, sizeof block), "which makes it the last used one");
    put("4", block, sizeof block);
    cr_assert(has("0", block, sizeof block));
    cr_assert(!has("1", block, sizeof block));
    cr_assert(has("2", block, sizeof block));
    cr_assert(has("3", block, sizeof block));
    cr_assert(has("4", block, sizeof block));
    /* The clock was set back: the new entry seems the oldest, and still stays. */
    for (int i = 0; i < 4; i++)
        if (i != 1)
            set_age(path_of(names[i]), -1000);
    put("5", block, sizeof block);
    cr_assert(has("5", block, sizeof block));
}

Test(cache, leaves_strange_files_alone_and_clears_dead_writers_away)
{
    char strange[128], old[128], fresh[128], future[128];
    snprintf(strange, sizeof strange, "%s/notes.txt", folder);
    snprintf(old, sizeof old, "%s/.new-0123456789abcdef", folder);
    snprintf(fresh, sizeof fresh, "%s/.new-fedcba9876543210", folder);
    /* Written before the clock was set back. */
    snprintf(future, sizeof future, "%s/.new-0000000000000000", folder);
    put_thing("a");
    sample_put(strange, "x", 1);
    sample_put(future, "x", 1);
    sample_put(old, "x", 1);
    sample_put(fresh, "x", 1);
    set_age(strange, 100000);
    set_age(old, 100000);
    set_age(future, -100000);
    cache.bound = sizeof THING + HEADER_BYTES;
    put_thing("b");
    cr_assert(has_thing("b"));
    cr_assert(!has_thing("a"));
    cr_assert_eq(access(strange, F_OK), 0);
    cr_assert_neq(access(old, F_OK), 0);
    cr_assert_neq(access(future, F_OK), 0);
    cr_assert_eq(access(fresh, F_OK), 0);
}

/* ---- others at the same time ---- */

/* Writers put things of their own under one key, of different lengths; whoever looks sees one of them whole.
 */
static void fill(unsigned char *data, size_t bytes, int writer)
{
    memset(data, writer, bytes);
}

static void write_often(int writer)
{
    static unsigned char data[1 << 16];
    const struct vf_cache_key key = key_of("shared");
    const size_t bytes = sizeof data - 1000 * (size_t)writer;
    fill(data, bytes, writer);
    for (int i = 0; i < 200; i++)
        vf_cache_put(&cache, &key, data, bytes);
    _exit(0);
}

static int read_often(void)
{
    const struct vf_cache_key key = key_of("shared");
    int found = 0;
    for (int i = 0; i < 1000; i++) {
        void *data;
        size_t bytes;
        if (!vf_cache_get(&cache, &key, &data, &bytes))
            continue;
        const unsigned char *at = data;
        cr_assert_eq(bytes, (1 << 16) - 1000 * (size_t)at[0]);
        for (size_t k = 0; k < bytes; k++)
            cr_assert(at[k] == at[0], "torn at %zu", k);
        vf_free(data);
        found++;
    }
    return found;
}

Test(cache, is_safe_among_processes)
{
    enum { WRITERS = 4 };
    pid_t writers[WRITERS];
    put("shared", (unsigned char[1 << 16]){0}, 1 << 16); /* writer 0's */
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        cr_assert(writers[i] >= 0);
        if (writers[i] == 0)
            write_often(i);
    }
    cr_assert_eq(read_often(), 1000, "there is one at every moment");
    for (int i = 0; i < WRITERS; i++) {
        int result;
        cr_assert_eq(waitpid(writers[i], &result, 0), writers[i]);
        cr_assert(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    }
    cr_assert_eq(count_files(), 1);
}
