#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kits/memprof/counting_tracker.h"

struct counted counted;
struct fake_heap heap;
struct fake_thread self;

int
counting_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct counted *s = arg;

    atomic_fetch_add(&s->samples, a->n_samples);
    atomic_fetch_add(&s->words, a->size_words + 1);
    atomic_fetch_add(&s->bytes, a->size_bytes);
    assert_int_equal(a->source, ALQ_SOURCE_MALLOC);
    assert_non_null(a->block);
    s->n_frames = a->callstack.n_frames;
    if (s->n_frames > 0)
        s->last_frame = a->callstack.frames[s->n_frames - 1];
    *data = atomic_fetch_add(&s->allocs, 1) + 1;
    return s->alloc_code;
}

static int
on_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)a;
    (void)data;
    atomic_fetch_add(&((struct counted *)arg)->minors, 1);
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    struct counted *s = arg;

    assert_true(data != 0 && data <= s->allocs);
    atomic_fetch_add(&s->deallocs, 1);
    return s->dealloc_code;
}

static int
on_dealloc_minor(void *arg, uintptr_t data)
{
    (void)data;
    atomic_fetch_add(&((struct counted *)arg)->minors, 1);
    return 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    struct counted *s = arg;

    assert_true(data != 0 && data <= s->allocs);
    atomic_fetch_add(&s->releases, 1);
}

const struct alq_tracker counting_tracker = {
    .alloc_minor = on_minor,
    .alloc_major = counting_alloc,
    .dealloc_minor = on_dealloc_minor,
    .dealloc_major = on_dealloc,
    .release = on_release,
    .arg = &counted,
};

struct alq_memprof_config
at_rate(double rate)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    c.rate = rate;
    c.seed = 7;
    return c;
}

struct alq_profile *
begin_with(const struct alq_memprof_config *config)
{
    struct alq_profile *p = NULL;

    assert_int_equal(fake_start(&self, config, &counting_tracker, &p), ALQ_OK);
    assert_non_null(p);
    return p;
}

struct alq_profile *
begin(double rate)
{
    struct alq_memprof_config c = at_rate(rate);

    return begin_with(&c);
}

int
open_all(void **state)
{
    (void)state;
    memset(&counted, 0, sizeof counted);
    counted.alloc_code = ALQ_TRACK_KEEP;
    counted.f = &self;
    fake_heap_open(&heap);
    fake_thread_open(&self, &heap, 1);
    return 0;
}

int
close_all(void **state)
{
    (void)state;
    fake_thread_close(&self);
    fake_heap_close(&heap);
    return 0;
}
