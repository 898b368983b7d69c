/* marshal.c -- <aliquot/marshal.h>: values to bytes and back, arguments checked
 *
 * To bytes: a sink (count, buffer or memory) is begun, encode() fills it, a
 * fault is told. From bytes: the header is read, the task is asked for the
 * words that the message needs (ask), then the data are decoded. A message that
 * comes by a function is gathered first (reader), as decoding may not be
 * interrupted. */
#include <stdlib.h>

#include <aliquot/marshal.h>

#include "heap/alloc.h"
#include "marshal/decode.h"
#include "marshal/encode.h"
#include "marshal/header.h"

enum { PIECE_BYTES = 1 << 20, READ_FIRST_BYTES = 1 << 16 };

/* ---- to bytes ----------------------------------------------------------- */

static const struct alq_marshal_options plain;

/* Whether only flags that are known are set. */
static bool
is_right(const struct alq_marshal_options *o)
{
    const unsigned known = ALQ_MARSHAL_NO_SHARING | ALQ_MARSHAL_COMPAT_32;

    return (o->flags & ~known) == 0;
}

/* Without sharing a value that refers to itself has no end, so there is always
 * a limit. */
static uint64_t
limit_bytes(const struct alq_marshal_options *o)
{
    if (o->limit_bytes != 0)
        return o->limit_bytes;
    return (o->flags & ALQ_MARSHAL_NO_SHARING) != 0
               ? ALQ_MARSHAL_NO_SHARING_BYTES
               : UINT64_MAX;
}

/* Writes to `out`, which was begun; says in the options why it failed. */
static enum alq_status
encode(alq_value v, const struct alq_marshal_options *o,
       struct alq_marshal_out *out)
{
    if (alqi_marshal_encode_nogc(v, o, out))
        return ALQ_OK;
    if (o->fault != NULL)
        *o->fault =
            (struct alq_marshal_fault){out->text, alqi_marshal_out_total(out)};
    return out->status;
}

/* Encodes into a sink that only counts. */
enum alq_status
alq_marshal_size(struct alq_domain *d, alq_value v,
                 const struct alq_marshal_options *options, uint64_t *size)
{
    struct alq_marshal_out out;
    enum alq_status status;

    options = options != NULL ? options : &plain;
    if (d == NULL || size == NULL || !is_right(options))
        return ALQ_EINVAL;
    alqi_marshal_out_count(&out, limit_bytes(options));
    status = encode(v, options, &out);
    if (status == ALQ_OK)
        *size = alqi_marshal_out_total(&out);
    return status;
}

/* A buffer that is too small is an error, and its bytes are undefined. */
enum alq_status
alq_marshal_to_buffer(struct alq_domain *d, alq_value v,
                      const struct alq_marshal_options *options, void *buffer,
                      size_t bytes, size_t *size)
{
    struct alq_marshal_out out;
    enum alq_status status;

    options = options != NULL ? options : &plain;
    if (d == NULL || buffer == NULL || size == NULL || !is_right(options))
        return ALQ_EINVAL;
    alqi_marshal_out_buffer(&out, limit_bytes(options), buffer, bytes);
    status = encode(v, options, &out);
    if (status == ALQ_OK)
        *size = (size_t)alqi_marshal_out_total(&out);
    return status;
}

/* On failure what was written is freed; on success the memory is the
 * caller's. */
enum alq_status
alq_marshal_to_memory(struct alq_domain *d, alq_value v,
                      const struct alq_marshal_options *options, void **memory,
                      size_t *bytes)
{
    struct alq_marshal_out out;
    enum alq_status status;

    options = options != NULL ? options : &plain;
    if (d == NULL || memory == NULL || bytes == NULL || !is_right(options))
        return ALQ_EINVAL;
    alqi_marshal_out_memory(&out, limit_bytes(options));
    status = encode(v, options, &out);
    if (status != ALQ_OK) {
        free(out.start);
        return status;
    }
    *memory = out.start;
    *bytes = (size_t)alqi_marshal_out_total(&out);
    return ALQ_OK;
}

/* The message is made whole first: the function may allocate, and so move what
 * is encoded. */
