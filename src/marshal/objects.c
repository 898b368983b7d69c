/* objects.c -- the objects of a message that is being read
 *
 * A list of heap blocks of ALQI_MARSHAL_CHUNK objects each, the newest a root;
 * an array outside the heap leads to the chunks.  Growing may collect.  Keeps
 * .inv.table and, with ALQ_UNIT in each free field, .inv.whole. */
#include <stdlib.h>

#include "heap/alloc.h"
#include "marshal/objects.h"

enum { CHUNK_LEAST = 512 }; /* still a large block */

void
alqi_marshal_objects_open(struct alqi_marshal_objects *t, bool is_small,
                          alq_value *root)
{
    t->n = 0;
    t->n_chunks = is_small;
    t->chunks_size = is_small;
    t->n_ready = is_small ? ALQI_MARSHAL_SMALL_OBJECTS : 0;
    t->small_chunk = t->small;
    t->chunks = is_small ? &t->small_chunk : NULL;
    t->root = root;
}

void
alqi_marshal_objects_close(struct alqi_marshal_objects *t)
{
    if (t->chunks != &t->small_chunk)
        free(t->chunks);
}

/* Room in the array for one chunk more; false: no memory. */
static bool
chunks_reserve(struct alqi_marshal_objects *t)
{
    size_t size = t->chunks_size == 0 ? 16 : 2 * t->chunks_size;
    alqi_heap_word **chunks;

    if (t->n_chunks < t->chunks_size)
        return true;
    chunks = realloc(t->chunks, size * sizeof(*chunks));
    if (chunks == NULL)
        return false;
    t->chunks = chunks;
    t->chunks_size = size;
    return true;
}

/* Field 0 leads to the block before. */
static bool
chunk_add(struct alqi_marshal_objects *t, struct alqi_domain *d, uint64_t n)
{
    alq_value block = alqi_heap_alloc_own(d, ALQ_HEADER(1 + n, 0));
    alqi_heap_word *fields = (alqi_heap_word *)block;
    uint64_t i;

    if (block == ALQ_NULL)
        return false;
    fields[0] = *t->root == ALQ_NULL ? ALQ_UNIT : *t->root;
    for (i = 1; i <= n; i++)
        fields[i] = ALQ_UNIT;
    *t->root = block;
    t->chunks[t->n_chunks++] = fields + 1;
    t->n_ready += n;
    return true;
}

bool
alqi_marshal_objects_grow(struct alqi_marshal_objects *t, struct alqi_domain *d,
                          uint64_t n_max)
{
    uint64_t n = ALQI_MARSHAL_CHUNK;

    if (t->n_chunks == 0 && n_max < n)
        n = n_max < CHUNK_LEAST ? CHUNK_LEAST : n_max;
    if (!chunks_reserve(t))
        return alqi_heap_fail(d, ALQ_ENOMEM) != ALQ_NULL;
    return chunk_add(t, d, n);
}
