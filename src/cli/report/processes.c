/* processes.c -- the processes of merged traces: their order, commands, table
 *
 * An order is an array of process numbers that the caller frees.  A process
 * that allocated nothing has the empty share. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/analysis/errors.h"
#include "cli/report/draw.h"
#include "cli/report/processes.h"
#include "cli/tool/text.h"

/* The columns in front of program and command, as head() and row() print
 * them; ERROR only where figures are estimates. */
enum { FIGURES_COLUMNS = 8 + 8 + 10 + 10 + 10 + 9 + 9 + 2, ERROR = 10 };

const struct alqi_cli_share *
alqi_cli_process_share(const struct alqi_cli_analysis *a, uint32_t process)
{
    static const struct alqi_cli_share none;

    return process < a->shares.n_shares ? &a->shares.shares[process] : &none;
}

uint64_t
alqi_cli_process_ran_us(const struct alqi_cli_analysis *a, uint32_t process)
{
    const struct alqi_cli_process *p = &a->notes.processes[process];
    uint64_t last_us = alqi_cli_process_share(a, process)->last_us;

    if (p->ended_us > last_us)
        last_us = p->ended_us;
    return last_us > p->start_us ? last_us - p->start_us : 0;
}

/* Without a command line the program's path stands for it. */
uint32_t
alqi_cli_process_command(const struct alqi_cli_analysis *a, uint32_t process)
{
    const struct alqi_cli_process *p = &a->notes.processes[process];

    return p->cmdline != ALQI_CLI_NO_NAME ? p->cmdline : p->program;
}

/* By start; the number breaks a tie. */
static int
by_start(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_analysis *a = arg;
    uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    uint64_t x = a->notes.processes[i].start_us;
    uint64_t y = a->notes.processes[k].start_us;

    if (x != y)
        return x < y ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* By bytes, the most first; by start where they are equal. */
static int
by_allocated(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_analysis *a = arg;
    double x =
        alqi_cli_process_share(a, *(const uint32_t *)left)->allocated.bytes;
    double y =
        alqi_cli_process_share(a, *(const uint32_t *)right)->allocated.bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return by_start(left, right, arg);
}

/* Only processes that were seen: numbers may have gaps. */
uint32_t
alqi_cli_processes_order(const struct alqi_cli_analysis *a, bool by_bytes,
                         uint32_t **order)
{
    uint32_t n = 0;

    *order = alqi_cli_realloc(NULL, a->notes.n_processes, sizeof **order);
    for (uint32_t i = 0; i < a->notes.n_processes; i++)
        if (a->notes.processes[i].is_seen)
            (*order)[n++] = i;
    qsort_r(*order, n, sizeof **order, by_bytes ? by_allocated : by_start,
            (void *)(uintptr_t)a);
    return n;
}

/* The heading and the titles of the columns. */
static void
head(const struct alqi_cli_term *term, bool is_sampled, uint32_t n)
{
    fprintf(term->out, "%sPROCESSES%s %u\n%s%8s%8s%10s%10s",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            alqi_cli_style(term, ALQI_CLI_PLAIN), n,
            alqi_cli_style(term, ALQI_CLI_DIM), "pid", "parent", "allocated",
            "peak");
    if (is_sampled)
        alqi_cli_draw_right(term, "±", ERROR);
    fprintf(term->out, "%10s%9s%9s  %s%s\n", "at end", "samples", "ran",
            "program and command", alqi_cli_style(term, ALQI_CLI_PLAIN));
}

/* The part of path behind its last slash; path itself if nothing stands
 * there. */
/* One process; parent is left blank where there is none. */
static void
row(const struct alqi_cli_term *term, const struct alqi_cli_analysis *a,
    uint32_t process)
{
    const struct alqi_cli_process *p = &a->notes.processes[process];
    const struct alqi_cli_share *s = alqi_cli_process_share(a, process);
    uint64_t ran_us = alqi_cli_process_ran_us(a, process);
    const struct alqi_cli_estimator *e = &a->estimator;
    struct alqi_cli_sum peak = alqi_cli_share_peak(s);
    int left = term->width - FIGURES_COLUMNS;

    fprintf(term->out, "%8" PRIu64, p->pid);
    if (p->parent > 0)
        fprintf(term->out, "%8" PRIu64, p->parent);
    else
        fprintf(term->out, "%8s", "");
    alqi_cli_draw_right(term, alqi_cli_text_bytes(s->allocated.bytes).text, 10);
    alqi_cli_draw_right(term, alqi_cli_text_bytes(peak.bytes).text, 10);
    if (alqi_cli_is_sampled(e)) {
        alqi_cli_draw_right(term, alqi_cli_error_percent(e, &peak).text, ERROR);
        left -= ERROR;
    }
    alqi_cli_draw_right(term, alqi_cli_text_bytes(s->live.bytes).text, 10);
    alqi_cli_draw_right(
        term, alqi_cli_text_count((double)s->allocated.n_samples).text, 9);
    alqi_cli_draw_right(term, alqi_cli_text_duration((double)ran_us).text, 9);
    fputs("  ", term->out);
    alqi_cli_draw_fit(
        term, ALQI_CLI_BOLD,
        alqi_base_file_name(alqi_cli_names_text(a->names, p->program)), &left);
    alqi_cli_draw_fit(term, ALQI_CLI_PLAIN, "  ", &left);
    alqi_cli_draw_fit(
        term, ALQI_CLI_PLAIN,
        alqi_cli_names_text(a->names, alqi_cli_process_command(a, process)),
        &left);
    fputc('\n', term->out);
}

/* A last line for the processes from `from` on, which have no row. */
static void
rest(const struct alqi_cli_term *term, const struct alqi_cli_analysis *a,
     const uint32_t *order, uint32_t from, uint32_t n)
{
    double bytes = 0;

    for (uint32_t i = from; i < n; i++)
        bytes += alqi_cli_process_share(a, order[i])->allocated.bytes;
    fprintf(term->out, "%s%16s", alqi_cli_style(term, ALQI_CLI_DIM), "");
    alqi_cli_draw_right(term, alqi_cli_text_bytes(bytes).text, 10);
    fprintf(term->out, "  in %u more process%s (--top=0 shows all)%s\n",
            n - from, n - from == 1 ? "" : "es",
            alqi_cli_style(term, ALQI_CLI_PLAIN));
}

/* The number in the heading is that of all processes, shown or not. */
void
alqi_cli_processes_table(const struct alqi_cli_term *term,
                         const struct alqi_cli_analysis *a, bool by_bytes,
                         uint64_t rows)
{
    uint32_t *order;
    uint32_t n = alqi_cli_processes_order(a, by_bytes, &order);
    uint32_t shown = rows != 0 && rows < n ? (uint32_t)rows : n;

    head(term, alqi_cli_is_sampled(&a->estimator), n);
    for (uint32_t i = 0; i < shown; i++)
        row(term, a, order[i]);
    if (shown < n)
        rest(term, a, order, shown, n);
    fputc('\n', term->out);
    free(order);
}
