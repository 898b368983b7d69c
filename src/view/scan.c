/* scan.c -- one pass over the columns: which rows pass a filter, and their
 * sums
 *
 * [scan.h] What a filter says of sizes, origins and stacks is first turned
 * into a table by number each, so that a row costs one look-up. Then block
 * after block: a block that a condition of time leaves out whole is not read;
 * else its columns are read, passes[] is cut by one condition after the other,
 * and what is left is summed by stack.
 *
 * A filter that leaves a heap out changes times: a block of the minor heap
 * that was promoted ends there, or is born there (heap_cut). */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "view/naming.h"
#include "view/phase.h"
#include "view/scan.h"

/* A scan while it is made. */
struct scanner {
    const struct alqi_view_index *x;
    const struct alqi_view_filter *f;
    /* the result */
    struct alqi_view_scan *out;
    /* by number; NULL: all pass; owned */
    uint8_t *class_passes, *origin_passes, *stack_passes, *phase_passes;
    struct alqi_view_rows rows;
};

/* ---- tables -------------------------------------------------------------- */

static bool
is_in_range(const struct alqi_view_range *r, uint64_t v)
{
    return v >= r->least && v <= r->most;
}

/* The table of sizes. False: no memory. */
static bool
classes_make(struct scanner *s)
{
    if (!s->f->size.is_there)
        return true;
    s->class_passes = malloc((size_t)s->x->n_classes + 1);
    if (s->class_passes == NULL)
        return false;
    for (uint32_t i = 0; i < s->x->n_classes; i++)
        s->class_passes[i] =
            is_in_range(&s->f->size, s->x->classes[i].size_bytes);
    return true;
}

/* The list has the number, or is empty. */
static bool
has_number(const struct alqi_view_numbers *n, uint64_t v)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (n->numbers[i] == v)
            return true;
    return n->n == 0;
}

/* Blocks of that source may pass. A block born in a heap that is left out may
 * still be promoted into one that is kept. */
static bool
source_passes(unsigned heap, uint32_t source)
{
    if (source == ALQI_VIEW_MALLOC)
        return (heap & ALQI_VIEW_HEAP_MALLOC) != 0;
    if (source == ALQI_VIEW_MAJOR)
        return (heap & ALQI_VIEW_HEAP_MAJOR) != 0;
    return (heap & (ALQI_VIEW_HEAP_MINOR | ALQI_VIEW_HEAP_MAJOR)) != 0;
}

/* The table of threads, domains and heaps. False: no memory. */
static bool
origins_make(struct scanner *s)
{
    const struct alqi_view_filter *f = s->f;

    if (f->threads.n == 0 && f->domains.n == 0 && f->heap == ALQI_VIEW_HEAP_ALL)
        return true;
    s->origin_passes = malloc((size_t)s->x->n_origins + 1);
    if (s->origin_passes == NULL)
        return false;
    for (uint32_t i = 0; i < s->x->n_origins; i++) {
        const struct alqi_view_origin *o = &s->x->origins[i];

        s->origin_passes[i] = has_number(&f->threads, o->thread) &&
                              has_number(&f->domains, o->domain) &&
                              source_passes(f->heap, o->source);
    }
    return true;
}

/* Clears passes of the stacks on which the word is, or is not, found.
 * functions and has are scratch. Parents have smaller numbers, so one pass is
 * enough. False: no memory. */
static bool
nodes_cut(const struct scanner *s, const struct alqi_view_word *word,
          bool is_wanted, uint8_t *functions, uint8_t *has, uint8_t *passes)
{
    const struct alqi_view_index *x = s->x;

    memset(functions, 0, x->n_functions);
    if (!alqi_view_word_mark(word, x, functions))
        return false;
    has[0] = 0;
    for (uint32_t i = 1; i < x->n_nodes; i++)
        has[i] = has[x->nodes[i].parent] | functions[x->nodes[i].function];
    for (uint32_t i = 0; i < x->n_stacks; i++)
        passes[i] &= has[x->stacks[i].node] == is_wanted;
    return true;
}

/* Clears passes of the stacks whose site the word does not match. functions is
 * scratch. False: no memory. */
