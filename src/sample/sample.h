/* sample.h -- draws: uniform, geometric skip, binomial; pure, seedable
 *
 * Each word is an independent Bernoulli(rate) trial (spec statmemprof 1.2).  A
 * *skip* is the geometric number of words up to and including the next sampled
 * one; the sampling interval 1 / rate is its mean.
 *
 * No libm, no state but the struct, not thread-safe; the same seed gives the
 * same draws on every machine. */
#ifndef ALQI_SAMPLE_SAMPLE_H
#define ALQI_SAMPLE_SAMPLE_H

#include <stdint.h>

/* A skip larger than any address space: never. */
#define ALQI_SAMPLE_NEVER_WORDS ((uint64_t)1 << 62)

struct alqi_sample_rng {
    uint64_t s[4]; /* xoshiro256++ */
};

struct alqi_sample_dist {
    double rate;           /* in [0, 1]                                */
    double inv_log1m_rate; /* 1 / ln(1 - rate); 0 at rate 1; -0 = never */
};

void alqi_sample_seed(struct alqi_sample_rng *rng, uint64_t seed);

uint64_t alqi_sample_uniform(struct alqi_sample_rng *rng);

/* False when rate is NaN, negative or above 1; -0.0 is 0. */
int alqi_sample_dist_set(struct alqi_sample_dist *dist, double rate);

/* Draws a skip: >= 1; 1 at rate 1; ALQI_SAMPLE_NEVER_WORDS at rate 0 and as the
 * clamp. */
uint64_t alqi_sample_skip_words(struct alqi_sample_rng *rng,
                                const struct alqi_sample_dist *dist);

/* The chance that one word or more of so many is sampled: 1 - (1 - rate)^words,
 * with relative accuracy also where it is near 0. */
double alqi_sample_chance(const struct alqi_sample_dist *dist, uint64_t words);

/* Bytes that a sampled block of `words` stands for: its own divided by the
 * chance of a sample; INT64_MAX at most. */
uint64_t alqi_sample_weight(const struct alqi_sample_dist *dist, uint64_t words,
                            uint64_t size_bytes);

/* Draws the successes among n trials.  The exact distribution; O(1) expected
 * time in n. */
uint64_t alqi_sample_binomial(struct alqi_sample_rng *rng,
                              const struct alqi_sample_dist *dist, uint64_t n);

#endif
