/* top_tree_test.c -- the tree of `top` has what its picture has, open or not */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/live/top_tree.h"

enum { EVENTS = 4000, ALIVE = EVENTS, FUNCTIONS = 6, DEPTH = 7 };

static uint64_t rng_state = 1;

static uint64_t
rng(void)
{
    return alqi_base_mix(rng_state++);
}

/* ---- a trace in memory, read in two halves ------------------------------- */

struct trace {
    uint8_t bytes[1 << 20];
    size_t n, at;
    struct alqi_ctf_writer *writer;
    uint64_t alive[ALIVE];
    size_t n_alive;
    uint64_t now_us;
    struct alqi_ctf_reader *reader;
    struct alqi_cli_analysis analysis;
};

static bool
packet_put(void *arg, const void *bytes, size_t n)
{
    struct trace *t = arg;

    assert_true(t->n + n <= sizeof t->bytes);
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return true;
}

static ptrdiff_t
bytes_read(void *arg, void *bytes, size_t n)
{
    struct trace *t = arg;

    n = n < t->n - t->at ? n : t->n - t->at;
    memcpy(bytes, t->bytes + t->at, n);
    t->at += n;
    return (ptrdiff_t)n;
}

/* Two functions have one file, and each two lines. */
static void
lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static struct alqi_ctf_entry entry;
    static char function[16], file[16];

    (void)arg;
    snprintf(function, sizeof function, "Fun%u", (unsigned)(code / 10));
    snprintf(file, sizeof file, "file%u.c", (unsigned)(code / 20));
    entry = (struct alqi_ctf_entry){
        .file = file, .function = function, .line = (int32_t)(code % 10)};
    *out = (struct alqi_ctf_location){code, 1, &entry};
}

static void
event_put(struct trace *t)
{
    uint64_t codes[DEPTH];
    uint32_t n = 1 + (uint32_t)(rng() % DEPTH);
    size_t k;

    t->now_us += rng() % 100;
    if (t->n_alive > 0 && rng() % 5 < 2) {
        k = rng() % t->n_alive;
        assert_int_equal(
            alqi_ctf_write_collect(t->writer, t->now_us, t->alive[k]), ALQ_OK);
        t->alive[k] = t->alive[--t->n_alive];
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        codes[i] = 10 * (1 + rng() % FUNCTIONS) + 1 + rng() % 2;
    assert_int_equal(alqi_ctf_write_alloc(t->writer, t->now_us, 1 + rng() % 300,
                                          1, ALQI_CTF_MINOR, codes, n,
                                          &t->alive[t->n_alive++]),
                     ALQ_OK);
}

static void
trace_grow(struct trace *t)
{
    struct alqi_ctf_event event;

    for (int i = 0; i < EVENTS / 2; i++)
        event_put(t);
    assert_int_equal(alqi_ctf_writer_flush(t->writer), ALQ_OK);
    while (alqi_ctf_reader_next(t->reader, &event) > 0)
        alqi_cli_analysis_take(&t->analysis, &event);
}

static void
trace_open(struct trace *t)
{
    static const struct alqi_cli_analysis_options options;
    const struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 64,
        .rate = 0.01,
        .pid = 1,
        .executable = "program",
        .host = "",
        .params = "",
        .context = "",
    };

    memset(t, 0, sizeof *t);
    assert_int_equal(
        alqi_ctf_writer_open(&info, packet_put, t, lookup, NULL, &t->writer),
        ALQ_OK);
    assert_int_equal(alqi_ctf_writer_flush(t->writer), ALQ_OK);
    assert_int_equal(
        alqi_ctf_reader_open(bytes_read, t, NULL, NULL, &t->reader), ALQ_OK);
    alqi_cli_analysis_begin(&t->analysis, t->reader, &options);
}

static void
trace_close(struct trace *t)
{
    (void)alqi_ctf_writer_close(t->writer);
    alqi_cli_analysis_free(&t->analysis);
    alqi_ctf_reader_drop(t->reader);
}

/* ---- what must hold ------------------------------------------------------ */

static bool
is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static void
assert_near(const struct alqi_cli_top_figures *f, const double *wanted)
{
    assert_true(is_near(f->live.bytes, wanted[0]));
    assert_true(is_near(f->live.bytes_var, wanted[1]));
    assert_true(is_near(f->live.objects, wanted[2]));
    assert_true(is_near(f->peak.bytes, wanted[3]));
    assert_true(is_near(f->allocated.bytes, wanted[4]));
    assert_true(is_near(f->recent.bytes, wanted[5]));
}

/* Sums over the sites that have the text somewhere in their stacks, as far as
 * the frame that names them; NULL: all. */
static void
sum_wanted(struct alqi_cli_analysis *picture, const struct alqi_cli_sum *recent,
           const char *text, double *wanted)
{
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;

    memset(wanted, 0, 6 * sizeof *wanted);
    for (uint32_t i = 0; i < picture->n_sites; i++) {
        const struct alqi_cli_site *s = &picture->sites[i];
        uint32_t n =
            alqi_cli_stack_frames(picture, s->node, &frames, &capacity);
        bool has_it = text == NULL;

        for (uint32_t k = 0; !has_it && k < n; k++)
            has_it =
                strcmp(alqi_cli_names_text(picture->names, frames[k].function),
                       text) == 0;
        if (!has_it)
            continue;
        wanted[0] += s->sums[ALQI_CLI_LIVE].bytes;
        wanted[1] += s->sums[ALQI_CLI_LIVE].bytes_var;
        wanted[2] += s->sums[ALQI_CLI_LIVE].objects;
        wanted[3] += s->sums[ALQI_CLI_PEAK].bytes;
        wanted[4] += s->sums[ALQI_CLI_ALLOCATED].bytes;
        wanted[5] += recent[i].bytes;
    }
    free(frames);
}

