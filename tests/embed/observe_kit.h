/* observe_kit.h -- for tests: a heap, a program on it, and who listens to it
 */
#ifndef ALQI_EMBED_OBSERVE_KIT_H
#define ALQI_EMBED_OBSERVE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

enum {
    HEARD_MAX = 400000,
    TRACKS = 2,
    LESS = ALQI_CHECKS >= 3 ? 50 : 1 /* hard builds collect all the time */
};

struct heard {
    struct alq_listener listener;
    size_t n;
    struct alq_event events[HEARD_MAX];
};

extern struct alq_domain *domain; /* of a small minor heap */
extern struct heard heard;

int setup(void **state);
int teardown(void **state);
struct alq_gc_counts counts(void);

/* Lists of which some are dropped, large blocks, strings. */
void churn(unsigned n);

/* A listener's function; arg: the struct heard. */
void hear(void *arg, const struct alq_event *event);
void listen(uint64_t kinds);
void listen_no_more(void);
unsigned track_of(const struct alq_event *e);

#endif
