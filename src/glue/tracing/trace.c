/* trace.c -- <aliquot/trace.h>: starting and ending; the environment
 *
 * A trace is filled by profiles, one after the other: each has its rate, and
 * blocks of one that is stopped go on giving callbacks.
 *
 * .inv.one    A process has one trace under way, as with memtrace.
 * .inv.switch Profiles are changed by one thread at a time, outside `turn`.
 *             While it does, they are its: a trace that ends meanwhile leaves
 *             them to it.
 * .inv.one_look  A trace that is to have a snapshot has one: who takes
 *             wants_holders back writes it, or says why there is none.
 * .inv.gone   A profile that is counted under the trace's lock is there: it is
 *             taken out of its place under it, and dropped after that.
 *
 * Keeps .inv.order (doc/design/trace.md): Nothing that runs callbacks is called
 *   within `turn`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <aliquot/observe.h>
#include <aliquot/trace.h>

#include "base/base.h"
#include "base/defaults.h"
#include "base/pattern.h"
#include "glue/join/preload.h"
#include "glue/tracing/trace.h"
#include "glue/tracing/trace_holders.h"
#include "glue/tracing/tracing.h"
#include "heap/hosted.h"
#include "wire/side.h"

/* One of the profiles; stays, as the trace does. */
struct sampling {
    struct alqi_tracing_source source; /* first: the tracker's argument */
    struct alq_profile *profile;       /* NULL: forgotten */
    struct sampling *older;
};

/* A trace; stays for good, as callbacks may come late. Written by its starter
 * before anybody sees it, but for the fields that say otherwise. */
struct trace {
    struct alqi_tracing tracing;
    struct alq_listener listener;
    struct alq_domain *d;                /* NULL: of the malloc heap */
    _Atomic(struct sampling *) sampling; /* the last one; only pushed to */
    size_t callstack_frames;             /* of its profiles */
    /* its profile samples; written within .inv.switch, read by anybody */
    atomic_bool is_sampling;
    /* .inv.one_look: a snapshot is to be taken at its end */
    atomic_bool wants_holders;
    bool is_switching;   /* .inv.switch */
    atomic_bool is_wide; /* domains may join */
    struct trace *older; /* those before it, over */
};

enum state { NONE, STARTING, UNDER_WAY, STOPPING };

static struct alqi_plat_lock turn = ALQI_PLAT_LOCK(GLUE_TURN); /* of `state` */
static enum state state;
static pid_t turn_pid; /* whose they are */
/* The latest trace; its `older` leads to those before it, which are over.
 * Changed by the thread that has made `state` STARTING. */
static struct trace *latest;

/* ---- arguments ---------------------------------------------------------- */

static bool
is_config(const struct alq_trace_config *c)
{
    return c != NULL && c->path != NULL && c->rate > 0 && c->rate <= 1 &&
           (c->format == 0 || c->format == 2 || c->format == 3) &&
           (c->holders == 0 || c->holders == 1);
}

/* A forked child has no trace; the lock may be a thread's that it has not. */
static void
turn_look(void)
{
    pid_t pid = getpid();

    if (ALQI_LIKELY(__atomic_load_n(&turn_pid, __ATOMIC_RELAXED) == pid))
        return;
    if (turn_pid != 0) {
        alqi_plat_lock_break(&turn);
        state = NONE;
        if (latest != NULL)
            latest->is_switching = false;
    }
    __atomic_store_n(&turn_pid, pid, __ATOMIC_RELAXED);
}

/* Moves the state from `from` to `to`. False: it is in another state. */
static bool
turn_take(enum state from, enum state to)
{
    bool is_mine;

    turn_look();
    alqi_plat_lock(&turn);
    is_mine = state == from;
    if (is_mine)
        state = to;
    alqi_plat_unlock(&turn);
    return is_mine;
}

/* ---- who holds what is left ---------------------------------------------- */

/* .inv.one_look */
static void
holders_write(struct trace *t, bool in_stop)
{
    if (atomic_exchange(&t->wants_holders, false))
        alqi_glue_trace_holders_write(&t->tracing, in_stop);
}

/* .inv.one_look, where nobody can look any more. */
static void
holders_miss(struct trace *t, const char *why)
{
    if (atomic_exchange(&t->wants_holders, false))
        alqi_glue_trace_holders_refuse(&t->tracing, why);
}

