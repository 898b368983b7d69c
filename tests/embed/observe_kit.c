/* observe_kit.c -- see observe_kit.h */
#include "base/base.h"
#include "observe_kit.h"

struct alq_domain *domain;
struct heard heard;

int
setup(void **state)
{
    struct alq_domain_config config = {.minor_words = 8192};

    (void)state;
    return alq_domain_new(&config, &domain) != ALQ_OK;
}

int
teardown(void **state)
{
    (void)state;
    alq_domain_drop(domain);
    return 0;
}

struct alq_gc_counts
counts(void)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(domain, &c), ALQ_OK);
    return c;
}

/* ---- a program ---------------------------------------------------------- */

enum { KEPT = 500 };

void
churn(unsigned n)
{
    ALQ_FRAME(domain, f, kept, list, text);
    static uint64_t seed = 5;
    unsigned i;

    n /= LESS;
    f.kept = alq_alloc(domain, KEPT, 0);
    for (i = 0; i < n; i++) {
        seed = alqi_base_mix(seed + 1);
        f.list = alq_field(f.kept, seed % KEPT);
        if (seed >> 32 & 1)
            f.list = ALQ_UNIT;
        f.text = alq_alloc_string(domain, seed >> 33 & 63);
        alq_value pair = alq_alloc_small(domain, 2, 0);
        alq_init_small(pair, 0, f.text);
        alq_init_small(pair, 1, f.list);
        alq_store(domain, f.kept, seed % KEPT, pair);
        if (i % 1000 == 999)
            alq_store(domain, f.kept, seed % KEPT, alq_alloc(domain, 300, 0));
    }
}

/* ---- who listens -------------------------------------------------------- */

void
hear(void *arg, const struct alq_event *event)
{
    struct heard *h = arg;

    if (h->n < HEARD_MAX)
        h->events[h->n] = *event;
    h->n++;
}

void
listen(uint64_t kinds)
{
    heard.listener = (struct alq_listener){hear, &heard, kinds};
    heard.n = 0;
    assert_int_equal(alq_listener_add(domain, &heard.listener), ALQ_OK);
}

void
listen_no_more(void)
{
    assert_int_equal(alq_listener_remove(domain, &heard.listener), ALQ_OK);
    assert_true(heard.n <= HEARD_MAX);
}

unsigned
track_of(const struct alq_event *e)
{
    return e->domain == ALQ_EVENT_HEAP ? 0 : 1 + e->domain;
}
