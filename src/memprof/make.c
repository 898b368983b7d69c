/* make.c -- from k hits of one block to an entry for each client
 *
 * The clients thin the hits by the law their thread was armed with
 * (.inv.armed); who has any gets an entry, on the thread's `making`, in the
 * order of the slots, thread trees last.  One capture serves all of them. */
#include "memprof/state.h"

/* Whether a profile that was armed samples the thread still.  Its memory may
 * be another profile's by now, which alqi_profile_enter will see by the id. */
static ALQI_COLD bool
samples_still(const struct alqi_memprof_thread *t, const struct alq_profile *p)
{
    const struct alqi_memprof_domain *d = t->domain;

    for (unsigned i = 0; i < ALQI_MEMPROF_SLOTS; i++)
        if (atomic_load_explicit(&d->slot[i], memory_order_acquire) == p)
            return true;
    return alqi_tree_has(t, p);
}

static inline bool
is_shut(const struct alqi_memprof_client *c)
{
    return ALQI_UNLIKELY(c->gate != NULL) && *c->gate == 0;
}

/* A client's share of k hits; 0 when it is no longer to have any. */
static uint64_t
share(struct alqi_memprof_thread *t, const struct alqi_memprof_client *c,
      uint64_t k, bool stale)
{
    if (ALQI_UNLIKELY(stale) && !samples_still(t, c->profile))
        return 0; /* replaced or stopped since the gap was drawn */
    return alqi_sample_binomial(&t->rng, &c->thin, k);
}

static struct alqi_memprof_entry *
make_one(struct alqi_memprof_thread *t, const struct alqi_memprof_client *c,
         uint64_t k, const struct alqi_memprof_birth *birth)
{
    struct alqi_memprof_entry *e;

    if (!alqi_profile_enter(c->profile, c->id))
        return NULL;
    alqi_profile_count(&c->profile->sampled_blocks, 1);
    if (k > 1)
        alqi_profile_count(&c->profile->extra_words, k - 1);
    e = alqi_pool_get(t);
    if (e == NULL) {
        alqi_profile_count(&c->profile->dropped_nomem, 1);
        alqi_profile_release(c->profile, ALQI_PROFILE_ONE_ENTRY);
        return NULL;
    }
    e->block = birth->block;
    e->data = 0;
    e->profile = c->profile;
    e->next = NULL;
    e->chain = NULL;
    e->size_bytes = birth->size_bytes;
    e->n_samples = k;
    e->flags = (birth->birth & ALQI_BIRTH_MINOR) ? ALQI_ENTRY_YOUNG : 0;
    e->n_frames = 0;
    e->source = birth->source;
    e->birth = birth->birth;
    return e;
}

static ALQI_COLD void
count_nested(struct alqi_memprof_thread *t)
{
    for (unsigned i = 0; i < t->armed.n_clients; i++) {
        struct alqi_memprof_client *c = &t->armed.client[i];

        if (!alqi_profile_enter(c->profile, c->id))
            continue;
        alqi_profile_count(&c->profile->dropped_nested, t->dropped_nested);
        alqi_profile_release(c->profile, ALQI_PROFILE_ONE_ENTRY);
    }
    t->dropped_nested = 0;
}

bool
alqi_make(struct alqi_memprof_thread *t, const struct alqi_memprof_birth *birth,
          uint64_t k)
{
    bool stale = atomic_load_explicit(&t->domain->serial,
                                      memory_order_relaxed) != t->armed.serial;
    struct alqi_memprof_entry **at = &t->making;

    while (*at != NULL)
        at = &(*at)->chain;
    for (unsigned i = 0; i < t->armed.n_clients; i++) {
        const struct alqi_memprof_client *c = &t->armed.client[i];
        uint64_t mine = is_shut(c) ? 0 : share(t, c, k, stale);

        if (mine == 0)
            continue;
        *at = make_one(t, c, mine, birth);
        if (*at != NULL)
            at = &(*at)->chain;
    }
    if (ALQI_UNLIKELY(t->dropped_nested != 0))
        count_nested(t);
    return t->making != NULL;
}

uint32_t
alqi_make_capture(struct alqi_memprof_thread *t,
                  const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_subject *subject = t->domain->subject;
    uint32_t most = 0;

    for (struct alqi_memprof_entry *e = t->making; e != NULL; e = e->chain)
        if (e->profile->callstack_frames > most)
            most = e->profile->callstack_frames;
    if (most == 0 || t->memo == NULL)
        return 0;
    if (most > t->memo->capacity)
        most = t->memo->capacity;
    t->last = alqi_stack_capture(t->memo, regs, subject->skip_lo,
                                 subject->skip_hi, most);
    return t->last.n_frames;
}

bool
alqi_make_deferred(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                   uint32_t n_frames)
{
    struct alq_profile *p = e->profile;

    if (n_frames > p->callstack_frames)
        n_frames = p->callstack_frames;
    if (!alqi_stash_make(t, e, t->last.frames, n_frames)) {
        alqi_profile_count(&p->dropped_nomem, 1);
        return false;
    }
    e->flags |= ALQI_ENTRY_ALLOC_DUE;
    return true;
}

struct alqi_stack_result
alqi_memprof_capture(struct alqi_memprof_thread *thread,
                     const struct alqi_stack_regs *regs)
{
    const struct alqi_memprof_subject *subject = thread->domain->subject;

    return alqi_stack_capture(thread->memo, regs, subject->skip_lo,
                              subject->skip_hi, thread->memo->capacity);
}
