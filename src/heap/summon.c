/* summon.c -- see summon.h */
#include "heap/limit.h"
#include "heap/summon.h"

static alqi_heap_answer_fn *answer_of_all; /* atomic */

void
alqi_heap_summon_set(alqi_heap_answer_fn *answer)
{
    __atomic_store_n(&answer_of_all, answer, __ATOMIC_SEQ_CST);
}

void
alqi_heap_summon_sigsafe(struct alqi_domain *d)
{
    alqi_heap_limit_want(d, &d->want_answer);
}

void
alqi_heap_summon_begin(struct alqi_domain *d)
{
    /* Somebody may ask all at this moment: that is not taken back. */
    if (__atomic_load_n(&answer_of_all, __ATOMIC_SEQ_CST) != NULL)
        __atomic_store_n(&d->want_answer, true, __ATOMIC_SEQ_CST);
}

void
alqi_heap_summon_answer(struct alqi_domain *d)
{
    alqi_heap_answer_fn *answer;

    if (ALQI_LIKELY(!alqi_heap_limit_take(&d->want_answer)))
        return;
    answer = __atomic_load_n(&answer_of_all, __ATOMIC_SEQ_CST);
    if (answer != NULL)
        answer(d);
}