static bool
site_cut(const struct scanner *s, const struct alqi_view_word *word,
         const uint8_t *is_hidden, uint8_t *functions, uint8_t *passes)
{
    const struct alqi_view_index *x = s->x;

    memset(functions, 0, x->n_functions);
    if (!alqi_view_word_mark(word, x, functions))
        return false;
    for (uint32_t i = 0; i < x->n_stacks; i++) {
        uint32_t node = alqi_view_naming(x, is_hidden, x->stacks[i].node);

        passes[i] &= functions[x->nodes[node].function];
    }
    return true;
}

/* The same of all words. False: no memory. */
static bool
sites_cut(const struct scanner *s, uint8_t *functions, uint8_t *passes)
{
    uint8_t *is_hidden = calloc(s->x->n_functions, 1);
    bool is_cut =
        is_hidden != NULL && alqi_view_words_mark(&s->f->hide, s->x, is_hidden);

    for (uint32_t i = 0; is_cut && i < s->f->site.n; i++)
        is_cut =
            site_cut(s, &s->f->site.words[i], is_hidden, functions, passes);
    free(is_hidden);
    return is_cut;
}

/* Applies what the filter says of stacks. functions and has are scratch. False:
 * no memory. */
static bool
stacks_cut(const struct scanner *s, uint8_t *functions, uint8_t *has,
           uint8_t *passes)
{
    const struct alqi_view_filter *f = s->f;
    bool is_cut = f->site.n == 0 || sites_cut(s, functions, passes);

    for (uint32_t i = 0; i < f->in.n; i++)
        is_cut &= nodes_cut(s, &f->in.words[i], true, functions, has, passes);
    for (uint32_t i = 0; i < f->notin.n; i++)
        is_cut &=
            nodes_cut(s, &f->notin.words[i], false, functions, has, passes);
    for (uint32_t i = 0; f->has_stack && i < s->x->n_stacks; i++)
        passes[i] &= s->x->stacks[i].node == f->stack;
    return is_cut;
}

/* The table of stacks. False: no memory. */
static bool
stacks_make(struct scanner *s)
{
    uint8_t *functions, *has;
    bool is_made;

    if (s->f->in.n == 0 && s->f->notin.n == 0 && s->f->site.n == 0 &&
        !s->f->has_stack)
        return true;
    functions = malloc(s->x->n_functions);
    has = malloc(s->x->n_nodes);
    s->stack_passes = malloc((size_t)s->x->n_stacks + 1);
    is_made = functions != NULL && has != NULL && s->stack_passes != NULL;
    if (is_made) {
        memset(s->stack_passes, 1, s->x->n_stacks);
        is_made = stacks_cut(s, functions, has, s->stack_passes);
    }
    free(functions);
    free(has);
    return is_made;
}

/* The table of phases. False: no memory. */
static bool
phases_make(struct scanner *s)
{
    if (s->f->phase == NULL)
        return true;
    s->phase_passes = malloc(alqi_view_phases(s->x));
    if (s->phase_passes == NULL)
        return false;
    alqi_view_phase_find(s->x, s->f->phase, s->phase_passes);
    return true;
}

/* ---- blocks -------------------------------------------------------------- */

/* No row of the block can pass, by the least and greatest times of its
 * columns. With a heap left out times are not those of the columns. */
static bool
is_out(const struct scanner *s, uint32_t block)
{
    const struct alqi_view_slice *born =
        alqi_view_slice_of(s->x, block, ALQI_VIEW_BORN);
    const struct alqi_view_slice *life =
        alqi_view_slice_of(s->x, block, ALQI_VIEW_LIFE);
    const struct alqi_view_slice *flags =
        alqi_view_slice_of(s->x, block, ALQI_VIEW_FLAGS);
    const struct alqi_view_filter *f = s->f;

    if (f->heap != ALQI_VIEW_HEAP_ALL)
        return false; /* times are not those of the columns */
    if (f->alloc.is_there &&
        (born->least > f->alloc.most || born->most < f->alloc.least))
        return true;
    if (f->life.is_there && flags->most < ALQI_VIEW_CHAIN &&
        (life->least > f->life.most || life->most < f->life.least))
        return true;
    if (f->live_kind != ALQI_VIEW_LIVE_RANGE)
        return false;
    return born->least > f->live.most ||
           (flags->most < ALQI_VIEW_STAYS &&
            born->most + life->most <= f->live.least &&
            born->most + life->most >= born->most && f->live.has_least);
}

