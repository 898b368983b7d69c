/* growth.c -- looks as JSON become rows, and rows slopes
 *
 *   look: read --looks like one--> one of the same recording --> added
 *   solve: rows of each look --> samples of each row --> slopes --> grows
 *
 * A look may come from a file, so all that is asked of it later is looked at
 * first (.inv.looks).
 *
 * .inv.looks   Members of a look that was added have the types that json.c
 *              writes, and sizes that a sum can take.
 * .inv.paired  A sampled block of two looks is one: it has the same address and
 *              was made at the same moment.  Its lever is the sum of theirs,
 *              and exactly 0 if it is in all of them. */
#include "cli/leaks/growth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "view/significance.h"
#include "view/sort.h"

enum { SAMPLE_WORDS = 5, PLACE_BYTES = 64 };

static const double US_A_MINUTE = 60e6;
static const double CHANCE = 0.05;
static const double BYTES_MOST = 0x1p60, P_LEAST = 1e-12;

/* ---- what a look has to have --------------------------------------------- */

static bool
is_size(const json_t *x)
{
    return json_is_number(x) && json_number_value(x) >= 0 &&
           json_number_value(x) <= BYTES_MOST;
}

/* Members that may be left out are texts if they are there. */
static bool
is_text(const json_t *object, const char *key)
{
    const json_t *x = json_object_get(object, key);

    return x == NULL || json_is_string(x);
}

static bool
are_samples(const json_t *samples)
{
    size_t i, k;
    const json_t *sample, *number;

    json_array_foreach(samples, i, sample)
    {
        double p = json_number_value(json_array_get(sample, 3));

        if (json_array_size(sample) != 4 || p < P_LEAST || p >= 1)
            return false;
        json_array_foreach(
            sample, k,
            number) if (!is_size(number) ||
                        (k < 2 && !json_is_integer(number))) return false;
    }
    return json_is_array(samples);
}

static bool
are_steps(const json_t *steps)
{
    size_t i;
    const json_t *step;

    json_array_foreach(steps, i,
                       step) if (!json_is_object(step) ||
                                 !is_text(step, "function") ||
                                 !is_text(step, "module")) return false;
    return json_is_array(steps);
}

static bool
is_row(const json_t *row)
{
    return json_is_string(json_object_get(row, "class")) &&
           is_text(row, "root") && is_text(row, "function") &&
           is_text(row, "module") && is_text(row, "file") &&
           is_size(json_object_get(row, "bytes")) &&
           is_size(json_object_get(row, "certain_bytes")) &&
           are_steps(json_object_get(row, "steps")) &&
           are_samples(json_object_get(row, "samples"));
}

/* .inv.looks; else where it is not so. */
static bool
is_look(const json_t *look, char place[PLACE_BYTES])
{
    static const char *const numbers[] = {"pid", "recorded_since_us", "at_us",
                                          "interval_bytes"};
    const json_t *rows = json_object_get(look, "holders"), *row;
    size_t i;

    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(place, PLACE_BYTES, "\"%s\"", numbers[i]);
        if (!is_size(json_object_get(look, numbers[i])))
            return false;
    }
    json_array_foreach(rows, i, row)
    {
        snprintf(place, PLACE_BYTES, "\"holders\"[%zu]", i);
        if (!is_row(row))
            return false;
    }
    strcpy(place, "\"holders\"");
    return json_is_array(rows);
}

static double
number(const json_t *look, const char *key)
{
    return json_number_value(json_object_get(look, key));
}

/* Of the same recording, and later than the last. */
static bool
follows(const struct alqi_cli_leak_growth *g, const json_t *look,
        const char *from)
{
    const json_t *first, *last;

    if (g->n_looks == 0)
        return true;
    first = g->looks[0];
    last = g->looks[g->n_looks - 1];
    if (number(first, "pid") != number(look, "pid") ||
        number(first, "recorded_since_us") != number(look, "recorded_since_us"))
        return alqi_cli_refuse(
            "leaks: %s: is of process %.0f, and the first look of process "
            "%.0f, or of another recording of it: looks of one recording are "
            "compared",
            from, number(look, "pid"), number(first, "pid"));
    return number(look, "at_us") > number(last, "at_us") ||
           alqi_cli_refuse("leaks: %s: is not of a later moment than the look "
                           "before it: give looks in the order in which they "
                           "were taken",
                           from);
}

bool
alqi_cli_leak_growth_add(struct alqi_cli_leak_growth *g, json_t *look,
                         const char *from)
{
    char place[PLACE_BYTES];
    bool ok = is_look(look, place);

    if (!ok)
        alqi_cli_say("leaks: %s: %s is missing, or not as 'aliquot leaks "
                     "--json -p PID' writes it: give looks that it wrote",
                     from, place);
    else if (g->n_looks == ALQI_CLI_LEAK_LOOKS_MOST)
        ok = alqi_cli_refuse("leaks: %s: more than %d looks: give fewer", from,
                             ALQI_CLI_LEAK_LOOKS_MOST);
    ok = ok && follows(g, look, from);
    if (ok)
        g->looks[g->n_looks++] = look;
    else
        json_decref(look);
    return ok;
}

