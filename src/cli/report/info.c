/* info.c -- aliquot info: what a trace holds, without the stacks
 *
 * The trace is read once into an analysis, then printed in paragraphs, each by
 * a function: program, counts, estimates, losses, marks, processes, threads,
 * modules. A line begins with a label of LABEL columns, and text of the trace
 * is cleaned before it is printed. --modules prints the last paragraph alone,
 * for scripts. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/analysis/errors.h"
#include "cli/analysis/analysis.h"
#include "cli/tool/cli.h"
#include "cli/merge/inputs.h"
#include "cli/report/processes.h"
#include "cli/report/resident.h"
#include "cli/analysis/remarks.h"
#include "cli/tool/text.h"

/* Longer texts are cut; columns of a label; the choice "never" of
 * ALQI_CLI_COLOR_CHOICES. */
enum { TEXT_BYTES = 4096, LABEL = 18, NEVER_COLORED = 2 };

struct request {
    bool is_modules_only;
};

const struct alqi_cli_option alqi_cli_info_options[] = {
    {0, "modules", NULL, NULL, "print only the modules, one a line",
     ALQI_CLI_FLAG(struct request, is_modules_only)},
    {0},
};

/* A line begins; the label may be "", for a line that continues one. What
 * follows it ends the line, unless there is more to come. */
