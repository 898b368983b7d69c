/* decode.c -- a message to a value
 *
 *   decode --small--> done, or `again`: it is read anew as a large one
 *          --large--> done
 *   either --damage, limit, memory--> failed: the first status stays, what was
 *                                     made is garbage
 *
 * A loop over values: a code, then a block is made (`make`, the one place),
 * then its fields follow.  The innermost block that is not whole is `now`;
 * those around it stand on a stack, by number, since collections may move
 * blocks.
 *
 * Keeps .inv.claim, .inv.flat, .inv.whole and .inv.table
 * (doc/design/marshal.md). */
#include <stdlib.h>
#include <string.h>

#include "heap/alloc.h"
#include "heap/alloc_direct.h"
#include "heap/limit_trigger_check.h"
#include "heap/observe_calls.h"
#include "marshal/decode.h"
#include "marshal/kinds.h"
#include "marshal/objects.h"

enum { OPEN_FIRST = 64, WORDS_A_BYTE = 4, WORDS_MORE = 1024 };

/* The number of no object: its one field is the value. */
#define ROOT UINT64_MAX

/* A block whose fields are being read. */
struct open_block {
    uint64_t object; /* its number, or ROOT */
    uint64_t next;   /* the field that is read next */
    uint64_t n;      /* fields */
};

/* One message under way, on the caller's stack. */
struct decoder {
    struct alq_marshal_in in; /* first: a deserialise gets it */
    struct alqi_domain *d;
    const struct alq_unmarshal_options *options;
    const struct alq_marshal_header *header;
    enum alq_status status; /* the first failure, ...  */
    const char *text;       /* ... and what it was     */

    alq_value *root;     /* where the value goes */
    uint64_t values_due; /* values that must follow, at the least a byte each */
    uint64_t words_left; /* that may be made */
    uint64_t objects_max;
    uint64_t depth_max;
    uintptr_t young; /* where the next small block goes; 0: not small */
    uintptr_t young_end;
    bool again; /* not small after all */
    struct alqi_marshal_objects objects;

    struct open_block now;    /* the innermost */
    alqi_heap_word *fields;   /* of `now`; found anew after a collection */
    uint64_t n_fields;        /* of the block that was made last */
    struct open_block *stack; /* blocks around `now`; `first`, or malloc's */
    size_t n_stack;
    size_t stack_size; /* room */
    struct open_block first[OPEN_FIRST];
};

/* ---- failing ------------------------------------------------------------ */

/* The first failure stays; always ALQ_NULL. */
static alq_value
fail(struct decoder *c, enum alq_status status, const char *text)
{
    if (c->status == ALQ_OK) {
        c->status = status;
        c->text = text;
    }
    return ALQ_NULL;
}

static alq_value
damaged(struct decoder *c, const char *text)
{
    return fail(c, ALQ_EFORMAT, text);
}

static alq_value
no_memory(struct decoder *c)
{
    if (c->d->heap->life.is_lost)
        return fail(c, ALQ_ESTATE, "a forked process without its threads");
    return fail(c, ALQ_ENOMEM, "no memory in the heap");
}

/* ---- making blocks ------------------------------------------------------ */

