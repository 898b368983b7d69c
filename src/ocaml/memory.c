/* memory.c -- caml_stat_*: blocks of the C heap that OCaml's C code owns
 *
 * With pooling (cleanup at exit, or a program that asks for it) each block is
 * in a ring, and caml_stat_destroy_pool frees what is left.  Without it these
 * are malloc's. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ocaml/contract.h"
#include "plat/plat.h"

/* In front of a block, while there is a pool. */
struct link {
    struct link *next;
    struct link *previous;
};

static struct {
    struct alqi_plat_lock lock; /* of the ring */
    struct link *ring;          /* its anchor; NULL: there is no pool */
} pool = {.lock = ALQI_PLAT_LOCK(OCAML_POOL)};

/* ---- the ring ----------------------------------------------------------- */

ALQI_OCAML_API void
caml_stat_create_pool(void)
{
    if (pool.ring != NULL)
        return;
    pool.ring = malloc(sizeof *pool.ring);
    if (pool.ring == NULL)
        caml_fatal_error("no memory for the pool of C blocks");
    pool.ring->next = pool.ring->previous = pool.ring;
}

ALQI_OCAML_API void
caml_stat_destroy_pool(void)
{
    struct link *ring = pool.ring, *l, *next;

    pool.ring = NULL;
    if (ring == NULL)
        return;
    for (l = ring->next; l != ring; l = next) {
        next = l->next;
        free(l);
    }
    free(ring);
}

/* Puts a block into the ring, where the pool's end finds it.  Any thread may
 * call it. */
static void
ring_add(struct link *l)
{
    alqi_plat_lock(&pool.lock);
    l->next = pool.ring->next;
    l->previous = pool.ring;
    l->next->previous = l;
    pool.ring->next = l;
    alqi_plat_unlock(&pool.lock);
}

static void
ring_remove(struct link *l)
{
    alqi_plat_lock(&pool.lock);
    l->previous->next = l->next;
    l->next->previous = l->previous;
    alqi_plat_unlock(&pool.lock);
}

/* ---- blocks ------------------------------------------------------------- */

ALQI_OCAML_API void *
caml_stat_alloc_noexc(size_t bytes)
{
    struct link *l;

    if (pool.ring == NULL)
        return malloc(bytes);
    if (bytes > SIZE_MAX - sizeof *l || (l = malloc(sizeof *l + bytes)) == NULL)
        return NULL;
    ring_add(l);
    return l + 1;
}

ALQI_OCAML_API void *
caml_stat_calloc_noexc(size_t n, size_t bytes)
{
    void *block;

    if (bytes != 0 && n > SIZE_MAX / bytes)
        return NULL;
    block = caml_stat_alloc_noexc(n * bytes);
    if (block != NULL)
        memset(block, 0, n * bytes);
    return block;
}

ALQI_OCAML_API void
caml_stat_free(void *block)
{
    struct link *l = block;

    if (block == NULL || pool.ring == NULL) {
        free(block);
        return;
    }
    ring_remove(l - 1);
    free(l - 1);
}

ALQI_OCAML_API void *
caml_stat_resize_noexc(void *block, size_t bytes)
{
    struct link *l = block, *more;

    if (block == NULL)
        return caml_stat_alloc_noexc(bytes);
    if (pool.ring == NULL)
        return realloc(block, bytes);
    ring_remove(l - 1);
    more =
        bytes > SIZE_MAX - sizeof *l ? NULL : realloc(l - 1, sizeof *l + bytes);
    ring_add(more == NULL ? l - 1 : more);
    return more == NULL ? NULL : more + 1;
}

/* ---- the same, that raise Out_of_memory --------------------------------- */

static void *
got(void *block, size_t bytes)
{
    if (block == NULL && bytes > 0)
        caml_raise_out_of_memory();
    return block;
}

ALQI_OCAML_API void *
caml_stat_alloc(size_t bytes)
{
    return got(caml_stat_alloc_noexc(bytes), bytes);
}

ALQI_OCAML_API void *
caml_stat_resize(void *block, size_t bytes)
{
    return got(caml_stat_resize_noexc(block, bytes), bytes);
}

/* The result is `modulo` bytes behind a page's start. */
ALQI_OCAML_API void *
caml_stat_alloc_aligned_noexc(size_t bytes, int modulo, void **block)
{
    enum { PAGE = 4096 };
    char *raw = caml_stat_alloc_noexc(bytes + PAGE);

    *block = raw;
    if (raw == NULL)
        return NULL;
    raw += modulo;
    return raw + (PAGE - (uintptr_t)raw % PAGE) - modulo;
}

ALQI_OCAML_API void *
caml_stat_alloc_aligned(size_t bytes, int modulo, void **block)
{
    return got(caml_stat_alloc_aligned_noexc(bytes, modulo, block), bytes);
}

/* ---- strings ------------------------------------------------------------ */

ALQI_OCAML_API char *
caml_stat_strdup_noexc(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = caml_stat_alloc_noexc(bytes);

    return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

ALQI_OCAML_API char *
caml_stat_strdup(const char *text)
{
    return got(caml_stat_strdup_noexc(text), 1);
}

ALQI_OCAML_API char *
caml_stat_strconcat(int n, ...)
{
    size_t bytes = 1;
    char *all, *at;
    va_list args;
    int i;

    va_start(args, n);
    for (i = 0; i < n; i++)
        bytes += strlen(va_arg(args, const char *));
    va_end(args);
    all = at = caml_stat_alloc(bytes);
    va_start(args, n);
    for (i = 0; i < n; i++)
        at = stpcpy(at, va_arg(args, const char *));
    va_end(args);
    *at = '\0';
    return all;
}
