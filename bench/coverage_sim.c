/* coverage_sim.c -- do the intervals of a report hold the truth?
 *
 *   coverage_sim [SEEDS [WORKLOAD]]      simulates; SEEDS is 1000
 *   coverage_sim --check SEEDS           the same, small, as a test
 *   coverage_sim --replay WORKLOAD       asks malloc for a tenth of its blocks,
 *                                        in its order; to be recorded
 *
 * A workload is a list of blocks: size, site, birth and death.  Its true totals
 * are summed exactly; then it is sampled, as the engine samples, at several
 * rates and with many seeds, written as a trace, read and analysed as
 * `aliquot report` does it.  A figure has as many effective samples as a
 * Poisson count of its relative variance expects.  For each figure with at
 * least one of them it is counted how often the 95 % interval holds the truth,
 * how far the estimates are off on average, in their standard deviations, and
 * how wide the interval is beside the exact Poisson one of as many samples; of
 * numbers of blocks, beside the same, a bound: the least that any interval of
 * 94 % can have (coverage_least.h).
 *
 * With --check a share of misses above MISSES_MOST ends with status 1, and so
 * does a bias of a steady heap's peak.  At 6 % of misses a figure passes that
 * bound with 300 seeds with a probability below 1e-13, and all of them below
 * 1e-11. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/analysis/analysis.h"
#include "coverage_least.h"
#include "sample/sample.h"
#include "view/interval.h"
#include "wire/ctf.h"

enum {
    BLOCKS_MAX = 400000,
    SITES = 6,
    CLASSES = 12, /* of sizes, by coverage_least() */
    RATES = 5,
    TRACE_MAX = 1 << 22,
    END_US = 10000000,
    FIGURES = 4 + 4 + 4 * SITES
};

static const double MISSES_MOST = 0.2;
static const double BIAS_MOST = 0.5;

struct block {
    uint64_t size, born_us, died_us; /* UINT64_MAX: stays */
    uint32_t site;
};

static struct block blocks[BLOCKS_MAX];
static uint64_t words_up_to[BLOCKS_MAX]; /* of all up to this one */
static uint32_t n_blocks;
static struct alqi_sample_rng rng;

static double
draw(void)
{
    return ldexp((double)(alqi_sample_uniform(&rng) >> 11) + 0.5, -53);
}

static double
life(double mean_us)
{
    return -log(draw()) * mean_us;
}

/* Each site has its share of them: a half, a quarter ... */
static uint32_t
site_draw(void)
{
    uint32_t site = 0;

    while (site + 1 < SITES && draw() < 0.45)
        site++;
    return site;
}

static void
add(double born_us, double life_us, double size)
{
    struct block *b = &blocks[n_blocks];

    if (n_blocks == BLOCKS_MAX)
        abort();
    b->born_us = (uint64_t)born_us;
    b->died_us = born_us + life_us >= END_US ? UINT64_MAX
                                             : (uint64_t)(born_us + life_us);
    b->size = (uint64_t)size;
    b->site = site_draw();
    n_blocks++;
}

/* ---- workloads ----------------------------------------------------------- */

static void
steady(void)
{
    for (int i = 0; i < 200000; i++)
        add(END_US * draw(), life(END_US / 50.0), 16 + 500 * draw());
    for (int i = 0; i < 4000; i++) /* what is there from the start on */
        add(0, life(END_US / 50.0), 16 + 500 * draw());
}

/* From 8 bytes to 1 MiB, each order of magnitude with as many blocks. */
static void
all_sizes(void)
{
    for (int i = 0; i < 30000; i++)
        add(END_US * draw(), draw() < 0.05 ? 2 * END_US : life(END_US / 30.0),
            8 * exp(draw() * log(131072)));
}

/* A program that builds what it needs, and works on it with short-lived
 * blocks. */
static void
build_and_work(void)
{
    for (int i = 0; i < 60000; i++)
        add(END_US * 0.4 * draw(), 2 * END_US, 24 + 200 * draw());
    for (int i = 0; i < 200000; i++)
        add(END_US * draw(), life(300), 16 + 1000 * draw() * draw());
}

