/* engine.h -- the profiler as its heaps see it          [doc/design/memprof.md]
 *
 * An *entry* is the record of one sampled block for one profile: a node of one
 * cache line that never moves.  It hangs on the intrusive lists of a domain or
 * a thread, or, for a notified heap, in an index by address.  Its states are
 * the table .state.entry.
 *
 * A domain has client slots: for the user's profile (alq_memprof_start), for
 * those beside it, and for the product's own (the recorder, the probes, the
 * limits).  A thread may have profiles of its own, which the threads that it
 * creates take over (tree.c).  A thread samples at the highest of the rates
 * that cover it; each client takes its own samples by thinning. */
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

/* In a config's flags, beside those of memprof.h: the profile belongs to limits
 * on tasks.  Its callbacks run no code of the program.  They run at once for
 * blocks whose callbacks otherwise wait for a poll, and what is due can be run
 * apart from the rest (alqi_memprof_limits_run). */
enum { ALQI_MEMPROF_OF_LIMITS = 1 << 16 };

/* A tracker's flag, beside ALQ_TRACKER_VALUES: alloc_minor writes its datum
 * when nothing that may collect comes any more. */
enum { ALQI_TRACKER_DATUM_LAST = 1 << 16 };

enum alqi_memprof_mode {
    ALQI_MEMPROF_IDLE,    /* the program's own code                      */
    ALQI_MEMPROF_INSIDE,  /* the engine's code: nothing may be re-entered */
    ALQI_MEMPROF_CALLBACK /* a callback: no sampling; frees are noted     */
};

/* A profile's first word is the address of its engine's own variable: a process
 * may have two engines, the preload's and that of a program's managed heap. */
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

struct alqi_entry_fifo { /* FIFO of entries that owe a callback */
    struct alqi_memprof_entry *head;
    struct alqi_memprof_entry *tail;
};

enum alqi_callback_kind {
    ALQI_CALLBACK_ALLOC_NEW,      /* of an entry that none had before    */
    ALQI_CALLBACK_ALLOC_DEFERRED, /* of a deferred one                 */
    ALQI_CALLBACK_PROMOTE,
    ALQI_CALLBACK_LAST /* dealloc, release: its entry is out */
};

enum { ALQI_MEMPROF_TREES_MAX = 1 + ALQ_MEMPROF_BESIDE_MAX };

/* The profiles of thread trees that cover a thread (tree.c). */
struct alqi_memprof_trees {
    uint32_t n;
    struct alq_profile *profile[ALQI_MEMPROF_TREES_MAX];
};

/* The clients of a thread when it last drew a skip: its samples are thinned
 * against that distribution, whatever has started since (.inv.armed).  The
 * thread alone reads and writes it. */
struct alqi_memprof_armed {
    /* The domain's serial when it was copied; 0: stale, arm before a draw. */
    uint64_t serial;
    /* The distribution of the trigger: the highest of the clients' rates. */
    struct alqi_sample_dist dist;
    uint32_t n_clients;
    /* dist.rate is 1. */
    bool samples_every_word;
    /* One client, which takes all samples and has no gate. */
    bool is_single;
    /* is_single, and request_immediate (managed.c) does what it needs. */
    bool is_immediate;
    /* The client with the highest rate that does not belong to limits, the
     * first of equals; NULL: none. */
    const struct alq_profile *highest_rate;
    struct alqi_memprof_client {
        struct alq_profile *profile;
        uint64_t id; /* the profile's when armed (.inv.stable) */
        /* The thread's counters in the profile; NULL: it has none. */
        struct alqi_profile_cell *cell;
        struct alqi_sample_dist thin; /* profile's rate / dist.rate */
        /* The gate of the profile's hooks; NULL: always open. */
        const volatile unsigned short *gate;
    } client[ALQI_MEMPROF_SLOTS + ALQI_MEMPROF_TREES_MAX];
};

enum { ALQI_MEMPROF_DELAYED_FREES = 64 };

/* The engine's state of one thread.  The heap provides the memory (zeroed, then
 * _thread_init).  The owning thread alone reads and writes it, but where a
 * comment says otherwise. */
