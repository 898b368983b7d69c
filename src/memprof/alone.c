/* alone.c -- the blocks of the sample, seen by a process of one thread
 *
 * [engine.h] A copy of a process has the thread that made it alone, and the
 * others' locks and half-made changes.  What it asks is asked of the entries
 * themselves: an entry's words are whole before it is INDEXED, and stay whole
 * until it is not (.inv.shard).  A block whose thread was about to index it, or
 * to take it out, may be missed. */
#include "memprof/entry.h"
#include "memprof/pool.h"
#include "memprof/profile.h"

/* What is looked for, and who is told. */
struct visit {
    int (*dealloc)(void *arg, uintptr_t data);
    void (*block)(void *arg, const void *block, uintptr_t data);
    void *arg;
};

/* A node that is no entry is not taken for one: a saved stack holds no address
 * of a profile, a free node is not INDEXED. */
static void
node_visit(void *arg, const void *node)
{
    enum {
        IS = ALQI_ENTRY_INDEXED | ALQI_ENTRY_DATUM,
        IS_NOT = ALQI_ENTRY_DEAD | ALQI_ENTRY_GONE | ALQI_ENTRY_ALLOC_DUE
    };
    const struct alqi_memprof_entry *e = node;
    const struct visit *v = arg;

    if ((e->flags & (IS | IS_NOT)) == IS && alqi_profile_is(e->profile) &&
        e->profile->tracker.dealloc_major == v->dealloc)
        v->block(v->arg, e->block, e->data);
}

void
alqi_memprof_each_alone(int (*dealloc)(void *arg, uintptr_t data),
                        void (*block)(void *arg, const void *block,
                                      uintptr_t data),
                        void *arg)
{
    struct visit v = {dealloc, block, arg};

    alqi_pool_each_alone(node_visit, &v);
}
