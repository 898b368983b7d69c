/* heap.h -- the managed heap: domains, allocation, stores, roots
 *
 * A domain allocates young blocks in a minor heap of its own.  A minor
 * collection moves those that live into the major heap; dead blocks there are
 * found by marking and sweeping, a slice at a time.  There compaction moves
 * blocks again, within any call that may collect.
 *
 * The rules of a program are three, and there are no others.
 *
 * Roots.  A value that is used after a call that may collect stands in a root
 * during that call: a slot of a frame (ALQ_FRAME), a registered range, a boxed
 * or a global root.  The call may move the block, and then the root holds the
 * new address.  Each comment says under GC whether its call may collect.
 * Such a call may call finalisers and alarms of the program, too (final.h).
 *
 * Stores.  A field of a block is written by alq_init for the first time and by
 * alq_store from then on.  Only the fields of a block that alq_alloc_small has
 * just returned are written by alq_init_small, all of them, before the next
 * call that may collect.
 *
 * Polls.  A loop that neither allocates nor ends soon calls alq_poll.
 *
 * A program that breaks a rule which nothing reports (it allocates or stores on
 * a thread that does not run the domain, in a blocking section, after
 * alq_domain_drop, or with NULL; a size or tag out of range that is no
 * constant; alq_root_drop twice) is stopped by the `chk` build of the library,
 * with a line that names the call and the rule, wherever the library is
 * entered.  Compiled with ALQ_CHECKS defined as 1, with whatever build of the
 * library, the calls that are inline look each time, too.
 *
 * In the `hard` build of the library a forgotten root faults: each call that
 * may collect changes every word of the thread's stack and registers that leads
 * into a block and is no root (near by each time, all of it in every
 * collection); it collects at the first calls, then at some; young blocks move,
 * and their old places may not be accessed; what is freed is overwritten.
 *
 * An allocation that fails returns ALQ_NULL and leaves the reason in the
 * domain, where it stays until alq_status_clear: a program may allocate a great
 * deal and look once.  While one stands there, allocation may draw on the
 * reserve (alq_domain_config), so that cleaning up works.
 *
 * ALIQUOTPARAM in the environment goes before what a program asks for in
 * alq_domain_config: aliquot-gc(7).
 *
 * A process may have up to 128 domains, one thread at a time runs each;
 * domain.h has the rules for several. */
#ifndef ALIQUOT_HEAP_H
#define ALIQUOT_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/status.h>
#include <aliquot/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The part of a domain that the inline calls below use.  Not to be read or
 * written otherwise; its form may change with the first two version numbers. */
struct alq_domain {
    char *young_limit; /* below it: alq_*_slow; anybody may raise it */
    char *young_ptr;   /* the lowest block; allocation moves it down */
#ifdef ALQI_HOST_HEAD_WORDS
    uintptr_t host[ALQI_HOST_HEAD_WORDS]; /* the hosted runtime's own */
#endif
    uintptr_t young_base; /* young blocks of all domains               */
    uintptr_t young_bytes;
    uintptr_t store_max;      /* alq_store: which values need its slow part */
    struct alq_frame *frames; /* the innermost */
    enum alq_status status;
    int is_interrupted; /* limit.h */
};

/* ---- checks ------------------------------------------------------------- */

#ifndef ALQ_CHECKS
#define ALQ_CHECKS 0
#endif

/* alq_check_domain -- stops the program unless the calling thread runs d
 *
 * For ALQ_CHECKS; a runtime may call it where it is entered.
 *
 * function  What the line names: "aliquot: FUNCTION: RULE; what to do".
 *
 * Threads  Any.
 * GC       No effect. */
ALQ_API void alq_check_domain(const struct alq_domain *d, const char *function);

/* alq_check_small -- and unless a small block may have that size and tag
 *
 * function  As for alq_check_domain.
 *
 * Threads  Any.
 * GC       No effect. */
ALQ_API void alq_check_small(const struct alq_domain *d, uintptr_t wosize,
                             unsigned tag, const char *function);

/* ---- domains ------------------------------------------------------------ */

struct alq_domain_config {
    size_t minor_words;      /* 4096 to 4194304; 0: 262144 at first, then as
                               survival and pauses suggest, 32768 or more   */
    unsigned space_overhead; /* percent of the live words that may be dead or
                               free, roughly; 1 to 1000000; 0: 120         */
    size_t limit_bytes;      /* pools and large blocks together; 0: none    */
    size_t reserve_bytes;    /* kept for cleaning up; 0: 1 MiB              */
    unsigned domains_max;    /* at a time; 1 to 128; 0: 128                 */
};

