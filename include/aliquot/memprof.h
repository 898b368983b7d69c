/* memprof.h -- statistical profiles of allocation   [OCaml Gc.Memprof, in C]
 *
 * Every allocated word, header word counted, is sampled with the same
 * probability.  A block with at least one sampled word is tracked: callbacks
 * run when it is allocated, promoted and deallocated, once per event of the
 * block; how many of its words were sampled is alq_allocation.n_samples.
 *
 * A word is 8 bytes.  For a malloc block the words tried are the requested
 * bytes rounded up to words, plus one for the allocator's header.
 *
 * Callbacks run on the thread that caused the event, with sampling and
 * callbacks suspended on that thread only: callbacks of one profile may run
 * on several threads at once and must be thread-safe in a program that has
 * several.  A callback may allocate, free, and start, stop or discard
 * profiles.  On the malloc heap a callback runs inside malloc or free of the
 * caller: it must not wait for a lock that another thread may hold while it
 * allocates.  ALQ_MEMPROF_DEFER lifts that rule.
 *
 * On a managed heap a callback may do what the program may where it allocates:
 * collect, block, spawn, let other threads run; but it may not end its domain
 * or detach its thread.  When they run:
 *
 *   alloc_minor    in the allocation, before the block exists: ALQ_NULL and
 *                  ALQ_ECALLBACK when it fails
 *   of blocks that the library makes, unmarshalled or larger than
 *   ALQ_SMALL_WOSIZE_MAX, and whatever a collection finds
 *                  at the next poll, allocation that is slow, or end of an
 *                  explicit collection, which fails with ALQ_ECALLBACK when a
 *                  callback does; what is due after it waits for the next one
 *
 * The alloc callback is run by the thread that has allocated, or never; the
 * others by any thread of its domain, or of another one when that has ended.  A
 * block that is dead or promoted before its alloc callback could run gets all
 * of its callbacks then.  When the heap ends, what is due runs, and data of
 * blocks that are left go to `release`. */
#ifndef ALIQUOT_MEMPROF_H
#define ALIQUOT_MEMPROF_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a profile covers: a heap's unit of execution; NULL is the malloc heap,
 * all of it; alq_thread_tree() is the part of it that threads allocate. */
struct alq_domain;
struct alq_profile; /* reference-counted; never on a collected heap */

enum alq_source {
    ALQ_SOURCE_NORMAL = 0,  /* the managed heap                          */
    ALQ_SOURCE_MARSHAL = 1, /* unmarshalling                             */
    ALQ_SOURCE_CUSTOM = 2,  /* memory a custom block holds out of the heap */
    ALQ_SOURCE_MALLOC = 3   /* the program's malloc                      */
};

/* Frames, innermost first.  They are program counters: return addresses, except
 * that a frame interrupted by a signal is the interrupted instruction itself;
 * or, on a managed heap whose program says so, words of its own (callstack.h),
 * and then there may be any number of them. */
struct alq_callstack {
    const uintptr_t *frames; /* valid during the callback only */
    size_t n_frames;
};

struct alq_allocation {
    uint64_t n_samples;  /* words of this block that were sampled; >= 1 */
    uint64_t size_words; /* without the header word                     */
    uint64_t size_bytes; /* as requested; 8 * size_words on managed heaps */
    enum alq_source source;
    struct alq_callstack callstack;
    const void *block; /* NULL when a managed block has no address: not yet,
                          or no longer                                   */
    uint32_t age;      /* major cycles of a managed heap that have ended since
                          it was allocated, modulo 2^24: what grows old in
                          great numbers leaks; 0 for malloc              */
};

/* Results of alloc and promote callbacks.  A negative value is a failure code
 * of the caller's own: tracking of the block ends, and the code surfaces from
 * the next alq_memprof_flush or, on a managed heap, from alq_memprof_code once
 * a call has failed with ALQ_ECALLBACK. */
enum {
    ALQ_TRACK_DROP = 0, /* stop tracking this block            */
    ALQ_TRACK_KEEP = 1  /* keep it, with *data as its user data */
};

enum {
    /* Managed heaps: user data are values, kept alive and up to date.  A
     * callback that may collect roots its argument first.  0 is no value. */
    ALQ_TRACKER_VALUES = 1
};

/* NULL members are allowed: a NULL alloc or promote drops the block, a NULL
 * dealloc does nothing.  `release` sees the user data of every entry that ends
 * without a dealloc callback seeing it: promote said DROP or failed, the
 * profile was discarded, or the callback that was due never ran. */
