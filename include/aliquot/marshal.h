/* marshal.h -- values to bytes and back                  [OCaml Marshal]
 *
 * A message is one value with all that it leads to, shared parts and cycles
 * included, in the format of OCaml's module Marshal (doc/design/marshal.md): an
 * OCaml program reads what is written here, and the other way round.  The
 * format says nothing about types; a reader checks what it gets as it would any
 * input.
 *
 * Bytes may come from anybody.  What is damaged or hostile gets a status.
 * While it is read a message takes at most 80 bytes of memory for each of its
 * own, and 64 KiB, whatever it claims, and no more C stack than any other.
 *
 * Written are integers, blocks of tags 0 to 246, 248 and 250, strings, doubles,
 * double arrays, and custom blocks whose kind can be written.  Not written, and
 * refused when they are read: closures (tags 247, 249), abstract blocks,
 * ALQ_NULL. */
#ifndef ALIQUOT_MARSHAL_H
#define ALIQUOT_MARSHAL_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call failed: `text` is English and static, `at` counts bytes from the
 * start of the message, or, of a call that writes, of what was written. */
struct alq_marshal_fault {
    const char *text;
    uint64_t at;
};

/* ---- to bytes ----------------------------------------------------------- */

enum {
    /* A block that two fields hold is written twice; no table of blocks is
     * kept.  A value with a cycle then has no end but limit_bytes. */
    ALQ_MARSHAL_NO_SHARING = 1,
    /* Only what a reader with words of 32 bits can hold. */
    ALQ_MARSHAL_COMPAT_32 = 4
};

/* What limit_bytes is without sharing when it is 0: 1 GiB. */
#define ALQ_MARSHAL_NO_SHARING_BYTES ((uint64_t)1 << 30)

/* All zeros, or NULL instead of one: the defaults. */
struct alq_marshal_options {
    unsigned flags;
    uint64_t limit_bytes; /* of the message, with its header; 0: none      */
    uint64_t limit_depth; /* blocks begun whose last field is not reached:
                             a long list is flat; 0: none                  */
    struct alq_marshal_fault *fault; /* written if the call fails; or NULL */
};

/* alq_marshal_size -- how many bytes the message of a value has
 *
 * Nothing is written; it takes about as long as writing.
 *
 * options  NULL: the defaults.
 * out      Receives the number of bytes, header included.
 *
 * Errors   ALQ_EINVAL   d or out is NULL, unknown flags, or a value in it is
 *                       ALQ_NULL
 *          ALQ_ENOTSUP  it holds what has no form in bytes
 *          ALQ_ETOOBIG  a limit of the options is passed
 *          ALQ_ENOMEM   no memory for the table of blocks
 *          and what the serialise of a custom block returned.
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status
alq_marshal_size(struct alq_domain *d, alq_value v,
                 const struct alq_marshal_options *options, uint64_t *out);

/* alq_marshal_to_buffer -- writes the message of a value to memory of the
 * caller
 *
 * options  NULL: the defaults.
 * buffer   Outside the heap; when the call fails it holds anything.
 * bytes    Its size.
 * out      Receives the number of bytes written.
 *
 * Errors   ALQ_ETOOBIG  also: the buffer is too small
 *          ALQ_EINVAL   also: buffer is NULL
 *          and those of alq_marshal_size.
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status
alq_marshal_to_buffer(struct alq_domain *d, alq_value v,
                      const struct alq_marshal_options *options, void *buffer,
                      size_t bytes, size_t *out);

/* alq_marshal_to_memory -- writes the message of a value to memory of its own
 *
 * options  NULL: the defaults.
 * out      Receives the message; the caller frees it, by free.
 * bytes    Receives its size.
 *
 * Errors   Those of alq_marshal_size.
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status
alq_marshal_to_memory(struct alq_domain *d, alq_value v,
                      const struct alq_marshal_options *options, void **out,
                      size_t *bytes);

/* Takes bytes of a message, in their order.  What it returns but ALQ_OK ends
 * the call and is its result. */
