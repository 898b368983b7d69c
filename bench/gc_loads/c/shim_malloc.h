/* shim_malloc.h -- malloc and free */
#define MANUAL 1

#include "shim_plain.h"

static inline void *
ALLOC(cx *c, size_t n_pointers, size_t raw_bytes)
{
    (void)c;
    return malloc(n_pointers * sizeof(word) + raw_bytes);
}

static inline void *
ALLOC_LEAF(cx *c, size_t bytes)
{
    (void)c;
    return malloc(bytes);
}

static inline void
DROP(void *p)
{
    free(p);
}

static int
run_with_heap(work_fn f, void *arg)
{
    cx c = {0};

    return f(&c, arg);
}
