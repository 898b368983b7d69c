/* encode.c -- a value to a message
 *
 * A loop over values: a code, then, of a block with fields, the range of its
 * fields is pushed; a range leaves the stack with its last field, so a list of
 * any length takes one entry.  A block met again is written as a reference
 * (visited.h).  The first failure stays in `out`.
 *
 * Keeps .inv.flat; runs without a collection (_nogc), so addresses are keys. */
#include <stdlib.h>
#include <string.h>

#include "heap/stop.h"
#include "marshal/encode.h"
#include "marshal/visited.h"

enum { RANGES_FIRST = 64 };

/* What a reader with words of 32 bits holds. */
enum {
    INT_MAX_32 = (1 << 30) - 1,
    WOSIZE_MAX_32 = (1 << 22) - 1,
    STRING_MAX_32 = 4 * WOSIZE_MAX_32 - 1,
    DOUBLES_MAX_32 = WOSIZE_MAX_32 / 2
};

/* Fields that are still to be written. */
struct field_range {
    const alqi_heap_word *next;
    const alqi_heap_word *end;
};

/* One message under way, on the caller's stack. */
struct encoder {
    struct alq_marshal_out *out;
    unsigned flags;
    uint64_t depth_max;
    struct alqi_marshal_sizes sizes; /* for the header, counted as it goes */
    struct alqi_marshal_visited visited;
    struct field_range *stack; /* `first`, or from malloc */
    size_t n_stack;
    size_t stack_size;
    struct field_range first[RANGES_FIRST];
};

/* ---- small things ------------------------------------------------------- */

static bool
fail(struct encoder *e, enum alq_status status, const char *text)
{
    return alqi_marshal_out_fail(e->out, status, text);
}

/* Adds a block, with its header, to the words that a reader takes. */
static void
count(struct encoder *e, uint64_t words_32, uint64_t words_64)
{
    e->sizes.words_32 += 1 + words_32;
    e->sizes.words_64 += 1 + words_64;
}

/* Whether n is small enough for the reader that was asked for. */
static bool
fits(struct encoder *e, uint64_t n, uint64_t max_32, const char *text)
{
    return (e->flags & ALQ_MARSHAL_COMPAT_32) == 0 || n <= max_32 ||
           fail(e, ALQ_ENOTSUP, text);
}

/* An integer, in the first form that fits. */
static bool
int_put(struct encoder *e, intptr_t n)
{
    struct alq_marshal_out *out = e->out;

    if (n >= 0 && n < 0x40)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_SMALL_INT + (unsigned)n,
                                     0, 0);
    if (n >= INT8_MIN && n <= INT8_MAX)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_INT8, (uint64_t)n, 1);
    if (n >= INT16_MIN && n <= INT16_MAX)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_INT16, (uint64_t)n, 2);
    if (n >= -INT_MAX_32 - 1 && n <= INT_MAX_32)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_INT32, (uint64_t)n, 4);
    return fits(e, UINT64_MAX, 0, "an integer is too large for 32 bits") &&
           alqi_marshal_out_code(out, ALQI_MARSHAL_INT64, (uint64_t)n, 8);
}

/* A reference to the block that is so many objects back. */
static bool
shared_put(struct encoder *e, uint64_t back)
{
    struct alq_marshal_out *out = e->out;

    if (back <= UINT8_MAX)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_SHARED8, back, 1);
    if (back <= UINT16_MAX)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_SHARED16, back, 2);
    if (back <= UINT32_MAX)
        return alqi_marshal_out_code(out, ALQI_MARSHAL_SHARED32, back, 4);
    return alqi_marshal_out_code(out, ALQI_MARSHAL_SHARED64, back, 8);
}

/* ---- blocks of bytes ---------------------------------------------------- */

/* A string, in the first form that fits. */
static bool
string_put(struct encoder *e, alq_value v)
{
    struct alq_marshal_out *out = e->out;
    size_t n = alq_string_bytes(v);
    bool is_put;

    if (!fits(e, n, STRING_MAX_32, "a string is too long for 32 bits"))
        return false;
    if (n < 0x20)
        is_put = alqi_marshal_out_code(
            out, ALQI_MARSHAL_SMALL_STRING + (unsigned)n, 0, 0);
    else if (n <= UINT8_MAX)
        is_put = alqi_marshal_out_code(out, ALQI_MARSHAL_STRING8, n, 1);
    else if (n <= UINT32_MAX)
        is_put = alqi_marshal_out_code(out, ALQI_MARSHAL_STRING32, n, 4);
    else
        is_put = alqi_marshal_out_code(out, ALQI_MARSHAL_STRING64, n, 8);
    count(e, n / 4 + 1, n / 8 + 1);
    return is_put && alqi_marshal_out_bytes(out, alq_string_chars(v), n);
}

static bool
double_put(struct encoder *e, alq_value v)
{
    count(e, 2, 1);
    return alqi_marshal_out_code(e->out, ALQI_MARSHAL_DOUBLE_LITTLE, 0, 0) &&
           alqi_marshal_out_bytes(e->out, (const void *)v, sizeof(double));
}

