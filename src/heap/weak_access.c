/* weak_access.c -- what programs do with weak arrays and ephemerons
 *
 * A value that is read while marking goes on is darkened: the snapshot does not
 * know of this load.  While cleaning goes on a dead key reads as empty, and the
 * reader empties it.
 *
 * Keeps .inv.snapshot: No white value gets into a program's hands.
 * Keeps .inv.emptying: Before a program stores into an ephemeron it waits until
 *   no domain empties its data. */
#include <string.h>

#include "heap/alloc.h"
#include "heap/custom.h"
#include "heap/hosted.h"
#include "heap/weak_ephe.h"
#include "heap/weak_phase.h"
#include "heap/root_stack.h"
#include "heap/weak_access.h"

/* Makes a weak block with empty keys, and lists it; ALQ_NULL: no memory.
 *
 * If it cannot be listed, it gets other operations, so that nobody takes it for
 * a weak block (.inv.listed); the next collection finds it dead.  It is born
 * old if a conservative thread may hold it, since a young weak block cannot
 * stay in place. */
alq_value
alqi_heap_weak_new(struct alqi_domain *d, enum alqi_heap_weak_kind kind,
                   size_t n_keys)
{
    static const struct alq_custom_ops unlisted = {.name = "unlisted"};
    struct alqi_heap_held held = {.is_old = alqi_heap_stack_is_any(d->heap)};
    alq_value block = alqi_heap_alloc_custom(
        d, &alqi_heap_weak_ops[kind], alqi_heap_weak_keys(kind) + n_keys, held);

    if (block == ALQ_NULL || alqi_heap_weak_list(d, block, kind))
        return block;
    ((alqi_heap_word *)block)[0] = (uintptr_t)&unlisted; /* .inv.listed */
    return alqi_heap_fail(d, ALQ_ENOMEM);
}

/* ---- reading ------------------------------------------------------------ */

/* Darkens a value that the program gets, while marking goes on. */
static void
use(struct alqi_domain *d, alq_value v)
{
    if (d->heap->cycle.phase == ALQI_HEAP_MARK)
        alqi_heap_ephe_darken(d, v);
}

/* Reads a field as if cleaning were finished.  Whether the data of an ephemeron
 * live depends on each key, so all keys are cleaned before the data are
 * read. */
static alq_value
look(struct alqi_domain *d, alq_value block, enum alqi_heap_weak_kind kind,
     uintptr_t field)
{
    alq_value v;

    if (alqi_heap_weak_phase_is_cleaning(d)) {
        if (field < alqi_heap_weak_keys(kind))
            alqi_heap_weak_clean_block(d, block, kind);
        else
            alqi_heap_weak_clean_key(d, block, kind, field);
    }
    v = alqi_heap_weak_read(block, field);
    ALQI_ASSERT(!alqi_heap_weak_phase_is_cleaning(d) ||
                !alqi_heap_mark_is_white(d, v)); /* .inv.phase */
    return v;
}

alq_value
alqi_heap_weak_get(struct alqi_domain *d, alq_value block,
                   enum alqi_heap_weak_kind kind, uintptr_t field)
{
    alq_value v = look(d, block, kind, field);

    use(d, v);
    return v;
}

bool
alqi_heap_weak_check(struct alqi_domain *d, alq_value block,
                     enum alqi_heap_weak_kind kind, uintptr_t field)
{
    return look(d, block, kind, field) != ALQ_NULL;
}

/* ---- copies ------------------------------------------------------------- */

/* Makes a block like that of the header, with fields that a collection may
 * see. */
static alq_value
copy_new(struct alqi_domain *d, uintptr_t header)
{
    uintptr_t i, n = header >> ALQ_WOSIZE_SHIFT;
    alq_value with = alqi_heap_is_scannable(header) ? ALQ_UNIT : 0;
    alq_value copy = alqi_heap_alloc(d, ALQ_HEADER(n, header & 0xFF));

    if (copy != ALQ_NULL)
        for (i = 0; i < n; i++)
            ((alqi_heap_word *)copy)[i] = with;
    if (copy != ALQ_NULL)
        alqi_heap_raw_begin((alqi_heap_word *)copy, header);
    return copy;
}

/* Copies the fields of v.  They may have been reachable through v alone, and v
 * weakly: so each is darkened like a value that is read. */
static void
copy_fields(struct alqi_domain *d, alq_value copy, alq_value v)
{
    uintptr_t header = alqi_heap_header(v);
    uintptr_t n = header >> ALQ_WOSIZE_SHIFT;
    uintptr_t i = alqi_heap_is_scannable(header)
                      ? alqi_heap_raw_fields((const alqi_heap_word *)v, header)
                      : n;

    memcpy((void *)copy, (const void *)v, i * ALQ_WORD_BYTES);
    for (; i < n; i++) {
        use(d, alq_field(v, i));
        alq_init(&d->pub, copy, i, alq_field(v, i));
    }
}

