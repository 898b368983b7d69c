/* holders.c -- one pass over the graph's `by`: each block's step is below that
 * of the block which leads to it
 *
 *   block: UNKNOWN --all before it on its way are known--> its step
 *
 * .inv.once   A block's step is found once, so all ways together cost no more
 *             than there are blocks.
 * .inv.fold   No site is twice among a step and its parents. */
#include "cli/leaks/holders.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "view/sort.h"

#define UNKNOWN UINT32_MAX

enum { KEY_WORDS = 6 };

struct making {
    struct alqi_cli_leak_holders *h;
    struct alqi_cli_leak_found *found;
    const struct alqi_cli_leak_scan *scan;
    struct alqi_cli_leak_places *places;
    /* blocks that are not recorded are no steps: it is chance which are */
    bool is_sampled;
    uint32_t *steps; /* by block */
    uint32_t *runs;  /* by block: so many of its step come before it, and it */
    uint32_t *way; /* blocks whose steps are to be found, the last one first */
    struct alqi_cli_frame *sites; /* by node, once known */
    bool *knows_site;
    struct alqi_base_map roots;         /* address -> step */
    struct alqi_cli_leak_holder holder; /* the last one */
    uint32_t holder_step;
    struct alqi_base_intern rows; /* class, step or root, and site: .def.row */
};

/* ---- steps --------------------------------------------------------------- */

static uint32_t
step_at(struct making *m, uint32_t parent, const struct alqi_cli_frame *site,
        uint32_t root)
{
    struct alqi_cli_leak_holders *h = m->h;
    const uint32_t key[KEY_WORDS] = {
        parent,       site->function,       site->file,
        site->module, (uint32_t)site->line, root};
    uint32_t number = alqi_cli_intern(&h->keys, key);

    if (number == h->n_steps) {
        const struct alqi_cli_leak_step *p =
            parent == ALQI_CLI_LEAK_NO_STEP ? NULL : &h->steps[parent];
        const struct alqi_cli_leak_step step = {
            .parent = parent,
            .site = *site,
            .root = root,
            .first = p == NULL ? number : p->first,
            .depth = p == NULL ? 0 : p->depth + 1};

        h->steps = alqi_cli_grow(h->steps, number, sizeof *h->steps);
        h->steps[h->n_steps++] = step;
    }
    return number;
}

static bool
is_same(const struct alqi_cli_frame *a, const struct alqi_cli_frame *b)
{
    return a->function == b->function && a->module == b->module &&
           a->file == b->file && a->line == b->line;
}

/* .inv.fold */
static uint32_t
step_below(struct making *m, uint32_t parent, const struct alqi_cli_frame *site)
{
    const struct alqi_cli_leak_step *steps = m->h->steps;

    for (uint32_t i = parent; steps[i].depth > 0; i = steps[i].parent)
        if (is_same(&steps[i].site, site))
            return i;
    return step_at(m, parent, site, ALQI_CLI_NO_NAME);
}

/* NO_NAME: the step of what no root leads to. */
static uint32_t
root_step(struct making *m, uint32_t name)
{
    static const struct alqi_cli_frame none;

    return step_at(m, ALQI_CLI_LEAK_NO_STEP, &none, name);
}

/* The step of a root by its address, whose name is asked for once; and once for
 * many roots of a table that follow each other. */
static uint32_t
root_find(struct making *m, uint64_t at)
{
    struct alqi_cli_leak_holder *h = &m->holder;
    bool is_new;
    uint64_t *known;

    if (at - h->from < h->to - h->from)
        return m->holder_step;
    known = alqi_cli_map_at(&m->roots, at, &is_new);
    if (!is_new)
        return (uint32_t)*known;
    alqi_cli_leak_holder_at(m->places, at, h);
    m->holder_step =
        root_step(m, alqi_cli_names_intern(m->found->analysis.names, h->name));
    *known = m->holder_step;
    return m->holder_step;
}

static struct alqi_cli_frame
site_of(struct making *m, uint32_t node)
{
    if (!m->knows_site[node]) {
        m->sites[node] = alqi_cli_leak_site(m->found, node);
        m->knows_site[node] = true;
    }
    return m->sites[node];
}

/* The step of a block behind another step. */
static uint32_t
block_step(struct making *m, uint32_t block, uint32_t parent)
{
    uint32_t node = m->found->nodes[block];
    struct alqi_cli_frame site = {0};

    if (node == 0 && m->is_sampled)
        return parent;
    if (node > 0)
        site = site_of(m, node - 1);
    return step_below(m, parent, &site);
}

/* The step that a block's way has before it; `by`: who leads to the block. */
static uint32_t
before(struct making *m, uint32_t by)
{
    if (by == ALQI_CLI_LEAK_BY_NONE)
        return root_step(m, ALQI_CLI_NO_NAME);
    if (by >= ALQI_CLI_LEAK_BY_ROOT)
        return root_find(m, m->scan->roots[by & ~ALQI_CLI_LEAK_BY_ROOT].at);
    return m->steps[by];
}

