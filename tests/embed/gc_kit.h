/* gc_kit.h -- what the tests of the Gc module share */
#ifndef ALQI_EMBED_GC_KIT_H
#define ALQI_EMBED_GC_KIT_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"

/* TSan: a store takes twenty times as long. */
#ifdef __SANITIZE_THREAD__
#define IS_WATCHED true
#else
#define IS_WATCHED false
#endif

enum {
    IS_HARD = ALQI_CHECKS >= 3,
    IS_CHECKED = ALQI_CHECKS >= 2, /* each collection reads the whole heap */
    POOL_BYTES = 32768,
    POOL_WORDS = 4096
};

static struct alq_domain *d;

static inline int
setup(void **state)
{
    (void)state;
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

static inline int
teardown(void **state)
{
    (void)state;
    alq_domain_drop(d);
    return 0;
}

/* A domain with these parameters instead. */
static inline void
reopen(const char *params)
{
    alq_domain_drop(d);
    d = NULL;
    setenv("ALIQUOTPARAM", params, 1);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
    unsetenv("ALIQUOTPARAM");
}

static inline struct alq_gc_counts
counts(void)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    return c;
}

static inline struct alq_gc_stats
stat_of(void)
{
    struct alq_gc_stats s;

    assert_int_equal(alq_gc_stat(d, &s), ALQ_OK);
    assert_true(s.live_words + s.free_words + s.fragments == s.heap_words);
    assert_true(s.heap_words <= s.top_heap_words);
    assert_true(s.largest_free <= s.free_words);
    return s;
}

static inline struct alq_gc_control
control(void)
{
    struct alq_gc_control c;

    assert_int_equal(alq_gc_get(d, &c), ALQ_OK);
    return c;
}

/* n cells in front of the list. */
static inline void
grow_list(alq_value *list, unsigned n)
{
    while (n-- > 0) {
        alq_value cell = alq_alloc_small(d, 2, 0);

        alq_init_small(cell, 0, ALQ_UNIT);
        alq_init_small(cell, 1, *list);
        *list = cell;
    }
}

/* Words of the major heap that may be accessed, as the system sees it: of the
 * mapping that an old block lies in. */
static inline uint64_t
ready_words(alq_value old)
{
    unsigned long from, to;
    uint64_t words = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");

    assert_non_null(maps);
    while (words == 0 && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%lx-%lx rw", &from, &to) == 2 &&
            alq_bits(old) >= from && alq_bits(old) < to)
            words = (to - from) / 8;
    fclose(maps);
    assert_true(words > 0);
    return words;
}

#endif