/* Taken, unless its holder does not come back: exit may have been called in a
 * signal handler. */
static bool
lock_for_a_second(struct alqi_plat_lock *lock)
{
    uint64_t until = alqi_plat_mono_ns_sigsafe() + UINT64_C(1000000000);
    unsigned spins = 0;

    while (!alqi_plat_lock_take_try(lock)) { /* in any order: it gives up */
        if (alqi_plat_mono_ns_sigsafe() > until)
            return false;
        alqi_plat_spin(&spins);
    }
    alqi_base_rank_note_sigsafe(alqi_plat_lock_rank(lock));
    return true;
}

/* The trace that is under way and is to have a snapshot; NULL. */
static struct trace *
holders_wanted(void)
{
    struct trace *t;

    turn_look();
    if (!lock_for_a_second(&turn))
        return NULL;
    t = state == UNDER_WAY && atomic_load(&latest->wants_holders) ? latest
                                                                  : NULL;
    alqi_plat_unlock(&turn);
    return t;
}

/* exit() was called: the program's data are still there, which those that were
 * made before the trace began are not when a library's destructors run. A copy
 * writes the file, for exit may have been called by a signal's handler, amid an
 * allocation: what is not whole then ends the copy. OCaml calls such handlers
 * between allocations, and has threads that are not to run meanwhile. */
static void
holders_at_exit(void)
{
    struct trace *t = holders_wanted();

    if (t != NULL)
        holders_write(t, ALQI_HOSTS_OCAML);
}

/* No thread may join the domain while a copy would write. */
void
alqi_glue_trace_heap_ends(void)
{
    struct trace *t = holders_wanted();

    if (t != NULL)
        holders_write(t, true);
}

/* False: no memory. */
static bool
exit_watch(void)
{
    static atomic_bool is_watched;

    if (atomic_exchange(&is_watched, true) || atexit(holders_at_exit) == 0)
        return true;
    atomic_store(&is_watched, false);
    return false;
}

/* ---- what the heap says ------------------------------------------------- */

/* The sum of what the trace's profiles have counted (.inv.gone). */
static struct alq_memprof_counts
counts_sum_locked(struct trace *t)
{
    struct alq_memprof_counts sum = {0}, one;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    for (struct sampling *s = atomic_load(&t->sampling); s != NULL;
         s = s->older) {
        if (s->profile == NULL)
            continue;
        alq_profile_counts(s->profile, &one);
        sum.sampled_blocks += one.sampled_blocks;
        sum.sampled_words += one.sampled_words;
        sum.live_entries += one.live_entries;
        sum.dropped_nomem += one.dropped_nomem;
        sum.dropped_cap += one.dropped_cap;
        sum.dropped_nested += one.dropped_nested;
        sum.callback_failures += one.callback_failures;
    }
    return sum;
}

/* Ends the file with what the profiles have counted. */
static void
close_and_count(struct trace *t)
{
    alqi_plat_lock(&t->tracing.lock);
    t->tracing.sampled = counts_sum_locked(t);
    (void)alqi_tracing_close_locked(&t->tracing);
    alqi_plat_unlock(&t->tracing.lock);
}

/* The heap's end; its listeners are gone with it. In a forked child the trace
 * is the parent's. */
static void
heap_gone(struct trace *t)
{
    if (alqi_glue_trace_file_is_childs(&t->tracing.file))
        return;
    alqi_plat_lock(&turn);
    if (latest == t && state == UNDER_WAY) {
        holders_miss(t, "several domains ended at once, or the last one was "
                        "none of alq_domain_new");
        close_and_count(t);
        state = NONE;
    }
    alqi_plat_unlock(&turn);
}

/* Between pauses what has waited is written. */
static void
heap_event(void *arg, const struct alq_event *event)
{
    struct trace *t = arg;

    if (event->kind == ALQ_EVENT_HEAP_END)
        heap_gone(t);
    else if (event->point == ALQ_EVENT_END)
        alqi_tracing_flush_old(&t->tracing);
}

/* ---- start -------------------------------------------------------------- */

/* From now on d is sampled for the trace.  Callbacks may come before the call
 * returns. */
