/* stat_census.c -- counts the blocks of the heap by tag, operations and size
 *
 * One stop: its leader sets the table that is filled, then one participant
 * counts all young, retained and major blocks.  The rows go to the caller's
 * function when the world runs again.
 *
 * Keeps .inv.census: What is counted is all that a walk finds but garbage. */
#include <stdlib.h>
#include <string.h>

#include "heap/pool_area.h"
#include "heap/stat_census.h"
#include "heap/pool_class.h"
#include "heap/pin.h"
#include "heap/stop.h"
#include "heap/major_sweep.h"
#include "heap/tag_name.h"

enum {
    PLACES = ALQ_CENSUS_LARGE + 1,
    TAGS = ALQ_TAG_CUSTOM, /* custom blocks are counted by their ops */
    LARGE_BITS = 9,        /* the first size above the classes: 2^9 words */
    SIZES = ALQI_HEAP_CLASSES + 64 - LARGE_BITS
};

/* Blocks of one row; their words, headers included; the words of the slots that
 * they take up. */
struct count {
    uint64_t blocks;
    uint64_t words;
    uint64_t slot_words;
};

/* A row of custom blocks, for one place, size and operations. */
struct custom {
    const struct alq_custom_ops *ops;
    enum alq_census_place place;
    unsigned size;
    struct count count;
};

/* Blocks by place, tag and size are in an array.  Custom blocks are counted by
 * their operations, of which a program has any number: so they are in a table
 * that grows. */
struct alqi_heap_census {
    struct count counts[PLACES][TAGS][SIZES];
    struct custom *customs;
    size_t n_customs;
    size_t customs_size;
    struct alqi_base_map custom_at; /* of ops, place and size: the index */
    bool is_short;                  /* of memory */
};

/* ---- counting ----------------------------------------------------------- */

/* The row of a size in words: the size class of pools, then a row for each
 * power of two. */
static unsigned
size_of(size_t words)
{
    if (words <= ALQI_HEAP_CLASS_WORDS_MAX)
        return alqi_heap_class_of(words);
    return ALQI_HEAP_CLASSES + 64 - LARGE_BITS -
           (unsigned)__builtin_clzll(words - 1);
}

/* The most words that the row of a size has. */
static uintptr_t
words_max_of(unsigned size)
{
    if (size < ALQI_HEAP_CLASSES)
        return alqi_heap_class_words[size];
    return (uintptr_t)1 << (size - ALQI_HEAP_CLASSES + LARGE_BITS);
}

/* The map's key of operations, place and size.  Exact: ops is a multiple of 8,
 * and the other two fit below the shifted address. */
static uint64_t
custom_key(const struct alq_custom_ops *ops, enum alq_census_place place,
           unsigned size)
{
    _Static_assert(SIZES <= 1 << 7 && PLACES <= 1 << 2, "they fit");
    return (uint64_t)((uintptr_t)ops >> 3) << 9 | (uint64_t)place << 7 | size;
}

/* Makes room for one more row of custom blocks; false: no memory. */
static bool
customs_reserve(struct alqi_heap_census *c)
{
    size_t size = c->customs_size == 0 ? 64 : c->customs_size * 2;
    struct custom *customs;

    if (c->n_customs < c->customs_size)
        return true;
    customs = realloc(c->customs, size * sizeof *customs);
    if (customs == NULL)
        return false;
    c->customs = customs;
    c->customs_size = size;
    return true;
}

/* The row that a custom block is counted in; NULL: no memory.  Memory is taken
 * in the stop: how many kinds there are is known only now.  The row's room
 * comes before its entry in the map, which would lead nowhere else. */
static struct count *
custom_count(struct alqi_heap_census *c, alq_value block,
             enum alq_census_place place, unsigned size)
{
    struct custom custom = {alq_custom_ops_of(block), place, size, {0}};
    uint64_t *at;
    bool is_new;

    if (!customs_reserve(c))
        return NULL;
    at = alqi_base_map_at(&c->custom_at, custom_key(custom.ops, place, size),
                          &is_new);
    if (at == NULL)
        return NULL;
    if (is_new) {
        *at = c->n_customs;
        c->customs[c->n_customs++] = custom;
    }
    return &c->customs[*at].count;
}

/* Words that the block takes up in its place: the slot of a pool, or a large
 * block with its link. */
static size_t
slot_words(size_t words, enum alq_census_place place)
{
    switch (place) {
    case ALQ_CENSUS_OLD:
        return words_max_of(size_of(words));
    case ALQ_CENSUS_LARGE:
        return words - 1 + sizeof(struct alqi_heap_large) / ALQ_WORD_BYTES;
    default:
        return words;
    }
}

/* Counts a block.  If there is no memory for its row, the census is short, and
 * will not be passed on. */
static void
count_block(struct alqi_heap_census *c, alq_value block, uintptr_t header,
            enum alq_census_place place)
{
    size_t words = alqi_heap_words(header);
    unsigned tag = header & 0xFF, size = size_of(words);
    struct count *count = tag == ALQ_TAG_CUSTOM
                              ? custom_count(c, block, place, size)
                              : &c->counts[place][tag][size];

    if (count == NULL) {
        c->is_short = true;
        return;
    }
    count->blocks++;
    count->words += words;
    count->slot_words += slot_words(words, place);
}

/* Counts a block of the major heap that is not garbage. */
static void
count_major(struct alqi_domain *d, alq_value block, uintptr_t header)
{
    if (alqi_heap_colour(header) != d->heap->cycle.colours.garbage)
        count_block(d->heap->listeners.census, block, header,
                    alqi_heap_area_has(&d->heap->area, block)
                        ? ALQ_CENSUS_OLD
                        : ALQ_CENSUS_LARGE);
}