static uint64_t
or_none(uint64_t limit)
{
    return limit == 0 ? UINT64_MAX : limit;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Words that the caller's limit, or ours, lets the message have. */
static uint64_t
words_max(const struct alq_marshal_header *h,
          const struct alq_unmarshal_options *options)
{
    uint64_t limit = options->limit_heap_words;

    if (limit == 0)
        limit = WORDS_A_BYTE * h->data_bytes + WORDS_MORE;
    return least(limit, ALQ_WOSIZE_MAX);
}

/* Whether the message is read into the minor heap. */
static bool
is_small(const struct alq_marshal_header *h)
{
    return h->heap_words <= ALQI_MARSHAL_SMALL_WORDS;
}

uint64_t
alqi_marshal_words_asked(const struct alq_marshal_header *h,
                         const struct alq_unmarshal_options *options)
{
    return is_small(h) ? h->heap_words
                       : least(h->heap_words, words_max(h, options));
}

/* After collecting: blocks may have moved. */
static void
fields_find(struct decoder *c)
{
    c->fields = c->now.object == ROOT
                    ? (alqi_heap_word *)c->root
                    : (alqi_heap_word *)alqi_marshal_objects_get(&c->objects,
                                                                 c->now.object);
}

/* A safepoint poll: a collection that was asked for goes on. */
static inline void
safe_point(struct decoder *c)
{
    struct alq_domain *pub = &c->d->pub;

    if (ALQI_LIKELY(pub->young_ptr >=
                    __atomic_load_n(&pub->young_limit, __ATOMIC_RELAXED)))
        return;
    alqi_heap_collect_asked(c->d);
    fields_find(c);
}

/* A block of so many words may not be made: which limit says so. */
static ALQI_COLD bool
refuse(struct decoder *c, uint64_t words)
{
    uint64_t made =
        least(c->header->heap_words, words_max(c->header, c->options)) -
        c->words_left;
    uint64_t objects = c->header->objects;

    if (words > c->header->heap_words - made)
        damaged(c, "more words than the header says");
    else if (objects != 0 && c->objects.n >= objects)
        damaged(c, "more objects than the header says");
    else if (words > c->words_left)
        fail(c, ALQ_ETOOBIG, "limit_heap_words is passed");
    else
        fail(c, ALQ_ETOOBIG, "limit_objects is passed");
    return false;
}

/* Whether a block of so many words keeps within the limits (.inv.claim). */
static inline bool
may_make(struct decoder *c, uint64_t words)
{
    return ALQI_LIKELY(words <= c->words_left &&
                       c->objects.n < c->objects_max) ||
           refuse(c, words);
}

/* A block of a small message, in the piece.  A block with a finaliser is not
 * made young: the table of those would have to grow. */
static alq_value
young_make(struct decoder *c, uintptr_t header, bool is_old)
{
    uintptr_t at = c->young;
    alq_value block;

    if (is_old) {
        block = alqi_heap_direct_try_nogc(c->d, header);
        c->again = block == ALQ_NULL;
        return block;
    }
    c->young += alqi_heap_words(header) * ALQ_WORD_BYTES;
    *(alqi_heap_word *)at = header;
    return at + ALQ_WORD_BYTES;
}

/* Room for one object more; may collect. */
static ALQI_NOINLINE bool
objects_grow(struct decoder *c)
{
    uint64_t n_max =
        c->header->objects != 0 ? c->header->objects : c->header->data_bytes;

    if (!alqi_marshal_objects_grow(&c->objects, c->d, n_max))
        return no_memory(c) != ALQ_NULL;
    fields_find(c);
    return true;
}

/* A block in the major heap that has no room in a local allocation buffer. */
static ALQI_NOINLINE alq_value
old_make_slow(struct decoder *c, uintptr_t header)
{
    alq_value block = alqi_heap_direct_try_nogc(c->d, header);

    if (block != ALQ_NULL)
        return block;
    block = alqi_heap_alloc_direct(c->d, header);
    fields_find(c);
    return block == ALQ_NULL ? no_memory(c) : block;
}

/* Scanned fields are ALQ_UNIT at first: a marker may read them at any time. */
static void
fields_clear(alqi_heap_word *fields, uint64_t n)
{
    uint64_t i;

    for (i = 0; i < n; i++)
        __atomic_store_n(&fields[i], ALQ_UNIT, __ATOMIC_RELAXED);
}

/* A block in the major heap; may collect before it is made. */
static inline alq_value
old_make(struct decoder *c, uintptr_t header)
{
    bool no_scan = !alqi_heap_is_scannable(header);
    alqi_heap_word *place;

    safe_point(c);
    if (ALQI_UNLIKELY(c->objects.n == c->objects.n_ready) && !objects_grow(c))
        return ALQ_NULL;
    place = alqi_heap_direct_place(c->d, alqi_heap_words(header), no_scan);
    if (ALQI_UNLIKELY(place == NULL))
        return old_make_slow(c, header);
    if (!no_scan)
        fields_clear(place + 1, header >> ALQ_WOSIZE_SHIFT);
    return alqi_heap_direct_publish(c->d, place, header);
}

/* A block whose fields are not set; until they are nothing collects.  Each
 * block of a message is made here, and the client is notified. */
static alq_value
make(struct decoder *c, uintptr_t header, bool is_old)
{
    uint64_t words = alqi_heap_words(header);
    alq_value block;

    if (!may_make(c, words))
        return ALQ_NULL;
    block = c->young != 0 ? young_make(c, header, is_old) : old_make(c, header);
    if (block == ALQ_NULL)
        return block;
    c->words_left -= words;
    alqi_marshal_objects_put(&c->objects, block);
    alqi_heap_observed_unmarshal(c->d, block, header);
    return block;
}

/* ---- blocks of values --------------------------------------------------- */

/* A block whose fields follow: they are ALQ_UNIT until they are read. */
static alq_value
block_make(struct decoder *c, uint64_t wosize, unsigned tag)
{
    size_t left = alqi_marshal_in_left(&c->in);
    alq_value block;

    if (wosize == 0)
        return alqi_heap_atom();
    if (alqi_marshal_is_code(tag))
        return fail(c, ALQ_ENOTSUP, "a closure");
    if (tag >= ALQ_TAG_NO_SCAN)
        return damaged(c, "a block of fields with a tag of bytes");
    if (wosize > left || c->values_due > left - wosize)
        return damaged(c, "more fields than there are bytes");
    block = make(c, ALQ_HEADER(wosize, tag), false);
    if (block == ALQ_NULL)
        return block;
    fields_clear((alqi_heap_word *)block, wosize);
    c->n_fields = wosize;
    return block;
}

static alq_value
header_read(struct decoder *c, unsigned n_bytes)
{
    uint64_t header = alqi_marshal_in_number(&c->in, n_bytes);

    return block_make(c, header >> ALQ_WOSIZE_SHIFT, (unsigned)header & 0xFF);
}

/* ---- blocks of bytes ---------------------------------------------------- */

/* A string, with its bytes. */
static alq_value
string_make(struct decoder *c, uint64_t n)
{
    alq_value string;

    if (!alqi_marshal_in_has(&c->in, n))
        return ALQ_NULL;
    string = make(c, ALQ_HEADER(alq_string_wosize(n), ALQ_TAG_STRING), false);
    if (string == ALQ_NULL)
        return string;
    alq_string_seal(string, n);
    alqi_marshal_in_bytes(&c->in, alq_string_chars(string), n);
    return string;
}

/* The doubles' bytes, turned if they are big-endian. */
static void
doubles_read(struct decoder *c, alq_value block, uint64_t n, bool is_big)
{
    uint64_t i, word;

    if (!is_big) { /* as we are */
        alqi_marshal_in_bytes(&c->in, (void *)block, n * sizeof(double));
        return;
    }
    for (i = 0; i < n; i++) {
        word = alqi_marshal_in_number(&c->in, 8);
        ((alqi_heap_word *)block)[i] = word;
    }
}

/* A double or an array of doubles, with their bytes. */
static alq_value
doubles_make(struct decoder *c, uint64_t n, unsigned tag, bool is_big)
{
    alq_value block;

    if (n == 0)
        return damaged(c, "an empty double array");
    if (n > alqi_marshal_in_left(&c->in) / sizeof(double)) {
        c->in.is_short = true;
        return ALQ_NULL;
    }
    block = make(c, ALQ_HEADER(n, tag), false);
    if (block != ALQ_NULL)
        doubles_read(c, block, n, is_big);
    return block;
}

/* ---- custom blocks ------------------------------------------------------ */

/* The kind that a custom block names; NULL: it is not known. */
static const struct alq_custom_ops *
kind_read(struct decoder *c)
{
    const struct alq_custom_ops *ops;
    const char *name = (const char *)c->in.at;
    const unsigned char *end =
        memchr(c->in.at, 0, alqi_marshal_in_left(&c->in));

    if (end == NULL) {
        c->in.is_short = true;
        return NULL;
    }
    ops = alqi_marshal_kind_find(c->options->kinds, name);
    if (ops == NULL || ops->deserialise == NULL) {
        fail(c, ALQ_ENOTSUP, "a custom block of a kind that is not known");
        return NULL;
    }
    c->in.at = end + 1;
    return ops;
}

/* Bytes of a block's data, as far as it is right. */
static bool
custom_size(struct decoder *c, const struct alq_custom_ops *ops, unsigned code,
            uint64_t *bytes)
{
    if (code == ALQI_MARSHAL_CUSTOM_SIZED) {
        alqi_marshal_in_number(&c->in, 4);
        *bytes = alqi_marshal_in_number(&c->in, 8);
        if (ops->fixed != NULL && *bytes != ops->fixed->bytes_64)
            damaged(c, "a custom block of a wrong size");
        else if (*bytes > UINT64_MAX / 2)
            damaged(c, "a custom block of an impossible size");
    } else if (ops->fixed != NULL) {
        *bytes = ops->fixed->bytes_64;
    } else {
        damaged(c, "a custom block whose kind has no fixed size");
    }
    return c->status == ALQ_OK && !c->in.is_short;
}

/* A custom block, whose kind reads its data. */
static alq_value
custom_make(struct decoder *c, unsigned code)
{
    const struct alq_custom_ops *ops = kind_read(c);
    uint64_t bytes = 0, wosize, room;
    enum alq_status status;
    alq_value block;

    if (ops == NULL || !custom_size(c, ops, code, &bytes))
        return ALQ_NULL;
    wosize = 1 + bytes / ALQ_WORD_BYTES + (bytes % ALQ_WORD_BYTES != 0);
    room = (wosize - 1) * ALQ_WORD_BYTES;
    if (!may_make(c, 1 + wosize)) /* it may be too much for a header */
        return ALQ_NULL;
    block = make(c, ALQ_HEADER(wosize, ALQ_TAG_CUSTOM), ops->finalise != NULL);
    if (block == ALQ_NULL)
        return block;
    ((alqi_heap_word *)block)[0] = (uintptr_t)ops;
    memset(alq_custom_data(block), 0, room);
    status = ops->deserialise(&c->in, alq_custom_data(block), bytes);
    if (status != ALQ_OK)
        return fail(c, status, "a custom block's deserialise failed");
    return block;
}

/* ---- values ------------------------------------------------------------- */

/* The object that is so many objects back. */
static alq_value
shared(struct decoder *c, uint64_t back)
{
    if (c->in.is_short)
        return ALQ_NULL;
    if (c->header->objects == 0)
        return damaged(c, "a shared object in a message without sharing");
    if (back == 0 || back > c->objects.n)
        return damaged(c, "a shared object that there is not");
    return alqi_marshal_objects_get(&c->objects, c->objects.n - back);
}

static alq_value
integer(struct decoder *c, unsigned n_bytes)
{
    return alq_from_int(alqi_marshal_in_signed(&c->in, n_bytes));
}

/* A value by its code, other than the small forms. */
static alq_value
code_read(struct decoder *c, unsigned code)
{
    struct alq_marshal_in *in = &c->in;

    switch (code) {
    case ALQI_MARSHAL_INT8:
        return integer(c, 1);
    case ALQI_MARSHAL_INT16:
        return integer(c, 2);
    case ALQI_MARSHAL_INT32:
        return integer(c, 4);
    case ALQI_MARSHAL_INT64:
        return integer(c, 8);
    case ALQI_MARSHAL_SHARED8:
        return shared(c, alqi_marshal_in_number(in, 1));
    case ALQI_MARSHAL_SHARED16:
        return shared(c, alqi_marshal_in_number(in, 2));
    case ALQI_MARSHAL_SHARED32:
        return shared(c, alqi_marshal_in_number(in, 4));
    case ALQI_MARSHAL_SHARED64:
        return shared(c, alqi_marshal_in_number(in, 8));
    case ALQI_MARSHAL_BLOCK32:
        return header_read(c, 4);
    case ALQI_MARSHAL_BLOCK64:
        return header_read(c, 8);
    case ALQI_MARSHAL_STRING8:
        return string_make(c, alqi_marshal_in_number(in, 1));
    case ALQI_MARSHAL_STRING32:
        return string_make(c, alqi_marshal_in_number(in, 4));
    case ALQI_MARSHAL_STRING64:
        return string_make(c, alqi_marshal_in_number(in, 8));
    case ALQI_MARSHAL_DOUBLE_BIG:
        return doubles_make(c, 1, ALQ_TAG_DOUBLE, true);
    case ALQI_MARSHAL_DOUBLE_LITTLE:
        return doubles_make(c, 1, ALQ_TAG_DOUBLE, false);
    case ALQI_MARSHAL_DOUBLES8_BIG:
    case ALQI_MARSHAL_DOUBLES8_LITTLE:
        return doubles_make(c, alqi_marshal_in_number(in, 1),
                            ALQ_TAG_DOUBLE_ARRAY,
                            code == ALQI_MARSHAL_DOUBLES8_BIG);
    case ALQI_MARSHAL_DOUBLES32_BIG:
    case ALQI_MARSHAL_DOUBLES32_LITTLE:
        return doubles_make(c, alqi_marshal_in_number(in, 4),
                            ALQ_TAG_DOUBLE_ARRAY,
                            code == ALQI_MARSHAL_DOUBLES32_BIG);
    case ALQI_MARSHAL_DOUBLES64_BIG:
    case ALQI_MARSHAL_DOUBLES64_LITTLE:
        return doubles_make(c, alqi_marshal_in_number(in, 8),
                            ALQ_TAG_DOUBLE_ARRAY,
                            code == ALQI_MARSHAL_DOUBLES64_BIG);
    case ALQI_MARSHAL_CUSTOM:
    case ALQI_MARSHAL_CUSTOM_SIZED:
    case ALQI_MARSHAL_CUSTOM_FIXED:
        return custom_make(c, code);
    case ALQI_MARSHAL_CODE_POINTER:
    case ALQI_MARSHAL_INFIX_POINTER:
        return fail(c, ALQ_ENOTSUP, "a closure");
    default:
        return damaged(c, "a code that there is not");
    }
}

/* The next value, its fields to be read if c->n_fields is not 0; ALQ_NULL. */
static alq_value
value_read(struct decoder *c)
{
    unsigned code = (unsigned)alqi_marshal_in_number(&c->in, 1);
    alq_value v;

    c->n_fields = 0;
    c->values_due--;
    if (code >= ALQI_MARSHAL_SMALL_INT && code < ALQI_MARSHAL_SMALL_BLOCK)
        return alq_from_int(code - ALQI_MARSHAL_SMALL_INT);
    if (c->in.is_short)
        v = ALQ_NULL;
    else if (code >= ALQI_MARSHAL_SMALL_BLOCK)
        v = block_make(c, (code >> 4) & 7, code & 15);
    else if (code >= ALQI_MARSHAL_SMALL_STRING)
        v = string_make(c, code - ALQI_MARSHAL_SMALL_STRING);
    else
        v = code_read(c, code);
    if (c->in.is_short)
        return damaged(c, "cut short");
    return v;
}

/* ---- all ---------------------------------------------------------------- */

/* Doubles the stack of blocks whose fields are still being read; the first one
 * is in the decoder itself.  False: no memory, which is the call's failure. */
static ALQI_NOINLINE bool
stack_grow(struct decoder *c)
{
    size_t size = 2 * c->stack_size;
    struct open_block *stack =
        realloc(c->stack == c->first ? NULL : c->stack, size * sizeof *stack);

    if (stack == NULL)
        return fail(c, ALQ_ENOMEM, "no memory for the stack of blocks") !=
               ALQ_NULL;
    if (c->stack == c->first)
        memcpy(stack, c->first, sizeof c->first);
    c->stack = stack;
    c->stack_size = size;
    return true;
}

/* The block that was made last is the innermost now. */
static bool
start(struct decoder *c, alq_value block)
{
    if (c->now.next < c->now.n) {
        if (c->n_stack + 1 >= c->depth_max)
            return fail(c, ALQ_ETOOBIG, "limit_depth is passed") != ALQ_NULL;
        if (c->n_stack == c->stack_size && !stack_grow(c))
            return false;
        c->stack[c->n_stack++] = c->now;
    }
    c->now = (struct open_block){c->objects.n - 1, 0, c->n_fields};
    c->fields = (alqi_heap_word *)block;
    c->values_due += c->n_fields;
    return true;
}

/* Release: a marker elsewhere that meets the block finds its header. */
static bool
value_next(struct decoder *c)
{
    alq_value v = value_read(c);

    if (v == ALQ_NULL)
        return false;
    __atomic_store_n(&c->fields[c->now.next++], v, __ATOMIC_RELEASE);
    return c->n_fields == 0 || start(c, v);
}

/* Reads the next fields as long as they are integers and not near the
 * message's end. */
static void
integers_read(struct decoder *c)
{
    enum { MOST = 1 + 8 };
    const unsigned char *at = c->in.at;
    uint64_t i = c->now.next, n = c->now.n;
    uint64_t word;
    unsigned code;
    alq_value v;

    for (; i < n && (size_t)(c->in.end - at) >= MOST; i++) {
        code = *at;
        if (code - ALQI_MARSHAL_SMALL_INT <
            ALQI_MARSHAL_SMALL_BLOCK - ALQI_MARSHAL_SMALL_INT) {
            v = alq_from_int(code - ALQI_MARSHAL_SMALL_INT);
            at++;
        } else if (code <= ALQI_MARSHAL_INT64) { /* 1, 2, 4, 8 bytes */
            word = alqi_marshal_load(at + 1, 8);
            v = alq_from_int((int64_t)word >> (64 - (8 << code)));
            at += 1 + (1u << code);
        } else {
            break;
        }
        __atomic_store_n(&c->fields[i], v, __ATOMIC_RELEASE);
    }
    c->values_due -= i - c->now.next;
    c->now.next = i;
    c->in.at = at;
}

/* The innermost block that is not whole; false: all are. */
static bool
resume(struct decoder *c)
{
    integers_read(c);
    while (c->now.next == c->now.n) {
        if (c->n_stack == 0)
            return false;
        c->now = c->stack[--c->n_stack];
        fields_find(c);
        integers_read(c);
    }
    return true;
}

/* Values until the last block is whole. */
static void
all_read(struct decoder *c)
{
    while (value_next(c))
        if (!resume(c)) {
            if (alqi_marshal_in_left(&c->in) > 0)
                damaged(c, "bytes behind the value");
            return;
        }
}

/* Makes the rest of the piece a dead block. */
static void
young_close(struct decoder *c)
{
    uintptr_t left = (c->young_end - c->young) / ALQ_WORD_BYTES;

    if (c->young != 0 && left > 0)
        *(alqi_heap_word *)c->young = ALQ_HEADER(left - 1, ALQ_TAG_ABSTRACT);
}

/* Takes the piece of the minor heap that a small message is read into; false:
 * there is none. */
static bool
young_open(struct decoder *c, bool is_young)
{
    uintptr_t words = c->header->heap_words;
    uint64_t unused; /* blocks of a message are sampled one by one */

    c->young = c->young_end = 0;
    if (!is_young || words == 0)
        return true;
    c->young = alqi_heap_room_unseen(c->d, words, &unused);
    if (c->young == ALQI_HEAP_ROOM_FRAGMENTED) { /* it is made old */
        c->young = 0;
        c->again = true;
        return false;
    }
    c->young_end = c->young + words * ALQ_WORD_BYTES;
    return c->young != 0 || no_memory(c) != ALQ_NULL;
}

/* Reads the message once, small or large. */
static void
decode(struct decoder *c, const unsigned char *data, bool is_young,
       alq_value *root, alq_value *table_root)
{
    uint64_t n = c->header->data_bytes;

    c->in = (struct alq_marshal_in){data, data + n, false};
    c->again = false;
    c->root = root;
    c->values_due = 1;
    c->words_left =
        least(c->header->heap_words, words_max(c->header, c->options));
    c->objects_max =
        least(or_none(c->header->objects), or_none(c->options->limit_objects));
    c->depth_max = or_none(c->options->limit_depth);
    c->now = (struct open_block){ROOT, 0, 1};
    c->stack = c->first;
    c->n_stack = 0;
    c->stack_size = OPEN_FIRST;
    alqi_marshal_objects_open(&c->objects, is_young, table_root);
    fields_find(c);
    if (young_open(c, is_young)) {
        all_read(c);
        young_close(c);
    }
    alqi_marshal_objects_close(&c->objects);
    if (c->stack != c->first)
        free(c->stack);
}

enum alq_status
alqi_marshal_decode(struct alqi_domain *d, const unsigned char *data,
                    const struct alq_marshal_header *h,
                    const struct alq_unmarshal_options *options,
                    struct alq_marshal_fault *fault, alq_value *out)
{
    ALQ_FRAME(&d->pub, f, value, table);
    struct decoder c;

    c.d = d;
    c.options = options;
    c.header = h;
    c.status = ALQ_OK;
    c.text = NULL;
    decode(&c, data, is_small(h), &f.value, &f.table);
    if (c.again)
        decode(&c, data, false, &f.value, &f.table);
    alqi_heap_limit_trigger_advance(d);
    *out = c.status == ALQ_OK ? f.value : ALQ_NULL;
    *fault = (struct alq_marshal_fault){c.text, h->header_bytes +
                                                    (uint64_t)(c.in.at - data)};
    if (c.status == ALQ_ENOMEM)
        alqi_heap_fail(d, ALQ_ENOMEM);
    return c.status;
}
