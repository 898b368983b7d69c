/* few.h -- captures of few frames, by how the stack lay when it began alike
 *
 * Where few frames are wanted, or a stack has few, a memo's rows and trails are
 * more than is needed: programs that recurse make stacks that never come again,
 * but that lie as others did.  A layout is what one capture has found, by
 * where it began: where the return addresses are, and which rule each frame
 * has.  The next one that begins there reads all return addresses at once,
 * instead of one after the other.
 *
 * .inv.layout  A layout's frames are those of the stack if it begins at the
 *              same pc and sp, each return address is what it was or has the
 *              rule that the one there had, and each frame pointer that a CFA
 *              is computed from leads to where it did (.prop.stretch).
 *
 * No memory but [sp, the last return address] is read, which is compared with
 * the memo's readable range (.inv.read). */
#ifndef ALQI_STACK_FEW_H
#define ALQI_STACK_FEW_H

#include "stack/capture.h"

enum {
    ALQI_STACK_FEW_MAX = 69,
    ALQI_STACK_FEW_LAYOUTS_LOG = 6,
    ALQI_STACK_FEW_LAYOUTS = 1 << ALQI_STACK_FEW_LAYOUTS_LOG
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
    uint16_t place[ALQI_STACK_FEW_MAX + 3];
    uint32_t rule[ALQI_STACK_FEW_MAX];
    uintptr_t pc[ALQI_STACK_FEW_MAX + 3];
};

_Static_assert(sizeof(struct alqi_stack_layout) == 1024, "found by a shift");

/* A thread's, zeroed; with a memo for what may be read. */
struct alqi_stack_few {
    uint64_t generation; /* of the rules the layouts were made by */
    struct alqi_stack_layout layout[ALQI_STACK_FEW_LAYOUTS];
};

/* The layout that a capture from there is compared with. */
static inline struct alqi_stack_layout *
alqi_stack_layout_of(struct alqi_stack_few *few, uintptr_t pc, uintptr_t sp)
{
    uint32_t hash = (uint32_t)(pc + sp) * 0x9E3779B1u;

    return &few->layout[hash >> (32 - ALQI_STACK_FEW_LAYOUTS_LOG)];
}

struct alqi_stack_frames {
    const uintptr_t *pcs; /* innermost first; until the next capture */
    size_t n;
};

/* As alqi_stack_capture, but for what it says of the capture before.  pcs NULL:
 * it takes more than this to capture the stack, which is deeper than FEW_MAX
 * and wanted whole, or has other frames than plain ones, or new ones.  The
 * memo's own captures go on as if there had been none. */
struct alqi_stack_frames
alqi_stack_few_capture(struct alqi_stack_few *few,
                       const struct alqi_stack_memo *memo,
                       const struct alqi_stack_regs *start, uintptr_t skip_lo,
                       uintptr_t skip_hi, uint32_t max_frames);

#endif
