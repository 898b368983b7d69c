/* limit.h -- limits on tasks, and what they can promise [OCaml memprof-limits]
 *
 * A task is a function that alq_limit_run calls.  It runs until it returns, or
 * a limit of its frame is reached: words allocated, samples, size of the heap,
 * time, processor time, polls, or a token that somebody sets.  From then on
 * each allocation and poll of the task fails with ALQ_ELIMIT, so that it cleans
 * up and returns; what it returns no longer counts.
 *
 * Everything is one thread's: threads and domains that the task starts are
 * outside of its limits.
 *
 * With NULL for the domain all of this is about the malloc of the calling
 * thread: malloc_limit.h has what is different there.
 *
 * Nesting.  An inner frame may allocate what the outer one has left at most,
 * and what it allocates is charged to both.  When an outer limit is reached
 * inside an inner frame the inner task fails too, with ALQ_ELIMIT and the cause
 * ALQ_LIMIT_NOT in its outcome.  A frame within a masked part has its own
 * limits alone: a release may run a task even if the outer one has had enough.
 *
 * Where.  A task is stopped in an allocation or in alq_poll of its own code,
 * after a mask or a blocking section in the next one: never in a collection, a
 * finaliser, a callback of a profile, a signal handler, a masked part, or
 * between alq_foreign_begin and _end.
 *
 * Each task pays for what it allocates itself, before its frame closes: the
 * close looks at every limit once more.
 *
 * Leaving.  A task returns, or its limits leave it.  What leaves it otherwise
 * closes its frame, and those within it, without an outcome: an exception of
 * C++, or the end of the thread, at once; resources (alq_with_resource) are
 * released then, and clean-ups that C functions have pushed are forgotten.  A
 * longjmp of the program's tells nobody: releases do not run, and the frame is
 * closed when the thread next runs a task, or asks for something, from a
 * function that is called where the task was, or further out; until then its
 * limits are in force.  Unwinders other than those of GCC and LLVM are such
 * longjmps.
 *
 * Afterwards.  When the last frame that was reached has ended, the domain's
 * status is ALQ_OK again if it was ALQ_ELIMIT: the caller need not clear it.  A
 * status of another kind that the task has left stays (alq_status_clear).
 *
 * Rules for a task.  1 Do not ask which limit it was.  2 When a call fails with
 * ALQ_ELIMIT, clean up and return soon.  3 What others see as well is changed
 * between acquire and release (alq_with_resource), undone (alq_undo), or marked
 * (alq_guard).  4 Code that must not be stopped half-way is masked. */
#ifndef ALIQUOT_LIMIT_H
#define ALIQUOT_LIMIT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/heap.h>
#include <aliquot/memprof.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The interval of OCaml's memprof-limits, and what limits use unless told. */
#define ALQ_LIMIT_INTERVAL_WORDS 10000

/* ---- limits ------------------------------------------------------------- */

/* Of a number in struct alq_limits: no limit. */
#define ALQ_LIMIT_NONE UINT64_MAX

/* The most that a limit may be: what is beyond was a negative number once. */
#define ALQ_LIMIT_MAX ((uint64_t)INT64_MAX)

enum alq_limit_cause {
    ALQ_LIMIT_NOT = 0,   /* not reached                              */
    ALQ_LIMIT_WORDS = 1, /* as the members of struct alq_limits      */
    ALQ_LIMIT_SAMPLED = 2,
    ALQ_LIMIT_HEAP = 3,
    ALQ_LIMIT_TIME = 4,
    ALQ_LIMIT_CPU = 5,
    ALQ_LIMIT_POLLS = 6,
    ALQ_LIMIT_TOKEN = 7,
    ALQ_LIMIT_LIVE = 8
};

/* After an allocation or a poll has failed, when do the next ones? */
enum alq_limit_policy {
    ALQ_LIMIT_STICKY = 0,      /* each one                                   */
    ALQ_LIMIT_NEXT_SAMPLE = 1, /* at the next sample (OCaml's way): a random
                                  number of words later, ALQ_LIMIT_INTERVAL_
                                  WORDS in the mean                          */
    ALQ_LIMIT_GRACE = 2        /* when grace_words more have been allocated  */
};

enum {
    /* The task is left by longjmp: see alq_cleanup_push. */
    ALQ_LIMIT_UNWINDS = 1,
    /* Limits of heap and live words are judged without a collection before. */
    ALQ_LIMIT_GARBAGE_COUNTS = 2
};

