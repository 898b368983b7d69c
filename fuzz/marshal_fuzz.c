/* marshal_fuzz.c -- messages from somebody who means no good
 *
 * The input is read twice: as a message, and as the data behind a header that
 * is right, so that damage need not get past the header first.  What is a value
 * is written and read again, which must give the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/aliquot.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { FULL_EVERY = 64, BYTES_MAX = 1 << 20 };

static unsigned n_live; /* custom blocks */

/* ---- a kind of custom block --------------------------------------------- */

static void
kind_end(alq_value block)
{
    (void)block;
    n_live--;
}

static enum alq_status
kind_put(struct alq_marshal_out *out, alq_value block,
         struct alq_custom_size *size)
{
    alq_marshal_put(out, alq_custom_data(block), size->bytes_64);
    return ALQ_OK;
}

static enum alq_status
kind_get(struct alq_marshal_in *in, void *data, size_t bytes)
{
    n_live++;
    if (bytes > alq_marshal_left(in))
        return ALQ_EFORMAT;
    alq_marshal_get(in, data, bytes);
    return ALQ_OK;
}

static const struct alq_custom_ops kind = {.name = "k",
                                           .finalise = kind_end,
                                           .serialise = kind_put,
                                           .deserialise = kind_get};
static const struct alq_custom_ops *const kinds[] = {&kind, NULL};

/* ---- the check ---------------------------------------------------------- */

static void *
written(struct alq_domain *d, alq_value v, size_t *n)
{
    void *bytes;
    uint64_t size;

    if (alq_marshal_to_memory(d, v, NULL, &bytes, n) != ALQ_OK ||
        alq_marshal_size(d, v, NULL, &size) != ALQ_OK || size != *n)
        abort();
    return bytes;
}

static void
check(struct alq_domain *d, const void *data, size_t bytes)
{
    const struct alq_unmarshal_options options = {.kinds = kinds};
    ALQ_FRAME(d, f, v, again);
    size_t used, n, n_again;
    void *first, *second;

    if (alq_unmarshal(d, data, bytes, &options, &used, &f.v) != ALQ_OK) {
        if (f.v != ALQ_NULL)
            abort();
        return;
    }
    if (used > bytes)
        abort();
    first = written(d, f.v, &n);
    if (alq_unmarshal(d, first, n, &options, &used, &f.again) != ALQ_OK ||
        used != n)
        abort();
    second = written(d, f.again, &n_again);
    if (n_again != n || memcmp(first, second, n) != 0)
        abort();
    free(first);
    free(second);
}

static void
put(uint8_t *to, uint64_t number)
{
    to[0] = (uint8_t)(number >> 24);
    to[1] = (uint8_t)(number >> 16);
    to[2] = (uint8_t)(number >> 8);
    to[3] = (uint8_t)number;
}

static void
check_data(struct alq_domain *d, const uint8_t *data, size_t bytes)
{
    uint8_t *message = malloc(20 + bytes);

    if (message == NULL)
        abort();
    put(message, 0x8495A6BE);
    put(message + 4, bytes);
    put(message + 8, bytes);
    put(message + 12, 0);
    put(message + 16, bytes % 2 == 0 ? 257 : 8 * bytes); /* small or large */
    if (bytes > 0)
        memcpy(message + 20, data, bytes);
    check(d, message, 20 + bytes);
    free(message);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct alq_domain_config config = {
        .minor_words = 4096, .limit_bytes = (size_t)256 << 20};
    static struct alq_domain *d;
    static unsigned n;

    if (d == NULL && alq_domain_new(&config, &d) != ALQ_OK)
        abort();
    if (bytes > BYTES_MAX)
        return 0;
    check(d, data, bytes);
    check_data(d, data, bytes);
    if (++n % FULL_EVERY == 0 &&
        (alq_gc_full_major(d) != ALQ_OK || n_live != 0))
        abort();
    if (alq_status_of(d) != ALQ_OK)
        abort();
    return 0;
}
