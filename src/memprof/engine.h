/* engine.h -- the profiler as its heaps see it          [doc/design/memprof.md]
 *
 * Entries are nodes of one cache line that never move; they hang on intrusive
 * lists (young, old, pending) of a domain or a thread, or, for a notified
 * heap, in an index by address.  What a block's entry may go through is the
 * table of spec statmemprof 2.1.
 *
 * A domain has a layouts client slots: one for the user's profile
 * (alq_memprof_start), some for those beside it and some for profiles of our
 * own (the recorder, the probes, the limits).  A thread may have profiles
 * of its own, which the threads it creates take over (tree.c).  A thread
 * samples at the largest of the rates that cover it; each client takes its own
 * samples by thinning (DESIGN decision 10). */
#ifndef ALQI_MEMPROF_ENGINE_H
#define ALQI_MEMPROF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#include "base/base.h"
#include "memprof/subject.h"
#include "plat/plat.h"
#include "sample/sample.h"
#include "stack/capture.h"
#include "stack/capture_layout.h"

/* In the order in which callbacks of one block are called. */
enum alqi_memprof_slot {
    ALQI_MEMPROF_SLOT_COUNT, /* of what is alive in the process         */
    ALQI_MEMPROF_SLOT_LIVE,  /* of tasks with a limit on what they have */
    ALQI_MEMPROF_SLOT_USER,
    ALQI_MEMPROF_SLOT_RECORDER,
    ALQI_MEMPROF_SLOT_PROBES,
    ALQI_MEMPROF_SLOT_BESIDE, /* the first for ALQ_MEMPROF_BESIDE */
    ALQI_MEMPROF_SLOTS = ALQI_MEMPROF_SLOT_BESIDE + ALQ_MEMPROF_BESIDE_MAX,
    ALQI_MEMPROF_SLOT_TREE = ALQI_MEMPROF_SLOTS /* none: the thread's own */
};

/* In a config's flags, beside those of memprof.h: the profile is of limits on
 * tasks.  Its callbacks run nothing of the program: of blocks that wait for a
 * poll otherwise it is told at once, and what it is owed can be run apart
 * (alqi_memprof_limits_run). */
enum { ALQI_MEMPROF_OF_LIMITS = 1 << 16 };

enum alqi_memprof_mode {
    ALQI_MEMPROF_IDLE,    /* the program's own code                      */
    ALQI_MEMPROF_INSIDE,  /* the engine's code: nothing may be re-entered */
    ALQI_MEMPROF_CALLBACK /* a callback: no sampling; frees are noted     */
};

/* The first word of a profile is the address of its engine's: a process may
 * have two, the preload's and that of a program's managed heap. */
extern const char alqi_memprof_engine;

static inline bool
alqi_memprof_is_own(const struct alq_profile *profile)
{
    return *(const void *const *)(const void *)profile == &alqi_memprof_engine;
}

struct alqi_memprof_domain; /* engine's state of one domain */
struct alqi_memprof_entry;
struct alqi_pool_node;
struct alqi_profile_cell;

struct alqi_entry_fifo { /* FIFO of entries that give_found callbacks */
    struct alqi_memprof_entry *head;
    struct alqi_memprof_entry *tail;
};

enum alqi_callback_kind {
    ALQI_CALLBACK_ALLOC_NEW,      /* of an entry nobody else before     */
    ALQI_CALLBACK_ALLOC_DEFERRED, /* of a deferred one                 */
    ALQI_CALLBACK_PROMOTE,
    ALQI_CALLBACK_LAST /* dealloc, release: its entry is out */
};

enum { ALQI_MEMPROF_TREES_MAX = 1 + ALQ_MEMPROF_BESIDE_MAX };

/* Profiles of thread trees that cover a thread (tree.c). */
struct alqi_memprof_trees {
    uint32_t n;
    struct alq_profile *profile[ALQI_MEMPROF_TREES_MAX];
};

/* What sampled the thread when it last drew a skip: hits are thinned against
 * the dist they were next_skip by, whatever has started since. */
