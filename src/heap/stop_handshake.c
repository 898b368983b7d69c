/* stop_handshake.c -- requests of a handshake, served by a domain's thread
 *
 * idle -> requested (any thread, or a signal handler) -> served at the next
 * poll.  The function to call is one for all heaps of the process.
 *
 * Keeps .inv.limit: The flag is set, then the limit raised; the owner lowers
 *   the limit, then looks at the flag.
 *
 * .pair.answer  alqi_heap_handshake_set(), then requests to all domains that
 *               are there -> alqi_heap_handshake_begin(), of one that has just
 *               come to be there: sequentially consistent, so each domain gets
 *               the request of one of the two. */
#include "heap/alloc_limit.h"
#include "heap/stop_handshake.h"

static alqi_heap_handshake_fn *fn_of_all; /* atomic: .pair.answer */

void
alqi_heap_handshake_set(alqi_heap_handshake_fn *answer)
{
    __atomic_store_n(&fn_of_all, answer, __ATOMIC_SEQ_CST);
}

void
alqi_heap_handshake_request_sigsafe(struct alqi_domain *d)
{
    alqi_heap_alloc_limit_request(d, &d->requests.want_handshake);
}

/* Requests a handshake of a domain that starts, if there is a function to
 * call. */
void
alqi_heap_handshake_begin(struct alqi_domain *d)
{
    /* Somebody may ask all at this moment: that is not taken back. */
    if (__atomic_load_n(&fn_of_all, __ATOMIC_SEQ_CST) != NULL)
        /* A request to all domains at the same time must stay: so the flag is
         * only set here, never cleared. */
        __atomic_store_n(&d->requests.want_handshake, true, __ATOMIC_SEQ_CST);
}

/* Calls the function if a handshake is requested.
 *
 * The domain's thread runs it, outside of a collection.  The flag is taken
 * before the call: a request that comes during the call is served at the next
 * poll. */
void
alqi_heap_handshake_serve(struct alqi_domain *d)
{
    alqi_heap_handshake_fn *answer;

    if (ALQI_LIKELY(!alqi_heap_alloc_limit_take(&d->requests.want_handshake)))
        return;
    answer = __atomic_load_n(&fn_of_all, __ATOMIC_SEQ_CST);
    if (answer != NULL)
        answer(d);
}
