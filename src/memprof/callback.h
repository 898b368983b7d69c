/* callback.h -- calls of the user's callbacks: callback.c
 *
 * The caller is the thread, INSIDE, and holds the entry; it holds no lock. */
#ifndef ALQI_MEMPROF_CALLBACK_H
#define ALQI_MEMPROF_CALLBACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#include "base/base.h"
#include "memprof/domain_state.h"
#include "memprof/engine.h"
#include "memprof/entry.h"
#include "memprof/subject.h"

/* Frees the node and its saved stack, and gives the profile's reference
 * back. */
void alqi_entry_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);
/* The caller is the only holder: passes a datum to `release`, then _free. */
void alqi_entry_release(struct alqi_memprof_thread *t,
                        struct alqi_memprof_entry *e);
/* True: keep, with *data as its datum. */
bool alqi_callback_alloc(struct alqi_memprof_thread *t,
                         struct alqi_memprof_entry *e,
                         enum alqi_callback_kind kind, const uintptr_t *frames,
                         size_t n_frames, uintptr_t *data);

/* Around each callback, where limits want it. */
static inline void
alqi_callback_begins(struct alqi_memprof_thread *t)
{
    t->limits = alqi_memprof_subject_limits(t->domain->subject);
    if (ALQI_UNLIKELY(t->limits != NULL) && t->limits->begins != NULL)
        t->began = t->limits->begins(t->domain->heap);
}

static inline void
alqi_callback_ends(const struct alqi_memprof_thread *t)
{
    if (ALQI_UNLIKELY(t->limits != NULL) && t->limits->ends != NULL)
        t->limits->ends(t->domain->heap, t->began);
}

/* A callback of an entry begins, and has ended; in between `running` is the
 * entry. */
static inline __attribute__((always_inline)) void
alqi_callback_enter(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                    enum alqi_callback_kind kind)
{
    ALQI_ASSERT(t->mode == ALQI_MEMPROF_INSIDE && t->running == NULL);
    t->running = e;
    t->running_kind = kind;
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_CALLBACK;
    atomic_signal_fence(memory_order_seq_cst);
}

static inline __attribute__((always_inline)) void
alqi_callback_leave(struct alqi_memprof_thread *t)
{
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    t->running = NULL;
}

/* Records the code of a failure: a flush reports the first one. */
void alqi_callback_failed(struct alqi_memprof_thread *t, struct alq_profile *p,
                          int code);

/* Runs a callback that has no entry, under these limits; returns its code. */
static inline __attribute__((always_inline)) int
alqi_callback_bare(struct alqi_memprof_thread *t,
                   const struct alqi_memprof_limits *limits,
                   int (*fn)(void *, const struct alq_allocation *,
                             uintptr_t *),
                   void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    bool began = false;
    int code;

    ALQI_ASSERT(t->mode == ALQI_MEMPROF_INSIDE && t->running == NULL);
    if (limits != NULL && limits->begins != NULL)
        began = limits->begins(t->domain->heap);
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_CALLBACK;
    atomic_signal_fence(memory_order_seq_cst);
    code = fn(arg, a, data);
    atomic_signal_fence(memory_order_seq_cst);
    t->mode = ALQI_MEMPROF_INSIDE;
    atomic_signal_fence(memory_order_seq_cst);
    if (limits != NULL && limits->ends != NULL)
        limits->ends(t->domain->heap, began);
    return code;
}

/* True: keep, with e->data as its datum. */
bool alqi_callback_promote(struct alqi_memprof_thread *t,
                           struct alqi_memprof_entry *e);
/* dealloc_minor or _major, or release when discarded; frees the node. */
void alqi_callback_dealloc(struct alqi_memprof_thread *t,
                           struct alqi_memprof_entry *e);
/* The callback that was running will not return: ends what was in hand. */
void alqi_callback_abandon(struct alqi_memprof_thread *t);

#endif
