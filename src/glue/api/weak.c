/* weak.c -- <aliquot/weak.h>: weak arrays and ephemerons, arguments checked
 *
 * Both kinds are one block of src/heap/weak.h: an ephemeron has its data in
 * front of its keys, so the calls differ in the number of the first key
 * (alqi_heap_weak_keys). The functions of keys take the kind; the public ones
 * name it. A call with a status returns ALQ_EINVAL for a wrong argument; one
 * with a value leaves it in the domain. */
#include <aliquot/weak.h>

#include "glue/api/rule.h"
#include "heap/alloc.h"
#include "heap/weak_access.h"

static const enum alqi_heap_weak_kind WEAK = ALQI_HEAP_WEAK;
static const enum alqi_heap_weak_kind EPHE = ALQI_HEAP_EPHE;

/* Keys of a block of that kind; 0 if it is none. */
static size_t
length(alq_value block, enum alqi_heap_weak_kind kind)
{
    return alqi_heap_weak_is(block, kind)
               ? alq_wosize(block) - alqi_heap_weak_keys(kind)
               : 0;
}

/* Whether the block is of this kind and has n keys from i on; the second
 * comparison cannot overflow. */
static bool
has_keys(const struct alq_domain *d, alq_value block,
         enum alqi_heap_weak_kind kind, size_t i, size_t n)
{
    return d != NULL && alqi_heap_weak_is(block, kind) &&
           i <= length(block, kind) && n <= length(block, kind) - i;
}

/* Whether the arguments are a domain and an ephemeron. */
static bool
is_ephe(const struct alq_domain *d, alq_value block)
{
    return d != NULL && alqi_heap_weak_is(block, EPHE);
}

/* Whatever the call returns for nothing: its status is in the domain. Without a
 * domain there is nowhere to leave it. */
static alq_value
refuse(struct alq_domain *d)
{
    return d == NULL ? ALQ_NULL
                     : alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
}

/* ---- keys of both kinds ------------------------------------------------- */

/* A block whose keys and data are empty. */
static alq_value
create(struct alq_domain *d, enum alqi_heap_weak_kind kind, size_t n)
{
    if (d == NULL || n > ALQ_WEAK_LENGTH_MAX)
        return refuse(d);
    return alqi_heap_weak_new(alqi_heap_domain(d), kind, n);
}

/* The key keeps its block alive from now on: a cycle that is marking learns of
 * it. */
static alq_value
get_key(struct alq_domain *d, enum alqi_heap_weak_kind kind, alq_value block,
        size_t i)
{
    if (!has_keys(d, block, kind, i, 1))
        return refuse(d);
    return alqi_heap_weak_get(alqi_heap_domain(d), block, kind,
                              alqi_heap_weak_keys(kind) + i);
}

/* As get_key(), but the block itself is not kept: a copy is returned. */
static alq_value
get_key_copy(struct alq_domain *d, enum alqi_heap_weak_kind kind,
             alq_value block, size_t i)
{
    if (!has_keys(d, block, kind, i, 1))
        return refuse(d);
    return alqi_heap_weak_get_copy(alqi_heap_domain(d), block, kind,
                                   alqi_heap_weak_keys(kind) + i);
}

/* Whether there is a key; does not keep it. */
static int
check_key(struct alq_domain *d, enum alqi_heap_weak_kind kind, alq_value block,
          size_t i)
{
    if (!has_keys(d, block, kind, i, 1))
        return refuse(d) != ALQ_NULL;
    return alqi_heap_weak_check(alqi_heap_domain(d), block, kind,
                                alqi_heap_weak_keys(kind) + i);
}

/* Sets n keys from i on; ALQ_NULL empties them. */
static enum alq_status
fill_keys(struct alq_domain *d, enum alqi_heap_weak_kind kind, alq_value block,
          size_t i, size_t n, alq_value v)
{
    if (!has_keys(d, block, kind, i, n))
        return ALQ_EINVAL;
    for (; n > 0; n--)
        alqi_heap_weak_set(alqi_heap_domain(d), block, kind,
                           alqi_heap_weak_keys(kind) + i++, v);
    return ALQ_OK;
}

