/* counting_tracker.h -- a tracker that counts its calls: one heap, one thread
 *
 * The datum is the number of the alloc callback, from 1. */
#ifndef ALQI_KITS_MEMPROF_COUNTING_TRACKER_H
#define ALQI_KITS_MEMPROF_COUNTING_TRACKER_H

#include "kits/memprof/fake_heap.h"

struct counted {
    _Atomic(uint64_t) allocs, deallocs, releases, minors;
    _Atomic(uint64_t) samples, words, bytes;
    int alloc_code, dealloc_code; /* 1 keep, 0 drop, below 0 fail */
    size_t n_frames;
    uintptr_t last_frame;
    struct fake_thread *f; /* for callbacks that allocate or free */
    void *to_free;
    uint64_t nested;
};

extern struct counted counted;
extern struct fake_heap heap;
extern struct fake_thread self;
extern const struct alq_tracker counting_tracker;

int counting_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data);

struct alq_memprof_config at_rate(double rate);
struct alq_profile *begin_with(const struct alq_memprof_config *config);
struct alq_profile *begin(double rate);

/* For cmocka_unit_test_setup_teardown. */
int open_all(void **state);
int close_all(void **state);

#endif
