/* NVRTC as far as volfilter uses it: a text becomes a shared object for this machine's CPU, which the fake
 * driver loads. The compiler is FAKE_NVRTC_CXX of the environment, else the one that built this, which with
 * FAKE_NVRTC_PLAIN takes the flags of a build without sanitizers. What the latter makes is kept in the
 * directory FAKE_NVRTC_KEPT, and taken from there by who asks for the same again. Options other than macros
 * mean nothing to it. With FAKE_CUDA_KEEP the texts and objects stay in the directory for temporary files,
 * for a debugger to find. With FAKE_NVRTC_AWAY it is as good as not there. FAKE_NVRTC_SIGNAL=N sends the
 * process a signal when it is to compile. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "src/cuda_driver.h"

#define DECLARE(name, exported, parameters) \
    __attribute__((visibility("default"))) nvrtcResult exported parameters;
VF_NVRTC_FUNCTIONS(DECLARE)

enum {
    OUT_OF_MEMORY = 1,
    INVALID_INPUT = 3,
    INVALID_PROGRAM = 4,
    COMPILATION = 6,
    INTERNAL_ERROR = 11,
    MOST_WORDS = 256,
    MOST_PATH = 4096,
};

/* The directory holds text.cpp, the headers under include/, the log and the object. The key is of the texts.
 */
struct _nvrtcProgram {
    char directory[MOST_PATH];
    uint64_t key;
    char *log, *object;
    size_t log_bytes, object_bytes;
};

extern char **environ;

/* ---- files ---- */

static int path_in(const struct _nvrtcProgram *p, const char *name, char path[MOST_PATH])
{
    const int length = snprintf(path, MOST_PATH, "%s/%s", p->directory, name);
    return length > 0 && length < MOST_PATH;
}

static int make_parents(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made)
            return 0;
    }
    return 1;
}

/* FNV-1a, of a text and the 0 that ends it. */
static void add_to_key(uint64_t *key, const char *text)
{
    do
        *key = (*key ^ (unsigned char)*text) * 0x100000001b3;
    while (*text++);
}