/* Initialise it with ALQ_LIMITS_NONE, then set what is wanted. */
struct alq_limits {
    uint64_t words;          /* allocated, headers counted, exactly; 0 allows
                                none.  Each call that allocates asks before it
                                has taken anything: alq_unmarshal for all that
                                the message says it makes                     */
    uint64_t sampled_words;  /* the same by samples, as the planner below has
                                it, and words that custom blocks hold outside
                                of the heap; 0 ends the task at the first
                                sample.  The block that has it is not made    */
    uint64_t live_words;     /* that it allocated and that are not dead: see
                                below                                         */
    uint64_t heap_bytes;     /* of the major heap, of all domains together, as
                                alq_gc_counts has them: garbage counts, and
                                what is free for all does not.  See below     */
    uint64_t time_ns;        /* from now on                                   */
    uint64_t cpu_ns;         /* of this thread, from now on                   */
    uint64_t polls;          /* alq_poll and allocations, together: fuel      */
    struct alq_token *token; /* NULL: none                                   */
    enum alq_limit_policy policy;
    uint64_t grace_words; /* for ALQ_LIMIT_GRACE                             */
    unsigned flags;
    uint64_t seed; /* of what is left to chance from here on.  By sampled
                      words and the gaps of ALQ_LIMIT_NEXT_SAMPLE a task
                      that allocates the same stops at the same block, also
                      in one process, whatever was before and whatever
                      profiles run.  Where live words are sampled depends on
                      collections, too: a program of one domain without
                      profiles stops at the same block when it runs again.
                      0: it goes on from the last one, or the system's */
    /* NULL, or asked each time that a call would fail because of this frame, in
     * that call, masked: ALQ_OK lets it be, and the next time is as `policy`
     * says; anything else, and it fails.  The frame is reached all the same. */
    enum alq_status (*on_limit)(struct alq_domain *d, void *arg,
                                enum alq_limit_cause cause);
    void *on_limit_arg;
};

#define ALQ_LIMITS_NONE                                                        \
    {                                                                          \
        ALQ_LIMIT_NONE, ALQ_LIMIT_NONE, ALQ_LIMIT_NONE, ALQ_LIMIT_NONE,        \
            ALQ_LIMIT_NONE, ALQ_LIMIT_NONE, ALQ_LIMIT_NONE, 0,                 \
            ALQ_LIMIT_STICKY, 0, 0, 0, 0, 0                                    \
    }

/* Heap bytes.  The heap is collected and compacted first; the limit is reached
 * when it is still over.  If that leaves less than a sixteenth of the limit, it
 * is not done once more before the task has allocated a sixteenth: until then
 * being over it again is enough, so a heap that lives nearly as large as its
 * limit ends the task instead of being collected for each little that is made.
 *
 * Live words.  Who allocates pays: a block counts, headers and memory out of
 * the heap too, from its allocation by the task until a collection has found it
 * dead, whoever holds it; so what the task was given does not count, and what
 * it has given away does.  They are estimated by samples that are tracked, of
 * which there is one in alq_limit_live_interval(live_words) words, 400 at the
 * limit: that is an error of 5 % (one standard deviation), less for limits of
 * more than 4,000,000 words, more for those of less than 10,000.  The laws of
 * the planner below hold for this limit, too, with that interval.
 *
 * Before a task is stopped the heap is collected, young blocks first, and what
 * is dead taken off.  Once that has saved it, it is not judged again until it
 * has allocated an eighth of the limit: so it may come to 9/8 of it.
 * Samples are taken as long as the task runs: at a limit of 1,000,000 words
 * they cost as much as a profile at 4e-4. */

enum { ALQ_LIMIT_SITES_MAX = 8, ALQ_LIMIT_SITE_FRAMES = 8 };

/* A place where a task allocated, as a profile has seen it. */
struct alq_limit_site {
    uintptr_t frames[ALQ_LIMIT_SITE_FRAMES]; /* innermost first; what they are
                                                called, alq_stack_describe
                                                says */
    unsigned n_frames; /* 0: the profile takes no call stacks            */
    uint64_t samples;
    uint64_t words; /* as these samples have it: samples / rate       */
};

