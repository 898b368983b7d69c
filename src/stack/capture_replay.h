/* capture_replay.h -- a walk that stops where it meets the rows of the last one
 */
#ifndef ALQI_STACK_CAPTURE_REPLAY_H
#define ALQI_STACK_CAPTURE_REPLAY_H

#include "stack/capture.h"

struct alqi_stack_replayed {
    struct alqi_stack_result result; /* n_same_outer: as the rows had them */
    bool is_replay;                  /* rows were met                      */
};

/* As alqi_stack_capture; the rows are the capture then.  Its stacks are none
 * if the cache was of another generation. */
struct alqi_stack_replayed
alqi_stack_replay(struct alqi_stack_cache *cache,
                  const struct alqi_stack_regs *start, uintptr_t skip_lo,
                  uintptr_t skip_hi, uint32_t max_frames);

#endif
