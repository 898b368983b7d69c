/* estimate.c -- weights of sampled blocks, and sums of them
 *
 * [estimate.h] Rates are numbered as they are met; number 0 is the trace's
 * own. For each rate the probabilities of small blocks are computed once and
 * kept. All weights come from alqi_cli_weight, with the block's probability or
 * with that of a colour (view/peak.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/estimate.h"
#include "view/peak.h"

/* A trace that codes lengths in bytes says its words have 8 bits. */
enum { BITS_OF_BYTE_TRACE = 8 };

/* Adds a rate; returns its number. */
static uint16_t
rate_add(struct alqi_cli_estimator *e, double lambda)
{
    struct alqi_cli_rate *rate;

    if (e->n_rates == e->rates_capacity) {
        e->rates_capacity = e->rates_capacity == 0 ? 1 : 2 * e->rates_capacity;
        e->rates =
            alqi_cli_realloc(e->rates, e->rates_capacity, sizeof *e->rates);
    }
    rate = &e->rates[e->n_rates];
    rate->lambda = lambda;
    rate->log_miss = lambda < 1 ? log1p(-lambda) : -HUGE_VAL;
    rate->chances = NULL;
    if (e->n_rates == 0 || lambda < e->least_lambda)
        e->least_lambda = lambda;
    return (uint16_t)e->n_rates++;
}

/* The header's rate counts bytes in a malloc trace, and words are tried: it is
 * multiplied by the word's bytes. */
void
alqi_cli_estimator_init(struct alqi_cli_estimator *e,
                        const struct alqi_ctf_info *info)
{
    memset(e, 0, sizeof *e);
    e->is_bytes = info->word_bits == BITS_OF_BYTE_TRACE;
    e->word_bytes = e->is_bytes ? ALQI_WORD_BYTES : info->word_bits / 8u;
    e->has_rate = info->rate > 0 && info->rate <= 1;
    e->lambda = e->has_rate ? info->rate : 1;
    if (e->is_bytes)
        e->lambda *= ALQI_WORD_BYTES;
    if (e->lambda > 1)
        e->lambda = 1;
    e->interval_bytes = e->word_bytes / e->lambda;
    e->colour_seed = alqi_view_colour_seed(info->start_us, info->pid);
    rate_add(e, e->lambda);
}

void
alqi_cli_estimator_free(struct alqi_cli_estimator *e)
{
    for (uint32_t i = 0; i < e->n_rates; i++)
        free(e->rates[i].chances);
    free(e->rates);
    memset(e, 0, sizeof *e);
}

/* The converter names each rate once, so a search from the last one back ends
 * soon. */
uint16_t
alqi_cli_estimator_rate(struct alqi_cli_estimator *e, double per_word)
{
    if (!(per_word > 0 && per_word <= 1))
        return 0;
    for (uint32_t i = e->n_rates; i-- > 0;)
        if (e->rates[i].lambda == per_word)
            return (uint16_t)i;
    if (e->n_rates < ALQI_CLI_RATES_MAX)
        return rate_add(e, per_word);
    if (!e->has_said_too_many)
        alqi_cli_say("the trace has more than %d rates: blocks of further "
                     "ones are weighed by the trace's own",
                     ALQI_CLI_RATES_MAX);
    e->has_said_too_many = true;
    return 0;
}

/* Words of a block of a coded length, its header counted. */
static uint64_t
words_tried(const struct alqi_cli_estimator *e, uint64_t length)
{
    return e->is_bytes ? alqi_base_malloc_words(length) : length + 1;
}

/* How a block of so many words is seen at the rate. */
static struct alqi_cli_chances
chances_compute(const struct alqi_cli_rate *rate, uint64_t words)
{
    double p = rate->lambda < 1 ? -expm1((double)words * rate->log_miss) : 1;

    return (struct alqi_cli_chances){p, alqi_view_coins(p)};
}