/* Counts the blocks of an open minor heap, which lie close from young_ptr
 * on. */
static void
count_young(const struct alqi_domain *d)
{
    uintptr_t at = (uintptr_t)d->pub.young_ptr;

    while (at < d->young.end) {
        uintptr_t header = *(alqi_heap_word *)at;

        count_block(d->heap->listeners.census, at + ALQ_WORD_BYTES, header,
                    ALQ_CENSUS_YOUNG);
        at += alqi_heap_words(header) * ALQ_WORD_BYTES;
    }
    ALQI_ASSERT(at == d->young.end); /* .inv.open: blocks lie close */
}

/* Counts the retained blocks, which lie outside of open minor heaps. */
static void
count_retained(const struct alqi_heap *heap)
{
    uintptr_t at = heap->area.young_base, end = at + heap->area.young_bytes;
    struct alqi_heap_range retained;

    for (; alqi_heap_pin_find(heap, at, end, &retained); at = retained.end)
        count_block(heap->listeners.census, retained.start + ALQ_WORD_BYTES,
                    *(alqi_heap_word *)retained.start, ALQ_CENSUS_YOUNG);
}

/* Counts all blocks of the heap.  By one participant, when all others stand
 * still: so the table needs no lock. */
static const struct alqi_heap_stop_work *
count_all(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i]))
            count_young(heap->domains[i]);
    count_retained(heap);
    alqi_heap_sweep_blocks_stw(self, count_major);
    return NULL;
}

/* ---- telling ------------------------------------------------------------ */

static const char *
ops_name(const struct alq_custom_ops *ops)
{
    return ops->name != NULL ? ops->name : "custom";
}

/* Passes a row on, if it has any blocks; returns what the function says: not 0
 * ends the census. */
static int
row_tell(const struct count *count, struct alq_census_row row, unsigned size,
         alqi_heap_census_row_fn *fn, void *arg)
{
    if (count->blocks == 0)
        return 0;
    row.words_max = words_max_of(size);
    row.blocks = count->blocks;
    row.words = count->words;
    row.slot_words = count->slot_words;
    return fn(arg, &row);
}

/* Order of custom rows: place, name, operations, size.  Names need not be
 * unique, so the address decides between equal ones. */
static int
by_name(const void *left, const void *right)
{
    const struct custom *a = left, *b = right;
    int order = (int)a->place - (int)b->place;

    if (order == 0)
        order = strcmp(ops_name(a->ops), ops_name(b->ops));
    if (order == 0)
        order = (a->ops > b->ops) - (a->ops < b->ops);
    return order != 0 ? order : (int)a->size - (int)b->size;
}

/* Passes the rows of custom blocks in one place on, from *at on, which is then
 * behind them.  Requires that the rows are sorted. */
static int
customs_tell(const struct alqi_heap_census *c, enum alq_census_place place,
             size_t *at, alqi_heap_census_row_fn *fn, void *arg)
{
    int end = 0;

    for (; *at < c->n_customs && c->customs[*at].place == place && end == 0;
         ++*at) {
        const struct custom *custom = &c->customs[*at];
        struct alq_census_row row = {
            place, ALQ_TAG_CUSTOM, custom->ops, ops_name(custom->ops), 0, 0, 0,
            0};

        end = row_tell(&custom->count, row, custom->size, fn, arg);
    }
    return end;
}

/* Passes the rows of blocks other than custom ones in one place on. */
static int
tags_tell(const struct alqi_heap_census *c, enum alq_census_place place,
          alqi_heap_census_row_fn *fn, void *arg)
{
    unsigned tag, size;
    int end = 0;

    for (tag = 0; tag < TAGS && end == 0; tag++) {
        const char *name = alqi_heap_tag_name(tag);

        if (name == NULL)
            name = "block";
        for (size = 0; size < SIZES && end == 0; size++) {
            struct alq_census_row row = {place, tag, NULL, name, 0, 0, 0, 0};

            end = row_tell(&c->counts[place][tag][size], row, size, fn, arg);
        }
    }
    return end;
}

/* Passes all rows on, place by place, tags before custom blocks, until the
 * function ends it. */
static void
tell_all(struct alqi_heap_census *c, alqi_heap_census_row_fn *fn, void *arg)
{
    unsigned place;
    size_t at = 0;

    if (c->n_customs > 0)
        qsort(c->customs, c->n_customs, sizeof *c->customs, by_name);
    for (place = 0; place < PLACES; place++) {
        if (tags_tell(c, place, fn, arg) != 0)
            return;
        if (customs_tell(c, place, &at, fn, arg) != 0)
            return;
    }
}

/* Sets the table that is filled.  In the stop: two domains may take a census
 * each, one after the other. */
static void
begin(struct alqi_domain *leader)
{
    leader->heap->listeners.census = leader->events.census;
}

/* Takes a census; false: no memory, and `row` was not called.  The rows are
 * passed on after the stop, so `row` may do what the program may. */
bool
alqi_heap_census_take(struct alqi_domain *d, alqi_heap_census_row_fn *row,
                      void *arg)
{
    static const struct alqi_heap_stop_work work = {.begin = begin,
                                                    .last = count_all};
    struct alqi_heap_census *c = calloc(1, sizeof *c);
    bool is_whole;

    if (c == NULL)
        return false;
    d->events.census = c;
    while (!alqi_heap_stop_try(d, &work))
        continue;
    is_whole = !c->is_short;
    if (is_whole)
        tell_all(c, row, arg);
    alqi_base_map_clear(&c->custom_at);
    free(c->customs);
    free(c);
    return is_whole;
}
