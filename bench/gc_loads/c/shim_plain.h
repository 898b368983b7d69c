/* shim_plain.h -- heaps that find their roots by themselves, or have none */
#define FRAME(c, k) void *F_[k]
#define R(i) F_[i]
#define LEAVE(c) ((void)0)
#define TAG(v) ((word)(v))
#define UNTAG(v) (v)

static inline void
STORE(cx *c, void *object, size_t bytes, void *field, void *v)
{
    (void)c, (void)object, (void)bytes;
    *(void **)field = v;
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
