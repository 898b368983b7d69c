/* calls.c -- the tree of calls, pruned to what matters
 *
 * A chain of calls in which nothing branches off is one line. The tree is made
 * whole, the least share of a branch is chosen (least_share), then each branch
 * is drawn before its children. Children are in falling order, so the first
 * that is too small ends its row of brothers. Node 0 is the root, and as a
 * child or brother it means none. */
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/errors.h"
#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

/* PREFIX_MAX bounds the depth; FIGURES, ARROW and BETWEEN are columns. */
enum {
    PREFIX_MAX = 1024,
    NAME_BYTES = 512,
    FIGURES = 6 + 10 + 2,
    ERROR = 10, /* only where figures are estimates */
    /* a tree with no --min-share is pruned to about that */
    LINES_WANTED = 40,
    ARROW = 3,
    BETWEEN = sizeof "(99 more)" - 1
};

/* A child this large goes on its parent's line. */
static const double CHAIN_SHARE = 0.995;

struct drawing {
    struct alqi_cli_report *report;
    /* of the report's measure; children in falling order */
    struct alqi_cli_tree tree;
    double least_bytes;      /* smaller branches are left out */
    char prefix[PREFIX_MAX]; /* of the lines below the present one */
    size_t n_prefix;         /* bytes of prefix */
};

/* Whether there is such a node, large enough to be drawn. */
static bool
is_shown(const struct drawing *d, uint32_t node)
{
    return node != 0 && d->tree.nodes[node].sum.bytes >= d->least_bytes;
}

/* The last node of the chain that begins at node. */
static uint32_t
chain_end(const struct drawing *d, uint32_t node)
{
    for (;;) {
        uint32_t c = d->tree.nodes[node].first_child;

        if (c == 0 || d->tree.nodes[c].sum.bytes <
                          CHAIN_SHARE * d->tree.nodes[node].sum.bytes)
            return node;
        node = c;
    }
}

/* Columns that name_draw() takes for the node's name alone. */
static int
name_columns(const struct drawing *d, uint32_t node)
{
    const struct alqi_cli_frame *f = &d->tree.nodes[node].frame;
    char name[NAME_BYTES];

    alqi_cli_draw_name(
        name, sizeof name,
        alqi_cli_names_text(d->report->analysis.names, f->function));
    return (int)alqi_cli_columns(name);
}

/* Draws a node's name within *left columns; of the chain's last node, its place
 * in the source, too, if there is room. */
static void
name_draw(const struct drawing *d, uint32_t node, bool is_last, int *left)
{
    const struct alqi_cli_names *names = d->report->analysis.names;
    const struct alqi_cli_frame *f = &d->tree.nodes[node].frame;
    char text[NAME_BYTES];

    alqi_cli_draw_name(text, sizeof text,
                       alqi_cli_names_text(names, f->function));
    alqi_cli_draw_fit_name(
        &d->report->term, is_last ? ALQI_CLI_BOLD : ALQI_CLI_PLAIN, text, left);
    alqi_cli_draw_place(text, sizeof text, names, f);
    if (is_last && text[0] != '\0' && *left > 4) {
        alqi_cli_draw_fit(&d->report->term, ALQI_CLI_DIM, "  ", left);
        alqi_cli_draw_fit(&d->report->term, ALQI_CLI_DIM, text, left);
    }
}

/* The first of the chain's last nodes, so many that they, the first node, and
 * the number of those between fit; node itself when all fit. */
static uint32_t
chain_resume(const struct drawing *d, uint32_t node, uint32_t end, int left)
{
    const struct alqi_cli_tree_node *nodes = d->tree.nodes;
    int room = left - name_columns(d, end);
    uint32_t resume = end;
    uint32_t i = end;

    while (i != node) {
        i = nodes[i].parent;
        room -= name_columns(d, i) + ARROW;
    }
    if (room >= 0)
        return node;
    room = left - name_columns(d, end) - name_columns(d, node) - 2 * ARROW -
           BETWEEN;
    while (nodes[resume].parent != node) {
        room -= name_columns(d, nodes[resume].parent) + ARROW;
        if (room < 0)
            break;
        resume = nodes[resume].parent;
    }
    return resume;
}

/* Draws the nodes from `node` to `end` on one line: the first, how many are
 * left out, and as many of the last as fit. The end of a chain says most, so
 * the middle is cut. */
static void
chain_draw(const struct drawing *d, uint32_t node, uint32_t end, int left)
{
    const struct alqi_cli_term *term = &d->report->term;
    const struct alqi_cli_tree_node *nodes = d->tree.nodes;
    uint32_t resume = chain_resume(d, node, end, left);
    const char *arrow = d->report->tree == ALQI_CLI_TOP_DOWN ? " → " : " ← ";
    unsigned n_between = 0;

    if (resume != node) {
        for (uint32_t i = resume; nodes[i].parent != node; i = nodes[i].parent)
            n_between++;
        name_draw(d, node, false, &left);
        alqi_cli_draw_fit(term, ALQI_CLI_DIM, arrow, &left);
    }
    if (n_between > 0)
        alqi_cli_draw_text(term, ALQI_CLI_DIM, &left, "(%u more)%s", n_between,
                           arrow);
    for (; resume != end; resume = nodes[resume].first_child) {
        name_draw(d, resume, false, &left);
        alqi_cli_draw_fit(term, ALQI_CLI_DIM, arrow, &left);
    }
    name_draw(d, end, true, &left);
    fputc('\n', term->out);
}