static void
rounds(void)
{
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < 20000; i++) {
            double at = (round + 0.5 * draw()) * END_US / 8;

            add(at, (round + 0.7 + 0.2 * draw()) * END_US / 8 - at,
                32 + 300 * draw());
        }
}

static void
one_size(void)
{
    for (int i = 0; i < 200000; i++)
        add(END_US * draw(), draw() < 0.1 ? 2 * END_US : life(END_US / 100.0),
            64);
}

/* A server: a base, and requests that take more or less. */
static void
requests(void)
{
    for (int i = 0; i < 20000; i++)
        add(END_US * 0.1 * draw(), 2 * END_US, 48 + 400 * draw());
    for (int r = 0; r < 60; r++) {
        double at = END_US * (0.1 + 0.015 * r), height = draw();

        for (int i = 0; i < 4000 * height; i++)
            add(at + END_US * 0.006 * draw(), END_US * (0.006 + 0.003 * draw()),
                100 + 2000 * draw());
    }
}

static const struct workload {
    const char *name;
    void (*make)(void);
} workloads[] = {
    {"steady", steady}, {"all_sizes", all_sizes}, {"work", build_and_work},
    {"rounds", rounds}, {"one_size", one_size},   {"requests", requests},
};

enum { SORT_BYTES_MAX = 1 << 25 };

/* In order and without malloc, whose blocks are what is recorded: runs of
 * growing length are merged, into a buffer and back. */
static void
sort(void *items, size_t n, size_t bytes,
     int (*order)(const void *, const void *))
{
    static unsigned char other[SORT_BYTES_MAX];
    unsigned char *from = items;

    if (n * bytes > sizeof other)
        abort();
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t at = 0; at < n; at += 2 * run) {
            size_t middle = at + run < n ? at + run : n;
            size_t end = at + 2 * run < n ? at + 2 * run : n;
            size_t left = at, right = middle;

            for (size_t to = at; to < end; to++) {
                bool is_left =
                    left < middle &&
                    (right == end ||
                     order(from + left * bytes, from + right * bytes) <= 0);

                memcpy(other + to * bytes,
                       from + (is_left ? left++ : right++) * bytes, bytes);
            }
        }
        memcpy(from, other, n * bytes);
    }
}

static int
by_birth(const void *left, const void *right)
{
    const struct block *a = left, *b = right;

    return a->born_us < b->born_us ? -1 : a->born_us > b->born_us;
}

static void
make(const struct workload *w)
{
    uint64_t words = 0;

    n_blocks = 0;
    alqi_sample_seed(&rng, 1);
    w->make();
    sort(blocks, n_blocks, sizeof *blocks, by_birth);
    for (uint32_t i = 0; i < n_blocks; i++)
        words_up_to[i] = words += alqi_base_malloc_words(blocks[i].size);
}

/* ---- the truth ----------------------------------------------------------- */

struct event {
    uint64_t us, id;
    uint32_t block;
    uint64_t n_samples; /* 0: its death */
};

static struct event events[2 * BLOCKS_MAX];

/* Births in order of blocks, before deaths at the same time but their own. */
static int
by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;

    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    if ((a->n_samples == 0) != (b->n_samples == 0))
        return a->n_samples == 0 ? 1 : -1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static uint32_t
event_add(uint32_t n, uint32_t block, uint64_t n_samples)
{
    const struct block *b = &blocks[block];

    events[n++] = (struct event){b->born_us, 0, block, n_samples};
    if (b->died_us != UINT64_MAX)
        events[n++] = (struct event){b->died_us, 0, block, 0};
    return n;
}

/* Figures by number: bytes, then blocks, of allocated, live, peak, temporary;
 * then bytes allocated, live and at the peak, and blocks, of each site. */
static double truth[FIGURES];
static uint64_t peak_us;

static bool
is_brief(const struct block *b)
{
    return b->died_us != UINT64_MAX && b->died_us - b->born_us < 1000;
}

/* The figures in which a block is, as bytes and then as blocks; returns how
 * many. */
