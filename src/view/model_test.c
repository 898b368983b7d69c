/* model_test.c -- all answers beside those of a model, at random
 *
 * Sums may differ in the last digit, as they are added in another order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "view/answer.h"
#include "kits/view/model.h"

enum { QUERY_BYTES = 4096, FOLD_PATHS = 64 };

static struct model model, other;
static struct alqi_view_set *set;
static void *bytes[2];
static struct alqi_view_json json;
static char text[QUERY_BYTES];
static struct model_filter everything = {.heap = 7};

static void
set_open(bool has_other)
{
    size_t n;

    set = alqi_view_set_new();
    bytes[0] = model_index(&model, &n);
    assert_null(alqi_view_set_add(set, bytes[0], n));
    if (!has_other)
        return;
    bytes[1] = model_index(&other, &n);
    assert_null(alqi_view_set_add(set, bytes[1], n));
}

static void
set_close(void)
{
    alqi_view_set_drop(set);
    free(bytes[0]);
    free(bytes[1]);
    bytes[1] = NULL;
}

/* The answer; filter may be NULL, more is "" or "key=value". */
static json_t *
ask(const char *path, const struct model_filter *filter, const char *more)
{
    json_error_t error;
    json_t *answer;
    int status;

    model_filter_text(filter != NULL ? filter : &everything, "", text,
                      sizeof text);
    if (more[0] != '\0')
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                 text[0] != '\0' ? "&" : "", more);
    status = alqi_view_answer(set, path, text, &json);
    if (status != 200)
        print_error("%s?%s: %d %.*s\n", path, text, status, (int)json.n,
                    json.text);
    assert_int_equal(status, 200);
    assert_true(json.n <= ALQI_VIEW_ANSWER_MAX);
    answer = json_loadb(json.text, json.n, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(answer);
    return answer;
}

static void
near(double got, double wanted, const char *what)
{
    if (fabs(got - wanted) > 1 + 1e-9 * fabs(wanted))
        print_error("%s, %s: %f is not %f\n", text, what, got, wanted);
    assert_true(fabs(got - wanted) <= 1 + 1e-9 * fabs(wanted));
}

static double
number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void
sum_is(const json_t *sum, const struct model_sum *s, const char *what)
{
    assert_true(json_is_object(sum));
    near(number(sum, "n"), (double)s->n, what);
    assert_true(number(sum, "n") == (double)s->n);
    assert_true(number(sum, "samples") == (double)s->samples);
    near(number(sum, "bytes"), s->bytes, what);
    near(number(sum, "bytes_se"), sqrt(s->bytes_var), what);
    near(number(sum, "blocks"), s->blocks, what);
    near(number(sum, "blocks_se"), sqrt(s->blocks_var), what);
}

static uint32_t
function_at(const json_t *answer, int64_t position)
{
    const json_t *f =
        json_array_get(json_object_get(answer, "functions"), (size_t)position);
    uint32_t id = (uint32_t)number(f, "id");

    assert_true(id < MODEL_FUNCTIONS);
    assert_string_equal(json_string_value(json_object_get(f, "name")),
                        model_names[id]);
    return id;
}

static void
sum_join(struct model_sum *to, const struct model_sum *from)
{
    to->bytes += from->bytes;
    to->bytes_var += from->bytes_var;
    to->blocks += from->blocks;
    to->blocks_var += from->blocks_var;
    to->n += from->n;
    to->samples += from->samples;
}

/* ---- one answer each ----------------------------------------------------- */