/* ---- rows ---------------------------------------------------------------- */

/* A sampled block of a row. */
struct sample {
    uint32_t row, n_looks;
    double bytes, p, lever;
};

struct solving {
    struct alqi_cli_leak_growth *g;
    struct alqi_base_intern keys;    /* row, address, moment -> sample */
    struct alqi_base_intern rows_by; /* a key's number in names -> row */
    struct sample *samples;
    uint32_t n_samples;
};

static void
key_put(FILE *out, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    fprintf(out, "%s\x1f", text != NULL ? text : "");
}

/* What rows of different looks are the same by (holders.h .def.row). */
static char *
row_key(const struct alqi_cli_leak_growth *g, const json_t *row)
{
    const json_t *step;
    size_t n, i;
    char *key = NULL;
    FILE *out = open_memstream(&key, &n);

    if (out == NULL)
        alqi_cli_die("leaks: there is no memory");
    key_put(out, row, "class");
    key_put(out, row, "root");
    key_put(out, row, "function");
    key_put(out, row, "module");
    key_put(out, row, "file");
    if (g->interval_bytes == 0)
        json_array_foreach(json_object_get(row, "steps"), i, step)
        {
            key_put(out, step, "function");
            key_put(out, step, "module");
        }
    if (fclose(out) != 0)
        alqi_cli_die("leaks: there is no memory");
    return key;
}

static uint32_t
row_find(struct solving *s, const json_t *row)
{
    struct alqi_cli_leak_growth *g = s->g;
    char *key = row_key(g, row);
    const uint32_t name = alqi_cli_names_intern(g->names, key);
    uint32_t at = alqi_cli_intern(&s->rows_by, &name);

    free(key);
    if (at == g->n_rows) {
        g->rows = alqi_cli_grow(g->rows, at, sizeof *g->rows);
        g->rows[g->n_rows++] = (struct alqi_cli_leak_growing){
            .row = row,
            .bytes = alqi_cli_zeros(g->n_looks, sizeof(double)),
            .certain_bytes = alqi_cli_zeros(g->n_looks, sizeof(double))};
    }
    return at;
}

/* What a sampled block of the look stands for. */
static void
now_add(struct alqi_cli_leak_growth *g, uint32_t row, uint32_t look,
        double bytes, double p)
{
    struct alqi_cli_leak_growing *r = &g->rows[row];
    struct alqi_cli_weight weight = alqi_cli_weight(bytes, p);

    r->bytes[look] += weight.bytes;
    if (look + 1 == g->n_looks)
        alqi_cli_sum_add(&r->now, &weight, 0, 1);
}

/* .inv.paired */
static void
sample_take(struct solving *s, uint32_t row, uint32_t look, const json_t *from)
{
    uint64_t address = (uint64_t)json_integer_value(json_array_get(from, 0));
    uint64_t made = (uint64_t)json_integer_value(json_array_get(from, 1));
    const uint32_t key[SAMPLE_WORDS] = {row, (uint32_t)address,
                                        (uint32_t)(address >> 32),
                                        (uint32_t)made, (uint32_t)(made >> 32)};
    uint32_t at = alqi_cli_intern(&s->keys, key);
    struct sample *sample;

    if (at == s->n_samples) {
        s->samples = alqi_cli_grow(s->samples, at, sizeof *s->samples);
        s->samples[s->n_samples++] =
            (struct sample){.row = row,
                            .bytes = json_number_value(json_array_get(from, 2)),
                            .p = json_number_value(json_array_get(from, 3))};
    }
    sample = &s->samples[at];
    sample->n_looks++;
    sample->lever += s->g->levers[look];
    now_add(s->g, row, look, sample->bytes, sample->p);
}

static void
row_take(struct solving *s, uint32_t look, const json_t *row)
{
    uint32_t at = row_find(s, row);
    struct alqi_cli_leak_growing *to = &s->g->rows[at];
    double certain = json_number_value(json_object_get(row, "certain_bytes"));
    const json_t *sample;
    size_t i;

    if (json_array_size(json_object_get(row, "steps")) >=
        json_array_size(json_object_get(to->row, "steps")))
        to->row = row;
    to->certain_bytes[look] += certain;
    to->bytes[look] += certain;
    if (look + 1 == s->g->n_looks) {
        to->now.bytes += certain;
        to->now.seen_bytes += certain;
    }
    json_array_foreach(json_object_get(row, "samples"), i, sample)
        sample_take(s, at, look, sample);
}

static void
looks_take(struct solving *s)
{
    for (uint32_t k = 0; k < s->g->n_looks; k++) {
        const json_t *rows = json_object_get(s->g->looks[k], "holders"), *row;
        size_t i;

        json_array_foreach(rows, i, row) row_take(s, k, row);
    }
}

/* ---- slopes -------------------------------------------------------------- */

