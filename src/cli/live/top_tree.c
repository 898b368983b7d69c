/* top_tree.c -- the stacks of a live view as a tree that stays
 *
 * Two steps a picture: new sites get their leaves, and with them the nodes that
 * they need (leaves_make); then all figures are set to 0, each site's go to its
 * leaf, and the leaves' to their parents (.inv.parent). Rows are listed from
 * the root down, through what is open. Nodes are never removed: a row without
 * figures is not listed. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/tree.h"
#include "cli/live/top_tree.h"

enum { ROWS_FIRST = 256, DEPTH_MOST = 200 };

static const double AUTO_SHARE = 0.1;    /* of all, and it is open */
static const double CHAIN_SHARE = 0.995; /* of its parent: nothing branches */

/* ---- nodes --------------------------------------------------------------- */

/* The child of parent that such a frame makes, new or known. Key rows are
 * numbered from 0 and the root has none, so a node is one more than its row. */
static uint32_t
child(struct alqi_cli_top_tree *t, uint32_t parent,
      const struct alqi_cli_frame *f, bool is_mapping)
{
    uint32_t key[] = {parent,    f->function,       f->file,
                      f->module, (uint32_t)f->line, is_mapping};
    uint32_t node = alqi_cli_intern(&t->keys, key) + 1;

    if (node < t->n_nodes)
        return node;
    t->nodes = alqi_cli_grow(t->nodes, t->n_nodes, sizeof *t->nodes);
    t->nodes[node] = (struct alqi_cli_top_node){
        .frame = *f,
        .parent = parent,
        .next = t->nodes[parent].first_child,
        .is_mapping = is_mapping,
    };
    t->nodes[parent].first_child = node;
    return t->n_nodes++;
}

/* The root is node 0, made here; key rows have the six words of child(). */
void
alqi_cli_top_tree_init(struct alqi_cli_top_tree *t, enum alqi_cli_top_view view,
                       enum alqi_cli_grouping grouping)
{
    memset(t, 0, sizeof *t);
    t->view = view;
    t->grouping = grouping;
    t->keys.n_words = 6;
    t->nodes = alqi_cli_grow(NULL, 0, sizeof *t->nodes);
    t->nodes[0] = (struct alqi_cli_top_node){.parent = 0};
    t->n_nodes = 1;
}

void
alqi_cli_top_tree_free(struct alqi_cli_top_tree *t)
{
    free(t->nodes);
    alqi_base_intern_clear(&t->keys);
    free(t->leaf_of);
    memset(t, 0, sizeof *t);
}

/* ---- stacks -------------------------------------------------------------- */

/* Innermost first; a file or a module has its functions below it. */
static uint32_t
leaf_from_site(struct alqi_cli_top_tree *t, const struct alqi_cli_frame *frames,
               uint32_t n, bool is_mapping)
{
    struct alqi_cli_frame f =
        alqi_cli_frame_masked(&frames[n - 1], t->grouping);
    uint32_t node = child(t, 0, &f, is_mapping);

    for (uint32_t i = t->grouping >= ALQI_CLI_BY_FILE ? n : n - 1; i-- > 0;) {
        f = alqi_cli_frame_masked(&frames[i], ALQI_CLI_BY_FUNCTION);
        node = child(t, node, &f, false);
    }
    return node;
}

/* The node of a stack, from the outermost frame on. */
static uint32_t
leaf_from_program(struct alqi_cli_top_tree *t,
                  const struct alqi_cli_frame *frames, uint32_t n,
                  bool is_mapping)
{
    uint32_t node = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct alqi_cli_frame f =
            alqi_cli_frame_masked(&frames[i], ALQI_CLI_BY_FUNCTION);

        node = child(t, node, &f, is_mapping && i + 1 == n);
    }
    return node;
}

/* A function that calls itself stands at its place nearest to the root. */
static uint32_t
leaf_make(struct alqi_cli_top_tree *t, struct alqi_cli_analysis *picture,
          const struct alqi_cli_site *site, struct alqi_cli_frame **frames,
          uint32_t *capacity)
{
    uint32_t n = alqi_cli_stack_frames(picture, site->node, frames, capacity);
    struct alqi_cli_frame none = {0};

    if (n == 0) {
        none.function = none.module =
            alqi_cli_names_intern(picture->names, "[no stack]");
        return leaf_from_program(t, &none, 1, site->is_mapping);
    }
    n = alqi_cli_naming_frame(*frames, n) + 1;
    if (t->view == ALQI_CLI_TOP_CALLS) {
        n = alqi_cli_fold_recursion(*frames, n);
        return leaf_from_program(t, *frames, n, site->is_mapping);
    }
    alqi_cli_frames_turn(*frames, n);
    n = alqi_cli_fold_recursion(*frames, n);
    alqi_cli_frames_turn(*frames, n);
    return leaf_from_site(t, *frames, n, site->is_mapping);
}