/* Reads what is about time into r, for r->n rows. */
static void
times_read(struct alqi_view_rows *r, const struct alqi_view_index *x,
           uint32_t block)
{
    alqi_view_read(x, block, ALQI_VIEW_BORN, r->born);
    alqi_view_read(x, block, ALQI_VIEW_LIFE, r->life);
    alqi_view_read(x, block, ALQI_VIEW_FLAGS, r->flags);
    for (uint32_t i = 0; i < r->n; i++)
        r->end[i] = (r->flags[i] & ALQI_VIEW_STAYS) != 0
                        ? UINT64_MAX
                        : r->born[i] + r->life[i];
    alqi_view_read_chains(x, block, r->flags, r->life);
}

/* Changes the times of row i, a promoted block, to what they are without one
 * of the heaps. At a colour's peak it is counted only if it was in the kept
 * heap then. */
static void
promoted_cut(struct alqi_view_rows *r, const struct alqi_view_meta *meta,
             unsigned heap, uint32_t i)
{
    uint64_t promoted_us = r->born[i] + (r->promoted[i] - 1);
    uint64_t end_us;

    if ((heap & ALQI_VIEW_HEAP_MAJOR) == 0) {
        r->end[i] = promoted_us;
        r->flags[i] &= ~(uint64_t)(ALQI_VIEW_LEFT | ALQI_VIEW_STAYS);
    }
    if ((heap & ALQI_VIEW_HEAP_MINOR) == 0)
        r->born[i] = promoted_us;
    end_us = r->end[i] == UINT64_MAX ? meta->end_us : r->end[i];
    r->life[i] = end_us > r->born[i] ? end_us - r->born[i] : 0;
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (r->born[i] > meta->peak_us[k] || r->end[i] <= meta->peak_us[k])
            r->flags[i] &= ~(UINT64_C(1) << k);
}

/* Changes rows to what they are without a heap that is left out; rows that
 * were never in a kept heap do not pass. */
static void
heap_cut(struct alqi_view_rows *r, const struct alqi_view_index *x,
         unsigned heap)
{
    const unsigned both = ALQI_VIEW_HEAP_MINOR | ALQI_VIEW_HEAP_MAJOR;

    for (uint32_t i = 0; (heap & both) != both && i < r->n; i++) {
        if (x->origins[r->origin[i]].source != ALQI_VIEW_MINOR)
            continue;
        if (r->promoted[i] != 0)
            promoted_cut(r, x->meta, heap, i);
        else
            r->passes[i] &= (heap & ALQI_VIEW_HEAP_MINOR) != 0;
    }
}

/* Keeps rows whose value is in the range; without branches, because it is the
 * inner loop. */
static void
range_cut(const struct alqi_view_range *range, const uint64_t *values,
          struct alqi_view_rows *r)
{
    uint64_t least = range->least, most = range->most;

    if (range->is_there)
        for (uint32_t i = 0; i < r->n; i++)
            r->passes[i] &= (values[i] >= least) & (values[i] <= most);
}

static void
flag_cut(struct alqi_view_rows *r, uint64_t flag)
{
    for (uint32_t i = 0; i < r->n; i++)
        r->passes[i] &= (r->flags[i] & flag) != 0;
}

/* Keeps what was never freed and is not suppressed. */
static void
left_cut(const struct scanner *s, struct alqi_view_rows *r)
{
    flag_cut(r, ALQI_VIEW_LEFT);
    for (uint32_t i = 0; i < r->n; i++)
        r->passes[i] &= s->x->stacks[r->stack[i]].is_suppressed == 0;
}

/* Keeps what was never freed and is of those classes. */
static void
reach_cut(const struct scanner *s, struct alqi_view_rows *r)
{
    if (s->f->reach == 0)
        return;
    left_cut(s, r);
    for (uint32_t i = 0; i < r->n; i++)
        r->passes[i] &= s->f->reach >> alqi_view_reach_of(r->flags[i]) & 1;
}

