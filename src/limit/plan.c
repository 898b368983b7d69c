/* plan.c -- see plan.h
 *
 * Each answer is the edge of a probability that only rises, or only falls, with
 * the number looked for: doubled until it is past, then halved in between. */
#include <math.h>
#include <stdbool.h>

#include "base/base.h"
#include "limit/binomial.h"
#include "limit/plan.h"

struct ask {
    uint64_t n; /* of these, what is not looked for */
    uint64_t k;
    uint64_t interval;
    double log_probability;
};

typedef bool is_past_fn(const struct ask *ask, uint64_t x);

/* The least x >= from with is_past; UINT64_MAX also if there is none. */
static uint64_t
least(const struct ask *ask, uint64_t from, is_past_fn *is_past)
{
    uint64_t step = 1;
    uint64_t low = from; /* everything below is not past */
    uint64_t high = from;

    while (high < UINT64_MAX && !is_past(ask, high)) {
        low = high + 1;
        high = step < UINT64_MAX - high ? high + step : UINT64_MAX;
        step *= 2;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (is_past(ask, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool
is_right(uint64_t interval_words, double probability)
{
    return interval_words > 0 && probability > 0 && probability < 1;
}

uint64_t
alqi_limit_samples(uint64_t limit_words, uint64_t interval_words)
{
    uint64_t k = limit_words / interval_words;

    if (limit_words % interval_words != 0)
        k++;
    return k > 0 ? k : 1;
}

/* ---- probabilities ------------------------------------------------------ */

double
alqi_limit_miss(uint64_t words, uint64_t interval_words)
{
    if (words == 0 || interval_words == 0)
        return 1;
    return exp((double)words * log1p(-1 / (double)interval_words));
}

double
alqi_limit_reached(uint64_t words, uint64_t limit_words,
                   uint64_t interval_words)
{
    if (interval_words == 0)
        return 0;
    return exp(alqi_limit_log_reached(
        words, alqi_limit_samples(limit_words, interval_words),
        interval_words));
}

/* ---- edges -------------------------------------------------------------- */

static bool
is_unsafe(const struct ask *ask, uint64_t n)
{
    return alqi_limit_log_reached(n, ask->k, ask->interval) >=
           ask->log_probability;
}

static bool
is_stopped(const struct ask *ask, uint64_t n)
{
    return alqi_limit_log_missed(n, ask->k, ask->interval) <
           ask->log_probability;
}

static bool
is_enough(const struct ask *ask, uint64_t k)
{
    return alqi_limit_log_reached(ask->n, k, ask->interval) <
           ask->log_probability;
}

uint64_t
alqi_limit_safe_words(uint64_t limit_words, uint64_t interval_words,
                      double probability)
{
    struct ask ask;

    if (!is_right(interval_words, probability))
        return 0;
    ask = (struct ask){
        .k = alqi_limit_samples(limit_words, interval_words),
        .interval = interval_words,
        .log_probability = log(probability),
    };
    return least(&ask, ask.k, is_unsafe) - 1;
}

uint64_t
alqi_limit_stop_words(uint64_t limit_words, uint64_t interval_words,
                      double probability)
{
    struct ask ask;

    if (!is_right(interval_words, probability))
        return UINT64_MAX;
    ask = (struct ask){
        .k = alqi_limit_samples(limit_words, interval_words),
        .interval = interval_words,
        .log_probability = log(probability),
    };
    return least(&ask, ask.k, is_stopped);
}

uint64_t
alqi_limit_for(uint64_t task_words, uint64_t interval_words, double probability)
{
    struct ask ask = {.n = task_words, .interval = interval_words};
    uint64_t k;

    if (!is_right(interval_words, probability))
        return 0;
    ask.log_probability = log(probability);
    k = least(&ask, 1, is_enough);
    return k <= UINT64_MAX / interval_words ? k * interval_words : 0;
}