static enum alq_status
sampling_start(struct trace *t, struct alq_domain *d, double rate,
               uint64_t seed)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker tracker = alqi_tracing_tracker;
    struct sampling *s = calloc(1, sizeof *s);
    enum alq_status status;

    if (s == NULL)
        return ALQ_ENOMEM;
    alqi_plat_lock(&t->tracing.lock);
    s->source = (struct alqi_tracing_source){
        &t->tracing, alqi_tracing_rate_locked(&t->tracing, rate)};
    alqi_plat_unlock(&t->tracing.lock);
    c.rate = rate;
    c.callstack_frames = t->callstack_frames;
    c.seed = seed;
    c.flags = ALQ_MEMPROF_BESIDE;
    tracker.arg = &s->source;
    status = alq_memprof_start(d, &c, &tracker, &s->profile);
    if (status != ALQ_OK) {
        free(s); /* nobody has ever seen it */
        return status;
    }
    s->older = atomic_load(&t->sampling);
    atomic_store(&t->sampling, s);
    t->is_sampling = true;
    return ALQ_OK;
}

/* Listens to the heap's pauses and its end; malloc has neither. */
static enum alq_status
heap_watch(struct trace *t)
{
    t->listener = (struct alq_listener){
        .event = heap_event,
        .arg = t,
        .kinds = (uint64_t)1 << ALQ_EVENT_PAUSE | (uint64_t)1
                                                      << ALQ_EVENT_HEAP_END,
    };
    return t->d != NULL ? alq_listener_add(t->d, &t->listener) : ALQ_OK;
}

/* The file and what fills it; undone where it fails. */
static enum alq_status
trace_begin(struct trace *t, const struct alq_trace_config *config)
{
    int error = alqi_tracing_open(&t->tracing, config, t->d == NULL);
    enum alq_status status;

    if (error != 0) {
        errno = error;
        return error == EAGAIN   ? ALQ_EBUSY
               : error == ENOMEM ? ALQ_ENOMEM
                                 : ALQ_EIO;
    }
    status = heap_watch(t);
    if (status != ALQ_OK)
        goto fail_watch;
    status = sampling_start(t, t->d, config->rate, config->seed);
    if (status != ALQ_OK)
        goto fail_profile;
    return ALQ_OK;

fail_profile:
    if (t->d != NULL)
        (void)alq_listener_remove(t->d, &t->listener);
fail_watch:
    close_and_count(t);
    if (t->tracing.file.is_regular)
        unlink(config->path); /* a trace of nothing */
    return status;
}

/* Nothing samples for it any more. */
static void
profiles_forget(struct trace *t)
{
    struct sampling *s = t != NULL ? atomic_load(&t->sampling) : NULL;

    for (; s != NULL; s = s->older) {
        struct alq_profile *p;

        alqi_plat_lock(&t->tracing.lock);
        p = s->profile;
        s->profile = NULL;
        alqi_plat_unlock(&t->tracing.lock);
        if (p == NULL)
            continue;
        (void)alq_profile_stop(p);
        (void)alq_memprof_discard(p);
        alq_profile_drop(p);
    }
}

/* .inv.switch: the trace is over.  False: another thread has its profiles. */
static bool
profiles_take(struct trace *t)
{
    bool is_mine;

    if (t == NULL)
        return false;
    alqi_plat_lock(&turn);
    is_mine = !t->is_switching;
    alqi_plat_unlock(&turn);
    return is_mine;
}

/* Makes and begins a trace. Requires the state STARTING. */
static enum alq_status
start(struct alq_domain *d, const struct alq_trace_config *config)
{
    struct trace *t = calloc(1, sizeof *t);
    enum alq_status status;

    if (t == NULL)
        return ALQ_ENOMEM;
    if (profiles_take(latest)) /* of a heap that ended */
        profiles_forget(latest);
    t->d = d;
    t->callstack_frames = config->callstack_frames;
    t->older = latest;
    atomic_init(&t->wants_holders, config->holders != 0);
    status = config->holders == 0 || exit_watch() ? trace_begin(t, config)
                                                  : ALQ_ENOMEM;
    if (status == ALQ_OK) {
        latest = t;
    } else {
        int error = errno;

        free(t); /* nobody has ever seen it */
        errno = error;
    }
    return status;
}

