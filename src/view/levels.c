/* levels.c -- lines of what is live: the greatest level in each step of time
 *
 * The events are gone through in the order of the trace, so that what is live
 * at one time does not depend on how coarse its clock is. Each step holds the
 * greatest level in it (.def.level).
 *
 * The parts of a line are kept by key: what is live now, and how much of that
 * came since the greatest level of the step. When the step is left the
 * difference is what the part was then. A level that is greater forgets what
 * came since, which costs no more than what was entered before.
 *
 * Speed: a row's value is found in a ring of the latest rows, because most
 * that are freed are young; rows that do not pass are skipped 64 at a time; in
 * a trace whose times never go back a free needs no look at its time while the
 * next birth is in the same step. */
#include <stdlib.h>
#include <string.h>

#include "view/levels.h"

enum { RECENT = 4096 /* rows born last: most of those that are freed are */ };

/* What is live of one key. */
struct live {
    double level;
    /* the part of it that came after the step's greatest level */
    double since;
    /* rows */
    uint64_t n;
    /* in the list of those that changed since then */
    bool is_changed;
};

/* The parts of a line while it is made. */
struct parts {
    /* NULL: there are none */
    struct alqi_view_parts *out;
    /* [keys]; owned */
    struct live *live;
    /* [keys]: those that changed; owned */
    uint32_t *changed;
    uint32_t n_changed;
    /* the step's greatest level was met since the step was entered */
    bool is_raised;
    /* by process and key: its part of the level; NULL if there is only one
     * process; owned */
    double *of_process;
    /* of the rows born last, by number modulo RECENT */
    uint32_t recent[RECENT];
    /* the keys' column of the walk's block */
    uint32_t numbers[ALQI_VIEW_BLOCK_ROWS];
};

/* One run over the events. */
struct walk {
    /* whose events are gone through */
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan; /* NULL: all rows pass */
    /* of the filter: heaps that are kept */
    unsigned heap;
    /* values are blocks, not bytes */
    bool is_blocks;
    /* the result */
    struct alqi_view_levels *out;
    struct parts parts;
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
    /* their values */
    double level;
    /* by process: its part of the level; NULL if there is only one; owned */
    double *of_process;
    uint32_t n_processes;
    /* values of passing rows among those born last, by number modulo RECENT */
    double recent[RECENT];
    /* whose columns born and class_ are; UINT32_MAX: none */
    uint32_t block;
    /* columns of that block */
    uint64_t born[ALQI_VIEW_BLOCK_ROWS];
    uint32_t class_[ALQI_VIEW_BLOCK_ROWS];
};

/* ---- parts --------------------------------------------------------------- */

/* The key of a row that passes. */
static uint32_t
key_of(const struct walk *w, uint32_t row)
{
    const struct alqi_view_keys *keys = w->parts.out->keys;
    uint64_t number = alqi_view_cell(w->x, row, keys->column);

    return keys->of[number < keys->n_numbers ? number : 0];
}

/* A key has more, or less. Its level is set to zero with its last row. */
static void
part_add(struct parts *p, uint32_t key, double value, bool is_last)
{
    struct live *live = &p->live[key];
    double level = is_last ? 0 : live->level + value;

    live->since += level - live->level;
    live->level = level;
    if (!live->is_changed) {
        live->is_changed = true;
        p->changed[p->n_changed++] = key;
    }
}

/* A row of a key comes or goes. */
static void
part_change(struct parts *p, uint32_t key, double value, bool comes)
{
    p->live[key].n += comes ? 1 : -(uint64_t)1;
    part_add(p, key, value, p->live[key].n == 0);
}

/* The present level is the greatest of its step: nothing came since. */
static void
parts_raise(struct parts *p)
{
    for (uint32_t i = 0; i < p->n_changed; i++) {
        struct live *live = &p->live[p->changed[i]];

        live->since = 0;
        live->is_changed = false;
    }
    p->n_changed = 0;
    p->is_raised = true;
}

