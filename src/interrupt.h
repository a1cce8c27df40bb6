/* The one piece of global state that changes: whether a signal asked to stop. */
#ifndef VF_INTERRUPT_H
#define VF_INTERRUPT_H

#include <signal.h>

/* Set by the handler of vf_signals_install (progress.h); long loops look at it and stop with VF_INTERRUPTED.
 */
extern volatile sig_atomic_t vf_interrupted;

#endif