static void
timeline_is_right(const struct model_filter *f)
{
    struct model_sum total = model_total(&model, f);
    json_t *answer = ask("timeline", f, "n=37");
    json_t *part = json_object_get(answer, "part");
    json_t *all = json_object_get(answer, "all");
    uint64_t step_us = (uint64_t)number(answer, "step_us");
    uint32_t n = (uint32_t)json_array_size(part);
    double levels[64] = {0};

    assert_true(n >= 1 && n <= 37 && json_array_size(all) == n);
    assert_true(step_us * n > model.end_us);
    sum_is(json_object_get(answer, "total"), &total, "timeline");
    model_levels(&model, f, step_us, n, levels);
    for (uint32_t i = 0; i < n; i++)
        near(json_number_value(json_array_get(part, i)), levels[i], "part");
    memset(levels, 0, sizeof levels);
    model_levels(&model, &everything, step_us, n, levels);
    for (uint32_t i = 0; i < n; i++)
        near(json_number_value(json_array_get(all, i)), levels[i], "all");
    json_decref(answer);
}

/* The parts of a line, a key for each stack, add up to it before anything is
 * rounded: so a process that ended has taken what it had of each. */
static void
parts_add_up(const struct model_filter *f, enum alqi_view_draw draw)
{
    struct alqi_view_trace *t = &set->traces[0];
    struct alqi_view_keys keys = {.column = ALQI_VIEW_STACK,
                                  .n_numbers = t->index.n_stacks,
                                  .n = t->index.n_stacks};
    struct alqi_view_parts parts = {.keys = &keys};
    struct alqi_view_levels levels = {
        .n = 37, .step_us = t->index.meta->end_us / 37 + 1};
    struct alqi_view_query query = {0};
    struct alqi_view_filter filter;
    char words[2000];

    model_filter_text(f, "", words, sizeof words);
    assert_true(alqi_view_query_parse(&query, words));
    assert_true(alqi_view_filter_take(&filter, &query, "", 1));
    keys.of = calloc(keys.n_numbers + 1, sizeof *keys.of);
    parts.values = calloc((size_t)keys.n * levels.n, sizeof *parts.values);
    assert_true(keys.of != NULL && parts.values != NULL);
    for (uint32_t i = 0; i < keys.n_numbers; i++)
        keys.of[i] = i;
    assert_true(alqi_view_levels_make(
        &levels, &t->index, alqi_view_scan_of(t, &filter), draw, &parts));
    for (uint32_t i = 0; i < levels.n; i++) {
        double sum = 0;

        for (uint32_t k = 0; k < keys.n; k++)
            sum += parts.values[(size_t)i * keys.n + k];
        near(sum, levels.values[i], "parts");
    }
    free(levels.values);
    free(parts.values);
    free(keys.of);
    alqi_view_query_free(&query);
}

static void
sites_are_right(const struct model_filter *f, bool by_line)
{
    struct model_sum sites[MODEL_FUNCTIONS][3][2] = {{{{0}}}};
    struct model_sum total = model_total(&model, f);
    json_t *answer = ask("sites", f, by_line ? "group=line" : "");
    json_t *rows = json_object_get(answer, "rows"), *row;
    double last = HUGE_VAL, n = 0;
    size_t i;

    for (uint32_t k = 0; k < model.n_blocks; k++) {
        const struct model_block *b = &model.blocks[k];
        struct model_frame site = model_site(&model, f, b->stack);

        if (model_passes(&model, f, b))
            model_add(&sites[site.function][by_line ? site.line : 0]
                            [model.stacks[b->stack].is_mapping],
                      b, &model, f);
    }
    json_array_foreach(rows, i, row)
    {
        uint32_t id = function_at(answer, (int64_t)number(row, "function"));
        struct model_sum *s =
            &sites[id][(int)number(row, "line")]
                  [json_is_true(json_object_get(row, "is_mapping"))];

        sum_is(json_object_get(row, "sum"), s, "site");
        near(number(row, "life_us"), s->life / s->blocks, "life");
        assert_true(number(json_object_get(row, "sum"), "bytes") <= last);
        last = number(json_object_get(row, "sum"), "bytes");
        n += (double)s->n;
    }
    sum_is(json_object_get(answer, "total"), &total, "sites");
    assert_true(n == (double)total.n);
    json_decref(answer);
}

