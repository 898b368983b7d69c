/* convert_exact.c -- the exact part of a recording into the trace
 *
 * Addresses become blocks: an address means the block that was allocated there
 * last.  Two allocations at one address without a free between them mean that
 * the free was not seen (the C library's own, or a lost one): the block ends
 * where the next begins, and is counted.  A free of an address where nothing
 * is known to live is of a block from before the recording, or a handler's;
 * it is counted and left out.
 *
 * .inv.stack  path[0 .. depth) are the nodes of the last exact allocation.  If
 *             the writer wrote no other since, it holds their codes, and the
 *             next one's stack shares most of them. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/convert/conversion.h"
#include "cli/convert/convert.h"

enum {
    LOOSE = 4096,
    WINDOW_TICKS = 1 << 10 /* 16 k cycles: some microseconds */
};

struct stream_state {
    int64_t thread;
    uint64_t moved_id; /* continued by the stream's next allocation */
    bool has_moved;
};

/* A free without its block, or a block's end without its free. */
struct loose {
    uint64_t address; /* 0: none */
    uint64_t ticks;
    uint32_t stream;
    bool is_moved;
};

struct loose_table {
    uint64_t last_ticks; /* of all that was put in */
    struct loose at[LOOSE];
};

struct module_event {
    struct alqi_raw_event event;
    struct module_event *next;
};

struct alqi_cli_exact_writer {
    struct alqi_cli_exact *exact;
    struct alqi_cli_merge *merge; /* of which the modules are read */
    const struct alqi_cli_exact_node *nodes;
    uint32_t n_nodes;
    struct stream_state *streams;
    uint32_t n_streams;
    struct alqi_base_map live; /* address -> object id */
    uint64_t *codes;           /* of nodes; 0: not looked up yet */
    uint32_t *path;
    uint32_t depth;
    struct module_event *modules; /* in their order */
    struct module_event **modules_end;
    struct module_event *to_apply; /* the first not applied */
    uint64_t n_applied, n_passed;
    struct loose_table early;
    struct loose_table late;
};

/* ---- modules ---------------------------------------------------------------
 */

/* Reads them ahead: a node names how many come before it, not when. */
static enum alq_status
modules_read(struct alqi_cli_exact_writer *w)
{
    struct alqi_cli_merged merged;

    while (alqi_cli_merge_next(w->merge, &merged)) {
        struct module_event *m;

        if (merged.event->kind != ALQI_RAW_MODULE)
            continue;
        m = calloc(1, sizeof *m);
        if (m == NULL)
            return ALQ_ENOMEM;
        m->event = *merged.event;
        *w->modules_end = m;
        w->modules_end = &m->next;
        if (w->to_apply == NULL)
            w->to_apply = m;
    }
    return ALQ_OK;
}

static enum alq_status
modules_apply(struct alqi_cli_conversion *c, uint64_t n)
{
    struct alqi_cli_exact_writer *w = c->exact;
    enum alq_status status = ALQ_OK;

    while (status == ALQ_OK && w->n_applied < n && w->to_apply != NULL) {
        status = alqi_cli_conversion_module(c, &w->to_apply->event);
        w->to_apply = w->to_apply->next;
        w->n_applied++;
    }
    return status;
}

bool
alqi_cli_exact_knows_module(struct alqi_cli_exact_writer *w)
{
    if (w->n_passed++ < w->n_applied)
        return true;
    w->n_applied++;
    if (w->to_apply != NULL)
        w->to_apply = w->to_apply->next;
    return false;
}

/* ---- stacks ----------------------------------------------------------------
 */

static enum alq_status
code_find(struct alqi_cli_conversion *c, uint32_t node)
{
    struct alqi_cli_exact_writer *w = c->exact;
    enum alq_status status =
        modules_apply(c, alqi_cli_exact_modules_before(w->exact, node));

    if (status != ALQ_OK)
        return status;
    w->codes[node] = alqi_cli_codes_from(c->codes, w->nodes[node].pc);
    return w->codes[node] != 0 ? ALQ_OK : ALQ_ENOMEM;
}

/* A stack while it is changed into the next one, from its inner end on. */
struct next_stack {
    uint64_t *codes;
    uint32_t n_codes;
    uint32_t n_last; /* codes that the last one had */
    uint32_t n_same;
};