struct alq_outcome {
    enum alq_limit_cause cause; /* the first that was reached in this frame  */
    enum alq_status task;       /* what the task returned; ALQ_ELIMIT if it
                                   did not run or was left                   */
    uint64_t words;             /* allocated by the task, exactly            */
    uint64_t sampled_words;     /* the same as samples have it, the block that
                                   was refused included; 0 without a limit of
                                   that kind                                 */
    uint64_t live_words;        /* at the end, not yet found dead; likewise  */
    uint64_t heap_bytes;        /* at the end                                */
    uint64_t time_ns;
    uint64_t cpu_ns; /* 0 without a limit of that kind               */
    /* Who ate the memory, if a profile ran in the domain meanwhile; of several
     * the one with the highest rate counts.  Stacks that have the innermost
     * ALQ_LIMIT_SITE_FRAMES frames in common are one site. */
    uint64_t site_samples; /* all that the profile took of the task */
    uint64_t site_words;   /* as they have it                       */
    unsigned n_sites;      /* in the array: those with most words   */
    struct alq_limit_site sites[ALQ_LIMIT_SITES_MAX]; /* most words first */
};

/* ALQ_OK, or why the task has failed, for its caller. */
typedef enum alq_status alq_task_fn(struct alq_domain *d, void *arg);

/* alq_limit_run -- runs a task under limits
 *
 * limits   Copied.  NULL: none.
 * out      May be NULL.  Nothing in it is to be freed.
 *
 * Returns  ALQ_ELIMIT if a limit of this frame was reached when the task
 *          returned, whatever that returned: all are looked at then, the size
 * of the heap if the task has allocated.  A token that is set already means
 * that the task is not called.  Otherwise what the task returned; that may be
 * ALQ_ELIMIT, with the cause ALQ_LIMIT_NOT, when it is an outer limit that was
 *          reached.
 * Errors   ALQ_EINVAL   task is NULL, or limits has an unknown policy or flag,
 *                       or a number that is neither ALQ_LIMIT_NONE nor at most
 *                       ALQ_LIMIT_MAX
 *          ALQ_ENOHEAP  d is NULL and the preload is not in the process, or is
 *                       off for good
 *          ALQ_ENOMEM   no memory, or no thread, for what limits need
 *          ALQ_ESTATE   the calling thread does not run d; or d is NULL, and
 *                       this is on_limit, or a callback of a profile
 *          In these cases the task is not called, and out is not written.
 * Threads  The domain's.
 * GC       What the task does; with heap_bytes or live_words it may collect.
 * Source   spec memprof-limits 1.1, 1.4, 4.3; seed 000. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_limit_run(struct alq_domain *d, const struct alq_limits *limits,
              alq_task_fn *task, void *arg, struct alq_outcome *out);

/* alq_limit_each_point -- stops a task at each point where it can be stopped
 *
 * For tests: runs it with fuel for 0, 1, 2 ... allocations and polls, until it
 * is not stopped any more; so each of its ways out is taken once.
 *
 * flags    As those of struct alq_limits.
 * check    Called after each run, with the number of points that were passed:
 *          whether all is as it should be.  Other than ALQ_OK ends the calls.
 *          NULL: nothing is checked.
 * points   May be NULL; receives how many points the task has.
 *
 * Returns  ALQ_OK: all were taken; what the task returned when it was not
 *          stopped, if that is not ALQ_OK; or what check returned.
 * Errors   ALQ_EINVAL   task is NULL, or flags are unknown
 *          ALQ_ENOHEAP, ALQ_ENOMEM, ALQ_ESTATE  as alq_limit_run
 * Threads  The domain's.
 * GC       What the task and check do.
 * Source   spec memprof-limits 5, scenario 22. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_limit_each_point(
    struct alq_domain *d, unsigned flags, alq_task_fn *task,
    enum alq_status (*check)(struct alq_domain *d, void *arg, uint64_t passed),
    void *arg, uint64_t *points);

/* alq_malloc_is_interrupted -- alq_is_interrupted of malloc's tasks
 *
 * Returns  1 if a limit on what the calling thread asks of malloc is reached,
 *          or 0.
 * Threads  Any.
 * GC       No effect. */
ALQ_API int alq_malloc_is_interrupted(void);

/* Whether a limit of the thread that runs the domain is reached: of any frame
 * that is open, also while nothing fails because of a mask, so that a release
 * can tell whether what it closes is whole.  1 or 0. */