/* The same from the table, or in `room`: valid until the next rate is added. */
static const struct alqi_cli_chances *
chances_of(struct alqi_cli_rate *rate, uint64_t words,
           struct alqi_cli_chances *room)
{
    if (words >= ALQI_CLI_P_CACHED) {
        *room = chances_compute(rate, words);
        return room;
    }
    if (rate->chances == NULL)
        rate->chances =
            alqi_cli_zeros(ALQI_CLI_P_CACHED, sizeof *rate->chances);
    if (rate->chances[words].p == 0)
        rate->chances[words] = chances_compute(rate, words);
    return &rate->chances[words];
}

/* Probability at the rate of the trace to compare with. */
static double
other_probability(const struct alqi_cli_estimator *e, uint64_t words)
{
    return e->other_lambda < 1 ? -expm1((double)words * log1p(-e->other_lambda))
                               : 1;
}

/* The block's part of the variance if nothing changed (view/significance.h
 * .def.variance). p is its probability here, q in the other trace. */
static double
null_variance(double bytes, double p, double q)
{
    return bytes * bytes * ((1 - p) / p + (1 - q) / q) / (p + q);
}

struct alqi_cli_odds
alqi_cli_odds(struct alqi_cli_estimator *e, uint16_t rate, uint64_t length)
{
    struct alqi_cli_chances room;
    uint64_t words = words_tried(e, length);

    return (struct alqi_cli_odds){words,
                                  chances_of(&e->rates[rate], words, &room)->p};
}

/* Horvitz and Thompson: the block stands for 1/p of its kind; variance and
 * third cumulant are those of its being seen or not. */
struct alqi_cli_weight
alqi_cli_weight(double bytes, double p)
{
    struct alqi_cli_weight w = {.seen_bytes = bytes, .block_bytes = bytes};

    w.objects = 1 / p;
    w.objects_var = (1 - p) / (p * p);
    w.objects_third = w.objects_var / p;
    w.bytes = bytes * w.objects;
    w.bytes_var = bytes * bytes * w.objects_var;
    w.bytes_third = bytes * w.bytes_var * w.objects;
    return w;
}

/* A weight with its null_var; q as of null_variance, or 0: there is no other
 * trace. */
static struct alqi_cli_weight
weigh(double bytes, double p, double q)
{
    struct alqi_cli_weight w = alqi_cli_weight(bytes, p);

    if (q > 0)
        w.null_var = null_variance(bytes, p, q);
    return w;
}

/* With another trace to compare with, the weight has its null_var. */
struct alqi_cli_weight
alqi_cli_weigh_sampled(struct alqi_cli_estimator *e, uint16_t rate,
                       uint64_t length)
{
    struct alqi_cli_odds odds = alqi_cli_odds(e, rate, length);

    return weigh(alqi_cli_block_bytes(e, length), odds.p,
                 e->other_lambda > 0 ? other_probability(e, odds.words) : 0);
}

/* A block that is surely seen has the whole weight in each colour. */
struct alqi_cli_weight
alqi_cli_weigh_colour(struct alqi_cli_estimator *e, uint16_t rate,
                      uint64_t length)
{
    struct alqi_cli_chances room;
    uint64_t words = words_tried(e, length);
    double q = 0;

    if (e->rates[rate].lambda >= 1 && e->other_lambda == 0)
        return alqi_cli_weigh(e, rate, length);
    if (e->other_lambda > 0)
        q = alqi_view_colour_chance(other_probability(e, words));
    return weigh(alqi_cli_block_bytes(e, length),
                 chances_of(&e->rates[rate], words, &room)->coins.next, q);
}

/* Without sampling every colour sees every block. */
unsigned
alqi_cli_colours(struct alqi_cli_estimator *e, uint16_t rate, uint64_t length,
                 uint64_t id)
{
    struct alqi_cli_chances room;

    if (e->rates[rate].lambda >= 1)
        return ALQI_VIEW_ALL_COLOURS;
    return alqi_view_colours_by(
        e->colour_seed, id,
        &chances_of(&e->rates[rate], words_tried(e, length), &room)->coins);
}

/* A word's weight in one colour: half of it is what "near" means in
 * view/peak.h. */
double
alqi_cli_colour_bytes(const struct alqi_cli_estimator *e, uint16_t rate)
{
    double lambda = e->rates[rate].lambda;

    return lambda >= 1 ? 0 : e->word_bytes / alqi_view_colour_chance(lambda);
}