struct alq_tracker {
    int (*alloc_minor)(void *arg, const struct alq_allocation *alloc,
                       uintptr_t *data);
    int (*alloc_major)(void *arg, const struct alq_allocation *alloc,
                       uintptr_t *data);
    int (*promote)(void *arg, uintptr_t *data);
    int (*dealloc_minor)(void *arg, uintptr_t data);
    int (*dealloc_major)(void *arg, uintptr_t data);
    void (*release)(void *arg, uintptr_t data);
    void *arg;
    unsigned flags; /* ALQ_TRACKER_* */
};

/* alq_tracker_null -- a tracker that drops every block: each member is 0 */
extern ALQ_API const struct alq_tracker alq_tracker_null;

enum {
    /* start fails with ALQ_EBUSY when the domain is sampling; without it the
     * domain is moved to the new profile, and the old one goes on elsewhere. */
    ALQ_MEMPROF_STRICT = 1,
    /* callbacks wait for alq_memprof_flush on the thread that owes them */
    ALQ_MEMPROF_DEFER = 2,
    /* the profile samples beside the domain's own and any others: it keeps no
     * start from succeeding, is replaced by none, and alq_profile_stop alone
     * ends it.  ALQ_MEMPROF_STRICT has no effect on it. */
    ALQ_MEMPROF_BESIDE = 4
};

/* Profiles that may sample beside a domain's own at the same time; and as many
 * that may cover one thread of the malloc heap beside its own thread tree's. */
enum { ALQ_MEMPROF_BESIDE_MAX = 8 };

struct alq_memprof_config {
    double rate;             /* samples per word, 0 <= rate <= 1          */
    size_t callstack_frames; /* innermost kept; 0 none; SIZE_MAX no limit
                                (of malloc: the preload's `depth`)   */
    uint64_t seed;           /* 0: from the system                        */
    uint64_t max_entries;    /* blocks tracked at once; 0: no cap         */
    unsigned flags;          /* ALQ_MEMPROF_*                             */
};

#define ALQ_MEMPROF_CONFIG_DEFAULT                                             \
    {                                                                          \
        1e-4, SIZE_MAX, 0, 0, ALQ_MEMPROF_STRICT                               \
    }

/* Counters of one profile since it started; each only grows but `live`. */
struct alq_memprof_counts {
    uint64_t sampled_blocks;
    uint64_t sampled_words;
    uint64_t live_entries;
    uint64_t dropped_nomem;  /* no memory for an entry or its stack, or for
                                a thread that was to be covered         */
    uint64_t dropped_cap;    /* max_entries was reached                 */
    uint64_t dropped_nested; /* inside the profiler, from a signal handler */
    uint64_t callback_failures;
};

/* alq_thread_tree -- the calling thread and the threads it creates
 *
 * In place of a domain it makes a call mean the calling thread's part of the
 * malloc heap.  A profile started there covers the calling thread and each
 * thread that a covered thread creates from then on, as child domains of OCaml
 * inherit; threads that exist already are not covered.  What a covered thread
 * allocates is sampled; who frees it does not matter.
 *
 * Each thread takes its creator's profiles over when it is created, and is on
 * its own from then on: it may start a profile in place of the one it has
 * (which goes on in the other threads) or beside it.  A profile whose last
 * thread has ended is stopped, not discarded.
 *
 * A thread takes over if it is created through pthread_create or thrd_create,
 * not if the C library creates it for itself (timers, asynchronous lookups) or
 * if it comes from clone.  A forked child's only thread keeps its profiles.
 *
 * Returns  A handle that alq_memprof_start, _stop, _flush and _is_sampling
 *          take; the same on every thread.
 * Threads  Any.
 * GC       No effect.
 * Source   seeds/004 start; spec statmemprof 1.12 D1, D2. */
ALQ_API struct alq_domain *alq_thread_tree(void);