enum alq_status
alq_marshal_write(struct alq_domain *d, alq_value v,
                  const struct alq_marshal_options *options,
                  alq_marshal_write_fn *write, void *arg)
{
    enum alq_status status;
    size_t bytes, at, n;
    void *memory;

    if (write == NULL)
        return ALQ_EINVAL;
    status = alq_marshal_to_memory(d, v, options, &memory, &bytes);
    if (status != ALQ_OK)
        return status;
    for (at = 0; at < bytes && status == ALQ_OK; at += n) {
        n = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        status = write(arg, (const char *)memory + at, n);
    }
    free(memory);
    return status;
}

void
alq_marshal_put(struct alq_marshal_out *out, const void *bytes, size_t n)
{
    if (out == NULL || n == 0)
        return;
    if (bytes == NULL)
        alqi_marshal_out_fail(out, ALQ_EINVAL, "alq_marshal_put of NULL");
    else
        alqi_marshal_out_bytes(out, bytes, n);
}

/* ---- from bytes --------------------------------------------------------- */

static const struct alq_unmarshal_options unlimited;

enum alq_status
alq_marshal_header_read(const void *bytes, size_t n,
                        struct alq_marshal_header *out)
{
    if (bytes == NULL || out == NULL)
        return ALQ_EINVAL;
    return alqi_marshal_header_read(bytes, n, out);
}

/* Fills the options' fault, if it is wanted, and returns status. */
static enum alq_status
fault(const struct alq_unmarshal_options *o, enum alq_status status,
      const char *text, uint64_t at)
{
    if (o->fault != NULL)
        *o->fault = (struct alq_marshal_fault){text, at};
    return status;
}

/* Reads the header from the n bytes that there are; a message that is cut
 * within it is damaged. */
static enum alq_status
header_read(const struct alq_unmarshal_options *o, const void *bytes, size_t n,
            struct alq_marshal_header *h)
{
    enum alq_status status = alqi_marshal_header_read(bytes, n, h);

    if (status == ALQ_EINVAL)
        return fault(o, ALQ_EFORMAT, "cut short", n);
    if (status == ALQ_ENOTSUP)
        return fault(o, status, "a compressed message", 0);
    if (status != ALQ_OK)
        return fault(o, status, "not a message: other first bytes", 0);
    if (o->limit_bytes != 0 &&
        (o->limit_bytes < h->header_bytes ||
         o->limit_bytes - h->header_bytes < h->data_bytes))
        return fault(o, ALQ_ETOOBIG, "limit_bytes is passed", 0);
    return ALQ_OK;
}

/* Decodes data that are there whole. */
static enum alq_status
decode(struct alq_domain *d, const void *data,
       const struct alq_marshal_header *h,
       const struct alq_unmarshal_options *o, alq_value *out)
{
    struct alq_marshal_fault why;
    enum alq_status status =
        alqi_marshal_decode(alqi_heap_domain(d), data, h, o, &why, out);

    return status == ALQ_OK ? ALQ_OK : fault(o, status, why.text, why.at);
}

/* A message that its task may not have is not begun. */
static enum alq_status
ask(struct alq_domain *d, const struct alq_marshal_header *h,
    const struct alq_unmarshal_options *o)
{
    enum alq_status status = alqi_heap_alloc_may(
        alqi_heap_domain(d), alqi_marshal_words_asked(h, o));

    return status == ALQ_OK
               ? ALQ_OK
               : fault(o, status, "the task may not allocate so much", 0);
}

/* The message may be followed by others: *used is where it ends. */
enum alq_status
alq_unmarshal(struct alq_domain *d, const void *bytes, size_t n,
              const struct alq_unmarshal_options *options, size_t *used,
              alq_value *out)
{
    struct alq_marshal_header h;
    enum alq_status status;

    options = options != NULL ? options : &unlimited;
    if (out != NULL)
        *out = ALQ_NULL;
    if (d == NULL || bytes == NULL || out == NULL)
        return ALQ_EINVAL;
    status = header_read(options, bytes, n, &h);
    if (status != ALQ_OK)
        return status;
    if (h.data_bytes > n - h.header_bytes)
        return fault(options, ALQ_EFORMAT, "cut short", n);
    status = ask(d, &h, options);
    if (status != ALQ_OK)
        return status;
    status = decode(d, (const char *)bytes + h.header_bytes, &h, options, out);
    if (status == ALQ_OK && used != NULL)
        *used = h.header_bytes + (size_t)h.data_bytes;
    return status;
}

