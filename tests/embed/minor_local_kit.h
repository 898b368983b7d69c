/* minor_local_kit.h -- what domains make and keep in minor_local_test.c
 *
 * A thing says what it is.  The table is an old block that several domains have
 * in a frame; through its fields things become known. */
#ifndef ALQI_EMBED_MINOR_LOCAL_KIT_H
#define ALQI_EMBED_MINOR_LOCAL_KIT_H

#include <aliquot/aliquot.h>

#include "domains_kit.h"

enum { ID, COUNT, TEXT, MORE, TABLE, LINK, THING_WOSIZE };
enum { BY_A, BY_B, PLACE, WEAK, EPHE, BOX, TABLE_WOSIZE };

uint64_t minors(struct alq_domain *of);

alq_value text_new(struct alq_domain *on, intptr_t id);
void text_check(alq_value v, intptr_t id);

/* Young, unless its last allocation collected. */
alq_value thing_new(struct alq_domain *on, alq_value table, intptr_t id);
void thing_check(alq_value v, intptr_t id);

/* By d.  Nothing in it is young. */
alq_value table_new(void);

/* A young list's item: of `what`, then the rest. */
alq_value item_new(struct alq_domain *on, alq_value what, alq_value next);

/* Allocates until its domain has had n minor collections more, of which each
 * promotes a few KB.  What it keeps is its own, and nobody else's. */
void churn(struct alq_domain *on, uint64_t n);

/* ---- ways to show ------------------------------------------------------- */

/* Those of one line are called in this order: A shows, B takes, either hides.
 * None but show may collect. */
struct way {
    const char *name;
    void (*show)(struct alq_domain *on, alq_value table, alq_value v);
    alq_value (*take)(struct alq_domain *on, alq_value table);
    void (*hide)(struct alq_domain *on, alq_value table);
    void (*prepare)(struct alq_domain *on); /* A; a round's first */
};

/* A field of the table, read and overwritten. */
alq_value take_place(struct alq_domain *on, alq_value table);
void hide_place(struct alq_domain *on, alq_value table);

enum { N_WAYS = 16 };

extern const struct way ways[N_WAYS];

#endif
