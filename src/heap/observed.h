/* observed.h -- the calls from the collector to its client  [heap/observe.h] */
#ifndef ALQI_HEAP_OBSERVED_H
#define ALQI_HEAP_OBSERVED_H

#include "heap/state.h"

#define ALQI_HEAP_TELL(d, hook, ...)                                           \
    do {                                                                       \
        const struct alqi_heap_observer *to = &(d)->heap->observer;            \
                                                                               \
        if (ALQI_UNLIKELY(to->hooks != NULL) && to->hooks->hook != NULL)       \
            to->hooks->hook(to->client, __VA_ARGS__);                          \
    } while (0)

static inline void
alqi_heap_observed_scan(struct alqi_domain *d, bool young_only,
                        alqi_heap_observe_visit_fn *visit, void *arg)
{
    ALQI_HEAP_TELL(d, scan, d, young_only, visit, arg);
}

static inline void
alqi_heap_observed_weak(struct alqi_domain *d,
                        alqi_heap_observe_visit_fn *visit, void *arg)
{
    ALQI_HEAP_TELL(d, weak, d, visit, arg);
}

static inline void
alqi_heap_observed_after_minor(struct alqi_domain *d)
{
    ALQI_HEAP_TELL(d, after_minor, d);
}

static inline void
alqi_heap_observed_after_major(struct alqi_domain *d)
{
    ALQI_HEAP_TELL(d, after_major, d);
}

static inline void
alqi_heap_observed_direct(struct alqi_domain *d, alq_value block,
                          uintptr_t header)
{
    ALQI_HEAP_TELL(d, direct, d, block, header);
}

static inline void
alqi_heap_observed_unmarshal(struct alqi_domain *d, alq_value block,
                             uintptr_t header)
{
    ALQI_HEAP_TELL(d, unmarshal, d, block, header);
}

static inline void
alqi_heap_observed_custom(struct alqi_domain *d, alq_value block, size_t bytes)
{
    ALQI_HEAP_TELL(d, custom, d, block, bytes);
}

static inline void
alqi_heap_observed_domain_start(struct alqi_domain *d)
{
    ALQI_HEAP_TELL(d, domain_start, d);
}

static inline void
alqi_heap_observed_domain_end(struct alqi_domain *d)
{
    ALQI_HEAP_TELL(d, domain_end, d);
}

/* Whether an allocation of so many words runs over the trigger. */
static inline bool
alqi_heap_observed_is_hit(const struct alqi_domain *d, size_t words)
{
    return ALQI_UNLIKELY((uintptr_t)d->pub.young_ptr - words * ALQ_WORD_BYTES <
                         d->observed.trigger);
}

/* Draws a trigger, when there is a client; before the limit is computed. */
void alqi_heap_observed_draw(struct alqi_domain *d);

/* Does what the client has asked for. */
void alqi_heap_observed_poll(struct alqi_domain *d);

/* Asks the client, who may allocate; the trigger is off afterwards. */
enum alq_status alqi_heap_observed_request(struct alqi_domain *d,
                                           const uintptr_t *headers,
                                           unsigned n_blocks);
/* Its end; `low` 0: there is no memory.  The trigger is drawn. */
void alqi_heap_observed_request_end(struct alqi_domain *d, uintptr_t low);

#endif
