/* weak_ephe.h -- marking: the data of an ephemeron live if it and its keys do
 *
 * Ephemerons that wait, since they or a key of theirs are not marked, stand
 * between lo and hi of their chunks, in the order of the list.  A pass looks at
 * each once and marks at once all that its data lead to; a chain of keys and
 * data in the order of the list, either way, takes one pass.  For chains in no
 * order a pass takes notes (weak_ephe_wait.h).  When a pass has marked nothing,
 * nor anybody else meanwhile, or one with notes is over, what waits is dead.
 *
 * .inv.waits  Each ephemeron that waits stands between lo and hi of its chunk:
 *             lo <= hi <= n, and a pass only brings the two closer together. */
#ifndef ALQI_HEAP_WEAK_EPHE_H
#define ALQI_HEAP_WEAK_EPHE_H

#include "heap/state.h"

/* Whether any waits. */
bool alqi_heap_ephe_any_waits(const struct alqi_domain *d);

/* Begins to look, once more or the first time in this cycle. */
void alqi_heap_ephe_begin(struct alqi_domain *d);

/* Looks and marks, for about so many words, until it is done; the marker has
 * nothing to do when it is called. */
size_t alqi_heap_ephe_mark(struct alqi_domain *d, size_t budget_words);

/* Whether nothing is left to do, as long as nobody marks. */
bool alqi_heap_ephe_is_done(const struct alqi_domain *d);

/* A value that may have been reachable by weak references alone is used, while
 * marking goes on. */
void alqi_heap_ephe_darken(struct alqi_domain *d, alq_value v);

#endif
