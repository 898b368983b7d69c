/* pools.c -- an arena and a slab allocator whose blocks a recording has
 *
 *   cc -O2 -g pools.c -o pools               nothing is linked
 *   aliquot record -o pools.ctf -- ./pools
 *   aliquot report pools.ctf
 *
 * A server in small: each request makes a tree of words in its arena, which is
 * reset when the request is done, and leaves a session, which a slab allocator
 * keeps until it is the oldest of a thousand.
 *
 * To malloc this is a dozen chunks, of grow_arena and grow_slab.  The report
 * has the blocks, as [requests] and [sessions], and who asked for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/pool.h>

enum { ARENA_BYTES = 256 << 10, SLAB_BLOCKS = 128, SESSIONS = 1000 };

/* ---- an arena: blocks go all at once --------------------------------------
 */

struct chunk {
    struct chunk *next;
    char bytes[ARENA_BYTES];
};

struct arena {
    struct alq_pool pool;
    struct chunk *first, *at; /* chunks are kept, and filled again */
    size_t used;              /* bytes of `at`                     */
};

static struct arena requests = {.pool = ALQ_POOL("requests")};

static void *
checked(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static struct chunk *
grow_arena(void)
{
    struct chunk *chunk;

    alq_pool_chunk_begin();
    chunk = checked(malloc(sizeof *chunk));
    alq_pool_chunk_end();
    chunk->next = NULL;
    return chunk;
}

static void *
arena_take(struct arena *a, size_t n)
{
    size_t rounded = (n + 15) & ~(size_t)15;
    void *p;

    if (a->at == NULL) {
        a->first = a->at = grow_arena();
    } else if (rounded > ARENA_BYTES - a->used) {
        if (a->at->next == NULL)
            a->at->next = grow_arena();
        a->at = a->at->next;
        a->used = 0;
    }
    p = a->at->bytes + a->used;
    a->used += rounded;
    alq_pool_allocated(&a->pool, p, n);
    return p;
}

static void
arena_reset(struct arena *a)
{
    alq_pool_reset(&a->pool);
    a->at = a->first;
    a->used = 0;
}

static void
arena_drop(struct arena *a)
{
    struct chunk *next;

    alq_pool_reset(&a->pool);
    alq_pool_chunk_begin(); /* as they were allocated */
    for (; a->first != NULL; a->first = next) {
        next = a->first->next;
        free(a->first);
    }
    alq_pool_chunk_end();
    a->at = NULL;
}

/* ---- a slab allocator: blocks of one size go one by one -------------------
 */

struct session {
    struct session *next; /* free ones */
    char user[56];
    char state[960];
};

static struct {
    struct alq_pool pool;
    struct session *unused;
} sessions = {.pool = ALQ_POOL("sessions")};

static void
grow_slab(void)
{
    struct session *slab;

    alq_pool_chunk_begin(); /* never freed */
    slab = checked(malloc(SLAB_BLOCKS * sizeof *slab));
    alq_pool_chunk_end();
    for (int i = 0; i < SLAB_BLOCKS; i++) {
        slab[i].next = sessions.unused;
        sessions.unused = &slab[i];
    }
}

static struct session *
session_take(void)
{
    struct session *s;

    if (sessions.unused == NULL)
        grow_slab();
    s = sessions.unused;
    sessions.unused = s->next;
    alq_pool_allocated(&sessions.pool, s, sizeof *s);
    return s;
}

static void
session_give(struct session *s)
{
    alq_pool_freed(&sessions.pool, s); /* first: then it may be taken anew */
    s->next = sessions.unused;
    sessions.unused = s;
}

/* ---- the server -----------------------------------------------------------
 */

struct word {
    struct word *less, *more;
    char text[24];
};

static struct word *
word_insert(struct word *root, const char *text)
{
    struct word **at = &root;

    while (*at != NULL) {
        int order = strcmp(text, (*at)->text);

        if (order == 0)
            return root;
        at = order < 0 ? &(*at)->less : &(*at)->more;
    }
    *at = memset(arena_take(&requests, sizeof **at), 0, sizeof **at);
    snprintf((*at)->text, sizeof(*at)->text, "%s", text);
    return root;
}

static unsigned
parse(unsigned request)
{
    char *line = arena_take(&requests, 4000), word[24];
    struct word *root = NULL;
    unsigned n = 500 + request % 500;

    memset(line, 'x', 4000);
    for (unsigned i = 0; i < n; i++) {
        snprintf(word, sizeof word, "word%u", (i * 2654435761u) % 1000);
        root = word_insert(root, word);
    }
    return root != NULL ? n : 0;
}

static void
login(unsigned user)
{
    static struct session *last[SESSIONS];
    struct session **at = &last[user % SESSIONS];

    if (*at != NULL)
        session_give(*at);
    *at = session_take();
    snprintf((*at)->user, sizeof(*at)->user, "user %u", user);
}

int
main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 2000, n_words = 0;

    for (unsigned i = 0; i < n; i++) {
        n_words += parse(i);
        arena_reset(&requests);
        login(i);
    }
    arena_drop(&requests);
    printf("%u requests, %u words\n", n, n_words);
    return 0;
}