/* limit_bytes holds at each moment; while a status stands in a domain, that
 * domain may go beyond it by reserve_bytes.  Before anything is refused all
 * that is dead was collected and the rest compacted.
 *
 * What survives in minor heaps has to fit in, whatever it is: so 2.25 MiB of
 * the limit are kept for the heap, and for each domain 4/3 of its minor heap
 * and 32 KiB.  As the limit comes near minor heaps are opened narrower, down to
 * 32 KiB. Thus small blocks are refused when less than 2.4 MiB are left, with
 * several domains 64 KiB more for each.  Minor heaps themselves, stacks and
 * tables of the collector do not count. */

/* alq_domain_new -- a domain, and with the first one the heap
 *
 * The process has one heap, which its domains share: values may be passed from
 * one to another and kept there (domain.h).
 *
 * config   Copied.  NULL: all zeros, which are the defaults.  All members but
 *          minor_words are the heap's: those of its first domain count.
 * out      Receives the domain, which the calling thread runs from now on.
 *
 * Errors   ALQ_EINVAL  a member of config is out of range, or out is NULL
 *          ALQ_EBUSY   the calling thread runs a domain already, or there are
 *                      domains_max
 *          ALQ_ENOMEM  no memory, or fewer than 192 MiB of address space; with
 *                      little address space, also too many domains
 *          ALQ_ESTATE  a forked process without the threads of its domains
 *          On any error *out is unchanged.
 * Threads  Any.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_domain_new(const struct alq_domain_config *config, struct alq_domain **out);

/* alq_domain_drop -- ends a domain, and with the last one the heap
 *
 * Its blocks stay, as long as other domains can reach them, and those get its
 * share of the work.  No frame, range or boxed root of the domain may be used
 * any more.  When the heap ends, finalisers of the custom blocks that are left
 * run, and no value may be used.  NULL is allowed.
 *
 * Errors   ALQ_ESTATE  the calling thread does not run the domain, or is in a
 *                      callback of a profile, or in the collector: in a
 *                      listener, a scanner or such
 *          ALQ_EBUSY   other threads are attached to it; it was spawned; or the
 *                      caller is a finaliser or alarm
 * Threads  The domain's, and no other is attached to it.
 * GC       Collects. */
ALQ_API enum alq_status alq_domain_drop(struct alq_domain *d);

/* Why an allocation failed, the first time since alq_status_clear; ALQ_OK. */
static inline enum alq_status
alq_status_of(const struct alq_domain *d)
{
    return d->status;
}

/* alq_status_clear -- the domain's status is ALQ_OK again
 *
 * From now on the reserve is kept.
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_status_clear(struct alq_domain *d);

/* ---- allocation --------------------------------------------------------- */

/* alq_alloc_small_slow -- the slow part of alq_alloc_small
 *
 * Returns  As alq_alloc_small.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API alq_value alq_alloc_small_slow(struct alq_domain *d, uintptr_t header);

/* Whether a block at `low` needs the slow part.  Anybody may raise the limit at
 * any time: it is read each time.  Compilers do not compare with an atomic load
 * in one instruction, x86-64 can. */
static inline int
alq_is_below_limit(struct alq_domain *d, uintptr_t low)
{
#if defined(__x86_64__) && defined(__LP64__) &&                                \
    defined(__GCC_ASM_FLAG_OUTPUTS__)
    int is_below;

    __asm__ volatile("{cmpq %2, %1|cmp %1, %2}"
                     : "=@ccb"(is_below)
                     : "r"(low), "m"(*(char *volatile *)&d->young_limit));
    return is_below;
#else
    return low < (uintptr_t)__atomic_load_n(&d->young_limit, __ATOMIC_RELAXED);
#endif
}

/* A block of 1 <= wosize <= ALQ_SMALL_WOSIZE_MAX fields, which hold anything:
 * write all of them with alq_init_small before the next call that may collect.
 * ALQ_NULL and a status when there is no memory.  May collect. */
static inline alq_value
alq_alloc_small(struct alq_domain *d, uintptr_t wosize, unsigned tag)
{
    uintptr_t low;

    if (ALQ_CHECKS)
        alq_check_small(d, wosize, tag, "alq_alloc_small");
    low = (uintptr_t)d->young_ptr - (wosize + 1) * ALQ_WORD_BYTES;
    /* A constant that is out of range is refused; the test is gone when it is
     * compiled. */
    if (__builtin_constant_p(wosize) && wosize - 1 >= ALQ_SMALL_WOSIZE_MAX)
        return alq_alloc_small_slow(d, ALQ_HEADER(wosize, tag));
    if (__builtin_expect(alq_is_below_limit(d, low), 0))
        return alq_alloc_small_slow(d, ALQ_HEADER(wosize, tag));
    d->young_ptr = (char *)low;
    *(uintptr_t *)low = ALQ_HEADER(wosize, tag);
    return ALQ_VALUE(low + ALQ_WORD_BYTES);
}