static inline int
alq_is_interrupted(const struct alq_domain *d)
{
    return d != NULL ? d->is_interrupted : alq_malloc_is_interrupted();
}

/* ---- tokens ------------------------------------------------------------- */

struct alq_token;

/* alq_token_new -- a token, which is not set
 *
 * Returns  It, with one reference; NULL: no memory.
 * Threads  Any.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE struct alq_token *alq_token_new(void);

/* alq_token_set -- sets it, for ever
 *
 * Tasks under it are stopped at their next allocation or poll.  A second time
 * does nothing.
 *
 * Threads  Any; async-signal-safe.
 * GC       No effect. */
ALQ_API void alq_token_set(struct alq_token *token);

/* alq_token_is_set -- whether it is set
 *
 * Returns  1 or 0; 0 for NULL.
 * Threads  Any; async-signal-safe.
 * GC       No effect. */
ALQ_API int alq_token_is_set(const struct alq_token *token);

/* alq_token_fd -- a descriptor that can be read once the token is set
 *
 * For poll and its kin, beside what is waited for in a blocking section.  It is
 * the token's, and is not read.
 *
 * Returns  It; -1 if the system has none left.
 * Threads  Any.
 * GC       No effect. */
ALQ_API int alq_token_fd(struct alq_token *token);

/* alq_token_keep -- one reference more
 *
 * A frame that has a token keeps it by itself.
 *
 * Returns  The token.
 * Threads  Any.
 * GC       No effect. */
ALQ_API struct alq_token *alq_token_keep(struct alq_token *token);

/* alq_token_drop -- one reference less; NULL is allowed
 *
 * Threads  Any; not in a signal handler.
 * GC       No effect. */
ALQ_API void alq_token_drop(struct alq_token *token);

/* ---- parts that are not stopped ----------------------------------------- */

/* alq_mask_begin -- nothing is stopped on this thread until alq_mask_end
 *
 * What is allocated counts; a limit that is reached meanwhile stops the task at
 * the next allocation or poll after the outermost mask has ended.
 *
 * Returns  What alq_mask_end wants back.
 * Threads  The domain's.
 * GC       No effect.
 * Source   spec memprof-limits 1.7. */
ALQ_API ALQ_MUSTUSE int alq_mask_begin(struct alq_domain *d);

/* alq_mask_end -- the mask is again as it was
 *
 * was      What alq_mask_begin returned.
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_mask_end(struct alq_domain *d, int was);

/* alq_is_masked -- whether this thread is not stopped at the moment
 *
 * Returns  1 or 0.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API int alq_is_masked(struct alq_domain *d);

/* alq_foreign_begin -- code that must not be left by longjmp follows
 *
 * Until alq_foreign_end unwinding frames are as others: allocations and polls
 * fail.  They nest.
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_foreign_begin(struct alq_domain *d);

/* alq_foreign_end -- the end of what alq_foreign_begin began
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_foreign_end(struct alq_domain *d);

/* alq_with_resource -- acquire, masked; scope, as before; release, masked
 *
 * release runs once if acquire has returned ALQ_OK, whatever scope does, also
 * when the scope is left by unwinding, or by an exception of C++.
 *
 * Returns  What acquire returned, if that is not ALQ_OK, or what scope did.
 * Errors   ALQ_EINVAL  acquire, scope or release is NULL
 * Threads  The domain's.
 * GC       What the three do.
 * Source   spec memprof-limits 1.7. */
ALQ_API enum alq_status
alq_with_resource(struct alq_domain *d, alq_task_fn *acquire,
                  alq_task_fn *scope,
                  void (*release)(struct alq_domain *d, void *arg), void *arg);

/* A clean-up that is registered; it stands on the program's stack. */
struct alq_cleanup {
    void (*run)(struct alq_domain *d, void *arg);
    void *arg;
    struct alq_domain *domain;
    struct alq_cleanup *outer;
};

/* alq_cleanup_push -- run(d, arg), masked, if this scope is left by unwinding
 *
 * A task with ALQ_LIMIT_UNWINDS is stopped so: what is registered since its
 * frame was opened runs, newest first; root frames are taken off; and
 * alq_limit_run returns, by longjmp, out of whatever the task had called.  C
 * code in between that must finish stands between alq_foreign_begin and _end.
 * Where a frame without that flag lies in between, it is not left.
 *
 * ALQ_SCOPE_CLEANUP(d, c, run, arg) registers c here and takes it off, and runs
 * it, at the end of the scope, however that ends.
 *
 * Threads  The domain's.
 * GC       What run does. */