/* A node has what its children have, and its own. */
static void
assert_sums(const struct alqi_cli_top_tree *t)
{
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        double live = 0;

        for (uint32_t c = t->nodes[i].first_child; c != 0;
             c = t->nodes[c].next) {
            assert_true(t->nodes[c].parent == i && c > i);
            live += t->nodes[c].figures.live.bytes;
        }
        assert_true(live <= t->nodes[i].figures.live.bytes * (1 + 1e-9));
    }
}

static void
take_and_judge(struct trace *trace, struct alqi_cli_top_tree *tree)
{
    static struct alqi_cli_sum recent[EVENTS];
    struct alqi_cli_top_recent r = {recent, 0};
    struct alqi_cli_analysis picture;
    double wanted[6];

    alqi_cli_analysis_picture(&trace->analysis, &picture);
    r.n = picture.n_sites;
    assert_true(r.n <= EVENTS);
    for (uint32_t i = 0; i < r.n; i++)
        recent[i].bytes = (double)(rng() % 1000);
    alqi_cli_top_tree_take(tree, &picture, &r, NULL);
    sum_wanted(&picture, recent, NULL, wanted);
    assert_near(&tree->nodes[0].figures, wanted);
    assert_sums(tree);
    for (unsigned i = 1; i <= FUNCTIONS; i++) {
        char text[8];

        snprintf(text, sizeof text, "Fun%u", i);
        sum_wanted(&picture, recent, text, wanted);
        snprintf(text, sizeof text, "fUN%u", i);
        alqi_cli_top_tree_take(tree, &picture, &r, text);
        assert_near(&tree->nodes[0].figures, wanted);
        assert_sums(tree);
    }
    alqi_cli_top_tree_take(tree, &picture, &r, "nothing has this");
    assert_true(tree->nodes[0].figures.allocated.n_blocks == 0);
    alqi_cli_top_tree_take(tree, &picture, &r, "");
    alqi_cli_analysis_picture_free(&picture);
}

static void
trees_have_what_the_picture_has(void **state)
{
    static struct trace trace;
    struct alqi_cli_top_tree tree;

    (void)state;
    for (int view = 0; view < ALQI_CLI_TOP_VIEWS; view++)
        for (int g = ALQI_CLI_BY_FUNCTION; g <= ALQI_CLI_BY_MODULE; g++) {
            uint32_t n_nodes;

            trace_open(&trace);
            alqi_cli_top_tree_init(&tree, (enum alqi_cli_top_view)view,
                                   (enum alqi_cli_grouping)g);
            trace_grow(&trace);
            take_and_judge(&trace, &tree);
            n_nodes = tree.n_nodes;
            take_and_judge(&trace, &tree);
            assert_true(tree.n_nodes == n_nodes); /* nothing new was there */
            trace_grow(&trace);
            take_and_judge(&trace, &tree);
            assert_true(tree.n_nodes > n_nodes);
            alqi_cli_top_tree_free(&tree);
            trace_close(&trace);
        }
}

/* ---- rows ---------------------------------------------------------------- */

static void
assert_sorted(const struct alqi_cli_top_tree *t,
              const struct alqi_cli_top_row *rows, uint32_t n,
              enum alqi_cli_top_sort sort)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k-- > 0 && rows[k].depth >= rows[i].depth;)
            if (rows[k].depth == rows[i].depth) {
                assert_true(
                    alqi_cli_top_figure(&t->nodes[rows[k].node].figures,
                                        sort) >=
                    alqi_cli_top_figure(&t->nodes[rows[i].node].figures, sort));
                break;
            }
}

static void
rows_open_and_close(void **state)
{
    static struct trace trace;
    struct alqi_cli_top_tree tree;
    struct alqi_cli_top_row *rows = NULL;
    uint32_t capacity = 0, n_closed, n_open, node;

    (void)state;
    trace_open(&trace);
    alqi_cli_top_tree_init(&tree, ALQI_CLI_TOP_SITES, ALQI_CLI_BY_FUNCTION);
    trace_grow(&trace);
    take_and_judge(&trace, &tree);
    n_closed = alqi_cli_top_rows(&tree, ALQI_CLI_TOP_BY_LIVE, &rows, &capacity);
    assert_int_equal(n_closed, FUNCTIONS);
    node = rows[2].node;
    alqi_cli_top_toggle(&tree, node, ALQI_CLI_TOP_BY_LIVE);
    trace_grow(&trace);
    take_and_judge(&trace, &tree);
    for (int sort = 0; sort < ALQI_CLI_TOP_SORTS; sort++) {
        n_open = alqi_cli_top_rows(&tree, (enum alqi_cli_top_sort)sort, &rows,
                                   &capacity);
        assert_true(n_open > n_closed);
        assert_sorted(&tree, rows, n_open, (enum alqi_cli_top_sort)sort);
        for (uint32_t i = 0; i < n_open; i++)
            if (rows[i].depth > 0)
                assert_true(tree.nodes[rows[i].node].parent == node);
    }
    alqi_cli_top_toggle(&tree, node, ALQI_CLI_TOP_BY_LIVE);
    assert_int_equal(
        alqi_cli_top_rows(&tree, ALQI_CLI_TOP_BY_LIVE, &rows, &capacity),
        n_closed);
    free(rows);
    alqi_cli_top_tree_free(&tree);
    trace_close(&trace);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_have_what_the_picture_has),
        cmocka_unit_test(rows_open_and_close),
    };

    rng_state += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
