/* capture_replay.h -- a walk that stops where it meets the rows of the last one
 *
 * The walk steps frame by frame until a frame is a row of the last walk; from
 * there on rows are verified instead of unwound (.prop.replay).  Afterwards
 * the rows are this capture. */
#ifndef ALQI_STACK_CAPTURE_REPLAY_H
#define ALQI_STACK_CAPTURE_REPLAY_H

#include "stack/capture.h"

struct alqi_stack_replayed {
    struct alqi_stack_result result; /* n_same_outer: compared with the rows */
    bool is_replay;                  /* some rows of the last walk were kept */
};

/* As alqi_stack_capture; requires nothing of the rows, which may be of another
 * generation: then they and the cached stacks are dropped first. */
struct alqi_stack_replayed
alqi_stack_replay(struct alqi_stack_cache *cache,
                  const struct alqi_stack_regs *start, uintptr_t skip_lo,
                  uintptr_t skip_hi, uint32_t max_frames);

#endif
