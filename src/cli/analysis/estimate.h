/* estimate.h -- from a sampled block to what it stands for
 *
 * Each word of a block, its header word counted, is sampled with probability
 * lambda; the block is seen with p = 1 - (1 - lambda)^words. A block that was
 * seen therefore stands for 1/p blocks and bytes/p bytes, and adds (1 - p)/p^2
 * (times bytes^2) to the variance. Every block is weighted first and summed
 * then: weighting sums of blocks of mixed sizes is biased.
 *
 * A recording may change its rate as it runs: each block is weighted by the
 * rate that sampled it, and the caller keeps the number of that rate with the
 * block. */
#ifndef ALQI_CLI_ANALYSIS_ESTIMATE_H
#define ALQI_CLI_ANALYSIS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "view/interval.h"
#include "view/peak.h"
#include "wire/ctf.h"

enum { ALQI_CLI_P_CACHED = 2048, ALQI_CLI_RATES_MAX = 65535 };

/* How blocks of some words are seen. */
struct alqi_cli_chances {
    /* that a block is seen */
    double p;
    /* in which colours */
    struct alqi_view_coins coins;
};

/* One sampling rate. */
struct alqi_cli_rate {
    /* samples for each word tried; 1 when the rate is unusable */
    double lambda;
    double log_miss; /* log(1 - lambda) */
    /* [ALQI_CLI_P_CACHED], by words; p of 0: not computed yet; NULL before the
     * first use */
    struct alqi_cli_chances *chances;
};

/* The rates of a trace, and how it counts. */
struct alqi_cli_estimator {
    /* of the trace's own rate, the largest */
    double lambda;
    /* mean bytes between two samples at that rate */
    double interval_bytes;
    /* the smallest of any rate that was used */
    double least_lambda;
    /* of the colours (view/peak.h) */
    uint64_t colour_seed;
    /* by what share of it the peak may lie above its estimate (churn.h); 0
     * until the trace has been read */
    double peak_lack;
    /* that estimate */
    double peak_bytes;
    /* of the trace to compare with; 0: there is none */
    double other_lambda;
    /* false: the header's rate is not in (0, 1] */
    bool has_rate;
    /* lengths are bytes (a malloc trace), else words */
    bool is_bytes;
    /* bytes of a word of the recorded program */
    unsigned word_bytes;
    /* by number; the trace's own is number 0 */
    struct alqi_cli_rate *rates;
    uint32_t n_rates, rates_capacity;
    /* the warning has been printed */
    bool has_said_too_many;
};

/* What one sampled block contributes. */
struct alqi_cli_weight {
    /* estimate, variance, third cumulant (view/interval.h) */
    double bytes, bytes_var, bytes_third;
    /* the same, of blocks */
    double objects, objects_var, objects_third;
    /* its own bytes: they are certain */
    double seen_bytes;
    /* the same; 0 where nothing is sampled */
    double block_bytes;
    /* variance if nothing changed (view/significance.h); 0 without
     * other_lambda */
    double null_var;
};

/* Estimates with the variance of each, and the raw counts behind them. */
struct alqi_cli_sum {
    /* estimate, variance, third cumulant (view/interval.h) */
    double bytes, bytes_var, bytes_third;
    /* the same, of blocks */
    double objects, objects_var, objects_third;
    /* of the sampled blocks themselves: certain */
    double seen_bytes, seen_objects;
    /* lifetimes, each weighted as objects are */
    double life_us;
    /* of one block; only where some were left out */
    double largest_bytes;
    /* variance if nothing changed (view/significance.h) */
    double null_var;
    /* sampled blocks */
    uint64_t n_blocks;
    /* samples in those blocks */
    uint64_t n_samples;
    /* what was live at the peak */
    bool is_peak;
};

void alqi_cli_estimator_init(struct alqi_cli_estimator *estimator,
                             const struct alqi_ctf_info *info);
void alqi_cli_estimator_free(struct alqi_cli_estimator *estimator);

/* The number of a rate, samples per 8-byte word, for blocks that follow; the
 * trace's own when it is none, or when there are too many (said once). */
uint16_t alqi_cli_estimator_rate(struct alqi_cli_estimator *estimator,
                                 double per_word);

/* Whether figures are estimates: some rate leaves blocks out. */
static inline bool
alqi_cli_is_sampled(const struct alqi_cli_estimator *e)
{
    return e->least_lambda < 1;
}

