/* capture_layout.h -- captures of few frames, by how the stack lay when it
 * began alike
 *
 * Where few frames are wanted, or a stack has few, a cache's rows and stacks
 * are more than is needed: programs that recurse make stacks that never come
 * again, but that lie as others did.  A layout is what one capture has found,
 * by where it began: where the return addresses are, and which rule each frame
 * has.  The next one that begins there reads all return addresses at once,
 * instead of one after the other.
 *
 * .inv.layout  A layout's frames are those of the stack if it begins at the
 *              same pc and sp, each return address is what it was or has the
 *              rule that the one there had, and each frame pointer that a CFA
 *              is computed from leads to where it did (.prop.stretch).
 *
 * .inv.seen    Of a layout that serves captures, both pcs that were seen of a
 * row have the row's rule.
 *
 * No memory but [sp, the last return address] is read, which is compared with
 * the cache's readable range (.inv.read). */
#ifndef ALQI_STACK_CAPTURE_LAYOUT_H
#define ALQI_STACK_CAPTURE_LAYOUT_H

#include "stack/capture.h"
#include "stack/unwind_walk.h"

enum {
    ALQI_STACK_LAYOUT_FRAMES_MAX = 69,
    ALQI_STACK_LAYOUT_BLOCK = 3, /* rows that are compared at a time */
    ALQI_STACK_LAYOUTS_LOG = 6,
    ALQI_STACK_LAYOUTS = 1 << ALQI_STACK_LAYOUTS_LOG
};

struct alqi_stack_layout {
    uintptr_t sp;
    uintptr_t top;   /* where its words end, outwards                        */
    uint32_t max;    /* captures of so many frames it may serve; 0: none     */
    uint16_t n;      /* rows; 0: none                                        */
    uint16_t varies; /* captures that will not first try whether all is the
                        same                                           */
    bool is_whole;   /* the last one is its thread's first frame             */
    bool has_fp;     /* some CFA is computed from a frame pointer            */
    /* Of each row but the last, in words from sp: where its return address is.
     * Rules of those, and of the last one too if is_whole. */
    uint16_t offset[ALQI_STACK_LAYOUT_FRAMES_MAX + 3];
    uint32_t rule[ALQI_STACK_LAYOUT_FRAMES_MAX];
    uintptr_t pc[ALQI_STACK_LAYOUT_FRAMES_MAX + 3];
    /* Two pcs that each row had, if it has a rule: a function that calls itself
     * mostly does so from two offsets. */
    uintptr_t seen[2][ALQI_STACK_LAYOUT_FRAMES_MAX];
    uint32_t n_skipped; /* captures yet that do not look there */
    uint32_t skips;     /* how many that is after the next stranger */
};

/* A thread's, zeroed; with a cache for what may be read. */
struct alqi_stack_layouts {
    uint64_t generation; /* of the rules the layouts were made by */
    struct alqi_stack_layout layout[ALQI_STACK_LAYOUTS];
};

/* The layout that a capture from there is compared with. */
static inline struct alqi_stack_layout *
alqi_stack_layout_of(struct alqi_stack_layouts *few, uintptr_t pc, uintptr_t sp)
{
    uint32_t hash = (uint32_t)(pc + sp) * 0x9E3779B1u;
    struct alqi_stack_layout *l =
        &few->layout[hash >> (32 - ALQI_STACK_LAYOUTS_LOG)];

    /* Its address is computed here, not once more for each field. */
    __asm__("" : "+r"(l));
    return l;
}

struct alqi_stack_frames {
    const uintptr_t *pcs; /* innermost first; until the next capture */
    size_t n;
};

/* ---- capture_layout.c
 * -------------------------------------------------------------- */

struct alqi_stack_frames alqi_stack_layout_capture_slow(
    struct alqi_stack_layouts *few, const struct alqi_stack_cache *cache,
    const struct alqi_stack_regs *start, uintptr_t skip_lo, uintptr_t skip_hi,
    uint32_t max_frames);
/* From `at` on the layout's rows are not what they were, or may not be. */
struct alqi_stack_frames alqi_stack_layout_capture_changed(
    struct alqi_stack_layouts *few, const struct alqi_stack_cache *cache,
    const struct alqi_stack_regs *start, struct alqi_stack_layout *l,
    uint32_t at, uint32_t max_frames);

/* ---- a sample's way, so inline ------------------------------------------ */

/* Of its n rows the stack has so many, or up to two more; n: all of them.  What
 * is behind the last one doubles the first (rows_pad). */
static inline uint32_t
alqi_stack_layout_equal(const struct alqi_stack_layout *l, uint32_t n)
{
    const uint16_t *offset = l->offset;
    const uintptr_t *pc = &l->pc[1], *end = &l->pc[n];
    uintptr_t sp = l->sp;

    for (; pc < end;
         offset += ALQI_STACK_LAYOUT_BLOCK, pc += ALQI_STACK_LAYOUT_BLOCK)
#pragma GCC unroll 3
        for (unsigned i = 0; i < ALQI_STACK_LAYOUT_BLOCK; i++)
            if (alqi_arch_code_address(alqi_stack_word_at(sp, offset[i])) !=
                pc[i])
                return (uint32_t)(pc - l->pc);
    return n;
}

/* As alqi_stack_capture, but for what it says of the capture before.  pcs NULL:
 * it takes more than this to capture the stack, which is deeper than FEW_MAX
 * and wanted whole, or has other frames than plain ones, or new ones.  The
 * cache's own captures go on as if there had been none. */
static inline __attribute__((always_inline)) struct alqi_stack_frames
alqi_stack_layout_capture(struct alqi_stack_layouts *few,
                          const struct alqi_stack_cache *cache,
                          const struct alqi_stack_regs *start,
                          uintptr_t skip_lo, uintptr_t skip_hi,
                          uint32_t max_frames)
{
    /* Of the heap's own text there is no layout. */
    uintptr_t pc = start->pc + !start->is_return, sp = start->sp;
    struct alqi_stack_layout *l = alqi_stack_layout_of(few, pc, sp);
    uint32_t same = 1;

    if (ALQI_UNLIKELY(l->pc[0] != pc || l->sp != sp || l->max != max_frames ||
                      sp < cache->readable_lo || l->top > cache->readable_hi ||
                      few->generation !=
                          atomic_load_explicit(&alqi_stack_generation,
                                               memory_order_acquire)))
        return alqi_stack_layout_capture_slow(few, cache, start, skip_lo,
                                              skip_hi, max_frames);
    if (l->varies == 0)
        same = alqi_stack_layout_equal(l, l->n);
    if (same < l->n)
        return alqi_stack_layout_capture_changed(few, cache, start, l, same,
                                                 max_frames);
    return (struct alqi_stack_frames){l->pc, l->n};
}

#endif
