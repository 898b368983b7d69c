/* pyobjects.c -- blocks that look like objects of CPython, and some that nearly
 * do; a pointer to the object is all that leads to each
 *
 * Says "ready" and waits for its standard input to end.  What each function
 * leaves is in python_test.py.  The words are those of CPython 3.8 to 3.14:
 * the collector's header has two, and in front of it are two more where the
 * type says so. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum {
    FLAGS = 21, /* word of a type */
    IS_READY = 1 << 12,
    HAS_DICT = 1 << 4,
    IS_COLLECTED = 1 << 14,
    FINALIZED = 1, /* bits of the second word of a header */
    COLLECTING = 2
};
#define IS_TYPE (UINT64_C(1) << 31)
#define REFCOUNT 3

static uint64_t type_type[50] = {1, (uint64_t)(uintptr_t)type_type, 0, 0, 400};
static uint64_t thing_type[50] = {1, (uint64_t)(uintptr_t)type_type, 0, 0, 64};
static uint64_t dict_type[50] = {1, (uint64_t)(uintptr_t)type_type, 0, 0, 64};
static uint64_t plain_type[50] = {1, (uint64_t)(uintptr_t)type_type, 0, 0, 64};
/* No type: the type of its type is none. */
static uint64_t no_type[50] = {1, (uint64_t)(uintptr_t)no_type, 0, 0, 64};

static uint64_t head[2]; /* of the list of what is tracked */
static uint64_t *volatile kept[64];
static volatile uintptr_t tagged, tagged_other;
static unsigned n_kept;

static uint64_t
word(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Makes the block an object, in front of whose header are so many words; the
 * pointer to the object is kept, and it alone. */
static uint64_t *
object_put(uint64_t *block, unsigned n_before, const uint64_t *type)
{
    uint64_t *object = block + n_before + 2;

    object[0] = REFCOUNT;
    object[1] = word(type);
    kept[n_kept++] = object;
    return object;
}

/* Between the list's last and its head. */
static void
track(uint64_t *object, uint64_t next_bits, uint64_t prev_bits)
{
    uint64_t *header = object - 2, *last = (uint64_t *)(uintptr_t)head[1];

    header[0] = word(head) | next_bits;
    header[1] = word(last) | prev_bits;
    last[0] = word(header) | (last[0] & 3);
    head[1] = word(header);
}

static NOINLINE void
untracked(void)
{
    object_put(calloc(1, 601), 0, thing_type);
}

static NOINLINE void
tracked(void)
{
    track(object_put(calloc(1, 602), 0, thing_type), 0, 0);
}

static NOINLINE void
tracked_bits(void)
{
    track(object_put(calloc(1, 603), 0, thing_type), 1, FINALIZED);
}

static NOINLINE void
with_dict(void)
{
    track(object_put(calloc(1, 604), 2, dict_type), 0, 0);
}

/* While it is looked at by the collector its second word counts references. */
static NOINLINE void
collected_now(void)
{
    uint64_t *object = object_put(calloc(1, 605), 0, thing_type);

    track(object, 0, 0);
    track(object_put(calloc(1, 605), 0, thing_type), 0, 0);
    object[-1] = 5 << 2 | COLLECTING;
}

/* Five places for values, of which three are used, and in which order (3.11,
 * 3.12). */
static unsigned char *
values_put(unsigned char *block)
{
    block[7] = 8;
    block[6] = 3;
    block[5] = 1;
    block[4] = 0;
    block[3] = 2;
    return block + 8;
}

static NOINLINE void
values(void)
{
    kept[n_kept++] = (uint64_t *)(void *)values_put(calloc(1, 8 + 5 * 8));
}

/* One in front, which says that they are no table (3.12). */
static NOINLINE void
values_tagged(void)
{
    tagged = (uintptr_t)values_put(calloc(1, 8 + 5 * 8)) - 1;
}

/* ---- none of these ------------------------------------------------------- */

static NOINLINE void
not_linked(void)
{
    uint64_t *object = object_put(calloc(1, 611), 0, thing_type);

    object[-2] = word(head);
    object[-1] = word(head);
}

static NOINLINE void
not_a_type(void)
{
    object_put(calloc(1, 612), 0, no_type);
}

static NOINLINE void
not_collected(void)
{
    object_put(calloc(1, 613), 0, plain_type);
}

static NOINLINE void
not_counted(void)
{
    object_put(calloc(1, 614), 0, thing_type)[0] = word(head);
}

static NOINLINE void
not_so_far(void)
{
    object_put(calloc(1, 615), 2, thing_type);
}

static NOINLINE void
not_so_near(void)
{
    object_put(calloc(1, 616), 0, dict_type);
}

static NOINLINE void
not_typed(void)
{
    object_put(calloc(1, 617), 0, (uint64_t *)8);
}

/* The place is not where the length in front says; a number beyond them. */
static NOINLINE void
not_values(void)
{
    unsigned char *block = calloc(1, 8 + 5 * 8);

    block[7] = 16;
    kept[n_kept++] = (uint64_t *)(void *)(block + 8);
    block = calloc(1, 8 + 5 * 8);
    block[7] = 8;
    block[6] = 2;
    block[5] = 5;
    kept[n_kept++] = (uint64_t *)(void *)(block + 8);
}

/* One in front of a word of a block that is no values. */
static NOINLINE void
not_tagged(void)
{
    tagged_other = (uintptr_t)calloc(1, 8 + 5 * 8) + 7;
}

static NOINLINE void
types_make(void)
{
    head[0] = head[1] = word(head);
    type_type[FLAGS] = IS_TYPE | IS_READY | IS_COLLECTED;
    thing_type[FLAGS] = IS_READY | IS_COLLECTED;
    dict_type[FLAGS] = IS_READY | IS_COLLECTED | HAS_DICT;
    plain_type[FLAGS] = IS_READY;
    no_type[FLAGS] = IS_READY | IS_COLLECTED;
}

int
main(void)
{
    char byte;

    types_make();
    untracked();
    tracked();
    tracked_bits();
    with_dict();
    collected_now();
    values();
    values_tagged();
    not_linked();
    not_a_type();
    not_collected();
    not_counted();
    not_so_far();
    not_so_near();
    not_typed();
    not_values();
    not_tagged();
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    return 0;
}
