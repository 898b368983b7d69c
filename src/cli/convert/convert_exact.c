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
#include "wire/side.h"

enum {
    /* rows of a table of unmatched ends; a newer one may evict an older one */
    LOOSE = 4096,
    /* 16 k cycles, some microseconds: how far apart .inv.early puts right */
    WINDOW_TICKS = 1 << 10
};

/* What one exact stream has announced or left open. */
struct stream_state {
    /* index of its thread, or ALQI_CLI_NO_THREAD before its THREAD event */
    int64_t thread;
    /* object of the old block that the stream's next allocation continues */
    uint64_t moved_id;
    /* moved_id is set; the block's end is not written yet */
    bool has_moved;
};

/* A free without its block, or a block's end without its free. */
struct loose {
    /* 0: the row is empty */
    uint64_t address;
    /* of the event that left it */
    uint64_t ticks;
    /* of the event that left it */
    uint32_t stream;
    /* the free belongs to a realloc of that stream */
    bool is_moved;
};

/* Unmatched ends by hash of their address, one a row. */
struct loose_table {
    /* ticks of the latest one put in: says at once that all are too old */
    uint64_t last_ticks;
    struct loose at[LOOSE];
};

/* A module event, copied: the merge reuses its own. */
struct module_event {
    struct alqi_raw_event event;
    struct module_event *next;
};

struct alqi_cli_exact_writer {
    /* the exact events of all streams in one order; owned */
    struct alqi_cli_exact *exact;
    /* a second reader of the recording, for its module events only; owned */
    struct alqi_cli_merge *merge;
    /* exact's stack nodes; renewed when the recording grows */
    const struct alqi_cli_exact_node *nodes;
    uint32_t n_nodes;
    /* by stream number; owned */
    struct stream_state *streams;
    uint32_t n_streams;
    /* address -> object id of the block that was allocated there last */
    struct alqi_base_map live;
    /* location codes by node; 0: not looked up yet; owned */
    uint64_t *codes;
    /* nodes of the last exact stack, outermost first (.inv.stack); owned */
    uint32_t *path;
    /* nodes in path that hold; 0 while a stack is being changed */
    uint32_t depth;
    /* all module events read so far, in their order; owned */
    struct module_event *modules;
    /* where the next one is linked */
    struct module_event **modules_end;
    /* the first of modules that is not announced yet; NULL: none */
    struct module_event *to_apply;
    /* names of marks, by number; NULL: not read; owned */
    char *marks[ALQI_SIDE_MARKS_MAX + 1];
    /* modules announced by either source, and module events that the sampled
     * streams have passed */
    uint64_t n_applied, n_passed;
    /* frees of unknown addresses: their allocation may follow */
    struct loose_table early;
    /* blocks ended by their successor: their free may follow */
    struct loose_table late;
};

/* ---- modules ---------------------------------------------------------------
 */

/* Keeps the name of a mark that an exact stream has.  False: no memory. */
static bool
mark_read(struct alqi_cli_exact_writer *w, const struct alqi_raw_event *e)
{
    if (e->number == 0 || w->marks[e->number] != NULL)
        return true;
    w->marks[e->number] = strdup(e->function);
    return w->marks[e->number] != NULL;
}

/* Appends the module events that the recording has now. They are read ahead of
 * time: a node names how many modules come before it, not when. So are names:
 * times of exact events are coarse. */