/* alq_memprof_start -- begin sampling a domain's allocations
 *
 * Threads the domain has, and threads and domains it creates later, are
 * sampled too.  Sampling begins before the call returns.  The first start in a
 * managed heap stops its domains for a moment.
 *
 * Profiles that cover the same block each take their own samples of it: every
 * one sees exactly its own rate, whatever else samples.  (They are not
 * independent: what a lower rate samples is chosen from what the highest does.)
 *
 * domain   The domain, NULL for the malloc heap of this process, or
 *          alq_thread_tree().
 * config   Copied.  NULL means ALQ_MEMPROF_CONFIG_DEFAULT.
 * tracker  Copied.  `arg` must outlive the profile.
 * out      Receives one reference; see alq_profile_drop.
 *
 * Errors   ALQ_EINVAL   rate is NaN or out of range, flags or the tracker's
 *                       flags have an unknown bit, tracker or out is NULL
 *          ALQ_EBUSY    sampling already, and ALQ_MEMPROF_STRICT is set; or,
 *                       beside others, ALQ_MEMPROF_BESIDE_MAX do so already
 *          ALQ_ENOMEM   no memory for the profile, or, for a thread tree or a
 *                       managed heap, for the calling thread's state; or the
 *                       thread is ending
 *          ALQ_ENOHEAP  domain is NULL or a thread tree and the preload is not
 *                       in the process, or ALIQUOT has it off for good
 *          ALQ_ESTATE   a managed domain that the calling thread does not run
 *          On any error nothing has started and *out is unchanged.
 * Threads  Any, of a managed heap the domain's; not from a signal handler.
 * GC       Does not allocate on the heap or run callbacks; may collect.
 * Source   seeds/004 start; spec statmemprof 1.10 P1, P2; DESIGN decision 10
 *          for profiles side by side. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_memprof_start(struct alq_domain *domain,
                  const struct alq_memprof_config *config,
                  const struct alq_tracker *tracker, struct alq_profile **out);

/* alq_memprof_replace -- start a profile in place of the one that samples
 *
 * As alq_memprof_start without ALQ_MEMPROF_STRICT: a profile that samples the
 * domain goes on in other domains that share it; when there are none, it is
 * stopped.  Its blocks go on giving callbacks until it is discarded.
 *
 * Errors   As alq_memprof_start, but for ALQ_EBUSY; ALQ_EINVAL also if flags
 *          has ALQ_MEMPROF_BESIDE.
 * Threads  As alq_memprof_start.
 * GC       As alq_memprof_start.
 * Source   spec statmemprof 1.10 P2. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_memprof_replace(
    struct alq_domain *domain, const struct alq_memprof_config *config,
    const struct alq_tracker *tracker, struct alq_profile **out);

/* alq_memprof_join -- sample a managed domain for a profile that runs already
 *
 * As if the domain had been spawned by one that the profile samples.  A domain
 * that has a profile stops it first, or starts another in place of it.
 *
 * Errors   ALQ_EINVAL   domain is not a managed one, or profile is NULL or of
 *                       the malloc heap
 *          ALQ_EBUSY    the domain is sampling already, for the same place
 *          ALQ_ENOTRUN  the profile is not sampling
 *          ALQ_ENOMEM   no memory for the calling thread's state
 *          ALQ_ESTATE   the calling thread does not run the domain
 * Threads  The domain's.
 * GC       No effect.
 * Source   spec statmemprof 1.12 D9. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_memprof_join(struct alq_domain *domain, struct alq_profile *profile);

/* alq_memprof_stop -- stop sampling the domain's current profile
 *
 * Stops it in every thread and domain that shares it; profiles beside it go on.
 * For alq_thread_tree() it is the one the calling thread has, whoever started
 * it.  The calling thread's
 * outstanding alloc callbacks run first.  Blocks already tracked go on giving
 * promote and dealloc callbacks until alq_memprof_discard.
 *
 * Errors   ALQ_ENOTRUN    no profile is sampling here
 *          ALQ_ENOHEAP    as alq_memprof_start
 *          ALQ_ECALLBACK  an outstanding callback failed; the profile is
 *                         stopped all the same
 *          ALQ_ESTATE     as alq_memprof_start
 *          ALQ_ENOMEM     a managed heap: no memory for the calling thread's
 *                         state
 * Threads  As alq_memprof_start.  Legal inside a callback.
 * GC       May run alloc callbacks of the calling thread.
 * Source   seeds/004 stop; spec statmemprof P3, P4, P7. */
ALQ_API enum alq_status alq_memprof_stop(struct alq_domain *domain);

