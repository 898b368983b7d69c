/* base.h -- the few words every part uses
 *
 * Checks come in three strengths (HACKING.md, "Builds"):
 *   ALQI_ASSERT  cheap; on in chk, dbg and hard
 *   ALQI_DEBUG   walks structures; on in dbg and hard
 *   ALQI_NEVER   "cannot happen, survive it": true path compiled everywhere,
 *                traps in dbg and hard */
#ifndef ALQI_BASE_BASE_H
#define ALQI_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALQI_LIKELY(x) __builtin_expect(!!(x), 1)
#define ALQI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALQI_NOINLINE __attribute__((noinline))
#define ALQI_COLD __attribute__((cold, noinline))
#define ALQI_COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

enum { ALQI_WORD_BYTES = 8 };

/* Prints "aliquot: FILE:LINE: EXPR" with write(2) only and aborts. */
_Noreturn void alqi_base_fail(const char *file, int line, const char *expr);
/* Prints "aliquot: FUNCTION: RULE; ADVICE" as alqi_base_fail does, when the
 * program breaks a rule, and aborts. */
_Noreturn void alqi_base_misuse(const char *function, const char *rule,
                                const char *advice);

/* ALQI_CHECKS: 0 rel, 1 chk, 2 dbg, 3 hard; set by the build. */
#ifndef ALQI_CHECKS
#define ALQI_CHECKS 0
#endif

#if ALQI_CHECKS >= 1
#define ALQI_ASSERT(e)                                                         \
    (ALQI_LIKELY(e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e))
#else
#define ALQI_ASSERT(e) ((void)sizeof(e))
#endif

#if ALQI_CHECKS >= 2
#define ALQI_DEBUG(e) ALQI_ASSERT(e)
#define ALQI_NEVER(e)                                                          \
    (ALQI_UNLIKELY(e) ? (alqi_base_fail(__FILE__, __LINE__, #e), true) : false)
#else
#define ALQI_DEBUG(e) ((void)sizeof(e))
#define ALQI_NEVER(e) ALQI_UNLIKELY(e)
#endif

static inline uint64_t
alqi_base_mix(uint64_t x)
{
    /* A bijection of 64 bits in which every input bit reaches every output
     * bit (the finaliser of SplitMix64); hashes here never use less. */
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Words a malloc request of `bytes` is tried for, header word included;
 * saturates instead of wrapping. */
static inline uint64_t
alqi_base_malloc_words(uint64_t bytes)
{
    return bytes / ALQI_WORD_BYTES + (bytes % ALQI_WORD_BYTES != 0) + 1;
}

#endif
