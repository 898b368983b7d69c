#include <stdlib.h>
#include <string.h>

#include "profile_kit.h"

#define MUST(e)                                                                \
    ((e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e)) /* any thread */

static uint64_t
count(uint64_t *n)
{
    return __atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static int
event(struct log *log, char what, int answer)
{
    uint64_t n = count(&log->n_events);

    if (n <= LOG_EVENTS)
        log->order[n - 1] = what;
    if (log->act != NULL)
        log->act(log);
    return n == log->fail_at ? LOG_CODE : answer;
}

static void
change(struct log *log, uintptr_t data, enum log_state from, enum log_state to)
{
    enum log_state was;

    MUST(data >= 1 &&
         data <= __atomic_load_n(&log->n_blocks, __ATOMIC_RELAXED));
    was = __atomic_exchange_n(&log->block[data].state, to, __ATOMIC_RELAXED);
    MUST(was == from);
}

static int
born(struct log *log, const struct alq_allocation *a, uintptr_t *data,
     enum log_state state, char what)
{
    uint64_t i = count(&log->n_blocks);
    int answer;

    MUST(i < LOG_BLOCKS && a->n_samples >= 1);
    MUST(a->size_bytes == 8 * a->size_words);
    log->block[i].n_samples = a->n_samples;
    log->block[i].size_words = a->size_words;
    log->block[i].source = a->source;
    __atomic_add_fetch(&log->n_words, a->n_samples, __ATOMIC_RELAXED);
    __atomic_add_fetch(&log->n_of_source[a->source], a->n_samples,
                       __ATOMIC_RELAXED);
    if (a->callstack.n_frames >
        __atomic_load_n(&log->n_frames, __ATOMIC_RELAXED))
        __atomic_store_n(&log->n_frames, a->callstack.n_frames,
                         __ATOMIC_RELAXED);
    answer = event(log, what, log->answer);
    __atomic_store_n(&log->block[i].state, answer > 0 ? state : LOG_OVER,
                     __ATOMIC_RELAXED);
    *data = i;
    return answer;
}

static int
alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct log *log = arg;

    count(&log->n_alloc_minor);
    return born(log, a, data, LOG_MINOR, 'a');
}

static int
alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct log *log = arg;

    count(&log->n_alloc_major);
    return born(log, a, data, LOG_MAJOR, 'A');
}

static int
promote(void *arg, uintptr_t *data)
{
    struct log *log = arg;
    int answer;

    count(&log->n_promote);
    change(log, *data, LOG_MINOR, LOG_MAJOR);
    answer = event(log, 'p', log->promote_answer);
    return answer;
}

static int
dealloc_minor(void *arg, uintptr_t data)
{
    struct log *log = arg;

    count(&log->n_dealloc_minor);
    change(log, data, LOG_MINOR, LOG_OVER);
    return event(log, 'd', 0);
}

static int
dealloc_major(void *arg, uintptr_t data)
{
    struct log *log = arg;

    count(&log->n_dealloc_major);
    change(log, data, LOG_MAJOR, LOG_OVER);
    return event(log, 'D', 0);
}

static void
release(void *arg, uintptr_t data)
{
    struct log *log = arg;
    enum log_state was;

    count(&log->n_release);
    was = __atomic_exchange_n(&log->block[data].state, LOG_OVER,
                              __ATOMIC_RELAXED);
    MUST(was == LOG_MINOR || was == LOG_MAJOR);
}

struct log *
log_new(void)
{
    struct log *log = calloc(1, sizeof *log);

    MUST(log != NULL);
    log->answer = log->promote_answer = ALQ_TRACK_KEEP;
    return log;
}

struct alq_tracker
log_tracker(struct log *log)
{
    return (struct alq_tracker){
        alloc_minor,   alloc_major, promote, dealloc_minor,
        dealloc_major, release,     log,     0};
}

struct alq_memprof_config
log_config(double rate, unsigned flags)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    c.rate = rate;
    c.callstack_frames = 16;
    c.seed = 20261;
    c.flags = flags;
    return c;
}

struct alq_profile *
log_start(struct log *log, struct alq_domain *d, double rate, unsigned flags)
{
    struct alq_memprof_config c = log_config(rate, flags);
    struct alq_tracker t = log_tracker(log);
    struct alq_profile *p = NULL;

    MUST(alq_memprof_start(d, &c, &t, &p) == ALQ_OK);
    return p;
}

uint64_t
log_alive(const struct log *log)
{
    uint64_t n = 0;

    for (uint64_t i = 1; i <= log->n_blocks; i++)
        n += log->block[i].state != LOG_OVER && log->block[i].state != LOG_NONE;
    return n;
}
