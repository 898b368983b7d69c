/* call.h -- a system call, by the instruction
 *
 * Not through syscall(3), whose name may be another's (preload/confine.c).
 * Returns what the kernel returns: an error is -errno. */
#ifndef ALQI_PLAT_CALL_H
#define ALQI_PLAT_CALL_H

static inline long
alqi_plat_call(long number, const long arg[6])
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = arg[3];
    register long r8 __asm__("r8") = arg[4];
    register long r9 __asm__("r9") = arg[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(arg[0]), "S"(arg[1]), "d"(arg[2]),
                       "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = arg[0];
    register long x1 __asm__("x1") = arg[1];
    register long x2 __asm__("x2") = arg[2];
    register long x3 __asm__("x3") = arg[3];
    register long x4 __asm__("x4") = arg[4];
    register long x5 __asm__("x5") = arg[5];

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

#endif