/* NONE -> STARTING -> UNDER_WAY, or back to NONE. */
enum alq_status
alq_trace_start_with(struct alq_domain *d,
                     const struct alq_trace_config *config)
{
    struct alq_trace_config c;
    enum alq_status status;

    if (!is_config(config) || (config->holders != 0 && d == NULL))
        return ALQ_EINVAL;
    if (!turn_take(NONE, STARTING))
        return ALQ_EBUSY;
    c = *config;
    if (c.callstack_frames == 0)
        c.callstack_frames = SIZE_MAX;
    status = start(d, &c);
    turn_take(STARTING, status == ALQ_OK ? UNDER_WAY : NONE);
    return status;
}

enum alq_status
alq_trace_start(struct alq_domain *d, const char *path, double rate)
{
    struct alq_trace_config config = {.path = path, .rate = rate};

    return alq_trace_start_with(d, &config);
}

/* ---- stop, flush, count ------------------------------------------------- */

/* A status for an errno, which is left in errno. */
static enum alq_status
io_status(int error)
{
    errno = error != 0 ? error : errno;
    return error != 0 ? ALQ_EIO : ALQ_OK;
}

/* UNDER_WAY -> STOPPING -> NONE. The profile is stopped before the file is
 * closed: callbacks of the stop are still written. */
enum alq_status
alq_trace_stop(struct alq_trace_counts *out)
{
    struct trace *t;
    int error;

    if (!turn_take(UNDER_WAY, STOPPING))
        return ALQ_ENOTRUN;
    t = latest;
    holders_write(t, false);
    if (profiles_take(t)) {
        (void)alq_profile_stop(atomic_load(&t->sampling)->profile);
        close_and_count(t);
        profiles_forget(t);
    } else {
        close_and_count(t);
    }
    if (t->d != NULL)
        (void)alq_listener_remove(t->d, &t->listener);
    alqi_plat_lock(&t->tracing.lock); /* callbacks that come too late count */
    error = t->tracing.file.failed_errno;
    if (out != NULL)
        *out = t->tracing.counts;
    alqi_plat_unlock(&t->tracing.lock);
    turn_take(STOPPING, NONE);
    return io_status(error);
}

/* The trace under way, its lock taken; NULL: none. */
static struct trace *
trace_lock(void)
{
    struct trace *t = NULL;

    turn_look();
    alqi_plat_lock(&turn);
    if (state == UNDER_WAY) {
        t = latest;
        alqi_plat_lock(&t->tracing.lock);
    }
    alqi_plat_unlock(&turn);
    return t;
}

/* A file that cannot be written tells it here, too. */
enum alq_status
alq_trace_flush(void)
{
    struct trace *t = trace_lock();
    int error;

    if (t == NULL)
        return ALQ_ENOTRUN;
    error = alqi_tracing_flush_locked(&t->tracing);
    alqi_plat_unlock(&t->tracing.lock);
    return io_status(error);
}

/* The counts of now; bytes are those that are in the file. */
enum alq_status
alq_trace_count(struct alq_trace_counts *out)
{
    struct trace *t;

    if (out == NULL)
        return ALQ_EINVAL;
    t = trace_lock();
    if (t == NULL)
        return ALQ_ENOTRUN;
    *out = t->tracing.counts;
    out->bytes = t->tracing.file.n_bytes;
    alqi_plat_unlock(&t->tracing.lock);
    return ALQ_OK;
}

enum alq_status
alq_trace_mark(const char *name)
{
    char text[ALQI_SIDE_MARK_BYTES];
    enum alq_status status;
    struct trace *t;

    if (name == NULL || !alqi_side_mark_name(text, name))
        return ALQ_EINVAL;
    t = trace_lock();
    if (t == NULL)
        return ALQ_ENOTRUN;
    status = alqi_tracing_mark_locked(&t->tracing, text);
    alqi_plat_unlock(&t->tracing.lock);
    return status;
}

/* ---- sampling for it: stopped, resumed, at another rate ----------------- */

/* .inv.switch: the trace under way; NULL: there is none, or another thread has
 * its profiles. */