static bool
next_stack_open(struct alqi_cli_conversion *c, struct next_stack *next,
                uint32_t n_codes)
{
    next->codes = alqi_ctf_writer_stack(c->writer, n_codes, &next->n_last);
    next->n_codes = n_codes;
    next->n_same = n_codes < next->n_last ? n_codes : next->n_last;
    return next->codes != NULL;
}

static void
next_stack_put(struct next_stack *next, uint32_t i, uint64_t code)
{
    if (i < next->n_last && next->codes[i] == code)
        return;
    next->codes[i] = code;
    if (i < next->n_same)
        next->n_same = i;
}

/* The writer's stack becomes that of e, outermost first, with a word innermost
 * that it is a mapping if it is no block (.inv.stack). */
static enum alq_status
stack_fill(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e,
           struct next_stack *next)
{
    struct alqi_cli_exact_writer *w = c->exact;
    uint32_t node = e->event->node;
    uint32_t depth = node < w->n_nodes ? w->nodes[node].n_frames : 0;
    uint32_t old = c->is_last_exact ? w->depth : 0;

    w->depth = 0; /* until all of it stands */
    if (!next_stack_open(c, next, depth + e->is_mapping))
        return ALQ_ENOMEM;
    if (e->is_mapping)
        next_stack_put(next, depth, ALQI_CLI_CODE_MAPPING);
    for (uint32_t i = depth; i > 0; node = w->nodes[node].parent) {
        if (i <= old && w->path[i - 1] == node)
            break;
        if (ALQI_UNLIKELY(w->codes[node] == 0)) {
            enum alq_status status = code_find(c, node);

            if (status != ALQ_OK)
                return status;
        }
        w->path[--i] = node;
        next_stack_put(next, i, w->codes[node]);
    }
    w->depth = depth;
    return ALQ_OK;
}

/* ---- frees out of turn -----------------------------------------------------
 *
 * .inv.early  A processor may read its clock before a load that stands before
 *             it, by as long as it looks ahead: then a free of one thread
 *             seems to come before another's allocation that made the block,
 *             or after the next one's at its address.  Both are put right if
 *             they are WINDOW_TICKS apart at most. */

static struct loose *
loose_at(struct loose_table *table, uint64_t address)
{
    return &table->at[alqi_base_mix(address) % LOOSE];
}

static void
loose_put(struct loose_table *table, const struct alqi_cli_exact_event *e)
{
    table->last_ticks = e->event->ticks;
    *loose_at(table, e->event->address) = (struct loose){
        .address = e->event->address,
        .ticks = e->event->ticks,
        .stream = e->stream,
        .is_moved = e->is_moved,
    };
}

/* What another stream left of this event's address, a moment ago. */
static struct loose *
loose_find(struct loose_table *table, const struct alqi_cli_exact_event *e)
{
    struct loose *l;

    if (ALQI_LIKELY(e->event->ticks - table->last_ticks > WINDOW_TICKS))
        return NULL;
    l = loose_at(table, e->event->address);
    return l->address == e->event->address && l->stream != e->stream &&
                   e->event->ticks - l->ticks <= WINDOW_TICKS
               ? l
               : NULL;
}

/* ---- events ----------------------------------------------------------------
 */

static enum alq_status
collect_write(struct alqi_cli_conversion *c, uint64_t id, uint64_t time_ns)
{
    c->result->n_frees++;
    return alqi_ctf_write_collect(c->writer,
                                  alqi_cli_conversion_time_us(c, time_ns), id);
}

/* The block that the stream's realloc took goes where the new one comes: in a
 * trace the two and their link are neighbours. */
static enum alq_status
moved_write(struct alqi_cli_conversion *c, struct stream_state *s,
            bool is_linked, uint64_t time_ns)
{
    enum alq_status status;

    if (!s->has_moved)
        return ALQ_OK;
    s->has_moved = false;
    status = collect_write(c, s->moved_id, time_ns);
    if (status == ALQ_OK && is_linked)
        status = alqi_cli_conversion_moved(c, s->moved_id, time_ns);
    return status;
}