struct alqi_memprof_thread {
    struct alqi_memprof_domain *domain;
    /* enum alqi_memprof_mode; its signal handlers read and write it, too. */
    volatile uint32_t mode;
    /* Frees in `delayed`; its signal handlers add to them (.inv.delayed). */
    uint32_t n_delayed;
    struct alqi_sample_rng rng;
    /* The capture cache; NULL: stacks are not captured. */
    struct alqi_stack_cache *cache;
    /* The heap's capture by layout; NULL: it wants stacks as deltas. */
    struct alqi_stack_layouts *layouts;
    /* The last capture, valid while cache->serial is that of the capture. */
    struct alqi_stack_result last;
    struct alqi_memprof_armed armed;
    /* Changed under the domain's lock (.inv.trees). */
    struct alqi_memprof_trees trees;

    /* Entries with a callback due.  `pending` waits for a flush, in a scanned
     * heap for a poll; `deferred` (scanned) for a flush; `due` until the
     * callback that is running has ended.  A collector reads them while the
     * thread is stopped. */
    struct alqi_entry_fifo pending;
    struct alqi_entry_fifo deferred;
    struct alqi_entry_fifo due;
    /* Entries of the block that is being sampled, by `chain`. */
    struct alqi_memprof_entry *new_entries;
    /* The entry whose callback runs, and which callback; NULL: none does, or
     * it has no entry. */
    struct alqi_memprof_entry *running;
    enum alqi_callback_kind running_kind;

    /* The cache of free nodes (pool.c). */
    struct alqi_pool_node *free_entries;
    uint32_t n_free_entries;
    /* Captures by layout: so many are skipped yet; so many after the next
     * failure. */
    uint32_t n_refused;
    uint32_t refused;
    /* The thread's number in its domain, from 0; of its seed. */
    uint32_t ordinal;
    bool is_listed; /* on the domain's list; under its lock */
    /* Scanned: words up to and including the next sample among blocks that no
     * trigger watches; 0: to be drawn. */
    uint64_t residual;
    /* Scanned: a skip that was drawn and not used; 0: none (.inv.drawn). */
    uint64_t next_skip;
    uint64_t seeded_by; /* id of the profile that seeded rng */
    /* The subject's limits when the callback began, and what begins() said. */
    const struct alqi_memprof_limits *limits;
    bool began;
    int failure; /* code of the first callback failure not yet reported; 0 */
    uint64_t dropped_nested; /* samples lost in signal handlers, not counted */
    /* The domain's list, under its lock. */
    struct alqi_memprof_thread *next_in_domain;
    struct alqi_memprof_thread *prev_in_domain;
    /* cache->capacity words: a deferred stack while its callback runs. */
    uintptr_t *frames;
    /* Words of the request below the block whose stack the subject walks
     * next. */
    uint64_t words_below;
    /* Room for the subject's walk and for deep captures; only grows. */
    uintptr_t *walked;
    size_t walked_frames;
    void *delayed[ALQI_MEMPROF_DELAYED_FREES];
};

/* ---- domains and threads ------------------------------------------------ */

/* A new domain; it takes over the profiles of `parent`, which may be NULL.
 * NULL: no memory. */
struct alqi_memprof_domain *
alqi_memprof_domain_new(const struct alqi_memprof_subject *subject, void *heap,
                        struct alqi_memprof_domain *parent);
/* Orphans what is still tracked; the last domain of a profile stops the
 * profile. */
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

/* Draws the words up to and including the next sampled one; NEVER: nothing
 * samples, or the thread is not IDLE. */
uint64_t alqi_memprof_skip_words(struct alqi_memprof_thread *thread);

/* ---- a notified heap (malloc) ------------------------------------------- */

/* One word of a new block was sampled; `words_after` of its words come after
 * that one.  Counts the block's samples, captures the stack, runs or queues
 * the alloc callbacks.  The thread must be IDLE.  Returns the next skip. */
uint64_t alqi_memprof_sampled(struct alqi_memprof_thread *thread, void *block,
                              uint64_t size_bytes, uint64_t words_after,
                              const struct alqi_stack_regs *regs);

/* The block is about to be freed, and the filter says that it may be tracked.
 * Callbacks run before the return, or when the callback that is running has
 * ended. False: the caller must not free the block now; the engine frees it
 * later, through free_delayed. */
bool alqi_memprof_freeing(struct alqi_memprof_thread *thread, void *block);

/* realloc in two steps: _begin takes the block's entries out of the index; then
 * _done (the old block is gone: its entries die) or _failed (it is where it
 * was: its entries go back).  *ok is false when the thread is INSIDE: forward
 * the call, nothing was taken. */
struct alqi_memprof_entry *
alqi_memprof_realloc_begin(struct alqi_memprof_thread *thread, void *block,
                           bool *ok);
