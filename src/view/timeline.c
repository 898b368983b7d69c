/* timeline.c -- the answer `timeline`: live bytes over time, and resident
 * memory
 *
 * The events are gone through in the order of the trace, so that what is live
 * at one time does not depend on how coarse its clock is. Two paths are made:
 * of all rows, kept with the trace, and of those that pass. Each step holds
 * the greatest level in it.
 *
 * Speed: a row's bytes are found in a ring of the latest rows, because most
 * that are freed are young; rows that do not pass are skipped 64 at a time; in
 * a trace whose times never go back a free needs no look at its time while the
 * next birth is in the same step. */
#include <stdlib.h>
#include <string.h>

#include "view/ask.h"
#include "view/timeline.h"

enum {
    POINTS_DEFAULT = 450,
    RECENT = 4096 /* rows born last: most of those that are freed are */
};

/* One run over the events. */
struct walk {
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan; /* NULL: all rows pass */
    /* of the filter: heaps that are kept */
    unsigned heap;
    /* what is being made */
    struct alqi_view_levels *out;
    /* rows born so far: the next one's number */
    uint32_t next_row;
    /* time of its birth; UINT64_MAX: there is none */
    uint64_t next_us;
    /* of the last event that passes */
    uint32_t step;
    /* times of that step: [from_us, until_us) */
    uint64_t from_us, until_us;
    /* steps that have a level */
    uint32_t n_steps;
    /* rows that pass and live */
    uint64_t n_live;
    /* their bytes */
    double level;
    /* by process: its part of the level; NULL if there is only one; owned */
    double *of_process;
    uint32_t n_processes;
    /* bytes of the rows born last, by number modulo RECENT */
    double recent[RECENT];
    /* whose columns born and class_ are; UINT32_MAX: none */
    uint32_t block;
    uint64_t born[ALQI_VIEW_BLOCK_ROWS];
    uint32_t class_[ALQI_VIEW_BLOCK_ROWS];
};

/* ---- levels -------------------------------------------------------------- */

/* Goes to the step of a time; later times are in the last one. Steps that are
 * entered for the first time have at least the present level. */
static void
step_seek(struct walk *w, uint64_t us)
{
    uint64_t step = us / w->out->step_us;

    if (step >= w->out->n)
        step = w->out->n - 1;
    while (w->n_steps <= step)
        w->out->bytes[w->n_steps++] = w->level;
    w->step = (uint32_t)step;
    w->from_us = step * w->out->step_us;
    w->until_us =
        step + 1 == w->out->n ? UINT64_MAX : w->from_us + w->out->step_us;
}

/* The same, cheap while the step stays. */
static inline void
step_go(struct walk *w, uint64_t us)
{
    if (us < w->from_us || us >= w->until_us)
        step_seek(w, us);
}

/* A row comes or goes: changes the level and the step's maximum. The level is
 * set to zero with the last row, so that rounding does not last. */
static void
level_change(struct walk *w, uint32_t row, double bytes, bool comes)
{
    if (!comes)
        bytes = -bytes;
    w->level += bytes;
    w->n_live += comes ? 1 : -(uint64_t)1;
    if (w->n_live == 0)
        w->level = 0; /* without what rounding left */
    if (w->of_process != NULL) {
        uint64_t origin = alqi_view_cell(w->x, row, ALQI_VIEW_ORIGIN);

        if (origin < w->x->n_origins)
            w->of_process[w->x->origins[origin].process] += bytes;
    }
    if (w->level > w->out->bytes[w->step])
        w->out->bytes[w->step] = w->level;
}

static bool
passes(const struct walk *w, uint32_t row)
{
    return w->scan == NULL || alqi_view_scan_passes(w->scan, row);
}

/* ---- events -------------------------------------------------------------- */

/* Finds the time of the next birth. */
static void
next_row_look(struct walk *w)
{
    w->next_us = w->next_row < w->x->n_rows
                     ? alqi_view_cell(w->x, w->next_row, ALQI_VIEW_BORN)
                     : UINT64_MAX;
}

/* The row was born in the minor heap. */
static bool
is_minor(const struct walk *w, uint32_t row)
{
    uint64_t origin = alqi_view_cell(w->x, row, ALQI_VIEW_ORIGIN);

    return origin < w->x->n_origins &&
           w->x->origins[origin].source == ALQI_VIEW_MINOR;
}

/* A row that passes is born. Without the minor heap its level comes with the
 * promotion. */