static void
times_find(struct alqi_cli_leak_growth *g)
{
    for (uint32_t k = 0; k < g->n_looks; k++) {
        g->at_min[k] =
            (number(g->looks[k], "at_us") - number(g->looks[0], "at_us")) /
            US_A_MINUTE;
        g->interval_bytes =
            fmax(g->interval_bytes, number(g->looks[k], "interval_bytes"));
    }
    alqi_cli_leak_levers(g->at_min, g->n_looks, g->levers);
}

static void
trends_sum(struct solving *s)
{
    struct alqi_cli_leak_growth *g = s->g;

    for (uint32_t i = 0; i < s->n_samples; i++) {
        const struct sample *x = &s->samples[i];

        if (x->n_looks < g->n_looks && x->lever != 0)
            alqi_cli_leak_trend_add(&g->rows[x->row].trend, x->bytes, x->p,
                                    x->lever);
    }
    for (uint32_t i = 0; i < g->n_rows; i++)
        for (uint32_t k = 0; k < g->n_looks; k++)
            g->rows[i].trend.certain +=
                g->levers[k] *
                (g->rows[i].certain_bytes[k] - g->rows[i].certain_bytes[0]);
}

static void
slopes_find(struct alqi_cli_leak_growth *g)
{
    double most =
        g->interval_bytes * alqi_cli_leak_lever_most(g->levers, g->n_looks);

    for (uint32_t i = 0; i < g->n_rows; i++) {
        struct alqi_cli_leak_growing *r = &g->rows[i];
        double scatter =
            alqi_cli_leak_trend_scatter(g->at_min, r->bytes, g->n_looks);

        r->rate = alqi_cli_leak_trend_slope(&r->trend);
        r->interval = alqi_cli_leak_trend_sampled(&r->trend, most);
        r->interval.low = r->rate - hypot(r->rate - r->interval.low, scatter);
        r->interval.high = r->rate + hypot(r->interval.high - r->rate, scatter);
        r->chance = alqi_cli_leak_trend_chance(&r->trend);
    }
}

/* Bytes of which none was seen are as many as may be there where no block was
 * seen, and they may all have come in the middle of the looks. */
static void
unseen_find(struct alqi_cli_leak_growth *g)
{
    const struct alqi_cli_sum none = {0};
    const bool is_sampled = g->interval_bytes > ALQI_WORD_BYTES;

    g->estimator = (struct alqi_cli_estimator){
        .is_bytes = true,
        .word_bytes = ALQI_WORD_BYTES,
        .least_lambda = is_sampled ? ALQI_WORD_BYTES / g->interval_bytes : 1};
    g->unseen_rate = alqi_cli_bytes_interval(&g->estimator, &none).high *
                     alqi_cli_leak_lever_most(g->levers, g->n_looks);
}

/* .def.grows of trend.h */
static void
growing_find(struct alqi_cli_leak_growth *g)
{
    double *chances = alqi_cli_zeros(g->n_rows + 1, sizeof *chances);

    for (uint32_t i = 0; i < g->n_rows; i++)
        chances[i] = g->rows[i].chance;
    if (!alqi_view_holm(chances, g->n_rows))
        alqi_cli_die("leaks: there is no memory");
    for (uint32_t i = 0; i < g->n_rows; i++) {
        struct alqi_cli_leak_growing *r = &g->rows[i];

        r->chance = chances[i];
        r->grows = r->interval.low > 0 && r->chance <= CHANCE;
        r->shrinks = r->interval.high < 0 && r->chance <= CHANCE;
        g->n_growing += r->grows;
        g->n_shrinking += r->shrinks;
    }
    free(chances);
}

/* Those that grow first. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_leak_growing *a = left, *b = right;

    (void)arg;
    if (a->grows != b->grows)
        return a->grows ? -1 : 1;
    if (a->rate != b->rate)
        return a->rate > b->rate ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

void
alqi_cli_leak_growth_solve(struct alqi_cli_leak_growth *g)
{
    struct solving s = {
        .g = g, .keys = {.n_words = SAMPLE_WORDS}, .rows_by = {.n_words = 1}};

    g->names = alqi_cli_names_new();
    times_find(g);
    looks_take(&s);
    trends_sum(&s);
    slopes_find(g);
    unseen_find(g);
    growing_find(g);
    alqi_view_sort(g->rows, g->n_rows, sizeof *g->rows, compare, NULL);
    alqi_base_intern_clear(&s.keys);
    alqi_base_intern_clear(&s.rows_by);
    free(s.samples);
}

void
alqi_cli_leak_growth_free(struct alqi_cli_leak_growth *g)
{
    for (uint32_t i = 0; i < g->n_looks; i++)
        json_decref(g->looks[i]);
    for (uint32_t i = 0; i < g->n_rows; i++) {
        free(g->rows[i].bytes);
        free(g->rows[i].certain_bytes);
    }
    free(g->rows);
    alqi_cli_names_drop(g->names);
}