/* `before` comes first, then `text`. */
static int write_text(struct _nvrtcProgram *p, const char *name, const char *before, const char *text)
{
    char path[MOST_PATH];
    if (!path_in(p, name, path) || !make_parents(path, strlen(p->directory) + 1))
        return 0;
    FILE *const file = fopen(path, "w");
    if (!file)
        return 0;
    add_to_key(&p->key, before);
    add_to_key(&p->key, text);
    const int written = fputs(before, file) >= 0 && fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* The bytes and a 0 after them; NULL when there is no such file. */
static char *read_file(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "rb");
    struct stat status;
    if (!file)
        return NULL;
    char *data = fstat(fileno(file), &status) == 0 ? malloc((size_t)status.st_size + 1) : NULL;
    if (data) {
        *bytes = fread(data, 1, (size_t)status.st_size, file);
        data[*bytes] = '\0';
    }
    fclose(file);
    return data;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

static void destroy(struct _nvrtcProgram *p)
{
    if (!getenv("FAKE_CUDA_KEEP"))
        nftw(p->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(p->log);
    free(p->object);
    free(p);
}

/* ---- the compiler ---- */

/* The compiler's command line: pointers to what outlives it. */
struct command {
    int count;
    char *word[MOST_WORDS];
};

static void add(struct command *command, const char *word)
{
    if (command->count < MOST_WORDS - 1)
        command->word[command->count++] = (char *)word;
}

/* Cuts `text` up at its blanks. */
static void add_words(struct command *command, char *text)
{
    char *rest;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        add(command, word);
}

static void add_macros(struct command *command, int option_count, const char *const *options)
{
    static const char long_form[] = "--define-macro=";
    for (int i = 0; i < option_count; i++) {
        if (strncmp(options[i], "-D", 2) == 0) {
            add(command, options[i]);
            if (strcmp(options[i], "-D") == 0 && i + 1 < option_count)
                add(command, options[++i]);
        } else if (strncmp(options[i], long_form, strlen(long_form)) == 0) {
            add(command, "-D");
            add(command, options[i] + strlen(long_form));
        }
    }
}

/* Whether it succeeds; what it says goes to the file `output`. */
static int run(const struct command *command, const char *output)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    const int spawned = posix_spawnp(&child, command->word[0], &actions, NULL, command->word, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (!spawned)
        return 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int has_fma(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("fma");
#else
    return 0; /* where it is part of every processor, or done by the library: the same bits */
#endif
}

/* Where what the compiler makes of the program is kept; false if nowhere. */
static int path_kept(const struct _nvrtcProgram *p, const struct command *command, char path[MOST_PATH])
{
    const char *const directory = getenv("FAKE_NVRTC_KEPT");
    uint64_t key = p->key;
    for (int i = 0; i < command->count; i++)
        add_to_key(&key, command->word[i]);
    return directory && *directory &&
           snprintf(path, MOST_PATH, "%s/%016llx.so", directory, (unsigned long long)key) < MOST_PATH;
}

/* Other processes find the whole object or none. Nothing is lost if it cannot be kept. */
static void keep(const struct _nvrtcProgram *p, const char *path)
{
    char beside[MOST_PATH + 8];
    snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    const int fd = mkstemp(beside);
    if (fd < 0)
        return;
    const int whole = write(fd, p->object, p->object_bytes) == (ssize_t)p->object_bytes;
    const int closed = close(fd) == 0;
    if (!whole || !closed || rename(beside, path) != 0)
        remove(beside);
}

static nvrtcResult compile(struct _nvrtcProgram *p, int option_count, const char *const *options)
{
    const char *const asked = getenv("FAKE_NVRTC_CXX");
    const int other = asked && *asked;
    char text[MOST_PATH], include[MOST_PATH], object[MOST_PATH], log[MOST_PATH], kept[MOST_PATH];
    char compiler[MOST_PATH], flags[MOST_PATH];
    struct command command = {0};
    if (!path_in(p, "text.cpp", text) || !path_in(p, "include", include) ||
        !path_in(p, "object.so", object) || !path_in(p, "log", log))
        return INTERNAL_ERROR;
    snprintf(compiler, sizeof compiler, "%s", other ? asked : FAKE_NVRTC_CXX);
    snprintf(flags, sizeof flags, "%s",
             getenv("FAKE_NVRTC_PLAIN") ? FAKE_NVRTC_PLAIN_FLAGS : FAKE_NVRTC_FLAGS);
    add(&command, "env");
    add(&command, "LC_ALL=C");
    add_words(&command, compiler);
    add_words(&command, flags);
    if (has_fma())
        add(&command, "-mfma");
    add_macros(&command, option_count, options);
    const int keeps = !other && path_kept(p, &command, kept);
    const char *const rest[] = {"-I", include, "-o", object, text};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        add(&command, rest[i]);
    free(p->log);
    p->log = NULL;
    free(p->object);
    p->object = keeps ? read_file(kept, &p->object_bytes) : NULL;
    if (p->object)
        return NVRTC_SUCCESS;
    const int succeeded = run(&command, log);
    p->log = read_file(log, &p->log_bytes);
    p->object = succeeded ? read_file(object, &p->object_bytes) : NULL;
    if (!p->object)
        return COMPILATION;
    if (keeps && p->log && p->log_bytes == 0)
        keep(p, kept);
    return NVRTC_SUCCESS;
}

/* ---- what is exported ---- */

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    const int failure = fake_call(__func__, INTERNAL_ERROR);
    if (failure)
        return failure;
    if (getenv("FAKE_NVRTC_AWAY"))
        return INTERNAL_ERROR;
    *major = 13; /* with a minor version that no compiler has, by which it is told from one */
    *minor = 99;
    return NVRTC_SUCCESS;
}

/* Of the headers those that `text` includes, and what these do: to make a file takes long. */
static int write_included(struct _nvrtcProgram *p, const char *text, int header_count,
                          const char *const *headers, const char *const *include_names)
{
    static const char include[] = "#include \"";
    char name[MOST_PATH], path[MOST_PATH];
    while ((text = strstr(text, include))) {
        text += strlen(include);
        snprintf(name, sizeof name, "include/%.*s", (int)strcspn(text, "\"\n"), text);
        if (strstr(name, "..") || !path_in(p, name, path) || access(path, F_OK) == 0)
            continue;
        for (int i = 0; i < header_count; i++)
            if (strcmp(include_names[i], name + strlen("include/")) == 0 &&
                (!write_text(p, name, "", headers[i]) ||
                 !write_included(p, headers[i], header_count, headers, include_names)))
                return 0;
    }
    return 1;
}

static int write_texts(struct _nvrtcProgram *p, const char *source, const char *name, int header_count,
                       const char *const *headers, const char *const *include_names)
{
    char before[MOST_PATH];
    snprintf(before, sizeof before, "#define VF_ON_CPU 1\n#include \"%s\"\n#line 1 \"%s\"\n", CUDA_ON_CPU,
             name && *name ? name : "default_program");
    return write_included(p, source, header_count, headers, include_names) &&
           write_text(p, "text.cpp", before, source);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int header_count,
                               const char *const *headers, const char *const *include_names)
{
    const int failure = fake_call(__func__, OUT_OF_MEMORY);
    if (failure)
        return failure;
    if (!program || !source || header_count < 0)
        return INVALID_INPUT;
    const char *const parent = getenv("TMPDIR");
    struct _nvrtcProgram *const p = calloc(1, sizeof *p);
    if (!p)
        return OUT_OF_MEMORY;
    p->key = 0xcbf29ce484222325;
    snprintf(p->directory, sizeof p->directory, "%s/fake-nvrtc-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(p->directory)) {
        free(p);
        return INTERNAL_ERROR;
    }
    *program = p;
    if (write_texts(p, source, name, header_count, headers, include_names))
        return NVRTC_SUCCESS;
    destroy(p);
    *program = NULL;
    return INTERNAL_ERROR;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    fake_call(__func__, FAKE_NEVER_FAILS);
    if (!program || !*program)
        return INVALID_PROGRAM;
    destroy(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count, const char *const *options)
{
    const int failure = fake_call(__func__, COMPILATION), number = (int)fake_setting("FAKE_NVRTC_SIGNAL", 0);
    if (number > 0)
        raise(number);
    if (failure)
        return failure;
    return program ? compile(program, option_count, options) : INVALID_PROGRAM;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes)
{
    const int failure = fake_call(__func__, INTERNAL_ERROR);
    if (failure)
        return failure;
    if (!program || !program->object)
        return INVALID_PROGRAM;
    *bytes = program->object_bytes;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
    const int failure = fake_call(__func__, INTERNAL_ERROR);
    if (failure)
        return failure;
    if (!program || !program->object)
        return INVALID_PROGRAM;
    memcpy(cubin, program->object, program->object_bytes);
    return NVRTC_SUCCESS;
}

/* What is made for all devices is the same. */
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *bytes)
{
    return nvrtcGetCUBINSize(program, bytes);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx)
{
    return nvrtcGetCUBIN(program, ptx);
}

/* The log ends with a 0, which counts. */
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *bytes)
{
    const int failure = fake_call(__func__, INTERNAL_ERROR);
    if (failure)
        return failure;
    if (!program)
        return INVALID_PROGRAM;
    *bytes = program->log ? program->log_bytes + 1 : 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    const int failure = fake_call(__func__, INTERNAL_ERROR);
    if (failure)
        return failure;
    if (!program)
        return INVALID_PROGRAM;
    memcpy(log, program->log ? program->log : "", program->log ? program->log_bytes + 1 : 1);
    return NVRTC_SUCCESS;
}
