/* arch.h -- picks the file that knows the machine's registers
 *
 * Each such file names registers by DWARF number and gives
 *   ALQI_ARCH_SP, _FP, _RA      stack pointer, frame pointer, return address
 *   ALQI_ARCH_RA_IS_PUSHED      the call instruction stores the return address
 *   alqi_arch_code_address()    a return address without its signature bits
 *   alqi_arch_usual_ra()        where compilers save it
 *   alqi_arch_live_register()   one that calls preserve, as it is now
 *   alqi_arch_is_sigreturn()    code bytes that can only be rt_sigreturn
 *   alqi_arch_returns_at()      how far off that is in code that only returns
 *   alqi_arch_saved_at()        where a signal frame keeps a register */
#ifndef ALQI_STACK_ARCH_H
#define ALQI_STACK_ARCH_H

#if defined(__x86_64__)
#include "stack/arch_x86_64.h"
#elif defined(__aarch64__)
#include "stack/arch_aarch64.h"
#else
#error "the stack part knows x86-64 and aarch64"
#endif

#endif