/* Bytes of a block of a coded length, header included where there is one. */
static inline double
alqi_cli_block_bytes(const struct alqi_cli_estimator *estimator,
                     uint64_t length)
{
    if (estimator->is_bytes)
        return (double)length;
    return ((double)length + 1) * estimator->word_bytes;
}

/* How a block of a coded length is sampled. */
struct alqi_cli_odds {
    /* words tried */
    uint64_t words;
    /* that the block is seen */
    double p;
};

struct alqi_cli_odds alqi_cli_odds(struct alqi_cli_estimator *estimator,
                                   uint16_t rate, uint64_t length);

/* Of a block of so many bytes that is seen with probability p. */
struct alqi_cli_weight alqi_cli_weight(double bytes, double p);

struct alqi_cli_weight
alqi_cli_weigh_sampled(struct alqi_cli_estimator *estimator, uint16_t rate,
                       uint64_t length);

/* The same of a colour that sees it (view/peak.h). */
struct alqi_cli_weight
alqi_cli_weigh_colour(struct alqi_cli_estimator *estimator, uint16_t rate,
                      uint64_t length);
/* The colours of the block with that number. */
unsigned alqi_cli_colours(struct alqi_cli_estimator *estimator, uint16_t rate,
                          uint64_t length, uint64_t id);
/* Bytes that a small block stands for in one colour; 0 without sampling. */
double alqi_cli_colour_bytes(const struct alqi_cli_estimator *estimator,
                             uint16_t rate);

/* What a block stands for that is seen for certain: itself. */
static inline struct alqi_cli_weight
alqi_cli_weigh_certain(const struct alqi_cli_estimator *estimator,
                       uint64_t length)
{
    return (struct alqi_cli_weight){
        .bytes = alqi_cli_block_bytes(estimator, length),
        .objects = 1,
        .seen_bytes = alqi_cli_block_bytes(estimator, length),
    };
}

/* What a block of a coded length stands for. */
static inline struct alqi_cli_weight
alqi_cli_weigh(struct alqi_cli_estimator *estimator, uint16_t rate,
               uint64_t length)
{
    if (estimator->rates[rate].lambda >= 1 && estimator->other_lambda == 0)
        return alqi_cli_weigh_certain(estimator, length);
    return alqi_cli_weigh_sampled(estimator, rate, length);
}

/* Inline, because exact recordings have tens of millions of blocks. */
static inline void
alqi_cli_sum_add(struct alqi_cli_sum *sum, const struct alqi_cli_weight *weight,
                 double life_us, uint64_t n_samples)
{
    sum->bytes += weight->bytes;
    sum->bytes_var += weight->bytes_var;
    sum->bytes_third += weight->bytes_third;
    sum->objects += weight->objects;
    sum->objects_var += weight->objects_var;
    sum->objects_third += weight->objects_third;
    sum->seen_bytes += weight->seen_bytes;
    sum->seen_objects += 1;
    sum->life_us += life_us * weight->objects;
    sum->null_var += weight->null_var;
    if (weight->block_bytes > sum->largest_bytes)
        sum->largest_bytes = weight->block_bytes;
    sum->n_blocks++;
    sum->n_samples += n_samples;
}

void alqi_cli_sum_join(struct alqi_cli_sum *sum,
                       const struct alqi_cli_sum *other);
/* Takes away what the sum had earlier: blocks of it alone, all of them still in
 * it. largest_bytes stays. */
void alqi_cli_sum_since(struct alqi_cli_sum *sum,
                        const struct alqi_cli_sum *earlier);
/* From what its colours stand for to their mean. */
void alqi_cli_sum_of_colours(struct alqi_cli_sum *sum);

/* One standard error. */
double alqi_cli_stderr(double variance);
/* Where the truth is (view/interval.h). */
struct alqi_view_interval
alqi_cli_bytes_interval(const struct alqi_cli_estimator *estimator,
                        const struct alqi_cli_sum *sum);
struct alqi_view_interval
alqi_cli_objects_interval(const struct alqi_cli_estimator *estimator,
                          const struct alqi_cli_sum *sum);
/* Mean lifetime of the objects in a sum; 0 of none. */
double alqi_cli_mean_life_us(const struct alqi_cli_sum *sum);

#endif
