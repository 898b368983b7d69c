/* top_draw.c -- the lines of `aliquot top`
 *
 *   aliquot top: server (4711), up 12m, malloc   sampling one in 512 KiB
 *   live 1.42 GiB ± 31 MiB, peak 1.61 GiB ± 33 MiB at 4m12s, RSS 1.7 GiB
 *   allocated 9.1 GiB ± 70 MiB, 12 MiB/s ± 1.1 MiB/s
 *   18.2 k sampled blocks, 17.1 k freed, none dropped; by live, by function
 *
 * Columns are left out from the table's right, the least telling ones first,
 * until a name has room. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/errors.h"
#include "cli/convert/codes.h"
#include "cli/report/draw.h"
#include "cli/tool/text.h"
#include "cli/live/top.h"

/* Room for a name, the columns that it keeps at least, and the shares from
 * which a figure is coloured. */
enum {
    NAME_BYTES = 512,
    NAME_COLUMNS = 32,
    HOT_PERCENT = 20,
    WARM_PERCENT = 5
};

#define US_A_SECOND 1e6

/* Whether figures are estimates; before the first picture that is assumed. */
static bool
is_sampled(const struct alqi_cli_top_part *p)
{
    return !p->has_picture || alqi_cli_is_sampled(&p->picture.estimator);
}

/* ---- columns ------------------------------------------------------------- */

enum column {
    COLUMN_LIVE,
    COLUMN_LIVE_ERROR,
    COLUMN_SHARE,
    COLUMN_COUNT,
    COLUMN_RATE,
    COLUMN_RATE_ERROR,
    COLUMN_PEAK,
    COLUMN_ALLOCATED,
    COLUMN_SAMPLES,
    COLUMNS
};

static const struct {
    const char *title;
    int columns;
    int need; /* 0: always there; else the larger, the sooner it is left out */
    int sort; /* the key that it is sorted by; -1: none */
} column_list[COLUMNS] = {
    [COLUMN_LIVE] = {"LIVE", 10, 0, ALQI_CLI_TOP_BY_LIVE},
    [COLUMN_LIVE_ERROR] = {"±", 10, 0, -1},
    [COLUMN_SHARE] = {"SHARE", 7, 3, -1},
    [COLUMN_COUNT] = {"BLOCKS", 8, 2, ALQI_CLI_TOP_BY_COUNT},
    [COLUMN_RATE] = {"RATE/S", 10, 0, ALQI_CLI_TOP_BY_RATE},
    [COLUMN_RATE_ERROR] = {"±", 10, 4, -1},
    [COLUMN_PEAK] = {"PEAK", 10, 1, ALQI_CLI_TOP_BY_PEAK},
    [COLUMN_ALLOCATED] = {"ALLOCATED", 11, 5, ALQI_CLI_TOP_BY_ALLOCATED},
    [COLUMN_SAMPLES] = {"SAMPLES", 8, 2, -1},
};

/* Whether the column has room: all that are needed as much or more stand before
 * it. What the sorting needs stays. */
static bool
is_shown(const struct alqi_cli_top *top, enum column c)
{
    int left = top->term.width - NAME_COLUMNS, need = column_list[c].need;

    if ((c == COLUMN_LIVE_ERROR || c == COLUMN_RATE_ERROR) &&
        !is_sampled(alqi_cli_top_now(top)))
        return false;
    if (need == 0 || column_list[c].sort == (int)top->sort)
        return true;
    for (int k = 0; k < COLUMNS; k++)
        if (column_list[k].need <= need ||
            column_list[k].sort == (int)top->sort)
            left -= column_list[k].columns;
    return left >= 0;
}

/* ---- the head ------------------------------------------------------------ */

/* What the process does, in words; text is left alone when it is not known. */
static void
what_is_done(const struct alqi_cli_top_part *p, char *text, size_t n_text)
{
    double interval = p->rate > 0 ? ALQI_WORD_BYTES / p->rate : 0;

    if (p->is_gone)
        snprintf(text, n_text, "ended");
    else if (strcmp(p->state, "exact") == 0)
        snprintf(text, n_text, "every block is recorded");
    else if (p->state[0] != '\0' && interval > 0)
        snprintf(text, n_text, "%s, one in %s", p->state,
                 alqi_cli_text_bytes(interval).text);
    else if (p->state[0] != '\0')
        snprintf(text, n_text, "%s", p->state);
    else if (p->follow != NULL)
        snprintf(text, n_text, "%s",
                 p->reading == ALQI_CLI_FOLLOW_OVER ? "ended"
                 : p->is_ours ? "recorded by this command, until it ends"
                              : "recording");
}