/* alq_profile_stop -- stop sampling a profile, wherever it samples
 *
 * As alq_memprof_stop, for the profile given instead of a domain's own: from
 * any thread, covered by it or not.
 *
 * Errors   ALQ_EINVAL     profile is NULL
 *          ALQ_ENOTRUN    it is not sampling
 *          ALQ_ENOHEAP    it is of the malloc heap: as alq_memprof_start
 *          ALQ_ENOMEM     no memory for the calling thread's state
 *          ALQ_ECALLBACK  as alq_memprof_stop
 * Threads  Any; not from a signal handler.  Legal inside a callback.
 * GC       May run alloc callbacks of the calling thread.
 * Source   seeds/004 stop; spec statmemprof P3, P4, D3. */
ALQ_API enum alq_status alq_profile_stop(struct alq_profile *profile);

/* alq_memprof_discard -- end all tracking of a stopped profile
 *
 * No callback of it starts after the call returns but `release`, which runs
 * for each entry left, now or when the entry is next met.
 *
 * Errors   ALQ_EINVAL    profile is NULL
 *          ALQ_ERUNNING  it is still sampling
 *          ALQ_EGONE     it was discarded before
 * Threads  Any; not from a signal handler.  Legal inside a callback.
 * GC       Runs only `release`.
 * Source   seeds/004 discard; spec statmemprof P5, P6. */
ALQ_API enum alq_status alq_memprof_discard(struct alq_profile *profile);

/* alq_memprof_flush -- run the callbacks that the calling thread owes
 *
 * Errors   ALQ_ECALLBACK  one failed: *code has the first failure code since
 *                         the last flush (code may be NULL).  The others ran.
 *          ALQ_ENOHEAP    as alq_memprof_start
 *          ALQ_ESTATE     likewise
 *          ALQ_ENOMEM     a managed heap: no memory for the calling thread's
 *                         state
 * Threads  As alq_memprof_start.  Inside a callback: does nothing.
 * GC       Runs callbacks.
 * Source   spec statmemprof 8.3, "when are callbacks run". */
ALQ_API enum alq_status alq_memprof_flush(struct alq_domain *domain, int *code);

/* alq_memprof_code -- why a call last failed with ALQ_ECALLBACK
 *
 * Returns  The code of the first callback that failed in the call by which the
 *          thread that runs the managed domain was last told so; 0 when it
 *          never was, and for the malloc heap.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API int alq_memprof_code(struct alq_domain *domain);

/* alq_memprof_is_sampling -- whether a profile samples the domain now
 *
 * That is whether alq_memprof_stop would find one: profiles beside it, started
 * with ALQ_MEMPROF_BESIDE, do not count.
 *
 * Returns  1 or 0; 0 when there is no such heap.
 * Threads  Any.
 * GC       No effect. */
ALQ_API int alq_memprof_is_sampling(struct alq_domain *domain);

/* alq_memprof_each -- visit the live tracked blocks of a profile
 *
 * Blocks allocated or freed meanwhile may or may not be visited; each block is
 * visited at most once.  `visit` returns 0 to go on, anything else to end.
 * It must not allocate, free, or call this library.  Call stacks were the alloc
 * callback's to keep: alloc->callstack is empty.
 *
 * The blocks of a managed heap are visited in all its domains, which stand
 * still: a picture of one moment.
 *
 * Errors   ALQ_EINVAL  profile or visit is NULL; malloc: inside a callback
 *          ALQ_EGONE   the profile is discarded
 *          ALQ_ESTATE  a managed heap: the calling thread runs no domain of it,
 *                      or is in a callback
 * Threads  Any, of a managed heap one that runs a domain; not from a signal
 *          handler.
 * GC       None runs meanwhile; may collect before. */
ALQ_API enum alq_status alq_memprof_each(
    struct alq_profile *profile,
    int (*visit)(void *arg, const struct alq_allocation *alloc, uintptr_t data),
    void *arg);

/* alq_profile_counts -- a snapshot of a profile's counters
 *
 * Errors   None; profile and out must not be NULL.
 * Threads  Any.
 * GC       No effect. */
ALQ_API void alq_profile_counts(const struct alq_profile *profile,
                                struct alq_memprof_counts *out);

/* alq_profile_seed -- the seed of a profile's sampling
 *
 * Returns  The seed in use, whether it was given or came from the system;
 *          never 0.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_profile_seed(const struct alq_profile *profile);

/* alq_profile_drop -- give one reference back
 *
 * Dropping the last one of a profile that is not discarded keeps it running:
 * the engine holds a reference of its own for as long as it needs the profile.
 * NULL is allowed.
 *
 * Threads  Any; not from a signal handler.
 * GC       No effect. */
ALQ_API void alq_profile_drop(struct alq_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