/* The member `reach` of an answer, or of a row: what has nothing is not
 * there. */
static void
reach_sums_are(const json_t *of, const struct model_sum *sums, bool is_row)
{
    const json_t *reach = json_object_get(of, "reach");
    size_t n = 0;

    for (int c = 0; c < ALQI_VIEW_REACHES; c++)
        if (!is_row || sums[c].blocks > 0) {
            sum_is(json_object_get(
                       reach, alqi_view_reach_name((enum alqi_view_reach)c)),
                   &sums[c], "class");
            n++;
        }
    assert_int_equal(json_object_size(reach), n);
}

static double
reach_bytes(const json_t *of, const char *name)
{
    const json_t *sum = json_object_get(json_object_get(of, "reach"), name);

    return sum != NULL ? number(sum, "bytes") : 0;
}

/* Sites by class: what passes, was never freed and is of that class. */
static void
reach_is_right(const struct model_filter *f)
{
    struct model_sum sites[MODEL_FUNCTIONS][2][ALQI_VIEW_REACHES] = {{{{0}}}};
    struct model_sum total[ALQI_VIEW_REACHES] = {{0}}, all = {0};
    json_t *answer = ask("reach", f, "sort=held"), *row;
    double last = HUGE_VAL, n = 0;
    size_t i;

    for (int c = 0; c < ALQI_VIEW_REACHES; c++) {
        struct model_filter of = *f;

        of.reach = (f->reach != 0 ? f->reach : UINT32_MAX) & 1u << c;
        for (uint32_t k = 0; of.reach != 0 && k < model.n_blocks; k++) {
            const struct model_block *b = &model.blocks[k];

            if (!model_passes(&model, &of, b))
                continue;
            model_add(&sites[model_site(&model, f, b->stack).function]
                            [model.stacks[b->stack].is_mapping][c],
                      b, &model, f);
            model_add(&total[c], b, &model, f);
            model_add(&all, b, &model, f);
        }
    }
    reach_sums_are(answer, total, false);
    sum_is(json_object_get(answer, "total"), &all, "reach");
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        uint32_t id = function_at(answer, (int64_t)number(row, "function"));
        double held;

        reach_sums_are(
            row, sites[id][json_is_true(json_object_get(row, "is_mapping"))],
            true);
        held = reach_bytes(row, "held");
        assert_true(held <= last);
        last = held;
        n += number(json_object_get(row, "sum"), "n");
    }
    assert_true(n == (double)all.n);
    json_decref(answer);
}

