/* summary.c -- the summary of both HTML formats, as one page that needs nothing
 * else: alone it is html-summary, and page.c puts the viewer around it
 *
 * The page is made in memory; when names are so long that it would be larger
 * than ALQI_CLI_SUMMARY_BYTES, it is made again with shorter tables, and the
 * rows that are left out go to the row for the rest. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/tool/page.h"
#include "cli/analysis/errors.h"
#include "cli/analysis/remarks.h"
#include "cli/report/draw.h"
#include "cli/export/summary.h"
#include "cli/tool/text.h"
#include "cli/tool/memory.h"

/* Rows and callers of the tables at first; columns of texts; room for one. */
enum {
    ROWS = 15,
    CALLERS = 12,
    TITLE_COLUMNS = 200,
    FACT_COLUMNS = 400,
    TEXT_BYTES = 4096
};

/* ---- the head -------------------------------------------------------- */

/* A row of the list of facts; none without a text. */
static void
fact(FILE *out, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    fprintf(out, "<dt>%s<dd><bdi>", name);
    alqi_cli_summary_text(out, text, FACT_COLUMNS);
    fputs("</bdi>\n", out);
}

/* A text of the trace's header, which nobody has cleaned. */
static void
fact_raw(FILE *out, const char *name, const char *text)
{
    char clean[TEXT_BYTES];

    alqi_cli_clean(clean, sizeof clean, text);
    fact(out, name, clean);
}

/* What the header and the notes tell of the program and its recording. */
static void
facts(const struct alqi_cli_summary *s)
{
    const struct alqi_cli_analysis *a = &s->export->analysis;
    char text[TEXT_BYTES];

    fputs("<dl>\n", s->out);
    fact_raw(s->out, "program", a->info->executable);
    for (uint32_t i = 0; i < a->notes.n_modules; i++)
        if (strcmp(alqi_cli_names_text(a->names, a->notes.modules[i].path),
                   a->info->executable) == 0) {
            fact(s->out, "build-id",
                 alqi_cli_names_text(a->names, a->notes.modules[i].build_id));
            break;
        }
    fact_raw(s->out, "host", a->info->host);
    snprintf(text, sizeof text, "%" PRIu64, a->info->pid);
    fact(s->out, "pid", text);
    fact(s->out, "started", alqi_cli_text_time(a->info->start_us).text);
    fact(s->out, "ran", alqi_cli_text_duration((double)a->end_us).text);
    fact(s->out, "ended", alqi_cli_end_text(&a->notes).text);
    if (a->notes.n_threads > 0) {
        snprintf(text, sizeof text, "%u", a->notes.n_threads);
        fact(s->out, "threads", text);
    }
    alqi_cli_remark_sampling(a, text, sizeof text);
    fact(s->out, "sampling", text);
    fact_raw(s->out, "context", a->info->context);
    fputs("</dl>\n", s->out);
}

/* Writes the page's policy: only the scripts and styles with these hashes are
 * run and applied. */
static void
policy(const struct alqi_cli_summary *s)
{
    fputs("<meta http-equiv=Content-Security-Policy content=\"default-src "
          "'none'; ",
          s->out);
    if (s->has_app)
        fprintf(s->out, "script-src 'sha256-%s' 'wasm-unsafe-eval'; ",
                alqi_cli_page_script_hash);
    fprintf(s->out, "style-src 'sha256-%s'", alqi_cli_page_summary_hash);
    if (s->has_app)
        fprintf(s->out,
                " 'sha256-%s'; img-src data:", alqi_cli_page_style_hash);
    fputs("; base-uri 'none'; form-action 'none'\">\n", s->out);
}

/* Opens the element that the viewer draws in, with the filter that it begins
 * with. */
static void
app_place(const struct alqi_cli_summary *s)
{
    static const char *const filters[] = {
        [ALQI_CLI_ALLOCATED] = "",
        [ALQI_CLI_LIVE] = "live=end",
        [ALQI_CLI_PEAK] = "live=peak",
        [ALQI_CLI_TEMPORARY] = "",
    };
    enum alqi_cli_measure measure =
        s->export->has_measure ? s->export->measure : ALQI_CLI_PEAK;
    double min_life_us = s->export->analysis.options.min_life_us;

    fprintf(s->out, "<div id=app data-filter=\"%s", filters[measure]);
    if (min_life_us > 0)
        fprintf(s->out, "&amp;life=%.0f..", min_life_us);
    fputs("\"></div>\n<div id=summary>\n", s->out);
}

