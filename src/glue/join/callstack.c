/* callstack.c -- <aliquot/callstack.h>: sources, names, tables
 *
 * A stack source of the program replaces the machine's frames in samples of the
 * heap. One is installed at a time, in a heap with one domain; readers take it
 * without a lock, so a source that was replaced is kept (.inv.kept). Names come
 * from the source, or from the modules of the process (native.c). Tables of
 * stacks are stack/intern.h under public names. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <aliquot/callstack.h>
#include <aliquot/domain.h>
#include <aliquot/root.h>

#include "glue/join/callstack.h"
#include "glue/join/native.h"
#include "glue/join/profiler.h"
#include "heap/domain.h"
#include "heap/domain_thread.h"
#include "stack/intern.h"

/* ---- root frames -------------------------------------------------------- */

/* The sites of the root frames, innermost first. */
static size_t
sites_walk(void *arg, struct alq_domain *d, uintptr_t *frames,
           size_t max_frames)
{
    const struct alq_frame *f;
    size_t n = 0;

    (void)arg;
    for (f = alq_frames_get(d); f != NULL && n < max_frames; f = f->outer)
        frames[n++] = (uintptr_t)f->site;
    return n;
}

/* A frame is the address of its site, which is static. */
static size_t
sites_describe(void *arg, uintptr_t frame, struct alq_location *locations,
               size_t max_locations)
{
    const struct alq_site *site = (const struct alq_site *)frame;

    (void)arg;
    if (site == NULL || max_locations == 0)
        return 0;
    locations[0] = (struct alq_location){
        .function = site->function,
        .file = site->file,
        .line = site->line,
    };
    return 1;
}

const struct alq_stack_source alq_stack_sites = {
    .walk = sites_walk,
    .describe = sites_describe,
};

/* ---- the source --------------------------------------------------------- */

struct installed {
    struct alq_stack_source source;
    /* the next older one of `kept`; written before it is published */
    struct installed *before;
};

static _Atomic(struct installed *) installed; /* NULL: none */
static _Atomic(struct installed *) kept;      /* all that ever were */

const struct alq_stack_source *
alqi_glue_callstack_source(void)
{
    const struct installed *i =
        atomic_load_explicit(&installed, memory_order_acquire);

    return i != NULL ? &i->source : NULL;
}

void
alqi_glue_callstack_reset(void)
{
    atomic_store_explicit(&installed, NULL, memory_order_release);
}

/* False: no source is set. */
bool
alqi_glue_callstack_walk(struct alq_domain *d, uintptr_t *frames,
                         size_t max_frames, size_t *n_frames)
{
    const struct alq_stack_source *source = alqi_glue_callstack_source();

    if (source == NULL)
        return false;
    *n_frames = source->walk(source->arg, d, frames, max_frames);
    if (*n_frames > max_frames) /* not ours to trust */
        *n_frames = max_frames;
    return true;
}

/* .inv.kept; NULL: no memory. */
static struct installed *
installed_new(const struct alq_stack_source *source)
{
    struct installed *i = calloc(1, sizeof *i);

    if (i == NULL)
        return NULL;
    i->source = *source;
    i->before = atomic_load(&kept);
    while (!atomic_compare_exchange_weak(&kept, &i->before, i))
        continue;
    return i;
}

/* Several domains could be in the old source's functions at once, so there may
 * be only one. Samples that wait are flushed first. */
enum alq_status
alq_stack_source_set(struct alq_domain *d,
                     const struct alq_stack_source *source)
{
    struct installed *i;

    if (d == NULL || (source != NULL && source->walk == NULL))
        return ALQ_EINVAL;
    if (!alqi_heap_thread_runs(d))
        return ALQ_ESTATE;
    if (alqi_heap_domain(d)->heap->life.n_users > 1)
        return ALQ_EBUSY;
    i = source != NULL ? installed_new(source) : NULL;
    if (source != NULL && i == NULL)
        return ALQ_ENOMEM;
    /* A stack that waits for its callback has frames of the old source. */
    (void)alq_memprof_flush(d, NULL);
    atomic_store_explicit(&installed, i, memory_order_release);
    if (i != NULL)
        alqi_glue_profiler_walks();
    return ALQ_OK;
}

/* ---- names -------------------------------------------------------------- */

/* A frame without a symbol is named by its module and offset, in a text that
 * the next call overwrites. */
static size_t
native_describe(uintptr_t frame, struct alq_location *out)
{
    static _Thread_local char text[100]
        __attribute__((tls_model("initial-exec")));
    const struct alqi_glue_module *module;
    uintptr_t offset;
    const char *name = alqi_glue_native_name(frame, &module, &offset);

    if (module == NULL)
        return 0;
    if (name == NULL) {
        snprintf(text, sizeof text, "%.70s+0x%" PRIxPTR, module->name, offset);
        name = text;
    }
    *out = (struct alq_location){.function = name, .file = module->path};
    return 1;
}

/* A source may return more than it was given room for: only what fits
 * counts. */
size_t
alqi_glue_callstack_describe(const struct alq_stack_source *source,
                             uintptr_t frame, struct alq_location *locations,
                             size_t max_locations)
{
    size_t n;

    if (max_locations == 0)
        return 0;
    if (source == NULL)
        return native_describe(frame, locations);
    if (source->describe == NULL)
        return 0;
    n = source->describe(source->arg, frame, locations, max_locations);
    return n < max_locations ? n : max_locations;
}

size_t
alq_stack_describe(struct alq_domain *d, uintptr_t frame,
                   struct alq_location *locations, size_t max_locations)
{
    return alqi_glue_callstack_describe(d != NULL ? alqi_glue_callstack_source()
                                                  : NULL,
                                        frame, locations, max_locations);
}

/* ---- tables ------------------------------------------------------------- */

/* A table of stack/intern.h under a public name. */
enum alq_status
alq_stacks_new(struct alq_stacks **out)
{
    struct alqi_stack_table *table;

    if (out == NULL)
        return ALQ_EINVAL;
    table = alqi_stack_table_new();
    if (table == NULL)
        return ALQ_ENOMEM;
    *out = (struct alq_stacks *)table;
    return ALQ_OK;
}

void
alq_stacks_drop(struct alq_stacks *stacks)
{
    alqi_stack_table_drop((struct alqi_stack_table *)stacks);
}

uint32_t
alq_stacks_add(struct alq_stacks *stacks, const struct alq_callstack *callstack)
{
    return alqi_stack_table_add((struct alqi_stack_table *)stacks,
                                callstack->frames, callstack->n_frames);
}

size_t
alq_stacks_get(const struct alq_stacks *stacks, uint32_t id, uintptr_t *frames,
               size_t max_frames)
{
    return alqi_stack_table_get((const struct alqi_stack_table *)stacks, id,
                                frames, max_frames);
}

size_t
alq_stacks_bytes(const struct alq_stacks *stacks)
{
    return alqi_stack_table_bytes((const struct alqi_stack_table *)stacks);
}
