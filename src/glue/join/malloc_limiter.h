/* malloc_limiter.h -- limits joined to malloc            [doc/design/limit.md]
 *
 * As limiter.h, for the malloc of the calling thread: the preload's limit
 * trigger has the thread's limits as its argument while a frame is open. */
#ifndef ALQI_GLUE_JOIN_MALLOC_LIMITER_H
#define ALQI_GLUE_JOIN_MALLOC_LIMITER_H

#include "glue/join/preload.h"
#include "limit/limit.h"

/* Functions of the library that call a task and may be left by longjmp. */
#define ALQI_GLUE_LEAVABLE __attribute__((section("aliquot_leavable")))

struct alqi_glue_malloc_limiter {
    struct alqi_limit_thread t; /* first: limit's pointer is ours */
    /* valid since the first start */
    const struct alqi_preload_api *api;
    bool is_woken; /* to ask at the next allocation   */
    bool is_asked; /* in a hook, or held        */
    /* what is tracked while tasks limit their live words; NULL: no such task */
    struct alq_profile *charges;
    uint64_t charge_interval_words; /* of charges */
    unsigned n_charging;            /* frames */
};

/* The limiter of the calling thread; NULL: no frame is open, or not one of this
 * copy's. */
struct alqi_glue_malloc_limiter *alqi_glue_malloc_limiter_of(void);

/* What the calling thread asks of malloc in between is not its task's. */
bool alqi_glue_malloc_limiter_hold(void);
void alqi_glue_malloc_limiter_release(bool was);

/* ALQ_ENOHEAP: no preload.  ALQ_ENOMEM: no state of the thread's.
 * ALQ_ESTATE: another copy of the library has frames open, or this is a
 * callback of a profile. */
enum alq_status
alqi_glue_malloc_limiter_start(struct alqi_glue_malloc_limiter *l);
void alqi_glue_malloc_limiter_end(struct alqi_glue_malloc_limiter *l);

/* Puts the limit trigger where it belongs: a frame was opened or closed. */
void alqi_glue_malloc_limiter_place(struct alqi_glue_malloc_limiter *l);

/* Whether a further frame may be opened here: not in on_limit, nor in a
 * callback of a profile. */
bool alqi_glue_malloc_limiter_opens(const struct alqi_glue_malloc_limiter *l);

/* What these limits need besides: the count of what is alive. */
enum alq_status
alqi_glue_malloc_limiter_ready(struct alqi_glue_malloc_limiter *l,
                               const struct alq_limits *limits);

/* What the subject calls to charge live words: malloc_charger.c. */
enum alq_status alqi_glue_malloc_charge_begin(void *limiter,
                                              uint64_t interval_words,
                                              uint64_t seed);
void alqi_glue_malloc_charge_end(void *limiter);

/* Whether all that was called since `to` was opened is code of a task's module,
 * or of ours that can be left: not that of another library's, nor a signal
 * handler's (malloc_leave.c). */
bool alqi_glue_malloc_may_leave(const struct alqi_glue_malloc_limiter *l,
                                const struct alqi_limit_frame *to);

#endif
