/* table.c -- the comparison for people: who ran, totals, sites
 *
 * Columns have fixed widths (the enum) and those of doubt (error, sigma, p) are
 * left out if both sides are exact. Sites follow in the comparison's order; a
 * change that may be chance is dim. A legend below says by which level a change
 * is no chance. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/convert/codes.h"
#include "cli/diff/diff.h"
#include "cli/report/draw.h"
#include "cli/analysis/remarks.h"
#include "cli/tool/text.h"

enum {
    NAME_BYTES = 512,
    TITLE_BYTES = 4096,
    /* columns, from the left; the name has what is left of the width */
    LABEL = 12,
    CHANGE = 11,
    ERROR = 15,
    SIZE = 10,
    RELATIVE = 9,
    SIGMAS = 7,
    CHANCE = 9,
    /* above it a change is told as a factor */
    LARGEST_PERCENT = 10000
};

/* ---- the two sides ------------------------------------------------------- */

/* How a side was sampled, for its line of facts. */
static void
sampling(const struct alqi_cli_side *s, char *out, size_t capacity)
{
    const struct alqi_cli_estimator *e = &s->analysis.estimator;

    if (!e->has_rate)
        snprintf(out, capacity, "of unknown rate");
    else if (alqi_cli_is_exact(&s->analysis))
        snprintf(out, capacity, "every block recorded");
    else if (!alqi_cli_is_sampled(e))
        alqi_cli_remark_rate(&s->analysis, out, capacity);
    else
        snprintf(out, capacity, "one for each %s",
                 alqi_cli_text_bytes(e->interval_bytes).text);
}

/* Two lines of a side: its command; its file, time, samples and sampling. */
static void
side(const struct alqi_cli_diff *d, const struct alqi_cli_side *s,
     const char *letter)
{
    const struct alqi_cli_analysis *a = &s->analysis;
    char text[TITLE_BYTES], rate[300];
    int left = d->term.width - 3;

    alqi_cli_diff_command(s, text, sizeof text);
    sampling(s, rate, sizeof rate);
    fprintf(d->term.out, "%s  ", letter);
    alqi_cli_draw_fit(&d->term, ALQI_CLI_BOLD,
                      text[0] != '\0' ? text : "[unnamed program]", &left);
    fprintf(d->term.out, "\n   %s%s%s: %s, ran %s, %s%" PRIu64 " block%s, %s\n",
            alqi_cli_shown(s->path).text, s->at != NULL ? " at " : "",
            s->at != NULL ? alqi_cli_shown(s->at).text : "",
            alqi_cli_text_time(a->info->start_us).text,
            alqi_cli_text_duration((double)a->end_us).text,
            alqi_cli_remark_counted(a).text, a->n_allocs,
            a->n_allocs == 1 ? "" : "s", rate);
}

/* Each reason why the two are hard to compare, then an empty line, also if
 * there is none. */
static void
warnings(const struct alqi_cli_diff *d)
{
    unsigned at = 0;
    const char *text;

    while ((text = alqi_cli_diff_warning(d, &at)) != NULL)
        fprintf(d->term.out, "%s! %s%s\n",
                alqi_cli_style(&d->term, ALQI_CLI_WARN), text,
                alqi_cli_style(&d->term, ALQI_CLI_PLAIN));
    fputc('\n', d->term.out);
}

/* ---- figures ------------------------------------------------------------- */

/* A size with its sign; 0 has none. */
static struct alqi_cli_text
signed_bytes(double bytes)
{
    struct alqi_cli_text out = {"0 B"};

    if (bytes != 0)
        snprintf(out.text, sizeof out.text, "%c%.38s", bytes < 0 ? '-' : '+',
                 alqi_cli_text_bytes(fabs(bytes)).text);
    return out;
}

/* Rounds what would print as a zero with a minus to 0; other values stay as
 * they are. */
static double
rounded(double x)
{
    return fabs(x) < 0.05 ? 0 : x;
}

/* The change against A: new, gone, same, a percentage, or a factor where a
 * percentage would be too wide. */
