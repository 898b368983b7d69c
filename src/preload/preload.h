/* preload.h -- what the files of the preload share    [doc/design/preload.md]
 *
 * Two things are thread-local and initial-exec: the countdown and the pointer
 * to the rest.  Every state of a thread is a value of the countdown
 * (.inv.count): the fast path has one test.
 *
 *   gap - 1           gap is the sampling interval drawn: the gap-th word from
 *                     here is the next sampled one
 *   PARKED            no word is sampled: off, inside the engine, ending
 *   0 in a new thread the first allocation trips and attaches the thread
 *   REARM, about      another thread changed the profiles: draw again
 *                     (alqi_preload_with_rearm)
 *   less              a limit trigger stands before the next sample
 *                     (limit_trigger.h) */
#ifndef ALQI_PRELOAD_PRELOAD_H
#define ALQI_PRELOAD_PRELOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "base/defaults.h"
#include "control/server.h"
#include "memprof/engine.h"
#include "plat/plat.h"
#include "wire/raw.h"

/* Hidden, so that the fast paths address their data without a GOT. */
#pragma GCC visibility push(hidden)

#define ALQI_EXPORT __attribute__((visibility("default")))
#define ALQI_PARKED ((int64_t)1 << 62)
#define ALQI_REARM (-((int64_t)1 << 62))

struct alq_pool;
struct alqi_preload_thread;
struct alqi_preload_limit_trigger_hooks;

/* The countdown with a re-arm request: the next allocation trips, and the old
 * countdown can be read from it, unless that was parked. */
static inline int64_t
alqi_preload_with_rearm(int64_t left)
{
    if (left < ALQI_REARM / 2)
        return left;
    return left < ALQI_PARKED / 2 ? left + ALQI_REARM : ALQI_REARM;
}

static inline bool
alqi_preload_is_rearm_due(int64_t left)
{
    return left < ALQI_REARM / 2;
}

struct alqi_preload_hot {
    /* The calling thread alone writes these; but rearm_all writes a request to
     * left_words. */
    int64_t left_words;                 /* the countdown                    */
    struct alqi_preload_thread *thread; /* NULL before the first trip       */
    bool is_ended;                      /* its last key destructor has run  */
    bool is_orphan_held;                /* .inv.bypass of thread.c           */
    bool is_controlling;                /* holds a lock in mode IDLE        */
    uint32_t n_forks_skipped; /* forks of handlers inside the profiler that
                                 are not over (fork.c, .inv.window)         */
    uint32_t fork_mode;       /* the thread's mode before the fork's window */
    int64_t fork_left_words;  /* the countdown before it                    */
    const void *mapping; /* the mapping that is tried as a block, or NULL   */
    const void *reborn;  /* the block that is tried and realloc made        */
    const struct alq_pool *pool; /* of the block that is tried: pooled      */
    const void *pooled;          /* or NULL                                 */
    const void *own_frame;       /* of the hook within whose function the thread
                                    is (own.c), or NULL                     */
    int64_t own_left_words;      /* the countdown before it                 */
    int64_t chunk_left_words;    /* the countdown before n_chunks was above 0 */
    uint32_t n_chunks; /* sections in which malloc gives memory of a pool    */
};

extern __thread struct alqi_preload_hot alqi_preload_hot
    __attribute__((tls_model("initial-exec")));

/* What malloc gives and takes is memory of another allocator, whose blocks are
 * recorded: the calling thread is within a function of it, or between
 * alq_pool_chunk_begin and _end. */
static inline bool
alqi_preload_is_within(void)
{
    return ALQI_UNLIKELY(alqi_preload_hot.n_chunks > 0 ||
                         alqi_preload_hot.own_frame != NULL);
}

/* ---- the program's allocator (real.c) ------------------------------------ */

struct alqi_preload_real {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*malloc_usable_size)(void *);
    int (*dlclose)(void *);
};

/* Before the start: functions that begin the recording, and forward. */
extern struct alqi_preload_real alqi_preload_real;

/* Finds the allocator, then begins the recording (init.c); false when that was
 * done, or is under way. */
bool alqi_preload_real_begin(void);
/* As that, for a library that was loaded late (attach.h): finds the allocator
 * by `find`, and begins nothing.  False: a function of it is missing. */
bool alqi_preload_real_begin_late(void *(*find)(const char *name));
/* Whether the block is of the boot arena: never freed, not the allocator's. */
bool alqi_preload_is_boot(const void *block);
size_t alqi_preload_boot_size(const void *block);

