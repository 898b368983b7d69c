#include "limit_kit.h"

struct alq_limits
limit_words(uint64_t n)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = n;
    return l;
}

struct alq_limits
limit_sampled(uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.sampled_words = words;
    return l;
}

struct alq_limits
limit_token(struct alq_token *token)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.token = token;
    return l;
}

enum alq_status
make_blocks(struct alq_domain *on, void *arg)
{
    struct alloc *a = arg;

    for (a->made = 0; a->made < a->n; a->made++)
        if (alq_is_null(alq_alloc(on, a->wosize, 0)))
            return alq_status_of(on);
    return ALQ_OK;
}

enum alq_status
make_pairs(struct alq_domain *on, void *arg)
{
    struct alloc *a = arg;
    uint64_t n = a->n, i;

    for (i = 0; i < n; i++) {
        alq_value v = alq_alloc_small(on, 2, 0);

        if (alq_is_null(v))
            break;
        alq_init_small(v, 0, ALQ_UNIT);
        alq_init_small(v, 1, ALQ_UNIT);
    }
    a->made = i;
    return i < n ? alq_status_of(on) : ALQ_OK;
}

enum alq_status
do_nothing(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    return ALQ_OK;
}

enum alq_status
poll_for_ever(struct alq_domain *on, void *arg)
{
    uint64_t *n = arg;

    for (*n = 0; alq_status_of(on) == ALQ_OK; ++*n)
        alq_poll(on);
    return alq_status_of(on);
}
