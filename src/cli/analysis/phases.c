/* phases.c -- what each phase allocated, kept, and had at most
 *
 * [phases.h] The rows of the index are gone through once for all sums but the
 * peaks, and its events once for those.
 *
 * .def.at-end  A block is alive at the end of each phase from the one that
 *              allocated it to the last before the one that freed it.
 * .def.highest The search for a peak (view/peak.h) begins anew with each
 *              phase, with what is live then; a colour is counted where another
 *              one chose.  A block's colours are those that the analysis gave
 *              it if each block of the trace has a row, else others as good. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/filter.h"
#include "cli/analysis/phases.h"
#include "cli/tool/cli.h"
#include "view/phase.h"
#include "view/scan.h"

static _Noreturn void
give_up(const char *why)
{
    alqi_cli_die("the phases cannot be summed up: %s", why);
}

/* ---- sums of rows -------------------------------------------------------- */

/* One run over the rows. */
struct run {
    const struct alqi_view_index *x;
    struct alqi_cli_phases *out;
    struct alqi_view_scan scan;
    /* by phase: what is alive at no end from that one on, but was before */
    struct alqi_cli_sum *went;
    struct alqi_view_rows rows;
};

/* .def.at-end, as sums of what came and what went. */
static void
row_enter(struct run *r, uint32_t i)
{
    const struct alqi_view_rows *rows = &r->rows;
    struct alqi_view_stand s = alqi_view_stand(r->x, &r->scan, rows, i);
    struct alqi_cli_sum sum = alqi_cli_sum_of_stand(&s, (double)rows->life[i]);
    uint32_t from = alqi_view_phase_at(r->x, rows->born[i]);
    uint32_t to = rows->end[i] == UINT64_MAX
                      ? r->out->n
                      : alqi_view_phase_at(r->x, rows->end[i]);

    sum.is_peak = r->scan.filter.live_kind == ALQI_VIEW_LIVE_PEAK;
    alqi_cli_sum_join(&r->out->phases[from].allocated, &sum);
    if ((rows->flags[i] & ALQI_VIEW_LEFT) != 0)
        alqi_cli_sum_join(&r->out->phases[from].kept, &sum);
    if (to <= from)
        return;
    alqi_cli_sum_join(&r->out->phases[from].live, &sum);
    if (to < r->out->n)
        alqi_cli_sum_join(&r->went[to], &sum);
}

static void
rows_sum(struct run *r)
{
    struct alqi_cli_sum came = {0}, went = {0};

    for (uint32_t b = 0; b < r->x->n_blocks; b++) {
        if (!alqi_view_rows_read(&r->rows, r->x, &r->scan, b))
            continue;
        for (uint32_t i = 0; i < r->rows.n; i++)
            if (r->rows.passes[i] != 0)
                row_enter(r, i);
    }
    for (uint32_t k = 0; k < r->out->n; k++) {
        struct alqi_cli_sum *live = &r->out->phases[k].live;

        alqi_cli_sum_join(&came, live);
        alqi_cli_sum_join(&went, &r->went[k]);
        *live = came;
        alqi_cli_sum_since(live, &went);
    }
}

/* ---- peaks --------------------------------------------------------------- */

/* What is live in one colour; a block counts as one in its first. */
struct colour {
    struct alqi_cli_sum sum;
    uint64_t n_first, n_first_samples;
};

/* What is live, for the search and by colour. */
struct level {
    struct alqi_view_peak peak;
    struct colour now[ALQI_VIEW_COLOURS];
};

/* One run over the events. */
struct walk {
    const struct run *run;
    const struct alqi_view_index *x;
    /* of all; by process, where there are several (owned) */
    struct level all, *of_process;
    uint32_t n_processes;
    /* at the moment of each colour */
    struct colour best[ALQI_VIEW_COLOURS];
    /* of the trace */
    uint64_t seed;
    /* what a small block stands for in one colour */
    double sample_bytes;
    uint32_t next_row, phase;
    uint64_t us;
};

static void
moment(struct walk *w, uint64_t us)
{
    unsigned better = alqi_view_peak_moment(&w->all.peak, us);

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if ((better >> k & 1) != 0)
            w->best[k] = w->all.now[k];
}