static bool
has_fragment(const struct model_frame *fold, uint32_t n_fold,
             const uint32_t *fragment, uint32_t n, uint32_t *at)
{
    for (*at = 0; *at + n <= n_fold; (*at)++) {
        uint32_t k = 0;

        while (k < n && fold[*at + k].function == fragment[k])
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* What stacks have that go on with this way from the fragment. */
static void
way_sum(const struct model_filter *f, const uint32_t *fragment, uint32_t n,
        const uint32_t *way, uint32_t n_way, bool is_up, struct model_sum *all,
        struct model_sum *self)
{
    for (uint32_t i = 0; i < model.n_blocks; i++) {
        const struct model_block *b = &model.blocks[i];
        struct model_frame fold[MODEL_DEPTH];
        uint32_t n_fold = model_fold(&model, f, b->stack, fold), at;
        uint32_t left, k = 0;

        if (!model_passes(&model, f, b))
            continue;
        if (!has_fragment(fold, n_fold, fragment, n, &at))
            continue;
        if (is_up && n == 0)
            at = n_fold;
        left = is_up ? at : n_fold - at - n;
        while (k < n_way && k < left &&
               fold[is_up ? at - 1 - k : at + n + k].function == way[k])
            k++;
        if (k < n_way)
            continue;
        model_add(all, b, &model, f);
        if (left == n_way)
            model_add(self, b, &model, f);
    }
}

static void
tree_is_right(const struct model_filter *f, const uint32_t *fragment,
              uint32_t n, bool is_up)
{
    char more[128];
    json_t *answer, *nodes, *node;
    uint32_t ways[4096][MODEL_DEPTH] = {{0}}, lengths[4096] = {0};
    struct model_sum children[4096];
    size_t i, used = 0;

    memset(children, 0, sizeof children);
    used += (size_t)snprintf(more, sizeof more, "min=0&dir=%s",
                             is_up ? "up" : "down");
    for (uint32_t k = 0; k < n; k++)
        used += (size_t)snprintf(more + used, sizeof more - used, "%s%u",
                                 k == 0 ? "&focus=" : ",", fragment[k]);
    answer = ask("tree", f, more);
    nodes = json_object_get(answer, "nodes");
    assert_true(json_array_size(nodes) < 4096);
    json_array_foreach(nodes, i, node)
    {
        uint32_t parent = (uint32_t)json_integer_value(json_array_get(node, 1));
        struct model_sum all = {0}, self = {0};

        assert_true(i == 0 ? parent == 0 : parent < i);
        if (i > 0) {
            memcpy(ways[i], ways[parent], sizeof ways[i]);
            lengths[i] = lengths[parent] + 1;
            ways[i][lengths[i] - 1] = function_at(
                answer, json_integer_value(json_array_get(node, 0)));
        }
        way_sum(f, fragment, n, ways[i], lengths[i], is_up, &all, &self);
        near(json_number_value(json_array_get(node, 2)), self.bytes, "self");
        near(json_number_value(json_array_get(node, 3)), all.bytes, "all");
        near(json_number_value(json_array_get(node, 4)), sqrt(all.bytes_var),
             "error");
        assert_int_equal(json_integer_value(json_array_get(node, 5)), all.n);
        if (i == 0)
            sum_is(json_object_get(answer, "focus"), &all, "focus");
        else
            sum_join(&children[parent], &all);
        sum_join(&children[i], &self);
    }
    /* Children and self are the whole: nothing is missing. */
    json_array_foreach(nodes, i, node) assert_int_equal(
        json_integer_value(json_array_get(node, 5)), children[i].n);
    json_decref(answer);
}

static void
functions_are_right(const struct model_filter *f)
{
    struct model_sum self[MODEL_FUNCTIONS] = {{0}},
                     all[MODEL_FUNCTIONS] = {{0}};
    json_t *answer = ask("functions", f, ""), *row;
    uint32_t n = 0;
    size_t i;

    for (uint32_t k = 0; k < model.n_blocks; k++) {
        const struct model_block *b = &model.blocks[k];
        struct model_frame fold[MODEL_DEPTH];
        uint32_t n_fold = model_fold(&model, f, b->stack, fold);

        if (!model_passes(&model, f, b))
            continue;
        model_add(&self[model_site(&model, f, b->stack).function], b, &model,
                  f);
        for (uint32_t d = 0; d < n_fold; d++)
            model_add(&all[fold[d].function], b, &model, f);
    }
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        uint32_t id = (uint32_t)number(row, "id");

        assert_int_equal(id,
                         function_at(answer, (int64_t)number(row, "function")));
        sum_is(json_object_get(row, "self"), &self[id], "self");
        sum_is(json_object_get(row, "all"), &all[id], "all");
        n++;
    }
    for (uint32_t k = 0; k < MODEL_FUNCTIONS; k++)
        n -= all[k].blocks > 0;
    assert_int_equal(n, 0);
    json_decref(answer);
}

static void
side_is(const json_t *list, const struct model_sum *sums, const char *what)
{
    uint32_t n = 0;
    json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
    {
        sum_is(json_object_get(row, "sum"), &sums[(int)number(row, "id")],
               what);
        n++;
    }
    for (uint32_t k = 0; k < MODEL_FUNCTIONS; k++)
        n -= sums[k].blocks > 0;
    assert_int_equal(n, 0);
}

static void
function_is_right(const struct model_filter *f, uint32_t id)
{
    struct model_sum callers[MODEL_FUNCTIONS] = {{0}};
    struct model_sum callees[MODEL_FUNCTIONS] = {{0}};
    struct model_sum all = {0}, lines[3] = {{0}};
    char more[32];
    json_t *answer, *row;
    size_t i;

    for (uint32_t k = 0; k < model.n_blocks; k++) {
        const struct model_block *b = &model.blocks[k];
        struct model_frame fold[MODEL_DEPTH];
        uint32_t n = model_fold(&model, f, b->stack, fold);

        for (uint32_t d = 0; d < n && model_passes(&model, f, b); d++) {
            if (fold[d].function != id)
                continue;
            model_add(&all, b, &model, f);
            model_add(&lines[fold[d].line], b, &model, f);
            if (d > 0)
                model_add(&callers[fold[d - 1].function], b, &model, f);
            if (d + 1 < n)
                model_add(&callees[fold[d + 1].function], b, &model, f);
        }
    }
    snprintf(more, sizeof more, "id=%u", id);
    answer = ask("function", f, more);
    sum_is(json_object_get(answer, "all"), &all, "all");
    side_is(json_object_get(answer, "callers"), callers, "callers");
    side_is(json_object_get(answer, "callees"), callees, "callees");
    json_array_foreach(json_object_get(answer, "lines"), i, row) sum_is(
        json_object_get(row, "sum"), &lines[(int)number(row, "line")], "line");
    json_decref(answer);
}

static uint64_t
key_of(const struct model_filter *f, const struct model_block *b, int order)
{
    uint64_t born = b->born, life = b->life;

    if (b->source == 0 && b->promoted != UINT64_MAX && (f->heap & 3) != 3) {
        if ((f->heap & 1) == 0)
            born = b->promoted;
        life = ((f->heap & 2) == 0 ? b->promoted
                : b->stays         ? model.end_us
                                   : b->end) -
               born;
    }
    return order == 0 ? born : order == 1 ? ~b->size : ~life;
}

static int
compare_keys(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* The stack of the model with the frames of a row. */
static uint32_t
stack_of_row(const json_t *answer, const json_t *row)
{
    const json_t *frames = json_object_get(row, "stack");
    size_t n = json_array_size(frames);

    for (uint32_t i = 0; i < MODEL_STACKS; i++) {
        size_t k = 0;

        while (k < n && n == model.stacks[i].n) {
            const struct model_frame *frame = &model.stacks[i].frames[k];
            const json_t *got = json_array_get(frames, k);

            if (function_at(answer, json_integer_value(json_array_get(
                                        got, 0))) != frame->function ||
                json_integer_value(json_array_get(got, 1)) != frame->line)
                break;
            k++;
        }
        if (k == n && n == model.stacks[i].n)
            return i;
    }
    fail_msg("no such stack");
    return 0;
}

/* A row has the site of its stack, and its node chooses the blocks of that
 * stack and no others. */
static void
stack_is_right(const struct model_filter *f, const json_t *answer,
               const json_t *row)
{
    uint32_t stack = stack_of_row(answer, row);
    struct model_frame site = model_site(&model, f, stack);
    const json_t *got = json_object_get(row, "site");
    struct model_sum same = {0};
    json_t *only;
    char more[32];

    assert_int_equal(
        function_at(answer, json_integer_value(json_array_get(got, 0))),
        site.function);
    assert_int_equal(json_integer_value(json_array_get(got, 1)), site.line);
    for (uint32_t k = 0; k < model.n_blocks; k++) {
        const struct model_block *b = &model.blocks[k];

        if (model_passes(&model, f, b) &&
            model.stacks[b->stack].n == model.stacks[stack].n &&
            memcmp(model.stacks[b->stack].frames, model.stacks[stack].frames,
                   model.stacks[stack].n * sizeof site) == 0)
            model_add(&same, b, &model, f);
    }
    snprintf(more, sizeof more, "node=%.0f", number(row, "node"));
    only = ask("heat", f, more);
    sum_is(json_object_get(only, "total"), &same, "stack");
    json_decref(only);
}

/* The rows are those that come there in the order, as far as it is one. */
static void
samples_are_right(const struct model_filter *f, int order)
{
    static const char *const orders[] = {"time", "size", "life"};
    static uint64_t keys[MODEL_BLOCKS];
    struct model_sum total = model_total(&model, f);
    uint32_t n = 0, offset = (uint32_t)(total.n / 3);
    char more[64];
    json_t *answer, *row;
    size_t i;

    for (uint32_t k = 0; k < model.n_blocks; k++)
        if (model_passes(&model, f, &model.blocks[k]))
            keys[n++] = key_of(f, &model.blocks[k], order);
    qsort(keys, n, sizeof *keys, compare_keys);
    snprintf(more, sizeof more, "order=%s&offset=%u&limit=20", orders[order],
             offset);
    answer = ask("samples", f, more);
    assert_true(number(answer, "n") == (double)n);
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        json_t *stack = json_object_get(row, "stack"), *frame;
        size_t d;

        if (order == 1)
            assert_true(~(uint64_t)number(row, "bytes") == keys[offset + i]);
        if (order == 0 && f->heap == 7)
            assert_true((uint64_t)number(row, "at_us") == keys[offset + i]);
        if (i == 0)
            stack_is_right(f, answer, row);
        json_array_foreach(stack, d, frame)
            function_at(answer, json_integer_value(json_array_get(frame, 0)));
    }
    assert_true(json_array_size(json_object_get(answer, "rows")) ==
                (n - offset < 20 ? n - offset : 20));
    json_decref(answer);
}

static void
heat_is_right(const struct model_filter *f)
{
    json_t *answer = ask("heat", f, "");
    json_t *sizes = json_object_get(answer, "sizes");
    json_t *lives = json_object_get(answer, "lives"), *cell;
    size_t n_lives = json_array_size(lives) - 1, i;

    assert_true(json_array_size(json_object_get(answer, "cells")) ==
                (json_array_size(sizes) - 1) * n_lives);
    json_array_foreach(json_object_get(answer, "cells"), i, cell)
    {
        struct model_sum s = {0};
        double size = json_number_value(json_array_get(sizes, i / n_lives));
        double next = json_number_value(json_array_get(sizes, i / n_lives + 1));
        double life = json_number_value(json_array_get(lives, i % n_lives));
        double end = json_number_value(json_array_get(lives, i % n_lives + 1));

        for (uint32_t k = 0; k < model.n_blocks; k++) {
            const struct model_block *b = &model.blocks[k];
            uint64_t own = ~key_of(f, b, 2);

            if (model_passes(&model, f, b) && (double)b->size >= size &&
                (double)b->size < next && (double)own >= life &&
                (double)own < end)
                model_add(&s, b, &model, f);
        }
        near(json_number_value(json_array_get(cell, 0)), s.bytes, "cell");
        near(json_number_value(json_array_get(cell, 1)), s.blocks, "cell");
        assert_true(json_number_value(json_array_get(cell, 2)) == (double)s.n);
    }
    json_decref(answer);
}

/* One function has a tenth of all, so that there is a path. */
static bool
has_heavy(const struct model_filter *f)
{
    struct model_sum all[MODEL_FUNCTIONS] = {{0}};
    struct model_sum total = model_total(&model, f);
    struct model_frame fold[MODEL_DEPTH];

    for (uint32_t i = 0; i < model.n_blocks; i++) {
        uint32_t n = model_fold(&model, f, model.blocks[i].stack, fold);

        if (n > 0 && model_passes(&model, f, &model.blocks[i]))
            model_add(&all[fold[0].function], &model.blocks[i], &model, f);
    }
    for (uint32_t i = 0; i < MODEL_FUNCTIONS; i++)
        if (all[i].bytes > total.bytes / 10)
            return true;
    return false;
}

static void
hot_is_right(const struct model_filter *f)
{
    json_t *answer = ask("hot", f, ""), *row;
    uint32_t paths[FOLD_PATHS][MODEL_DEPTH] = {{0}}, lengths[FOLD_PATHS];
    size_t i;

    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        struct model_sum all = {0}, self = {0};
        json_t *path = json_object_get(row, "path"), *f_at;
        size_t d;

        lengths[i] = (uint32_t)json_array_size(path);
        assert_true(i < FOLD_PATHS && lengths[i] > 0);
        json_array_foreach(path, d, f_at) paths[i][d] =
            function_at(answer, json_integer_value(f_at));
        way_sum(f, paths[i], lengths[i], NULL, 0, false, &all, &self);
        sum_is(json_object_get(row, "sum"), &all, "path");
        for (size_t k = 0; k < i; k++) {
            struct model_frame frames[2][MODEL_DEPTH];
            uint32_t at;

            for (uint32_t e = 0; e < MODEL_DEPTH; e++) {
                frames[0][e].function = paths[k][e];
                frames[1][e].function = paths[i][e];
            }
            assert_false(
                has_fragment(frames[0], lengths[k], paths[i], lengths[i], &at));
            assert_false(
                has_fragment(frames[1], lengths[i], paths[k], lengths[k], &at));
        }
    }
    assert_true(json_array_size(json_object_get(answer, "rows")) > 0 ||
                !has_heavy(f));
    json_decref(answer);
}

