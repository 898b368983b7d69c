/* limit_trigger.h -- a position in a domain's allocation that needs a permit
 *
 * A lower bound of young_limit (alloc_limit.h), beside the others: a position
 * in words, or every allocation.  Limits on tasks are built on it; the heap
 * knows them by a table of functions alone.
 *
 *     young.start        trigger          young_ptr            young.end
 *        |  needs a permit  |      free       |     allocated      |
 *        +------------------+-----------------+--------------------+
 *
 * .inv.limit_trigger  While the trigger is up no block is allocated beyond
 *                     at_words, and with `asks` none at all, unless permit has
 *                     returned ALQ_OK for it.  A message is permitted as a
 *                     whole, before any block of it is made.
 *
 * The trigger is that of the thread that runs the domain: the thread sets it
 * in `enter`. */
#ifndef ALQI_HEAP_LIMIT_TRIGGER_H
#define ALQI_HEAP_LIMIT_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include <aliquot/status.h>

struct alqi_domain;

struct alqi_heap_limit_trigger_hooks {
    /* Before an allocation of so many words, headers counted, or, 0, a poll,
     * but for those of finalisers and alarms, which are called before: other
     * than ALQ_OK, it fails with that.  May collect; may not return. */
    enum alq_status (*permit)(void *arg, uint64_t words);
    /* Before a block that holds so many words outside of the heap; likewise.
     * *samples is what to give to outside_made, 0 of a refusal. */
    enum alq_status (*outside)(void *arg, uint64_t words, uint64_t *samples);
    /* The block of `outside` is there: its samples count.  Not called for a
     * block that the heap has no room for, or that permit refuses or leaves. */
    void (*outside_made)(void *arg, uint64_t samples);
    /* At the next slow allocation or poll after
     * alqi_heap_limit_trigger_wake_sigsafe, after each minor collection, and
     * after what is born in the major heap; may collect. */
    void (*notice)(void *arg);
    /* The thread has begun to run the domain, and is about to give it up. */
    void (*enter)(void *arg);
    void (*leave)(void *arg);
};

struct alqi_heap_limit_trigger {
    const struct alqi_heap_limit_trigger_hooks *hooks; /* NULL: it is down */
    void *arg;                                         /* NULL: likewise */
    uint64_t at_words; /* position, alqi_heap_limit_trigger_position */
    bool asks; /* at each slow allocation and poll, which all are then */
};

/* Words that the domain has allocated since it began, headers counted. */
uint64_t alqi_heap_limit_trigger_position(const struct alqi_domain *d);

/* By the domain's thread, whose trigger it is; hooks NULL takes it down. */
void
alqi_heap_limit_trigger_set(struct alqi_domain *d,
                            const struct alqi_heap_limit_trigger_hooks *hooks,
                            void *arg, uint64_t at_words, bool asks);

/* Any thread or handler, also when the domain, or its heap, has ended: their
 * structs stay.  Nothing happens where no trigger is up. */
void alqi_heap_limit_trigger_wake_sigsafe(struct alqi_domain *d);
void alqi_heap_limit_trigger_wake_all_sigsafe(void);

#endif
