/* store.c -- the write barrier for OCaml's code, and atomic fields
 *
 * A field may be of a young, an old or a static block.  Static blocks are as
 * old ones: their fields are remembered, and darkened when they are
 * overwritten.
 *
 * Keeps .inv.snapshot and .inv.remember, by alqi_heap_store and _exchanged.
 * Keeps .inv.private: A young value that is stored outside of the young blocks
 *   has escaped before. */
#include "heap/major_mark.h"
#include "heap/minor_escape.h"
#include "heap/minor_remember.h"
#include "heap/write_barrier.h"
#include "ocaml/head.h"
#include "ocaml/interrupt.h"

static inline bool
is_young_place(const struct alqi_domain *d, const volatile value *field)
{
    return (uintptr_t)field - d->pub.young_base < d->pub.young_bytes;
}

/* A field that holds a young value is remembered already, and a young value
 * needs no darkening. */
static inline void
modify(struct alqi_domain *d, volatile value *field, value v)
{
    alqi_heap_word *at = (alqi_heap_word *)field;

    if (is_young_place(d, field) || alqi_heap_is_young(d, *at)) {
        alqi_heap_fence_acquire();
        __atomic_store_n(at, v, __ATOMIC_RELEASE);
        return;
    }
    if (alqi_heap_is_young(d, v))
        alqi_heap_escape(d->heap);
    alqi_heap_store(d, at, v);
}

ALQI_OCAML_API void
caml_modify(volatile value *field, value v)
{
    modify(alqi_ocaml_domain(caml_state), field, v);
}

/* The field holds no value yet. */
ALQI_OCAML_API void
caml_initialize(volatile value *field, value v)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    alqi_heap_word *at = (alqi_heap_word *)field;

    if (alqi_heap_is_young(d, v) && !is_young_place(d, field)) {
        alqi_heap_escape(d->heap);
        alqi_heap_remember(d, at);
    }
    __atomic_store_n(at, v, __ATOMIC_RELEASE);
}

/* In the place of array.c's, which remembers a field after it has stored: then
 * another domain could read a young value that has not escaped yet. */
ALQI_OCAML_API value
caml_uniform_array_fill(value array, value from, value n, value v)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    value *field = (value *)array + alqi_ocaml_int_of(from);

    for (intptr_t left = alqi_ocaml_int_of(n); left > 0; left--)
        modify(d, field++, v);
    return ALQI_OCAML_UNIT;
}

ALQI_OCAML_API value
caml_array_fill(value array, value from, value n, value v)
{
    if (alq_tag(array) == ALQ_TAG_DOUBLE_ARRAY)
        return caml_floatarray_fill(array, from, n, v);
    return caml_uniform_array_fill(array, from, n, v);
}

/* For array.c, which overwrites many fields: v is lost from one. */
ALQI_OCAML_API void
caml_darken(void *data, value v, volatile value *slot)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    (void)data;
    (void)slot;
    if (d->heap->cycle.phase == ALQI_HEAP_MARK)
        alqi_heap_mark_darken(d, v);
}

/* ---- atomic fields ------------------------------------------------------ */

/* A young value that is about to be in the field escapes: another domain may
 * see it at once. */
static inline void
exchange_begin(struct alqi_domain *d, const alqi_heap_word *field, value v)
{
    if (!is_young_place(d, field) && alqi_heap_is_young(d, v))
        alqi_heap_escape(d->heap);
}

static inline void
exchange_end(struct alqi_domain *d, alqi_heap_word *field, value old, value v)
{
    if (!is_young_place(d, field) && !alqi_heap_is_young(d, old))
        alqi_heap_exchanged(d, field, old, v);
}

/* Exchanges if the field has `expected`.  v escapes before, even if the
 * exchange then fails: another domain could read it at once. */
static inline bool
compare_exchange(alqi_heap_word *field, value expected, value v)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    alqi_heap_word old = expected;

    exchange_begin(d, field, v);
    if (!__atomic_compare_exchange_n(field, &old, v, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return false;
    exchange_end(d, field, expected, v);
    return true;
}

ALQI_OCAML_API int
caml_atomic_cas_field(value block, intptr_t i, value expected, value v)
{
    return compare_exchange((alqi_heap_word *)block + i, expected, v);
}

ALQI_OCAML_API value
caml_atomic_load(value ref)
{
    return __atomic_load_n((alqi_heap_word *)ref, __ATOMIC_SEQ_CST);
}

ALQI_OCAML_API value
caml_atomic_exchange(value ref, value v)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);
    alqi_heap_word *field = (alqi_heap_word *)ref;
    value old;

    exchange_begin(d, field, v);
    old = __atomic_exchange_n(field, v, __ATOMIC_SEQ_CST);
    exchange_end(d, field, old, v);
    return old;
}

ALQI_OCAML_API value
caml_atomic_cas(value ref, value expected, value v)
{
    return alqi_ocaml_bool(
        compare_exchange((alqi_heap_word *)ref, expected, v));
}

ALQI_OCAML_API value
caml_atomic_fetch_add(value ref, value by)
{
    return __atomic_fetch_add((alqi_heap_word *)ref, by - 1, __ATOMIC_SEQ_CST);
}

/* ---- domain-local state ------------------------------------------------- */

ALQI_OCAML_API value
caml_domain_dls_get(value unit)
{
    (void)unit;
    return caml_state->dls_root;
}

ALQI_OCAML_API value
caml_domain_dls_set(value v)
{
    if (caml_state->dls_root == ALQI_OCAML_UNIT)
        caml_interrupt_self(); /* callbacks have waited: memprof.c */
    caml_state->dls_root = v;
    return ALQI_OCAML_UNIT;
}

ALQI_OCAML_API value
caml_domain_dls_compare_and_set(value old, value v)
{
    if (caml_state->dls_root != old)
        return ALQI_OCAML_FALSE;
    caml_state->dls_root = v;
    return ALQI_OCAML_TRUE;
}
