/* observe.h -- hooks: what a profiler is called for, and may ask
 * [statmemprof 1.13]
 *
 * The heap knows one client, by a table of functions, and nothing about it;
 * glue joins the two.  Without a client each call below is one comparison, on
 * slow paths only: a client's samples are the reason why an allocation is slow,
 * since the trigger is one more lower bound of the word that allocation
 * compares with.
 *
 *      young_start        trigger          young_ptr              young_end
 *         |      free      |  free          |     allocated        |
 *         +----------------+----------------+----------------------+
 *                           [sampled word]   <- allocation moves down
 *
 * .inv.trigger  0, or the sampled word lies right below it, and is free.
 *
 * .inv.once     Of a block that the client knows, each collection lets it
 *               ask once where it is now: in after_minor, if it was young, or
 *               in after_major, if it was old.
 *
 * Who calls what, when:
 *
 *   skip_words       a trigger is due: after each minor collection, a request
 *                   that came to nothing, a start, and alqi_heap_observe_redraw
 *   request         an allocation that runs over the trigger, room made, before
 *                   its memory exists: may allocate, collect, run callbacks.
 *                   Then one of
 *   request_done      its memory is there, headers and fields are not written
 *   request_cancel    there is no memory after all
 *   sample          in place of these three: one block, whose caller is known,
 *                   while nothing else is due
 *   direct          a block was born in the major heap; fields are not written
 *   unmarshal       a block of a message, young or not; fields are not written.
 *                   What the client wants of it waits for a poll: the message
 *                   is not whole yet.  The room of a small message, taken at
 *                   once, is no request
 *   custom          a custom block owns `bytes` outside the heap
 *   poll            after alqi_heap_observe_wake_sigsafe, at the next slow
 *                   allocation, poll or end of an explicit collection, before
 *                   finalisers: may allocate, collect, run callbacks.  Other
 *                   than ALQ_OK: the call that polls fails with this status
 *                   (In request and poll skip_words may be asked; UINT64_MAX
 *                   keeps their own allocations out.  After them it is asked
 *                   once more.)
 *
 *   scan            with the roots: strong values that the client holds;
 *                   young_only: those that may be young; visit replaces them
 *   after_minor     promotion is over in all domains; the old places can still
 *                   be read: alqi_heap_observe_forward
 *   after_major     all is marked, colours have not rotated:
 *                   alqi_heap_observe_is_marked.  Young blocks may exist
 *   weak            compaction: blocks the client tracks and does not hold;
 *                   visit replaces their addresses
 *
 *   domain_start    before it can allocate; false: no memory, it does not
 *                   start.  `by` spawns it, or is NULL.  Also, in a stop, for
 *                   each domain that is there when the client starts
 *   domain_end      its last collection is over; `threads` has those that it
 *                   still has
 *   thread_end      the running thread leaves its domain for good, which goes
 *                   on without it
 *   heap_end        the last domain has ended: no question may be asked, and
 *                   the heap's memory goes when the hook returns.  Another heap
 *                   may have begun
 *
 * Hooks are called with their domain, by the thread that holds it (.inv.own),
 * those of the second group within a collection: they must not call the heap
 * but for the questions below.  Any of them may be NULL, but request,
 * request_done and request_cancel only together with skip_words. */
#ifndef ALQI_HEAP_OBSERVE_H
#define ALQI_HEAP_OBSERVE_H

#include <stdbool.h>

#include <aliquot/heap.h>

struct alq_thread;
struct alqi_domain;
struct alqi_heap;
struct alqi_stack_regs; /* the client's: passed on */

typedef void alqi_heap_observe_visit_fn(void *arg, alq_value *slot);

