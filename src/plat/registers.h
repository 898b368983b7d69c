/* registers.h -- registers that a function leaves to its caller as they were */
#ifndef ALQI_PLAT_REGISTERS_H
#define ALQI_PLAT_REGISTERS_H

#include <stdint.h>

/* Words of the copy: x86-64 fills six, aarch64 x19 to x30 and the low halves of
 * v8 to v15. */
enum { ALQI_PLAT_REGISTERS = 20 };

/* Copies the registers, which setjmp would not do plainly.  Returns the
 * caller's stack pointer.  What the caller's callers hold is in the copy or at
 * a higher address, for as long as the caller does not return. */
uintptr_t alqi_plat_registers(uintptr_t registers[ALQI_PLAT_REGISTERS])
    __attribute__((visibility("hidden")));

/* Calls fn(arg, sp): what the caller's callers hold stands at sp or at a higher
 * address, the registers too, and is theirs again as fn leaves it. */
void alqi_plat_registers_lend(void (*fn)(void *arg, uintptr_t sp), void *arg)
    __attribute__((visibility("hidden")));

#endif
