#include "heap/pace.h"

/* Work done ahead counts no further than this: a program that allocates little
 * after a big explicit slice must not be left without collection. */
enum { CREDIT_MOST_WORDS = 1 << 20 };

static uint64_t
allocated(const struct alqi_domain *d)
{
    return d->counts.promoted_words + d->counts.direct_words;
}

static int64_t
work_for(uint64_t words, unsigned overhead)
{
    double o = overhead;

    return (int64_t)((double)words * 1.5 * (100 + o) / o *
                     (1 + 100 / (100 + o)));
}

size_t
alqi_heap_pace_begin(struct alqi_domain *d, size_t asked)
{
    d->debt_words +=
        work_for(allocated(d) - d->paid_words, d->heap->space_overhead);
    d->paid_words = allocated(d);
    d->direct_since_slice = 0;
    if (asked != 0)
        return asked;
    return d->debt_words > 0 ? (size_t)d->debt_words : 0;
}

void
alqi_heap_pace_end(struct alqi_domain *d, size_t done)
{
    d->debt_words -= (int64_t)done;
    if (d->debt_words < -(int64_t)CREDIT_MOST_WORDS)
        d->debt_words = -(int64_t)CREDIT_MOST_WORDS;
}

void
alqi_heap_pace_reset(struct alqi_domain *d)
{
    d->debt_words = 0;
    d->paid_words = allocated(d);
}