struct alqi_heap_hooks {
    /* Words from here up to the next sampled one, which counts, at least 1;
     * UINT64_MAX: none. */
    uint64_t (*skip_words)(void *client, struct alqi_domain *d);
    /* Blocks in program order, the first one at the highest address.
     * `sample_at` counts words in that order, from 1, up to the sampled one.
     * `caller`: where the program's own frames begin; NULL: that is not known.
     * Other than ALQ_OK: the allocation fails with this status; neither _done
     * nor _cancel is due. */
    enum alq_status (*request)(void *client, struct alqi_domain *d,
                               const uintptr_t *headers, unsigned n_blocks,
                               uint64_t sample_at,
                               const struct alqi_stack_regs *caller);
    /* `low`: where the last block's header will be.  Returns what skip_words
     * would. */
    uint64_t (*request_done)(void *client, struct alqi_domain *d,
                             uintptr_t low);
    /* May be NULL.  A sample's usual way as one call: all of request and what
     * follows, for one block whose caller is known, while nothing else is due.
     * By the pieces of observe_calls.h, or alqi_heap_alloc_sample_any; returns
     * what that would. */
    alq_value (*sample)(void *client, struct alqi_domain *d, uintptr_t header,
                        const struct alqi_stack_regs *caller);
    void (*request_cancel)(void *client, struct alqi_domain *d);
    void (*direct)(void *client, struct alqi_domain *d, alq_value block,
                   uintptr_t header);
    void (*unmarshal)(void *client, struct alqi_domain *d, alq_value block,
                      uintptr_t header);
    void (*custom)(void *client, struct alqi_domain *d, alq_value block,
                   size_t bytes);
    enum alq_status (*poll)(void *client, struct alqi_domain *d);

    void (*scan)(void *client, struct alqi_domain *d, bool young_only,
                 alqi_heap_observe_visit_fn *visit, void *arg);
    void (*after_minor)(void *client, struct alqi_domain *d);
    void (*after_major)(void *client, struct alqi_domain *d);
    void (*weak)(void *client, struct alqi_domain *d,
                 alqi_heap_observe_visit_fn *visit, void *arg);

    bool (*domain_start)(void *client, struct alqi_domain *d,
                         struct alqi_domain *by);
    void (*domain_end)(void *client, struct alqi_domain *d);
    void (*thread_end)(void *client, struct alqi_domain *d,
                       struct alq_thread *thread);
    void (*heap_end)(void *client);
};

/* The heap's. */
struct alqi_heap_observer {
    const struct alqi_heap_hooks *hooks; /* NULL: nobody observes */
    void *client;
};

/* A domain's. */
struct alqi_heap_observed {
    uintptr_t trigger;   /* address, or 0                        */
    uint32_t wants_draw; /* atomic, these two: set by anybody: .pair.limit */
    uint32_t wants_poll; /* taken by the domain's thread: .pair.limit */
    const struct alq_thread *drawn_for; /* it ran the domain then    */
    void *client;                       /* the client's own state of it */
};

/* Something to do before the next allocation. */
static inline bool
alqi_heap_observe_wants(const struct alqi_heap_observed *o)
{
    return (__atomic_load_n(&o->wants_draw, __ATOMIC_SEQ_CST) |
            __atomic_load_n(&o->wants_poll, __ATOMIC_SEQ_CST)) != 0;
}

/* ---- for the client ----------------------------------------------------- */

/* From now on the heap has this client.  Stops the world and notifies it of the
 * domains there are.  ALQ_EBUSY: it has one; ALQ_ENOMEM: the client has no
 * memory for a domain. */
enum alq_status alqi_heap_observe_start(struct alqi_domain *d,
                                        const struct alqi_heap_hooks *hooks,
                                        void *client);
/* No other domain runs, or all stand still. */
void alqi_heap_observe_stop(struct alqi_domain *d);

/* The domain draws its trigger anew, or calls poll, before its next allocation
 * from a slow path; soon, if it allocates or polls.  Any thread. */
void alqi_heap_observe_redraw_sigsafe(struct alqi_domain *d);
void alqi_heap_observe_wake_sigsafe(struct alqi_domain *d);

/* In after_minor: the place of a block that was young, ALQ_NULL if it died.  A
 * block that is pinned is where it was, and young: ask again next time. */
alq_value alqi_heap_observe_forward(const struct alqi_domain *d,
                                    alq_value young);
/* In after_major: whether an old block will outlive the cycle. */
bool alqi_heap_observe_is_marked(const struct alqi_domain *d, alq_value old);

#endif
