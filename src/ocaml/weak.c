/* weak.c -- Weak and Ephemeron: both are ephemerons of the heap
 *
 * OCaml's library counts on two words in front of the keys, and takes the
 * number of keys from the block's size: an ephemeron of the heap has two.  The
 * block is a custom one without operations, so comparing and hashing treat it
 * as they treat an abstract block. */
#include "heap/weak_access.h"
#include "ocaml/enter.h"

enum { DATA = ALQI_HEAP_EPHE_DATA, FIRST = 2 };

/* The field of key n; raises Invalid_argument, in whose words OCaml does. */
static uintptr_t
key_field(value ephe, value n, const char *function)
{
    intptr_t i = alqi_ocaml_int_of(n);

    if (i < 0 || (uintptr_t)i + FIRST >= alq_wosize(ephe))
        caml_invalid_argument(function);
    return (uintptr_t)i + FIRST;
}

static value
get(value ephe, uintptr_t field)
{
    value v = alqi_heap_weak_get(alqi_ocaml_domain(caml_state), ephe,
                                 ALQI_HEAP_EPHE, field);

    return v == ALQ_NULL ? ALQI_OCAML_NONE : caml_alloc_some(v);
}

/* Some copy of the key or the datum, or None.  The copy may need a collection,
 * so the heap is entered; raises Out_of_memory. */
static value
get_copy(value ephe, uintptr_t field)
{
    struct alqi_domain *d = alqi_ocaml_enter();
    value v = alqi_heap_weak_get_copy(d, ephe, ALQI_HEAP_EPHE, field);
    bool is_refused = d->pub.status != ALQ_OK;

    d->pub.status = ALQ_OK;
    alqi_ocaml_leave(d);
    if (v == ALQ_NULL && is_refused)
        caml_raise_out_of_memory();
    return v == ALQ_NULL ? ALQI_OCAML_NONE : caml_alloc_some(v);
}

static value
set(value ephe, uintptr_t field, value v)
{
    alqi_heap_weak_set(alqi_ocaml_domain(caml_state), ephe, ALQI_HEAP_EPHE,
                       field, v);
    return ALQI_OCAML_UNIT;
}

static value
check(value ephe, uintptr_t field)
{
    return alqi_ocaml_bool(alqi_heap_weak_check(alqi_ocaml_domain(caml_state),
                                                ephe, ALQI_HEAP_EPHE, field));
}

static value
blit(value from, uintptr_t from_field, value to, uintptr_t to_field, size_t n)
{
    alqi_heap_weak_blit(alqi_ocaml_domain(caml_state), ALQI_HEAP_EPHE, from,
                        from_field, to, to_field, n);
    return ALQI_OCAML_UNIT;
}

/* ---- Ephemeron ---------------------------------------------------------- */

ALQI_OCAML_API value
caml_ephe_create(value n)
{
    intptr_t n_keys = alqi_ocaml_int_of(n);
    struct alqi_domain *d;
    value ephe;

    if (n_keys < 0 || (uintptr_t)n_keys > ALQ_WOSIZE_MAX - FIRST)
        caml_invalid_argument("Weak.create");
    d = alqi_ocaml_enter();
    ephe = alqi_heap_weak_new(d, ALQI_HEAP_EPHE, (size_t)n_keys);
    d->pub.status = ALQ_OK;
    alqi_ocaml_leave(d);
    if (ephe == ALQ_NULL)
        caml_raise_out_of_memory();
    return ephe;
}

ALQI_OCAML_API value
caml_ephe_set_key(value ephe, value n, value v)
{
    return set(ephe, key_field(ephe, n, "Weak.set"), v);
}

ALQI_OCAML_API value
caml_ephe_unset_key(value ephe, value n)
{
    return set(ephe, key_field(ephe, n, "Weak.set"), ALQ_NULL);
}

ALQI_OCAML_API value
caml_ephe_set_key_option(value ephe, value n, value option)
{
    return alq_is_block(option)
               ? caml_ephe_set_key(ephe, n, alq_field(option, 0))
               : caml_ephe_unset_key(ephe, n);
}

ALQI_OCAML_API value
caml_ephe_get_key(value ephe, value n)
{
    return get(ephe, key_field(ephe, n, "Weak.get"));
}

ALQI_OCAML_API value
caml_ephe_get_key_copy(value ephe, value n)
{
    return get_copy(ephe, key_field(ephe, n, "Weak.get_copy"));
}

ALQI_OCAML_API value
caml_ephe_check_key(value ephe, value n)
{
    return check(ephe, key_field(ephe, n, "Weak.check"));
}

ALQI_OCAML_API value
caml_ephe_set_data(value ephe, value v)
{
    return set(ephe, DATA, v);
}

ALQI_OCAML_API value
caml_ephe_unset_data(value ephe)
{
    return set(ephe, DATA, ALQ_NULL);
}

ALQI_OCAML_API value
caml_ephe_get_data(value ephe)
{
    return get(ephe, DATA);
}

ALQI_OCAML_API value
caml_ephe_get_data_copy(value ephe)
{
    return get_copy(ephe, DATA);
}

ALQI_OCAML_API value
caml_ephe_check_data(value ephe)
{
    return check(ephe, DATA);
}

ALQI_OCAML_API value
caml_ephe_blit_key(value from, value from_n, value to, value to_n, value n)
{
    intptr_t length = alqi_ocaml_int_of(n);
    intptr_t from_i = alqi_ocaml_int_of(from_n);
    intptr_t to_i = alqi_ocaml_int_of(to_n);

    if (length == 0)
        return ALQI_OCAML_UNIT;
    if (length < 0 || from_i < 0 || to_i < 0 ||
        (uintptr_t)from_i + (uintptr_t)length > alq_wosize(from) - FIRST ||
        (uintptr_t)to_i + (uintptr_t)length > alq_wosize(to) - FIRST)
        caml_invalid_argument("Weak.blit");
    return blit(from, (uintptr_t)from_i + FIRST, to, (uintptr_t)to_i + FIRST,
                (size_t)length);
}

ALQI_OCAML_API value
caml_ephe_blit_data(value from, value to)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    alqi_heap_weak_set(d, to, ALQI_HEAP_EPHE, DATA,
                       alqi_heap_weak_get(d, from, ALQI_HEAP_EPHE, DATA));
    return ALQI_OCAML_UNIT;
}

/* ---- Weak --------------------------------------------------------------- */

ALQI_OCAML_API value
caml_weak_create(value n)
{
    return caml_ephe_create(n);
}

ALQI_OCAML_API value
caml_weak_set(value weak, value n, value option)
{
    return caml_ephe_set_key_option(weak, n, option);
}

ALQI_OCAML_API value
caml_weak_get(value weak, value n)
{
    return caml_ephe_get_key(weak, n);
}

ALQI_OCAML_API value
caml_weak_get_copy(value weak, value n)
{
    return caml_ephe_get_key_copy(weak, n);
}

ALQI_OCAML_API value
caml_weak_check(value weak, value n)
{
    return caml_ephe_check_key(weak, n);
}

ALQI_OCAML_API value
caml_weak_blit(value from, value from_n, value to, value to_n, value n)
{
    return caml_ephe_blit_key(from, from_n, to, to_n, n);
}