static struct trace *
switch_begin(bool *is_busy)
{
    struct trace *t = NULL;

    turn_look();
    alqi_plat_lock(&turn);
    *is_busy = state == UNDER_WAY && latest->is_switching;
    if (state == UNDER_WAY && !*is_busy) {
        t = latest;
        t->is_switching = true;
    }
    alqi_plat_unlock(&turn);
    return t;
}

/* Ends what switch_begin() began; profiles of a trace that ended meanwhile are
 * forgotten here. */
static void
switch_end(struct trace *t)
{
    bool is_over;

    alqi_plat_lock(&turn);
    t->is_switching = false;
    is_over = state != UNDER_WAY || latest != t;
    alqi_plat_unlock(&turn);
    if (is_over)
        profiles_forget(t);
}

/* Requires .inv.switch. Blocks that are tracked go on giving callbacks. */
static void
sampling_stop(struct trace *t)
{
    if (t->is_sampling)
        (void)alq_profile_stop(atomic_load(&t->sampling)->profile);
    t->is_sampling = false;
}

/* The rate of the last profile; samples a word. */
static double
rate_of(struct trace *t)
{
    return t->tracing.rates[atomic_load(&t->sampling)->source.rate];
}

/* The trace stays open, and blocks that are tracked go on giving frees. */
enum alq_status
alqi_glue_trace_pause(void)
{
    bool is_busy;
    struct trace *t = switch_begin(&is_busy);

    if (t == NULL)
        return is_busy ? ALQ_EBUSY : ALQ_ENOTRUN;
    sampling_stop(t);
    switch_end(t);
    return ALQ_OK;
}

/* At the same rate the same profile goes on; another rate needs a new profile.
 */
enum alq_status
alqi_glue_trace_resume(struct alq_domain *d, double rate, bool *is_busy)
{
    enum alq_status status = ALQ_OK;
    struct trace *t = switch_begin(is_busy);

    if (t == NULL)
        return ALQ_ENOTRUN;
    t->is_wide = true;
    if (rate <= 0)
        rate = rate_of(t);
    if (!t->is_sampling || rate < rate_of(t) || rate > rate_of(t)) {
        sampling_stop(t);
        status = sampling_start(t, d, rate, 0);
    }
    switch_end(t);
    return status;
}

void
alqi_glue_trace_widen(void)
{
    turn_look();
    alqi_plat_lock(&turn);
    if (state == UNDER_WAY)
        latest->is_wide = true;
    alqi_plat_unlock(&turn);
}

/* Without memory the domain is not sampled: it may be asked again. */
bool
alqi_glue_trace_join(struct alq_domain *d)
{
    bool is_busy;
    struct trace *t = switch_begin(&is_busy);

    if (t == NULL)
        return !is_busy;
    if (t->is_sampling && t->is_wide && t->d != NULL)
        (void)!alq_memprof_join(d, atomic_load(&t->sampling)->profile);
    switch_end(t);
    return true;
}

/* The lock is held for the copy; the profiles' counts are read under it
 * (.inv.gone). */
bool
alqi_glue_trace_look(struct alqi_glue_trace_look *out)
{
    struct trace *t = trace_lock();

    memset(out, 0, sizeof *out);
    if (t == NULL)
        return false;
    out->is_malloc = t->d == NULL;
    out->is_sampling = t->is_sampling;
    out->rate = rate_of(t);
    out->counts = t->tracing.counts;
    out->sampled = counts_sum_locked(t);
    memcpy(out->path, t->tracing.full_path, sizeof out->path);
    alqi_plat_unlock(&t->tracing.lock);
    return true;
}

/* ---- the end of the process --------------------------------------------- */

/* Closes the trace that is under way, if its locks can be had within a
 * second. */
__attribute__((destructor)) static void
at_exit(void)
{
    struct trace *t;

    turn_look();
    if (!lock_for_a_second(&turn))
        return;
    t = state == UNDER_WAY ? latest : NULL;
    if (t != NULL)
        holders_miss(t, "it began when the process was ending");
    if (t != NULL && lock_for_a_second(&t->tracing.lock)) {
        t->tracing.sampled = counts_sum_locked(t);
        (void)alqi_tracing_close_locked(&t->tracing);
        alqi_plat_unlock(&t->tracing.lock);
    }
    alqi_plat_unlock(&turn);
}

