#include <string.h>

#include "heap/alloc.h"
#include "heap/calls.h"
#include "heap/custom.h"
#include "heap/cycle.h"
#include "heap/direct.h"
#include "heap/event.h"
#include "heap/limit.h"
#include "heap/nursery.h"
#include "heap/observed.h"
#include "heap/stop.h"

alq_value
alqi_heap_fail(struct alqi_domain *d, enum alq_status why)
{
    if (d->pub.status == ALQ_OK)
        d->pub.status = why;
    return ALQ_NULL;
}

static void
collect_if_asked(struct alqi_domain *d)
{
    alqi_heap_stop_settle(d);
    if (alqi_heap_limit_take(&d->want_minor) || ALQI_HEAP_IS_HARD)
        alqi_heap_minor(d);
    if (alqi_heap_limit_take(&d->want_slice) || ALQI_HEAP_IS_HARD)
        alqi_heap_slice(d, 0);
    alqi_heap_stop_settle(d);
}

void
alqi_heap_collect_asked(struct alqi_domain *d)
{
    if (d->heap->is_lost)
        return;
    alqi_heap_entry_begin(d);
    collect_if_asked(d);
    alqi_heap_entry_end(d);
}

enum alq_status
alqi_heap_poll(struct alqi_domain *d)
{
    if (d->heap->is_lost)
        return ALQ_OK;
    alqi_heap_collect_asked(d);
    if (alqi_heap_observe_wants(&d->observed))
        alqi_heap_observed_poll(d);
    return alqi_heap_calls_run(d);
}

static bool
has_room(const struct alqi_domain *d, size_t words)
{
    return (uintptr_t)d->pub.young_ptr - d->run_start >= words * ALQ_WORD_BYTES;
}

static bool
make_room(struct alqi_domain *d, size_t words)
{
    if (alqi_heap_observe_wants(&d->observed))
        alqi_heap_observed_poll(d);
    alqi_heap_entry_begin(d);
    collect_if_asked(d);
    if ((uintptr_t)d->pub.young_ptr - words * ALQ_WORD_BYTES < d->middle) {
        d->middle = 0;
        alqi_heap_slice(d, 0);
    }
    if (!has_room(d, words))
        alqi_heap_minor(d);
    alqi_heap_entry_end(d);
    if (!has_room(d, words))
        alqi_heap_fail(d, ALQ_ENOMEM);
    return has_room(d, words);
}

static uintptr_t
take_room(struct alqi_domain *d, size_t words)
{
    d->pub.young_ptr -= words * ALQ_WORD_BYTES;
    return (uintptr_t)d->pub.young_ptr;
}

/* The client is asked, and may collect: room has to be made anew. */
static ALQI_COLD uintptr_t
sampled_room(struct alqi_domain *d, const uintptr_t *headers, unsigned n_blocks,
             size_t words)
{
    enum alq_status status = alqi_heap_observed_request(d, headers, n_blocks);
    uintptr_t low = 0;

    if (status != ALQ_OK)
        return (uintptr_t)alqi_heap_fail(d, status);
    if (make_room(d, words))
        low = take_room(d, words);
    alqi_heap_observed_request_end(d, low);
    return low;
}

uintptr_t
alqi_heap_room(struct alqi_domain *d, const uintptr_t *headers,
               unsigned n_blocks, size_t words)
{
    enum alq_status st;

    ALQI_ASSERT(words >= 1 && words <= ALQI_HEAP_CLASS_WORDS_MAX);
    if (d->heap->is_lost)
        return (uintptr_t)alqi_heap_fail(d, ALQ_ESTATE);
    st = alqi_heap_calls_run(d); /* they may leave no room */
    if (st != ALQ_OK)
        return (uintptr_t)alqi_heap_fail(d, st);
    if (!make_room(d, words))
        return 0;
    if (alqi_heap_observed_is_hit(d, words))
        return sampled_room(d, headers, n_blocks, words);
    return take_room(d, words);
}

uintptr_t
alqi_heap_room_unseen(struct alqi_domain *d, size_t words)
{
    bool is_hit;

    ALQI_ASSERT(words >= 1 && words <= ALQI_HEAP_CLASS_WORDS_MAX);
    if (d->heap->is_lost)
        return (uintptr_t)alqi_heap_fail(d, ALQ_ESTATE);
    if (!make_room(d, words))
        return 0;
    is_hit = alqi_heap_observed_is_hit(d, words);
    take_room(d, words);
    if (is_hit) {
        alqi_heap_observed_draw(d);
        alqi_heap_limit_reset(d);
    }
    return (uintptr_t)d->pub.young_ptr;
}

/* ---- blocks ------------------------------------------------------------- */

alq_value
alqi_heap_alloc_direct(struct alqi_domain *d, uintptr_t header)
{
    alq_value block;

    if (d->heap->is_lost)
        return alqi_heap_fail(d, ALQ_ESTATE);
    alqi_heap_collect_asked(d);
    block = alqi_heap_direct_try(d, header);
    if (block == ALQ_NULL) {
        alqi_heap_collect_all(d);
        block = alqi_heap_direct_try(d, header);
    }
    return block == ALQ_NULL ? alqi_heap_fail(d, ALQ_ENOMEM) : block;
}

static alq_value
alloc_old(struct alqi_domain *d, uintptr_t header)
{
    enum alq_status st;
    alq_value block;

    if (!d->heap->is_lost && alqi_heap_observe_wants(&d->observed))
        alqi_heap_observed_poll(d);
    st = alqi_heap_calls_run(d);
    if (st != ALQ_OK)
        return alqi_heap_fail(d, st);
    block = alqi_heap_alloc_direct(d, header);
    if (block != ALQ_NULL)
        alqi_heap_observed_direct(d, block, header);
    return block;
}

alq_value
alqi_heap_alloc(struct alqi_domain *d, uintptr_t header)
{
    uintptr_t low;

    if (alqi_heap_words(header) > ALQI_HEAP_CLASS_WORDS_MAX)
        return alloc_old(d, header);
    low = alqi_heap_room(d, &header, 1, alqi_heap_words(header));
    if (low == 0)
        return ALQ_NULL;
    *(alqi_heap_word *)low = header;
    return (alq_value)(low + ALQ_WORD_BYTES);
}

alq_value
alqi_heap_alloc_custom(struct alqi_domain *d, const struct alq_custom_ops *ops,
                       size_t wosize, struct alqi_heap_held held)
{
    uintptr_t header = ALQ_HEADER(wosize, ALQ_TAG_CUSTOM);
    alq_value block =
        held.is_old ? alloc_old(d, header) : alqi_heap_alloc(d, header);

    if (block == ALQ_NULL)
        return block;
    ((alqi_heap_word *)block)[0] = (uintptr_t)ops;
    memset((void *)(block + ALQ_WORD_BYTES), 0, (wosize - 1) * ALQ_WORD_BYTES);
    /* Not before: what collects may call the program, which takes the room. */
    if (alqi_heap_is_young(d, block) && !alqi_heap_custom_ready(d))
        return alqi_heap_fail(d, ALQ_ENOMEM);
    d->counts.outside_bytes += held.bytes;
    if (alqi_heap_is_young(d, block))
        alqi_heap_custom_young(d, block, ops->finalise != NULL, held);
    else if (held.cost_words >= 1)
        alqi_heap_custom_charge(d, (uint64_t)held.cost_words);
    return block;
}

alq_value
alqi_heap_atom(void)
{
    static const uintptr_t atom[2] = {ALQI_HEAP_COLOUR_STATIC, 0};

    return (alq_value)&atom[1];
}