/* ---- blocks (malloc.c) --------------------------------------------------- */

/* Tries the words of a mapping as those of a block; returns the block. */
void *alqi_preload_tried(void *block, size_t size_bytes);
/* The block is about to go; the caller frees it. */
void alqi_preload_untrack(void *block);

/* ---- threads (thread.c) -------------------------------------------------- */

struct alqi_preload_stream;
struct alqi_preload_python_stacks;

/* A thread's allocation limit trigger (limit_trigger.h); its thread's alone. */
struct alqi_preload_limit_trigger {
    const struct alqi_preload_limit_trigger_hooks *hooks; /* NULL: unset    */
    void *arg;         /* of the hooks                                      */
    uint64_t words;    /* allocated since it was set, up to the moment when */
    int64_t from;      /* ... the countdown stood here                      */
    uint64_t at_words; /* the next permission is due at that many words     */
    bool asks;         /* for permission at each allocation                 */
    bool is_asking;    /* permit runs, or is held: the countdown is parked  */
};

/* A block on its way from one address to another (recorder.c, .inv.move). */
struct alqi_preload_moving {
    const void *block; /* the new one; NULL: nothing is on its way */
    uintptr_t data;    /* of the old one's entry                   */
    bool is_freed;     /* the old one's free waits to be written   */
};

/* The rest of a thread's state; pooled, reused by later threads. */
struct alqi_preload_thread {
    struct alqi_memprof_thread memprof;
    struct alqi_preload_hot *hot; /* NULL while pooled */
    struct alqi_preload_thread *next;
    struct alqi_preload_thread *prev;
    struct alqi_preload_stream *stream; /* of the recorder; may be NULL  */
    struct alqi_preload_exact *exact;   /* its part, once it has one     */
    struct alqi_preload_python_stacks *python; /* of python.c; may be NULL */
    int64_t engine_left_words; /* the countdown, while another is in its
                                  place (exact.h, limit_trigger.h) */
    struct alqi_preload_limit_trigger limit_trigger;
    uint32_t index; /* of the thread, from 0         */
    uint32_t tid;
    uint32_t seen_generation; /* of the profiles, when last drawn        */
    uint32_t exit_rounds;     /* key destructor runs so far              */
    uint32_t quiet_mark;      /* threads_quiesce; locked                 */
    bool is_announced;        /* the stream knows this thread            */
    uint64_t memo_serial;     /* of the last stack written to the stream */
    uint64_t poll_ns;         /* when to poll name and memory next       */
    char name[17];            /* as announced                            */
    struct alqi_preload_moving moving;
    uint32_t pool; /* number of the pool whose block is being written, or 0 */
};

/* Attaches the calling thread; NULL when there is no memory, or it is ending:
 * then its countdown is parked. */
struct alqi_preload_thread *alqi_preload_thread_attach(void);

/* Runs fn with the state that stands for threads that have none (ending, or
 * out of memory), under its lock. */
struct alqi_preload_thread *alqi_preload_orphan_lock(void);
void alqi_preload_orphan_unlock(struct alqi_preload_thread *orphan);

/* Between the two, signal handlers on the calling thread bypass the profiler:
 * the thread may hold locks that recording takes.  end takes what begin
 * returned. */
uint32_t alqi_preload_bypass_begin(void);
void alqi_preload_bypass_end(uint32_t was);

/* Takes a lock of the recorder (streams, file, nodes) in a bypass.  Callbacks
 * hold such locks, and a handler that recorded then would take memprof's under
 * them (.inv.rank).  Returns what unlock takes. */
static inline uint32_t
alqi_preload_lock(struct alqi_plat_lock *lock)
{
    uint32_t was = alqi_preload_bypass_begin();

    alqi_plat_lock(lock);
    return was;
}

static inline void
alqi_preload_unlock(struct alqi_plat_lock *lock, uint32_t was)
{
    alqi_plat_unlock(lock);
    alqi_preload_bypass_end(was);
}

/* Draws a sampling interval and stores the countdown; a re-arm request that
 * comes meanwhile is not lost. */
void alqi_preload_rearm(struct alqi_preload_thread *thread);
void alqi_preload_arm(struct alqi_preload_thread *thread, uint64_t skip_words);
/* As arm, for an interval that was drawn before and of which `left` words are
 * left; with a re-arm request if there was one, or must be. */