/* Anything but sampling deserves a look. */
static enum alqi_cli_style
state_style(const struct alqi_cli_top_part *p)
{
    return p->is_gone || p->trouble[0] != '\0' ||
                   (p->state[0] != '\0' && strcmp(p->state, "sampling") != 0 &&
                    strcmp(p->state, "exact") != 0)
               ? ALQI_CLI_WARN
               : ALQI_CLI_BOLD;
}

/* Line 1: program, process, age, state. */
static void
head_program(const struct alqi_cli_top *top)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    int left = top->term.width;
    char state[100] = "";

    alqi_cli_draw_text(&top->term, ALQI_CLI_BOLD, &left, "%s",
                       p->command[0] != '\0' ? p->command
                                             : "[unnamed program]");
    if (p->pid != 0)
        alqi_cli_draw_text(&top->term, ALQI_CLI_PLAIN, &left, " (%d)",
                           (int)p->pid);
    if (p->proc.age_us > 0)
        alqi_cli_draw_text(&top->term, ALQI_CLI_PLAIN, &left, ", up %s",
                           alqi_cli_text_duration((double)p->proc.age_us).text);
    alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN,
                      p->is_heap ? ", managed heap: " : ", malloc: ", &left);
    what_is_done(p, state, sizeof state);
    alqi_cli_draw_fit(&top->term, state_style(p), state, &left);
    if (top->is_paused)
        alqi_cli_draw_fit(&top->term, ALQI_CLI_WARN, "  [paused]", &left);
    if (top->n_parts > 1)
        alqi_cli_draw_text(&top->term, ALQI_CLI_DIM, &left, "  %u of %u",
                           top->at + 1, top->n_parts);
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}

/* A size with its error, where it is estimated, behind what is in the text. */
static void
bytes_put(char *text, size_t n_text, const char *name,
          const struct alqi_cli_top_part *p, const struct alqi_cli_sum *s)
{
    struct alqi_cli_error_text error =
        alqi_cli_error_of_bytes(&p->picture.estimator, s);
    size_t n = strlen(text);

    snprintf(text + n, n_text - n, "%s%s%s%s", name,
             alqi_cli_text_bytes(s->bytes).text,
             error.text[0] != '\0' ? " " : "", error.text);
}

/* Line 2: what is live, the peak, and what the system counts. */
static void
head_live(const struct alqi_cli_top *top)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    const struct alqi_cli_analysis *a = &p->picture;
    int left = top->term.width;
    char text[400] = "";
    size_t n;

    if (p->has_picture) {
        bytes_put(text, sizeof text, "live ", p, &a->totals[ALQI_CLI_LIVE]);
        bytes_put(text, sizeof text, ", peak ", p, &a->totals[ALQI_CLI_PEAK]);
        n = strlen(text);
        snprintf(text + n, sizeof text - n, " at %s",
                 alqi_cli_text_duration((double)alqi_cli_peak_us(a)).text);
    } else {
        snprintf(text, sizeof text, "live -");
    }
    n = strlen(text);
    if (p->is_heap)
        n += (size_t)snprintf(text + n, sizeof text - n, ", heap %s",
                              alqi_cli_text_bytes((double)p->heap_bytes).text);
    if (p->proc.rss_bytes > 0)
        snprintf(text + n, sizeof text - n, ", RSS %s",
                 alqi_cli_text_bytes((double)p->proc.rss_bytes).text);
    alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN, text, &left);
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}

/* Line 3: all that was allocated, and the rate of late. */
static void
head_allocated(const struct alqi_cli_top *top)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    const struct alqi_cli_analysis *a = &p->picture;
    double s = (double)p->recent_us / US_A_SECOND;
    int left = top->term.width;
    char text[400] = "";

    if (p->has_picture)
        bytes_put(text, sizeof text, "allocated ", p,
                  &a->totals[ALQI_CLI_ALLOCATED]);
    else
        snprintf(text, sizeof text, "allocated -");
    if (p->has_picture && s > 0) {
        struct alqi_cli_error_text error =
            alqi_cli_error_of_rate(&a->estimator, &p->recent_all, s);
        size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, ", lately %s/s%s%s",
                 alqi_cli_text_bytes(p->recent_all.bytes / s).text,
                 error.text[0] != '\0' ? " " : "", error.text);
    }
    alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN, text, &left);
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}

/* What was dropped or lost, or that nothing was. */
static void
losses_put(const struct alqi_cli_top_part *p, char *text, size_t n_text)
{
    size_t n = 0;

    text[0] = '\0';
    if (p->counts.n_dropped > 0)
        n = (size_t)snprintf(
            text, n_text, ", %s samples DROPPED",
            alqi_cli_text_count((double)p->counts.n_dropped).text);
    if (p->counts.n_lost > 0)
        n += (size_t)snprintf(
            text + n, n_text - n, ", %s frees LOST",
            alqi_cli_text_count((double)p->counts.n_lost).text);
    if (n == 0)
        snprintf(text, n_text, ", none dropped");
}

