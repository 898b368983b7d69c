/* estimate.c -- see estimate.h */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "cli/estimate.h"

enum { BITS_OF_BYTE_TRACE = 8 };

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
    e->log_miss = e->lambda < 1 ? log1p(-e->lambda) : -HUGE_VAL;
    e->interval_bytes = e->word_bytes / e->lambda;
}

static uint64_t
words_tried(const struct alqi_cli_estimator *e, uint64_t length)
{
    return e->is_bytes ? alqi_base_malloc_words(length) : length + 1;
}

double
alqi_cli_block_bytes(const struct alqi_cli_estimator *e, uint64_t length)
{
    if (e->is_bytes)
        return (double)length;
    return ((double)length + 1) * e->word_bytes;
}

static double
probability(struct alqi_cli_estimator *e, uint64_t words)
{
    double p;

    if (e->lambda >= 1)
        return 1;
    if (words < ALQI_CLI_P_CACHED && e->p[words] > 0)
        return e->p[words];
    p = -expm1((double)words * e->log_miss);
    if (words < ALQI_CLI_P_CACHED)
        e->p[words] = p;
    return p;
}

struct alqi_cli_weight
alqi_cli_weigh(struct alqi_cli_estimator *e, uint64_t length)
{
    double bytes = alqi_cli_block_bytes(e, length);
    double p = probability(e, words_tried(e, length));
    struct alqi_cli_weight w;

    w.objects = 1 / p;
    w.objects_var = (1 - p) / (p * p);
    w.bytes = bytes * w.objects;
    w.bytes_var = bytes * bytes * w.objects_var;
    return w;
}

void
alqi_cli_sum_add(struct alqi_cli_sum *s, const struct alqi_cli_weight *w,
                 double life_us, uint64_t n_samples)
{
    s->bytes += w->bytes;
    s->bytes_var += w->bytes_var;
    s->objects += w->objects;
    s->objects_var += w->objects_var;
    s->life_us += life_us * w->objects;
    s->n_blocks++;
    s->n_samples += n_samples;
}

void
alqi_cli_sum_join(struct alqi_cli_sum *s, const struct alqi_cli_sum *other)
{
    s->bytes += other->bytes;
    s->bytes_var += other->bytes_var;
    s->objects += other->objects;
    s->objects_var += other->objects_var;
    s->life_us += other->life_us;
    s->n_blocks += other->n_blocks;
    s->n_samples += other->n_samples;
}

double
alqi_cli_stderr(double variance)
{
    return variance > 0 ? sqrt(variance) : 0;
}

double
alqi_cli_mean_life_us(const struct alqi_cli_sum *s)
{
    return s->objects > 0 ? s->life_us / s->objects : 0;
}
