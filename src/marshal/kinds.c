/* kinds.c -- kinds of custom blocks: int32, int64, nativeint, and finding one
 *
 * The three of OCaml are always known and cannot be replaced; others are given
 * with the call. */
#include <string.h>

#include "marshal/kinds.h"
#include "marshal/out.h"

static void
number_put(struct alq_marshal_out *out, uint64_t number, unsigned n)
{
    unsigned char bytes[8];

    alqi_marshal_store(bytes, number, n);
    alqi_marshal_out_bytes(out, bytes, n);
}

static uint64_t
number_get(struct alq_marshal_in *in, unsigned n)
{
    unsigned char bytes[8];

    alqi_marshal_in_bytes(in, bytes, n);
    return alqi_marshal_load(bytes, n);
}

/* ---- int32 -------------------------------------------------------------- */

/* OCaml's int32, big-endian.  Its size is fixed, so *size is not filled. */
static enum alq_status
int32_put(struct alq_marshal_out *out, alq_value block,
          struct alq_custom_size *size)
{
    int32_t n;

    (void)size;
    memcpy(&n, alq_custom_data(block), sizeof n);
    number_put(out, (uint64_t)n, 4);
    return ALQ_OK;
}

static enum alq_status
int32_get(struct alq_marshal_in *in, void *data, size_t bytes)
{
    int32_t n = (int32_t)number_get(in, 4);

    (void)bytes;
    memcpy(data, &n, sizeof n);
    return ALQ_OK;
}

/* ---- int64 -------------------------------------------------------------- */

static int64_t
int64_of(alq_value block)
{
    int64_t n;

    memcpy(&n, alq_custom_data(block), sizeof n);
    return n;
}

static enum alq_status
int64_put(struct alq_marshal_out *out, alq_value block,
          struct alq_custom_size *size)
{
    (void)size;
    number_put(out, (uint64_t)int64_of(block), 8);
    return ALQ_OK;
}

static enum alq_status
int64_get(struct alq_marshal_in *in, void *data, size_t bytes)
{
    uint64_t n = number_get(in, 8);

    (void)bytes;
    memcpy(data, &n, sizeof n);
    return ALQ_OK;
}

/* ---- nativeint ---------------------------------------------------------- */

enum { IS_32 = 1, IS_64 = 2 }; /* the first byte */

/* 32 bits if the number fits, as OCaml writes it for readers of either size. */
static enum alq_status
nativeint_put(struct alq_marshal_out *out, alq_value block,
              struct alq_custom_size *size)
{
    int64_t n = int64_of(block);
    bool is_small = n >= INT32_MIN && n <= INT32_MAX;

    (void)size;
    number_put(out, is_small ? IS_32 : IS_64, 1);
    number_put(out, (uint64_t)n, is_small ? 4 : 8);
    return ALQ_OK;
}

/* Either size; the number is kept in 64 bits. */
static enum alq_status
nativeint_get(struct alq_marshal_in *in, void *data, size_t bytes)
{
    uint64_t form = number_get(in, 1);
    int64_t n;

    (void)bytes;
    if (form != IS_32 && form != IS_64)
        return ALQ_EFORMAT;
    n = form == IS_32 ? (int32_t)number_get(in, 4) : (int64_t)number_get(in, 8);
    memcpy(data, &n, sizeof n);
    return ALQ_OK;
}

/* ---- all ---------------------------------------------------------------- */

static const struct alq_custom_size size_32 = {4, 4};
static const struct alq_custom_size size_64 = {8, 8};
static const struct alq_custom_size size_native = {4, 8};

const struct alq_custom_ops alq_int32_ops = {.name = "_i",
                                             .serialise = int32_put,
                                             .deserialise = int32_get,
                                             .fixed = &size_32};
const struct alq_custom_ops alq_int64_ops = {.name = "_j",
                                             .serialise = int64_put,
                                             .deserialise = int64_get,
                                             .fixed = &size_64};
const struct alq_custom_ops alq_nativeint_ops = {.name = "_n",
                                                 .serialise = nativeint_put,
                                                 .deserialise = nativeint_get,
                                                 .fixed = &size_native};

const struct alq_custom_ops *
alqi_marshal_kind_find(const struct alq_custom_ops *const *kinds,
                       const char *name)
{
    static const struct alq_custom_ops *const own[] = {
        &alq_int64_ops, &alq_int32_ops, &alq_nativeint_ops};
    size_t i;

    for (i = 0; i < ALQI_COUNT_OF(own); i++)
        if (strcmp(own[i]->name, name) == 0)
            return own[i];
    for (; kinds != NULL && *kinds != NULL; kinds++)
        if ((*kinds)->name != NULL && strcmp((*kinds)->name, name) == 0)
            return *kinds;
    return NULL;
}