ALQ_API void alq_cleanup_push(struct alq_domain *d, struct alq_cleanup *c,
                              void (*run)(struct alq_domain *d, void *arg),
                              void *arg);

/* alq_cleanup_pop -- takes the newest clean-up off
 *
 * runs     Not 0: and runs it.
 *
 * Threads  The domain's.
 * GC       What its run does. */
ALQ_API void alq_cleanup_pop(struct alq_domain *d, struct alq_cleanup *c,
                             int runs);

/* For ALQ_SCOPE_CLEANUP. */
static inline void
alq_cleanup_leave(struct alq_cleanup *c)
{
    alq_cleanup_pop(c->domain, c, 1);
}

#define ALQ_SCOPE_CLEANUP(d, c, run, arg)                                      \
    struct alq_cleanup c __attribute__((cleanup(alq_cleanup_leave)));          \
    alq_cleanup_push(d, &c, run, arg)

/* ---- what others see ---------------------------------------------------- */

/* A lock over something that a task may leave half-changed. */
struct alq_guard {
    pthread_mutex_t lock;
    int is_broken; /* under the lock */
};

#define ALQ_GUARD_INIT                                                         \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER, 0                                           \
    }

/* alq_guard_lock -- takes the lock, if what it guards is whole
 *
 * Waits in a blocking section.
 *
 * Errors   ALQ_EINVAL  guard is NULL, or the thread does not run d
 *          ALQ_ESTATE  somebody who was interrupted has let go of it: the lock
 *                      is not taken; see alq_guard_mend
 * Threads  The domain's; one that has it must not take it again.
 * GC       May collect, in other threads. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_guard_lock(struct alq_domain *d,
                                                   struct alq_guard *guard);

/* alq_guard_unlock -- gives it back; broken, if the thread is interrupted
 *
 * For clean-ups and releases, too (alq_is_interrupted).
 *
 * Threads  The one that has it.
 * GC       No effect. */
ALQ_API void alq_guard_unlock(struct alq_domain *d, struct alq_guard *guard);

/* alq_guard_mend -- takes the lock, broken or not, and it is whole
 *
 * For whoever makes anew what it guards, between this and alq_guard_unlock.
 *
 * Errors   ALQ_EINVAL  guard is NULL, or the thread does not run d
 *          ALQ_ESTATE  the thread was forked in this call
 * Threads  As alq_guard_lock.
 * GC       As alq_guard_lock. */
ALQ_API enum alq_status alq_guard_mend(struct alq_domain *d,
                                       struct alq_guard *guard);

struct alq_undo_step {
    void (*undo)(struct alq_domain *d, void *arg);
    void *arg;
};

/* How to take back what was done; all zeros is an empty one. */
struct alq_undo {
    struct alq_undo_step *steps;
    size_t n, size;
};

/* alq_undo_note -- undo(d, arg) takes back what is done next
 *
 * Errors   ALQ_EINVAL  log or undo is NULL
 *          ALQ_ENOMEM  no memory: do not do it
 * Threads  One at a time.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_undo_note(struct alq_undo *log,
              void (*undo)(struct alq_domain *d, void *arg), void *arg);

/* alq_undo_keep -- all was done: the log is empty again
 *
 * Threads  One at a time.
 * GC       No effect. */
ALQ_API void alq_undo_keep(struct alq_undo *log);

/* alq_undo_all -- takes all back, newest first, masked; the log is empty
 *
 * Threads  The domain's.
 * GC       What the steps do. */
ALQ_API void alq_undo_all(struct alq_domain *d, struct alq_undo *log);

/* ---- profiles beside limits ---------------------------------------------
 *
 * Memprof_limits.Memprof: alq_memprof_start and its kin (memprof.h) under the
 * rules of that module.  On this heap a profile and limits never meet: each
 * takes its own samples, so none of the two can be refused, stopped or made
 * less exact by the other. */