static void __attribute__((format(printf, 2, 3)))
line(const char *label, const char *format, ...)
{
    va_list args;

    printf("%-*s", LABEL, label);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

/* A line with a text from the trace; none when the text is empty. */
static void
text_line(const char *name, const char *text)
{
    char clean[TEXT_BYTES];

    if (text[0] == '\0')
        return;
    alqi_cli_clean(clean, sizeof clean, text);
    line(name, "%s\n", clean);
}

/* Paragraph one: names, times and format, as the header and the side records
 * tell them. Of merged traces the processes have their own table. */
static void
program(const struct alqi_cli_analysis *a, const char *path)
{
    const struct alqi_ctf_info *info = a->info;

    text_line("trace", path);
    text_line("program", info->executable);
    text_line("command", alqi_cli_names_text(a->names, a->notes.cmdline));
    text_line("host", info->host);
    if (a->notes.n_processes == 0) {
        line("pid", "%" PRIu64 "\n", info->pid);
    }
    text_line("context", info->context);
    text_line("parameters", info->params);
    line("start", "%s\n", alqi_cli_text_time(info->start_us).text);
    line("duration", "%s (%" PRIu64 " µs)\n",
         alqi_cli_text_duration((double)a->end_us).text, a->end_us);
    text_line("ended", alqi_cli_end_text(&a->notes).text);
    line("format", "memtrace version %u, %s\n", info->version,
         a->estimator.is_bytes ? "lengths in bytes" : "lengths in words");
}

/* The rates that a recording changed to; the first has its own line. Some
 * recordings adapt their rate and have many. */
static void
later_rates(const struct alqi_cli_estimator *e)
{
    enum { SHOWN = 6 };

    for (uint32_t i = 1; i < e->n_rates && i <= SHOWN; i++) {
        line("", "later one for each %s\n",
             alqi_cli_text_bytes(e->word_bytes / e->rates[i].lambda).text);
    }
    if (e->n_rates <= SHOWN + 1)
        return;
    line("", "and %u rates more, the least one for each %s\n",
         e->n_rates - SHOWN - 1,
         alqi_cli_text_bytes(e->word_bytes / e->least_lambda).text);
}

/* Numbers that are counted, not estimated. */
static void
counts(const struct alqi_cli_analysis *a)
{
    line("sampling", "%s", "");
    if (!a->estimator.has_rate) {
        printf("unknown: the header says %g\n", a->info->rate);
    } else if (!alqi_cli_is_sampled(&a->estimator)) {
        char text[512];

        alqi_cli_remark_rate(a, text, sizeof text);
        printf("%s\n", text);
    } else
        printf("%g samples for each %s, one for each %s\n", a->info->rate,
               a->estimator.is_bytes ? "byte" : "word",
               alqi_cli_text_bytes(a->estimator.interval_bytes).text);
    later_rates(&a->estimator);
    line("samples", "%" PRIu64 " in %" PRIu64 " blocks\n", a->n_samples,
         a->n_allocs);
    line("events", "%" PRIu64 " allocations, ", a->n_allocs);
    if (!a->estimator.is_bytes)
        printf("%" PRIu64 " promotions, ", a->n_promotes);
    printf("%" PRIu64 " frees\n", a->n_frees);
    line("call stacks", "%u\n", a->n_sites);
    line("largest block", "%s (%.0f bytes)\n",
         alqi_cli_text_bytes(a->largest_bytes).text, a->largest_bytes);
}

/* A sum in bytes and, if it is an estimate, its error. */
static void
estimated_bytes(const struct alqi_cli_analysis *a, const struct alqi_cli_sum *s)
{
    struct alqi_cli_error_text error =
        alqi_cli_error_of_bytes(&a->estimator, s);

    printf("%s%s%s", alqi_cli_text_bytes(s->bytes).text,
           error.text[0] != '\0' ? " " : "", error.text);
}

/* A line of a sum: bytes, blocks, and bytes a second if the trace has a
 * duration. */
static void
estimate_line(const char *name, const struct alqi_cli_analysis *a,
              const struct alqi_cli_sum *s)
{
    line(name, "%s", "");
    estimated_bytes(a, s);
    printf(" in %s blocks", alqi_cli_text_count(s->objects).text);
    if (a->end_us > 0)
        printf(", %s/s",
               alqi_cli_text_bytes(s->bytes * 1e6 / (double)a->end_us).text);
    putchar('\n');
}

/* Shares by samples, as each sample stands for the same number of words. */
static void
managed(const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_sum *minor = &a->by_source[ALQI_CTF_MINOR];

    estimate_line("minor heap", a, minor);
    estimate_line("major heap", a, &a->by_source[ALQI_CTF_MAJOR]);
    estimate_line("external", a, &a->by_source[ALQI_CTF_EXTERNAL]);
    line("promoted", "%s", "");
    if (minor->n_samples == 0)
        printf("nothing was allocated in the minor heap\n");
    else
        printf("%s of the minor heap's samples\n",
               alqi_cli_text_percent((double)a->promoted.n_samples /
                                     (double)minor->n_samples)
                   .text);
}

/* Paragraph three: what is estimated of all blocks. Lines on mmap, realloc and
 * resident memory stand only where the trace has any. */
static void
estimates(const struct alqi_cli_analysis *a)
{
    struct alqi_cli_resident_text resident;

    estimate_line("allocated", a, &a->totals[ALQI_CLI_ALLOCATED]);
    if (!a->estimator.is_bytes)
        managed(a);
    line("live at end", "%s", "");
    estimated_bytes(a, &a->totals[ALQI_CLI_LIVE]);
    putchar('\n');
    line("peak", "%s", "");
    estimated_bytes(a, &a->totals[ALQI_CLI_PEAK]);
    printf(" at %s\n",
           alqi_cli_text_duration((double)alqi_cli_peak_us(a)).text);
    if (a->mapped[ALQI_CLI_ALLOCATED].n_blocks > 0)
        estimate_line("mapped of it", a, &a->mapped[ALQI_CLI_ALLOCATED]);
    if (a->moves.made.n_blocks > 0) {
        line("reallocs", "%s", "");
        estimated_bytes(a, &a->moves.made);
        printf(" in %s blocks, longest chain %" PRIu64 "\n",
               alqi_cli_text_count(a->moves.made.objects).text,
               a->moves.longest);
    }
    if (alqi_cli_resident_text(a, &resident)) {
        line("resident", "%s; %s; looked at %" PRIu64 " time%s\n",
             resident.most, resident.at_peak, a->rss.n_told,
             a->rss.n_told == 1 ? "" : "s");
        if (a->notes.n_processes > 0)
            line("", "%s\n", ALQI_CLI_RESIDENT_SHARED);
    }
}

/* The table of processes of a merged trace; a single trace has none. */
static void
processes(const struct alqi_cli_analysis *a)
{
    struct alqi_cli_term term;

    if (a->notes.n_processes == 0)
        return;
    putchar('\n');
    alqi_cli_term_start(&term, NEVER_COLORED, false);
    alqi_cli_processes_table(&term, a, false, 0);
    alqi_cli_term_stop(&term);
}

/* A line for each thread that was seen, by its index. */
static void
threads(const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_notes *n = &a->notes;

    if (n->n_threads == 0)
        return;
    line("threads", "%u\n", n->n_threads);
    for (uint32_t i = 0; i < n->threads_capacity; i++) {
        const struct alqi_cli_thread *t = &n->threads[i];

        if (!t->is_seen)
            continue;
        printf("  %-6u tid %-8" PRIu64 " %-16s %" PRIu64 " sampled blocks, ", i,
               t->tid, alqi_cli_names_text(a->names, t->name), t->n_allocs);
        estimated_bytes(a, &a->by_thread[i][ALQI_CLI_ALLOCATED]);
        putchar('\n');
    }
}

/* A line for each mark, by its time. */
static void
marks(const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_marks *m = &a->marks;

    if (m->n == 0)
        return;
    line("marks", "%" PRIu64 "\n", m->n + m->n_left_out);
    for (uint32_t i = 0; i < m->n; i++)
        printf("  %-15s %s\n", alqi_cli_text_duration((double)m->at[i].us).text,
               alqi_cli_names_text(a->names, m->at[i].name));
    if (m->n_left_out > 0)
        printf("  and %" PRIu64 " more\n", m->n_left_out);
}

/* A line for each module; with an indent, a second one says which symbols are
 * missing. Without an indent the lines are for programs to read. */
static void
module_lines(const struct alqi_cli_analysis *a, const char *indent)
{
    const struct alqi_cli_notes *n = &a->notes;

    for (uint32_t i = 0; i < n->n_modules; i++) {
        const struct alqi_cli_module_note *m = &n->modules[i];
        const char *id = alqi_cli_names_text(a->names, m->build_id);

        printf("%s%016" PRIx64 "-%016" PRIx64 " %-40s %s\n", indent, m->start,
               m->end, id[0] != '\0' ? id : "[no build-id]",
               alqi_cli_names_text(a->names, m->path));
        if (m->is_bare && indent[0] != '\0')
            printf("    %s\n", alqi_cli_names_text(a->names, m->missing));
    }
}

static void
modules(const struct alqi_cli_analysis *a)
{
    if (a->notes.n_modules == 0)
        return;
    line("modules", "%u\n", a->notes.n_modules);
    module_lines(a, "  ");
}

/* What the recorder lost or noted. "nothing was dropped" is printed only if the
 * recording ended with its counts: otherwise nobody knows. */
static void
losses(const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_notes *n = &a->notes;

    bool is_1st = true, has_loss = false;

    for (size_t i = 0; i < ALQI_CLI_N_COUNTERS; i++)
        if (n->counts[i] > 0) {
            line(is_1st ? "noted" : "", "%" PRIu64 " %s\n", n->counts[i],
                 alqi_cli_counters[i].text);
            is_1st = false;
            has_loss = has_loss || alqi_cli_counters[i].is_loss;
        }
    if (!has_loss && n->has_end) {
        line(is_1st ? "noted" : "", "nothing was dropped\n");
    }
    if (a->n_strange > 0) {
        line("strange events", "%" PRIu64 " ('aliquot check' tells more)\n",
             a->n_strange);
    }
}

/* The snapshot beside the trace, or why the one that it names is none. */
static void
snapshot(const struct alqi_cli_analysis *a)
{
    char clean[TEXT_BYTES + sizeof a->beside->why];

    if (a->beside == NULL)
        return;
    alqi_cli_clean(clean, sizeof clean,
                   a->beside->why[0] != '\0' ? a->beside->why
                                             : a->beside->path);
    line("snapshot", "%s\n", clean);
    if (a->beside->why[0] == '\0')
        line("", "%s\n",
             "who holds its blocks: 'aliquot report --leaks' of the trace, "
             "'aliquot heap' of the snapshot");
}

/* All paragraphs, in order; those on several processes, threads and modules
 * only where there are any. */
static void
show(const struct alqi_cli_analysis *a, const char *path)
{
    program(a, path);
    counts(a);
    estimates(a);
    losses(a);
    snapshot(a);
    marks(a);
    processes(a);
    threads(a);
    modules(a);
}

/* The status is that of the input: what was read before a damage is printed all
 * the same. */
int
alqi_cli_info(int argc, char **argv)
{
    const struct alqi_cli_analysis_options options = {0};
    struct request r = {0};
    struct alqi_cli_input *input;
    struct alqi_cli_analysis a;
    struct alqi_cli_paths paths;
    int first;
    int rc = alqi_cli_parse("info", argc, argv, &r, &first);

    if (rc < 0)
        rc = alqi_cli_paths_from(&paths, "info", argc, argv, first);
    if (rc >= 0)
        return rc;
    rc = alqi_cli_inputs_open(&paths, &input);
    if (rc >= 0) {
        alqi_cli_paths_free(&paths);
        return rc;
    }
    alqi_cli_analysis_run(&a, input, &options);
    rc = alqi_cli_input_finish(input);
    if (!paths.has_many) /* else which one has been said */
        alqi_cli_end_say(&a.notes, input);
    if (r.is_modules_only)
        module_lines(&a, "");
    else
        show(&a, alqi_cli_input_name(input));
    alqi_cli_analysis_free(&a);
    alqi_cli_input_drop(input);
    alqi_cli_paths_free(&paths);
    return rc;
}
