/* objects.h -- the objects of a message that is being read, by their numbers
 *
 * All that the reader knows of where blocks are stands here; elsewhere it
 * keeps numbers (.inv.table).  Of a small message the table is an array of C,
 * for nothing collects before the message is read.  Of a larger one it is a
 * list of large blocks, so that the collector sees the objects, and marks them
 * bit by bit, without knowing of this; large blocks stay where they are.
 * Objects are old then, as the blocks of the list are: no store needs a
 * barrier, for what it overwrites is no block. */
#ifndef ALQI_MARSHAL_OBJECTS_H
#define ALQI_MARSHAL_OBJECTS_H

#include "heap/state.h"

enum {
    ALQI_MARSHAL_CHUNK_SHIFT = 12,
    ALQI_MARSHAL_CHUNK = 1 << ALQI_MARSHAL_CHUNK_SHIFT,
    ALQI_MARSHAL_SMALL_WORDS = ALQI_HEAP_CLASS_WORDS_MAX,
    ALQI_MARSHAL_SMALL_OBJECTS = ALQI_MARSHAL_SMALL_WORDS / 2
};

struct alqi_marshal_objects {
    alqi_heap_word **chunks; /* each: the objects, in a block or `small` */
    size_t n_chunks;
    size_t chunks_size;
    uint64_t n;       /* objects in it    */
    uint64_t n_ready; /* there is room for */
    alq_value *root;  /* the newest block of the list; a root */
    alqi_heap_word *small_chunk;
    alqi_heap_word small[ALQI_MARSHAL_SMALL_OBJECTS];
};

/* is_small: for at most ALQI_MARSHAL_SMALL_OBJECTS. */
void alqi_marshal_objects_open(struct alqi_marshal_objects *t, bool is_small,
                               alq_value *root);
void alqi_marshal_objects_close(struct alqi_marshal_objects *t);

/* Room for one more; false: no memory, and the domain says so.  May collect.
 * n_max: objects that there are at the most. */
bool alqi_marshal_objects_grow(struct alqi_marshal_objects *t,
                               struct alqi_domain *d, uint64_t n_max);

/* There is room. */
static inline void
alqi_marshal_objects_put(struct alqi_marshal_objects *t, alq_value object)
{
    uint64_t i = t->n++;

    __atomic_store_n(
        &t->chunks[i >> ALQI_MARSHAL_CHUNK_SHIFT][i & (ALQI_MARSHAL_CHUNK - 1)],
        object, __ATOMIC_RELEASE);
}

static inline alq_value
alqi_marshal_objects_get(const struct alqi_marshal_objects *t, uint64_t i)
{
    return t
        ->chunks[i >> ALQI_MARSHAL_CHUNK_SHIFT][i & (ALQI_MARSHAL_CHUNK - 1)];
}

#endif
