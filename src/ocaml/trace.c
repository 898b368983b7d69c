/* trace.c -- traces of an OCaml program: what its frames are called
 *
 * MEMTRACE=, ALIQUOT_GC_TRACE=, the control socket and aliquot record work as
 * for any program on the heap; frames are named by OCaml's debug information.
 * A frame is what alqi_heap_host_walk has written. */
#include <aliquot/callstack.h>

#include "glue/control/control.h"
#include "glue/tracing/gc_trace.h"
#include "glue/tracing/trace.h"
#include "heap/hosted.h"
#include "ocaml/contract.h"
#include "ocaml/trace.h"

/* An alq_stack_source's walk: alqi_heap_host_walk of the whole stack. */
static size_t
walk(void *arg, struct alq_domain *d, uintptr_t *frames, size_t max_frames)
{
    size_t n = 0;

    (void)arg;
    (void)alqi_heap_host_walk((struct alqi_domain *)d, 0, frames, max_frames,
                              &n);
    return n;
}

static struct alq_location
location_of(const struct caml_loc_info *l)
{
    return (struct alq_location){.function = l->loc_defname,
                                 .file = l->loc_filename,
                                 .line = (unsigned)l->loc_start_lnum,
                                 .start_column = (unsigned)l->loc_start_chr,
                                 .end_column = (unsigned)l->loc_end_chr};
}

/* OCaml's list begins with the innermost location. */
static void
reverse(struct alq_location *locations, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct alq_location l = locations[i];

        locations[i] = locations[n - 1 - i];
        locations[n - 1 - i] = l;
    }
}

/* An alq_stack_source's describe: OCaml's locations of a return address, the
 * outermost first; those inlined into it have one each. */
static size_t
describe(void *arg, uintptr_t frame, struct alq_location *locations,
         size_t max_locations)
{
    void *info = caml_debuginfo_extract((void *)(frame - 1));
    size_t n = 0;

    (void)arg;
    for (; info != NULL && n < max_locations;
         info = caml_debuginfo_next(info)) {
        struct caml_loc_info l;

        caml_debuginfo_location(info, &l);
        if (l.loc_valid)
            locations[n++] = location_of(&l);
    }
    reverse(locations, n);
    return n;
}

void
alqi_ocaml_trace_begin(struct alqi_domain *d)
{
    static const struct alq_stack_source source = {.walk = walk,
                                                   .describe = describe};

    if (alq_stack_source_set(&d->pub, &source) != ALQ_OK)
        caml_fatal_error("no memory for call stacks");
    alqi_glue_gc_trace_begin(&d->pub);
    alqi_glue_trace_begin(&d->pub);
    alqi_glue_control_begin();
}