/* A double array, in the first form that fits. */
static bool
doubles_put(struct encoder *e, alq_value v, uint64_t n)
{
    struct alq_marshal_out *out = e->out;
    bool is_put;

    if (!fits(e, n, DOUBLES_MAX_32, "a double array is too long for 32 bits"))
        return false;
    if (n <= UINT8_MAX)
        is_put = alqi_marshal_out_code(out, ALQI_MARSHAL_DOUBLES8_LITTLE, n, 1);
    else if (n <= UINT32_MAX)
        is_put =
            alqi_marshal_out_code(out, ALQI_MARSHAL_DOUBLES32_LITTLE, n, 4);
    else
        is_put =
            alqi_marshal_out_code(out, ALQI_MARSHAL_DOUBLES64_LITTLE, n, 8);
    count(e, 2 * n, n);
    return is_put &&
           alqi_marshal_out_bytes(out, (const void *)v, n * sizeof(double));
}

/* ---- custom blocks ------------------------------------------------------ */

enum { SIZES_BYTES = 12 }; /* u32 and u64 behind the name of a sized kind */

/* The block's own bytes, by its kind's serialise, which fills *size.  A failure
 * of the writer below it counts, too. */
static bool
custom_data_put(struct encoder *e, alq_value v, struct alq_custom_size *size)
{
    const struct alq_custom_ops *ops = alq_custom_ops_of(v);
    enum alq_status status = ops->serialise(e->out, v, size);

    if (status != ALQ_OK)
        return fail(e, status, "a custom block's serialise failed");
    return e->out->status == ALQ_OK;
}

/* The sizes are known when the data are written. */
static bool
custom_sized_put(struct encoder *e, alq_value v, struct alq_custom_size *size)
{
    static const unsigned char zeros[SIZES_BYTES];
    struct alq_marshal_out *out = e->out;
    size_t at;

    if (!alqi_marshal_out_bytes(out, zeros, sizeof zeros))
        return false;
    at = (size_t)(out->at - out->start);
    if (!custom_data_put(e, v, size))
        return false;
    if (size->bytes_32 > UINT32_MAX &&
        !fits(e, UINT64_MAX, 0, "a custom block is too large for 32 bits"))
        return false;
    if (out->mode != ALQI_MARSHAL_COUNT) {
        alqi_marshal_store(out->start + at - 12, size->bytes_32, 4);
        alqi_marshal_store(out->start + at - 8, size->bytes_64, 8);
    }
    return true;
}

/* A custom block: its kind's name, its sizes if they vary, its data. */
static bool
custom_put(struct encoder *e, alq_value v, uint64_t wosize)
{
    const struct alq_custom_ops *ops = alq_custom_ops_of(v);
    uint64_t bytes = (wosize - 1) * ALQ_WORD_BYTES;
    struct alq_custom_size size = {bytes, bytes};
    bool is_put;

    if (ops->serialise == NULL || ops->name == NULL)
        return fail(e, ALQ_ENOTSUP, "a custom block without serialise");
    if (!alqi_marshal_out_code(e->out,
                               ops->fixed != NULL ? ALQI_MARSHAL_CUSTOM_FIXED
                                                  : ALQI_MARSHAL_CUSTOM_SIZED,
                               0, 0) ||
        !alqi_marshal_out_bytes(e->out, ops->name, strlen(ops->name) + 1))
        return false;
    is_put = ops->fixed != NULL ? custom_data_put(e, v, &size)
                                : custom_sized_put(e, v, &size);
    if (ops->fixed != NULL)
        size = *ops->fixed;
    count(e, 1 + (size.bytes_32 + 3) / 4, 1 + (size.bytes_64 + 7) / 8);
    return is_put;
}

/* ---- blocks of values --------------------------------------------------- */

/* Doubles the stack of blocks whose fields are still to be written; the first
 * one is in the encoder itself. */
static ALQI_NOINLINE bool
stack_grow(struct encoder *e)
{
    size_t size = 2 * e->stack_size;
    struct field_range *stack =
        realloc(e->stack == e->first ? NULL : e->stack, size * sizeof *stack);

    if (stack == NULL)
        return fail(e, ALQ_ENOMEM, "no memory for the stack of blocks");
    if (e->stack == e->first)
        memcpy(stack, e->first, sizeof e->first);
    e->stack = stack;
    e->stack_size = size;
    return true;
}

/* Notes fields to be written.  A list's depth is bounded by limit_depth, not by
 * the C stack. */
static bool
push(struct encoder *e, const alqi_heap_word *next, const alqi_heap_word *end)
{
    if (e->n_stack >= e->depth_max)
        return fail(e, ALQ_ETOOBIG, "limit_depth is passed");
    if (e->n_stack == e->stack_size && !stack_grow(e))
        return false;
    e->stack[e->n_stack++] = (struct field_range){next, end};
    return true;
}

