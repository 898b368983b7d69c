/* value.h -- values: how a word of the managed heap is read  [OCaml's form]
 *
 * A value is one word.  Its last bit tells integers, 2n + 1, from pointers.
 * A pointer leads to the first field of a block, behind the block's header:
 *
 *      63                    10 9      8 7       0
 *     +------------------------+--------+---------+---------+--------
 *     |  wosize: words behind  | colour |   tag   | field 0 | field 1 ...
 *     +------------------------+--------+---------+---------+--------
 *                                                 ^ the value points here
 *
 * Fields of a block whose tag is below ALQ_TAG_NO_SCAN are values: each is an
 * integer, a block, or ALQ_NULL.  Those of other blocks are bytes that the
 * collector copies and never reads.  Colours are the collector's own.
 *
 * Nothing here checks its arguments, allocates, collects, or has an effect on
 * the collector; all of it may be used on any thread that may read the block.
 * A block moves: a pointer is good until the next allocation or poll, unless it
 * stands in a root (heap.h). */
#ifndef ALIQUOT_VALUE_H
#define ALIQUOT_VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <aliquot/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value is a bare word, which C converts to an integer without a word.  If
 * ALQ_STRICT_VALUES is defined it is a struct of one word, and a value in the
 * place of an integer or of a size is an error.  Both are passed alike: one
 * library serves both, and a program may compile some of its files strictly.
 *
 * ALQ_VALUE   a value of the bits of one
 * alq_bits    the bits of a value */
#ifdef ALQ_STRICT_VALUES
typedef struct alq_value {
    uintptr_t bits;
} alq_value;

#ifdef __cplusplus
#define ALQ_VALUE(word) (alq_value{(uintptr_t)(word)})
#else
#define ALQ_VALUE(word) ((alq_value){(uintptr_t)(word)})
#endif

static inline uintptr_t
alq_bits(alq_value v)
{
    return v.bits;
}
#else
typedef uintptr_t alq_value;

#define ALQ_VALUE(word) ((alq_value)(word))

static inline uintptr_t
alq_bits(alq_value v)
{
    return v;
}
#endif

/* No value: what a failed allocation returns.  Roots and fields may hold it. */
#define ALQ_NULL ALQ_VALUE(0)

/* The integer 0, also false, the empty list, the unit. */
#define ALQ_UNIT ALQ_VALUE(1)

static inline int
alq_is_null(alq_value v)
{
    return alq_bits(v) == 0;
}

/* Whether both are the same integer, the same block, or both ALQ_NULL. */
static inline int
alq_is_same(alq_value a, alq_value b)
{
    return alq_bits(a) == alq_bits(b);
}

/* Where the fields of a block are.  The collector reads and moves them: write
 * them by alq_store, alq_init or alq_init_small alone (heap.h). */
static inline alq_value *
alq_fields(alq_value block)
{
    return (alq_value *)alq_bits(block);
}

enum {
    ALQ_WORD_BYTES = 8,
    ALQ_WOSIZE_SHIFT = 10,
    ALQ_COLOUR_SHIFT = 8,
    ALQ_SMALL_WOSIZE_MAX = 256 /* larger blocks are born in the major heap */
};

/* Tags 0 to 245 are the program's.  Tags 246 to 250 are OCaml's (lazy values,
 * closures, objects); here they are scanned like those below. */
enum {
    ALQ_TAG_NO_SCAN = 251, /* this tag and those above: fields are bytes */
    ALQ_TAG_ABSTRACT = 251,
    ALQ_TAG_STRING = 252,
    ALQ_TAG_DOUBLE = 253,
    ALQ_TAG_DOUBLE_ARRAY = 254,
    ALQ_TAG_CUSTOM = 255
};

#define ALQ_WOSIZE_MAX (((uintptr_t)1 << 54) - 1)

/* A header of colour 0. */
#define ALQ_HEADER(wosize, tag)                                                \
    (((uintptr_t)(wosize) << ALQ_WOSIZE_SHIFT) | (uintptr_t)(tag))

/* ---- integers ----------------------------------------------------------- */

static inline int
alq_is_int(alq_value v)
{
    return (int)(alq_bits(v) & 1);
}

/* Neither an integer nor ALQ_NULL. */
static inline int
alq_is_block(alq_value v)
{
    return !alq_is_int(v) && !alq_is_null(v);
}

/* Of n the low 63 bits are kept. */
static inline alq_value
alq_from_int(intptr_t n)
{
    return ALQ_VALUE(((uintptr_t)n << 1) | 1);
}

static inline intptr_t
alq_to_int(alq_value v)
{
    return (intptr_t)alq_bits(v) >> 1;
}