/* ---- from a function ---------------------------------------------------- */

/* A message that a function gives piece by piece. */
struct reader {
    struct alq_domain *d;
    alq_unmarshal_read_fn *read;
    void *arg;
    /* never NULL */
    const struct alq_unmarshal_options *options;
    /* bytes read so far */
    uint64_t at;
};

/* The function gives n bytes or a status; a short read is not told apart. */
static enum alq_status
bytes_read(struct reader *r, void *to, size_t n)
{
    enum alq_status status = r->read(r->arg, to, n);

    if (status != ALQ_OK)
        return fault(r->options, status, "reading failed", r->at);
    r->at += n;
    return ALQ_OK;
}

/* The short header is read first; its first bytes tell whether the long one
 * follows. */
static enum alq_status
reader_header(struct reader *r, struct alq_marshal_header *h)
{
    unsigned char bytes[ALQ_MARSHAL_HEADER_BYTES_MAX];
    enum alq_status status = bytes_read(r, bytes, ALQ_MARSHAL_HEADER_BYTES);

    if (status != ALQ_OK)
        return status;
    if (alqi_marshal_header_read(bytes, ALQ_MARSHAL_HEADER_BYTES, h) ==
        ALQ_EINVAL)
        status = bytes_read(r, bytes + ALQ_MARSHAL_HEADER_BYTES,
                            sizeof bytes - ALQ_MARSHAL_HEADER_BYTES);
    if (status != ALQ_OK)
        return status;
    return header_read(r->options, bytes, (size_t)r->at, h);
}

/* The data, in memory that doubles as they come: a header that lies about their
 * size costs no more than twice what is there. *data is to be freed on every
 * status. */
static enum alq_status
reader_data(struct reader *r, uint64_t bytes, char **data)
{
    enum alq_status status = ALQ_OK;
    size_t n = 0, size = READ_FIRST_BYTES, step;
    char *bigger;

    for (*data = NULL; n < bytes && status == ALQ_OK; n += step) {
        size = size < bytes ? size : (size_t)bytes;
        bigger = realloc(*data, size);
        if (bigger == NULL) {
            alqi_heap_fail(alqi_heap_domain(r->d), ALQ_ENOMEM);
            return fault(r->options, ALQ_ENOMEM, "no memory for the message",
                         r->at);
        }
        *data = bigger;
        step = size - n;
        status = bytes_read(r, bigger + n, step);
        size *= 2;
    }
    return status;
}

/* The task is asked before the data are read: a message that it may not have
 * costs nothing. */
enum alq_status
alq_unmarshal_read(struct alq_domain *d, alq_unmarshal_read_fn *read, void *arg,
                   const struct alq_unmarshal_options *options, alq_value *out)
{
    struct reader r = {d, read, arg, options != NULL ? options : &unlimited, 0};
    struct alq_marshal_header h;
    enum alq_status status;
    char *data;

    if (out != NULL)
        *out = ALQ_NULL;
    if (d == NULL || read == NULL || out == NULL)
        return ALQ_EINVAL;
    status = reader_header(&r, &h);
    if (status == ALQ_OK)
        status = ask(d, &h, r.options);
    if (status != ALQ_OK)
        return status;
    status = reader_data(&r, h.data_bytes, &data);
    if (status == ALQ_OK)
        status = decode(d, data, &h, r.options, out);
    free(data);
    return status;
}

void
alq_marshal_get(struct alq_marshal_in *in, void *bytes, size_t n)
{
    if (in != NULL && bytes != NULL)
        alqi_marshal_in_bytes(in, bytes, n);
}

size_t
alq_marshal_left(const struct alq_marshal_in *in)
{
    return in == NULL ? 0 : alqi_marshal_in_left(in);
}
