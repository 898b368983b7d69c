/* stack.h -- where the calling thread's stack is */
#ifndef ALQI_PLAT_STACK_H
#define ALQI_PLAT_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* The lowest address of the calling thread's stack, and the one behind its
 * highest.  False on a stack that is not the one the thread began with, or when
 * the system does not say.  A thread's first call may call malloc. */
bool alqi_plat_stack_bounds(uintptr_t *start, uintptr_t *end);

/* Bytes of the stack in use, and bytes that there are for it; 0 and 0 where the
 * bounds are not known. */
void alqi_plat_stack(uintptr_t *used_bytes, uintptr_t *all_bytes);

#endif