struct alqi_memprof_armed {
    uint64_t serial;              /* of the domain's slots; 0 stale */
    struct alqi_sample_dist dist; /* of the trigger: the largest rate */
    uint32_t n_clients;
    bool samples_every_word; /* the rate is 1 */
    bool is_single;    /* one client, which takes all hits and has no gate */
    bool is_immediate; /* and whose request_immediate (managed.c) is enough */
    /* Of them, the one with the highest rate that is not the limits', the first
     * of several; NULL: none. */
    const struct alq_profile *highest_rate;
    struct alqi_memprof_client {
        struct alq_profile *profile;
        uint64_t id;                    /* the profile's                 */
        struct alqi_profile_cell *cell; /* there; may be NULL            */
        struct alqi_sample_dist thin;   /* profile's rate / dist's rate   */
        const volatile unsigned short *gate; /* its hooks'; may be NULL */
    } client[ALQI_MEMPROF_SLOTS + ALQI_MEMPROF_TREES_MAX];
};

enum { ALQI_MEMPROF_DELAYED_FREES = 64 };

/* Engine's state of one thread.  The heap provides the memory (zeroed, then
 * _thread_init); only the owning thread touches it, except where said. */
struct alqi_memprof_thread {
    struct alqi_memprof_domain *domain;
    /* Written by the owner, read by its own signal handlers. */
    volatile uint32_t mode;
    uint32_t n_delayed; /* frees that came while INSIDE */
    struct alqi_sample_rng rng;
    struct alqi_stack_cache *cache;
    struct alqi_stack_layouts
        *layouts;                  /* the heap's; NULL: deltas are wanted */
    struct alqi_stack_result last; /* of the capture cache->serial names */
    struct alqi_memprof_armed armed;
    struct alqi_memprof_trees trees; /* changed under the domain's lock */
    struct alqi_entry_fifo pending;  /* wait for a flush, or, scanned, a
                                             poll                          */
    struct alqi_entry_fifo deferred; /* scanned: wait for a flush    */
    struct alqi_entry_fifo due;      /* run when this callback ends  */
    struct alqi_memprof_entry *new_entries; /* sampled, not yet handed over  */
    struct alqi_memprof_entry *running;     /* whose callback runs           */
    struct alqi_pool_node *free_entries;    /* the thread's node cache       */
    uint32_t n_free_entries;
    uint32_t n_refused; /* captures yet that layouts is not asked for */
    uint32_t refused;   /* how many that is after the next refusal */
    uint32_t ordinal;   /* of the domain's threads, from 0    */
    bool is_listed;     /* on the domain's list               */
    uint64_t residual;  /* scanned: untripped words left      */
    uint64_t next_skip; /* scanned: a skip not used yet; 0     */
    uint64_t seeded_by; /* id of the profile that seeded rng */
    enum alqi_callback_kind running_kind;
    const struct alqi_memprof_limits *limits; /* when a callback began */
    bool began;              /* as limits->begins said             */
    int failure;             /* first unreported callback code     */
    uint64_t dropped_nested; /* samples lost to signal handlers    */
    struct alqi_memprof_thread *next_in_domain; /* domain's list; locked */
    struct alqi_memprof_thread *prev_in_domain;
    uintptr_t *frames; /* of a stash, while its callback runs: scratch */
    uintptr_t *walked; /* the subject's walk: grows to the deepest stack */
    size_t walked_frames;
    void *delayed[ALQI_MEMPROF_DELAYED_FREES];
};

/* ---- domains and threads ------------------------------------------------ */

/* `parent` (may be NULL) hands its profiles down.  NULL: no memory. */
struct alqi_memprof_domain *
alqi_memprof_domain_new(const struct alqi_memprof_subject *subject, void *heap,
                        struct alqi_memprof_domain *parent);
/* Orphans what is still tracked; the last domain of a profile stops it. */
void alqi_memprof_domain_end(struct alqi_memprof_domain *domain);

/* `frames` has cache->capacity words; seed 0 draws one from the system. */
void alqi_memprof_thread_init(struct alqi_memprof_thread *thread,
                              struct alqi_memprof_domain *domain,
                              struct alqi_stack_cache *cache, uintptr_t *frames,
                              uint64_t seed);
/* Alloc callbacks that never ran are dropped, the rest goes to the domain.
 * Legal within a callback that ends its thread, and in a forked child for a
 * thread that is not there. */
void alqi_memprof_thread_end(struct alqi_memprof_thread *thread);