/* Figures of `node`, the lines that lead to it, and its chain. A chain's nodes
 * have nearly the same figures, so those of the first stand for all. */
static void
line_draw(const struct drawing *d, uint32_t node, uint32_t end,
          const char *branch)
{
    const struct alqi_cli_term *term = &d->report->term;
    const struct alqi_cli_estimator *e = &d->report->analysis.estimator;
    const struct alqi_cli_sum *sum = &d->tree.nodes[node].sum;
    double share = sum->bytes / d->tree.nodes[0].sum.bytes;
    int left = term->width - FIGURES - (int)alqi_cli_columns(d->prefix) -
               (int)alqi_cli_columns(branch);

    alqi_cli_draw_right(term, alqi_cli_text_percent(share).text, 6);
    alqi_cli_draw_right(term, alqi_cli_text_bytes(sum->bytes).text, 10);
    if (alqi_cli_is_sampled(e)) {
        alqi_cli_draw_right(term, alqi_cli_error_percent(e, sum).text, ERROR);
        left -= ERROR;
    }
    fprintf(term->out, "  %s%s%s%s", alqi_cli_style(term, ALQI_CLI_DIM),
            d->prefix, branch, alqi_cli_style(term, ALQI_CLI_PLAIN));
    chain_draw(d, node, end, left);
}

/* Draws the chain that begins at `node`, then what branches off at its end.
 * d->prefix is longer during the calls for the children and as it was
 * afterwards. A branch that has moved over half the width is cut. */
static void
branch_draw(struct drawing *d, uint32_t node, bool is_top, bool is_last)
{
    uint32_t end = chain_end(d, node);
    size_t n = d->n_prefix;
    const char *deeper = is_top ? "" : is_last ? "  " : "│ ";

    line_draw(d, node, end, is_top ? "" : is_last ? "└ " : "├ ");
    if ((int)alqi_cli_columns(d->prefix) > d->report->term.width / 2 ||
        n + 8 > sizeof d->prefix)
        return;
    strcpy(d->prefix + n, deeper);
    d->n_prefix = n + strlen(deeper);
    for (uint32_t c = d->tree.nodes[end].first_child; is_shown(d, c);
         c = d->tree.nodes[c].next)
        branch_draw(d, c, false, !is_shown(d, d->tree.nodes[c].next));
    d->n_prefix = n;
    d->prefix[n] = '\0';
}

/* Lines that the branches below `node` take with the present least_bytes;
 * counting stops soon after LINES_WANTED. */
static unsigned
lines_count(const struct drawing *d, uint32_t node)
{
    unsigned n = 0;

    for (uint32_t c = d->tree.nodes[node].first_child; is_shown(d, c);
         c = d->tree.nodes[c].next)
        if (n <= LINES_WANTED)
            n += 1 + lines_count(d, chain_end(d, c));
    return n;
}

/* The least share that is asked for, else the first at which the tree is short
 * enough to read. */
static double
least_share(struct drawing *d)
{
    static const double shares[] = {0.01, 0.02, 0.03, 0.05};
    double all = d->tree.nodes[0].sum.bytes;
    double share = d->report->min_share;

    for (size_t i = 0; d->report->min_share <= 0 && i < ALQI_COUNT_OF(shares);
         i++) {
        share = shares[i];
        d->least_bytes = share * all;
        if (lines_count(d, 0) <= LINES_WANTED)
            break;
    }
    d->least_bytes = share * all;
    return share;
}

/* Nothing is drawn of a measure that is 0: no share would have a value. */
void
alqi_cli_report_tree(struct alqi_cli_report *r)
{
    struct drawing d = {.report = r};
    const struct alqi_cli_term *term = &r->term;
    double share;

    if (r->tree == ALQI_CLI_NO_TREE ||
        r->analysis.totals[r->measure].bytes <= 0)
        return;
    alqi_cli_tree_make(&d.tree, &r->analysis, r->tree, r->measure);
    share = least_share(&d);
    fprintf(term->out, "%s%s%s, branches of %g%% and more\n",
            alqi_cli_style(term, ALQI_CLI_BOLD),
            r->tree == ALQI_CLI_TOP_DOWN ? "CALLS, FROM THE PROGRAM DOWN"
                                         : "CALLERS, FROM THE SITE UP",
            alqi_cli_style(term, ALQI_CLI_PLAIN), 100 * share);
    for (uint32_t c = d.tree.nodes[0].first_child; is_shown(&d, c);
         c = d.tree.nodes[c].next)
        branch_draw(&d, c, true, true);
    alqi_cli_tree_free(&d.tree);
}