void alqi_preload_rest(struct alqi_preload_thread *thread, int64_t left,
                       bool was_rearm_due);
/* An allocation of so many words passed the countdown while its thread is
 * inside the engine, or in a callback: it is no trial, and counted in the exact
 * mode. */
void alqi_preload_tripped_inside(uint64_t words);

/* The gap that is parked is not to be put back: unpark makes the thread draw
 * again.  Unlike rearm_all, of the calling thread alone. */
void alqi_preload_redraw(struct alqi_preload_thread *thread);

/* Parks the countdown and returns it, for unpark to put back; a re-arm request
 * that comes between is not lost.  For the orphan both do nothing. */
int64_t alqi_preload_park(struct alqi_preload_thread *thread);
void alqi_preload_unpark(struct alqi_preload_thread *thread, int64_t left);

/* subject.triggers_stale: makes every thread draw again. */
void alqi_preload_rearm_all(void *heap);

/* The calling thread's state, or the orphan's for a caller that holds it. */
struct alqi_preload_thread *alqi_preload_current(void);

/* Waits, for 10 ms at most, until every thread was seen outside the engine
 * since the call began; false when one was not.  The caller is outside. */
bool alqi_preload_threads_quiesce(void);
/* As that, until every thread was seen outside callbacks, too, and none is
 * about to end. */
bool alqi_preload_threads_quiesce_callbacks(void);

void alqi_preload_threads_start(void);
/* Whether any thread is attached. */
bool alqi_preload_threads_any(void);
/* Visits each attached thread, and the orphan's state, which the caller holds.
 */
void alqi_preload_threads_each(void (*visit)(struct alqi_preload_thread *));
void alqi_preload_threads_fork_prepare(void);
void alqi_preload_threads_fork_parent(void);
void alqi_preload_threads_fork_child(bool is_prepared);

/* ---- new threads (spawn.c) ----------------------------------------------- */

/* The next pthread_create: the thread takes over no profiles. */
int alqi_preload_thread_create(pthread_t *thread, const pthread_attr_t *attr,
                               void *(*run)(void *), void *arg);

void alqi_preload_spawn_fork_prepare(void);
void alqi_preload_spawn_fork_parent(void);
void alqi_preload_spawn_fork_child(void);

/* ---- fork (fork.c) ------------------------------------------------------- */

/* A word that a forked child finds zeroed.  A child made by fork() writes it
 * again in its handler; where it is zero, no handler ran. */
extern _Atomic(uint32_t) *alqi_preload_fork_mark;

static inline bool
alqi_preload_is_fork_unprepared(void)
{
    return atomic_load_explicit(alqi_preload_fork_mark, memory_order_relaxed) ==
           0;
}

/* Starts over in such a child; returns the calling thread's state, if any. */
struct alqi_preload_thread *alqi_preload_fork_child_unprepared(void);

void alqi_preload_fork_install(void);

/* ---- start-up (init.c) --------------------------------------------------- */

/* Brings the profiler up.  The calling thread is parked, and the only one that
 * has come this far. */
void alqi_preload_begin(void);
/* As that in a library that was loaded late: the engine alone.  False: no
 * memory. */
bool alqi_preload_begin_late(void);

/* False until the process is far enough to sample.
 *
 * .pair.up  engine_up() (release) -> who looks at it (acquire): the engine. */
extern _Atomic(bool) alqi_preload_is_up;
/* True once the process never will sample: threads park at their first
 * allocation. */
extern _Atomic(bool) alqi_preload_is_off;
extern struct alqi_memprof_domain *alqi_preload_domain;

/* From now on limit triggers are notified of samples. */
void alqi_preload_limits_begin(void);

/* One line on stderr, "aliquot: PID: TEXT"; nothing in a process that is
 * attached to: the command tells. */
void alqi_preload_log(const char *text);

/* ---- configuration (config.c) -------------------------------------------- */

enum alqi_preload_follow {
    ALQI_PRELOAD_UNSAID,
    ALQI_PRELOAD_LEAVE,
    ALQI_PRELOAD_FOLLOW
};

/* What a pattern of a name may have behind a percent sign. */
#define ALQI_PRELOAD_LETTERS "ehnp"

