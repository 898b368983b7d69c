/* trace_names.h -- a trace's frames: their codes, and what these mean
 *
 * A code stands for a frame of one source for the whole trace.  The machine's
 * return addresses are codes themselves, as in what aliquot record writes, so
 * that a tool that has a module's debug information can say more; other words
 * get numbers.
 *
 * Keeps .inv.once (doc/design/trace.md): A frame is described when it is first
 *   met, before any event that has it is written. */
#ifndef ALQI_GLUE_TRACING_TRACE_NAMES_H
#define ALQI_GLUE_TRACING_TRACE_NAMES_H

#include <aliquot/callstack.h>

#include "base/map.h"
#include "wire/ctf_locations.h"

struct alqi_glue_trace_names {
    struct alqi_base_map native; /* frame -> code */
    struct alqi_base_map other;
    uint64_t n_others; /* frames with a numbered code */
    /* code -> names; kept until the trace is over */
    struct alqi_wire_locations places;
};

void alqi_glue_trace_names_init(struct alqi_glue_trace_names *names);
void alqi_glue_trace_names_free(struct alqi_glue_trace_names *names);

/* 0: not met yet. */
static inline uint64_t
alqi_glue_trace_names_code(const struct alqi_glue_trace_names *names,
                           bool is_native, uintptr_t frame)
{
    uint64_t code;

    return alqi_base_map_get(is_native ? &names->native : &names->other, frame,
                             &code)
               ? code
               : 0;
}

/* Meets a frame, with what it was described by, n of them; n may be 0.  False:
 * no memory. */
bool alqi_glue_trace_names_add(struct alqi_glue_trace_names *names,
                               bool is_native, uintptr_t frame,
                               const struct alq_location *locations, size_t n);

/* As alqi_ctf_lookup_fn. */
void alqi_glue_trace_names_lookup(void *arg, uint64_t code,
                                  struct alqi_ctf_location *out);

#endif
