/* domain.c -- domains and the heap: beginning, end, fork
 *
 *   slot:  VACANT -> STARTING -> RUNNING or BLOCKING -> ... -> ENDING -> VACANT
 *   heap:  made for its first user -> used -> dropped behind its last user
 *
 * Structs of domains outlive their heap and are used again, as any thread may
 * raise the limit of a domain at any time.  In a child process that lacks
 * threads of the heap it is lost: each call fails.
 *
 * Keeps .inv.users: The heap lives while it has users (n_users, under the
 *   lock).
 * Keeps .inv.handed: A domain that ends leaves its tables to an adopter.
 * Keeps .inv.fork: Of a lost heap nothing ends, and nothing waits. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/pool_area.h"
#include "heap/write_barrier.h"
#include "heap/param_control.h"
#include "heap/major_cycle.h"
#include "heap/domain.h"
#include "heap/event.h"
#include "heap/large.h"
#include "heap/leak_report.h"
#include "heap/alloc_limit.h"
#include "heap/weak_phase.h"
#include "heap/major_mark.h"
#include "heap/minor.h"
#include "heap/minor_size.h"
#include "heap/observe_calls.h"
#include "heap/minor_open.h"
#include "heap/domain_orphan.h"
#include "heap/pin.h"
#include "heap/minor_remember.h"
#include "heap/root.h"
#include "heap/major_balance.h"
#include "heap/root_stack.h"
#include "heap/stat.h"
#include "heap/stop.h"
#include "heap/major_sweep.h"
#include "heap/domain_thread.h"
#include "heap/stop_handshake.h"

enum {
    MINOR_WORDS = ALQI_HOSTS_OCAML ? 65536 : 262144, /* to begin with */
    MINOR_WORDS_MIN = 4096,
    SPACE_OVERHEAD_MAX = 1000000,
    SLICE_US = 200,
    RESERVE_BYTES = 1 << 20,
};

/* ---- the heap ----------------------------------------------------------- */

/* Nobody becomes a user while alq_fork holds it.  A forked child breaks it. */
static struct alqi_plat_lock starts = ALQI_PLAT_LOCK(HEAP_STARTS);
/* Guards the_heap and its n_users; fork holds it, too. */
static struct alqi_plat_lock lock = ALQI_PLAT_LOCK(HEAP_USERS);
static struct alqi_heap *the_heap; /* NULL: none has users */
static uint64_t last_id;           /* changed under the lock of stops */
/* The thread is in alqi_heap_domain_fork, and its domain alone. */
static __thread bool forks __attribute__((tls_model("initial-exec")));

/* Sets the heap's parameters; false: no memory for what ALIQUOTPARAM asks.
 * Where address space is short domains_max is what the minor part has room
 * for. */
static bool
configure(struct alqi_heap *heap, const struct alq_domain_config *c)
{
    unsigned room = alqi_heap_area_slices(&heap->area);

    heap->cycle.slice_us = SLICE_US;
    heap->bound.limit_bytes = c->limit_bytes == 0 ? SIZE_MAX : c->limit_bytes;
    heap->bound.reserve_bytes =
        c->reserve_bytes == 0 ? RESERVE_BYTES : c->reserve_bytes;
    if (!alqi_heap_control_start(heap, c))
        return false;
    heap->domains_max = (unsigned)heap->tuning.domains_max;
    if (heap->domains_max > room)
        heap->domains_max = room;
    return true;
}

/* Gives the locks that lie in the heap their ranks; two more are made with the
 * area and the queues. */
static void
locks_init(struct alqi_heap *heap)
{
    alqi_plat_lock_init(&heap->listeners.lock, ALQI_RANK_HEAP_EVENTS);
    alqi_plat_lock_init(&heap->young.room_lock, ALQI_RANK_HEAP_OPENING);
    alqi_plat_lock_init(&heap->large.lock, ALQI_RANK_HEAP_LARGE);
    alqi_plat_lock_init(&heap->pins.lock, ALQI_RANK_HEAP_PINS);
}

/* Makes the heap, with nothing in it: so it begins as if just swept.  The
 * promise of one worker's pools is there from the start (minor_open.c). */
