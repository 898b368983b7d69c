/* unwind_register.c -- a callee-saved register, in a frame further out
 *
 * A walk follows the stack and frame pointers only.  Few frames need more: the
 * linker's resolver keeps its CFA in another register.  For these a second
 * walk starts in this very function, where every register is at hand, and
 * follows that one register, too, until it stands at the same frame.
 *
 * Slow: the CFI of each frame is decoded for it, and nothing is cached.  Keeps
 * .inv.grow as any walk, and ends after FRAMES_MAX frames. */
#include "stack/elf_module.h"
#include "stack/unwind_walk.h"

enum { FRAMES_MAX = ALQI_STACK_FRAMES_MAX + 64 };

/* What CFI at the walk's key says about the register; false: nothing. */
static ALQI_NOINLINE bool
cell_at(const struct alqi_stack_walk *w, struct alqi_stack_reg_rule *out)
{
    struct alqi_stack_mapping mapping;
    struct alqi_stack_sections s;
    struct alqi_stack_unwind u;

    if (!alqi_stack_module_find(w->key, &mapping) ||
        !alqi_stack_module_sections(&mapping, &s) ||
        !alqi_stack_ehframe_find(&s, w->key, w->tracked_reg, &u))
        return false;
    *out = u.state.col[ALQI_STACK_COL_EXTRA];
    return true;
}

/* The register in the caller, given where the frame has put it. */
static void
track(struct alqi_stack_walk *w, bool is_known,
      const struct alqi_stack_reg_rule *cell, uintptr_t cfa)
{
    uint64_t value = w->tracked;

    if (!is_known)
        w->has_tracked = false;
    else if (cell->how == ALQI_STACK_OFFSET)
        w->has_tracked = alqi_stack_peek(
            w->cache, cfa + (uintptr_t)(intptr_t)cell->value, 8, &value);
    else if (cell->how != ALQI_STACK_SAME)
        w->has_tracked = false;
    w->tracked = value;
}

/* One step that takes the register along: by the frame's CFI, or out of a
 * signal frame. */
static bool
step_tracking(struct alqi_stack_walk *w)
{
    struct alqi_stack_frame frame;
    struct alqi_stack_reg_rule cell;
    bool is_known = cell_at(w, &cell);
    uint64_t value;

    if (alqi_stack_step(w, &frame) != ALQI_STACK_GO)
        return false;
    if (w->saved_at == 0) {
        track(w, is_known, &cell,
              alqi_stack_frame_cfa(frame.ra_at, frame.rule));
        return true;
    }
    w->has_tracked = alqi_stack_peek(
        w->cache, w->saved_at + (uintptr_t)alqi_arch_saved_at(w->tracked_reg),
        8, &value);
    w->tracked = value;
    return true;
}

ALQI_COLD bool
alqi_stack_recover(const struct alqi_stack_walk *at, unsigned reg,
                   uint64_t *out)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_walk w;
    uintptr_t value;

    if (!alqi_arch_live_register(reg, &value))
        return false;
    w.cache = at->cache;
    w.key = here.pc;
    w.sp = here.sp;
    w.fp = here.fp;
    w.saved_at = 0;
    w.generation = at->generation;
    w.is_exact = true;
    w.n_switches = 0;
    w.scratch = at->scratch + 1;
    w.tracked_reg = (uint8_t)reg;
    w.has_tracked = true;
    w.tracked = value;
    for (unsigned n = 0; n < FRAMES_MAX; n++) {
        if (w.key == at->key && w.sp == at->sp) {
            *out = w.tracked;
            return w.has_tracked;
        }
        if (!step_tracking(&w))
            return false;
    }
    return false;
}