static enum alq_status
block_write(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e,
            const struct next_stack *stack, uint64_t *id)
{
    uint64_t size_bytes = e->event->size_bytes;

    c->is_last_exact = true;
    c->result->n_allocs++;
    c->result->allocated_bytes += (double)size_bytes;
    return alqi_ctf_write_alloc_in_place(
        c->writer, alqi_cli_conversion_time_us(c, e->time_ns), size_bytes,
        alqi_base_malloc_words(size_bytes),
        e->is_mapping ? ALQI_CTF_MAJOR : ALQI_CTF_EXTERNAL, stack->n_codes,
        stack->n_same, id);
}

/* The address is free for the block that comes: what lived there ends, and
 * its free, if it comes, is known to be late (.inv.early). */
static enum alq_status
place_clear(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e,
            uint64_t id)
{
    c->result->n_unseen_frees++;
    loose_put(&c->exact->late, e);
    return collect_write(c, id, e->time_ns);
}

/* The free of the new block was there already. */
static enum alq_status
freed_early(struct alqi_cli_conversion *c, struct loose *early, uint64_t id,
            uint64_t time_ns)
{
    struct stream_state *s = &c->exact->streams[early->stream];

    alqi_base_map_take(&c->exact->live, early->address, &id);
    early->address = 0;
    c->result->n_unknown_frees--;
    if (!early->is_moved)
        return collect_write(c, id, time_ns);
    s->has_moved = true;
    s->moved_id = id;
    return ALQ_OK;
}

static enum alq_status
alloc_write(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e)
{
    struct alqi_cli_exact_writer *w = c->exact;
    struct stream_state *s = &w->streams[e->stream];
    enum alq_status status = ALQ_OK;
    struct loose *early;
    struct next_stack stack;
    bool is_new;
    uint64_t *id = alqi_base_map_at(&w->live, e->event->address, &is_new);

    if (id == NULL)
        return ALQ_ENOMEM;
    if (ALQI_UNLIKELY(!is_new))
        status = place_clear(c, e, *id);
    if (status == ALQ_OK)
        status = alqi_cli_conversion_switch(c, s->thread, 1, e->time_ns);
    if (status == ALQ_OK)
        status = stack_fill(c, e, &stack);
    if (status == ALQ_OK)
        status = moved_write(c, s, true, e->time_ns);
    if (status == ALQ_OK)
        status = block_write(c, e, &stack, id);
    if (status != ALQ_OK)
        return status;
    early = loose_find(&w->early, e);
    return ALQI_UNLIKELY(early != NULL) ? freed_early(c, early, *id, e->time_ns)
                                        : ALQ_OK;
}

static enum alq_status
free_write(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e)
{
    struct alqi_cli_exact_writer *w = c->exact;
    struct stream_state *s = &w->streams[e->stream];
    enum alq_status status = moved_write(c, s, false, e->time_ns);
    struct loose *late = loose_find(&w->late, e);
    uint64_t id;

    if (status != ALQ_OK)
        return status;
    if (ALQI_UNLIKELY(late != NULL)) { /* its block has ended */
        late->address = 0;
        c->result->n_unseen_frees--;
        return ALQ_OK;
    }
    if (ALQI_UNLIKELY(!alqi_base_map_take(&w->live, e->event->address, &id))) {
        c->result->n_unknown_frees++;
        loose_put(&w->early, e);
        return ALQ_OK;
    }
    if (!e->is_moved)
        return collect_write(c, id, e->time_ns);
    s->has_moved = true;
    s->moved_id = id;
    return ALQ_OK;
}

static enum alq_status
event_write(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e)
{
    switch (e->event->kind) {
    case ALQI_EXACT_ALLOC:
        return alloc_write(c, e);
    case ALQI_EXACT_FREE:
        return free_write(c, e);
    case ALQI_EXACT_THREAD:
        c->exact->streams[e->stream].thread = e->event->thread_index;
        return alqi_cli_conversion_thread(c, e->event->thread_index,
                                          e->event->tid, e->event->name,
                                          e->time_ns);
    case ALQI_EXACT_RSS:
        return alqi_cli_conversion_rss(c, e->event->value, e->time_ns);
    default:
        return ALQ_OK;
    }
}