/* ---- the trigger -------------------------------------------------------- */

/* Words up to and including the next sampled one; NEVER when nothing samples,
 * or the thread is not IDLE. */
uint64_t alqi_memprof_skip_words(struct alqi_memprof_thread *thread);

/* ---- a notified heap (malloc) ------------------------------------------- */

/* One word of a new block was sampled; `words_after` of its words come after
 * that one.  Counts the block's samples, captures the stack, runs or queues
 * the alloc callbacks.  The thread must be IDLE.  Returns the next skip. */
uint64_t alqi_memprof_sampled(struct alqi_memprof_thread *thread, void *block,
                              uint64_t size_bytes, uint64_t words_after,
                              const struct alqi_stack_regs *regs);

/* The block is about to be freed and may be tracked (the filter hit).
 * Returns false when the caller must not free it now: the engine does, later,
 * through free_delayed.  Callbacks run before it returns, or when the callback
 * that is running now ends. */
bool alqi_memprof_freeing(struct alqi_memprof_thread *thread, void *block);

/* realloc in three steps: take the block's entries out, then either bury them
 * (the old block is gone) or put them back (realloc failed).  *ok is false
 * when nothing may be taken now (INSIDE): forward the call untracked. */
struct alqi_memprof_entry *
alqi_memprof_realloc_begin(struct alqi_memprof_thread *thread, void *block,
                           bool *ok);
void alqi_memprof_realloc_done(struct alqi_memprof_thread *thread,
                               struct alqi_memprof_entry *taken);
void alqi_memprof_realloc_failed(struct alqi_memprof_thread *thread,
                                 struct alqi_memprof_entry *taken);
/* The user data of the taken entry whose profile has this callback, if any. */
bool alqi_memprof_realloc_data(const struct alqi_memprof_entry *taken,
                               int (*dealloc_major)(void *arg, uintptr_t data),
                               uintptr_t *data);

/* ---- a heap's own recording ----------------------------------------------
 *
 * For code of the heap that, like the engine, must not be entered twice on one
 * thread: signal handlers find the thread INSIDE. */
void alqi_memprof_leave_slow(struct alqi_memprof_thread *thread, uint32_t was);

/* Returns what leave wants back; the thread is not INSIDE. */
static inline uint32_t
alqi_memprof_enter(struct alqi_memprof_thread *thread)
{
    uint32_t was = thread->mode;

    ALQI_ASSERT(was != ALQI_MEMPROF_INSIDE);
    thread->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    return was;
}

static inline void
alqi_memprof_leave(struct alqi_memprof_thread *thread, uint32_t was)
{
    if (ALQI_LIKELY(thread->due.head == NULL)) {
        atomic_signal_fence(memory_order_seq_cst);
        thread->mode = was;
        atomic_signal_fence(memory_order_seq_cst);
        if (ALQI_LIKELY(__atomic_load_n(&thread->n_delayed, __ATOMIC_RELAXED) ==
                        0))
            return;
        thread->mode = ALQI_MEMPROF_INSIDE;
        atomic_signal_fence(memory_order_seq_cst);
    }
    alqi_memprof_leave_slow(thread, was);
}

/* The stack by the thread's cache; the thread is INSIDE. */
struct alqi_stack_result
alqi_memprof_capture(struct alqi_memprof_thread *thread,
                     const struct alqi_stack_regs *regs);

/* ---- profiles ----------------------------------------------------------- */

/* `thread` may be NULL before the program's first thread is known, but for
 * SLOT_TREE.  With ALQ_MEMPROF_BESIDE, SLOT_USER is any slot beside it. */
ALQ_MUSTUSE enum alq_status alqi_memprof_start(
    struct alqi_memprof_domain *domain, struct alqi_memprof_thread *thread,
    enum alqi_memprof_slot slot, const struct alq_memprof_config *config,
    const struct alq_tracker *tracker, struct alq_profile **out);

/* What a profile of our own asks for besides callbacks, in a notified heap.
 * Hooks run INSIDE: they neither allocate nor call the engine. */
