/* account.c -- accounts and charges (account.h)
 *
 *     account: new --charges, inner accounts--> dropped by its frame --the last
 *              reference goes--> freed
 *     charge:  new (the block is sampled) --end (it is dead)--> freed
 *
 * Words and references are atomic: any thread may end a charge.
 *
 * Keeps .inv.account. */
#include <stdlib.h>

#include <aliquot/limit.h>

#include "base/base.h"
#include "limit/account.h"

enum {
    SAMPLES = 400,
    INTERVAL_MIN = 25,
    INTERVAL_MAX = ALQ_LIMIT_INTERVAL_WORDS
};

struct alqi_limit_account {
    struct alqi_limit_account *outer;
    uint64_t words;      /* atomic */
    uint32_t references; /* atomic */
};

struct alqi_limit_charge {
    struct alqi_limit_account *account;
    uint64_t words;
};

struct alqi_limit_account *
alqi_limit_account_new(struct alqi_limit_account *outer)
{
    struct alqi_limit_account *a = malloc(sizeof *a);

    if (a == NULL)
        return NULL;
    *a = (struct alqi_limit_account){
        outer != NULL ? alqi_limit_account_keep(outer) : NULL, 0, 1};
    return a;
}

struct alqi_limit_account *
alqi_limit_account_keep(struct alqi_limit_account *a)
{
    __atomic_fetch_add(&a->references, 1, __ATOMIC_RELAXED);
    return a;
}

void
alqi_limit_account_drop(struct alqi_limit_account *a)
{
    while (a != NULL &&
           __atomic_sub_fetch(&a->references, 1, __ATOMIC_ACQ_REL) == 0) {
        struct alqi_limit_account *outer = a->outer;

        ALQI_ASSERT(a->words == 0); /* .inv.account */
        free(a);
        a = outer;
    }
}

uint64_t
alqi_limit_account_words(const struct alqi_limit_account *a)
{
    return __atomic_load_n(&a->words, __ATOMIC_RELAXED);
}

/* ---- charges ------------------------------------------------------------ */

struct alqi_limit_charge *
alqi_limit_charge_new(struct alqi_limit_account *a, uint64_t words)
{
    struct alqi_limit_charge *c = malloc(sizeof *c);

    if (c == NULL)
        return NULL;
    *c = (struct alqi_limit_charge){alqi_limit_account_keep(a), words};
    for (; a != NULL; a = a->outer)
        __atomic_fetch_add(&a->words, words, __ATOMIC_RELAXED);
    return c;
}

void
alqi_limit_charge_end(struct alqi_limit_charge *c)
{
    for (struct alqi_limit_account *a = c->account; a != NULL; a = a->outer)
        __atomic_fetch_sub(&a->words, c->words, __ATOMIC_RELAXED);
    alqi_limit_account_drop(c->account);
    free(c);
}

/* ---- planning ----------------------------------------------------------- */

uint64_t
alqi_limit_live_interval(uint64_t live_words)
{
    uint64_t interval = live_words / SAMPLES;

    return interval < INTERVAL_MIN   ? INTERVAL_MIN
           : interval > INTERVAL_MAX ? INTERVAL_MAX
                                     : interval;
}