/* .inv.once */
static void
way_find(struct making *m, uint32_t block)
{
    const uint32_t *by = m->scan->graph.by;
    uint32_t n = 0;

    for (uint32_t at = block;
         at < ALQI_CLI_LEAK_BY_ROOT && m->steps[at] == UNKNOWN; at = by[at])
        m->way[n++] = at;
    while (n > 0) {
        uint32_t at = m->way[--n], parent = before(m, by[at]);
        struct alqi_cli_leak_step *step;

        m->steps[at] = block_step(m, at, parent);
        m->runs[at] = 1;
        if (m->steps[at] == parent && by[at] < ALQI_CLI_LEAK_BY_ROOT)
            m->runs[at] += m->runs[by[at]];
        step = &m->h->steps[m->steps[at]];
        if (step->depth > 0 && m->runs[at] > step->most)
            step->most = m->runs[at];
    }
}

/* ---- rows ---------------------------------------------------------------- */

/* .def.row */
static uint32_t
row_number(struct making *m, enum alqi_cli_leak_class class, uint32_t step)
{
    const struct alqi_cli_leak_step *s = &m->h->steps[step];
    const uint32_t key[KEY_WORDS] = {class,
                                     m->is_sampled ? s->first : step,
                                     s->site.function,
                                     s->site.file,
                                     s->site.module,
                                     (uint32_t)s->site.line};

    return alqi_cli_intern(&m->rows, key);
}

static void
row_add(void *arg, uint32_t block, const struct alqi_cli_life *life)
{
    struct making *m = arg;
    struct alqi_cli_leak_holders *h = m->h;
    enum alqi_cli_leak_class class = m->scan->graph.classes[block];
    uint32_t step, number;
    struct alqi_cli_leak_holding *row;

    way_find(m, block);
    step = m->steps[block];
    number = row_number(m, class, step);
    if (number == h->n_rows) {
        h->rows = alqi_cli_grow(h->rows, number, sizeof *h->rows);
        h->rows[h->n_rows++] =
            (struct alqi_cli_leak_holding){.class = class, .step = step};
    }
    row = &h->rows[number];
    if (h->steps[step].depth > h->steps[row->step].depth)
        row->step = step;
    alqi_cli_leak_found_add(m->found, &row->sum, life);
    h->rows_of[block] = number + 1;
}

static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_leak_holders *h = arg;
    const struct alqi_cli_leak_holding *a = &h->rows[*(const uint32_t *)left];
    const struct alqi_cli_leak_holding *b = &h->rows[*(const uint32_t *)right];

    if (a->sum.bytes != b->sum.bytes)
        return a->sum.bytes > b->sum.bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void
rows_sort(struct alqi_cli_leak_holders *h, uint32_t n_blocks)
{
    uint32_t *order = alqi_cli_zeros(h->n_rows + 1, sizeof *order);
    uint32_t *places = alqi_cli_zeros(h->n_rows + 1, sizeof *places);
    struct alqi_cli_leak_holding *rows =
        alqi_cli_zeros(h->n_rows + 1, sizeof *rows);

    for (uint32_t i = 0; i < h->n_rows; i++)
        order[i] = i;
    alqi_view_sort(order, h->n_rows, sizeof *order, compare, h);
    for (uint32_t i = 0; i < h->n_rows; i++) {
        rows[i] = h->rows[order[i]];
        places[order[i]] = i;
    }
    for (uint32_t i = 0; i < n_blocks; i++)
        if (h->rows_of[i] > 0)
            h->rows_of[i] = places[h->rows_of[i] - 1] + 1;
    free(h->rows);
    h->rows = rows;
    free(order);
    free(places);
}

/* ---- all of it ----------------------------------------------------------- */

void
alqi_cli_leak_holders_make(struct alqi_cli_leak_holders *h,
                           struct alqi_cli_leak_found *found,
                           const struct alqi_cli_leak_scan *scan,
                           struct alqi_cli_leak_places *places)
{
    size_t n = scan->table.n + 1, n_nodes = found->analysis.stacks.n_nodes + 1;
    struct making m = {
        .h = h,
        .found = found,
        .scan = scan,
        .places = places,
        .is_sampled = alqi_cli_is_sampled(&found->analysis.estimator),
        .steps = alqi_cli_zeros(n, sizeof *m.steps),
        .runs = alqi_cli_zeros(n, sizeof *m.runs),
        .way = alqi_cli_zeros(n, sizeof *m.way),
        .sites = alqi_cli_zeros(n_nodes, sizeof *m.sites),
        .knows_site = alqi_cli_zeros(n_nodes, sizeof *m.knows_site),
        .rows = {.n_words = KEY_WORDS}};

    *h = (struct alqi_cli_leak_holders){.keys = {.n_words = KEY_WORDS}};
    h->rows_of = alqi_cli_zeros(n, sizeof *h->rows_of);
    memset(m.steps, 0xff, n * sizeof *m.steps);
    alqi_cli_leak_found_each(found, row_add, &m);
    rows_sort(h, (uint32_t)scan->table.n);
    alqi_base_map_clear(&m.roots);
    alqi_base_intern_clear(&m.rows);
    free(m.steps);
    free(m.runs);
    free(m.way);
    free(m.sites);
    free(m.knows_site);
}

void
alqi_cli_leak_holders_free(struct alqi_cli_leak_holders *h)
{
    alqi_base_intern_clear(&h->keys);
    free(h->steps);
    free(h->rows);
    free(h->rows_of);
}