/* Leaves of the sites that have come since the last picture (.inv.index). */
static void
leaves_make(struct alqi_cli_top_tree *t, struct alqi_cli_analysis *picture)
{
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;

    t->leaf_of =
        alqi_cli_realloc(t->leaf_of, picture->n_sites, sizeof *t->leaf_of);
    for (; t->n_leaves < picture->n_sites; t->n_leaves++)
        t->leaf_of[t->n_leaves] = leaf_make(
            t, picture, &picture->sites[t->n_leaves], &frames, &capacity);
    free(frames);
}

/* ---- the filter ---------------------------------------------------------- */

struct filter {
    const struct alqi_cli_names *names;
    const char *text; /* NULL: none */
    uint8_t *of_node; /* 0: not looked at; 1: does not have it; 2: has it,
                         or one further out */
};

/* Whether one of the frame's names has the filter's text in it. */
static bool
has_text(const struct filter *f, const struct alqi_cli_frame *frame)
{
    const uint32_t names[] = {frame->function, frame->file, frame->module};

    for (size_t i = 0; i < ALQI_COUNT_OF(names); i++)
        if (strcasestr(alqi_cli_names_text(f->names, names[i]), f->text))
            return true;
    return false;
}

/* Whether the leaf or a node on its way to the root has the text. Each node is
 * looked at once a picture. */
static bool
lets_through(const struct filter *f, const struct alqi_cli_top_tree *t,
             uint32_t leaf)
{
    uint32_t node = leaf;
    uint8_t got = 1;

    if (f->text == NULL)
        return true;
    while (node != 0 && f->of_node[node] == 0 &&
           !has_text(f, &t->nodes[node].frame))
        node = t->nodes[node].parent;
    if (node != 0)
        got = f->of_node[node] != 0 ? f->of_node[node] : 2;
    /* What is below a node that has it has it, too; what is below one that has
     * not was found not to have it on the way here. */
    for (; leaf != node; leaf = t->nodes[leaf].parent)
        f->of_node[leaf] = got;
    if (node != 0)
        f->of_node[node] = got;
    return got == 2;
}

/* ---- figures ------------------------------------------------------------- */

/* Adds all figures; variances add, as samples are independent. */
static void
figures_join(struct alqi_cli_top_figures *to,
             const struct alqi_cli_top_figures *from)
{
    alqi_cli_sum_join(&to->live, &from->live);
    alqi_cli_sum_join(&to->peak, &from->peak);
    alqi_cli_sum_join(&to->allocated, &from->allocated);
    alqi_cli_sum_join(&to->recent, &from->recent);
}

/* The figures of one site of a picture. */
static struct alqi_cli_top_figures
figures_from(const struct alqi_cli_site *site,
             const struct alqi_cli_top_recent *recent, uint32_t i)
{
    struct alqi_cli_top_figures f = {
        .live = site->sums[ALQI_CLI_LIVE],
        .peak = site->sums[ALQI_CLI_PEAK],
        .allocated = site->sums[ALQI_CLI_ALLOCATED],
    };

    if (i < recent->n)
        f.recent = recent->sums[i];
    return f;
}

/* Makes new leaves before the filter's table: it has a place for each node. */
void
alqi_cli_top_tree_take(struct alqi_cli_top_tree *t,
                       struct alqi_cli_analysis *picture,
                       const struct alqi_cli_top_recent *recent,
                       const char *text)
{
    struct filter filter = {.names = picture->names};

    leaves_make(t, picture);
    if (text != NULL && text[0] != '\0') {
        filter.text = text;
        filter.of_node = alqi_cli_realloc(NULL, t->n_nodes, 1);
        memset(filter.of_node, 0, t->n_nodes);
    }
    for (uint32_t i = 0; i < t->n_nodes; i++)
        memset(&t->nodes[i].figures, 0, sizeof t->nodes[i].figures);
    for (uint32_t i = 0; i < picture->n_sites; i++) {
        struct alqi_cli_top_figures f =
            figures_from(&picture->sites[i], recent, i);

        if (lets_through(&filter, t, t->leaf_of[i]))
            figures_join(&t->nodes[t->leaf_of[i]].figures, &f);
    }
    for (uint32_t i = t->n_nodes; i-- > 1;) /* .inv.parent */
        figures_join(&t->nodes[t->nodes[i].parent].figures,
                     &t->nodes[i].figures);
    free(filter.of_node);
}

/* The figure that a key sorts by. */
double
alqi_cli_top_figure(const struct alqi_cli_top_figures *f,
                    enum alqi_cli_top_sort sort)
{
    switch (sort) {
    case ALQI_CLI_TOP_BY_RATE:
        return f->recent.bytes;
    case ALQI_CLI_TOP_BY_ALLOCATED:
        return f->allocated.bytes;
    case ALQI_CLI_TOP_BY_PEAK:
        return f->peak.bytes;
    case ALQI_CLI_TOP_BY_COUNT:
        return f->live.objects;
    default:
        return f->live.bytes;
    }
}

