/* graph_test.c -- classes of random graphs against their definitions
 *
 * Who leads to whom is asked of a table of all pairs, made by closing it step
 * by step, which shares nothing with the search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_seed.h"
#include "cli/leaks/graph.h"

enum { BLOCKS = 24, FROM = BLOCKS + 3, EDGES = 40, ROOTS = 6, ROUNDS = 20000 };

struct random_graph {
    struct alqi_cli_leak_graph graph;
    size_t first[BLOCKS + 1];
    uint32_t edges[EDGES];
    struct alqi_cli_leak_root roots[ROOTS];
    /* from block (or from BLOCKS, all strong roots; BLOCKS + 1, all; BLOCKS +
     * 2, strong ones that stay) to block: by begins alone; by any pointer */
    bool begins[FROM][BLOCKS], any[FROM][BLOCKS];
};

static uint32_t
edge_random(uint32_t n)
{
    return alqi_cli_leak_edge(alqi_base_test_below(n),
                              alqi_base_test_below(3) > 0
                                  ? ALQI_CLI_LEAK_BEGIN
                                  : ALQI_CLI_LEAK_INSIDE);
}

static void
edge_note(struct random_graph *r, uint32_t from, uint32_t edge)
{
    uint32_t to = alqi_cli_leak_edge_block(edge);

    r->any[from][to] = true;
    if (alqi_cli_leak_edge_into(edge) == ALQI_CLI_LEAK_BEGIN)
        r->begins[from][to] = true;
}

static void
close_table(bool table[FROM][BLOCKS])
{
    for (unsigned k = 0; k < BLOCKS; k++)
        for (unsigned i = 0; i < FROM; i++)
            for (unsigned j = 0; j < BLOCKS; j++)
                table[i][j] |= table[i][k] && table[k][j];
}

static void
make(struct random_graph *r)
{
    struct alqi_cli_leak_graph *g = &r->graph;
    uint32_t n_edges = 0;

    memset(r, 0, sizeof *r);
    g->n_blocks = 1 + alqi_base_test_below(BLOCKS);
    g->n_roots = alqi_base_test_below(ROOTS + 1);
    g->first = r->first;
    g->edges = r->edges;
    g->roots = r->roots;
    for (uint32_t i = 0; i < g->n_blocks; i++) {
        r->first[i] = n_edges;
        for (uint32_t k = alqi_base_test_below(4); k > 0 && n_edges < EDGES;
             k--) {
            r->edges[n_edges] = edge_random(g->n_blocks);
            edge_note(r, i, r->edges[n_edges++]);
        }
    }
    r->first[g->n_blocks] = n_edges;
    for (uint32_t i = 0; i < g->n_roots; i++) {
        r->roots[i] = (struct alqi_cli_leak_root){
            .edge = edge_random(g->n_blocks),
            .is_weak = alqi_base_test_below(4) == 0,
            .is_passing = alqi_base_test_below(2) == 0};
        if (!r->roots[i].is_weak)
            edge_note(r, BLOCKS, r->roots[i].edge);
        if (!r->roots[i].is_weak && !r->roots[i].is_passing)
            edge_note(r, BLOCKS + 2, r->roots[i].edge);
        edge_note(r, BLOCKS + 1, r->roots[i].edge);
    }
    close_table(r->begins);
    close_table(r->any);
}

static bool
has_edge(const struct random_graph *r, uint32_t from, uint32_t to)
{
    for (size_t e = r->first[from]; e < r->first[from + 1]; e++)
        if (alqi_cli_leak_edge_block(r->edges[e]) == to)
            return true;
    return false;
}

/* `by` leads back to a root, in as many steps as there are blocks at most. */
static void
check_way(const struct random_graph *r, uint32_t block)
{
    uint32_t at = block, n = 0, by;

    while ((by = r->graph.by[at]) < ALQI_CLI_LEAK_BY_ROOT) {
        assert_true(has_edge(r, by, at));
        assert_true(++n < BLOCKS);
        at = by;
    }
    assert_int_not_equal(by, ALQI_CLI_LEAK_BY_NONE);
    by &= ~ALQI_CLI_LEAK_BY_ROOT;
    assert_int_equal(alqi_cli_leak_edge_block(r->roots[by].edge), at);
    if (r->graph.classes[block] == ALQI_CLI_LEAK_HELD) /* .inv.stays */
        assert_int_equal(r->roots[by].is_passing,
                         !r->begins[BLOCKS + 2][block]);
}

/* No lost block leads to another; an indirect one's leader leads to it. */
static void
check_lost(const struct random_graph *r, uint32_t block)
{
    const struct alqi_cli_leak_graph *g = &r->graph;

    if (g->classes[block] == ALQI_CLI_LEAK_INDIRECT) {
        assert_int_equal(g->classes[g->by[block]], ALQI_CLI_LEAK_LOST);
        assert_true(r->any[g->by[block]][block]);
        return;
    }
    assert_int_equal(g->classes[block], ALQI_CLI_LEAK_LOST);
    for (uint32_t i = 0; i < g->n_blocks; i++)
        if (i != block && g->classes[i] == ALQI_CLI_LEAK_LOST)
            assert_false(r->any[i][block]);
}

static void
check(const struct random_graph *r)
{
    const struct alqi_cli_leak_graph *g = &r->graph;

    for (uint32_t i = 0; i < g->n_blocks; i++) {
        bool is_held = r->begins[BLOCKS][i], is_met = r->any[BLOCKS + 1][i];

        assert_int_equal(g->classes[i] == ALQI_CLI_LEAK_HELD, is_held);
        assert_int_equal(g->classes[i] == ALQI_CLI_LEAK_POSSIBLE,
                         is_met && !is_held);
        if (is_met)
            check_way(r, i);
        else
            check_lost(r, i);
    }
}

static void
test_random(void **unused)
{
    static struct random_graph r;

    (void)unused;
    alqi_base_test_begin(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        make(&r);
        assert_true(alqi_cli_leak_classify(&r.graph));
        check(&r);
        free(r.graph.classes);
        free(r.graph.by);
    }
}

/* A pointer behind the begin holds the whole where the caller says so. */
static bool
is_16_whole(void *arg, uint32_t block, enum alqi_cli_leak_into into)
{
    (void)arg;
    return block == 0 && into == ALQI_CLI_LEAK_AT_16;
}

static void
test_whole(void **unused)
{
    const size_t first[3] = {0, 0, 0};
    const struct alqi_cli_leak_root roots[2] = {
        {.edge = alqi_cli_leak_edge(0, ALQI_CLI_LEAK_AT_16)},
        {.edge = alqi_cli_leak_edge(1, ALQI_CLI_LEAK_AT_16)}};
    struct alqi_cli_leak_graph g = {.n_blocks = 2,
                                    .first = first,
                                    .roots = roots,
                                    .n_roots = 2,
                                    .is_whole = is_16_whole};

    (void)unused;
    assert_true(alqi_cli_leak_classify(&g));
    assert_int_equal(g.classes[0], ALQI_CLI_LEAK_HELD);
    assert_int_equal(g.classes[1], ALQI_CLI_LEAK_POSSIBLE);
    free(g.classes);
    free(g.by);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