static void
relative(const struct alqi_cli_diff *d, const struct alqi_cli_change *c)
{
    double percent = c->a.bytes > 0 ? rounded(100 * c->bytes / c->a.bytes) : 0;
    char text[32];

    if (c->a.objects == 0)
        snprintf(text, sizeof text, c->b.objects == 0 ? "" : "new");
    else if (c->b.objects == 0)
        snprintf(text, sizeof text, "gone");
    else if (c->bytes == 0)
        snprintf(text, sizeof text, "same");
    else if (percent > LARGEST_PERCENT)
        snprintf(text, sizeof text, "x %.3g", 1 + percent / 100);
    else
        snprintf(text, sizeof text, "%+.1f%%", percent);
    alqi_cli_draw_right(&d->term, text, RELATIVE);
}

/* No figure is an estimate; yet blocks may be missing (remarks.h). */
static bool
is_counted(const struct alqi_cli_diff *d)
{
    return !alqi_cli_is_sampled(&d->a.analysis.estimator) &&
           !alqi_cli_is_sampled(&d->b.analysis.estimator);
}

/* Error, sigmas and chance; nothing when both are exact. */
static void
doubt(const struct alqi_cli_diff *d, const struct alqi_cli_change *c)
{
    char text[32] = "";

    if (is_counted(d))
        return;
    if (isfinite(c->sigmas))
        snprintf(text, sizeof text, "%.1f", rounded(c->sigmas));
    alqi_cli_draw_right(&d->term, text, SIGMAS);
    if (c->chance < 1e-12)
        snprintf(text, sizeof text, "<1e-12");
    else
        snprintf(text, sizeof text, c->chance < 1e-3 ? "%.0e" : "%.2g",
                 c->chance);
    alqi_cli_draw_right(&d->term, text, CHANCE);
}

/* "-1.2+34 MiB": how far an interval goes to either side, in one unit. */
static void
reach_text(double below, double above, char *text, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    for (; unit + 1 < ALQI_COUNT_OF(units) && fmax(below, above) >= 1024;
         unit++) {
        below /= 1024;
        above /= 1024;
    }
    snprintf(text, room, "-%.*f+%.*f %s", below < 10, below, above < 10, above,
             units[unit]);
}

/* The column of the error: one standard error, or the interval if a side has
 * few samples. */
static void
error(const struct alqi_cli_diff *d, const struct alqi_cli_change *c)
{
    struct alqi_view_interval x = alqi_cli_change_interval(&d->comparison, c);
    char text[64];

    if (is_counted(d))
        return;
    if (alqi_view_is_few(&x))
        reach_text(c->bytes - x.low, x.high - c->bytes, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s",
                 alqi_cli_text_bytes(alqi_cli_stderr(c->variance)).text);
    alqi_cli_draw_right(&d->term, text, ERROR);
}

/* Two columns: the size in A and the size in B. */
static void
sizes(const struct alqi_cli_diff *d, const struct alqi_cli_change *c)
{
    alqi_cli_draw_right(&d->term, alqi_cli_text_bytes(c->a.bytes).text, SIZE);
    alqi_cli_draw_right(&d->term, alqi_cli_text_bytes(c->b.bytes).text, SIZE);
}

/* Columns that figures() fills. */
static int
figures_columns(const struct alqi_cli_diff *d)
{
    int n = CHANGE + 2 * SIZE + RELATIVE;

    return is_counted(d) ? n : n + ERROR + SIGMAS + CHANCE;
}

/* All columns in front of a site's name. */
static void
figures(const struct alqi_cli_diff *d, const struct alqi_cli_change *c)
{
    alqi_cli_draw_right(&d->term, signed_bytes(c->bytes).text, CHANGE);
    error(d, c);
    sizes(d, c);
    relative(d, c);
    doubt(d, c);
}