struct alqi_memprof_hooks {
    /* A block met while this is 0 is no sample of the profile's: nothing is
     * made of it and nothing counted.  NULL: always open. */
    const volatile unsigned short *gate;
    /* A tracked block is about to be freed, or to be moved by a realloc.
     * Unlike its dealloc callback this comes while its address is its own. */
    void (*freeing)(void *arg, const void *block);
    /* The realloc has failed: it is where it was. */
    void (*free_undone)(void *arg, const void *block, uint64_t size_bytes);
};

/* As _start; the hooks are not copied, and `arg` is the tracker's. */
ALQ_MUSTUSE enum alq_status alqi_memprof_start_hooked(
    struct alqi_memprof_domain *domain, struct alqi_memprof_thread *thread,
    enum alqi_memprof_slot slot, const struct alq_memprof_config *config,
    const struct alq_tracker *tracker, const struct alqi_memprof_hooks *hooks,
    struct alq_profile **out);
enum alq_status alqi_memprof_stop(struct alqi_memprof_domain *domain,
                                  struct alqi_memprof_thread *thread,
                                  enum alqi_memprof_slot slot);
/* Wherever it samples: on the thread's domain or by thread trees.  `thread` is
 * NULL for one of no domain, if no thread tree has the profile. */
enum alq_status alqi_memprof_profile_stop(struct alqi_memprof_thread *thread,
                                          struct alq_profile *profile);
/* The domain samples for a profile of another one, too.  ALQ_ENOTRUN: it is
 * stopped; ALQ_EBUSY: its slot is sampling here. */
enum alq_status alqi_memprof_join(struct alqi_memprof_domain *domain,
                                  struct alq_profile *profile);
/* Entries of other domains than the thread's, which may be NULL, go when they
 * are next met. */
enum alq_status alqi_memprof_discard(struct alqi_memprof_thread *thread,
                                     struct alq_profile *profile);
enum alq_status alqi_memprof_flush(struct alqi_memprof_thread *thread,
                                   int *code);
bool alqi_memprof_is_sampling(const struct alqi_memprof_domain *domain,
                              enum alqi_memprof_slot slot);
enum alq_status alqi_memprof_each(
    struct alqi_memprof_thread *thread, struct alq_profile *profile,
    int (*visit)(void *arg, const struct alq_allocation *a, uintptr_t data),
    void *arg);
bool alqi_memprof_is_discarded(const struct alq_profile *profile);
void alqi_memprof_counts(const struct alq_profile *profile,
                         struct alq_memprof_counts *out);
uint64_t alqi_memprof_seed(const struct alq_profile *profile);
void alqi_memprof_profile_drop(struct alq_profile *profile);

/* ---- thread trees ------------------------------------------------------- */

/* A start by SLOT_TREE changes what the calling thread samples for, and does
 * not run_alloc the heap (triggers_stale): the thread must draw its skip again.
 */

bool alqi_memprof_tree_is_sampling(const struct alqi_memprof_thread *thread);
/* What a thread that `creator`, the caller, is about to create takes over; it
 * keeps the profiles going until _adopt or _drop.  False: nothing.  Takes no
 * lock; the creator must not be in a handler that came INSIDE. */
bool alqi_memprof_trees_copy(const struct alqi_memprof_thread *creator,
                             struct alqi_memprof_trees *out);
/* The created thread, which must then draw its skip. */
void alqi_memprof_trees_adopt(struct alqi_memprof_thread *thread,
                              struct alqi_memprof_trees *trees);
/* No thread came of it, or, is_lost, one that cannot be covered: counted as
 * dropped_nomem.  `thread`: the caller. */
void alqi_memprof_trees_drop(struct alqi_memprof_thread *thread,
                             struct alqi_memprof_trees *trees, bool is_lost);

/* ---- fork --------------------------------------------------------------- */

/* The forking thread must not be INSIDE, and must neither sample nor free a
 * tracked block until _parent or _child: it holds every lock.  In the child
 * the heap then ends (alqi_memprof_thread_end) each thread that is not there
 * any more. */
void alqi_memprof_fork_prepare(void);
void alqi_memprof_fork_parent(void);
void alqi_memprof_fork_child(void);
/* The child of a fork that ran no handlers: locks may be held by threads that
 * are not here.  Forgets every entry, and every thread but the caller's own,
 * whose state may be NULL. */
void alqi_memprof_fork_child_unprepared(struct alqi_memprof_thread *thread);

#endif
