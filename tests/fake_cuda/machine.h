/* What a kernel that is compiled for the CPU and the fake driver that runs it know of one another. Read by C
 * and by C++, and ahead of every kernel: nothing is included here. */
#ifndef FAKE_CUDA_MACHINE_H
#define FAKE_CUDA_MACHINE_H

#define FAKE_CUDA_WARP 32

struct fake_index {
    unsigned int x, y, z;
};

/* One CUDA thread as it sees itself. */
struct fake_self {
    struct fake_index thread, block, block_size, grid_size;
    void *shared; /* the dynamic shared memory of its block, exactly the bytes of the launch */
};

enum fake_collective { FAKE_SYNC, FAKE_SHUFFLE, FAKE_BALLOT };

struct fake_place {
    const char *file;
    int line;
};

struct fake_machine {
    /* A thread's own description stays where it is as long as the thread lives. */
    const struct fake_self *(*self)(void)__attribute__((const));
    void (*barrier)(struct fake_place place);
    /* What the lanes of `mask` give one another; `source` is the lane that a shuffle reads. */
    unsigned long long (*collective)(enum fake_collective kind, unsigned int mask, unsigned long long value,
                                     int source, struct fake_place place);
    /* A barrier in two steps, of which a block has one at a time; `phase` is how often it was passed. If the
     * run is late, a thread that arrives lets the others go first. */
    void (*open_gate)(void);
    void (*arrive)(void);
    void (*wait_arrived)(unsigned int phase, struct fake_place place);
    /* Copies beside a thread's own work. A copy belongs to the group that is closed next; what is waited for
     * is there that is older than the last `groups` of them. */
    void (*copy)(void *to, const void *from, unsigned long bytes);
    void (*close_copies)(void);
    void (*wait_copies)(unsigned int groups);
    /* Adds 1 to what all blocks count together, or begins again at 0 after `last`. When a launch ends it must
     * be 0 again. */
    void (*count_around)(unsigned int *count, unsigned int last);
};

/* A compiled kernel exports these:
 *     const struct fake_machine *vf_cpu_machine;     the driver sets it
 *     void vf_cpu_run(const void *argument);         runs the thread that self() is
 *     const unsigned long vf_cpu_argument_size; */

#endif