/* Line 4: samples and losses, or what is wrong; then how rows are chosen. */
static void
head_samples(const struct alqi_cli_top *top)
{
    static const char *const sorts[] = {"live", "rate", "allocated", "peak",
                                        "count"};
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    int left = top->term.width;
    char losses[200];

    if (p->trouble[0] != '\0') {
        alqi_cli_draw_fit(&top->term, ALQI_CLI_WARN, p->trouble, &left);
        alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
        return;
    }
    losses_put(p, losses, sizeof losses);
    alqi_cli_draw_text(&top->term, ALQI_CLI_PLAIN, &left, "%s %s, %s freed",
                       alqi_cli_text_count((double)p->picture.n_allocs).text,
                       is_sampled(p) ? "sampled blocks" : "blocks",
                       alqi_cli_text_count((double)p->picture.n_frees).text);
    alqi_cli_draw_fit(&top->term,
                      p->counts.n_dropped + p->counts.n_lost > 0
                          ? ALQI_CLI_WARN
                          : ALQI_CLI_PLAIN,
                      losses, &left);
    alqi_cli_draw_text(&top->term, ALQI_CLI_DIM, &left, "; by %s, %s",
                       sorts[top->sort],
                       top->view == ALQI_CLI_TOP_CALLS
                           ? "calls from the program down"
                           : alqi_cli_grouping_name(top->grouping));
    if (top->filter[0] != '\0')
        alqi_cli_draw_text(&top->term, ALQI_CLI_WARN, &left, "; filter: %s",
                           top->filter);
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}

/* Four lines, each ended: ALQI_CLI_TOP_HEAD_LINES. */
void
alqi_cli_top_draw_head(const struct alqi_cli_top *top)
{
    head_program(top);
    head_live(top);
    head_allocated(top);
    head_samples(top);
}

/* ---- the table ----------------------------------------------------------- */

/* A star stands before the column that rows are sorted by. */
void
alqi_cli_top_draw_titles(const struct alqi_cli_top *top)
{
    for (int c = 0; c < COLUMNS; c++) {
        bool is_key = column_list[c].sort == (int)top->sort;
        char title[32];

        if (!is_shown(top, (enum column)c))
            continue;
        snprintf(title, sizeof title, "%s%s", is_key ? "*" : "",
                 column_list[c].title);
        alqi_cli_draw_cell(&top->term, is_key ? ALQI_CLI_BOLD : ALQI_CLI_DIM,
                           title, column_list[c].columns);
    }
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "  ");
    alqi_cli_print(&top->term, ALQI_CLI_DIM, "%s",
                   top->view == ALQI_CLI_TOP_CALLS ? "CALL" : "SITE");
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}

/* The error of a sum, as the report's table has it. */
static struct alqi_cli_text
percent(const struct alqi_cli_top_part *p, const struct alqi_cli_sum *s)
{
    struct alqi_cli_text t;

    snprintf(t.text, sizeof t.text, "%.*s", (int)sizeof t.text - 1,
             alqi_cli_error_percent(&p->picture.estimator, s).text);
    return t;
}

static const struct alqi_cli_text unknown = {"-"};

/* A cell's text; a rate is not known until two looks lie apart. */
static struct alqi_cli_text
figure_text(const struct alqi_cli_top *top,
            const struct alqi_cli_top_figures *f, enum column c)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    double s = (double)p->recent_us / US_A_SECOND;
    double all = p->picture.totals[ALQI_CLI_LIVE].bytes;

    switch (c) {
    case COLUMN_LIVE:
        return alqi_cli_text_bytes(f->live.bytes);
    case COLUMN_LIVE_ERROR:
        return percent(p, &f->live);
    case COLUMN_SHARE:
        return alqi_cli_text_percent(all > 0 ? f->live.bytes / all : 0);
    case COLUMN_COUNT:
        return alqi_cli_text_count(f->live.objects);
    case COLUMN_RATE:
        return s > 0 ? alqi_cli_text_bytes(f->recent.bytes / s) : unknown;
    case COLUMN_RATE_ERROR:
        return s > 0 ? percent(p, &f->recent) : unknown;
    case COLUMN_PEAK:
        return alqi_cli_text_bytes(f->peak.bytes);
    case COLUMN_ALLOCATED:
        return alqi_cli_text_bytes(f->allocated.bytes);
    default:
        return alqi_cli_text_count((double)f->allocated.n_blocks);
    }
}