/* ---- by environment ----------------------------------------------------- */

bool
alqi_glue_trace_name(const char *name, const char *program, char *path,
                     size_t n_path)
{
    char pid[24];
    const struct alqi_base_pattern_part parts[] = {{'p', pid}, {'e', program}};

    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    return alqi_base_pattern_expand_sigsafe(path, n_path, name, parts,
                                            ALQI_COUNT_OF(parts));
}

const char *
alqi_glue_trace_why(enum alq_status status, int error)
{
    if (status == ALQ_EBUSY && error == EAGAIN)
        return "another process writes it";
    return status == ALQ_EIO ? strerror(error) : alq_status_text(status);
}

/* Starts a trace for the environment; a failure is logged, and the program goes
 * on. */
static void
start_by(struct alq_domain *d, const char *who,
         const struct alq_trace_config *config)
{
    enum alq_status status;

    errno = 0;
    status = alq_trace_start_with(d, config);
    if (status != ALQ_OK)
        alqi_tracing_say("%s%s: %s; the heap is not traced\n", who,
                         config->path, alqi_glue_trace_why(status, errno));
}

/* False: said. */
static bool
number_get(const char *name, double least, double most, double *value)
{
    const char *text = secure_getenv(name);
    char *end;

    if (text == NULL || *text == '\0')
        return true;
    *value = strtod(text, &end);
    if (*end == '\0' && *value >= least && *value <= most && *value > 0)
        return true;
    alqi_tracing_say("%s=%.40s: not a number from %s%g to %g; the heap is not "
                     "traced\n",
                     name, text, least > 0 ? "" : "above ", least, most);
    return false;
}

/* *value is 1 or 0; false: said. */
static bool
switch_get(const char *name, int *value)
{
    const char *text = secure_getenv(name);

    *value = text != NULL && strcmp(text, "1") == 0;
    if (*value == 1 || text == NULL || *text == '\0' || strcmp(text, "0") == 0)
        return true;
    alqi_tracing_say("%s=%.40s: neither 0 nor 1; the heap is not traced\n",
                     name, text);
    return false;
}

/* As memtrace's own library does by the same variables, but MEMTRACE_HOLDERS.
 */
static void
begin_by_memtrace(struct alq_domain *d)
{
    const char *name = secure_getenv("MEMTRACE");
    struct alq_trace_config config = {0};
    char path[ALQI_TRACING_PATH_BYTES];
    double rate = ALQI_DEFAULT_MEMTRACE_RATE, format = 2;

    if (name == NULL || *name == '\0' ||
        !number_get("MEMTRACE_RATE", 0, 1, &rate) ||
        !number_get("MEMTRACE_FORMAT", 2, 3, &format) ||
        !switch_get("MEMTRACE_HOLDERS", &config.holders))
        return;
    if (!alqi_glue_trace_name(name, NULL, path, sizeof path)) {
        alqi_tracing_say("MEMTRACE=%.40s...: the name is too long; the heap is "
                         "not traced\n",
                         name);
        return;
    }
    config.path = path;
    config.rate = rate;
    config.format = (unsigned)format;
    start_by(d, "MEMTRACE=", &config);
    /* What it executes is not to write the same file. */
    unsetenv("MEMTRACE");
    unsetenv("MEMTRACE_RATE");
    unsetenv("MEMTRACE_FORMAT");
    unsetenv("MEMTRACE_HOLDERS");
}

/* aliquot record asks the preload, and the preload has a name for the file.
 * False: nobody asks. */
static bool
begin_by_record(struct alq_domain *d)
{
    const struct alqi_preload_api *api = alqi_glue_preload();
    struct alq_trace_config config = {0};
    char path[ALQI_TRACING_PATH_BYTES];

    if (api == NULL || !api->heap_trace(path, sizeof path, &config.rate,
                                        &config.callstack_frames, &config.seed))
        return false;
    config.path = path;
    config.holders = api->heap_holders();
    start_by(d, "", &config);
    return true;
}

void
alqi_glue_trace_begin(struct alq_domain *d)
{
    static atomic_bool was_tried;

    if (atomic_exchange(&was_tried, true))
        return;
    if (!begin_by_record(d))
        begin_by_memtrace(d);
}
