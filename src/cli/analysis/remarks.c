/* remarks.c -- what must be known of a trace before a figure is trusted
 *
 * [remarks.h] Three grades: a flaw is a reason why a recording of every block
 * has not every one; a loss makes figures less true; the rest says how the
 * samples were taken. All of it comes from the analysis and from the counters
 * of the end record (read/notes.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/analysis/remarks.h"

/* FEW_BLOCKS: below it a report advises a smaller interval. */
enum { FEW_BLOCKS = 30, REMARK_BYTES = 512 };

/* A remark for each counter that is not zero, and a loss or said all the
 * same. */
static void
counters_say(const struct alqi_cli_notes *n, bool is_said,
             alqi_cli_remark_fn *take, void *arg)
{
    char text[REMARK_BYTES];

    for (size_t i = 0; i < ALQI_CLI_N_COUNTERS; i++)
        if (n->counts[i] > 0 && (is_said ? alqi_cli_counters[i].is_said
                                         : alqi_cli_counters[i].is_loss)) {
            snprintf(text, sizeof text, "%" PRIu64 " %s", n->counts[i],
                     alqi_cli_counters[i].text);
            take(arg, text);
        }
}

bool
alqi_cli_lacks_end(const struct alqi_cli_analysis *a)
{
    return alqi_cli_notes_lack_end(&a->notes, a->info->context);
}

/* Why a snapshot that was asked for tells nothing. */
static void
beside_say(const struct alqi_cli_analysis *a, alqi_cli_remark_fn *take,
           void *arg)
{
    char text[REMARK_BYTES + sizeof a->beside->why];

    if (a->beside == NULL || a->beside->why[0] == '\0' ||
        !a->options.is_held_wanted)
        return;
    snprintf(text, sizeof text, "who holds the blocks is not known: %s",
             a->beside->why);
    take(arg, text);
}

/* What weighs most comes first: damage, a missing end, losses, a killed
 * process, events without sense, names not to be had, few samples. */
void
alqi_cli_remarks(const struct alqi_cli_analysis *a, const char *damage,
                 alqi_cli_remark_fn *take, void *arg)
{
    char text[REMARK_BYTES];

    if (damage[0] != '\0')
        take(arg, "the trace is damaged: only the part before the damage is "
                  "counted");
    else if (alqi_cli_lacks_end(a))
        take(arg, "the trace has no end: it was cut short, and more followed");
    counters_say(&a->notes, false, take, arg);
    if (strcmp(alqi_cli_names_text(a->names, a->notes.ended), "killed") == 0) {
        snprintf(text, sizeof text, "%s %s; %s trace holds all up to then",
                 a->notes.n_processes == 0 ? "the program was"
                                           : "a process was",
                 alqi_cli_end_text(&a->notes).text,
                 a->notes.n_processes == 0 ? "the" : "its");
        take(arg, text);
    }
    if (strcmp(alqi_cli_names_text(a->names, a->notes.ended), "exec") == 0)
        take(arg, a->notes.n_processes == 0
                      ? "the process went on as another program (exec): what "
                        "is live at the end went with this one"
                      : "a process went on as another program (exec): what "
                        "was live then went with the one before");
    counters_say(&a->notes, true, take, arg);
    beside_say(a, take, arg);
    if (a->n_strange > 0) {
        snprintf(text, sizeof text,
                 "%" PRIu64 " events make no sense and were left out; "
                 "'aliquot check' tells more",
                 a->n_strange);
        take(arg, text);
    }
    for (uint32_t i = 0; i < a->notes.n_jit_notes; i++)
        take(arg, alqi_cli_names_text(a->names, a->notes.jit_notes[i]));
    if (a->n_allocs > 0 && a->n_allocs < FEW_BLOCKS &&
        alqi_cli_is_sampled(&a->estimator))
        take(arg, "few samples: record with a smaller --interval for firmer "
                  "figures");
}

/* Figures are estimates, or of unknown rate. */
static bool
is_estimate(const struct alqi_cli_estimator *e)
{
    return !e->has_rate || alqi_cli_is_sampled(e);
}