/* Names of the columns that figures() fills; leaves the style dim. */
static void
head(const struct alqi_cli_diff *d)
{
    const struct alqi_cli_term *term = &d->term;

    fputs(alqi_cli_style(term, ALQI_CLI_DIM), term->out);
    alqi_cli_draw_right(term, "change", CHANGE);
    if (!is_counted(d))
        alqi_cli_draw_right(term, "±", ERROR);
    alqi_cli_draw_right(term, "A", SIZE);
    alqi_cli_draw_right(term, "B", SIZE);
    alqi_cli_draw_right(term, "of A", RELATIVE);
    if (!is_counted(d)) {
        alqi_cli_draw_right(term, "sigma", SIGMAS);
        alqi_cli_draw_right(term, "p", CHANCE);
    }
}

/* ---- totals -------------------------------------------------------------- */

/* A row for each measure, or the one of two moments. */
static void
totals(const struct alqi_cli_diff *d)
{
    static const struct {
        enum alqi_cli_measure measure;
        const char *label;
    } rows[] = {{ALQI_CLI_ALLOCATED, "allocated"},
                {ALQI_CLI_PEAK, "peak"},
                {ALQI_CLI_LIVE, "live at end"}};
    size_t n = alqi_cli_diff_is_one_run(d) ? 1 : sizeof rows / sizeof rows[0];

    fprintf(d->term.out, "%*s", LABEL, "");
    head(d);
    fprintf(d->term.out, "%s\n", alqi_cli_style(&d->term, ALQI_CLI_PLAIN));
    for (size_t i = 0; i < n; i++) {
        const struct alqi_cli_change *c =
            &d->comparison.totals[rows[i].measure];

        fprintf(d->term.out, "%-*s", LABEL,
                alqi_cli_diff_is_one_run(d) ? "live then" : rows[i].label);
        figures(d, c);
        fputc('\n', d->term.out);
    }
    if (d->comparison.has_lost) {
        fprintf(d->term.out, "%-*s", LABEL, "lost");
        figures(d, &d->comparison.lost);
        fputc('\n', d->term.out);
    }
    fputc('\n', d->term.out);
}

/* ---- sites --------------------------------------------------------------- */

/* name gets the mark of a mapping first. By file a group without a file is
 * known by its module. */
void
alqi_cli_diff_name(const struct alqi_cli_diff *d,
                   const struct alqi_cli_pair *pair, char *name, char *place,
                   size_t capacity)
{
    const struct alqi_cli_names *names;
    const struct alqi_cli_frame *f =
        alqi_cli_pair_frame(&d->comparison, pair, &names);
    size_t place_capacity = capacity;

    place[0] = '\0';
    if (alqi_cli_pair_is_mapping(pair)) {
        size_t n =
            (size_t)snprintf(name, capacity, "%s ", ALQI_CLI_MAPPING_NAME);

        name += n;
        capacity -= n;
    }
    alqi_cli_draw_group(name, capacity, names, f, d->grouping);
    if (d->grouping <= ALQI_CLI_BY_LINE)
        alqi_cli_draw_place(place, place_capacity, names, f);
}

static bool
is_more_than_chance(const struct alqi_cli_diff *d,
                    const struct alqi_cli_change *c)
{
    return c->bytes != 0 && c->chance <= alqi_cli_diff_level(d);
}

/* One pair; the name is cut to what the figures leave. */
static void
row(const struct alqi_cli_diff *d, const struct alqi_cli_pair *pair)
{
    const struct alqi_cli_term *term = &d->term;
    bool is_sure = is_more_than_chance(d, &pair->change);
    int left = term->width - figures_columns(d) - 2;
    char name[NAME_BYTES], place[NAME_BYTES];

    if (!is_sure)
        fputs(alqi_cli_style(term, ALQI_CLI_DIM), term->out);
    else if (pair->change.bytes > 0)
        fputs(alqi_cli_style(term, ALQI_CLI_WARM), term->out);
    figures(d, &pair->change);
    fprintf(term->out, "%s  ", alqi_cli_style(term, ALQI_CLI_PLAIN));
    alqi_cli_diff_name(d, pair, name, place, sizeof name);
    alqi_cli_draw_fit_name(term, is_sure ? ALQI_CLI_BOLD : ALQI_CLI_DIM, name,
                           &left);
    if (place[0] != '\0' && left > 4) {
        alqi_cli_draw_fit(term, ALQI_CLI_PLAIN, "  ", &left);
        alqi_cli_draw_fit(term, is_sure ? ALQI_CLI_PLAIN : ALQI_CLI_DIM, place,
                          &left);
    }
    fputc('\n', term->out);
}

