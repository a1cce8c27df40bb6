/* Which signal asked to stop, 0 for none: what every thread may look at. */
#ifndef VF_INTERRUPT_H
#define VF_INTERRUPT_H

#include <stdatomic.h>

/* The number of the signal, set by the handler of vf_signals_install (progress.h); long loops of all threads
 * look at it and stop with VF_INTERRUPTED. */
extern atomic_int vf_interrupted;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may set it");

#endif