/* An even address outside the heap, as an integer that the collector leaves
 * alone; alq_to_address gives it back. */
static inline alq_value
alq_from_address(const void *even)
{
    return ALQ_VALUE((uintptr_t)even + 1);
}

static inline void *
alq_to_address(alq_value v)
{
    return (void *)(alq_bits(v) - 1);
}

/* ---- blocks ------------------------------------------------------------- */

static inline uintptr_t
alq_header(alq_value block)
{
    /* Another domain may be marking the block. */
    return __atomic_load_n((const uintptr_t *)alq_bits(block) - 1,
                           __ATOMIC_RELAXED);
}

static inline uintptr_t
alq_wosize(alq_value block)
{
    return alq_header(block) >> ALQ_WOSIZE_SHIFT;
}

static inline unsigned
alq_tag(alq_value block)
{
    return (unsigned)(alq_header(block) & 0xFF);
}

/* Whether block is one, with this tag. */
static inline int
alq_has_tag(alq_value v, unsigned tag)
{
    return alq_is_block(v) && alq_tag(v) == tag;
}

static inline alq_value
alq_field(alq_value block, uintptr_t i)
{
    return alq_fields(block)[i];
}

/* ---- bytes -------------------------------------------------------------- */

/* Words of a string of `bytes`: one byte at least is left over, the last of
 * them says how many others are.  So each string ends in a 0 that is not
 * counted, unless it has zeros of its own a C string. */
static inline uintptr_t
alq_string_wosize(size_t bytes)
{
    return bytes / ALQ_WORD_BYTES + 1;
}

static inline size_t
alq_string_bytes(alq_value string)
{
    size_t last = alq_wosize(string) * ALQ_WORD_BYTES - 1;

    return last - ((const unsigned char *)alq_bits(string))[last];
}

static inline char *
alq_string_chars(alq_value string)
{
    return (char *)alq_bits(string);
}

/* Marks the end of a new string, whose bytes are not written yet. */
static inline void
alq_string_seal(alq_value string, size_t bytes)
{
    uintptr_t words = alq_string_wosize(bytes);
    uintptr_t left_over = words * ALQ_WORD_BYTES - 1 - bytes;

    ((uintptr_t *)alq_bits(string))[words - 1] = left_over
                                                 << 56; /* little-endian */
}

/* ---- doubles ------------------------------------------------------------ */

/* Element i of a double array; of a double, its element 0. */
static inline double
alq_double(alq_value block, uintptr_t i)
{
    double d;

    memcpy(&d, (const char *)alq_bits(block) + i * sizeof d, sizeof d);
    return d;
}

static inline void
alq_double_set(alq_value block, uintptr_t i, double d)
{
    memcpy((char *)alq_bits(block) + i * sizeof d, &d, sizeof d);
}

/* ---- custom blocks ------------------------------------------------------ */

struct alq_marshal_out;
struct alq_marshal_in;
struct alq_custom_size;

/* What a kind of custom block can do.  Static; must outlive its blocks.  What
 * is not set is NULL: the kind cannot do it.
 *
 * finalise  Called once for each block that has died, at the end of the minor
 *           collection or in the sweep that finds it, or when the heap is
 *           dropped.  It may read and write the block's bytes and must not
 *           call the heap in any way.
 *
 * The others are for marshal.h; they must not call the heap either, and what
 * they return but ALQ_OK becomes the result of the call.
 *
 * serialise    Writes the block's data by alq_marshal_put.  *size holds the
 *              size of its data in memory, for both kinds of words, and may be
 *              corrected.
 * deserialise  Reads by alq_marshal_get what serialise wrote, all of it, into
 *              `data`, of `bytes` zero bytes.  If it fails the block dies, and
 *              finalise sees what is in it then.
 * fixed        The size, if it is the same for all blocks of the kind. */
struct alq_custom_ops {
    const char *name; /* unlike any other kind's; stands in messages, too */
    void (*finalise)(alq_value block);
    enum alq_status (*serialise)(struct alq_marshal_out *out, alq_value block,
                                 struct alq_custom_size *size);
    enum alq_status (*deserialise)(struct alq_marshal_in *in, void *data,
                                   size_t bytes);
    const struct alq_custom_size *fixed;
};

/* Field 0 of a custom block; the program's bytes begin at field 1. */
static inline const struct alq_custom_ops *
alq_custom_ops_of(alq_value block)
{
    return (const struct alq_custom_ops *)alq_bits(alq_field(block, 0));
}

static inline void *
alq_custom_data(alq_value block)
{
    return (char *)alq_bits(block) + ALQ_WORD_BYTES;
}

#ifdef __cplusplus
}
#endif
#endif
