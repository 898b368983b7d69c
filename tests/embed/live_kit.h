/* live_kit.h -- for the tests of weak references and finalisers */
#ifndef ALQI_EMBED_LIVE_KIT_H
#define ALQI_EMBED_LIVE_KIT_H

#include <aliquot/aliquot.h>

extern struct alq_domain *d; /* each test's own */
extern char told[4096];      /* what the calls wrote */

int live_setup(void **state);
int live_teardown(void **state);
alq_value cell(intptr_t n);
void weak_cell(alq_value *weak, size_t i, intptr_t n);
void store_cell(alq_value *block, size_t i, intptr_t n);
void tell(const char *what, intptr_t n);
enum alq_status tell_first(struct alq_domain *domain, alq_value v,
                           alq_value with);
enum alq_status tell_last(struct alq_domain *domain, alq_value v,
                          alq_value with);
void full_major(void);
void first(alq_value v, intptr_t n);
void last(alq_value v, intptr_t n);
uint64_t cycles(void);
void run_cycles(unsigned n);
enum alq_status count_alarm(struct alq_domain *domain, void *arg);

#define LIVE(test)                                                             \
    cmocka_unit_test_setup_teardown(test, live_setup, live_teardown)

#endif
