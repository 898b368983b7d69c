/* said.c -- what both outputs of `aliquot diff` say: the level of significance,
 * the command of a side, and what makes the two hard to compare
 *
 * The table and the JSON ask here, and never each other; nothing is kept
 * between two calls but the caller's *at. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/analysis/remarks.h"
#include "cli/diff/diff.h"
#include "cli/report/processes.h"
#include "cli/tool/text.h"

/* The level at which a change counts: the chance that a normal distribution
 * lies min_sigma standard errors or more from its mean, on either side. */
double
alqi_cli_diff_level(const struct alqi_cli_diff *d)
{
    return erfc(d->min_sigma / sqrt(2));
}

/* Of merged traces, the number of processes and the command of the first. */
void
alqi_cli_diff_command(const struct alqi_cli_side *side, char *out,
                      size_t capacity)
{
    const struct alqi_cli_analysis *a = &side->analysis;
    uint32_t *order;
    uint32_t n;

    if (a->notes.n_processes == 0 && a->notes.cmdline != ALQI_CLI_NO_NAME) {
        snprintf(out, capacity, "%s",
                 alqi_cli_names_text(a->names, a->notes.cmdline));
        return;
    }
    if (a->notes.n_processes == 0) {
        alqi_cli_clean(out, capacity, a->info->executable);
        return;
    }
    n = alqi_cli_processes_order(a, false, &order);
    snprintf(out, capacity, "%u processes: %s", n,
             n == 0 ? ""
                    : alqi_cli_names_text(
                          a->names, alqi_cli_process_command(a, order[0])));
    free(order);
}

/* Compares the command lines as they are printed. */
static bool
is_other_command(const struct alqi_cli_diff *d)
{
    char a[4096], b[4096];

    alqi_cli_diff_command(&d->a, a, sizeof a);
    alqi_cli_diff_command(&d->b, b, sizeof b);
    return strcmp(a, b) != 0;
}

static bool
is_other_program(const struct alqi_cli_diff *d)
{
    return strcmp(d->a.analysis.info->executable,
                  d->b.analysis.info->executable) != 0;
}

/* Damage that stopped the reader, or a recording that has no end. */
static bool
is_any_damaged(const struct alqi_cli_diff *d)
{
    return alqi_cli_input_damage(d->a.input)[0] != '\0' ||
           alqi_cli_input_damage(d->b.input)[0] != '\0' ||
           alqi_cli_lacks_end(&d->a.analysis) ||
           alqi_cli_lacks_end(&d->b.analysis);
}

static bool
is_rate_unknown(const struct alqi_cli_diff *d)
{
    return !d->a.analysis.estimator.has_rate ||
           !d->b.analysis.estimator.has_rate;
}

/* Whether the recorder lost events of this side, or events contradict each
 * other. */
static bool
has_loss(const struct alqi_cli_side *side)
{
    const struct alqi_cli_analysis *a = &side->analysis;

    for (size_t i = 0; i < ALQI_CLI_N_COUNTERS; i++)
        if (alqi_cli_counters[i].is_loss && a->notes.counts[i] > 0)
            return true;
    return a->n_strange > 0;
}

static bool
has_any_loss(const struct alqi_cli_diff *d)
{
    return has_loss(&d->a) || has_loss(&d->b);
}

static bool
is_by_itself(const struct alqi_cli_analysis *a)
{
    const char *ended = alqi_cli_names_text(a->names, a->notes.ended);

    return strcmp(ended, "killed") != 0 && strcmp(ended, "running") != 0;
}

/* What is live at the end of a program that was killed is no leak. */
static bool
is_other_ending(const struct alqi_cli_diff *d)
{
    return is_by_itself(&d->a.analysis) != is_by_itself(&d->b.analysis);
}

/* A row is a test and its text; the order is that in which they are printed. */
const char *
alqi_cli_diff_warning(const struct alqi_cli_diff *d, unsigned *at)
{
    static const struct {
        bool (*is_so)(const struct alqi_cli_diff *diff);
        const char *text;
    } all[] = {
        {is_other_program, "the programs differ"},
        {is_other_command, "the command lines differ"},
        {is_other_ending, "one ended by itself, the other did not"},
        {is_any_damaged, "a trace is damaged: only the part before the damage "
                         "is compared"},
        {is_rate_unknown, "a trace tells no sampling rate: its blocks are "
                          "counted as they are"},
        {has_any_loss, "recording lost something; 'aliquot info' says what"},
    };

    while (*at < ALQI_COUNT_OF(all)) {
        unsigned i = (*at)++;

        if (all[i].is_so(d))
            return all[i].text;
    }
    return NULL;
}
