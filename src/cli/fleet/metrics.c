/* metrics.c -- a reading as text for Prometheus
 *
 * A family is a HELP and a TYPE line, then its values. Estimates and facts of
 * the program come first, then what the recorder counts, then the recording
 * itself. Only alqi_cli_metrics is kept between two calls: the counters told
 * last, which fall only when the path holds another recording. */
#include <inttypes.h>
#include <string.h>

#include "cli/fleet/metrics.h"
#include "cli/tool/text.h"

enum { LABEL_BYTES = 4096 };

/* ---- the format ---------------------------------------------------------- */

/* The two lines in front of a family. */
static void
head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
whole(FILE *out, const char *name, const char *type, const char *help,
      uint64_t value)
{
    head(out, name, type, help);
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void
real(FILE *out, const char *name, const char *type, const char *help,
     double value)
{
    head(out, name, type, help);
    fprintf(out, "%s %.15g\n", name, value);
}

/* A label's value, as the format escapes it. */
static void
label(FILE *out, const char *text)
{
    char clean[LABEL_BYTES];

    alqi_cli_clean(clean, sizeof clean, text);
    for (const char *c = clean; *c != '\0'; c++)
        if (*c == '\\' || *c == '"')
            fprintf(out, "\\%c", *c);
        else
            fputc(*c, out);
}

/* Keys of alqi_cli_counters that are a family. */
static const char dropped[] = "dropped_";

/* ---- what there is ------------------------------------------------------- */

/* Forgets what was told of another recording: its counters are no bound of this
 * one's. A scraper takes a counter that falls for one that began anew. */
static void
recording_know(struct alqi_cli_metrics *m, const struct alqi_cli_analysis *a)
{
    if (m->start_us == a->info->start_us && m->pid == a->info->pid)
        return;
    *m = (struct alqi_cli_metrics){.start_us = a->info->start_us,
                                   .pid = a->info->pid};
}

/* Rounds `now` and raises *before to it; what a counter told stays true. */
static uint64_t
not_less(uint64_t *before, double now)
{
    uint64_t n = (uint64_t)(now + 0.5);

    if (n > *before)
        *before = n;
    return *before;
}

/* A gauge with its standard error and the ends of its interval beside it, as a
 * scraper has no other way to know them. */
static void
estimate(FILE *out, const char *name, const char *help, double value,
         double variance, const struct alqi_view_interval *x)
{
    char key[64], about[128];

    real(out, name, "gauge", help, value);
    snprintf(key, sizeof key, "%s_standard_error", name);
    snprintf(about, sizeof about, "Standard error of %s.", name);
    real(out, key, "gauge", about, alqi_cli_stderr(variance));
    snprintf(key, sizeof key, "%s_low", name);
    snprintf(about, sizeof about, "Lower end of the 95%% interval of %s.",
             name);
    real(out, key, "gauge", about, x->low);
    snprintf(key, sizeof key, "%s_high", name);
    snprintf(about, sizeof about, "Upper end of the 95%% interval of %s.",
             name);
    real(out, key, "gauge", about, x->high);
}

/* Sums of all blocks. */
static void
estimates(struct alqi_cli_metrics *m, const struct alqi_cli_analysis *a,
          FILE *out)
{
    const struct alqi_cli_sum *all = &a->totals[ALQI_CLI_ALLOCATED];
    const struct alqi_cli_sum *live = &a->totals[ALQI_CLI_LIVE];
    const struct alqi_cli_sum *peak = &a->totals[ALQI_CLI_PEAK];
    struct alqi_view_interval live_bytes =
                                  alqi_cli_bytes_interval(&a->estimator, live),
                              live_objects = alqi_cli_objects_interval(
                                  &a->estimator, live),
                              peak_bytes =
                                  alqi_cli_bytes_interval(&a->estimator, peak);

    whole(out, "aliquot_allocated_bytes_total", "counter",
          "Bytes allocated since recording began, an estimate.",
          not_less(&m->allocated_bytes, all->bytes));
    whole(out, "aliquot_allocated_objects_total", "counter",
          "Blocks allocated since recording began, an estimate.",
          not_less(&m->allocated_objects, all->objects));
    estimate(out, "aliquot_live_bytes",
             "Bytes in blocks that are not freed, an estimate.", live->bytes,
             live->bytes_var, &live_bytes);
    estimate(out, "aliquot_live_objects",
             "Blocks that are not freed, an estimate.", live->objects,
             live->objects_var, &live_objects);
    estimate(out, "aliquot_peak_live_bytes",
             "Most bytes that were live at any time, an estimate.", peak->bytes,
             peak->bytes_var, &peak_bytes);
}

/* The counters whose keys begin so, or, of "", those of no other family. */
static void
family(const struct alqi_cli_analysis *a, FILE *out, const char *name,
       const char *prefix, const char *key, const char *help)
{
    size_t n = strlen(prefix);

    head(out, name, "counter", help);
    for (int i = 0; i < ALQI_CLI_N_COUNTERS; i++) {
        const char *c = alqi_cli_counters[i].key;
        bool is_other = strncmp(c, dropped, strlen(dropped)) != 0;

        if (is_other == (n == 0))
            fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, key, c + n,
                    a->notes.counts[i]);
    }
}

