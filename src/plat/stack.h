/* stack.h -- where the calling thread's stack is */
#ifndef ALQI_PLAT_STACK_H
#define ALQI_PLAT_STACK_H

#include <stdint.h>

/* Bytes in use, and bytes that there are for it; 0 and 0 on a stack that is not
 * the one the thread began with, or when the system does not say.  A thread's
 * first call may call malloc. */
void alqi_plat_stack(uintptr_t *used_bytes, uintptr_t *all_bytes);

#endif
