/* Fibers: stacks that take turns on one operating-system thread. ucontext would do, but AddressSanitizer
 * forgets what is poisoned on a stack that swapcontext leaves or enters. */
#ifndef FAKE_CUDA_FIBER_H
#define FAKE_CUDA_FIBER_H

#include <stddef.h>

/* All zero: what an operating-system thread runs on, ready to be switched from. */
struct fiber {
    void *stack_pointer; /* while it does not run */
    void *stack;         /* the lowest byte */
    size_t stack_bytes;
    void (*entry)(void *argument);
    void *argument;
    struct fiber *previous; /* who switched to it last */
    void *sanitizer;        /* AddressSanitizer's own, while it does not run */
};

/* Makes fibers that call `entry`, which must not return, when they are first switched to. Touching what lies
 * below a fiber's stack is a fault. They are closed together, as they were opened. */
void fibers_open(struct fiber *fiber, int count, void (*entry)(void *argument), void *argument);
void fibers_close(struct fiber *fiber, int count);

/* Leaves `from`, which runs now, for `to`; returns when something switches to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
