/* summary_sites.c -- tables of the sites that matter most, by four measures
 *
 * Figures of a column are apportioned: with the row for the rest they sum up
 * to the total. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/analysis/errors.h"
#include "cli/tool/cli.h"
#include "cli/report/draw.h"
#include "cli/analysis/remarks.h"
#include "cli/export/summary.h"
#include "cli/tool/text.h"
#include "cli/analysis/tree.h"

enum { NAME_BYTES = 512, NAME_COLUMNS = 80, TEXT_BYTES = 256 };

/* One table while it is written. */
struct table {
    const struct alqi_cli_summary *summary;
    enum alqi_cli_measure measure;
    struct alqi_cli_groups groups; /* sorted by the measure */
    int64_t *bytes, *objects;      /* by group */
    /* of the row that is written; grown as needed */
    struct alqi_cli_frame *frames;
    uint32_t frames_capacity;
};

/* The analysis that the table is of. */
static const struct alqi_cli_analysis *
analysis_of(const struct table *t)
{
    return &t->summary->export->analysis;
}

/* Whether the table has columns of errors. */
static bool
is_sampled(const struct table *t)
{
    return alqi_cli_is_sampled(&analysis_of(t)->estimator);
}

/* ---- figures --------------------------------------------------------- */

/* Apportions bytes and objects among the groups; freed by put_table(). */
static void
figures_make(struct table *t)
{
    const struct alqi_cli_sum *total = &analysis_of(t)->totals[t->measure];
    const struct alqi_cli_groups *g = &t->groups;
    const struct alqi_cli_sum *first = &g->groups[0].sums[t->measure];

    t->bytes = alqi_cli_apportioned(&first->bytes, sizeof *g->groups,
                                    g->n_groups, total->bytes);
    t->objects = alqi_cli_apportioned(&first->objects, sizeof *g->groups,
                                      g->n_groups, total->objects);
}

/* A cell with the error; exact figures have no such column. */
static void
put_error(const struct table *t, const struct alqi_cli_sum *s)
{
    if (is_sampled(t))
        fprintf(t->summary->out, "<td class=n>%s",
                alqi_cli_error_of_bytes(&analysis_of(t)->estimator, s).text);
}

/* A cell with a percentage and a bar. */
static void
put_share(const struct table *t, double bytes)
{
    double total = analysis_of(t)->totals[t->measure].bytes;
    double share = total > 0 ? bytes / total : 0;

    fprintf(t->summary->out,
            "<td class=n>%s<svg viewBox=\"0 0 100 1\" "
            "preserveAspectRatio=none aria-hidden=true>"
            "<rect width=\"%.1f\" height=\"1\"/></svg>",
            alqi_cli_text_percent(share).text, share * 100);
}

/* The share of a site's bytes that was never freed tells leaks from pools. */
static void
put_kept(const struct table *t, const struct alqi_cli_sum *sums)
{
    double all = sums[ALQI_CLI_ALLOCATED].bytes;

    if (t->measure == ALQI_CLI_LIVE)
        fprintf(
            t->summary->out, "<td class=n>%s",
            alqi_cli_text_percent(all > 0 ? sums[ALQI_CLI_LIVE].bytes / all : 0)
                .text);
}

/* All cells of figures of a row, in the head's order. */
static void
put_sums(const struct table *t, const struct alqi_cli_sum *sums, int64_t bytes,
         int64_t objects)
{
    const struct alqi_cli_sum *s = &sums[t->measure];
    FILE *out = t->summary->out;

    alqi_cli_summary_bytes(out, bytes);
    put_error(t, s);
    put_share(t, s->bytes);
    alqi_cli_summary_objects(out, objects);
    fprintf(out, "<td class=n>%s",
            alqi_cli_text_duration(alqi_cli_mean_life_us(s)).text);
    put_kept(t, sums);
}

/* ---- names ----------------------------------------------------------- */

/* A name of the trace, apart from the text around it, whatever direction its
 * letters run in. */
static void
put_name(const struct table *t, const char *text)
{
    fputs("<bdi>", t->summary->out);
    alqi_cli_summary_text(t->summary->out, text, NAME_COLUMNS);
    fputs("</bdi>", t->summary->out);
}

/* Each caller once, from the site outwards. */
static void
put_callers(struct table *t, uint32_t n)
{
    const struct alqi_cli_names *names = analysis_of(t)->names;
    FILE *out = t->summary->out;
    uint32_t at = alqi_cli_naming_frame(t->frames, n);
    uint32_t n_put = 0;
    char name[NAME_BYTES];

    at = alqi_cli_fold_recursion(t->frames, at + 1) - 1;
    if (at == 0)
        return;
    fputs("<div class=path>", out);
    while (at > 0 && n_put++ < t->summary->n_callers) {
        alqi_cli_draw_name(
            name, sizeof name,
            alqi_cli_names_text(names, t->frames[--at].function));
        fputs(n_put > 1 ? " ← " : "← ", out);
        put_name(t, name);
    }
    if (at > 0)
        fprintf(out, " ← … %u more", at);
    fputs("</div>", out);
}