static int
figures_of(const struct block *b, int *figures)
{
    int site = 8 + 4 * (int)b->site, n = 0;

    figures[n++] = 0;
    figures[n++] = site;
    if (b->died_us == UINT64_MAX) {
        figures[n++] = 1;
        figures[n++] = site + 1;
    }
    if (b->born_us <= peak_us && b->died_us > peak_us) {
        figures[n++] = 2;
        figures[n++] = site + 2;
    }
    if (is_brief(b))
        figures[n++] = 3;
    return n;
}

/* Of a figure of bytes, that of the same blocks; or none. */
static int
blocks_figure(int figure)
{
    if (figure < 4)
        return figure + 4;
    return (figure - 8) % 4 == 0 ? figure + 3 : -1;
}

static double effective[FIGURES];

/* The variance of each figure is a sum over its blocks. */
static void
effective_find(double rate)
{
    double variances[FIGURES] = {0};

    for (uint32_t i = 0; i < n_blocks; i++) {
        const struct block *b = &blocks[i];
        double p =
            -expm1((double)alqi_base_malloc_words(b->size) * log1p(-rate));
        double variance = (1 - p) / p, bytes = (double)b->size;
        int figures[8], n = figures_of(b, figures);

        for (int k = 0; k < n; k++) {
            int of_blocks = blocks_figure(figures[k]);

            variances[figures[k]] += bytes * bytes * variance;
            if (of_blocks >= 0)
                variances[of_blocks] += variance;
        }
    }
    for (int i = 0; i < FIGURES; i++)
        effective[i] =
            variances[i] > 0 ? truth[i] * truth[i] / variances[i] : 0;
}

static void
truth_find(void)
{
    uint32_t n = 0;
    double now = 0, most = 0;
    double site_now[SITES] = {0}, blocks_now = 0;

    memset(truth, 0, sizeof truth);
    for (uint32_t i = 0; i < n_blocks; i++) {
        const struct block *b = &blocks[i];
        double bytes = (double)b->size;

        n = event_add(n, i, 1);
        truth[0] += bytes;
        truth[4]++;
        truth[8 + 4 * b->site] += bytes;
        truth[8 + 4 * b->site + 3]++;
        if (b->died_us == UINT64_MAX) {
            truth[1] += bytes;
            truth[5]++;
            truth[8 + 4 * b->site + 1] += bytes;
        }
        truth[3] += is_brief(b) ? bytes : 0;
        truth[7] += is_brief(b);
    }
    sort(events, n, sizeof *events, by_time);
    for (uint32_t i = 0; i < n; i++) {
        const struct block *b = &blocks[events[i].block];
        double sign = events[i].n_samples > 0 ? 1 : -1;

        now += sign * (double)b->size;
        blocks_now += sign;
        site_now[b->site] += sign * (double)b->size;
        if (now <= most)
            continue;
        most = truth[2] = now;
        peak_us = events[i].us;
        truth[6] = blocks_now;
        for (int s = 0; s < SITES; s++)
            truth[8 + 4 * s + 2] = site_now[s];
    }
}

/* ---- a recording --------------------------------------------------------- */

static unsigned char trace[TRACE_MAX];
static size_t trace_bytes, trace_read;

static bool
packet(void *arg, const void *bytes, size_t n)
{
    (void)arg;
    if (trace_bytes + n > TRACE_MAX)
        return false;
    memcpy(trace + trace_bytes, bytes, n);
    trace_bytes += n;
    return true;
}

static ptrdiff_t
read_trace(void *arg, void *bytes, size_t n)
{
    (void)arg;
    if (n > trace_bytes - trace_read)
        n = trace_bytes - trace_read;
    memcpy(bytes, trace + trace_read, n);
    trace_read += n;
    return (ptrdiff_t)n;
}

static void
warn(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    fprintf(stderr, "coverage_sim: %s\n", text);
    exit(1);
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char name[32];
    static struct alqi_ctf_entry entry;

    (void)arg;
    snprintf(name, sizeof name, "site%u", (unsigned)code);
    entry = (struct alqi_ctf_entry){"sites.c", name, (int32_t)code, 1, 2};
    out->n_entries = 1;
    out->entries = &entry;
}

static void
must(enum alq_status st)
{
    if (st != ALQ_OK)
        abort();
}