/* Applies the key `live`. */
static void
live_cut(const struct scanner *s, struct alqi_view_rows *r)
{
    const struct alqi_view_range *live = &s->f->live;

    switch (s->f->live_kind) {
    case ALQI_VIEW_LIVE_ANY:
        break;
    case ALQI_VIEW_LIVE_PEAK:
        flag_cut(r, ALQI_VIEW_PEAK);
        break;
    case ALQI_VIEW_LIVE_END:
        left_cut(s, r);
        break;
    case ALQI_VIEW_LIVE_RANGE:
        for (uint32_t i = 0; i < r->n; i++)
            r->passes[i] &= (r->born[i] <= live->most) &
                            ((r->end[i] > live->least) | !live->has_least);
        break;
    }
}

/* Applies the key `freed`. A row that never ended counts as ended when the
 * trace did, but only where the range has a beginning. */
static void
freed_cut(const struct scanner *s, struct alqi_view_rows *r)
{
    const struct alqi_view_range *freed = &s->f->freed;

    if (s->f->is_never)
        left_cut(s, r);
    if (!freed->is_there)
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        uint64_t end_us =
            r->end[i] == UINT64_MAX ? s->x->meta->end_us : r->end[i];

        r->passes[i] &=
            is_in_range(freed, end_us) &
            (freed->has_least | ((r->flags[i] & ALQI_VIEW_LEFT) == 0));
    }
}

static void
table_cut(const uint8_t *passes, const uint32_t *numbers,
          struct alqi_view_rows *r)
{
    if (passes != NULL)
        for (uint32_t i = 0; i < r->n; i++)
            r->passes[i] &= passes[numbers[i]];
}

/* Applies the key `phase`. Rows of a block are near each other: one search says
 * for how long its phase lasts. */
static void
phase_cut(const struct scanner *s, struct alqi_view_rows *r)
{
    uint64_t from_us = 1, until_us = 0;
    uint8_t is_meant = 0;

    if (s->phase_passes == NULL)
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->born[i] < from_us || r->born[i] >= until_us) {
            uint32_t k = alqi_view_phase_at(s->x, r->born[i]);

            is_meant = s->phase_passes[k];
            from_us = k == 0 ? 0 : s->x->marks[k - 1].us;
            until_us = k < s->x->n_marks ? s->x->marks[k].us : UINT64_MAX;
        }
        r->passes[i] &= is_meant;
    }
}

/* Sets passes[] of the rows that were read. */
static void
rows_cut(struct scanner *s)
{
    struct alqi_view_rows *r = &s->rows;

    memset(r->passes, 1, r->n);
    table_cut(s->class_passes, r->class_, r);
    table_cut(s->stack_passes, r->stack, r);
    table_cut(s->origin_passes, r->origin, r);
    if (s->f->heap != ALQI_VIEW_HEAP_ALL)
        heap_cut(r, s->x, s->f->heap);
    range_cut(&s->f->alloc, r->born, r);
    range_cut(&s->f->life, r->life, r);
    phase_cut(s, r);
    live_cut(s, r);
    reach_cut(s, r);
    freed_cut(s, r);
}

/* Reads the columns that the filter and the sums need. */
static void
rows_read(struct scanner *s, uint32_t block)
{
    struct alqi_view_rows *r = &s->rows;

    r->n = alqi_view_block_rows(s->x, block);
    times_read(r, s->x, block);
    alqi_view_read_numbers(s->x, block, ALQI_VIEW_CLASS, s->x->n_classes,
                           r->class_);
    alqi_view_read_numbers(s->x, block, ALQI_VIEW_STACK, s->x->n_stacks,
                           r->stack);
    alqi_view_read(s->x, block, ALQI_VIEW_SAMPLES, r->samples);
    if (s->origin_passes != NULL)
        alqi_view_read_numbers(s->x, block, ALQI_VIEW_ORIGIN, s->x->n_origins,
                               r->origin);
    if (s->f->heap != ALQI_VIEW_HEAP_ALL)
        alqi_view_read(s->x, block, ALQI_VIEW_PROMOTED, r->promoted);
}

