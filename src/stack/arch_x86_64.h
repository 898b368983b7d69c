/* arch_x86_64.h -- registers, calls and signal frames of x86-64 Linux
 *
 * DWARF numbers are those of the psABI.  At the first instruction of the
 * signal trampoline the stack pointer is at the ucontext. */
#ifndef ALQI_STACK_ARCH_X86_64_H
#define ALQI_STACK_ARCH_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum {
    ALQI_ARCH_FP = 6,
    ALQI_ARCH_SP = 7,
    ALQI_ARCH_RA = 16,
    ALQI_ARCH_RA_IS_PUSHED = 1,
    ALQI_ARCH_SIGRETURN_BYTES = 9,
    ALQI_ARCH_SIGRETURN_CALL = 7, /* where its system call begins */
    ALQI_ARCH_RETURN_BYTES = 5,   /* add, ret */
    ALQI_ARCH_CALL_BYTES = 7      /* of the longest call, but for prefixes */
};

static inline uintptr_t
alqi_arch_code_address(uintptr_t return_address)
{
    return return_address;
}

/* Where a function keeps its return address, from its CFA. */
static inline int32_t
alqi_arch_usual_ra(int32_t fp_offset)
{
    (void)fp_offset;
    return -8;
}

/* A register that calls preserve, as it is now. */
static inline __attribute__((always_inline)) bool
alqi_arch_live_register(unsigned reg, uintptr_t *out)
{
    switch (reg) {
    case 3:
        __asm__ volatile("movq %%rbx, %0" : "=r"(*out));
        return true;
    case 12:
        __asm__ volatile("movq %%r12, %0" : "=r"(*out));
        return true;
    case 13:
        __asm__ volatile("movq %%r13, %0" : "=r"(*out));
        return true;
    case 14:
        __asm__ volatile("movq %%r14, %0" : "=r"(*out));
        return true;
    case 15:
        __asm__ volatile("movq %%r15, %0" : "=r"(*out));
        return true;
    default:
        return false;
    }
}

/* `code` holds ALQI_ARCH_SIGRETURN_BYTES bytes. */
static inline bool
alqi_arch_is_sigreturn(const uint8_t *code)
{
    /* mov $15, %rax; syscall */
    static const uint8_t want[ALQI_ARCH_SIGRETURN_BYTES] = {
        0x48, 0xC7, 0xC0, 0x0F, 0x00, 0x00, 0x00, 0x0F, 0x05};

    return memcmp(code, want, sizeof want) == 0;
}

/* Whether the ALQI_ARCH_CALL_BYTES bytes before `end` end in a call: by an
 * offset, or (FF /2) of a register or of memory. */
static inline bool
alqi_arch_is_call(const uint8_t *end)
{
    if (end[-5] == 0xE8)
        return true;
    for (int n = 2; n <= ALQI_ARCH_CALL_BYTES; n++) {
        unsigned mod = end[1 - n] >> 6, rm = end[1 - n] & 7;
        bool has_sib = mod != 3 && rm == 4;
        unsigned base = has_sib && n > 2 ? end[2 - n] & 7 : rm;
        int n_bytes = 2 + has_sib + (mod == 1);

        if (mod == 2 || (mod == 0 && base == 5))
            n_bytes += 4;
        if (end[-n] == 0xFF && (end[1 - n] >> 3 & 7) == 2 && n == n_bytes)
            return true;
    }
    return false;
}

/* How far above sp the return address lies if all that the code still does is
 * to return; negative: it does more. `code` holds ALQI_ARCH_RETURN_BYTES. */
static inline int
alqi_arch_returns_at(const uint8_t *code)
{
    if (code[0] == 0xC3)
        return 0;
    if (code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xC4 &&
        code[3] < 0x80 && code[3] % 8 == 0 && code[4] == 0xC3)
        return code[3]; /* add $n, %rsp; ret */
    return -1;
}

/* Offset from the trampoline's stack pointer; negative when not saved. */
static inline int
alqi_arch_saved_at(unsigned reg)
{
    static const uint8_t greg[ALQI_ARCH_RA + 1] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
        REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
        REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

    if (reg > ALQI_ARCH_RA)
        return -1;
    return (int)offsetof(ucontext_t, uc_mcontext.gregs) + 8 * greg[reg];
}

/* Where the interrupted instruction's address is saved. */
static inline int
alqi_arch_saved_pc_at(void)
{
    return alqi_arch_saved_at(ALQI_ARCH_RA);
}

#endif