/* Writes field i of a block that alq_alloc_small or _several has just made.
 * Atomic, lest a compiler copy two slots of a frame by one load: that would
 * wait for both of the stores that have just set them, some 12 cycles. */
static inline void
alq_init_small(alq_value block, uintptr_t i, alq_value v)
{
    __atomic_store_n((uintptr_t *)alq_bits(block) + i, alq_bits(v),
                     __ATOMIC_RELAXED);
}

/* alq_alloc_several_slow -- the slow part of alq_alloc_several
 *
 * Returns  As alq_alloc_several.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API int alq_alloc_several_slow(struct alq_domain *d, unsigned n_blocks,
                                   const uintptr_t *headers, alq_value *out);

/* Several small blocks at the price of one check.  headers[] are made by
 * ALQ_HEADER, each as for alq_alloc_small, all together of at most
 * ALQ_SMALL_WOSIZE_MAX + 1 words with their headers.  On success 1, and out[]
 * has the blocks, to be filled like those of alq_alloc_small; otherwise 0, a
 * status, and out[] is unchanged.  May collect. */
static inline int
alq_alloc_several(struct alq_domain *d, unsigned n_blocks,
                  const uintptr_t *headers, alq_value *out)
{
    uintptr_t words = 0, low, at;
    unsigned i;

    for (i = 0; i < n_blocks; i++) {
        if (ALQ_CHECKS)
            alq_check_small(d, headers[i] >> ALQ_WOSIZE_SHIFT,
                            headers[i] & 0x3FF, "alq_alloc_several");
        words += (headers[i] >> ALQ_WOSIZE_SHIFT) + 1;
    }
    low = (uintptr_t)d->young_ptr - words * ALQ_WORD_BYTES;
    /* Of constant headers the first test is gone when it is compiled. */
    if (__builtin_expect(
            words > ALQ_SMALL_WOSIZE_MAX + 1 || alq_is_below_limit(d, low), 0))
        return alq_alloc_several_slow(d, n_blocks, headers, out);
    at = (uintptr_t)d->young_ptr;
    d->young_ptr = (char *)low;
    for (i = 0; i < n_blocks; i++) {
        at -= ((headers[i] >> ALQ_WOSIZE_SHIFT) + 1) * ALQ_WORD_BYTES;
        *(uintptr_t *)at = headers[i];
        out[i] = ALQ_VALUE(at + ALQ_WORD_BYTES);
    }
    return 1;
}

/* alq_alloc -- a block of any size, filled
 *
 * wosize   Fields; with 0 the block is a constant, the same for each tag.
 * tag      At most 254.  Below ALQ_TAG_NO_SCAN the fields are ALQ_UNIT, else
 *          zero bytes.  For ALQ_TAG_CUSTOM use alq_alloc_custom.
 *
 * Returns  The block; write it with alq_init or alq_store.  Otherwise ALQ_NULL
 *          and a status: ALQ_EINVAL for an argument out of range, ALQ_ENOMEM.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API alq_value alq_alloc(struct alq_domain *d, uintptr_t wosize,
                            unsigned tag);

/* alq_alloc_string -- a string of `bytes` bytes, which hold anything
 *
 * Returns  The string, its end marked; or ALQ_NULL and a status, as alq_alloc.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API alq_value alq_alloc_string(struct alq_domain *d, size_t bytes);

/* alq_string_copy -- a string that holds `bytes` bytes from `chars`
 *
 * chars    Outside the heap: the call may move what is inside.
 *
 * Returns  The string; or ALQ_NULL and a status, as alq_alloc.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API alq_value alq_string_copy(struct alq_domain *d, const char *chars,
                                  size_t bytes);

/* alq_alloc_double_array -- n doubles, all 0.0
 *
 * Returns  The array; or ALQ_NULL and a status, as alq_alloc.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API alq_value alq_alloc_double_array(struct alq_domain *d, uintptr_t n);

/* A double in a block; ALQ_NULL and a status when there is no memory.  May
 * collect. */
static inline alq_value
alq_alloc_double(struct alq_domain *d, double x)
{
    alq_value block = alq_alloc_small(d, 1, ALQ_TAG_DOUBLE);

    if (!alq_is_null(block))
        alq_double_set(block, 0, x);
    return block;
}