struct alqi_preload_config {
    char out[1024];    /* pattern, of ALQI_PRELOAD_LETTERS */
    char control[100]; /* pattern of the socket's name; empty: the standard */
    int signal;        /* that starts and stops; 0: none */
    double rate;       /* samples per word */
    uint64_t seed;
    uint32_t depth_frames;
    enum alqi_preload_follow follow; /* exec'd programs are recorded too */
    bool is_on;                      /* from the start                   */
    bool is_off;                     /* at the start, or for good        */
    bool has_control;
    bool is_memtrace; /* out is MEMTRACE, no pattern */
    bool is_tracking_mmap;
    bool is_tracing_heap; /* a managed heap's trace, beside the recording */
    bool is_exact;
    bool is_recorded; /* by `aliquot record`, which looks after its files */
    uint32_t attacher_pid; /* of `aliquot record -p`; 0: loaded at the start  */
    bool is_watching;      /* the attacher, by its number                     */
    size_t reserve_bytes;  /* mapped at the start, of file and memory; or 0 */
    uint64_t max_memory_bytes; /* of the exact mode's tables; 0: no cap */
    /* prefixes, between colons; or "none" */
    char allocators[ALQI_ALLOCATORS_MAX * (ALQI_ALLOCATOR_BYTES_MAX + 1)];
    bool has_no_python;     /* no Python frames, no small blocks  */
    bool has_native_python; /* evaluator's frames stay, too       */
    bool has_no_rss;        /* resident memory is not to be read */
    bool has_probes;
    double probes_rate;                    /* samples per word */
    uint64_t limit_bytes[ALQI_RAW_LIMITS]; /* by kind; 0: none */
    int limit_signal;                      /* then; 0: none    */
    bool has_limit_notify;                 /* through a pipe */
    bool has_leaks;                        /* likewise: ending.c */
};

extern struct alqi_preload_config alqi_preload_config;

/* Reads ALIQUOT from envp, warns about what it does not know, and takes the
 * preload's own traces out of the environment unless exec is followed. */
void alqi_preload_config_read(char **envp);
/* Starts over with `settings`, the text of ALIQUOT; but the depth stays what it
 * was the first time, for which threads have room. */
void alqi_preload_config_attach(const char *settings);

/* ---- control (control.c, serve.c) ---------------------------------------- */

/* Toggles that came while their thread was inside the profiler
 * (.pair.alone). */
extern _Atomic(uint32_t) alqi_preload_pending;
void alqi_preload_pending_run(void);

static inline void
alqi_preload_pending_poll(void)
{
    if (ALQI_UNLIKELY(atomic_load_explicit(&alqi_preload_pending,
                                           memory_order_relaxed) != 0))
        alqi_preload_pending_run();
}

extern struct alqi_control_server alqi_preload_server;

/* Opens the server; NULL: that of a forked child, at its first allocation. */
void alqi_preload_serve(const char *pattern);
void alqi_preload_serve_fork_child(void);
/* Returns when there is no server, and opens none from then on. */
void alqi_preload_serve_stop(void);

static inline bool
alqi_preload_is_server_owed(void)
{
    return ALQI_UNLIKELY(alqi_control_state(&alqi_preload_server) ==
                         ALQI_CONTROL_OWED);
}

/* ---- a confined program (confine.c) -------------------------------------- */

/* From now on the recorder makes only the system calls that `how` allows. */
void alqi_preload_confine(enum alqi_plat_confinement how);

/* ---- the recorder (recorder.c) --------------------------------- */

void alqi_preload_recorder_start(void);
/* Samples at this rate from now on; blocks sampled at another stay tracked.
 * `thread` is the caller's, or the orphan's that it holds; one call at a time.
 * `out` is the pattern of a file that is yet to be made, NULL as configured.
 * Errors   ALQ_EIO     there is no file, which is logged
 *          ALQ_EINVAL, ALQ_ENOMEM  as alq_memprof_start */
enum alq_status alqi_preload_recorder_rate(struct alqi_preload_thread *thread,
                                           double rate, const char *out);
/* Ends the recording: no sample is tracked any more, and no event written once
 * the threads are out of the engine.  alqi_preload_recorder_close() is due
 * then. */
void alqi_preload_recorder_end(struct alqi_preload_thread *thread);
void alqi_preload_recorder_close(void);
/* No more samples; frees of those there are go on being recorded. */
enum alq_status alqi_preload_recorder_stop(struct alqi_preload_thread *thread);
bool alqi_preload_recorder_is_on(void);
/* Every block is to be recorded: a single one that is not is told. */
bool alqi_preload_recorder_has_all(void);
/* The thread ends: what it had not filled goes to the next thread. */
void alqi_preload_recorder_thread_end(struct alqi_preload_thread *thread);
/* A realloc moves the block whose entries are taken to `block`, which need not
 * be another address.  To be called before the entries are buried; returns
 * what a realloc that this one interrupted was at.  When the new block has
 * been tried, moved() takes that back. */