void
alqi_cli_sum_join(struct alqi_cli_sum *s, const struct alqi_cli_sum *other)
{
    s->bytes += other->bytes;
    s->bytes_var += other->bytes_var;
    s->bytes_third += other->bytes_third;
    s->objects += other->objects;
    s->objects_var += other->objects_var;
    s->objects_third += other->objects_third;
    s->seen_bytes += other->seen_bytes;
    s->seen_objects += other->seen_objects;
    s->life_us += other->life_us;
    s->null_var += other->null_var;
    if (other->largest_bytes > s->largest_bytes)
        s->largest_bytes = other->largest_bytes;
    s->n_blocks += other->n_blocks;
    s->n_samples += other->n_samples;
    s->is_peak |= other->is_peak;
}

/* Rounding may leave less than nothing of a block that was in both. */
void
alqi_cli_sum_since(struct alqi_cli_sum *s, const struct alqi_cli_sum *earlier)
{
    if (s->n_blocks == earlier->n_blocks) {
        *s = (struct alqi_cli_sum){.largest_bytes = s->largest_bytes};
        return;
    }
    s->bytes -= earlier->bytes;
    s->bytes_var -= earlier->bytes_var;
    s->bytes_third -= earlier->bytes_third;
    s->objects -= earlier->objects;
    s->objects_var -= earlier->objects_var;
    s->objects_third -= earlier->objects_third;
    s->seen_bytes -= earlier->seen_bytes;
    s->seen_objects -= earlier->seen_objects;
    s->life_us -= earlier->life_us;
    s->null_var -= earlier->null_var;
    s->n_blocks -= earlier->n_blocks;
    s->n_samples -= earlier->n_samples;
}

/* From the sum over the colours to their mean: variances fall by the square.
 * The counts of blocks are not of colours, and stay. */
void
alqi_cli_sum_of_colours(struct alqi_cli_sum *s)
{
    const double n = ALQI_VIEW_COLOURS;

    s->is_peak = true;
    s->bytes /= n;
    s->bytes_var /= n * n;
    s->bytes_third /= n * n * n;
    s->objects /= n;
    s->objects_var /= n * n;
    s->objects_third /= n * n * n;
    s->seen_bytes /= n;
    s->seen_objects /= n;
    s->life_us /= n;
    s->null_var /= n * n;
}

double
alqi_cli_stderr(double variance)
{
    return variance > 0 ? sqrt(variance) : 0;
}

/* The largest weight of an unseen sample is a word at the smallest rate. */
struct alqi_view_interval
alqi_cli_bytes_interval(const struct alqi_cli_estimator *e,
                        const struct alqi_cli_sum *s)
{
    struct alqi_view_moments m = {
        .estimate = s->bytes,
        .variance = s->bytes_var,
        .third = s->bytes_third,
        .seen = s->seen_bytes,
        .most = alqi_cli_is_sampled(e) ? e->word_bytes / e->least_lambda : 0,
        .peak = s->is_peak ? 1 + e->peak_lack : 0,
        .part = e->peak_bytes > 0 ? s->bytes / e->peak_bytes : 0,
    };

    return alqi_view_interval(&m);
}

/* The largest weight of an unseen sample is that of the smallest block. */
struct alqi_view_interval
alqi_cli_objects_interval(const struct alqi_cli_estimator *e,
                          const struct alqi_cli_sum *s)
{
    struct alqi_view_moments m = {
        .estimate = s->objects,
        .variance = s->objects_var,
        .third = s->objects_third,
        .seen = s->seen_objects,
        .most = alqi_cli_is_sampled(e)
                    ? alqi_view_least_weight(e->least_lambda, e->is_bytes)
                    : 0,
        .peak = s->is_peak ? 1 + e->peak_lack : 0,
        .part = e->peak_bytes > 0 ? s->bytes / e->peak_bytes : 0,
    };

    return alqi_view_interval(&m);
}

double
alqi_cli_mean_life_us(const struct alqi_cli_sum *s)
{
    return s->objects > 0 ? s->life_us / s->objects : 0;
}