/* A block's header, in the first form that fits. */
static bool
header_put(struct encoder *e, uint64_t wosize, unsigned tag)
{
    uint64_t header = ALQ_HEADER(wosize, tag);

    if (tag < 16 && wosize < 8)
        return alqi_marshal_out_code(
            e->out, ALQI_MARSHAL_SMALL_BLOCK + (unsigned)(wosize << 4) + tag, 0,
            0);
    if (!fits(e, wosize, WOSIZE_MAX_32, "a block is too large for 32 bits"))
        return false;
    if (header <= UINT32_MAX)
        return alqi_marshal_out_code(e->out, ALQI_MARSHAL_BLOCK32, header, 4);
    return alqi_marshal_out_code(e->out, ALQI_MARSHAL_BLOCK64, header, 8);
}

/* A block of values: its header now, its fields as soon as it is the innermost
 * open block. */
static bool
fields_put(struct encoder *e, alq_value v, uint64_t wosize, unsigned tag)
{
    const alqi_heap_word *fields = (const alqi_heap_word *)v;

    if (alqi_marshal_is_code(tag))
        return fail(e, ALQ_ENOTSUP, "a closure");
    count(e, wosize, wosize);
    return header_put(e, wosize, tag) && push(e, fields, fields + wosize);
}

/* ---- values ------------------------------------------------------------- */

/* Whether the block was met before; then it is written. */
static bool
is_visited(struct encoder *e, alq_value v)
{
    uint64_t back;

    if ((e->flags & ALQ_MARSHAL_NO_SHARING) != 0)
        return false;
    switch (alqi_marshal_visited_add(&e->visited, v, &back)) {
    case ALQI_MARSHAL_NEW:
        return false;
    case ALQI_MARSHAL_VISITED:
        shared_put(e, back);
        return true;
    case ALQI_MARSHAL_NO_MEMORY:
        break;
    }
    fail(e, ALQ_ENOMEM, "no memory for the table of blocks");
    return true;
}

/* A block, or a reference to it. */
static bool
block_put(struct encoder *e, alq_value v)
{
    uintptr_t header = alqi_heap_header(v);
    uint64_t wosize = header >> ALQ_WOSIZE_SHIFT;
    unsigned tag = (unsigned)(header & 0xFF);

    if (wosize == 0)
        return header_put(e, 0, tag);
    if (is_visited(e, v))
        return e->out->status == ALQ_OK;
    switch (tag) {
    case ALQ_TAG_ABSTRACT:
        return fail(e, ALQ_ENOTSUP, "an abstract block");
    case ALQ_TAG_STRING:
        return string_put(e, v);
    case ALQ_TAG_DOUBLE:
        return double_put(e, v);
    case ALQ_TAG_DOUBLE_ARRAY:
        return doubles_put(e, v, wosize);
    case ALQ_TAG_CUSTOM:
        return custom_put(e, v, wosize);
    default:
        return fields_put(e, v, wosize, tag);
    }
}

static bool
value_put(struct encoder *e, alq_value v)
{
    if (alq_is_int(v))
        return int_put(e, alq_to_int(v));
    if (v == ALQ_NULL)
        return fail(e, ALQ_EINVAL, "ALQ_NULL, which is no value");
    return block_put(e, v);
}

/* The value, then fields until no range is left. */
static void
all_put(struct encoder *e, alq_value v)
{
    bool is_put = value_put(e, v);

    while (is_put && e->n_stack > 0) {
        struct field_range *range = &e->stack[e->n_stack - 1];

        v = __atomic_load_n(range->next++, ALQI_HEAP_DEPENDS);
        if (range->next == range->end)
            e->n_stack--; /* so a list does not pile up */
        is_put = value_put(e, v);
    }
}

bool
alqi_marshal_encode_nogc(alq_value v, const struct alq_marshal_options *options,
                         struct alq_marshal_out *out)
{
    bool is_inner = alqi_heap_nogc_begin();
    struct encoder e;

    e.out = out;
    e.flags = options->flags;
    e.depth_max = options->limit_depth == 0 ? UINT64_MAX : options->limit_depth;
    e.sizes = (struct alqi_marshal_sizes){0};
    alqi_marshal_visited_open(&e.visited);
    e.stack = e.first;
    e.n_stack = 0;
    e.stack_size = RANGES_FIRST;
    if (out->status == ALQ_OK)
        all_put(&e, v);
    e.sizes.objects = e.visited.n;
    alqi_marshal_visited_close(&e.visited);
    if (e.stack != e.first)
        free(e.stack);
    e.sizes.data_bytes = alqi_marshal_out_total(out) - ALQ_MARSHAL_HEADER_BYTES;
    if (alqi_marshal_header_is_big(&e.sizes))
        fits(&e, UINT64_MAX, 0, "the message is too large for 32 bits");
    alqi_heap_nogc_end(is_inner);
    return out->status == ALQ_OK && alqi_marshal_out_finish(out, &e.sizes);
}
