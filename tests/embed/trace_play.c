/* trace_play.c -- see trace_play.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_play.h"

static char dir[] = "/tmp/aliquot-trace-XXXXXX";
uint64_t seed;

uint64_t
rnd(uint64_t below)
{
    seed += UINT64_C(0x9E3779B97F4A7C15);
    return alqi_base_mix(seed) % below;
}

const char *
path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* ---- the heap that is played -------------------------------------------- */

struct alq_domain fake_domain;
_Thread_local uint64_t self = 1; /* domain */
struct alq_tracker tracker;
struct alq_memprof_config started;
enum alq_status start_status; /* of the profile */
unsigned n_running;           /* profiles */
const struct alq_listener *listener;
uint64_t clock_ns; /* added to the real one */
long fail_in;      /* allocations until one fails; negative: none does */

enum alq_status __wrap_alq_memprof_start(struct alq_domain *d,
                                         const struct alq_memprof_config *c,
                                         const struct alq_tracker *t,
                                         struct alq_profile **out);
enum alq_status __wrap_alq_profile_stop(struct alq_profile *p);
enum alq_status __wrap_alq_memprof_discard(struct alq_profile *p);
enum alq_status __wrap_alq_memprof_flush(struct alq_domain *d, int *code);
void __wrap_alq_profile_drop(struct alq_profile *p);
void __wrap_alq_profile_counts(const struct alq_profile *p,
                               struct alq_memprof_counts *out);
struct alq_domain *__wrap_alq_domain_self(void);
uint64_t __wrap_alq_domain_id(const struct alq_domain *d);
enum alq_status __wrap_alq_listener_add(struct alq_domain *d,
                                        const struct alq_listener *l);
enum alq_status __wrap_alq_listener_remove(struct alq_domain *d,
                                           const struct alq_listener *l);
uint64_t __real_alqi_plat_mono_ns_sigsafe(void);
uint64_t __wrap_alqi_plat_mono_ns_sigsafe(void);
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);

enum alq_status
__wrap_alq_memprof_start(struct alq_domain *d,
                         const struct alq_memprof_config *c,
                         const struct alq_tracker *t, struct alq_profile **out)
{
    assert_ptr_equal(d, &fake_domain);
    if (start_status != ALQ_OK)
        return start_status;
    started = *c;
    tracker = *t;
    n_running++;
    *out = (struct alq_profile *)&tracker;
    return ALQ_OK;
}

enum alq_status
__wrap_alq_profile_stop(struct alq_profile *p)
{
    assert_ptr_equal(p, &tracker);
    return ALQ_OK;
}

enum alq_status
__wrap_alq_memprof_discard(struct alq_profile *p)
{
    assert_ptr_equal(p, &tracker);
    n_running--;
    return ALQ_OK;
}

enum alq_status
__wrap_alq_memprof_flush(struct alq_domain *d, int *code)
{
    (void)d;
    (void)code;
    return ALQ_OK;
}

void
__wrap_alq_profile_drop(struct alq_profile *p)
{
    (void)p;
}

void
__wrap_alq_profile_counts(const struct alq_profile *p,
                          struct alq_memprof_counts *out)
{
    (void)p;
    *out = (struct alq_memprof_counts){.dropped_cap = 11};
}

struct alq_domain *
__wrap_alq_domain_self(void)
{
    return (struct alq_domain *)(uintptr_t)(self * 16);
}

uint64_t
__wrap_alq_domain_id(const struct alq_domain *d)
{
    return (uintptr_t)d / 16;
}

enum alq_status
__wrap_alq_listener_add(struct alq_domain *d, const struct alq_listener *l)
{
    assert_ptr_equal(d, &fake_domain);
    assert_null(listener);
    listener = l;
    return ALQ_OK;
}

enum alq_status
__wrap_alq_listener_remove(struct alq_domain *d, const struct alq_listener *l)
{
    (void)d;
    if (listener != l)
        return ALQ_EINVAL;
    listener = NULL;
    return ALQ_OK;
}

uint64_t
__wrap_alqi_plat_mono_ns_sigsafe(void)
{
    return __real_alqi_plat_mono_ns_sigsafe() +
           __atomic_load_n(&clock_ns, __ATOMIC_RELAXED);
}