static void
birth_walk(struct walk *w, uint32_t row)
{
    uint32_t i = row % ALQI_VIEW_BLOCK_ROWS;
    double bytes;

    if (row / ALQI_VIEW_BLOCK_ROWS != w->block) {
        w->block = row / ALQI_VIEW_BLOCK_ROWS;
        alqi_view_read(w->x, w->block, ALQI_VIEW_BORN, w->born);
        alqi_view_read_numbers(w->x, w->block, ALQI_VIEW_CLASS, w->x->n_classes,
                               w->class_);
    }
    bytes = w->x->weights[w->class_[i]].bytes;
    w->recent[row % RECENT] = bytes;
    if ((w->heap & ALQI_VIEW_HEAP_MINOR) == 0 && is_minor(w, row))
        return;
    step_go(w, w->born[i]);
    level_change(w, row, bytes, true);
}

/* The next n rows are born. Rows that do not pass are skipped by the words of
 * the scan's bits. */
static void
births_walk(struct walk *w, uint64_t n)
{
    uint32_t row = w->next_row;
    uint32_t end = n < w->x->n_rows - row ? row + (uint32_t)n : w->x->n_rows;

    while (row < end) {
        uint64_t bits =
            w->scan != NULL ? w->scan->bits[row / 64] >> row % 64 : 1;

        if (bits == 0) {
            row += 64 - row % 64;
            continue;
        }
        row += (uint32_t)__builtin_ctzll(bits);
        if (row < end)
            birth_walk(w, row++);
    }
    w->next_row = end;
    next_row_look(w);
}

/* Bytes of a row that passes and was born so many rows ago. */
static double
bytes_of(const struct walk *w, uint64_t ago)
{
    uint32_t row = w->next_row - (uint32_t)ago;
    uint64_t c;

    if (ago <= RECENT)
        return w->recent[row % RECENT];
    c = alqi_view_cell(w->x, row, ALQI_VIEW_CLASS);
    return c < w->x->n_classes ? w->x->weights[c].bytes : 0;
}

/* Goes to the step of an event of a row, so long after its birth (LIFE or
 * PROMOTED). */
static void
step_go_of(struct walk *w, uint32_t row, enum alqi_view_column after)
{
    if (w->x->meta->is_in_order && w->next_us < w->until_us)
        return;
    step_go(w, alqi_view_cell(w->x, row, ALQI_VIEW_BORN) +
                   alqi_view_cell(w->x, row, after) -
                   (after == ALQI_VIEW_PROMOTED));
}

/* The row born so many rows ago is there, and passes. */
static bool
is_passing(const struct walk *w, uint64_t ago)
{
    return ago > 0 && ago <= w->next_row &&
           passes(w, w->next_row - (uint32_t)ago);
}

/* A row is freed. Without the major heap a promoted one has left already. */
static void
free_walk(struct walk *w, uint64_t ago)
{
    uint32_t row = w->next_row - (uint32_t)ago;

    if (!is_passing(w, ago))
        return;
    if ((w->heap & ALQI_VIEW_HEAP_MAJOR) == 0 && is_minor(w, row) &&
        alqi_view_cell(w->x, row, ALQI_VIEW_PROMOTED) != 0)
        return; /* it has left already */
    step_go_of(w, row, ALQI_VIEW_LIFE);
    level_change(w, row, bytes_of(w, ago), false);
}

/* A row is promoted. If one of the two heaps is left out it comes, or goes. */
static void
promote_walk(struct walk *w, uint64_t ago)
{
    uint32_t row = w->next_row - (uint32_t)ago;
    bool is_in = (w->heap & ALQI_VIEW_HEAP_MINOR) == 0;

    if (is_in == ((w->heap & ALQI_VIEW_HEAP_MAJOR) == 0) ||
        !is_passing(w, ago) || !is_minor(w, row))
        return;
    step_go_of(w, row, ALQI_VIEW_PROMOTED);
    level_change(w, row, bytes_of(w, ago), is_in);
}

/* A process ends with what it holds. The event that follows has the time. */
static void
gone_walk(struct walk *w, uint64_t process, size_t *at)
{
    struct alqi_view_event when;

    if (!alqi_view_event_next(w->x, at, &when) || w->of_process == NULL ||
        process >= w->n_processes)
        return;
    step_go(w, when.number);
    w->level -= w->of_process[process];
    if (w->level < 0)
        w->level = 0;
    w->of_process[process] = 0;
}

/* Goes through all events, then fills the steps up to the end. */
static void
events_walk(struct walk *w)
{
    struct alqi_view_event e;
    size_t at = 0;

    next_row_look(w);
    while (alqi_view_event_next(w->x, &at, &e)) {
        switch (e.kind) {
        case ALQI_VIEW_E_BIRTHS:
            births_walk(w, e.number);
            break;
        case ALQI_VIEW_E_FREE:
            free_walk(w, e.number);
            break;
        case ALQI_VIEW_E_PROMOTE:
            promote_walk(w, e.number);
            break;
        case ALQI_VIEW_E_GONE:
            gone_walk(w, e.number, &at);
            break;
        }
    }
    step_seek(w, UINT64_MAX);
}

/* Makes of_process if there are several processes. They are numbered from 0
 * without large gaps. False: no memory. */