static struct alqi_heap *
heap_new_locked(const struct alq_domain_config *c)
{
    struct alqi_heap *heap = calloc(1, sizeof *heap);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_USERS));
    if (heap == NULL)
        return NULL;
    locks_init(heap);
    if (!alqi_heap_area_open(&heap->area))
        goto fail_area;
    if (!alqi_heap_balance_open(heap))
        goto fail_spare;
    heap->cycle.colours = alqi_heap_colours();
    heap->cycle.phase = ALQI_HEAP_SWEPT; /* there is nothing */
    heap->area.n_promised = ALQI_HEAP_WORKER_POOLS;
    if (configure(heap, c)) {
        alqi_heap_minor_size_start(&heap->young.policy,
                                   MINOR_WORDS * ALQ_WORD_BYTES);
        alqi_heap_stat_begin(heap);
        return heap;
    }

    alqi_heap_balance_close(heap);
fail_spare:
    alqi_heap_area_close(&heap->area);
fail_area:
    free(heap);
    return NULL;
}

/* ---- structs ------------------------------------------------------------ */

/* .inv.ever  A domain's struct is never freed but used again, since tokens are
 * set, and wake whoever may wait for them, at any moment and in handlers.
 *
 * .pair.ever  domain_new() -> domain_take() and who wakes all: the struct.
 *             domain_give() -> domain_take(), by is_used: the struct as new. */
static struct alqi_domain *ever; /* atomic, only pushed to (.pair.ever) */