void alqi_memprof_realloc_done(struct alqi_memprof_thread *thread,
                               struct alqi_memprof_entry *taken);
void alqi_memprof_realloc_failed(struct alqi_memprof_thread *thread,
                                 struct alqi_memprof_entry *taken);
/* The user data of the taken entry whose profile has this callback; false:
 * there is none. */
bool alqi_memprof_realloc_data(const struct alqi_memprof_entry *taken,
                               int (*dealloc_major)(void *arg, uintptr_t data),
                               uintptr_t *data);

/* In a callback of a block's entry: its samples, as they were drawn; the same
 * number in each callback of the entry.  0: none runs. */
uint64_t alqi_memprof_running_samples(const struct alqi_memprof_thread *thread);

/* ---- a heap's own recording ----------------------------------------------
 *
 * For code of the heap that, like the engine, must not be entered twice on one
 * thread: signal handlers find the thread INSIDE. */
void alqi_memprof_leave_slow(struct alqi_memprof_thread *thread, uint32_t was);

/* Enters the engine; the thread is not INSIDE.  Returns the mode, for
 * _leave. */
static inline uint32_t
alqi_memprof_enter(struct alqi_memprof_thread *thread)
{
    uint32_t was = thread->mode;

    ALQI_ASSERT(was != ALQI_MEMPROF_INSIDE);
    thread->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    return was;
}

/* Leaves the engine for the mode that _enter returned.  Frees that handlers
 * have delayed, and deaths that fell due meanwhile, are served out of line. */
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

/* Captures the stack with the thread's cache; the thread is INSIDE. */
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

/* What one of the product's own profiles asks for besides callbacks, in a
 * notified heap.  Hooks run INSIDE: they neither allocate nor call the
 * engine. */
struct alqi_memprof_hooks {
    /* While this is 0 the profile has no samples: no entry is made, nothing is
     * counted.  NULL: always open. */
    const volatile unsigned short *gate;
    /* A tracked block is about to be freed, or to be moved by a realloc.
     * Unlike the dealloc callback this call comes before its address can be
     * reused. */
    void (*freeing)(void *arg, const void *block);
    /* The realloc has failed: the block is where it was. */
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
/* Stops the profile wherever it samples: on the thread's domain or by thread
 * trees.  `thread` is NULL for a profile of no domain that no tree has. */
enum alq_status alqi_memprof_profile_stop(struct alqi_memprof_thread *thread,
                                          struct alq_profile *profile);
/* The domain samples for a profile of another domain, too.  ALQ_ENOTRUN: the
 * profile is stopped; ALQ_EBUSY: its slot is sampling here. */
enum alq_status alqi_memprof_join(struct alqi_memprof_domain *domain,
                                  struct alq_profile *profile);
/* Entries of other domains than the thread's, which may be NULL, are released
 * when those domains next meet them. */
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
/* In a copy of a process, which has one thread and never ends a call of the
 * engine: visits the sampled blocks of notified heaps whose trackers have that
 * callback.  Takes no lock (alone.c). */
void alqi_memprof_each_alone(int (*dealloc_major)(void *arg, uintptr_t data),
                             void (*visit)(void *arg, const void *block,
                                           uintptr_t data),
                             void *arg);
bool alqi_memprof_is_discarded(const struct alq_profile *profile);
void alqi_memprof_counts(const struct alq_profile *profile,
                         struct alq_memprof_counts *out);
uint64_t alqi_memprof_seed(const struct alq_profile *profile);
void alqi_memprof_profile_drop(struct alq_profile *profile);

/* ---- thread trees ------------------------------------------------------- */

/* A start by SLOT_TREE changes what the calling thread samples for, and does
 * not call triggers_stale: the thread must draw its skip again. */

bool alqi_memprof_tree_is_sampling(const struct alqi_memprof_thread *thread);
/* Copies the profiles that a thread which `creator`, the caller, is about to
 * create takes over; the copy keeps them attached until _adopt or _drop.
 * False: there are none.  Takes no lock; the creator is not in a handler that
 * came INSIDE. */
bool alqi_memprof_trees_copy(const struct alqi_memprof_thread *creator,
                             struct alqi_memprof_trees *out);
/* By the created thread, which must draw its skip afterwards. */
void alqi_memprof_trees_adopt(struct alqi_memprof_thread *thread,
                              struct alqi_memprof_trees *trees);
/* No thread was created, or, is_lost, one that cannot be covered: counted as
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