/* The page up to its first section. With the viewer both style sheets are
 * there, and the script switches between them. */
static void
head(const struct alqi_cli_summary *s, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n",
          s->out);
    policy(s);
    fputs("<meta name=viewport content=\"width=device-width,initial-scale=1\">"
          "\n<meta name=color-scheme content=\"light dark\">\n"
          "<meta name=referrer content=no-referrer>\n<title>Memory of ",
          s->out);
    alqi_cli_summary_text(s->out, title, TITLE_COLUMNS);
    fprintf(s->out, "</title>\n<style%s>%s</style>\n",
            s->has_app ? " id=summary-style" : "", alqi_cli_page_summary);
    if (s->has_app)
        fprintf(s->out, "<style id=app-style media=\"not all\">%s</style>\n",
                alqi_cli_page_style);
    fputs("</head>\n<body>\n", s->out);
    if (s->has_app)
        app_place(s);
    fputs("<header>", s->out);
    fputs("<p class=dim>Where the memory went of</p><h1><bdi>", s->out);
    alqi_cli_summary_text(s->out, title, TITLE_COLUMNS);
    fputs("</bdi></h1>\n", s->out);
    facts(s);
    fputs("</header>\n"
          "<nav aria-label=Sections><ul><li><a href=\"#totals\">Totals</a>"
          "<li><a href=\"#time\">Over time</a><li><a href=\"#peak\">Peak</a>"
          "<li><a href=\"#leaks\">Never freed</a>"
          "<li><a href=\"#allocated\">Allocated</a>"
          "<li><a href=\"#temporary\">Temporary</a>"
          "<li><a href=\"#notes\">Notes</a></ul></nav>\n<main>\n",
          s->out);
}

/* ---- totals and notes ------------------------------------------------ */

/* A row of the table of totals; cells of errors only where there are
 * estimates. */
static void
total(const struct alqi_cli_summary *s, enum alqi_cli_measure measure,
      const char *label, const char *remark)
{
    const struct alqi_cli_analysis *a = &s->export->analysis;
    const struct alqi_cli_sum *sum = &a->totals[measure];
    bool is_sampled = alqi_cli_is_sampled(&a->estimator);

    fprintf(s->out, "<tr id=total-%s><th scope=row>%s",
            alqi_cli_measure_name(measure), label);
    alqi_cli_summary_bytes(s->out, alqi_cli_whole(sum->bytes));
    if (is_sampled)
        fprintf(s->out, "<td class=n>%s",
                alqi_cli_error_of_bytes(&a->estimator, sum).text);
    alqi_cli_summary_objects(s->out, alqi_cli_whole(sum->objects));
    if (is_sampled)
        fprintf(s->out, "<td class=n>%s",
                alqi_cli_error_of_objects(&a->estimator, sum).text);
    fprintf(s->out, "<td class=remark>%s\n", remark);
}

/* The table's caption says how sure its figures are. */
static void
totals_head(const struct alqi_cli_summary *s)
{
    bool is_sampled = alqi_cli_is_sampled(&s->export->analysis.estimator);

    fprintf(s->out,
            "<section id=totals><h2 id=h-totals>Totals</h2>\n<div class=wide "
            "role=region aria-labelledby=h-totals tabindex=0><table>"
            "<caption>%s</caption>\n<thead><tr><td>"
            "<th scope=col class=n>bytes%s"
            "<th scope=col class=n>blocks%s<td></thead>\n<tbody>\n",
            is_sampled
                ? "Estimates; ± is one standard error, [a, b] a 95% interval."
            : alqi_cli_is_exact(&s->export->analysis)
                ? "Every block was counted."
                : "Every block that was recorded was counted.",
            is_sampled ? "<th scope=col class=n>±" : "",
            is_sampled ? "<th scope=col class=n>±" : "");
}

