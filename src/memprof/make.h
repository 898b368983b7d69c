/* make.h -- from k samples of one block to an entry for each client
 *
 * The clients thin the samples by the distribution that the thread was armed
 * with (.inv.armed).  Each client with a sample left gets an entry on the
 * thread's `new_entries`, in the order of the slots, thread trees last.  One
 * capture of the stack serves all of them.
 *
 * The functions are inline because most instructions of a sample are here. */
#ifndef ALQI_MEMPROF_MAKE_H
#define ALQI_MEMPROF_MAKE_H

#include "memprof/domain_state.h"
#include "memprof/entry.h"
#include "memprof/pool.h"
#include "memprof/profile.h"

/* A block that is about to be tracked. */
struct alqi_memprof_birth {
    const void *block;
    uint64_t size_bytes;
    uint8_t birth; /* ALQI_BIRTH_* and the source, as in an entry */
};

/* ---- make.c ------------------------------------------------------------- */

ALQI_COLD void alqi_make_refused(struct alqi_memprof_thread *t,
                                 const struct alqi_memprof_client *c);
ALQI_COLD void alqi_make_no_memory(struct alqi_memprof_thread *t,
                                   struct alq_profile *p);
/* As alqi_make, for any number of clients of any kind. */
bool alqi_make_for_all(struct alqi_memprof_thread *t,
                       const struct alqi_memprof_birth *birth, uint64_t k);
/* How many of the captured frames the profile wants. */
static inline size_t
alqi_make_n_frames(const struct alq_profile *p,
                   const struct alqi_stack_frames *stack)
{
    return stack->n < p->callstack_frames ? stack->n : p->callstack_frames;
}

/* Notifies the heap's limits of the samples on `new_entries`
 * (limits.sampled). */
void alqi_make_notify_heap(const struct alqi_memprof_thread *t,
                           const struct alqi_stack_frames *stack);
/* Saves the stack for later and marks the alloc callback due; false: no
 * memory. */
bool alqi_make_deferred(struct alqi_memprof_thread *t,
                        struct alqi_memprof_entry *e,
                        const struct alqi_stack_frames *stack);

/* ---- capture.c ---------------------------------------------------------- */

/* Captures the stack, as deep as the deepest client of `new_entries` wants
 * it. */
struct alqi_stack_frames alqi_make_capture(struct alqi_memprof_thread *t,
                                           const struct alqi_stack_regs *regs);
/* Captures in any way but by layout. */
struct alqi_stack_frames
alqi_make_capture_slow(struct alqi_memprof_thread *t,
                       const struct alqi_stack_regs *regs, uint32_t most);
/* Capture by layout has failed: it is not tried again for a while, which
 * doubles with each failure. */
ALQI_COLD void alqi_make_layout_refused(struct alqi_memprof_thread *t);

/* Captures at most `most` frames; the thread is INSIDE. */
static inline __attribute__((always_inline)) struct alqi_stack_frames
alqi_make_capture_most(struct alqi_memprof_thread *t,
                       const struct alqi_stack_regs *regs, uint32_t most)
{
    const struct alqi_memprof_subject *subject = t->domain->subject;

    ALQI_ASSERT(t->mode == ALQI_MEMPROF_INSIDE); /* not sampled itself */
    if (ALQI_LIKELY(most != 0 && t->n_refused == 0 && t->layouts != NULL &&
                    alqi_memprof_subject_walk(subject) == NULL)) {
        struct alqi_stack_frames layouts =
            alqi_stack_layout_capture(t->layouts, t->cache, regs,
                                      subject->skip_lo, subject->skip_hi, most);

        if (ALQI_LIKELY(layouts.pcs != NULL))
            return layouts;
        alqi_make_layout_refused(t);
    } else if (t->n_refused > 0) {
        t->n_refused--;
    }
    return alqi_make_capture_slow(t, regs, most);
}

void alqi_make_walked_free(struct alqi_memprof_thread *t);

/* ---- one client --------------------------------------------------------- */

/* Fills all fields but `next`.  The flags are those of the birth and `more`. */
static inline void
alqi_entry_fill(const struct alqi_memprof_thread *t,
                struct alqi_memprof_entry *e, struct alq_profile *profile,
                uint64_t k, const struct alqi_memprof_birth *birth,
                unsigned more, uintptr_t data)
{
    unsigned flags =
        more | ((birth->birth & ALQI_BIRTH_MINOR) ? ALQI_ENTRY_YOUNG : 0);

    e->block = birth->block;
    e->data = data;
    e->profile = profile;
    e->chain = NULL;
    e->size_and_flags = birth->size_bytes | (uint64_t)flags
                                                << ALQI_ENTRY_FLAGS_AT;
    e->samples_and_birth = (k < UINT32_MAX ? k : UINT32_MAX) |
                           (uint64_t)t->domain->cycle << ALQI_ENTRY_BORN_AT |
                           (uint64_t)birth->birth << ALQI_ENTRY_BIRTH_AT;
}

/* Counts the client's k samples and makes its entry; NULL: the client refuses,
 * or there is no memory. */
static inline __attribute__((always_inline)) struct alqi_memprof_entry *
alqi_make_one(struct alqi_memprof_thread *t,
              const struct alqi_memprof_client *c, uint64_t k,
              const struct alqi_memprof_birth *birth)
{
    struct alqi_memprof_entry *e;

    if (ALQI_UNLIKELY(!alqi_client_enter(c))) {
        alqi_make_refused(t, c);
        return NULL;
    }
    alqi_client_count(c, k);
    e = alqi_pool_get(t);
    if (ALQI_UNLIKELY(e == NULL)) {
        alqi_make_no_memory(t, c->profile);
        return NULL;
    }
    alqi_entry_fill(t, e, c->profile, k, birth, 0, 0);
    e->next = NULL;
    return e;
}

/* ---- all of them -------------------------------------------------------- */

/* Adds an entry to `new_entries` for each client that has any of the k samples;
 * false: there is none. */
static inline __attribute__((always_inline)) bool
alqi_make(struct alqi_memprof_thread *t, const struct alqi_memprof_birth *birth,
          uint64_t k)
{
    if (ALQI_UNLIKELY(
            !t->armed.is_single || t->new_entries != NULL ||
            t->dropped_nested != 0 ||
            t->armed.serial !=
                atomic_load_explicit(&t->domain->serial, memory_order_relaxed)))
        return alqi_make_for_all(t, birth, k);
    t->new_entries = alqi_make_one(t, &t->armed.client[0], k, birth);
    return t->new_entries != NULL;
}

#endif