typedef enum alq_status alq_marshal_write_fn(void *arg, const void *bytes,
                                             size_t n);

/* alq_marshal_write -- hands the message of a value to a function
 *
 * The message is made first, in memory, since its header says how long it is.
 * Then `write` is called, in pieces of at most 1 MiB; it may call the heap.
 *
 * options  NULL: the defaults.
 * write    Takes the bytes; not called when the value cannot be written.
 *
 * Errors   ALQ_EINVAL   also: write is NULL
 *          and those of alq_marshal_size, and what write returned.
 * Threads  The domain's.
 * GC       Does not collect, unless write does. */
ALQ_API enum alq_status
alq_marshal_write(struct alq_domain *d, alq_value v,
                  const struct alq_marshal_options *options,
                  alq_marshal_write_fn *write, void *arg);

/* ---- headers ------------------------------------------------------------ */

enum {
    ALQ_MARSHAL_HEADER_BYTES = 20, /* but of a message of 4 GiB and more */
    ALQ_MARSHAL_HEADER_BYTES_MAX = 32
};

/* What a message says of itself; none of it is to be believed. */
struct alq_marshal_header {
    unsigned header_bytes; /* 20 or 32                                     */
    uint64_t data_bytes;   /* behind the header                            */
    uint64_t objects;      /* blocks that it makes; 0: not shared          */
    uint64_t heap_words;   /* that it makes on 64 bits, with block headers */
};

/* alq_marshal_header_read -- reads the header of a message
 *
 * A message has header_bytes + data_bytes in all.
 *
 * bytes    The start of a message.
 * n        How many bytes are there; 20 will do, or 32 for a header that says
 *          so: then ALQ_EINVAL, and header_bytes alone is set.
 *
 * Errors   ALQ_EINVAL   bytes or out is NULL, or there are fewer bytes than
 *                       the header has
 *          ALQ_EFORMAT  not a message
 *          ALQ_ENOTSUP  a compressed message, which OCaml 5.1 and later write
 *                       when they are asked to
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_marshal_header_read(const void *bytes, size_t n,
                                                struct alq_marshal_header *out);

/* ---- from bytes --------------------------------------------------------- */

/* All zeros, or NULL instead of one: the defaults. */
struct alq_unmarshal_options {
    uint64_t limit_bytes;      /* of the message, with its header; 0: none */
    uint64_t limit_objects;    /* blocks that it makes; 0: none            */
    uint64_t limit_heap_words; /* that they take, with headers; 0: four for
                                  each byte of the message, and 1024.  Only
                                  custom blocks ever need more             */
    uint64_t limit_depth;      /* as for writing; 0: none                  */
    /* Kinds of custom blocks to be read, ending in NULL; or NULL.  Those
     * below are read in any case. */
    const struct alq_custom_ops *const *kinds;
    struct alq_marshal_fault *fault; /* written if the call fails; or NULL */
};

/* alq_unmarshal -- reads one message from memory
 *
 * A small message (heap_words at most 257) becomes young blocks.  Of a larger
 * one each block is made in the major heap, and collections go on meanwhile.
 *
 * bytes    Outside the heap; may go on behind the message.
 * n        How many are there.
 * options  NULL: the defaults.
 * used     Receives the size of the message; may be NULL.
 * out      Receives the value; ALQ_NULL when the call fails.  Not read before
 *          the call returns, so it need be no root.
 *
 * Errors   ALQ_EINVAL   d, bytes or out is NULL
 *          ALQ_EFORMAT  damaged, cut short, or not a message
 *          ALQ_ENOTSUP  it holds closures, a custom block of a kind that is not
 *                       in options->kinds, or is compressed
 *          ALQ_ETOOBIG  a limit of the options is passed
 *          ALQ_ENOMEM   no memory, or the heap's limit; it stays in the domain,
 *                       too, as with any allocation
 *          ALQ_ELIMIT   a limit of the task that reads it (limit.h), which is
 *                       asked for heap_words before anything is made, or, of
 *                       alq_unmarshal_read, read behind the header; likewise
 *          and what the deserialise of a custom block returned.
 *          Blocks made until then are garbage.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API enum alq_status
alq_unmarshal(struct alq_domain *d, const void *bytes, size_t n,
              const struct alq_unmarshal_options *options, size_t *used,
              alq_value *out);

/* Stores the next n bytes, all of them, or returns something but ALQ_OK, which
 * ends the call and is its result. */