/* Makes a struct and adds it to `ever`, for good. */
static struct alqi_domain *
domain_new(void)
{
    struct alqi_domain *d = calloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    d->is_used = true;
    d->next_ever = __atomic_load_n(&ever, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ever, &d->next_ever, d, true,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
    return d;
}

/* A struct that no heap uses; the exchange of is_used takes it. */
static struct alqi_domain *
domain_take(void)
{
    struct alqi_domain *d = __atomic_load_n(&ever, __ATOMIC_SEQ_CST);

    for (; d != NULL; d = d->next_ever)
        if (!__atomic_exchange_n(&d->is_used, true, __ATOMIC_SEQ_CST))
            return d;
    return domain_new();
}

/* Makes the struct one that the next heap may use: as new, but for what other
 * threads may write at any time.  is_used is cleared last. */
static void
domain_give(struct alqi_domain *d)
{
    size_t from = offsetof(struct alqi_domain, events);

    memset((char *)d + from, 0, sizeof *d - from);
    d->id = 0;
    d->claimed = 0;
    __atomic_store_n(&d->state, ALQI_HEAP_VACANT, __ATOMIC_RELAXED);
    __atomic_store_n(&d->is_used, false, __ATOMIC_SEQ_CST);
}

/* Wakes the limit trigger of each struct, used or not: a handler cannot know
 * which are, and a request to an unused one does no harm (.inv.ever). */
void
alqi_heap_limit_trigger_wake_all_sigsafe(void)
{
    struct alqi_domain *d = __atomic_load_n(&ever, __ATOMIC_SEQ_CST);

    for (; d != NULL; d = d->next_ever)
        alqi_heap_limit_trigger_wake_sigsafe(d);
}

/* Requests a handshake of each struct, likewise. */
void
alqi_heap_handshake_request_all_sigsafe(void)
{
    struct alqi_domain *d = __atomic_load_n(&ever, __ATOMIC_SEQ_CST);

    for (; d != NULL; d = d->next_ever)
        alqi_heap_handshake_request_sigsafe(d);
}

/* ---- the heap's end ------------------------------------------------------ */

/* A visitor of blocks, for the end of the heap. */
static void
finalise_block(struct alqi_domain *d, alq_value block, uintptr_t header)
{
    (void)d;
    alqi_heap_finalise(block, header);
}

/* Drops the heap: all domains have ended, so one struct adopts what they left,
 * and what remains is finalised and freed.  No other thread knows the heap. */
static void
heap_drop(struct alqi_heap *heap)
{
    struct alqi_domain *d = heap->domains[0];
    unsigned i;

    if (d != NULL) {
        alqi_heap_orphan_adopt_stw(d);
        alqi_heap_stat_end(heap);
        alqi_heap_large_drop(d); /* finalises large custom blocks */
        alqi_heap_sweep_leaves(d, finalise_block); /* those in pools */
        alqi_heap_pin_drop(heap);
        alqi_heap_mark_drop(d);
        alqi_heap_weak_phase_drop(d);
        /* .inv.room: each minor heap has given its promise back. */
        ALQI_ASSERT(heap->area.n_promised ==
                    ALQI_HEAP_WORKER_POOLS + heap->young.promised_left);
    }
    /* .inv.bound: each large block was taken off when it was freed. */
    ALQI_ASSERT(heap->large.n == 0 && heap->large.bytes == 0);
    ALQI_ASSERT(heap->stacks.n == 0); /* .inv.stay */
    for (i = 0; i < heap->n_slots; i++) {
        ALQI_ASSERT(!alqi_heap_is_there(heap->domains[i])); /* .inv.users */
        domain_give(heap->domains[i]);
    }
    alqi_heap_queue_close(&heap->young.workers.queue);
    alqi_heap_balance_close(heap);
    alqi_heap_stack_drop(heap);
    alqi_heap_area_close(&heap->area);
    alqi_base_map_clear(&heap->large.index.starts);
    free(heap);
}

/* Counts one more user, making the heap if there is none; NULL: no memory.  The
 * user is counted before anything of the heap is used (.inv.users). */
static struct alqi_heap *
heap_use(const struct alq_domain_config *c)
{
    struct alqi_heap *heap;

    alqi_plat_lock(&starts);
    alqi_plat_lock(&lock);
    if (the_heap == NULL)
        the_heap = heap_new_locked(c);
    heap = the_heap;
    if (heap != NULL)
        heap->life.n_users++;
    alqi_plat_unlock(&lock);
    alqi_plat_unlock(&starts);
    return heap;
}

/* Counts one user less.  After the last one the heap is dropped.
 *
 * The heap is nobody's once the_heap is NULL: the rest runs without the lock,
 * for finalisers and hooks are the program's, and may start a domain of the
 * next heap. */
static void
heap_leave(struct alqi_heap *heap)
{
    bool is_last;

    alqi_plat_lock(&lock);
    ALQI_ASSERT(the_heap == heap && heap->life.n_users > 0); /* .inv.users */
    is_last = --heap->life.n_users == 0;
    if (is_last) {
        the_heap = NULL;
        alqi_heap_leak_heap(heap);
        alqi_heap_transfer_roots_end(heap);
    }
    alqi_plat_unlock(&lock);
    if (!is_last)
        return;
    alqi_heap_event_heap_end(heap);
    alqi_heap_observed_heap_end(heap);
    heap_drop(heap);
}

bool
alqi_heap_domain_is_last(const struct alqi_domain *d)
{
    bool is_last;

    alqi_plat_lock(&lock);
    is_last = d->heap->life.n_users == 1;
    alqi_plat_unlock(&lock);
    return is_last;
}

/* ---- starting ----------------------------------------------------------- */

/* Whether all members are within their ranges; 0 stands for a default. */
bool
alqi_heap_domain_is_config(const struct alq_domain_config *c)
{
    return (c->minor_words == 0 ||
            (c->minor_words >= MINOR_WORDS_MIN &&
             c->minor_words <= ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES)) &&
           c->space_overhead <= SPACE_OVERHEAD_MAX &&
           c->domains_max <= ALQI_HEAP_DOMAINS_MAX;
}

/* Chooses what the domain's slice has memory for: its fixed size, or the most
 * that the policy may choose. */
static void
minor_size(struct alqi_domain *d, const struct alq_domain_config *c)
{
    d->sizes.fixed_bytes = alqi_heap_control_minor_bytes(d->heap, c);
    d->sizes.max_bytes = d->sizes.fixed_bytes != 0 ? d->sizes.fixed_bytes
                                                   : ALQI_HEAP_MINOR_BYTES_MAX;
}

/* The first slot without a domain; NULL: none so far. */
static struct alqi_domain *
slot_vacant(const struct alqi_heap *heap)
{
    unsigned i, n = __atomic_load_n(&heap->n_slots, __ATOMIC_ACQUIRE);

    for (i = 0; i < n; i++)
        if (__atomic_load_n(&heap->domains[i]->state, __ATOMIC_ACQUIRE) ==
            ALQI_HEAP_VACANT)
            return heap->domains[i];
    return NULL;
}

/* Whether one more domain may start, as far as the number of slots goes; an
 * estimate, without the lock of stops. */
bool
alqi_heap_domain_has_slot(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->n_slots, __ATOMIC_ACQUIRE) <
               heap->domains_max ||
           slot_vacant(heap) != NULL;
}