/* The cell of a site: name, place, and the callers of its heaviest stack. */
static void
put_site(struct table *t, const struct alqi_cli_group *g)
{
    struct alqi_cli_analysis *a = &t->summary->export->analysis;
    enum alqi_cli_grouping by = t->summary->export->grouping;
    FILE *out = t->summary->out;
    char text[NAME_BYTES];
    uint32_t n = alqi_cli_stack_frames(a, a->sites[g->heaviest].node,
                                       &t->frames, &t->frames_capacity);

    alqi_cli_draw_group(text, sizeof text, a->names, &g->frame, by);
    fputs("<th scope=row class=site><code>", out);
    put_name(t, text);
    fputs("</code>", out);
    if (by <= ALQI_CLI_BY_LINE) {
        alqi_cli_draw_place(text, sizeof text, a->names, &g->frame);
        fputs(text[0] != '\0' ? " " : "", out);
        put_name(t, text);
    }
    if (n > 0)
        put_callers(t, n);
}

/* ---- the table ------------------------------------------------------- */

/* The head; columns of errors and of what is kept stand only where rows have
 * them. */
static void
put_head(const struct table *t)
{
    FILE *out = t->summary->out;
    bool is_leaks = t->measure == ALQI_CLI_LIVE;

    fputs("<thead><tr><th scope=col class=n>bytes", out);
    if (is_sampled(t))
        fputs("<th scope=col class=n>±", out);
    fprintf(out,
            "<th scope=col class=n>share<th scope=col class=n>blocks"
            "<th scope=col class=n>mean %s",
            is_leaks ? "age" : "life");
    if (is_leaks)
        fputs("<th scope=col class=n>kept", out);
    fputs("<th scope=col>site and its callers</thead>\n", out);
}

/* Everything from group `from` on. */
static void
put_rest(const struct table *t, uint32_t from)
{
    struct alqi_cli_sum sums[ALQI_CLI_N_MEASURES];
    int64_t bytes = 0, objects = 0;
    uint32_t n = 0;

    memset(sums, 0, sizeof sums);
    for (uint32_t i = from; i < t->groups.n_groups; i++) {
        const struct alqi_cli_group *g = &t->groups.groups[i];

        if (g->sums[t->measure].objects == 0)
            continue;
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            alqi_cli_sum_join(&sums[m], &g->sums[m]);
        bytes += t->bytes[i];
        objects += t->objects[i];
        n++;
    }
    if (n == 0)
        return;
    fputs("<tr>", t->summary->out);
    put_sums(t, sums, bytes, objects);
    fprintf(t->summary->out, "<th scope=row class=dim>%u more\n", n);
}

/* Rows until they are empty or enough, then the rest as one. */
static void
put_rows(struct table *t)
{
    uint32_t n = 0;

    fputs("<tbody>\n", t->summary->out);
    while (n < t->summary->n_rows && n < t->groups.n_groups) {
        const struct alqi_cli_group *g = &t->groups.groups[n];

        if (g->sums[t->measure].objects == 0)
            break;
        fputs("<tr>", t->summary->out);
        put_sums(t, g->sums, t->bytes[n], t->objects[n]);
        put_site(t, g);
        fputc('\n', t->summary->out);
        n++;
    }
    put_rest(t, n);
}

/* A whole section; a measure of nothing has a sentence in place of a table. */
static void
put_table(const struct alqi_cli_summary *s, enum alqi_cli_measure measure,
          const char *id, const char *title, const char *caption)
{
    struct table t = {.summary = s, .measure = measure};
    const struct alqi_cli_sum *total = &s->export->analysis.totals[measure];

    fprintf(s->out, "<section id=%s><h2 id=h-%s>%s</h2>\n", id, id, title);
    if (total->objects == 0) {
        fputs("<p>Nothing.</p></section>\n", s->out);
        return;
    }
    alqi_cli_groups_make(&t.groups, &s->export->analysis, s->export->grouping,
                         measure);
    figures_make(&t);
    fprintf(s->out,
            "<div class=wide role=region aria-labelledby=h-%s tabindex=0>"
            "<table><caption>%s</caption>\n",
            id, caption);
    put_head(&t);
    put_rows(&t);
    fputs("</table></div></section>\n", s->out);
    alqi_cli_groups_free(&t.groups);
    free(t.bytes);
    free(t.objects);
    free(t.frames);
}

/* Four sections; the captions say what a reader may conclude. */
void
alqi_cli_summary_sites(const struct alqi_cli_summary *s)
{
    const struct alqi_cli_analysis *a = &s->export->analysis;
    const char *ended = alqi_cli_names_text(a->names, a->notes.ended);
    bool is_running = strcmp(ended, "running") == 0;
    char text[TEXT_BYTES];

    snprintf(text, sizeof text,
             "What was alive when the most bytes were, after %s.",
             alqi_cli_text_duration((double)alqi_cli_peak_us(a)).text);
    put_table(s, ALQI_CLI_PEAK, "peak", "Sites at the peak", text);
    put_table(s, ALQI_CLI_LIVE, "leaks",
              is_running ? "Sites of what is still in use"
                         : "Sites of what was never freed",
              "A site that keeps all it allocates and goes on allocating is a "
              "leak; kept is the share of its bytes that was not freed.");
    put_table(s, ALQI_CLI_ALLOCATED, "allocated", "Sites by all they allocated",
              "All blocks, freed or not.");
    snprintf(text, sizeof text, "Blocks %s: work that may be saved.",
             alqi_cli_remark_temporary(a).text);
    put_table(s, ALQI_CLI_TEMPORARY, "temporary", "Sites of temporary blocks",
              text);
}