/* The section of totals: the report's four, with the same remarks. */
static void
totals(const struct alqi_cli_summary *s)
{
    const struct alqi_cli_analysis *a = &s->export->analysis;
    const struct alqi_cli_sum *all = &a->totals[ALQI_CLI_ALLOCATED];
    const struct alqi_cli_sum *brief = &a->totals[ALQI_CLI_TEMPORARY];
    const char *ended = alqi_cli_names_text(a->names, a->notes.ended);
    char text[TEXT_BYTES] = "";

    totals_head(s);
    if (a->end_us > 0)
        snprintf(
            text, sizeof text, "%s/s",
            alqi_cli_text_bytes(all->bytes * 1e6 / (double)a->end_us).text);
    total(s, ALQI_CLI_ALLOCATED, "allocated", text);
    snprintf(text, sizeof text, "after %s",
             alqi_cli_text_duration((double)alqi_cli_peak_us(a)).text);
    total(s, ALQI_CLI_PEAK, "peak", text);
    total(s, ALQI_CLI_LIVE, "live at the end",
          strcmp(ended, "running") == 0 ? "still in use" : "never freed");
    snprintf(
        text, sizeof text, "%s of all bytes, %s",
        alqi_cli_text_percent(all->bytes > 0 ? brief->bytes / all->bytes : 0)
            .text,
        alqi_cli_remark_temporary(a).text);
    total(s, ALQI_CLI_TEMPORARY, "temporary", text);
    fputs("</table></div></section>\n", s->out);
}

struct notes {
    FILE *out;
    /* written so far: the list begins with the first */
    unsigned n;
};

/* Writes one warning; the list begins with the first. */
static void
note(void *arg, const char *text)
{
    struct notes *notes = arg;

    fputs(notes->n++ == 0 ? "<ul class=warn>\n<li>" : "<li>", notes->out);
    alqi_cli_summary_text(notes->out, text, FACT_COLUMNS);
    fputc('\n', notes->out);
}

/* The last section and the footer. */
static void
notes(const struct alqi_cli_summary *s)
{
    const struct alqi_cli_export *x = s->export;
    struct notes notes = {s->out, 0};
    char text[TEXT_BYTES];

    fputs("<section id=notes><h2>Notes</h2>\n", s->out);
    if (x->analysis.options.min_life_us > 0) {
        snprintf(text, sizeof text,
                 "only blocks that lived at least %s are counted",
                 alqi_cli_text_duration(x->analysis.options.min_life_us).text);
        note(&notes, text);
    }
    alqi_cli_remarks(&x->analysis, alqi_cli_input_damage(x->input), note,
                     &notes);
    fputs(notes.n > 0 ? "</ul>" : "<p>Nothing was dropped or cut.</p>", s->out);
    fputs("</section>\n</main>\n<footer>Made by aliquot " ALQI_VERSION
          " from <bdi>",
          s->out);
    alqi_cli_clean(text, sizeof text, alqi_cli_input_name(x->input));
    alqi_cli_summary_text(s->out, text, FACT_COLUMNS);
    fputs("</bdi>.</footer>\n", s->out);
}

/* ---- the page -------------------------------------------------------- */

/* Writes all sections in order. */
static void
page(struct alqi_cli_summary *s)
{
    head(s, s->export->program);
    totals(s);
    alqi_cli_summary_timeline(s);
    alqi_cli_summary_sites(s);
    notes(s);
}

/* Halves the tables until the page is small enough; with no rows it is as small
 * as it gets. */
char *
alqi_cli_summary_make(struct alqi_cli_export *export, bool has_app,
                      size_t *n_bytes)
{
    struct alqi_cli_summary s = {export, NULL, ROWS, CALLERS, has_app};
    size_t most =
        ALQI_CLI_SUMMARY_BYTES + (has_app ? strlen(alqi_cli_page_style) : 0);
    char *text = NULL;

    for (;; s.n_rows /= 2, s.n_callers /= 2) {
        s.out = alqi_cli_memory_open(&text, n_bytes);
        page(&s);
        alqi_cli_memory_close(s.out, "the page");
        if (*n_bytes <= most || s.n_rows == 0)
            return text;
        free(text);
    }
}

void
alqi_cli_export_html(struct alqi_cli_export *export, FILE *out)
{
    size_t n;
    char *text = alqi_cli_summary_make(export, false, &n);

    fwrite(text, 1, n, out);
    fputs("</body>\n</html>\n", out);
    free(text);
}
