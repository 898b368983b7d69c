/* stop_handshake.c -- requests of a handshake, served by a domain's thread
 *
 * idle -> requested (any thread, or a handler) -> served at the next poll.
 *
 * Keeps .inv.limit: The flag is set, then the limit raised; the owner lowers
 *   the limit, then looks at the flag. */
#include "heap/alloc_limit.h"
#include "heap/stop_handshake.h"

static alqi_heap_handshake_fn *answer_of_all; /* atomic */

void
alqi_heap_handshake_set(alqi_heap_handshake_fn *answer)
{
    __atomic_store_n(&answer_of_all, answer, __ATOMIC_SEQ_CST);
}

void
alqi_heap_handshake_request_sigsafe(struct alqi_domain *d)
{
    alqi_heap_alloc_limit_request(d, &d->requests.want_handshake);
}

void
alqi_heap_handshake_begin(struct alqi_domain *d)
{
    /* Somebody may ask all at this moment: that is not taken back. */
    if (__atomic_load_n(&answer_of_all, __ATOMIC_SEQ_CST) != NULL)
        __atomic_store_n(&d->requests.want_handshake, true, __ATOMIC_SEQ_CST);
}

void
alqi_heap_handshake_serve(struct alqi_domain *d)
{
    alqi_heap_handshake_fn *answer;

    if (ALQI_LIKELY(!alqi_heap_alloc_limit_take(&d->requests.want_handshake)))
        return;
    answer = __atomic_load_n(&answer_of_all, __ATOMIC_SEQ_CST);
    if (answer != NULL)
        answer(d);
}
