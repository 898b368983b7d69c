/* arch_aarch64.h -- registers and signal frames of aarch64 Linux
 *
 * DWARF numbers are those of the AADWARF64.  At the signal trampoline the
 * stack pointer is at struct rt_sigframe: a siginfo of 128 bytes, then the
 * ucontext.  A return address may be signed in its upper bits. */
#ifndef ALQI_STACK_ARCH_AARCH64_H
#define ALQI_STACK_ARCH_AARCH64_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum {
    ALQI_ARCH_FP = 29,
    ALQI_ARCH_RA = 30,
    ALQI_ARCH_SP = 31,
    ALQI_ARCH_RA_IS_PUSHED = 0,
    ALQI_ARCH_SIGRETURN_BYTES = 8,
    ALQI_ARCH_SIGRETURN_CALL = 4, /* where its system call begins */
    ALQI_ARCH_RETURN_BYTES = 4,
    ALQI_ARCH_CALL_BYTES = 4,
    ALQI_ARCH_SIGINFO_BYTES = 128
};

static inline uintptr_t
alqi_arch_code_address(uintptr_t return_address)
{
    /* xpaclri, a no-operation where pointers are not signed */
    register uintptr_t x30 __asm__("x30") = return_address;

    __asm__("hint #7" : "+r"(x30));
    return x30;
}

/* Where a function usually keeps its return address, from its CFA: with the
 * frame pointer, in one pair. */
static inline int32_t
alqi_arch_usual_ra(int32_t fp_offset)
{
    return fp_offset + 8;
}

/* A register that calls preserve, as it is now. */
static inline __attribute__((always_inline)) bool
alqi_arch_live_register(unsigned reg, uintptr_t *out)
{
    switch (reg) {
    case 19:
        __asm__ volatile("mov %0, x19" : "=r"(*out));
        return true;
    case 20:
        __asm__ volatile("mov %0, x20" : "=r"(*out));
        return true;
    case 21:
        __asm__ volatile("mov %0, x21" : "=r"(*out));
        return true;
    case 22:
        __asm__ volatile("mov %0, x22" : "=r"(*out));
        return true;
    case 23:
        __asm__ volatile("mov %0, x23" : "=r"(*out));
        return true;
    case 24:
        __asm__ volatile("mov %0, x24" : "=r"(*out));
        return true;
    case 25:
        __asm__ volatile("mov %0, x25" : "=r"(*out));
        return true;
    case 26:
        __asm__ volatile("mov %0, x26" : "=r"(*out));
        return true;
    case 27:
        __asm__ volatile("mov %0, x27" : "=r"(*out));
        return true;
    case 28:
        __asm__ volatile("mov %0, x28" : "=r"(*out));
        return true;
    default:
        return false;
    }
}

static inline bool
alqi_arch_is_sigreturn(const uint8_t *code)
{
    /* mov x8, #139; svc #0 */
    static const uint8_t want[ALQI_ARCH_SIGRETURN_BYTES] = {
        0x68, 0x11, 0x80, 0xD2, 0x01, 0x00, 0x00, 0xD4};

    return memcmp(code, want, sizeof want) == 0;
}

/* bl; blr, with a signed address or without. */
static inline bool
alqi_arch_is_call(const uint8_t *end)
{
    uint32_t code;

    memcpy(&code, end - sizeof code, sizeof code);
    return code >> 26 == 0x25 || (code & 0xFEFFF000) == 0xD63F0000;
}

/* As on x86-64; here the return address is in a register by then. */
static inline int
alqi_arch_returns_at(const uint8_t *code)
{
    (void)code;
    return -1;
}

/* Offset from the trampoline's stack pointer; negative when not saved. */
static inline int
alqi_arch_saved_at(unsigned reg)
{
    int base = ALQI_ARCH_SIGINFO_BYTES;

    if (reg < ALQI_ARCH_SP)
        return base + (int)offsetof(ucontext_t, uc_mcontext.regs) +
               8 * (int)reg;
    if (reg == ALQI_ARCH_SP)
        return base + (int)offsetof(ucontext_t, uc_mcontext.sp);
    return -1;
}

static inline int
alqi_arch_saved_pc_at(void)
{
    return ALQI_ARCH_SIGINFO_BYTES + (int)offsetof(ucontext_t, uc_mcontext.pc);
}

#endif
