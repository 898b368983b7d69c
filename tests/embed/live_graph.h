/* live_graph.h -- a model of weak arrays, ephemerons and finalisers, beside the
 * heap that it is to tell the truth of
 *
 * Each object of the model has a number, which its block holds in its first
 * field, key or place.  What the model says is reachable must be there, and in
 * each weak place that refers to it; of what is not, all places tell the same;
 * what is gone is gone for good; finalisers are called once, in their order.
 *
 * Several domains may use it: what they do with it they do one after another,
 * since the model must know in which order; the collector goes on meanwhile, in
 * slices of the others.  Failures end the process. */
#ifndef ALQI_EMBED_LIVE_GRAPH_H
#define ALQI_EMBED_LIVE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include <aliquot/aliquot.h>

enum { GRAPH_DOMAINS = 4 };

/* A new model, for so many domains. */
void graph_reset(unsigned n_domains);

/* The calling thread's domain is the i-th; its collector runs by itself but for
 * some calls, or by many calls. */
void graph_enter(struct alq_domain *on, unsigned i, uint64_t seed,
                 bool runs_by_itself);
/* It drops all that it holds; and has no roots any more: it is about to end. */
void graph_drop(void);
void graph_leave(void);

/* Something at random. */
void graph_step(void);
void graph_check(void);
/* Nothing is left to be found: what is not reachable is gone.  No other domain
 * uses the model. */
void graph_settle(void);

/* Calls of finalisers, weak places found empty, so far. */
uint32_t graph_calls(void);
uint32_t graph_emptied(void);

#endif
