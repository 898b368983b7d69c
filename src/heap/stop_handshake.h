/* stop_handshake.h -- handshakes: a function runs on each domain's own thread
 *
 *     requested, by any thread or handler  ->  served, by the domain's thread
 *
 * It is served where finalisers are: at the domain's next allocation or poll,
 * since the limit is raised, or at the end of an explicit collection; never
 * inside a collection.  The function may do what the program may do there.  A
 * domain that starts gets a request. */
#ifndef ALQI_HEAP_STOP_HANDSHAKE_H
#define ALQI_HEAP_STOP_HANDSHAKE_H

struct alqi_domain;

typedef void alqi_heap_handshake_fn(struct alqi_domain *d);

/* Sets the function that each handshake calls, for all heaps and for good. */
void alqi_heap_handshake_set(alqi_heap_handshake_fn *answer);

/* Any thread or handler; the second also when domains, or heaps, have ended. */
void alqi_heap_handshake_request_sigsafe(struct alqi_domain *d);
void alqi_heap_handshake_request_all_sigsafe(void);

/* ---- for the heap -------------------------------------------------------- */

/* The domain starts.  Requires that no other thread knows the domain. */
void alqi_heap_handshake_begin(struct alqi_domain *d);
/* Serves the handshake, if one is requested. */
void alqi_heap_handshake_serve(struct alqi_domain *d);

#endif