/* Colours the column that is sorted by, by its share of the whole. */
static enum alqi_cli_style
share_style(const struct alqi_cli_top *top,
            const struct alqi_cli_top_figures *f, enum column c)
{
    double all, percents;

    if (column_list[c].sort != (int)top->sort)
        return ALQI_CLI_PLAIN;
    all = alqi_cli_top_figure(&top->tree.nodes[0].figures, top->sort);
    percents = all > 0 ? 100 * alqi_cli_top_figure(f, top->sort) / all : 0;
    if (percents >= HOT_PERCENT)
        return ALQI_CLI_HOT;
    return percents >= WARM_PERCENT ? ALQI_CLI_WARM : ALQI_CLI_PLAIN;
}

/* All cells of a row; returns the columns they took. */
static int
figures_draw(const struct alqi_cli_top *top,
             const struct alqi_cli_top_figures *f)
{
    int used = 0;

    for (int i = 0; i < COLUMNS; i++) {
        enum column c = (enum column)i;

        if (!is_shown(top, c))
            continue;
        alqi_cli_draw_cell(&top->term, share_style(top, f, c),
                           figure_text(top, f, c).text, column_list[c].columns);
        used += column_list[c].columns;
    }
    return used;
}

/* The node's name: its function, else its file, else its module. */
static void
node_name(const struct alqi_cli_top *top, uint32_t node, char *text, size_t n)
{
    const struct alqi_cli_names *names = alqi_cli_top_now(top)->picture.names;
    const struct alqi_cli_frame *f = &top->tree.nodes[node].frame;
    uint32_t name = f->function;

    if (name == ALQI_CLI_NO_NAME)
        name = f->file != ALQI_CLI_NO_NAME ? f->file : f->module;
    alqi_cli_draw_name(text, n, alqi_cli_names_text(names, name));
}

/* Which way it goes on, where it is closed: by whom, or to whom. */
static void
chain_draw(const struct alqi_cli_top *top, uint32_t node, int *left)
{
    const char *arrow = top->view == ALQI_CLI_TOP_CALLS ? " → " : " ← ";
    char text[NAME_BYTES];

    if (alqi_cli_top_is_open(&top->tree, node))
        return;
    while (*left > 6 &&
           (node = alqi_cli_top_heaviest(&top->tree, node, top->sort)) != 0) {
        node_name(top, node, text, sizeof text);
        alqi_cli_draw_fit(&top->term, ALQI_CLI_DIM, arrow, left);
        alqi_cli_draw_fit(&top->term, ALQI_CLI_DIM, text, left);
    }
}

/* Indent, sign, name, place, and the chain below a closed node. */
static void
site_draw(const struct alqi_cli_top *top, const struct alqi_cli_top_row *row,
          int left)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    const struct alqi_cli_top_node *n = &top->tree.nodes[row->node];
    char text[NAME_BYTES];
    int indent = 2 * (int)row->depth;

    if (indent > left / 2)
        indent = left / 2;
    alqi_cli_draw_text(&top->term, ALQI_CLI_DIM, &left, "%*s%s ", indent, "",
                       n->first_child == 0                           ? " "
                       : alqi_cli_top_is_open(&top->tree, row->node) ? "-"
                                                                     : "+");
    if (n->is_mapping)
        alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN, ALQI_CLI_MAPPING_NAME " ",
                          &left);
    node_name(top, row->node, text, sizeof text);
    alqi_cli_draw_fit(&top->term,
                      row->depth == 0 ? ALQI_CLI_BOLD : ALQI_CLI_PLAIN, text,
                      &left);
    alqi_cli_draw_place(text, sizeof text, p->picture.names, &n->frame);
    if (n->frame.function != ALQI_CLI_NO_NAME && text[0] != '\0' && left > 4) {
        alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN, "  ", &left);
        alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN, text, &left);
    }
    chain_draw(top, row->node, &left);
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}

/* Figures, then the site in the columns that are left. */
void
alqi_cli_top_draw_row(const struct alqi_cli_top *top,
                      const struct alqi_cli_top_row *row)
{
    int used = figures_draw(top, &top->tree.nodes[row->node].figures);

    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "  ");
    site_draw(top, row, top->term.width - used - 2);
}

/* The most likely reason first: a filter, a column of zeros, then a process
 * that records nothing. */
void
alqi_cli_top_draw_nothing(const struct alqi_cli_top *top)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    const char *text = "no samples yet";
    int left = top->term.width;

    if (top->filter[0] != '\0')
        text = "no stack has what the filter asks for";
    else if (p->follow != NULL && p->picture.n_allocs > 0)
        text = "nothing to sort by: all figures of this column are 0";
    else if (p->follow == NULL && p->is_gone)
        text = "it has ended, and nothing was recorded";
    else if (p->follow == NULL)
        text = "nothing is recorded yet: s, or 'aliquot start', begins";
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "  ");
    left -= 2;
    alqi_cli_draw_fit(&top->term, ALQI_CLI_PLAIN, text, &left);
    alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
}