/* alq_limit_memprof_start -- begin to profile at a whole interval
 *
 * config          As alq_memprof_start; its rate becomes 1 / interval with
 *                 interval = 1 / rate rounded to the nearest integer, halves
 *                 up.  ALQ_MEMPROF_STRICT is always set.
 * interval_words  May be NULL; receives the interval, the one that estimates
 *                 are to be made with.
 *
 * Errors   ALQ_EINVAL  rate is NaN, above 1, or below 1 / 10,000, which
 *                      limits need; or an argument is wrong as there
 *          ALQ_EBUSY   a profile is sampling here already
 *          ALQ_ENOMEM, ALQ_ESTATE, ALQ_ENOHEAP  as there
 *          On any error nothing has changed.
 * Threads  As alq_memprof_start.
 * GC       As there.
 * Source   seed 000 start; spec memprof-limits 2. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_limit_memprof_start(struct alq_domain *d,
                        const struct alq_memprof_config *config,
                        const struct alq_tracker *tracker,
                        struct alq_profile **out, uint64_t *interval_words);

/* alq_limit_memprof_stop -- stop the domain's profile; limits go on
 *
 * Errors   ALQ_ENOTRUN  no profile is sampling here
 *          others       as alq_memprof_stop
 * Threads  As alq_memprof_stop.
 * GC       As there.
 * Source   seed 000 stop. */
ALQ_API enum alq_status alq_limit_memprof_stop(struct alq_domain *d);

/* alq_limit_memprof_discard -- end all tracking of a stopped profile
 *
 * Errors   As alq_memprof_discard.
 * Threads  As alq_memprof_discard.
 * GC       As there.
 * Source   seed 000 discard. */
ALQ_API enum alq_status alq_limit_memprof_discard(struct alq_profile *profile);

/* ---- the planner --------------------------------------------------------
 *
 * A statistical limit counts samples, one of `interval_words` words in the
 * mean, and is reached at the sample number k = ceil(limit / interval), 1 at
 * least: all limits of one k are the same limit.  So where it stops a task is a
 * matter of chance, around `limit_words`.  These calls are the exact law of it
 * (binomial, no approximation), for choosing a limit before there is one:
 *
 *   0       safe_words            limit_words               stop_words
 *   |-----------|-----------------------|------------------------|------> words
 *      never stopped,         stopped somewhere            always stopped,
 *      but with that          in here                      but with that
 *      probability                                         probability
 *
 * A probability lies in (0, 1).  With an interval of 1 the count is exact, and
 * so is the limit.
 *
 * Source: seeds/003; spec memprof-limits 3. */

/* alq_limit_miss -- the chance that none of so many words is sampled
 *
 * That is how long a task may run on after its token was set, if it is noticed
 * at samples alone.
 *
 * Returns  (1 - 1 / interval_words)^words; 1 if interval_words is 0, when
 *          nothing is sampled.
 * Threads  Any.
 * GC       No effect. */
ALQ_API double alq_limit_miss(uint64_t words, uint64_t interval_words);

/* alq_limit_reached -- the chance that a task of so many words is stopped
 *
 * Returns  The probability that `words` words hold as many samples as the limit
 *          allows, or more; 0 if interval_words is 0.
 * Threads  Any.
 * GC       No effect. */
ALQ_API double alq_limit_reached(uint64_t words, uint64_t limit_words,
                                 uint64_t interval_words);

/* alq_limit_safe_words -- how much a task may allocate and not be stopped
 *
 * Returns  The largest number of words of which it is less probable than
 *          `probability` that they reach the limit.  0 if interval_words is 0,
 *          or probability is not in (0, 1): nothing is promised.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_limit_safe_words(uint64_t limit_words,
                                      uint64_t interval_words,
                                      double probability);

/* alq_limit_stop_words -- how much a task can allocate before it is stopped
 *
 * Returns  The least number of words of which it is less probable than
 *          `probability` that they do not reach the limit; UINT64_MAX if there
 *          is none, or with arguments as above.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_limit_stop_words(uint64_t limit_words,
                                      uint64_t interval_words,
                                      double probability);

/* alq_limit_live_interval -- how often a task with such a limit is sampled
 *
 * Returns  The interval for the other calls here.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_limit_live_interval(uint64_t live_words);

/* alq_limit_for -- the least limit for which a task is safe
 *
 * Returns  The limit in words, a multiple of interval_words, with which
 *          task_words are at most alq_limit_safe_words; 0 if there is none, or
 *          with arguments as above.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_limit_for(uint64_t task_words, uint64_t interval_words,
                               double probability);

#ifdef __cplusplus
}
#endif
#endif