/* What was counted. The recorder's own counts come with the end of a recording
 * or with a side record; before that they are unknown and are left out. */
static void
counters(const struct alqi_cli_analysis *a, FILE *out)
{
    whole(out, "aliquot_sampled_blocks_total", "counter",
          "Allocations that were sampled.", a->n_allocs);
    whole(out, "aliquot_sampled_frees_total", "counter",
          "Frees of sampled allocations.", a->n_frees);
    if (!a->notes.has_end)
        return;
    family(a, out, "aliquot_dropped_samples_total", dropped, "reason",
           "Samples that were not recorded.");
    family(a, out, "aliquot_recorder_events_total", "", "kind",
           "What else the recorder counts: lost frees, stacks cut short.");
}

/* Facts of the recording; its duration reaches to the moment that the reading
 * tells of. */
static void
recording(const struct alqi_cli_reading *r, FILE *out)
{
    const struct alqi_cli_analysis *a = &r->export.analysis;

    if (a->estimator.has_rate) {
        real(out, "aliquot_sampling_interval_bytes", "gauge",
             "Mean bytes between samples, at the finest rate used.",
             a->estimator.interval_bytes);
        real(out, "aliquot_sampling_rate", "gauge",
             "Samples for each word allocated, at the finest rate used.",
             a->estimator.lambda);
    }
    if (a->notes.n_rss > 0)
        whole(out, "aliquot_resident_bytes", "gauge",
              "Resident memory, as last looked at.", a->notes.rss_bytes);
    real(out, "aliquot_recording_start_time_seconds", "gauge",
         "When recording began, since 1970.", (double)a->info->start_us / 1e6);
    real(out, "aliquot_recording_duration_seconds", "gauge",
         "How long has been recorded.",
         ((double)alqi_cli_reading_taken_ns(r) / 1e3 -
          (double)a->info->start_us) /
             1e6);
    whole(out, "aliquot_recording_is_live", "gauge",
          "1 while the program is being recorded.", r->is_growing);
    whole(out, "aliquot_recording_is_damaged", "gauge",
          "1 when a part of the recording could not be read.",
          alqi_cli_reading_damage(r)[0] != '\0');
    real(out, "aliquot_read_duration_seconds", "gauge",
         "How long it took to read what was new.", (double)r->took_ns / 1e9);
}

static void
program(const struct alqi_cli_analysis *a, FILE *out)
{
    head(out, "aliquot_program_info", "gauge", "The program that is recorded.");
    fputs("aliquot_program_info{executable=\"", out);
    label(out, a->info->executable);
    fprintf(out, "\",pid=\"%" PRIu64 "\",version=\"%s\"} 1\n", a->info->pid,
            ALQI_VERSION);
}

void
alqi_cli_metrics_write(struct alqi_cli_metrics *m,
                       const struct alqi_cli_reading *r, FILE *out)
{
    recording_know(m, &r->export.analysis);
    program(&r->export.analysis, out);
    estimates(m, &r->export.analysis, out);
    counters(&r->export.analysis, out);
    recording(r, out);
}