struct alqi_preload_moving
alqi_preload_recorder_moving(struct alqi_preload_thread *thread,
                             const struct alqi_memprof_entry *taken,
                             const void *block);
void alqi_preload_recorder_moved(struct alqi_preload_thread *thread,
                                 struct alqi_preload_moving outer);
/* Brings the recording's counts of dropped samples up to the engine's. */
void alqi_preload_recorder_drops(void);
/* The process is about to end: ending.c. */
void alqi_preload_ending(void);
/* The recording ends as the flag says: EXITED, EXECUTED, DETACHED. */
void alqi_preload_ended(enum alqi_raw_flag how);
/* The call that was to end it has failed. */
void alqi_preload_not_ended(enum alqi_raw_flag how);
/* The calling process is the one that the recording is of, not a child that
 * shares its memory or has none yet.  False in a confined one, too: it cannot
 * ask. */
bool alqi_preload_is_recorded(void);
/* Module events in the recording. */
uint32_t alqi_preload_recorder_n_modules(void);
/* In a copy of the process (copy.c): the recording's blocks, each by its place
 * in the recording. */
void alqi_preload_recorder_each_alone(void (*visit)(void *arg,
                                                    const void *block,
                                                    uint32_t stream,
                                                    uint64_t ordinal),
                                      void *arg);
/* The exact mode's tables are full: sample from here on, and log it. */
void alqi_preload_recorder_take_over(void);

/* ---- code made at run time (jit.c) ----------------------------------------
 */

/* The process has mapped that file as code. */
void alqi_preload_jit_mapped(int fd);
/* Writes what is known of such files into a new header. */
void alqi_preload_jit_tell(struct alqi_raw_header *header);

/* ---- thread names and resident memory (poll.c) -----------------------------
 */

/* The calling thread's name, unless the process is confined: then, or when it
 * is *name already, false. */
bool alqi_preload_poll_name(char name[17]);
/* The thread's stream is ready, and no handler can write into it.  errno is
 * preserved. */
void alqi_preload_poll_slow(struct alqi_preload_thread *thread,
                            uint64_t now_ns);
/* Resident bytes when a look is due: the first thread that comes looks for all.
 * Else, and where the system does not tell, 0.  is_grown: the heap may have
 * grown by an eighth of them since the last look. */
uint64_t alqi_preload_poll_rss(uint64_t now_ns, bool is_grown);
/* What may be allocated before is_grown holds. */
uint64_t alqi_preload_poll_growth_bytes(void);
/* Looks where what is alive, in sampled blocks, has reached a new height. */
void alqi_preload_poll_height(struct alqi_preload_thread *thread,
                              uint64_t now_ns);
/* A sampled block begins (> 0) or ends (< 0) that stands for so many bytes. */
void alqi_preload_poll_alive(int64_t bytes);
/* The kernel's maximum into the header.  Async-signal-safe. */
void alqi_preload_poll_most(void);
/* A command has attached: it is watched from now on. */
void alqi_preload_poll_attached(void);
/* The process ends. */
void alqi_preload_poll_last(void);
/* In a forked child; is_prepared: it has its parent's blocks. */
void alqi_preload_poll_fork_child(bool is_prepared);
/* Another recording begins: nothing is alive in it. */
void alqi_preload_poll_renew(void);

/* Before a sampled block begins or ends, on its thread, whose stream is ready
 * (poll.c .inv.height). */
static inline void
alqi_preload_poll(struct alqi_preload_thread *thread, uint64_t now_ns)
{
    if (ALQI_UNLIKELY(now_ns >= thread->poll_ns))
        alqi_preload_poll_slow(thread, now_ns);
    else
        alqi_preload_poll_height(thread, now_ns);
}

/* In a forked child: a file of its own, made when first needed. */
void alqi_preload_recorder_fork_child(bool is_prepared);

/* The recording's counters, or a page of nobody's while there is no file. */
void alqi_preload_count(enum alqi_raw_counter counter, uint64_t n);
void alqi_preload_flag(enum alqi_raw_flag flag);
void alqi_preload_unflag(enum alqi_raw_flag flag);

#pragma GCC visibility pop

#endif