/* The block in which that word lies. */
static uint32_t
block_at(uint64_t word)
{
    uint32_t low = 0, high = n_blocks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (words_up_to[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t
sample(const struct alqi_sample_dist *law)
{
    uint64_t at = 0;
    uint32_t n = 0;

    for (;;) {
        uint32_t i;

        at += alqi_sample_skip_words(&rng, law);
        i = block_at(at);
        if (i == n_blocks)
            return n;
        n = event_add(n, i,
                      1 + alqi_sample_binomial(&rng, law, words_up_to[i] - at));
        at = words_up_to[i];
    }
}

static void
record(const struct alqi_sample_dist *law, uint64_t seed)
{
    struct alqi_ctf_info info = {
        .version = 3,
        .word_bits = 8,
        .rate = law->rate / 8,
        .start_us = 1700000000000000 + seed,
        .pid = 1,
        .executable = "sim",
        .host = "sim",
        .params = "",
        .context = "",
    };
    struct alqi_ctf_writer *w;
    static uint64_t id_of[BLOCKS_MAX];
    uint32_t n;

    alqi_sample_seed(&rng, seed);
    n = sample(law);
    sort(events, n, sizeof *events, by_time);
    trace_bytes = trace_read = 0;
    must(alqi_ctf_writer_open(&info, packet, NULL, look_up, NULL, &w));
    for (uint32_t i = 0; i < n; i++) {
        const struct event *e = &events[i];
        uint64_t code = 100 + blocks[e->block].site;

        if (e->n_samples > 0)
            must(alqi_ctf_write_alloc(
                w, info.start_us + e->us, blocks[e->block].size, e->n_samples,
                ALQI_CTF_EXTERNAL, &code, 1, &id_of[e->block]));
        else
            must(alqi_ctf_write_collect(w, info.start_us + e->us,
                                        id_of[e->block]));
    }
    must(alqi_ctf_writer_close(w));
}

/* ---- figures ------------------------------------------------------------- */

struct figure {
    double estimate;
    struct alqi_view_interval range;
};

static struct figure
figure_of(const struct alqi_cli_analysis *a, const struct alqi_cli_sum *s,
          bool is_bytes)
{
    return (struct figure){
        is_bytes ? s->bytes : s->objects,
        is_bytes ? alqi_cli_bytes_interval(&a->estimator, s)
                 : alqi_cli_objects_interval(&a->estimator, s),
    };
}

static void
analyse(struct figure *out)
{
    static const enum alqi_cli_measure measures[] = {
        ALQI_CLI_ALLOCATED, ALQI_CLI_LIVE, ALQI_CLI_PEAK, ALQI_CLI_TEMPORARY};
    const struct alqi_cli_sum none[ALQI_CLI_N_MEASURES] = {{0}};
    struct alqi_cli_analysis_options options = {.temporary_us = 1000};
    struct alqi_cli_analysis a, picture;
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;

    must(alqi_ctf_reader_open(read_trace, NULL, warn, NULL, &reader));
    alqi_cli_analysis_begin(&a, reader, &options);
    while (alqi_ctf_reader_next(reader, &event) > 0)
        alqi_cli_analysis_take(&a, &event);
    alqi_cli_analysis_picture(&a, &picture);
    for (int m = 0; m < 4; m++) {
        out[m] = figure_of(&picture, &picture.totals[measures[m]], true);
        out[4 + m] = figure_of(&picture, &picture.totals[measures[m]], false);
    }
    for (uint32_t s = 0; s < SITES; s++) {
        const struct alqi_cli_sum *sums = none;

        for (uint32_t i = 0; i < picture.n_sites; i++)
            if (picture.stacks.nodes[picture.sites[i].node].code == 100 + s)
                sums = picture.sites[i].sums;
        for (int m = 0; m < 3; m++)
            out[8 + 4 * s + (uint32_t)m] =
                figure_of(&picture, &sums[measures[m]], true);
        out[8 + 4 * s + 3] =
            figure_of(&picture, &sums[ALQI_CLI_ALLOCATED], false);
    }
    alqi_cli_analysis_picture_free(&picture);
    alqi_cli_analysis_free(&a);
    alqi_ctf_reader_drop(reader);
}

/* ---- what is counted ----------------------------------------------------- */

struct tally {
    double errors, squares, covered, width;
};

/* The mean width of the exact interval of a Poisson count, of its mean. */
static double
exact_width(double mean)
{
    double p = exp(-mean), sum = 0;

    if (mean > 500)
        return 2 * 1.96 / sqrt(mean);
    for (int k = 0; k < mean + 12 * sqrt(mean) + 20; k++) {
        if (k > 0)
            p *= mean / k;
        sum += p * (alqi_view_gamma_quantile(k + 1, 0.975) -
                    alqi_view_gamma_quantile(k, 0.025));
    }
    return sum / mean;
}

/* Of one kind, by the effective number of samples. */
enum { BINS = 4 };

struct row {
    double covered, n_cases, least, most, bias, width;
    double least_width; /* 0: not found */
};

static const char *const bins[BINS] = {"1 to 3", "3 to 10", "10 to 30",
                                       "30 and more"};

static const char *
kind_of(int figure)
{
    static const char *const of_total[] = {"allocated",
                                           "live",
                                           "peak",
                                           "temporary",
                                           "blocks allocated",
                                           "blocks live",
                                           "blocks at peak",
                                           "blocks temporary"};
    static const char *const of_site[] = {"site allocated", "site live",
                                          "site at peak", "site's blocks"};

    return figure < 8 ? of_total[figure] : of_site[(figure - 8) % 4];
}

static int
row_of(int figure)
{
    return figure < 8 ? figure : 8 + (figure - 8) % 4;
}

/* By classes of sizes, each twice as large: the last has all blocks. */
static double
least_width(int figure, double rate)
{
    struct coverage_class classes[CLASSES] = {{0, 0}};

    for (uint32_t i = 0; i < n_blocks; i++) {
        const struct block *b = &blocks[i];
        double words = (double)alqi_base_malloc_words(b->size);
        int figures[8], n = figures_of(b, figures), least;

        least = (int)fmin(log2(words), CLASSES - 1);
        for (int k = 0; k < n; k++)
            if (blocks_figure(figures[k]) == figure)
                for (int c = least; c < CLASSES; c++) {
                    classes[c].samples += -expm1(words * log1p(-rate));
                    classes[c].figure++;
                }
    }
    return coverage_least(classes, CLASSES, alqi_view_least_weight(rate, true));
}

static bool
is_of_blocks(int figure)
{
    return figure >= 8 ? (figure - 8) % 4 == 3 : figure >= 4;
}

static void
tally_enter(struct row rows[][BINS], int figure, const struct tally *t,
            double seeds, double rate)
{
    double n = effective[figure], covered = t->covered / seeds;
    double mean = t->errors / seeds;
    double sd = sqrt(fmax(t->squares / seeds - mean * mean, 0));
    struct row *r = &rows[row_of(figure)][n < 3    ? 0
                                          : n < 10 ? 1
                                          : n < 30 ? 2
                                                   : 3];

    if (n < 1 || truth[figure] <= 0 || sd == 0)
        return;
    if (r->n_cases == 0 || covered < r->least)
        r->least = covered;
    if (covered > r->most)
        r->most = covered;
    r->covered += covered;
    r->bias += mean / sd;
    r->width += t->width / seeds / truth[figure] / exact_width(n);
    if (is_of_blocks(figure))
        r->least_width +=
            least_width(figure, rate) / truth[figure] / exact_width(n);
    r->n_cases++;
}

static bool
rows_put(const struct workload *w, struct row rows[][BINS], bool is_check)
{
    bool is_right = true;

    for (int k = 0; k < 12; k++)
        for (int b = 0; b < BINS; b++) {
            const struct row *r = &rows[k][b];
            const char *kind = kind_of(k);

            if (r->n_cases == 0)
                continue;
            printf("%-10s %-17s %-12s %5.0f  %.3f  %.3f  %.3f  %+.2f  %5.2f",
                   w->name, kind, bins[b], r->n_cases, r->covered / r->n_cases,
                   r->least, r->most, r->bias / r->n_cases,
                   r->width / r->n_cases);
            if (r->least_width > 0)
                printf("  %5.2f", r->least_width / r->n_cases);
            printf("\n");
            if (!is_check)
                continue;
            if (r->least < 1 - MISSES_MOST ||
                (strcmp(w->name, "steady") == 0 && strcmp(kind, "peak") == 0 &&
                 fabs(r->bias / r->n_cases) > BIAS_MOST)) {
                printf("^ that is wrong\n");
                is_right = false;
            }
        }
    return is_right;
}

/* So many samples are expected at each rate. */
static const double expected[RATES] = {12, 50, 200, 800, 2500};

static bool
measure(const struct workload *w, uint64_t seeds, bool is_check)
{
    struct row rows[12][BINS] = {{{0}}};

    make(w);
    truth_find();
    for (int rate = 0; rate < RATES - 2 * is_check; rate++) {
        struct tally tallies[FIGURES] = {{0}};
        struct alqi_sample_dist law;
        double words = (double)words_up_to[n_blocks - 1];

        if (!alqi_sample_dist_set(&law, expected[rate] / words))
            abort();
        effective_find(law.rate);
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct figure figures[FIGURES];

            record(&law, seed * 64 + (uint64_t)rate);
            analyse(figures);
            for (int i = 0; i < FIGURES; i++) {
                struct tally *t = &tallies[i];
                double error = figures[i].estimate - truth[i];

                t->errors += error;
                t->squares += error * error;
                t->covered += figures[i].range.low <= truth[i] * (1 + 1e-12) &&
                              truth[i] * (1 - 1e-12) <= figures[i].range.high;
                t->width += figures[i].range.high - figures[i].range.low;
            }
        }
        for (int i = 0; i < FIGURES; i++)
            tally_enter(rows, i, &tallies[i], (double)seeds, law.rate);
    }
    return rows_put(w, rows, is_check);
}

/* ---- to be recorded ------------------------------------------------------ */

#define SITE(n)                                                                \
    static __attribute__((noinline)) void *site##n(uint64_t size_bytes)        \
    {                                                                          \
        void *volatile block = malloc(size_bytes);                             \
                                                                               \
        return block;                                                          \
    }                                                                          \
    _Static_assert(n < SITES, "it is called")

SITE(0);
SITE(1);
SITE(2);
SITE(3);
SITE(4);
SITE(5);

static void *(*const sites[SITES])(uint64_t) = {site0, site1, site2,
                                                site3, site4, site5};
static void *replayed[BLOCKS_MAX];

static int
replay(const struct workload *w)
{
    uint32_t n = 0;

    make(w);
    for (uint32_t i = 0; i < n_blocks; i += 10)
        n = event_add(n, i, 1);
    sort(events, n, sizeof *events, by_time);
    for (uint32_t i = 0; i < n; i++) {
        const struct block *b = &blocks[events[i].block];

        if (events[i].n_samples == 0)
            free(replayed[events[i].block]);
        else
            replayed[events[i].block] = sites[b->site](b->size);
    }
    return 0;
}

int
main(int argc, char **argv)
{
    bool is_check = argc > 1 && strcmp(argv[1], "--check") == 0;
    const char *only = !is_check && argc > 2 ? argv[2] : NULL;
    uint64_t seeds = 1000;
    bool is_right = true;

    if (argc > 2 && strcmp(argv[1], "--replay") == 0) {
        for (size_t i = 0; i < ALQI_COUNT_OF(workloads); i++)
            if (strcmp(argv[2], workloads[i].name) == 0)
                return replay(&workloads[i]);
        return 2;
    }
    if (argc > 1 + is_check)
        seeds = strtoull(argv[1 + is_check], NULL, 10);
    printf("%-10s %-17s %-12s %5s  %s  %s  %s  %s  %s  %s\n", "workload",
           "figure", "effective", "cases", "cover", "least", " most", " bias",
           "width", "bound");
    for (size_t i = 0; i < ALQI_COUNT_OF(workloads); i++)
        if (only == NULL || strcmp(only, workloads[i].name) == 0)
            is_right &= measure(&workloads[i], seeds, is_check);
    return is_right ? 0 : 1;
}
