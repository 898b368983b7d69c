/* tables.c -- the minor tables: old fields with young values, young custom
 * blocks
 *
 * array.c, custom.c and intern.c write an entry at `ptr`, and call the variant
 * when that has reached `limit`.  The tables have a fixed size here: a full one
 * is emptied into the heap's remembered set and list of custom blocks, and so
 * are all of them whenever the heap is entered (.inv.enter). */
#include <stdlib.h>

#include "heap/custom.h"
#include "heap/minor_escape.h"
#include "heap/minor_remember.h"
#include "ocaml/head.h"
#include "ocaml/tables.h"

enum { ENTRIES = 512 };

/* Allocates a table of fixed size, empty; false: no memory. */
static bool
table_open(struct caml_table *t, size_t entry_bytes)
{
    t->base = malloc(ENTRIES * entry_bytes);
    if (t->base == NULL)
        return false;
    t->ptr = t->base;
    t->end = t->threshold = t->limit = t->base + ENTRIES * entry_bytes;
    t->size = ENTRIES;
    return true;
}

struct caml_minor_tables *
alqi_ocaml_tables_new(void)
{
    struct caml_minor_tables *tables = calloc(1, sizeof *tables);

    if (tables != NULL && table_open(&tables->major_ref, sizeof(value *)) &&
        table_open(&tables->custom, sizeof(struct caml_custom_elt)))
        return tables;
    return NULL;
}

/* Hands the table's fields to the remembered set.  Old blocks are read by other
 * domains: the young values in them escape. */
static void
refs_empty(struct alqi_domain *d, struct caml_table *t)
{
    value **ref = (value **)(void *)t->base;

    alqi_heap_escape(d->heap);
    for (; ref < (value **)(void *)t->ptr; ref++)
        alqi_heap_remember(d, (alqi_heap_word *)*ref);
    t->ptr = t->base;
}

/* Hands the table's young custom blocks to the heap, each with the resources
 * that it holds.  The program ends without memory, as a block left out would
 * never be finalised. */
static void
customs_empty(struct alqi_domain *d, struct caml_table *t)
{
    const struct caml_custom_elt *elt =
        (const struct caml_custom_elt *)(const void *)t->base;
    const struct caml_custom_elt *end =
        (const struct caml_custom_elt *)(const void *)t->ptr;

    for (; elt < end; elt++) {
        const struct alq_custom_ops *ops =
            (const struct alq_custom_ops *)((alqi_heap_word *)elt->block)[0];
        struct alqi_heap_held held =
            elt->most == 0 ? alqi_heap_custom_mem(d, elt->mem)
                           : alqi_heap_custom_ratio(d, elt->mem, elt->most);

        if (!alqi_heap_custom_ready(d))
            caml_fatal_error("no memory to list custom blocks");
        alqi_heap_custom_young(d, elt->block, ops->finalise != NULL, held);
    }
    t->ptr = t->base;
}

void
alqi_ocaml_tables_empty(struct alqi_domain *d)
{
    struct caml_minor_tables *tables = alqi_ocaml_state(d)->minor_tables;

    if (tables == NULL)
        return; /* the domain is being started */
    if (ALQI_UNLIKELY(tables->major_ref.ptr != tables->major_ref.base))
        refs_empty(d, &tables->major_ref);
    if (ALQI_UNLIKELY(tables->custom.ptr != tables->custom.base))
        customs_empty(d, &tables->custom);
}

ALQI_OCAML_API void
caml_realloc_ref_table(struct caml_table *t)
{
    refs_empty(alqi_ocaml_domain(caml_state), t);
}

ALQI_OCAML_API void
caml_realloc_custom_table(struct caml_table *t)
{
    customs_empty(alqi_ocaml_domain(caml_state), t);
}
