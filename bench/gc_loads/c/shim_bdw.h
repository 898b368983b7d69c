/* shim_bdw.h -- the Boehm-Demers-Weiser collector */
#define GC_THREADS
#include <gc/gc.h>

#define FRAME(c, k) void *F_[k]
#define R(i) F_[i]
#define LEAVE(c) ((void)0)
#define TAG(v) ((word)(v))
#define UNTAG(v) (v)

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
STORE(cx *c, void *object, size_t bytes, void *field, void *v)
{
    (void)c, (void)object, (void)bytes;
    *(void **)field = v;
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

static inline void *
run_thread(void *p)
{
    struct job *j = p;
    cx c = {.tid = j->tid};

    j->f(&c, j->arg);
    return NULL;
}

static inline void
join_blocking(cx *c, pthread_t t)
{
    (void)c;
    pthread_join(t, NULL);
}