/* Why the trace is not known to be whole; NULL: it is. A forked child frees
 * blocks whose allocation its recording has not. */
static const char *
cut(const struct alqi_cli_analysis *a)
{
    if (a->input != NULL && alqi_cli_input_damage(a->input)[0] != '\0')
        return "the trace is damaged";
    if (alqi_cli_lacks_end(a))
        return "the trace has no end";
    if (strstr(a->info->context, "forked=1") != NULL)
        return "blocks from before the fork are unknown";
    return NULL;
}

/* The first reason stands: the trace is not whole, a counter of holes is not
 * zero, or events made no sense. */
bool
alqi_cli_flaw(const struct alqi_cli_analysis *a, char *out, size_t capacity)
{
    const char *why = cut(a);

    if (is_estimate(&a->estimator))
        return false;
    if (why != NULL) {
        snprintf(out, capacity, "%s", why);
        return true;
    }
    for (size_t i = 0; i < ALQI_CLI_N_COUNTERS; i++)
        if (a->notes.counts[i] > 0 && alqi_cli_counters[i].is_hole) {
            snprintf(out, capacity, "%" PRIu64 " %s", a->notes.counts[i],
                     alqi_cli_counters[i].text);
            return true;
        }
    if (a->n_strange > 0)
        snprintf(out, capacity, "%" PRIu64 " events make no sense",
                 a->n_strange);
    return a->n_strange > 0;
}

bool
alqi_cli_is_exact(const struct alqi_cli_analysis *a)
{
    char why[REMARK_BYTES];

    return !is_estimate(&a->estimator) && !alqi_cli_flaw(a, why, sizeof why);
}

struct alqi_cli_text
alqi_cli_remark_temporary(const struct alqi_cli_analysis *a)
{
    struct alqi_cli_text t;

    if (a->options.temporary_us <= 1 &&
        alqi_cli_heaptrack_made(a->info->context))
        snprintf(t.text, sizeof t.text, "freed by the next event");
    else
        snprintf(t.text, sizeof t.text, "freed within %.26s",
                 alqi_cli_text_duration(a->options.temporary_us).text);
    return t;
}

/* Words for the rate, from the least to the most exact case. */
void
alqi_cli_remark_rate(const struct alqi_cli_analysis *a, char *out,
                     size_t capacity)
{
    const struct alqi_cli_estimator *e = &a->estimator;
    char why[REMARK_BYTES];

    if (!e->has_rate)
        snprintf(out, capacity, "of unknown rate: counted as they are");
    else if (alqi_cli_flaw(a, why, sizeof why))
        snprintf(out, capacity, "every block but those missing: %s", why);
    else if (!alqi_cli_is_sampled(e))
        snprintf(out, capacity, "every block recorded: figures are exact");
    else if (e->n_rates > 1)
        snprintf(out, capacity, "at %u rates, one for each %s to %s",
                 e->n_rates, alqi_cli_text_bytes(e->interval_bytes).text,
                 alqi_cli_text_bytes(e->word_bytes / e->least_lambda).text);
    else
        snprintf(out, capacity, "one for each %s",
                 alqi_cli_text_bytes(e->interval_bytes).text);
}

struct alqi_cli_text
alqi_cli_remark_counted(const struct alqi_cli_analysis *a)
{
    struct alqi_cli_text out = {""};

    if (is_estimate(&a->estimator))
        snprintf(out.text, sizeof out.text, "%" PRIu64 " sample%s in ",
                 a->n_samples, a->n_samples == 1 ? "" : "s");
    return out;
}

void
alqi_cli_remark_sampling(const struct alqi_cli_analysis *a, char *out,
                         size_t capacity)
{
    struct alqi_cli_text counted = alqi_cli_remark_counted(a);
    int n = snprintf(out, capacity, "%s%" PRIu64 " block%s, ", counted.text,
                     a->n_allocs, a->n_allocs == 1 ? "" : "s");

    alqi_cli_remark_rate(a, out + n, capacity - (size_t)n);
}