/* ---- what is open -------------------------------------------------------- */

/* The user's choice comes first; in the view of calls, large parts are open
 * without one. */
bool
alqi_cli_top_is_open(const struct alqi_cli_top_tree *t, uint32_t node)
{
    const struct alqi_cli_top_node *n = &t->nodes[node];

    if (node == 0)
        return true;
    if (n->open != ALQI_CLI_TOP_AUTO)
        return n->open == ALQI_CLI_TOP_OPEN;
    return t->view == ALQI_CLI_TOP_CALLS &&
           n->figures.live.bytes > AUTO_SHARE * t->nodes[0].figures.live.bytes;
}

/* Linear in the number of children; 0 if none has a figure. */
uint32_t
alqi_cli_top_heaviest(const struct alqi_cli_top_tree *t, uint32_t node,
                      enum alqi_cli_top_sort sort)
{
    double most = 0;
    uint32_t best = 0;

    for (uint32_t c = t->nodes[node].first_child; c != 0;
         c = t->nodes[c].next) {
        double x = alqi_cli_top_figure(&t->nodes[c].figures, sort);

        if (x > most) {
            most = x;
            best = c;
        }
    }
    return best;
}

/* Closing leaves what is below as it was; opening goes on while one child has
 * nearly all. */
void
alqi_cli_top_toggle(struct alqi_cli_top_tree *t, uint32_t node,
                    enum alqi_cli_top_sort sort)
{
    if (alqi_cli_top_is_open(t, node)) {
        t->nodes[node].open = ALQI_CLI_TOP_CLOSED;
        return;
    }
    for (;;) {
        uint32_t c = alqi_cli_top_heaviest(t, node, sort);
        double all = alqi_cli_top_figure(&t->nodes[node].figures, sort);

        t->nodes[node].open = ALQI_CLI_TOP_OPEN;
        if (c == 0 ||
            alqi_cli_top_figure(&t->nodes[c].figures, sort) < CHAIN_SHARE * all)
            return;
        node = c;
    }
}

/* ---- rows ---------------------------------------------------------------- */

struct listing {
    const struct alqi_cli_top_tree *tree;
    enum alqi_cli_top_sort sort;
    /* the caller's, grown as needed */
    struct alqi_cli_top_row *rows;
    uint32_t n_rows, capacity;
};

/* The larger figure first; the node's number breaks a tie. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct listing *l = arg;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    double x = alqi_cli_top_figure(&l->tree->nodes[a].figures, l->sort);
    double y = alqi_cli_top_figure(&l->tree->nodes[b].figures, l->sort);

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Children that have any of what is sorted by, in order. */
static uint32_t *
children_sort(const struct listing *l, uint32_t node, uint32_t *n_out)
{
    const struct alqi_cli_top_node *nodes = l->tree->nodes;
    uint32_t n = 0, *order;

    for (uint32_t c = nodes[node].first_child; c != 0; c = nodes[c].next)
        n += alqi_cli_top_figure(&nodes[c].figures, l->sort) > 0;
    order = alqi_cli_realloc(NULL, n, sizeof *order);
    *n_out = n;
    n = 0;
    for (uint32_t c = nodes[node].first_child; c != 0; c = nodes[c].next)
        if (alqi_cli_top_figure(&nodes[c].figures, l->sort) > 0)
            order[n++] = c;
    qsort_r(order, n, sizeof *order, compare, (void *)l);
    return order;
}

/* Appends a row; the array grows by doubling. */
static void
row_add(struct listing *l, uint32_t node, uint32_t depth)
{
    if (l->n_rows == l->capacity) {
        l->capacity = l->capacity == 0 ? ROWS_FIRST : 2 * l->capacity;
        l->rows = alqi_cli_realloc(l->rows, l->capacity, sizeof *l->rows);
    }
    l->rows[l->n_rows++] = (struct alqi_cli_top_row){node, depth};
}

/* Lists the children of an open node, each with those below it. DEPTH_MOST
 * bounds the recursion. */
static void
rows_below(struct listing *l, uint32_t node, uint32_t depth)
{
    uint32_t n, *order;

    if (depth > DEPTH_MOST || !alqi_cli_top_is_open(l->tree, node))
        return;
    order = children_sort(l, node, &n);
    for (uint32_t i = 0; i < n; i++) {
        row_add(l, order[i], depth);
        rows_below(l, order[i], depth + 1);
    }
    free(order);
}

uint32_t
alqi_cli_top_rows(const struct alqi_cli_top_tree *tree,
                  enum alqi_cli_top_sort sort, struct alqi_cli_top_row **rows,
                  uint32_t *capacity)
{
    struct listing l = {tree, sort, *rows, 0, *capacity};

    rows_below(&l, 0, 0);
    *rows = l.rows;
    *capacity = l.capacity;
    return l.n_rows;
}