/* Keeps what the parts were at a step's greatest level. */
static void
parts_keep(struct parts *p, uint32_t step)
{
    uint32_t n = p->out->keys->n;
    double *values = p->out->values;

    for (uint32_t i = 0; i < n; i++) {
        double value = p->live[i].level - p->live[i].since;

        if (values != NULL)
            values[(size_t)step * n + i] = value;
        else
            p->out->area[i] += value;
    }
}

/* Leaves a step. */
static void
parts_leave(struct parts *p, uint32_t step)
{
    if (p->is_raised)
        parts_keep(p, step);
    parts_raise(p);
    p->is_raised = false;
}

/* Changes the process's part of the level, by key if there are parts. */
static void
process_add(struct walk *w, uint32_t row, uint32_t key, double value)
{
    uint64_t origin = alqi_view_cell(w->x, row, ALQI_VIEW_ORIGIN);
    uint32_t process;

    if (origin >= w->x->n_origins)
        return;
    process = w->x->origins[origin].process;
    w->of_process[process] += value;
    if (w->parts.out != NULL)
        w->parts.of_process[(size_t)process * w->parts.out->keys->n + key] +=
            value;
}

/* ---- levels -------------------------------------------------------------- */

/* Goes to the step of a time. Steps that are entered for the first time have
 * at least the present level. */