/* What the table compares, in the words of the option that chose it. */
static const char *
heading(const struct alqi_cli_diff *d)
{
    if (alqi_cli_diff_is_one_run(d))
        return "CHANGE OF WHAT IS LIVE, FROM A TO B";
    switch (d->measure) {
    case ALQI_CLI_ALLOCATED:
        return "CHANGE OF WHAT WAS ALLOCATED";
    case ALQI_CLI_LIVE:
        return "CHANGE OF WHAT IS LIVE AT THE END";
    default:
        return "CHANGE OF WHAT IS LIVE AT THE PEAK";
    }
}

/* How many sites changed, and what the columns of doubt mean. */
static void
legend(const struct alqi_cli_diff *d, uint32_t n_sure, uint32_t n_same)
{
    const struct alqi_cli_term *term = &d->term;
    uint32_t n = d->comparison.n_pairs;

    fputs(alqi_cli_style(term, ALQI_CLI_DIM), term->out);
    if (is_counted(d))
        fprintf(term->out, "%u of %u sites changed; %s\n", n - n_same, n,
                alqi_cli_is_exact(&d->a.analysis) &&
                        alqi_cli_is_exact(&d->b.analysis)
                    ? "every block was recorded: figures are exact"
                    : "blocks are missing: see above");
    else
        fprintf(term->out,
                "%u of %u sites changed by more than sampling explains: p at "
                "most %.2g, that is %g sigma.\n± is one standard error, -a+b a "
                "95%% interval;\n"
                "p of sites is corrected for the number of sites (Holm)\n",
                n_sure, n, alqi_cli_diff_level(d), d->min_sigma);
    fputs(alqi_cli_style(term, ALQI_CLI_PLAIN), term->out);
}

/* Prints the rows and counts all pairs, printed or not, for the legend. */
static void
sites(const struct alqi_cli_diff *d)
{
    const struct alqi_cli_comparison *c = &d->comparison;
    uint32_t n_shown = 0, n_left = 0, n_sure = 0, n_same = 0;

    fprintf(d->term.out, "%s%s%s by %s\n",
            alqi_cli_style(&d->term, ALQI_CLI_BOLD), heading(d),
            alqi_cli_style(&d->term, ALQI_CLI_PLAIN),
            alqi_cli_grouping_name(d->grouping));
    head(d);
    fprintf(d->term.out, "  site%s\n",
            alqi_cli_style(&d->term, ALQI_CLI_PLAIN));
    for (uint32_t i = 0; i < c->n_pairs; i++) {
        const struct alqi_cli_change *change = &c->pairs[i].change;
        bool is_sure = is_more_than_chance(d, change);

        n_sure += is_sure;
        n_same += change->bytes == 0;
        if (change->bytes == 0 || (d->hides_chance && !is_sure))
            continue;
        if (d->top != 0 && n_shown == d->top) {
            n_left++;
            continue;
        }
        row(d, &c->pairs[i]);
        n_shown++;
    }
    if (n_shown == 0)
        fprintf(d->term.out, "    nothing\n");
    if (n_left > 0)
        fprintf(d->term.out, "%s%*s  %u more (--top=0 shows all)%s\n",
                alqi_cli_style(&d->term, ALQI_CLI_DIM), figures_columns(d), "",
                n_left, alqi_cli_style(&d->term, ALQI_CLI_PLAIN));
    legend(d, n_sure, n_same);
}

/* Prints the comparison to the terminal that was started before. */
void
alqi_cli_diff_table(struct alqi_cli_diff *d)
{
    side(d, &d->a, "A");
    side(d, &d->b, "B");
    warnings(d);
    totals(d);
    sites(d);
}