/* Copies keys, empty ones too, without keeping their blocks. */
static enum alq_status
blit_keys(struct alq_domain *d, enum alqi_heap_weak_kind kind, alq_value from,
          size_t from_i, alq_value to, size_t to_i, size_t n)
{
    if (!has_keys(d, from, kind, from_i, n) || !has_keys(d, to, kind, to_i, n))
        return ALQ_EINVAL;
    alqi_heap_weak_blit(alqi_heap_domain(d), kind, from,
                        alqi_heap_weak_keys(kind) + from_i, to,
                        alqi_heap_weak_keys(kind) + to_i, n);
    return ALQ_OK;
}

/* ---- weak arrays -------------------------------------------------------- */

alq_value
alq_weak_create(struct alq_domain *d, size_t n)
{
    ALQI_RULE_RUN(d);
    return create(d, WEAK, n);
}

/* 0 for what is no weak array. */
size_t
alq_weak_length(alq_value weak)
{
    return length(weak, WEAK);
}

enum alq_status
alq_weak_set(struct alq_domain *d, alq_value weak, size_t i, alq_value v)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return fill_keys(d, WEAK, weak, i, 1, v);
}

/* The result is a strong reference of the caller's. */
alq_value
alq_weak_get(struct alq_domain *d, alq_value weak, size_t i)
{
    ALQI_RULE_RUN(d);
    return get_key(d, WEAK, weak, i);
}

alq_value
alq_weak_get_copy(struct alq_domain *d, alq_value weak, size_t i)
{
    ALQI_RULE_RUN(d);
    return get_key_copy(d, WEAK, weak, i);
}

int
alq_weak_check(struct alq_domain *d, alq_value weak, size_t i)
{
    ALQI_RULE_RUN(d);
    return check_key(d, WEAK, weak, i);
}

enum alq_status
alq_weak_fill(struct alq_domain *d, alq_value weak, size_t i, size_t n,
              alq_value v)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return fill_keys(d, WEAK, weak, i, n, v);
}

enum alq_status
alq_weak_blit(struct alq_domain *d, alq_value from, size_t from_i, alq_value to,
              size_t to_i, size_t n)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return blit_keys(d, WEAK, from, from_i, to, to_i, n);
}

/* ---- ephemerons --------------------------------------------------------- */

/* Without keys nothing could let the data die: that is refused. */
alq_value
alq_ephe_create(struct alq_domain *d, size_t n_keys)
{
    ALQI_RULE_RUN(d);
    return n_keys == 0 ? refuse(d) : create(d, EPHE, n_keys);
}

/* The data are in a frame while the block is made; the caller's array is read
 * afterwards, so its values must be where the collector updates them. */
alq_value
alq_ephe_make(struct alq_domain *d, size_t n_keys, const alq_value *keys,
              alq_value data)
{
    alq_value ephe;
    size_t i;

    ALQI_RULE_RUN(d);
    if (d == NULL || keys == NULL)
        return refuse(d);
    {
        ALQ_FRAME(d, f, data);
        f.data = data;
        ephe = alq_ephe_create(d, n_keys);
        if (ephe == ALQ_NULL)
            return ALQ_NULL;
        alq_ephe_set_data(d, ephe, f.data);
    }
    for (i = 0; i < n_keys; i++)
        alq_ephe_set_key(d, ephe, i, keys[i]);
    return ephe;
}

/* The keys are compared as they are: what the caller holds is not dead, so a
 * key that is equal is alive. */
