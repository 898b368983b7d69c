/* domains_kit.h -- what tests of several domains have in common */
#ifndef ALQI_EMBED_DOMAINS_KIT_H
#define ALQI_EMBED_DOMAINS_KIT_H

#include <pthread.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"

/* On any thread; cmocka's assertions are for its own. */
#define CHECK(e) ((e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e))

enum {
    IS_HARD = ALQI_CHECKS >= 3, /* collects at every safe point */
    SLOW = ALQI_TEST_ROUNDS(1, 10, 100)
};

/* The domain of the test's thread, from domains_setup to domains_teardown. */
extern struct alq_domain *d;

int domains_setup(void **state);
int domains_teardown(void **state);

/* Of 2^depth - 1 blocks. */
alq_value tree(struct alq_domain *on, int depth);
long tree_size(alq_value v);

/* Minor and major collections while something lives; returns arg. */
alq_value burn(struct alq_domain *on, alq_value arg, void *data);

struct alq_child *spawn(struct alq_domain *by, alq_domain_fn *fn, alq_value arg,
                        void *data);
alq_value join(struct alq_domain *by, struct alq_child *child);
/* Joins and drops. */
alq_value finish(struct alq_domain *by, struct alq_child *child);

/* ---- a gate: domains block at it until it is open ----------------------- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_in;
    int open;
};

#define GATE                                                                   \
    {                                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0              \
    }

/* What a domain does; data is the gate. */
alq_value through_gate(struct alq_domain *on, alq_value arg, void *data);
/* Until n have come. */
void gate_await(struct gate *gate, int n);
void gate_open(struct gate *gate);

#endif