/* alq_alloc_custom -- a block of a program's own kind
 *
 * ops      What the kind can do; outlives the block.
 * bytes    Room for the program, at alq_custom_data, zeros at first.
 *
 * Returns  The block; or ALQ_NULL and a status, as alq_alloc.
 * Threads  The domain's.
 * GC       May collect.  Never calls ops->finalise for this block before it
 *          returns. */
ALQ_API alq_value alq_alloc_custom(struct alq_domain *d,
                                   const struct alq_custom_ops *ops,
                                   size_t bytes);

/* alq_alloc_custom_mem -- a custom block that holds memory outside of the heap
 *
 * The memory is the program's, which ops->finalise gives back.  The collector
 * works faster for it, so that dead blocks do not hold much: custom_major_ratio
 * and its neighbours in struct alq_gc_control.  A block that holds more than
 * custom_minor_max_size is allocated in the major heap.
 *
 * outside_bytes  What the block holds, or will hold.
 *
 * Returns  As alq_alloc_custom.
 * Threads  The domain's.
 * GC       May collect, as alq_alloc_custom. */
ALQ_API alq_value alq_alloc_custom_mem(struct alq_domain *d,
                                       const struct alq_custom_ops *ops,
                                       size_t bytes, size_t outside_bytes);

/* alq_alloc_custom_ratio -- a custom block that holds a share of a resource
 *
 * For what is scarce and is not memory: files, connections.  Blocks that hold
 * `most` together are worth a whole major cycle.
 *
 * held     What the block holds, of a resource of which
 * most     is the most that dead blocks should hold; not 0.
 *
 * Returns  As alq_alloc_custom; ALQ_EINVAL, too, if most is 0.
 * Threads  The domain's.
 * GC       May collect, as alq_alloc_custom. */
ALQ_API alq_value alq_alloc_custom_ratio(struct alq_domain *d,
                                         const struct alq_custom_ops *ops,
                                         size_t bytes, size_t held,
                                         size_t most);

/* alq_poll_slow -- the slow part of alq_poll
 *
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API void alq_poll_slow(struct alq_domain *d);

/* Does what the heap has asked for; one comparison when that is nothing. */
static inline void
alq_poll(struct alq_domain *d)
{
    if (ALQ_CHECKS)
        alq_check_domain(d, "alq_poll");
    if (__builtin_expect(alq_is_below_limit(d, (uintptr_t)d->young_ptr), 0))
        alq_poll_slow(d);
}

/* ---- stores ------------------------------------------------------------- */

/* How far v lies behind the start of the young blocks, halved; never small for
 * an integer, whose last bit becomes the first. */
static inline uintptr_t
alq_young_offset(const struct alq_domain *d, alq_value v)
{
    uintptr_t offset = alq_bits(v) - d->young_base;

    return (offset >> 1) | (offset << 63);
}

/* Whether v is a young block, which the next minor collection moves. */
static inline int
alq_is_young(const struct alq_domain *d, alq_value v)
{
    return alq_young_offset(d, v) < d->young_bytes >> 1;
}

/* alq_store_slow -- the slow part of alq_store
 *
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API void alq_store_slow(struct alq_domain *d, alq_value *field,
                            alq_value v);

/* alq_init_slow -- the slow part of alq_init
 *
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API void alq_init_slow(struct alq_domain *d, alq_value *field, alq_value v);

/* Overwrites field i of a block.  Does not collect, cannot fail. */
static inline void
alq_store(struct alq_domain *d, alq_value block, uintptr_t i, alq_value v)
{
    alq_value *field = alq_fields(block) + i;

    if (ALQ_CHECKS)
        alq_check_domain(d, "alq_store");
    if (alq_bits(block) - d->young_base >= d->young_bytes &&
        alq_young_offset(d, v) <= d->store_max &&
        !alq_is_young(d, ALQ_VALUE(__atomic_load_n((uintptr_t *)field,
                                                   __ATOMIC_RELAXED))))
        alq_store_slow(d, field, v);
    else
        __atomic_store_n((uintptr_t *)field, alq_bits(v), __ATOMIC_RELEASE);
}

/* Writes field i of a new block for the first time, or over ALQ_UNIT from
 * alq_alloc.  Does not collect, cannot fail. */
static inline void
alq_init(struct alq_domain *d, alq_value block, uintptr_t i, alq_value v)
{
    alq_value *field = alq_fields(block) + i;

    if (ALQ_CHECKS)
        alq_check_domain(d, "alq_init");
    if (alq_bits(block) - d->young_base >= d->young_bytes && alq_is_young(d, v))
        alq_init_slow(d, field, v);
    else
        __atomic_store_n((uintptr_t *)field, alq_bits(v), __ATOMIC_RELEASE);
}

#ifdef __cplusplus
}
#endif
#endif
