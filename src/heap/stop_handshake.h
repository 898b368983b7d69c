/* stop_handshake.h -- who stands outside of the heap calls its domains
 *
 *   asked, by any thread --> answer(d), by the thread that runs the domain
 *
 * The answer comes where finalisers do: at the domain's next allocation or
 * poll, since the limit is raised, or when an explicit collection has ended;
 * never inside a collection.  It may do what the program may there.  A domain
 * that starts is asked. */
#ifndef ALQI_HEAP_SUMMON_H
#define ALQI_HEAP_SUMMON_H

struct alqi_domain;

typedef void alqi_heap_handshake_fn(struct alqi_domain *d);

/* Of all heaps from now on; stays. */
void alqi_heap_handshake_set(alqi_heap_handshake_fn *answer);

/* Any thread or handler; the second also when domains, or heaps, have ended. */
void alqi_heap_handshake_request_sigsafe(struct alqi_domain *d);
void alqi_heap_handshake_request_all_sigsafe(void);

/* ---- for the heap -------------------------------------------------------- */

/* It starts, and nobody else knows of it. */
void alqi_heap_handshake_begin(struct alqi_domain *d);
/* If it is asked for. */
void alqi_heap_handshake_serve(struct alqi_domain *d);

#endif