static bool
does_fail(void)
{
    return fail_in >= 0 && fail_in-- == 0;
}

void *
__wrap_malloc(size_t n)
{
    return does_fail() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return does_fail() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *old, size_t n)
{
    return does_fail() ? NULL : __real_realloc(old, n);
}

/* ---- what the program's frames are called ------------------------------- */

static size_t
no_walk(void *arg, struct alq_domain *d, uintptr_t *frames, size_t max_frames)
{
    (void)arg;
    (void)d;
    (void)frames;
    (void)max_frames;
    return 0;
}

void
name_of(uintptr_t frame, char name[32])
{
    snprintf(name, 32, "function %zx", frame);
}

size_t
describe(void *arg, uintptr_t frame, struct alq_location *out, size_t max)
{
    static _Thread_local char name[32];

    (void)arg;
    assert_true(max >= 2);
    name_of(frame, name);
    out[0] = (struct alq_location){"outer", "inlined.scm", 3, 4, 5};
    out[1] = (struct alq_location){name, "program.scm",
                                   (unsigned)(frame % 1000), 1, 2};
    return frame % 3 == 0 ? 2 : (out[0] = out[1], 1);
}

/* As alq_stack_source_set, of a domain that is none. */
void
source_set(size_t (*fn)(void *, uintptr_t, struct alq_location *, size_t))
{
    static struct alq_domain *d;
    struct alq_stack_source source = {.walk = no_walk, .describe = fn};

    if (d == NULL)
        assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
    assert_int_equal(alq_stack_source_set(d, fn != NULL ? &source : NULL),
                     ALQ_OK);
}

/* ---- playing ------------------------------------------------------------ */

struct block blocks[BLOCKS_MAX];
size_t n_blocks;

int
play_alloc(bool is_minor, enum alq_source source, uint64_t words,
           uint64_t n_samples, const uintptr_t *frames, size_t n_frames)
{
    struct alq_allocation a = {
        .n_samples = n_samples,
        .size_words = words,
        .size_bytes = words * 8,
        .source = source,
        .callstack = {frames, n_frames},
    };
    struct block *b = &blocks[n_blocks];
    int kept;

    assert_in_range(n_blocks, 0, BLOCKS_MAX - 1);
    kept = (is_minor ? tracker.alloc_minor : tracker.alloc_major)(tracker.arg,
                                                                  &a, &b->data);
    if (kept == ALQ_TRACK_KEEP) {
        b->is_minor = is_minor;
        b->is_live = true;
        n_blocks++;
    }
    return kept;
}

void
play_promote(struct block *b)
{
    if (b->is_minor && tracker.promote(tracker.arg, &b->data) != ALQ_TRACK_KEEP)
        b->is_live = false;
    b->is_minor = false;
}

void
play_collect(struct block *b)
{
    (b->is_minor ? tracker.dealloc_minor : tracker.dealloc_major)(tracker.arg,
                                                                  b->data);
    b->is_live = false;
}

void
play_one(void)
{
    static const uintptr_t frames[] = {0x70, 0x50, 0x30, 0x10};

    play_alloc(true, ALQ_SOURCE_NORMAL, 3, 1, frames, 4);
}

size_t
random_stack(uintptr_t *frames)
{
    size_t n = rnd(FRAMES_MAX);

    for (size_t i = 0; i < n; i++)
        frames[n - 1 - i] = 0x1000 + i * 16 + rnd(i < 4 ? 2 : 5);
    return n;
}

void
begin(const char *path, unsigned format)
{
    struct alq_trace_config c = {
        .path = path, .rate = 0.01, .format = format, .context = "played"};

    n_blocks = 0;
    seed = 7;
    assert_int_equal(alq_trace_start_with(&fake_domain, &c), ALQ_OK);
}

void
compare_counts(const struct read_trace *t, const struct alq_trace_counts *c)
{
    assert_true(t->n_allocs == c->allocations);
    assert_true(t->n_promotes == c->promotions);
    assert_true(t->n_collects == c->collections);
    assert_true(t->n_samples == c->n_samples);
}

int
setup(void **state)
{
    (void)state;
    fail_in = -1;
    return mkdtemp(dir) == NULL;
}

int
teardown(void **state)
{
    char command[100];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}
