/* scripted_heap.c -- see scripted_heap.h */
#include <string.h>

#include "kits/limit/scripted_heap.h"

struct scripted h;

static uint64_t
heap_words(void *heap)
{
    (void)heap;
    return h.words;
}

static uint64_t
heap_bytes(void *heap)
{
    (void)heap;
    return h.bytes;
}

static void
heap_collect(void *heap, enum alqi_limit_collection what)
{
    (void)heap;
    h.n_collected[what]++;
    if (what == ALQI_LIMIT_SHRINK && h.bytes > h.bytes_live)
        h.bytes = h.bytes_live;
    for (unsigned i = 0; i < h.n_charges; i++)
        if (h.dies_in[i] == what && h.charges[i] != NULL) {
            alqi_limit_charge_end(h.charges[i]);
            h.charges[i] = NULL;
        }
}

static enum alq_status
charge_begin(void *heap, uint64_t interval_words, uint64_t seed)
{
    (void)heap;
    (void)seed;
    h.interval = interval_words;
    h.n_charging++;
    return ALQ_OK;
}

static void
charge_end(void *heap)
{
    (void)heap;
    h.n_charging--;
}

static void
heap_changed(void *heap)
{
    (void)heap;
}

void
heap_wake(void *heap)
{
    (void)heap;
    __atomic_store_n(&h.is_woken, true, __ATOMIC_SEQ_CST);
}

static void *
heap_mark(void *heap)
{
    (void)heap;
    return (void *)(intptr_t)h.depth;
}

static void
heap_cut(void *heap, void *mark)
{
    (void)heap;
    h.depth = (int)(intptr_t)mark;
}

static void
wake_all(void)
{
    heap_wake(NULL);
}

static const struct alqi_limit_subject subject = {
    heap_words,   heap_bytes, heap_collect, charge_begin, charge_end,
    heap_changed, heap_wake,  heap_mark,    heap_cut,
};

static int
start(void **state)
{
    (void)state;
    memset(&h, 0, sizeof h);
    memset(&h.t, 0xa5, sizeof h.t); /* where it stands something was */
    alqi_limit_thread_init(&h.t, &subject, &h);
    alqi_limit_wake_all_sigsafe = wake_all;
    return 0;
}

/* As a heap does: it asks only where it must. */
enum alq_status
ask(uint64_t words)
{
    if (__atomic_exchange_n(&h.is_woken, false, __ATOMIC_SEQ_CST) ||
        h.t.asks_each_time ||
        (words > 0 && h.words + words > h.t.trigger_words)) {
        h.n_asked++;
        return alqi_limit_permit(&h.t, words);
    }
    return ALQ_OK;
}

enum alq_status
allocate(uint64_t words)
{
    enum alq_status status = ask(words);

    if (status == ALQ_OK)
        h.words += words;
    return status;
}

enum alq_status
poll_now(void)
{
    return ask(0);
}

void
sample(void)
{
    alqi_limit_sampled(&h.t, 1, SAMPLE_WORDS);
}

struct alqi_limit_frame
none(void)
{
    return (struct alqi_limit_frame){0};
}

void
open_words(struct alqi_limit_frame *f, uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = words;
    assert_int_equal(alqi_limit_open(&h.t, f, &l, true), ALQ_OK);
}

void
open_sampled(struct alqi_limit_frame *f, uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.sampled_words = words;
    assert_int_equal(alqi_limit_open(&h.t, f, &l, true), ALQ_OK);
}

int
scripted_run(const char *group, const struct CMUnitTest *tests, size_t n)
{
    struct CMUnitTest all[64];

    assert_true(n <= ALQI_COUNT_OF(all));
    for (size_t i = 0; i < n; i++) {
        all[i] = tests[i];
        all[i].setup_func = start;
    }
    return _cmocka_run_group_tests(group, all, n, NULL, NULL);
}