/* Side B is of the trace number t. */
static void
diff_is_right(const struct model_filter *a, const struct model_filter *b, int t)
{
    const struct model *of_b = t == 0 ? &model : &other;
    struct model_sum sums[2][MODEL_FUNCTIONS][2] = {{{{0}}}};
    struct model_sum apart[MODEL_FUNCTIONS][2] = {{{0}}};
    char more[QUERY_BYTES];
    size_t used, i;
    json_t *answer, *row;

    for (uint32_t k = 0; k < model.n_blocks; k++) {
        const struct model_block *x = &model.blocks[k];
        uint32_t site = model_site(&model, a, x->stack).function;
        bool is_mapping = model.stacks[x->stack].is_mapping;

        if (!model_passes(&model, a, x))
            continue;
        model_add(&sums[0][site][is_mapping], x, &model, a);
        if (t == 0 && !model_passes(&model, b, x))
            model_add(&apart[site][is_mapping], x, &model, a);
    }
    for (uint32_t k = 0; k < of_b->n_blocks; k++) {
        const struct model_block *x = &of_b->blocks[k];
        uint32_t site = model_site(of_b, b, x->stack).function;
        bool is_mapping = of_b->stacks[x->stack].is_mapping;

        if (!model_passes(of_b, b, x))
            continue;
        model_add(&sums[1][site][is_mapping], x, of_b, b);
        if (t == 0 && !model_passes(&model, a, x))
            model_add(&apart[site][is_mapping], x, of_b, b);
    }
    used = (size_t)snprintf(more, sizeof more, "b.t=%d&", t);
    model_filter_text(b, "b.", more + used, sizeof more - used);
    if (more[used] == '\0')
        more[used - 1] = '\0';
    answer = ask("diff", a, more);
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        uint32_t id = function_at(answer, (int64_t)number(row, "function"));
        bool is_mapping = json_is_true(json_object_get(row, "is_mapping"));
        struct model_sum *x = &sums[0][id][is_mapping];
        struct model_sum *y = &sums[1][id][is_mapping];

        sum_is(json_object_get(row, "a"), x, "a");
        sum_is(json_object_get(row, "b"), y, "b");
        near(number(row, "delta_bytes"), y->bytes - x->bytes, "delta");
        if (t == 0)
            near(number(row, "delta_se"), sqrt(apart[id][is_mapping].bytes_var),
                 "se");
        memset(x, 0, sizeof *x);
        memset(y, 0, sizeof *y);
    }
    for (i = 0; i < MODEL_FUNCTIONS * 2; i++)
        assert_true(sums[0][i / 2][i % 2].blocks == 0 &&
                    sums[1][i / 2][i % 2].blocks == 0);
    json_decref(answer);
    answer = ask("difftree", a, more);
    assert_true(json_array_size(json_object_get(answer, "nodes")) > 0);
    json_decref(answer);
}

