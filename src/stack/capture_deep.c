/* capture_deep.c -- a walk of any number of frames, into memory of the caller's
 *
 * For stacks deeper than a capture cache: every frame is stepped over, nothing
 * is kept, replayed or cached as a stack.  The cache lends its readable range
 * (.inv.read) and its scratch rules. */
#include "stack/unwind_walk.h"

/* Steps to the caller, with the ends that capture_replay.c has: below the null
 * page there is no code to step from; a return address of 0 ends a stack. */
static enum alqi_stack_outcome
step(struct alqi_stack_walk *w, struct alqi_stack_frame *frame)
{
    if (!w->is_exact && w->key + 1 < ALQI_STACK_NULL_PAGE)
        return w->key + 1 == 0 ? ALQI_STACK_DONE : ALQI_STACK_LOST;
    return alqi_stack_step(w, frame);
}

ALQI_COLD struct alqi_stack_result
alqi_stack_capture_deep(struct alqi_stack_cache *cache,
                        const struct alqi_stack_regs *start, uintptr_t skip_lo,
                        uintptr_t skip_hi, uintptr_t *frames,
                        uint32_t max_frames)
{
    struct alqi_stack_result result = {.frames = frames};
    enum alqi_stack_outcome o = ALQI_STACK_GO;
    struct alqi_stack_frame frame;
    struct alqi_stack_walk w;

    alqi_stack_walk_begin(&w, cache, start);
    if (!alqi_stack_make_readable(cache, start->sp))
        o = ALQI_STACK_LOST;
    while (o == ALQI_STACK_GO) {
        if (result.n_frames == max_frames) {
            o = ALQI_STACK_FULL;
            break;
        }
        frame.pc = 0;
        o = step(&w, &frame);
        if (frame.pc != 0 && (result.n_frames > 0 ||
                              frame.pc - 1 - skip_lo >= skip_hi - skip_lo))
            frames[result.n_frames++] = frame.pc;
    }
    result.truncated = o == ALQI_STACK_FULL;
    result.incomplete = o == ALQI_STACK_LOST;
    return result;
}