static bool
processes_make(struct walk *w)
{
    for (uint32_t i = 0; i < w->x->n_origins; i++)
        if (w->x->origins[i].process >= w->n_processes)
            w->n_processes = w->x->origins[i].process + 1;
    if (w->n_processes <= 1)
        return true;
    w->of_process = calloc(w->n_processes, sizeof *w->of_process);
    return w->of_process != NULL;
}

bool
alqi_view_levels_make(struct alqi_view_levels *out,
                      const struct alqi_view_index *x,
                      const struct alqi_view_scan *scan, uint64_t step_us,
                      uint32_t n)
{
    struct walk *w = calloc(1, sizeof *w);
    bool is_made = false;

    out->step_us = step_us;
    out->n = n;
    out->bytes = calloc(n, sizeof *out->bytes);
    if (w != NULL) {
        *w = (struct walk){.x = x, .scan = scan, .out = out};
        w->heap = scan != NULL ? scan->filter.heap : ALQI_VIEW_HEAP_ALL;
        w->block = UINT32_MAX;
        is_made = out->bytes != NULL && processes_make(w);
        if (is_made)
            events_walk(w);
        free(w->of_process);
    }
    free(w);
    if (!is_made) {
        free(out->bytes);
        out->bytes = NULL;
    }
    return is_made;
}

/* ---- the answer ---------------------------------------------------------- */

/* Makes at most n_points steps from the start to the end. False: no memory. */
static bool
points_make(struct alqi_view_levels *out, const struct alqi_view_index *x,
            const struct alqi_view_scan *scan, uint32_t n_points)
{
    uint64_t step_us = x->meta->end_us / n_points + 1;

    return alqi_view_levels_make(out, x, scan, step_us,
                                 (uint32_t)(x->meta->end_us / step_us) + 1);
}

/* Makes the path of all rows, or keeps the one that was made last. False: no
 * memory. */
static bool
all_make(struct alqi_view_trace *t, uint32_t n_points)
{
    uint64_t step_us = t->index.meta->end_us / n_points + 1;

    if (t->levels.bytes != NULL && t->levels.step_us == step_us)
        return true;
    free(t->levels.bytes);
    return points_make(&t->levels, &t->index, NULL, n_points);
}

/* Writes one path. */
static void
put_levels(struct alqi_view_json *out, const char *key,
           const struct alqi_view_levels *levels)
{
    alqi_view_json_key(out, key);
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < levels->n; i++)
        alqi_view_json_whole(out, levels->bytes[i]);
    alqi_view_json_close(out, ']');
}

/* Writes the most resident bytes of each step; null where there is no
 * record. */
static void
put_resident(struct alqi_view_json *out, const struct alqi_view_index *x,
             const struct alqi_view_levels *levels)
{
    uint32_t k = 0;

    alqi_view_json_key(out, "rss");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; x->n_resident > 0 && i < levels->n; i++) {
        uint64_t end_us = (i + 1) * levels->step_us, most = 0;

        for (; k < x->n_resident &&
               (x->resident[k].us < end_us || i + 1 == levels->n);
             k++)
            if (x->resident[k].bytes > most)
                most = x->resident[k].bytes;
        if (most > 0)
            alqi_view_json_int(out, (int64_t)(most & INT64_MAX));
        else
            alqi_view_json_null(out);
    }
    alqi_view_json_close(out, ']');
}

/* If every row passes and no heap is left out, the path of all rows is that of
 * those that pass. */
bool
alqi_view_timeline(struct alqi_view_ask *ask)
{
    uint32_t n = (uint32_t)alqi_view_query_number(
        &ask->query, "n", 1, ALQI_VIEW_POINTS_MAX, POINTS_DEFAULT);
    const struct alqi_view_scan *scan;
    struct alqi_view_levels part = {0};

    if (!alqi_view_ready(ask))
        return false;
    scan = alqi_view_scan_of(ask->trace, &ask->filter);
    if (scan == NULL || !all_make(ask->trace, n))
        return alqi_view_give_up(ask);
    if (scan->total.n < ask->x->n_rows || /* passes, or is not counted */
        scan->filter.heap != ALQI_VIEW_HEAP_ALL) {
        if (!points_make(&part, ask->x, scan, n))
            return alqi_view_give_up(ask);
    }
    alqi_view_json_key_int(ask->out, "step_us",
                           (int64_t)ask->trace->levels.step_us);
    put_levels(ask->out, "all", &ask->trace->levels);
    put_levels(ask->out, "part",
               part.bytes != NULL ? &part : &ask->trace->levels);
    put_resident(ask->out, ask->x, &ask->trace->levels);
    alqi_view_put_peak_us(ask->out, ask->x);
    alqi_view_put_sum(ask->out, "total", &scan->total);
    free(part.bytes);
    return true;
}