/* Returns a copy of the value in a field, or the value if it is none to copy.
 *
 * Making room for the copy may collect, and finalisers may run.  Then the field
 * may hold another value, or none, so it is read again until a copy of the same
 * size and tag is at hand. */
alq_value
alqi_heap_weak_get_copy(struct alqi_domain *d, alq_value weak,
                        enum alqi_heap_weak_kind kind, uintptr_t field)
{
    ALQ_FRAME(&d->pub, f, block, copy);
    uintptr_t header, infix;
    alq_value v;

    f.block = weak;
    for (;;) {
        v = look(d, f.block, kind, field);
        if (!alq_is_block(v))
            return v;
        infix = alqi_heap_infix_bytes(v);
        v -= infix;
        header = alqi_heap_header(v);
        if ((header & 0xFF) == ALQ_TAG_CUSTOM ||
            alqi_heap_colour(header) == ALQI_HEAP_COLOUR_STATIC)
            return alqi_heap_weak_get(d, f.block, kind, field);
        if (f.copy != ALQ_NULL &&
            alqi_heap_with_colour(alqi_heap_header(f.copy),
                                  alqi_heap_colour(header)) == header)
            break;
        f.copy = copy_new(d, header);
        if (f.copy == ALQ_NULL)
            return ALQ_NULL;
    }
    copy_fields(d, f.copy, v);
    return f.copy + infix;
}

/* ---- writing ------------------------------------------------------------ */

/* Cleans an ephemeron before a store: a data or key that is stored while
 * another domain empties would be emptied, too (.inv.emptying). */
static void
clean_ephe(struct alqi_domain *d, alq_value block,
           enum alqi_heap_weak_kind kind)
{
    if (kind == ALQI_HEAP_EPHE && alqi_heap_weak_phase_is_cleaning(d))
        alqi_heap_weak_clean_block(d, block, kind);
}

/* Darkens the data before a key is stored.  The new key may be marked where the
 * old one was not, after the pass that would have found the data live: so they
 * live through this cycle. */
static void
keep_data(struct alqi_domain *d, alq_value block, enum alqi_heap_weak_kind kind)
{
    if (kind == ALQI_HEAP_EPHE)
        use(d, alqi_heap_weak_read(block, ALQI_HEAP_EPHE_DATA));
}

/* Stores a value, and notes the field if an old block gets a young value where
 * it had none. */
static void
write(struct alqi_domain *d, alq_value block, uintptr_t field, alq_value v)
{
    if (!alqi_heap_is_young(d, block) && alqi_heap_is_young(d, v) &&
        !alqi_heap_is_young(d, alqi_heap_weak_read(block, field)))
        alqi_heap_weak_remember(d, block, field);
    alqi_heap_weak_write(block, field, v);
}

/* Stores a key or the data.  There is no write barrier: a program gets the
 * value that is overwritten by a read alone, which darkens it. */
void
alqi_heap_weak_set(struct alqi_domain *d, alq_value block,
                   enum alqi_heap_weak_kind kind, uintptr_t field, alq_value v)
{
    clean_ephe(d, block, kind);
    if (field >= alqi_heap_weak_keys(kind))
        keep_data(d, block, kind);
    write(d, block, field, v);
}

/* Copies one key.  A key of an ephemeron is darkened: the cleaner looks only at
 * ephemerons that still wait, so a key that is not marked must not get into one
 * of the others. */
static void
blit_one(struct alqi_domain *d, enum alqi_heap_weak_kind kind, alq_value from,
         uintptr_t from_field, alq_value to, uintptr_t to_field)
{
    alq_value v = look(d, from, kind, from_field);

    if (kind == ALQI_HEAP_EPHE)
        use(d, v);
    /* .inv.phase: the cleaner may be past the ephemeron that gets the key. */
    ALQI_ASSERT(kind != ALQI_HEAP_EPHE ||
                d->heap->cycle.phase != ALQI_HEAP_MARK ||
                !alqi_heap_mark_is_white(d, v));
    write(d, to, to_field, v);
}

/* Copies n keys, as if all were read before the first is stored: within one
 * block the direction depends on which range comes first.  Ephemerons are
 * cleaned before, and the data of `to` live on (keep_data). */
void
alqi_heap_weak_blit(struct alqi_domain *d, enum alqi_heap_weak_kind kind,
                    alq_value from, uintptr_t from_field, alq_value to,
                    uintptr_t to_field, size_t n)
{
    size_t i;

    if (n == 0)
        return;
    clean_ephe(d, from, kind);
    clean_ephe(d, to, kind);
    keep_data(d, to, kind);
    if (from == to && from_field < to_field)
        for (i = n; i-- > 0;)
            blit_one(d, kind, from, from_field + i, to, to_field + i);
    else
        for (i = 0; i < n; i++)
            blit_one(d, kind, from, from_field + i, to, to_field + i);
}
