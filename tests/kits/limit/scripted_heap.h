/* scripted_heap.h -- a heap that is what a test says it is
 *
 * One for the process; each test of scripted_run begins with a fresh one. */
#ifndef ALQI_KITS_LIMIT_SCRIPTED_HEAP_H
#define ALQI_KITS_LIMIT_SCRIPTED_HEAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/limit.h"

enum { SAMPLE_WORDS = 10000 };

extern struct scripted {
    struct alqi_limit_thread t;
    uint64_t words;
    uint64_t bytes;
    uint64_t bytes_live; /* what a collection leaves */
    unsigned n_collected[3];
    struct alqi_limit_charge *charges[100]; /* NULL: it died */
    enum alqi_limit_collection dies_in[100];
    unsigned n_charges;
    unsigned n_charging; /* frames */
    uint64_t interval;
    unsigned n_asked;
    bool is_woken;
    int depth; /* of root frames */
} h;

void heap_wake(void *heap);

/* As a heap does: it asks only where it must. */
enum alq_status ask(uint64_t words);
enum alq_status allocate(uint64_t words);
enum alq_status poll_now(void);
void sample(void);

struct alqi_limit_frame none(void);
void open_words(struct alqi_limit_frame *f, uint64_t words);
void open_sampled(struct alqi_limit_frame *f, uint64_t words);

int scripted_run(const char *group, const struct CMUnitTest *tests, size_t n);

#endif
