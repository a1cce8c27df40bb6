/* The one piece of global state that changes: which signal asked to stop, 0 for none. */
#ifndef VF_INTERRUPT_H
#define VF_INTERRUPT_H

#include <signal.h>

/* The number of the signal, set by the handler of vf_signals_install (progress.h); long loops look at it and
 * stop with VF_INTERRUPTED. */
extern volatile sig_atomic_t vf_interrupted;

#endif