enum alq_status
alqi_cli_exact_write(struct alqi_cli_conversion *c, uint64_t until_ns,
                     uint64_t *n_left, uint64_t *last_ns)
{
    struct alqi_cli_exact *x = c->exact->exact;
    enum alq_status status = ALQ_OK;
    const struct alqi_cli_exact_event *e;

    while (status == ALQ_OK && *n_left > 0 &&
           (until_ns == UINT64_MAX || alqi_cli_exact_time_ns(x) <= until_ns) &&
           (e = alqi_cli_exact_next(x)) != NULL) {
        --*n_left;
        *last_ns = e->time_ns;
        alqi_base_map_prefetch(&c->exact->live, e->ahead_address);
        status = event_write(c, e);
    }
    return status;
}

enum alq_status
alqi_cli_exact_end(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    struct alqi_cli_exact_writer *w = c->exact;
    enum alq_status status = ALQ_OK;

    for (uint32_t i = 0; status == ALQ_OK && i < w->n_streams; i++)
        status = moved_write(c, &w->streams[i], false, time_ns);
    return status;
}

uint64_t
alqi_cli_exact_writer_n_damaged(const struct alqi_cli_exact_writer *w)
{
    return w != NULL ? alqi_cli_exact_n_damaged(w->exact) : 0;
}

/* ---- open, drop ------------------------------------------------------------
 */

void
alqi_cli_exact_writer_drop(struct alqi_cli_exact_writer *w)
{
    if (w == NULL)
        return;
    while (w->modules != NULL) {
        struct module_event *next = w->modules->next;

        free(w->modules);
        w->modules = next;
    }
    alqi_cli_merge_drop(w->merge);
    alqi_cli_exact_drop(w->exact);
    alqi_base_map_clear(&w->live);
    free(w->streams);
    free(w->codes);
    free(w->path);
    free(w);
}

/* As many streams and nodes as there are now. */
static bool
tables_grow(struct alqi_cli_exact_writer *w)
{
    uint32_t n_streams = alqi_cli_exact_n_streams(w->exact);
    uint32_t n_nodes = alqi_cli_exact_n_nodes(w->exact);
    struct stream_state *streams =
        reallocarray(w->streams, (size_t)n_streams + 1, sizeof *streams);
    uint64_t *codes;

    if (streams == NULL)
        return false;
    w->streams = streams;
    for (; w->n_streams < n_streams; w->n_streams++)
        streams[w->n_streams] =
            (struct stream_state){.thread = ALQI_CLI_NO_THREAD};
    codes = reallocarray(w->codes, (size_t)n_nodes + 1, sizeof *codes);
    if (codes == NULL)
        return false;
    memset(codes + w->n_nodes, 0, (n_nodes - w->n_nodes) * sizeof *codes);
    w->codes = codes;
    w->nodes = alqi_cli_exact_nodes(w->exact);
    w->n_nodes = n_nodes;
    return true;
}

/* Modules that were met before there was an exact part have been applied. */
static void
modules_pass(struct alqi_cli_exact_writer *w, uint64_t n)
{
    w->n_passed = w->n_applied = n;
    for (; n > 0 && w->to_apply != NULL; n--)
        w->to_apply = w->to_apply->next;
}

enum alq_status
alqi_cli_exact_writer_open(struct alqi_cli_conversion *c,
                           const struct alqi_cli_recording *recording)
{
    struct alqi_cli_exact_writer *w = calloc(1, sizeof *w);
    enum alq_status status = ALQ_ENOMEM;
    bool no_memory;

    if (w == NULL)
        return ALQ_ENOMEM;
    w->exact = alqi_cli_exact_open(recording, &no_memory);
    if (w->exact == NULL) {
        free(w);
        return no_memory ? ALQ_ENOMEM : ALQ_OK;
    }
    c->exact = w;
    w->modules_end = &w->modules;
    w->merge = alqi_cli_merge_open(recording);
    w->path = calloc(ALQI_RAW_FRAMES_MAX, sizeof *w->path);
    if (w->merge != NULL && w->path != NULL && tables_grow(w))
        status = modules_read(w);
    if (status == ALQ_OK)
        modules_pass(w, c->n_modules);
    return status;
}

enum alq_status
alqi_cli_exact_writer_more(struct alqi_cli_conversion *c)
{
    struct alqi_cli_exact_writer *w = c->exact;

    if (!alqi_cli_exact_more(w->exact) || !tables_grow(w) ||
        !alqi_cli_merge_more(w->merge))
        return ALQ_ENOMEM;
    return modules_read(w);
}