/* ---- all of them --------------------------------------------------------- */

static void
all_are_right(const struct model_filter *f)
{
    uint32_t fragment[2] = {1 + (uint32_t)model_draw(&model, 9),
                            1 + (uint32_t)model_draw(&model, 9)};
    uint32_t n = (uint32_t)model_draw(&model, 3);

    timeline_is_right(f);
    parts_add_up(f, (enum alqi_view_draw)model_draw(&model, ALQI_VIEW_N_DRAWS));
    sites_are_right(f, model_draw(&model, 2) == 0);
    reach_is_right(f);
    tree_is_right(f, fragment, n, false);
    tree_is_right(f, fragment, n, true);
    functions_are_right(f);
    function_is_right(f, fragment[0]);
    samples_are_right(f, (int)model_draw(&model, 3));
    heat_is_right(f);
    hot_is_right(f);
}

static void
models_run(uint64_t first_seed, uint32_t n_models, uint32_t n_blocks,
           uint32_t n_filters)
{
    struct model_filter f, g;

    for (uint64_t seed = first_seed; seed < first_seed + n_models; seed++) {
        model_make(&model, seed + alqi_base_test_seed(), n_blocks);
        model_make(&other, seed + 1000 + alqi_base_test_seed(), n_blocks / 2);
        set_open(true);
        all_are_right(&everything);
        for (uint32_t i = 0; i < n_filters; i++) {
            model_filter_make(&model, &f);
            model_filter_make(&model, &g);
            all_are_right(&f);
            diff_is_right(&f, &g, (int)(i % 2));
        }
        set_close();
    }
}