static void
step_seek(struct walk *w, uint64_t us)
{
    uint32_t step = alqi_view_levels_step(w->out, us);

    if (w->parts.out != NULL)
        parts_leave(&w->parts, w->step);
    for (; w->n_steps <= step; w->n_steps++) {
        w->out->values[w->n_steps] = w->level;
        if (w->parts.out != NULL && w->n_steps < step)
            parts_keep(&w->parts, w->n_steps);
        w->parts.is_raised = w->n_steps == step;
    }
    w->step = step;
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
level_change(struct walk *w, uint32_t row, uint32_t key, double value,
             bool comes)
{
    if (!comes)
        value = -value;
    w->level += value;
    w->n_live += comes ? 1 : -(uint64_t)1;
    if (w->n_live == 0)
        w->level = 0; /* without what rounding left */
    if (w->of_process != NULL)
        process_add(w, row, key, value);
    if (w->parts.out != NULL)
        part_change(&w->parts, key, value, comes);
    if (w->level > w->out->values[w->step]) {
        w->out->values[w->step] = w->level;
        if (w->parts.out != NULL)
            parts_raise(&w->parts);
    }
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

/* Reads the columns that births need. */
static void
block_read(struct walk *w, uint32_t block)
{
    const struct alqi_view_parts *parts = w->parts.out;

    w->block = block;
    alqi_view_read(w->x, block, ALQI_VIEW_BORN, w->born);
    alqi_view_read_numbers(w->x, block, ALQI_VIEW_CLASS, w->x->n_classes,
                           w->class_);
    if (parts != NULL)
        alqi_view_read_numbers(w->x, block, parts->keys->column,
                               parts->keys->n_numbers, w->parts.numbers);
}

/* What a row of a class stands for. */
static double
value_of(const struct walk *w, uint64_t class_)
{
    const struct alqi_view_weight *weight = &w->x->weights[class_];

    return w->is_blocks ? weight->objects : weight->bytes;
}

/* A row that passes is born. Without the minor heap its level comes with the
 * promotion. */
static void
birth_walk(struct walk *w, uint32_t row)
{
    uint32_t i = row % ALQI_VIEW_BLOCK_ROWS, key = 0;
    double value;

    if (row / ALQI_VIEW_BLOCK_ROWS != w->block)
        block_read(w, row / ALQI_VIEW_BLOCK_ROWS);
    value = value_of(w, w->class_[i]);
    w->recent[row % RECENT] = value;
    if (w->parts.out != NULL) {
        key = w->parts.out->keys->of[w->parts.numbers[i]];
        w->parts.recent[row % RECENT] = key;
    }
    if ((w->heap & ALQI_VIEW_HEAP_MINOR) == 0 && is_minor(w, row))
        return;
    step_go(w, w->born[i]);
    level_change(w, row, key, value, true);
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

/* A row that passes and was born so many rows ago comes or goes. */
static void
level_change_ago(struct walk *w, uint64_t ago, bool comes)
{
    uint32_t row = w->next_row - (uint32_t)ago, key = 0;
    bool is_recent = ago <= RECENT;
    uint64_t c;

    if (w->parts.out != NULL)
        key = is_recent ? w->parts.recent[row % RECENT] : key_of(w, row);
    if (is_recent) {
        level_change(w, row, key, w->recent[row % RECENT], comes);
        return;
    }
    c = alqi_view_cell(w->x, row, ALQI_VIEW_CLASS);
    level_change(w, row, key, c < w->x->n_classes ? value_of(w, c) : 0, comes);
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
    level_change_ago(w, ago, false);
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
    level_change_ago(w, ago, is_in);
}

/* Takes away what a process has of each key. */
static void
parts_gone(struct parts *p, uint32_t process)
{
    uint32_t n = p->out->keys->n;
    double *of_keys = p->of_process + (size_t)process * n;

    for (uint32_t i = 0; i < n; i++) {
        if (of_keys[i] != 0)
            part_add(p, i, -of_keys[i], false);
        of_keys[i] = 0;
    }
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
    if (w->parts.out != NULL)
        parts_gone(&w->parts, (uint32_t)process);
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
    if (w->parts.out != NULL)
        parts_leave(&w->parts, w->step);
}

/* Makes of_process, by key if there are parts, if there are several
 * processes. They are numbered from 0 without large gaps. False: no memory. */
static bool
processes_make(struct walk *w)
{
    size_t n_keys = w->parts.out != NULL ? w->parts.out->keys->n : 0;

    for (uint32_t i = 0; i < w->x->n_origins; i++)
        if (w->x->origins[i].process >= w->n_processes)
            w->n_processes = w->x->origins[i].process + 1;
    if (w->n_processes <= 1)
        return true;
    w->of_process = calloc(w->n_processes, sizeof *w->of_process);
    if (n_keys > 0)
        w->parts.of_process =
            calloc(w->n_processes, n_keys * sizeof *w->parts.of_process);
    return w->of_process != NULL &&
           (n_keys == 0 || w->parts.of_process != NULL);
}

/* Makes what the parts need. False: no memory. */
static bool
parts_make(struct walk *w, struct alqi_view_parts *out)
{
    struct parts *p = &w->parts;

    p->out = out;
    if (out == NULL)
        return true;
    p->live = calloc(out->keys->n, sizeof *p->live);
    p->changed = malloc(out->keys->n * sizeof *p->changed);
    return p->live != NULL && p->changed != NULL;
}

bool
alqi_view_levels_live(struct alqi_view_levels *out,
                      const struct alqi_view_index *x,
                      const struct alqi_view_scan *scan,
                      enum alqi_view_draw draw, struct alqi_view_parts *parts)
{
    struct walk *w = calloc(1, sizeof *w);
    bool is_made;

    if (w == NULL)
        return false;
    w->x = x;
    w->scan = scan;
    w->heap = scan != NULL ? scan->filter.heap : ALQI_VIEW_HEAP_ALL;
    w->is_blocks = draw == ALQI_VIEW_DRAW_BLOCKS;
    w->out = out;
    w->block = UINT32_MAX;
    is_made = parts_make(w, parts) && processes_make(w);
    if (is_made)
        events_walk(w);
    free(w->parts.live);
    free(w->parts.changed);
    free(w->parts.of_process);
    free(w->of_process);
    free(w);
    return is_made;
}