alq_value
alq_ephe_query(struct alq_domain *d, alq_value ephe, size_t n_keys,
               const alq_value *keys)
{
    size_t i;

    ALQI_RULE_RUN(d);
    if (!is_ephe(d, ephe) || keys == NULL)
        return refuse(d);
    if (n_keys != length(ephe, EPHE))
        return ALQ_NULL;
    for (i = 0; i < n_keys; i++) /* what the caller holds is not dead */
        if (alqi_heap_weak_read(ephe, alqi_heap_weak_keys(EPHE) + i) != keys[i])
            return ALQ_NULL;
    return alq_ephe_get_data(d, ephe);
}

size_t
alq_ephe_length(alq_value ephe)
{
    return length(ephe, EPHE);
}

enum alq_status
alq_ephe_set_key(struct alq_domain *d, alq_value ephe, size_t i, alq_value v)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return fill_keys(d, EPHE, ephe, i, 1, v);
}

/* An empty key is no dead one: the data stay. */
enum alq_status
alq_ephe_unset_key(struct alq_domain *d, alq_value ephe, size_t i)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return fill_keys(d, EPHE, ephe, i, 1, ALQ_NULL);
}

alq_value
alq_ephe_get_key(struct alq_domain *d, alq_value ephe, size_t i)
{
    ALQI_RULE_RUN(d);
    return get_key(d, EPHE, ephe, i);
}

alq_value
alq_ephe_get_key_copy(struct alq_domain *d, alq_value ephe, size_t i)
{
    ALQI_RULE_RUN(d);
    return get_key_copy(d, EPHE, ephe, i);
}

int
alq_ephe_check_key(struct alq_domain *d, alq_value ephe, size_t i)
{
    ALQI_RULE_RUN(d);
    return check_key(d, EPHE, ephe, i);
}

enum alq_status
alq_ephe_blit_key(struct alq_domain *d, alq_value from, size_t from_i,
                  alq_value to, size_t to_i, size_t n)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return blit_keys(d, EPHE, from, from_i, to, to_i, n);
}

/* The data live as long as all keys do. */
enum alq_status
alq_ephe_set_data(struct alq_domain *d, alq_value ephe, alq_value v)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    if (!is_ephe(d, ephe))
        return ALQ_EINVAL;
    alqi_heap_weak_set(alqi_heap_domain(d), ephe, EPHE, ALQI_HEAP_EPHE_DATA, v);
    return ALQ_OK;
}

enum alq_status
alq_ephe_unset_data(struct alq_domain *d, alq_value ephe)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    return alq_ephe_set_data(d, ephe, ALQ_NULL);
}

alq_value
alq_ephe_get_data(struct alq_domain *d, alq_value ephe)
{
    ALQI_RULE_RUN(d);
    if (!is_ephe(d, ephe))
        return refuse(d);
    return alqi_heap_weak_get(alqi_heap_domain(d), ephe, EPHE,
                              ALQI_HEAP_EPHE_DATA);
}

alq_value
alq_ephe_get_data_copy(struct alq_domain *d, alq_value ephe)
{
    ALQI_RULE_RUN(d);
    if (!is_ephe(d, ephe))
        return refuse(d);
    return alqi_heap_weak_get_copy(alqi_heap_domain(d), ephe, EPHE,
                                   ALQI_HEAP_EPHE_DATA);
}

int
alq_ephe_check_data(struct alq_domain *d, alq_value ephe)
{
    ALQI_RULE_RUN(d);
    if (!is_ephe(d, ephe))
        return refuse(d) != ALQ_NULL;
    return alqi_heap_weak_check(alqi_heap_domain(d), ephe, EPHE,
                                ALQI_HEAP_EPHE_DATA);
}

/* Reads the data as alq_ephe_get_data() does: they are kept by the copy. */
enum alq_status
alq_ephe_blit_data(struct alq_domain *d, alq_value from, alq_value to)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    if (!is_ephe(d, from) || !is_ephe(d, to))
        return ALQ_EINVAL;
    return alq_ephe_set_data(d, to, alq_ephe_get_data(d, from));
}