static void
small_models_agree(void **state)
{
    (void)state;
    models_run(1, 40, 120, 25);
}

static void
models_of_several_blocks_agree(void **state)
{
    (void)state;
    models_run(100, 4, 2100, 12);
}

static void
a_large_model_agrees(void **state)
{
    (void)state;
    models_run(200, 1, MODEL_BLOCKS, 4);
}

/* One sample, and none. */
static void
tiny_models_agree(void **state)
{
    (void)state;
    models_run(300, 10, 1, 5);
    models_run(400, 2, 0, 5);
}

static uint32_t
n_scans(const struct alqi_view_trace *t)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ALQI_VIEW_SCANS_KEPT; i++)
        n += t->scans[i].bits != NULL;
    return n;
}

/* What `info` has summed serves the page's first questions, of each trace. */
static void
all_rows_are_scanned_once(void **state)
{
    (void)state;
    model_make(&model, 1 + alqi_base_test_seed(), 120);
    model_make(&other, 2 + alqi_base_test_seed(), 120);
    set_open(true);
    json_decref(ask("info", NULL, ""));
    json_decref(ask("sites", NULL, ""));
    json_decref(ask("sites", NULL, "t=1"));
    assert_int_equal(n_scans(&set->traces[0]), 1);
    assert_int_equal(n_scans(&set->traces[1]), 1);
    set_close();
}

static int
group_teardown(void **state)
{
    (void)state;
    free(json.text);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_are_scanned_once),
        cmocka_unit_test(small_models_agree),
        cmocka_unit_test(models_of_several_blocks_agree),
        cmocka_unit_test(a_large_model_agrees),
        cmocka_unit_test(tiny_models_agree),
    };

    return cmocka_run_group_tests(tests, NULL, group_teardown);
}
