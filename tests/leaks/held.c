/* held.c -- a program whose blocks are held in known ways, for held_test.py
 *
 * A cache in a variable holds a list, each node with a payload, and a table of
 * rows; pairs are lost; children of lost blocks go with them.  Counts and sizes
 * are those of held_test.py. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

enum {
    NODES = 2000,
    PAYLOAD_BYTES = 200,
    ROWS = 1000,
    ROW_BYTES = 500,
    LOST = 300,
    LOST_BYTES = 64,
    CHILD_BYTES = 128
};

struct node {
    struct node *next;
    void *payload;
};

struct cache {
    struct node *list;
    void **table;
};

struct cache *volatile the_cache;
static void *volatile last;

NOINLINE static void *
payload_new(void)
{
    return malloc(PAYLOAD_BYTES);
}

NOINLINE static void
node_push(struct cache *c)
{
    struct node *n = malloc(sizeof *n);

    n->payload = payload_new();
    n->next = c->list;
    c->list = n;
}

NOINLINE static void
table_fill(struct cache *c)
{
    c->table = malloc(ROWS * sizeof *c->table);
    for (int i = 0; i < ROWS; i++)
        c->table[i] = malloc(ROW_BYTES);
}

NOINLINE static void *
child_new(void)
{
    return malloc(CHILD_BYTES);
}

NOINLINE static void
pair_lose(void)
{
    void **pair = malloc(LOST_BYTES);

    *pair = child_new();
    last = pair;
    last = NULL;
}

NOINLINE static void
cache_make(void)
{
    the_cache = malloc(sizeof *the_cache);
    the_cache->list = NULL;
}

/* Old frames hold no pointer to lost blocks: a stack is no root at the end. */
int
main(void)
{
    cache_make();
    for (int i = 0; i < NODES; i++)
        node_push(the_cache);
    table_fill(the_cache);
    for (int i = 0; i < LOST; i++)
        pair_lose();
    return 0;
}
