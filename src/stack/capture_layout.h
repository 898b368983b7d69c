/* capture_layout.h -- captures of few frames, by how the stack lay when a
 * capture began alike
 *
 * Programs that recurse make stacks that never come again, but that lie as
 * others did.  A layout is what one capture has found, kept by where it began:
 * where the return addresses are, and which rule each frame has (.def.layout).
 * The next capture that begins there reads all return addresses at once,
 * instead of one after the other.
 *
 * Keeps .inv.layout and .inv.seen.  No memory but [sp, the last return
 * address] is read, which is compared with the cache's readable range
 * (.inv.read). */
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

/* One thread's, as its set; all is written by captures of that thread. */
struct alqi_stack_layout {
    uintptr_t sp;    /* where its captures begin, with pc[0]                */
    uintptr_t top;   /* where its words end, outwards                       */
    uint32_t max;    /* captures of so many frames it may serve; 0: none    */
    uint16_t n;      /* rows; 0: none                                       */
    uint16_t varies; /* captures that will not first compare all pcs: the
                        last ones differed; 0: the next one compares        */
    bool is_whole;   /* the last row is its thread's first frame            */
    bool has_fp;     /* some CFA is computed from a frame pointer           */
    /* The rows, each with its pc.  All but the last have an offset, from sp to
     * the return address, in words, and a rule; the last has a rule if
     * is_whole. */
    uint16_t offset[ALQI_STACK_LAYOUT_FRAMES_MAX + 3];
    uint32_t rule[ALQI_STACK_LAYOUT_FRAMES_MAX];
    uintptr_t pc[ALQI_STACK_LAYOUT_FRAMES_MAX + 3];
    /* Two pcs that each row with a rule had (.inv.seen): a function that calls
     * itself mostly does so from two call sites. */
    uintptr_t seen[2][ALQI_STACK_LAYOUT_FRAMES_MAX];
    uint32_t n_skipped; /* captures still to come that do not look at seen  */
    uint32_t skips;     /* what n_skipped is set to at the next new pc      */
};

/* A thread's layouts: zeroed memory, used beside a capture cache, whose
 * readable range they go by. */
struct alqi_stack_layouts {
    uint64_t generation; /* of the rules the layouts were made by */
    struct alqi_stack_layout layout[ALQI_STACK_LAYOUTS];
};

/* The layout that a capture from pc and sp is compared with. */
static inline struct alqi_stack_layout *
alqi_stack_layout_of(struct alqi_stack_layouts *few, uintptr_t pc, uintptr_t sp)
{
    uint32_t hash = (uint32_t)(pc + sp) * 0x9E3779B1u;
    struct alqi_stack_layout *l =
        &few->layout[hash >> (32 - ALQI_STACK_LAYOUTS_LOG)];

    /* The layout's address is computed here, not once more for each field. */
    __asm__("" : "+r"(l));
    return l;
}

/* What a capture has found. */
struct alqi_stack_frames {
    const uintptr_t *pcs; /* innermost first; until the next capture */
    size_t n;
};

/* ---- capture_layout.c
 * -------------------------------------------------------------- */

/* A capture that no layout serves: frame by frame, and what it finds becomes
 * the layout. */
struct alqi_stack_frames alqi_stack_layout_capture_slow(
    struct alqi_stack_layouts *few, const struct alqi_stack_cache *cache,
    const struct alqi_stack_regs *start, uintptr_t skip_lo, uintptr_t skip_hi,
    uint32_t max_frames);
/* A capture whose layout holds up to row `at`: that row's pc is not what it
 * was, or was not compared. */
struct alqi_stack_frames alqi_stack_layout_capture_changed(
    struct alqi_stack_layouts *few, const struct alqi_stack_cache *cache,
    const struct alqi_stack_regs *start, struct alqi_stack_layout *l,
    uint32_t at, uint32_t max_frames);

/* ---- a sample's way, so inline ------------------------------------------ */

/* How many of the first n rows have their pcs; rounded up to whole blocks, n:
 * all.  What is behind the last row doubles the first (rows_pad). */
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

/* As alqi_stack_capture, without what that says of the capture before; the
 * cache's own captures go on as if there had been none.  pcs NULL: the stack
 * is deeper than LAYOUT_FRAMES_MAX and wanted whole, or has frames that are
 * not plain, or whose rules are not cached. */
static inline __attribute__((always_inline)) struct alqi_stack_frames
alqi_stack_layout_capture(struct alqi_stack_layouts *few,
                          const struct alqi_stack_cache *cache,
                          const struct alqi_stack_regs *start,
                          uintptr_t skip_lo, uintptr_t skip_hi,
                          uint32_t max_frames)
{
    /* A capture that begins in the skipped range has no layout. */
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