typedef enum alq_status alq_unmarshal_read_fn(void *arg, void *bytes, size_t n);

/* alq_unmarshal_read -- reads one message by a function
 *
 * It is asked for the header, then for the rest, and for no byte behind the
 * message.  Memory for the rest is taken as it comes: a header that claims much
 * costs nothing.
 *
 * read     Gives the bytes; it may call the heap.
 * options  NULL: the defaults.
 * out      As for alq_unmarshal.
 *
 * Errors   ALQ_EINVAL   d, read or out is NULL
 *          and those of alq_unmarshal, and what read returned.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API enum alq_status
alq_unmarshal_read(struct alq_domain *d, alq_unmarshal_read_fn *read, void *arg,
                   const struct alq_unmarshal_options *options, alq_value *out);

/* ---- custom blocks ------------------------------------------------------ */

/* How much data of a custom block has in memory, without header and ops. */
struct alq_custom_size {
    uint64_t bytes_32; /* with words of 32 bits */
    uint64_t bytes_64;
};

/* alq_marshal_put -- writes bytes of a custom block, from its serialise
 *
 * Failures are kept and end the call that writes.
 *
 * Threads  That of serialise.
 * GC       No effect. */
ALQ_API void alq_marshal_put(struct alq_marshal_out *out, const void *bytes,
                             size_t n);

/* alq_marshal_get -- reads bytes of a custom block, in its deserialise
 *
 * If so many are not left the message is damaged: `bytes` are zeros, and the
 * call that reads fails whatever deserialise returns.
 *
 * Threads  That of deserialise.
 * GC       No effect. */
ALQ_API void alq_marshal_get(struct alq_marshal_in *in, void *bytes, size_t n);

/* alq_marshal_left -- bytes of the message that are not read, in a deserialise
 *
 * Returns  An upper bound for what the block itself may read: ask it before a
 *          loop over a count that the message gave.
 * Threads  That of deserialise.
 * GC       No effect. */
ALQ_API size_t alq_marshal_left(const struct alq_marshal_in *in);

/* Numbers are big-endian. */
static inline void
alq_marshal_put_number(struct alq_marshal_out *out, uint64_t number, unsigned n)
{
    unsigned char bytes[8];
    unsigned i;

    for (i = 0; i < n; i++)
        bytes[i] = (unsigned char)(number >> (8 * (n - 1 - i)));
    alq_marshal_put(out, bytes, n);
}

static inline uint64_t
alq_marshal_get_number(struct alq_marshal_in *in, unsigned n)
{
    unsigned char bytes[8];
    uint64_t number = 0;
    unsigned i;

    alq_marshal_get(in, bytes, n);
    for (i = 0; i < n; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* alq_int32_ops -- OCaml's int32: alq_custom_data leads to an int32_t
 *
 * Threads  Any.
 * GC       No effect. */
extern ALQ_API const struct alq_custom_ops alq_int32_ops;

/* alq_int64_ops -- OCaml's int64: alq_custom_data leads to an int64_t
 *
 * Threads  Any.
 * GC       No effect. */
extern ALQ_API const struct alq_custom_ops alq_int64_ops;

/* alq_nativeint_ops -- OCaml's nativeint: alq_custom_data leads to an int64_t
 *
 * Threads  Any.
 * GC       No effect. */
extern ALQ_API const struct alq_custom_ops alq_nativeint_ops;

#ifdef __cplusplus
}
#endif
#endif
