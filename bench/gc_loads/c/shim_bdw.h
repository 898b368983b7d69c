/* shim_bdw.h -- the Boehm-Demers-Weiser collector */
#define GC_THREADS
#include <gc/gc.h>

#include "shim_plain.h"

static inline void *
ALLOC(cx *c, size_t n_pointers, size_t raw_bytes)
{
    (void)c;
    return GC_MALLOC(n_pointers * sizeof(word) + raw_bytes);
}

static inline void *
ALLOC_LEAF(cx *c, size_t bytes)
{
    (void)c;
    return GC_MALLOC_ATOMIC(bytes);
}

static inline void
DROP(void *p)
{
    (void)p;
}

static int
run_with_heap(work_fn f, void *arg)
{
    cx c = {0};

    GC_INIT();
    return f(&c, arg);
}