/* The first vacant slot, else a new one; NULL and a status: there is none.
 *
 * ALQ_EBUSY: the program's domains_max is reached.  ALQ_ENOMEM: no memory, or
 * fewer slots because address space is short.  The lock is that of stops;
 * n_slots is stored last, with release, as others read it without. */
static struct alqi_domain *
slot_find_locked(struct alqi_heap *heap, enum alq_status *status)
{
    struct alqi_domain *d = slot_vacant(heap);
    unsigned n = heap->n_slots;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP));
    if (d != NULL)
        return d;
    *status = ALQ_ENOMEM;
    if (n == (unsigned)heap->tuning.domains_max)
        *status = ALQ_EBUSY;
    if (n == heap->domains_max) /* fewer where address space is short */
        return NULL;
    d = domain_take();
    if (d == NULL)
        return NULL;
    ALQI_ASSERT(!alqi_heap_is_there(d)); /* .inv.ever: no heap uses it */
    d->heap = heap;
    d->slot = n;
    heap->domains[n] = d;
    __atomic_store_n(&heap->n_slots, n + 1, __ATOMIC_RELEASE);
    return d;
}

/* Clears the struct of the slot's last domain, but for words that other threads
 * write at any time.  Old requests are dropped.  The domain is done with the
 * work of the phase that runs. */
static void
slot_clear(struct alqi_domain *d)
{
    size_t from = offsetof(struct alqi_domain, threads);

    /* .inv.handed: what the slot's last domain had belongs to others by now. */
    ALQI_ASSERT(d->remembered.n == 0 && d->roots.boxes == NULL &&
                d->marker.stack == NULL && d->marker.inherited == NULL);
    ALQI_ASSERT(d->large.all == NULL && d->large.unswept == NULL &&
                d->weak_phase.finals == NULL && d->weak_phase.alarms == NULL);
    d->pub.young_ptr = NULL; /* young_limit stays: anybody may raise it */
    d->pub.store_max = 0;
    d->pub.frames = NULL;
    d->pub.status = ALQ_OK;
    d->pub.is_interrupted = 0;
    memset((char *)d + from, 0, sizeof *d - from);
    __atomic_store_n(&d->requests.want_minor, false, __ATOMIC_RELAXED);
    __atomic_store_n(&d->requests.want_slice, false, __ATOMIC_RELAXED);
    __atomic_store_n(&d->done, true, __ATOMIC_RELAXED);
}

/* Makes the struct a domain, with an empty and open minor heap; false: no
 * memory, and nothing is left open.
 *
 * The orphan for the domain's end is made here, as ending must not fail for
 * want of memory.  The minor heap opens with as much room as two need, if there
 * are others: the new domain leaves them their part. */
static bool
domain_open_locked(struct alqi_domain *d, const struct alq_domain_config *c,
                   struct alqi_domain *by)
{
    struct alqi_heap *heap = d->heap;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP));
    slot_clear(d);
    d->sizes.base = heap->area.young_base + d->slot * ALQI_HEAP_MINOR_BYTES_MAX;
    d->pub.young_base = heap->area.young_base;
    d->pub.young_bytes = heap->area.young_bytes;
    ALQI_ASSERT(d->slot < alqi_heap_area_slices(&heap->area)); /* .inv.open */
    minor_size(d, c);
    alqi_heap_minor_size_start(&d->sizes.policy, MINOR_WORDS * ALQ_WORD_BYTES);
    d->id = ++last_id;
    alqi_heap_handshake_begin(d);
    alqi_heap_barrier_phase(d); /* no phase changes: the lock of stops */
    d->orphan = calloc(1, sizeof *d->orphan);
    if (d->orphan == NULL)
        return false;
    if (!alqi_heap_observed_domain_start(d, by))
        goto fail_observed;
    if (!alqi_heap_minor_open_locked(d))
        goto fail_open;
    if (!alqi_heap_open_minor(d, heap->n_slots > 1 ? 2 : 1))
        goto fail_room;
    return true;

