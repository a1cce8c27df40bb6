/* What the parts of the fake driver share: driver.c objects, device.c devices and contexts, memory.c,
 * stream.c streams and events, module.c kernels. */
#ifndef FAKE_CUDA_DRIVER_H
#define FAKE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "grid.h"
#include "src/cuda_driver.h"

#define DECLARE(name, exported, parameters) \
    __attribute__((visibility("default"))) CUresult exported parameters;
VF_CUDA_FUNCTIONS(DECLARE)
VF_CUDA_LATER_FUNCTIONS(DECLARE)

/* Results and attributes that volfilter has no need to know. */
enum {
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    ECC_UNCORRECTABLE = 214,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_OUT_OF_RESOURCES = 701,
    LAUNCH_FAILED = 719,
    NOT_PERMITTED = 800,
    SYSTEM_DRIVER_MISMATCH = 803,
    UNKNOWN = 999,
    MAX_BLOCK_DIM_X = 2,
    MAX_GRID_DIM_Y = 6,
    MAX_GRID_DIM_Z = 7,
};

enum { MOST_DEVICES = 8, ALIGNMENT = 256, POISON = 0xff, SHARED_WITHOUT_ASKING = 48 << 10 };

/* ---- every call ---- */

enum needs { NOTHING, DRIVER, CONTEXT };

struct entered {
    CUresult result;
};

/* Holds the lock until the function returns, which it does at once with the result when it may not go on:
 * `likely` when it is the call that is to fail, or what it needs is not there. */
#define ENTER(likely, needs)                                                                                 \
    const struct entered entered __attribute__((cleanup(fake_leave))) = fake_enter(__func__, likely, needs); \
    if (entered.result != CUDA_SUCCESS)                                                                      \
    return entered.result

struct entered fake_enter(const char *name, CUresult likely, enum needs needs);
void fake_leave(const struct entered *entered);

/* ---- devices ---- */

struct device {
    int retained; /* its context exists while this is not 0 */
    size_t used;  /* bytes of memory */
};

extern struct device fake_devices[MOST_DEVICES];
extern __thread struct device *fake_current; /* whose context is the thread's; NULL: none */

/* 0 for an attribute that is unknown. */
unsigned int fake_limit(int attribute);
size_t fake_memory_of_device(void);

/* ---- objects ---- */

enum kind { MEMORY, HOST_MEMORY, STREAM, EVENT, MODULE, KIND_COUNT };

/* What a caller made and must free; a handle is its address. A module is also its only function. */
struct object {
    struct object *next;
    enum kind kind;
    struct device *device;
    union {
        struct {
            char *address;
            size_t bytes;
        }; /* memory */
        struct {
            struct operation *first, *last; /* that wait for their turn */
            unsigned long long submitted;   /* operations are numbered from 1 */
            bool non_blocking;
        }; /* a stream */
        struct {
            struct object
                *stream; /* where it was recorded last, as operation `number`; NULL: nowhere that is left */
            unsigned long long number;
            double recorded; /* seconds; 0: not yet */
        };                   /* an event */
        struct {
            void *library;
            void (*run)(const void *argument);
            size_t argument_bytes;
            int most_shared; /* dynamic bytes that a launch may ask for */
        };                   /* a module */
    };
};

/* Of the current context; NULL: no memory. */
struct object *fake_object_add(enum kind kind);
void fake_object_remove(struct object *object);

/* The object with that handle, if it is of the current context. */
struct object *fake_object_find(enum kind kind, const void *handle);

/* The memory that holds all of the bytes. */
struct object *fake_memory_find(enum kind kind, uintptr_t address, size_t bytes);

/* The next after `object`, from NULL on, of any context. */
struct object *fake_object_next(enum kind kind, const struct object *object);

/* ---- work ---- */

enum work { COPY, FILL, LAUNCH, RECORD };

/* What is done in a stream. */
struct operation {
    struct operation *next;
    unsigned long long number;
    enum work work;
    char *to; /* copies and fills: rows of `width` bytes */
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    unsigned char value;
    struct fake_launch launch;
    void *argument;       /* of the launch: its own, from malloc */
    struct object *event; /* to record; NULL: it is gone */
};

/* Whether it is the default stream or one of the current context. */
bool fake_is_stream(CUstream stream);

/* Does it, or lets it wait for its turn. Owns its argument from here on. */
CUresult fake_submit(CUstream stream, const struct operation *operation);

/* Does what waits in the stream, or in all. */
void fake_finish(CUstream stream);
void fake_finish_all(void);

#endif