/* Sets the bits of the rows that pass, and adds them to their stacks. */
static void
rows_sum(struct scanner *s, uint32_t block)
{
    const struct alqi_view_rows *r = &s->rows;
    uint64_t *bits = &s->out->bits[(size_t)block * ALQI_VIEW_BLOCK_ROWS / 64];

    for (uint32_t i = 0; i < r->n; i++) {
        if (r->passes[i] == 0)
            continue;
        bits[i / 64] |= (uint64_t)1 << i % 64;
        alqi_view_row_sum(&s->out->stacks[r->stack[i]], s->x, s->out, r, i);
    }
}

/* Goes through all blocks, then sums the total. */
static void
blocks_scan(struct scanner *s)
{
    if (s->f->live_kind == ALQI_VIEW_LIVE_PEAK) {
        s->out->total.peak = 1 + s->x->meta->peak_lack;
        s->out->total.peak_bytes = s->x->meta->peak_bytes;
    }
    for (uint32_t b = 0; b < s->x->n_blocks; b++) {
        if (is_out(s, b))
            continue;
        rows_read(s, b);
        rows_cut(s);
        rows_sum(s, b);
    }
    s->out->total.most_bytes = s->x->most_bytes;
    s->out->total.most_objects = s->x->most_objects;
    for (uint32_t i = 0; i < s->x->n_stacks; i++)
        alqi_view_sum_join(&s->out->total, &s->out->stacks[i]);
}

/* Makes the scan of the filter that it has; false: no memory. */
static bool
scan_all(struct scanner *s)
{
    const struct alqi_view_index *x = s->x;
    struct alqi_view_scan *scan = s->out;
    bool is_run;

    scan->stacks = calloc((size_t)x->n_stacks + 1, sizeof *scan->stacks);
    scan->bits = calloc((size_t)x->n_blocks * (ALQI_VIEW_BLOCK_ROWS / 64) + 1,
                        sizeof *scan->bits);
    is_run = scan->stacks != NULL && scan->bits != NULL && classes_make(s) &&
             origins_make(s) && stacks_make(s) && phases_make(s);
    if (is_run)
        blocks_scan(s);
    free(s->class_passes);
    free(s->origin_passes);
    free(s->stack_passes);
    free(s->phase_passes);
    return is_run;
}

bool
alqi_view_scan_run(struct alqi_view_scan *scan, const struct alqi_view_index *x,
                   const struct alqi_view_filter *filter)
{
    struct scanner *s = calloc(1, sizeof *s);
    bool is_run = false;

    memset(scan, 0, sizeof *scan);
    if (s != NULL && alqi_view_filter_keep(&scan->filter, filter)) {
        *s = (struct scanner){.x = x, .f = &scan->filter, .out = scan};
        is_run = scan_all(s);
    }
    free(s);
    return is_run;
}

bool
alqi_view_rows_read(struct alqi_view_rows *r, const struct alqi_view_index *x,
                    const struct alqi_view_scan *scan, uint32_t block)
{
    const uint64_t *bits =
        &scan->bits[(size_t)block * (ALQI_VIEW_BLOCK_ROWS / 64)];
    uint64_t any = 0;

    r->n = alqi_view_block_rows(x, block);
    for (uint32_t i = 0; i < ALQI_VIEW_BLOCK_ROWS / 64; i++)
        any |= bits[i];
    if (any == 0)
        return false;
    times_read(r, x, block);
    alqi_view_read_numbers(x, block, ALQI_VIEW_CLASS, x->n_classes, r->class_);
    alqi_view_read_numbers(x, block, ALQI_VIEW_STACK, x->n_stacks, r->stack);
    alqi_view_read_numbers(x, block, ALQI_VIEW_ORIGIN, x->n_origins, r->origin);
    alqi_view_read(x, block, ALQI_VIEW_SAMPLES, r->samples);
    alqi_view_read(x, block, ALQI_VIEW_PROMOTED, r->promoted);
    for (uint32_t i = 0; i < r->n; i++)
        r->passes[i] = bits[i / 64] >> i % 64 & 1;
    if (scan->filter.heap != ALQI_VIEW_HEAP_ALL)
        heap_cut(r, x, scan->filter.heap);
    return true;
}

void
alqi_view_scan_free(struct alqi_view_scan *scan)
{
    free(scan->filter.kept);
    free(scan->stacks);
    free(scan->bits);
    memset(scan, 0, sizeof *scan);
}