fail_room:
    alqi_heap_minor_drop(d);
fail_open:
    alqi_heap_observed_domain_end(d);
fail_observed:
    free(d->orphan);
    return false;
}

/* Starts a domain in a vacant slot.  The lock of stops is held from VACANT to
 * RUNNING or BLOCKING, so no leader ever meets STARTING. */
static enum alq_status
start_locked(struct alqi_heap *heap, const struct alq_domain_config *c,
             struct alqi_domain *by, struct alqi_domain **out)
{
    enum alqi_heap_domain_state state =
        by == NULL ? ALQI_HEAP_RUNNING : ALQI_HEAP_BLOCKING;
    enum alq_status status = ALQ_ENOMEM;
    struct alqi_domain *d = slot_find_locked(heap, &status);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP));
    if (d == NULL)
        return status;
    /* .inv.stop: the lock keeps stops out, and none is under way. */
    ALQI_ASSERT(!alqi_heap_alloc_limit_is_stop_asked(d));
    __atomic_store_n(&d->state, ALQI_HEAP_STARTING, __ATOMIC_SEQ_CST);
    if (!domain_open_locked(d, c, by)) {
        __atomic_store_n(&d->state, ALQI_HEAP_VACANT, __ATOMIC_SEQ_CST);
        return ALQ_ENOMEM;
    }
    if (state == ALQI_HEAP_RUNNING)
        alqi_heap_thread_begin(d);
    else
        alqi_heap_thread_await(d);
    alqi_heap_event_log(d, ALQ_EVENT_DOMAIN_START, ALQ_EVENT_MOMENT, 0, 0);
    __atomic_store_n(&d->state, state, __ATOMIC_SEQ_CST);
    *out = d;
    return ALQ_OK;
}

/* Starts a domain: counts as a user first, then takes the lock of stops.  After
 * any failure the user is gone again, and perhaps the heap with it. */
enum alq_status
alqi_heap_domain_start(const struct alq_domain_config *c,
                       struct alqi_domain *by, struct alqi_domain **out)
{
    struct alqi_heap *heap = heap_use(c);
    enum alq_status status = ALQ_ESTATE;

    if (heap == NULL)
        return ALQ_ENOMEM;
    if (!heap->life.is_lost) {
        alqi_heap_stop_lock(heap, by);
        status = start_locked(heap, c, by, out);
        alqi_heap_stop_unlock(heap);
    }
    if (status != ALQ_OK)
        heap_leave(heap); /* else the domain is the user */
    return status;
}

/* ---- ending ------------------------------------------------------------- */

/* Empties the minor heap, by stops of the domain's own or another domain's.
 * False: the heap is lost, perhaps by a fork in a finaliser that a stop called,
 * and the minor heap stays as it is. */
static bool
empty_minor(struct alqi_domain *d)
{
    do
        alqi_heap_minor(d);
    while (!d->heap->life.is_lost && !alqi_heap_minor_is_empty(d));
    return !d->heap->life.is_lost;
}

/* Ends the domain that the calling thread runs.
 *
 * Its minor heap is emptied first, until nothing is young.  From there to
 * stop_vacate there is no safepoint, so no stop sees the domain half ended.
 * Everything of it that lives on is handed over in ENDING (.inv.handed); its
 * count as a user is the last to go. */
void
alqi_heap_domain_end(struct alqi_domain *d)
{
    struct alqi_heap *heap = d->heap;
    bool is_inner;

    if (heap->life.is_lost) /* .inv.fork */
        return;
    alqi_heap_stack_end(d->threads.running);
    if (!empty_minor(d))
        return;
    ALQI_ASSERT(d->remembered.n == 0 &&
                !d->remembered.lost);          /* .inv.remember */
    ALQI_ASSERT(d->threads.all->next == NULL); /* .inv.own: it has no others */
    is_inner = alqi_heap_nogc_begin();
    alqi_heap_observed_domain_end(d);
    alqi_heap_leak_domain(d);
    alqi_heap_event_state_end(d);
    alqi_heap_thread_end(d);
    alqi_heap_roots_drop(d);
    alqi_heap_remember_drop(d);
    alqi_heap_stop_ending(d);  /* a stop now waits for VACANT */
    alqi_heap_orphan_leave(d); /* .inv.handed */
    alqi_heap_mark_drop(d);
    alqi_heap_leave_minor(d);
    alqi_heap_minor_drop(d);
    if (alqi_heap_is_quiet(d)) {
        d->pub.store_max = UINTPTR_MAX;
        alqi_heap_alloc_limit_raise(d);
    }
    alqi_heap_stop_vacate(d);
    alqi_heap_nogc_end(is_inner);
    heap_leave(heap);
}

