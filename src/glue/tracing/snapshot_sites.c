/* snapshot_sites.c -- see snapshot_sites.h
 *
 * Keeps .inv.copy_bare: Stacks and names are read where alq_pprof keeps them,
 *   which changes in callbacks of the heap alone, and these stand still. */
#include <stdlib.h>

#include "glue/join/profiler.h"
#include "glue/tracing/snapshot_sites.h"
#include "glue/tracing/tracing.h"

enum { FRAMES_MAX = 512, ROW_BITS = 20 };

/* ---- gathering ---------------------------------------------------------- */

/* Room for one row more; false: no memory. */
static bool
reserve(void **rows, size_t n, size_t *size, size_t row_bytes)
{
    size_t more = *size == 0 ? 64 : *size * 2;
    void *grown;

    if (n < *size)
        return true;
    grown = realloc(*rows, more * row_bytes);
    if (grown == NULL)
        return false;
    *rows = grown;
    *size = more;
    return true;
}

/* The number of the stack's site; false: no memory. */
static bool
site_find(struct alqi_glue_snapshot_sites *s,
          const struct alqi_pprof_stack *stack, uint64_t *number)
{
    /* A pprof is malloc's, at a multiple of 16. */
    uint64_t key =
        (uint64_t)(uintptr_t)stack->pprof >> 4 << ROW_BITS | stack->row;
    uint64_t *at;
    bool is_new;

    if (!reserve((void **)&s->sites, s->n_sites, &s->sites_size,
                 sizeof *s->sites))
        return false;
    at = alqi_base_map_at(&s->number_of, key, &is_new);
    if (at == NULL)
        return false;
    if (is_new) {
        s->sites[s->n_sites++] = *stack;
        *at = s->n_sites;
    }
    *number = *at - 1;
    return true;
}

static void
traced_add(struct alqi_glue_snapshot_sites *s, const void *block,
           const struct alqi_tracing_object *object)
{
    if (!reserve((void **)&s->traced, s->n_traced, &s->traced_size,
                 sizeof *s->traced)) {
        s->is_short = true;
        return;
    }
    s->traced[s->n_traced++] = (struct alqi_glue_snapshot_traced){
        (uintptr_t)block, object->stream & 0xFF,
        object->id & (((uint64_t)1 << 56) - 1)};
}

static void
seen_add(void *arg, const struct alqi_memprof_seen *seen)
{
    struct alqi_glue_snapshot_sites *s = arg;
    struct alqi_tracing_object object;
    struct alqi_pprof_stack stack;
    uint64_t site;

    if (alqi_tracing_knows(seen->tracker, seen->data, &object)) {
        traced_add(s, seen->block, &object);
        return;
    }
    if (!alqi_pprof_stack_of(seen->tracker, seen->data, &stack))
        return;
    if (!site_find(s, &stack, &site) ||
        !reserve((void **)&s->samples, s->n_samples, &s->samples_size,
                 sizeof *s->samples)) {
        s->is_short = true;
        return;
    }
    s->samples[s->n_samples++] = (struct alqi_glue_snapshot_sample){
        (uintptr_t)seen->block, site, seen->n_samples, seen->rate};
}

bool
alqi_glue_snapshot_sites_gather_stw(void *arg, struct alqi_domain *of)
{
    struct alqi_glue_snapshot_sites *s = arg;
    struct alqi_memprof_domain *domain = alqi_glue_profiled_domain(of);

    ALQI_ASSERT(alqi_heap_is_stopped(of->heap));
    if (domain != NULL)
        alqi_memprof_each_seen(domain, seen_add, s);
    return !s->is_short;
}

/* ---- writing ------------------------------------------------------------ */

/* The names of a frame of a stack source: several, if calls were inlined,
 * outermost first; innermost first in the site. */
static size_t
names_put(const struct alq_pprof *p, uintptr_t frame,
          struct alqi_dump_frame *frames, size_t room)
{
    uint64_t code = alqi_glue_trace_names_code(&p->names, false, frame);
    struct alqi_ctf_location l = {0};
    size_t n = 0;

    if (code != 0)
        alqi_glue_trace_names_lookup((void *)(uintptr_t)&p->names, code, &l);
    if (l.n_entries == 0 && room > 0)
        frames[n++] = (struct alqi_dump_frame){.function = "[unknown]"};
    for (uint32_t i = l.n_entries; i > 0 && n < room; i--)
        frames[n++] = (struct alqi_dump_frame){
            .function = l.entries[i - 1].function,
            .file = l.entries[i - 1].file,
            .line = (uint64_t)l.entries[i - 1].line,
        };
    return n;
}

/* The innermost frames. */
static void
site_write(struct alqi_dump_encoder *e, uint64_t number,
           const struct alqi_pprof_stack *site)
{
    uintptr_t pcs[FRAMES_MAX];
    struct alqi_dump_frame frames[FRAMES_MAX];
    size_t n_pcs = alqi_stack_table_get(site->pprof->stacks[site->is_native],
                                        site->stack, pcs, FRAMES_MAX);
    size_t n = 0;

    if (n_pcs > FRAMES_MAX)
        n_pcs = FRAMES_MAX;
    for (size_t i = 0; i < n_pcs && n < FRAMES_MAX; i++)
        if (site->is_native)
            frames[n++] = (struct alqi_dump_frame){.address = pcs[i]};
        else
            n += names_put(site->pprof, pcs[i], frames + n, FRAMES_MAX - n);
    alqi_dump_site(e, number, frames, n);
}

void
alqi_glue_snapshot_sites_write(void *arg, struct alqi_dump_encoder *e)
{
    const struct alqi_glue_snapshot_sites *s = arg;

    for (size_t i = 0; i < s->n_sites; i++)
        site_write(e, i, &s->sites[i]);
    for (size_t i = 0; i < s->n_samples; i++)
        alqi_dump_sample(e, s->samples[i].block, s->samples[i].site,
                         s->samples[i].n_samples, s->samples[i].rate);
    for (size_t i = 0; i < s->n_traced; i++)
        alqi_dump_traced(e, s->traced[i].block, s->traced[i].stream,
                         s->traced[i].object);
}

void
alqi_glue_snapshot_sites_drop(struct alqi_glue_snapshot_sites *s)
{
    free(s->sites);
    free(s->samples);
    free(s->traced);
    alqi_base_map_clear(&s->number_of);
}
