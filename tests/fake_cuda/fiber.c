#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../sanitized.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void **save, const void *stack, size_t bytes)
{
    (void)save, (void)stack, (void)bytes;
}

static void __sanitizer_finish_switch_fiber(void *saved, const void **stack, size_t *bytes)
{
    (void)saved, (void)stack, (void)bytes;
}
#endif

/* Unoptimised and sanitized device code keeps large arrays on its stack; what is not touched costs nothing.
 */
enum { STACK = 256 << 10, GUARD = 64 << 10 };

/* Pushes what a call must keep, leaves the stack pointer in *save, and takes up the other stack in the same
 * way. A new stack looks as if it had been left so, by a call that returns to the entry. */
void fake_fiber_jump(void **save, void *stack_pointer);

#if defined(__x86_64__)
enum { SAVED_WORDS = 8, RETURN_WORD = 6 };
__asm__(".text\n"
        ".type fake_fiber_jump, @function\n"
        ".hidden fake_fiber_jump\n"
        ".globl fake_fiber_jump\n"
        "fake_fiber_jump:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size fake_fiber_jump, . - fake_fiber_jump\n");
#elif defined(__aarch64__)
enum { SAVED_WORDS = 20, RETURN_WORD = 11 };
__asm__(".text\n"
        ".type fake_fiber_jump, %function\n"
        ".hidden fake_fiber_jump\n"
        ".globl fake_fiber_jump\n"
        "fake_fiber_jump:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n        stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n   stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n     stp d10, d11, [sp, #112]\n   stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n        ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n   ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n     ldp d10, d11, [sp, #112]\n   ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fake_fiber_jump, . - fake_fiber_jump\n");
#else
#error "fibers need a switch between stacks for this processor"
#endif

static __thread struct fiber *starting;

static void finish_switch(struct fiber *self)
{
    __sanitizer_finish_switch_fiber(self->sanitizer, (const void **)&self->previous->stack,
                                    &self->previous->stack_bytes);
}

static void start(void)
{
    struct fiber *const self = starting;
    finish_switch(self);
    self->entry(self->argument);
    abort();
}

static void fiber_open(struct fiber *fiber, char *memory, void (*entry)(void *argument), void *argument)
{
    void **const saved = (void **)(memory + GUARD + STACK) - SAVED_WORDS;
    void (*const first)(void) = start;
    memcpy(&saved[RETURN_WORD], &first, sizeof first);
    *fiber = (struct fiber){.stack_pointer = saved,
                            .stack = memory + GUARD,
                            .stack_bytes = STACK,
                            .entry = entry,
                            .argument = argument};
}

void fibers_open(struct fiber *fiber, int count, void (*entry)(void *argument), void *argument)
{
    const size_t each = GUARD + STACK;
    char *const memory = mmap(NULL, (size_t)count * each, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    for (int i = 0; i < count; i++) {
        if (memory == MAP_FAILED || mprotect(memory + (size_t)i * each, GUARD, PROT_NONE) != 0) {
            perror("fake cuda: no stack for a fiber");
            abort();
        }
        fiber_open(&fiber[i], memory + (size_t)i * each, entry, argument);
    }
}

void fibers_close(struct fiber *fiber, int count)
{
    munmap((char *)fiber->stack - GUARD, (size_t)count * (GUARD + STACK));
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    to->previous = from;
    starting = to;
    __sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->stack_bytes);
    fake_fiber_jump(&from->stack_pointer, to->stack_pointer);
    finish_switch(from);
}