static void
phase_end(struct walk *w, uint64_t us)
{
    struct alqi_cli_phase *phase = &w->run->out->phases[w->phase++];
    uint64_t n_blocks = 0, n_samples = 0;

    moment(w, us);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        alqi_cli_sum_join(&phase->peak, &w->best[k].sum);
        n_blocks += w->best[k].n_first;
        n_samples += w->best[k].n_first_samples;
    }
    phase->peak.is_peak = true;
    phase->peak.n_blocks = n_blocks;
    phase->peak.n_samples = n_samples;
    phase->peak_us = alqi_view_peak_us(&w->all.peak, false);
    alqi_view_peak_restart(&w->all.peak, us, w->sample_bytes);
}

/* Before an event of that time.  A coarse clock may go back. */
static void
advance(struct walk *w, uint64_t us)
{
    if (us < w->us)
        us = w->us;
    w->us = us;
    while (w->phase < w->x->n_marks && w->x->marks[w->phase].us <= us)
        phase_end(w, w->x->marks[w->phase].us);
    moment(w, us);
}

static void
colour_change(struct colour *c, const struct colour *by, bool comes)
{
    if (comes) {
        alqi_cli_sum_join(&c->sum, &by->sum);
        c->n_first += by->n_first;
        c->n_first_samples += by->n_first_samples;
    } else {
        alqi_cli_sum_since(&c->sum, &by->sum);
        c->n_first -= by->n_first;
        c->n_first_samples -= by->n_first_samples;
    }
}

/* A row that passes comes or goes. */
static void
level_change(struct walk *w, struct level *level, uint32_t row, bool comes)
{
    uint64_t class_ = alqi_view_cell(w->x, row, ALQI_VIEW_CLASS);
    uint64_t n_samples = alqi_view_cell(w->x, row, ALQI_VIEW_SAMPLES);
    const struct alqi_view_weight *weight;
    struct colour by;
    unsigned colours;

    if (class_ >= w->x->n_classes)
        return;
    weight = &w->x->colour_weights[class_];
    colours = alqi_view_colours(w->seed, row, w->x->classes[class_].p);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        bool is_first = alqi_view_first_colour(colours) == 1u << k;

        by = (struct colour){
            alqi_cli_sum_of_stand(
                &(struct alqi_view_stand){*weight, 1, n_samples}, 0),
            is_first, is_first ? n_samples : 0};
        if ((colours >> k & 1) != 0)
            colour_change(&level->now[k], &by, comes);
    }
    if (comes)
        alqi_view_peak_born(&level->peak, w->us, colours,
                            weight->bytes * ALQI_VIEW_COLOURS, w->sample_bytes);
    else
        alqi_view_peak_died(&level->peak, w->us, colours,
                            weight->bytes * ALQI_VIEW_COLOURS);
}

static void
row_change(struct walk *w, uint32_t row, bool comes)
{
    uint64_t origin = alqi_view_cell(w->x, row, ALQI_VIEW_ORIGIN);

    level_change(w, &w->all, row, comes);
    if (w->of_process != NULL && origin < w->x->n_origins)
        level_change(w, &w->of_process[w->x->origins[origin].process], row,
                     comes);
}

static void
births_walk(struct walk *w, uint64_t n)
{
    for (; n > 0 && w->next_row < w->x->n_rows; n--, w->next_row++) {
        if (!alqi_view_scan_passes(&w->run->scan, w->next_row))
            continue;
        advance(w, alqi_view_cell(w->x, w->next_row, ALQI_VIEW_BORN));
        row_change(w, w->next_row, true);
    }
}

static void
free_walk(struct walk *w, uint64_t ago)
{
    uint32_t row = w->next_row - (uint32_t)ago;

    if (ago == 0 || ago > w->next_row ||
        !alqi_view_scan_passes(&w->run->scan, row))
        return;
    advance(w, alqi_view_cell(w->x, row, ALQI_VIEW_BORN) +
                   alqi_view_cell(w->x, row, ALQI_VIEW_LIFE));
    row_change(w, row, false);
}

/* All that a process has goes at once; the event that follows has the time. */
static void
gone_walk(struct walk *w, uint64_t process, size_t *at)
{
    struct alqi_view_event when;
    struct level *part;

    if (!alqi_view_event_next(w->x, at, &when) || w->of_process == NULL ||
        process >= w->n_processes)
        return;
    advance(w, when.number);
    part = &w->of_process[process];
    alqi_view_peak_gone(&w->all.peak, w->us, &part->peak);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        colour_change(&w->all.now[k], &part->now[k], false);
    memset(part, 0, sizeof *part);
}

