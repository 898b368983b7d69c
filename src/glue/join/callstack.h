/* callstack.h -- whose frames samples of the managed heap have
 *
 * Keeps .inv.kept (doc/design/trace.md): A source that was set stays readable,
 *   as a thread may be in its functions, and its frames in a trace. */
#ifndef ALQI_GLUE_JOIN_CALLSTACK_H
#define ALQI_GLUE_JOIN_CALLSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/callstack.h>

/* The source that is set; NULL: the machine's frames. */
const struct alq_stack_source *alqi_glue_callstack_source(void);

/* None is: a new heap. */
void alqi_glue_callstack_reset(void);

/* As alqi_memprof_subject.walk, of a domain. */
bool alqi_glue_callstack_walk(struct alq_domain *d, uintptr_t *frames,
                              size_t max_frames, size_t *n_frames);

/* As alq_stack_describe, by that source; NULL: the machine's frames. */
size_t alqi_glue_callstack_describe(const struct alq_stack_source *source,
                                    uintptr_t frame,
                                    struct alq_location *locations,
                                    size_t max_locations);

#endif