static enum alq_status
modules_read(struct alqi_cli_conversion *c)
{
    struct alqi_cli_exact_writer *w = c->exact;
    struct alqi_cli_merged merged;

    while (alqi_cli_merge_next(w->merge, &merged)) {
        struct module_event *m;

        if (merged.event->kind == ALQI_RAW_CODE &&
            !alqi_cli_codes_python(c->codes, merged.event))
            return ALQ_ENOMEM;
        if (merged.event->kind == ALQI_RAW_MARK && !mark_read(w, merged.event))
            return ALQ_ENOMEM;
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

/* Announces modules until n of them are known, as far as they have been
 * read. */
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

/* The two sources meet the same module events in one order, so counts are
 * enough to match them. If the sampled streams come first, the module is
 * marked as announced here, and the caller announces it. */
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

/* Fills in the location code of a node, after the modules that lay there when
 * the node was made. */
static enum alq_status
code_find(struct alqi_cli_conversion *c, uint32_t node)
{
    struct alqi_cli_exact_writer *w = c->exact;
    enum alq_status status =
        modules_apply(c, alqi_cli_exact_modules_before(w->exact, node));

    if (status != ALQ_OK)
        return status;
    w->codes[node] =
        alqi_cli_codes_from(c->codes, w->nodes[node].pc, c->last_event_ns);
    return w->codes[node] != 0 ? ALQ_OK : ALQ_ENOMEM;
}

/* The writer's stack while it is changed in place into the next one. Entries
 * from n_same on differ from the last stack's. */
struct next_stack {
    /* the writer's, outermost first; valid until the allocation is written */
    uint64_t *codes;
    uint32_t n_codes;
    /* codes that the last stack had */
    uint32_t n_last;
    /* leading codes equal to the last stack's; only falls */
    uint32_t n_same;
};

/* Begins the change to a stack of n_codes. False: there is no memory. */
static bool
next_stack_open(struct alqi_cli_conversion *c, struct next_stack *next,
                uint32_t n_codes)
{
    next->codes = alqi_ctf_writer_stack(c->writer, n_codes, &next->n_last);
    next->n_codes = n_codes;
    next->n_same = n_codes < next->n_last ? n_codes : next->n_last;
    return next->codes != NULL;
}

/* Sets code i, and lowers n_same if that changes the stack. */
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
 * that it is a mapping if it is no block, and its pool (.inv.stack). */
static enum alq_status
stack_fill(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e,
           struct next_stack *next)
{
    struct alqi_cli_exact_writer *w = c->exact;
    uint32_t node = e->event->node;
    uint32_t depth = node < w->n_nodes ? w->nodes[node].n_frames : 0;
    uint32_t old = c->is_last_exact ? w->depth : 0;
    uint32_t n_codes = depth + e->is_mapping + (e->pool != 0);

    w->depth = 0; /* until all of it stands */
    if (!next_stack_open(c, next, n_codes))
        return ALQ_ENOMEM;
    if (e->pool != 0)
        next_stack_put(next, n_codes - 1, alqi_cli_code_of_pool(e->pool));
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
 * Keeps .inv.early (doc/design/exact.md): A processor may read its clock before
 * a load that stands before it, by as long as it looks ahead: then a free of
 * one thread seems to come before another's allocation that made the block, or
 * after the next one's at its address.  Both are put right if they are
 * WINDOW_TICKS apart at most. */

/* The one row where an end at that address stands. */
static struct loose *
loose_at(struct loose_table *table, uint64_t address)
{
    return &table->at[alqi_base_mix(address) % LOOSE];
}

/* Leaves an end without its partner for loose_find; an older one in the row is
 * lost, and stays counted. */
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

/* Writes the end of a block. */
static enum alq_status
collect_write(struct alqi_cli_conversion *c, uint64_t id, uint64_t time_ns)
{
    c->result->n_frees++;
    alqi_cli_conversion_size_drop(c, id);
    return alqi_ctf_write_collect(c->writer,
                                  alqi_cli_conversion_time_us(c, time_ns), id);
}

/* Writes the end of the block that the stream's realloc took, if one waits.
 * The trace wants that end, the link and the new allocation as neighbours, so
 * the end waits for the allocation. If none follows, is_linked is false. */
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

/* Writes the allocation; the stack is in the writer already. Each word counts
 * as sampled. *id becomes the object's id. */
static enum alq_status
block_write(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e,
            const struct next_stack *stack, uint64_t *id)
{
    uint64_t size_bytes = e->event->size_bytes;
    enum alq_status status;

    c->is_last_exact = true;
    c->result->n_allocs++;
    c->result->allocated_bytes += (double)size_bytes;
    status = alqi_ctf_write_alloc_in_place(
        c->writer, alqi_cli_conversion_time_us(c, e->time_ns), size_bytes,
        alqi_base_malloc_words(size_bytes),
        e->is_mapping ? ALQI_CTF_MAJOR : ALQI_CTF_EXTERNAL, stack->n_codes,
        stack->n_same, id);
    if (status == ALQ_OK && !alqi_cli_conversion_size_put(c, *id, size_bytes))
        return ALQ_ENOMEM;
    return status;
}

/* The address must be free for the block that comes. What lives there ends
 * now. If its free still comes, loose_find knows it as late (.inv.early). */
static enum alq_status
place_clear(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e,
            uint64_t id)
{
    c->result->n_unseen_frees++;
    loose_put(&c->exact->late, e);
    return collect_write(c, id, e->time_ns);
}

/* The free of the new block came before it (.inv.early): the block ends at
 * once, or waits for the realloc's new block. */
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

/* Writes an allocation. Order matters: the old block at the address ends
 * first, then the records that stand before an allocation, then the moved
 * block's end, which must be its neighbour. */
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

/* Writes a free. A moved block that still waits has no new block, so it ends
 * without a link. A free of a realloc only notes its block in the stream. */
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

/* A mark whose name is lost was damaged. */
static enum alq_status
mark_write(struct alqi_cli_conversion *c, const struct alqi_cli_exact_event *e)
{
    uint64_t number = e->event->value;
    const char *name =
        number <= ALQI_SIDE_MARKS_MAX ? c->exact->marks[number] : NULL;

    return name != NULL ? alqi_cli_conversion_mark(c, name, e->time_ns)
                        : ALQ_OK;
}

/* Writes one exact event. A RATE event needs no record: exact allocations are
 * of rate 1. */
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
    case ALQI_EXACT_MARK:
        return mark_write(c, e);
    default:
        return ALQ_OK;
    }
}

/* The events come in order of ticks, so the loop stops at the first that is
 * too late. */
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

/* Reallocs whose new block never came end their old block. */
enum alq_status
alqi_cli_exact_end(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    struct alqi_cli_exact_writer *w = c->exact;
    enum alq_status status = ALQ_OK;

    for (uint32_t i = 0; status == ALQ_OK && i < w->n_streams; i++)
        status = moved_write(c, &w->streams[i], false, time_ns);
    return status;
}

const struct alqi_base_map *
alqi_cli_exact_live(const struct alqi_cli_exact_writer *w)
{
    return w != NULL ? &w->live : NULL;
}

bool
alqi_cli_exact_writer_has_clock(const struct alqi_cli_exact_writer *w)
{
    return w == NULL || alqi_cli_exact_has_clock(w->exact);
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
    for (size_t i = 0; i < ALQI_COUNT_OF(w->marks); i++)
        free(w->marks[i]);
    alqi_cli_merge_drop(w->merge);
    alqi_cli_exact_drop(w->exact);
    alqi_base_map_clear(&w->live);
    free(w->streams);
    free(w->codes);
    free(w->path);
    free(w);
}

/* Makes room for the streams and nodes that there are now. False: there is no
 * memory. */
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

/* Passes over the first n modules: the conversion has announced them before
 * there was an exact part. */
static void
modules_pass(struct alqi_cli_exact_writer *w, uint64_t n)
{
    w->n_passed = w->n_applied = n;
    for (; n > 0 && w->to_apply != NULL; n--)
        w->to_apply = w->to_apply->next;
}

/* c->exact is set before all of it stands, so that closing the conversion
 * drops it. */
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
        status = modules_read(c);
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
    return modules_read(c);
}