static void
events_walk(struct walk *w)
{
    struct alqi_view_event e;
    size_t at = 0;

    while (alqi_view_event_next(w->x, &at, &e)) {
        if (e.kind == ALQI_VIEW_E_BIRTHS)
            births_walk(w, e.number);
        else if (e.kind == ALQI_VIEW_E_FREE)
            free_walk(w, e.number);
        else if (e.kind == ALQI_VIEW_E_GONE)
            gone_walk(w, e.number, &at);
    }
    advance(w, w->x->meta->end_us);
    phase_end(w, w->us);
}

static void
peaks_find(const struct run *r)
{
    const struct alqi_view_meta *m = r->x->meta;
    double lambda = m->lambda * m->share;
    struct walk *w = alqi_cli_zeros(1, sizeof *w);

    w->run = r;
    w->x = r->x;
    w->seed = alqi_view_colour_seed(m->start_us, m->pid);
    if (lambda > 0 && lambda < 1)
        w->sample_bytes =
            (m->word_bits == 8 ? ALQI_WORD_BYTES : m->word_bits / 8.0) /
            alqi_view_colour_chance(lambda);
    for (uint32_t i = 0; i < r->x->n_origins; i++)
        if (r->x->origins[i].process >= w->n_processes)
            w->n_processes = r->x->origins[i].process + 1;
    if (w->n_processes > 1)
        w->of_process = alqi_cli_zeros(w->n_processes, sizeof *w->of_process);
    alqi_view_peak_restart(&w->all.peak, 0, w->sample_bytes);
    events_walk(w);
    free(w->of_process);
    free(w);
}

/* ---- the whole ----------------------------------------------------------- */

void
alqi_cli_phases_begin(struct alqi_cli_phases *p,
                      struct alqi_cli_analysis *analysis,
                      struct alqi_cli_analysis_options *options)
{
    alqi_cli_rows_begin(&p->rows, analysis, options);
}

static void
names_fill(struct alqi_cli_phases *p, const struct alqi_view_index *x)
{
    for (uint32_t k = 0; k < p->n; k++) {
        struct alqi_cli_phase *phase = &p->phases[k];

        phase->name = alqi_view_phase_name(x, k);
        phase->number = alqi_view_phase_number(x, k, &phase->n_same);
        phase->begin_us = k > 0 ? x->marks[k - 1].us : 0;
        phase->end_us = k + 1 < p->n ? x->marks[k].us : x->meta->end_us;
    }
}

void
alqi_cli_phases_make(struct alqi_cli_phases *p, const struct alqi_view_index *x,
                     const struct alqi_cli_filter *filter,
                     struct alqi_cli_input *input)
{
    const struct alqi_view_filter all = {.heap = ALQI_VIEW_HEAP_ALL};
    struct run *r = alqi_cli_zeros(1, sizeof *r);
    const char *error = x == NULL ? alqi_cli_rows_end(&p->rows, input) : NULL;

    if (error != NULL)
        give_up(error);
    r->x = x != NULL ? x : &p->rows.index;
    r->out = p;
    p->n = alqi_view_phases(r->x);
    p->phases = alqi_cli_zeros(p->n, sizeof *p->phases);
    r->went = alqi_cli_zeros(p->n, sizeof *r->went);
    if (!alqi_view_scan_run(&r->scan, r->x,
                            filter->text != NULL ? &filter->filter : &all))
        give_up("there is no memory");
    names_fill(p, r->x);
    rows_sum(r);
    p->has_peak = r->scan.filter.heap == ALQI_VIEW_HEAP_ALL;
    if (p->has_peak)
        peaks_find(r);
    alqi_view_scan_free(&r->scan);
    free(r->went);
    free(r);
}

void
alqi_cli_phases_free(struct alqi_cli_phases *p)
{
    alqi_cli_rows_free(&p->rows);
    free(p->phases);
}

void
alqi_cli_phase_name(const struct alqi_cli_phase *phase, char *out,
                    size_t capacity)
{
    if (phase->n_same > 1)
        snprintf(out, capacity, "%s#%u", phase->name, phase->number);
    else
        snprintf(out, capacity, "%s", phase->name);
}