/* ---- fork --------------------------------------------------------------- */

/* Whether the domain is the heap's only one, and the calling thread its only
 * thread, with none about to become one. */
static bool
is_alone(const struct alqi_domain *d)
{
    return d != NULL && d->heap->life.n_users == 1 && d->threads.all != NULL &&
           d->threads.all->next == NULL &&
           __atomic_load_n(&d->threads.waiting, __ATOMIC_RELAXED) == 0;
}

/* Takes the locks that a thread without a domain may hold.  The child lacks
 * such a thread, so a lock that it held there would never be free. */
static void
before_fork(void)
{
    alqi_plat_lock(&lock);
    if (the_heap != NULL)
        alqi_plat_lock(&the_heap->listeners.lock);
    alqi_heap_roots_lock();
}

static void
after_fork_parent(void)
{
    alqi_heap_roots_unlock();
    if (the_heap != NULL)
        alqi_plat_unlock(&the_heap->listeners.lock);
    alqi_plat_unlock(&lock);
}

/* In the child, after a fork.
 *
 * If the forking thread ran the only domain alone, it goes on; a thread that
 * was about to ask for the domain is not there.  Otherwise threads that ran
 * domains, or were about to, are missing, and no stop could end: the heap is
 * lost, and raised limits lead each allocation to the slow path, which says
 * so. */
static void
after_fork_child(void)
{
    struct alqi_domain *d = alqi_heap_thread_domain();
    unsigned i;

    after_fork_parent();
    alqi_plat_lock_break(&starts);
    if (the_heap == NULL)
        return;
    if (forks || is_alone(d)) {
        __atomic_store_n(&d->threads.waiting, 0, __ATOMIC_RELAXED);
        return;
    }
    the_heap->life.is_lost = true;
    for (i = 0; i < the_heap->n_slots; i++)
        alqi_heap_alloc_limit_raise(the_heap->domains[i]);
}

/* Before the program's handlers, so that these may use the heap in the
 * child. */
__attribute__((constructor(ALQI_FORK_HEAP))) static void
forks_watch(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Whether the domain is alone; the lock is taken for the look. */
static bool
is_alone_now(const struct alqi_domain *d)
{
    bool is;

    alqi_plat_lock(&lock); /* a domain may be about to start */
    is = is_alone(d);
    alqi_plat_unlock(&lock);
    return is;
}

/* Forks, if the domain is alone.  `starts` is held over the fork, so that no
 * domain starts between the look and the fork; it comes before all locks that
 * handlers of fork take.  In the child it is broken already. */
enum alq_status
alqi_heap_domain_fork(struct alqi_domain *d, int *pid)
{
    enum alq_status status = ALQ_EBUSY;
    int child = -1;

    alqi_plat_lock(&starts);
    if (is_alone_now(d)) {
        forks = true;
        child = fork();
        forks = false;
        status = child < 0 ? ALQ_ENOMEM : ALQ_OK;
        if (child >= 0)
            *pid = child;
    }
    if (child != 0)
        alqi_plat_unlock(&starts);
    return status;
}

/* ---- the process exits -------------------------------------------------- */

/* At the exit of the process, with c=1 in ALIQUOTPARAM: ends the only domain,
 * so that custom blocks are finalised and memory is given back.
 *
 * The domain stays if exit was called within a finaliser, alarm or listener, or
 * while other domains live: their threads may use the heap. */
__attribute__((destructor)) static void
clean_up(void)
{
    struct alqi_domain *d = alqi_heap_thread_domain();

    if (d != NULL && d->heap->tuning.cleans_up != 0 && !d->heap->life.is_lost &&
        is_alone_now(d) && d->weak_phase.n_calls == 0 &&
        !alqi_heap_event_is_inside(d))
        alqi_heap_domain_end(d);
}
