/* samples.c -- the sampled words of a task, drawn by limits themselves
 *
 * .inv.own    Each word that a thread allocates while samples count is sampled
 *             with the same chance, by its position alone: neither collections
 *             nor profiles take part, so a seed replays a task.
 * .inv.asked  The thread asks for the block that has a sampled word before the
 *             block exists.  Words that it cannot ask for (finalisers,
 *             callbacks) are counted when it next asks.
 * .inv.had    Samples of a refused block reach frames, and their outcomes have
 *             them, but they are not counted: no frame is charged for a block
 *             that was not made. */
#include "base/base.h"
#include "limit/internal.h"
#include "plat/plat.h"

static struct alqi_sample_dist
sample_dist(const struct alqi_limit_thread *t)
{
    struct alqi_sample_dist dist;

    alqi_sample_dist_set(&dist, t->subject->sample_rate);
    return dist;
}

/* The position of the next sampled word, if those up to `at` are known. */
static uint64_t
next_after(struct alqi_limit_thread *t, uint64_t at)
{
    const struct alqi_sample_dist dist = sample_dist(t);

    return alqi_limit_end_of(
        at, alqi_sample_skip_words(alqi_limit_rng(t), &dist), NONE);
}

void
alqi_limit_samples_count(struct alqi_limit_thread *t, bool counts)
{
    if (counts && !t->counts_samples)
        t->sampled_at = next_after(t, alqi_limit_words_now(t));
    t->counts_samples = counts;
}

struct alqi_sample_rng *
alqi_limit_rng(struct alqi_limit_thread *t)
{
    if (!t->is_seeded)
        alqi_limit_seed(t, alqi_plat_entropy());
    return &t->rng;
}

void
alqi_limit_seed(struct alqi_limit_thread *t, uint64_t with)
{
    alqi_sample_seed(&t->rng, with);
    t->is_seeded = true;
    if (t->counts_samples)
        t->sampled_at = next_after(t, alqi_limit_words_now(t));
}

uint64_t
alqi_limit_samples_until(struct alqi_limit_thread *t, uint64_t end)
{
    struct alqi_sample_dist dist;
    uint64_t n;

    if (t->sampled_at > end)
        return 0;
    dist = sample_dist(t);
    n = 1 + alqi_sample_binomial(alqi_limit_rng(t), &dist, end - t->sampled_at);
    t->sampled_at = next_after(t, end);
    return n;
}

/* ---- what they reach ----------------------------------------------------- */

static uint64_t
sum_with(const struct alqi_limit_thread *t, uint64_t n, uint64_t interval_words)
{
    uint64_t words = n < NONE / interval_words ? n * interval_words : NONE;

    return words < NONE - t->sampled_words ? t->sampled_words + words : NONE;
}

/* Marks every frame whose limit so many sampled words reach.  The frame keeps
 * the number for its outcome: the thread may not come to count them
 * (.inv.had). */
static void
reach_all(struct alqi_limit_thread *t, uint64_t sampled_words)
{
    for (struct alqi_limit_frame *f = t->innermost; f != NULL; f = f->outer)
        if (f->sampled_words.is_own && f->cause == ALQ_LIMIT_NOT &&
            sampled_words >= f->sampled_words.end) {
            f->reached_sampled = sampled_words;
            alqi_limit_frame_reach(f, ALQ_LIMIT_SAMPLED);
        }
    alqi_limit_update_trigger(t);
}

void
alqi_limit_sampled(struct alqi_limit_thread *t, uint64_t n,
                   uint64_t interval_words)
{
    if (!t->counts_samples)
        return;
    t->sampled_words = sum_with(t, n, interval_words);
    reach_all(t, t->sampled_words);
}

/* Whether the task may have a block with n samples, which are not counted yet.
 * If the task was to fail before, it has failed already. */
static enum alq_status
afford(struct alqi_limit_thread *t, uint64_t n, uint64_t words)
{
    uint32_t n_reached = t->n_reached;

    reach_all(t, sum_with(t, n, ALQ_LIMIT_INTERVAL_WORDS));
    return t->n_reached > n_reached ? alqi_limit_deliver(t, words) : ALQ_OK;
}

/* If on_limit allocates, or the task is left, the next sampled word is where it
 * is without the block. */
enum alq_status
alqi_limit_samples_charge(struct alqi_limit_thread *t, uint64_t words)
{
    uint64_t now = alqi_limit_words_now(t), n;
    enum alq_status status;

    if (!t->counts_samples || words == 0)
        return ALQ_OK;
    n = alqi_limit_samples_until(t, now + words);
    if (n == 0)
        return ALQ_OK;
    t->sampled_at -= words;
    status = afford(t, n, words);
    if (status == ALQ_OK) {
        t->sampled_words = sum_with(t, n, ALQ_LIMIT_INTERVAL_WORDS);
        t->sampled_at += words;
    }
    alqi_limit_update_trigger(t);
    return status;
}

enum alq_status
alqi_limit_outside(struct alqi_limit_thread *t, uint64_t words,
                   uint64_t *samples)
{
    struct alqi_sample_dist dist;
    enum alq_status status = ALQ_OK;

    *samples = 0;
    if (!t->counts_samples)
        return ALQ_OK;
    dist = sample_dist(t);
    *samples = alqi_sample_binomial(alqi_limit_rng(t), &dist, words);
    if (*samples > 0)
        status = afford(t, *samples, 0);
    if (status != ALQ_OK)
        *samples = 0;
    return status;
}
