/* shim_alq.h -- this heap, at its defaults */
#include <aliquot/aliquot.h>

#ifdef SHIM_PROFILE /* bench/memprof */
#include "profile.h"
#else
#define profile_begin(d) ((void)0)
#define profile_end(d) ((void)0)
#endif

#define FRAME(c, k)                                                            \
    struct {                                                                   \
        struct alq_frame head;                                                 \
        void *r[k];                                                            \
    } F_ __attribute__((cleanup(alq_frame_pop)));                              \
    static const struct alq_site F_site = {__func__, __FILE__, __LINE__, k};   \
    alq_frame_clear(&F_.head, k);                                              \
    alq_frame_push((c)->d, &F_.head, &F_site)
#define R(i) F_.r[i]
#define LEAVE(c) ((void)0)
#define TAG(v) ((word)(v) << 1 | 1)
#define UNTAG(v) ((v) >> 1)

static inline void *
ALLOC(cx *c, size_t n_pointers, size_t raw_bytes)
{
    size_t n = n_pointers + (raw_bytes + sizeof(word) - 1) / sizeof(word);

    return (void *)(n > ALQ_SMALL_WOSIZE_MAX ? alq_alloc(c->d, n, 0)
                                             : alq_alloc_small(c->d, n, 0));
}

static inline void *
ALLOC_LEAF(cx *c, size_t bytes)
{
    size_t n = (bytes + sizeof(word) - 1) / sizeof(word);

    return (void *)(n > ALQ_SMALL_WOSIZE_MAX
                        ? alq_alloc(c->d, n, ALQ_TAG_ABSTRACT)
                        : alq_alloc_small(c->d, n, ALQ_TAG_ABSTRACT));
}

static inline void
STORE(cx *c, void *object, size_t bytes, void *field, void *v)
{
    (void)bytes;
    alq_store(c->d, (alq_value)object,
              (size_t)((char *)field - (char *)object) / sizeof(word),
              (alq_value)v);
}

static inline void
DROP(void *p)
{
    (void)p;
}

static void
domain_open(cx *c)
{
    enum alq_status st = alq_domain_new(NULL, &c->d);

    if (st != ALQ_OK) {
        fprintf(stderr, "no domain: %s\n", alq_status_text(st));
        exit(1);
    }
}

/* Says what went wrong, if an allocation did. */
static void
domain_close(cx *c)
{
    enum alq_status st = alq_status_of(c->d);

    if (st != ALQ_OK) {
        fprintf(stderr, "an allocation failed: %s\n", alq_status_text(st));
        exit(1);
    }
    alq_domain_drop(c->d);
}

static void
counts_print(cx *c)
{
    struct alq_gc_counts k;

    alq_gc_counters(c->d, &k);
    fprintf(
        stderr,
        "minor %llu cycles %llu slices %llu promoted %llu direct %llu "
        "marked %llu swept %llu heap %llu\n",
        (unsigned long long)k.minor_collections,
        (unsigned long long)k.major_cycles, (unsigned long long)k.slices,
        (unsigned long long)k.promoted_words,
        (unsigned long long)k.direct_words, (unsigned long long)k.marked_words,
        (unsigned long long)k.swept_words, (unsigned long long)k.heap_bytes);
}

static int
run_with_heap(work_fn f, void *arg)
{
    cx c = {0};
    int status;

    domain_open(&c);
    profile_begin(c.d);
    status = f(&c, arg);
    profile_end(c.d);
    if (getenv("SHIM_STATS") != NULL)
        counts_print(&c);
    domain_close(&c);
    return status;
}

static inline void *
run_thread(void *p)
{
    struct job *j = p;
    cx c = {.tid = j->tid};

    domain_open(&c);
    j->f(&c, j->arg);
    domain_close(&c);
    return NULL;
}

static inline void
join_blocking(cx *c, pthread_t t)
{
    struct alq_thread *self = alq_blocking_begin(c->d);

    pthread_join(t, NULL);
    alq_blocking_end(self);
}
