/* objects.c -- live sampled blocks in rows of 64 neighbours
 *
 * [objects.h] Numbers are given out in order, most blocks die young, and those
 * born together often die together. So objects stand in rows of 64 neighbours.
 * The rows in which blocks are being born stand open, each object at its
 * place; a row that makes room for a newer one keeps its survivors, packed,
 * and is found through a hash table from then on.
 *
 *   open --a newer row needs its place--> old, packed
 *     ^      (without survivors: gone)      |  | the last object dies: gone
 *     +---- an object is born into it ------+
 *
 * .inv.one    A row is open or old, never both.
 * .inv.room   alive is a part of kept; objects[] has a place for each bit of
 *             kept, in order. When half of them are dead it is packed anew.
 * .inv.load   At most half of the slots of old rows are in use.
 * .inv.probe  From a row's home slot to its slot no slot is free. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/read/objects.h"

enum { SLOTS_FIRST = 256, ROW_BITS = 6 };

_Static_assert(1 << ROW_BITS == ALQI_CLI_ROW, "a bit for each neighbour");

/* ---- places ---------------------------------------------------------- */

/* Bits that are set. Spelt out, because the compiler's own is a call where the
 * processor may lack the instruction. */
static inline unsigned
bits_of(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return (unsigned)(x * 0x0101010101010101 >> 56);
}

/* Where the search for an old row begins. */
static inline size_t
home(const struct alqi_cli_objects *o, uint64_t number)
{
    return alqi_base_mix(number) & (o->n_old_slots - 1);
}

/* The slot of an old row, or the free one where it belongs. */
static inline struct alqi_cli_old_row *
old_find(const struct alqi_cli_objects *o, uint64_t number)
{
    size_t i = home(o, number);

    while (o->old[i].objects != NULL && o->old[i].number != number)
        i = (i + 1) & (o->n_old_slots - 1);
    return &o->old[i];
}

/* An object of an old row by its bit: the place is the number of kept bits
 * below. */
static inline struct alqi_cli_object *
old_object(const struct alqi_cli_old_row *row, uint64_t bit)
{
    return &row->objects[bits_of(row->kept & (bit - 1))];
}

/* A table of n free slots. */
static void
old_slots_new(struct alqi_cli_objects *o, size_t n)
{
    o->old = alqi_cli_realloc(NULL, n, sizeof *o->old);
    memset(o->old, 0, n * sizeof *o->old);
    o->n_old_slots = n;
}

/* Doubles the table and enters all rows anew (.inv.load). */
static void
old_grow(struct alqi_cli_objects *o)
{
    struct alqi_cli_old_row *rows = o->old;
    size_t n = o->n_old_slots;

    old_slots_new(o, 2 * n);
    for (size_t i = 0; i < n; i++)
        if (rows[i].objects != NULL)
            *old_find(o, rows[i].number) = rows[i];
    free(rows);
}

/* Frees a row's slot; later members of the run move up (.inv.probe). */
static void
old_drop(struct alqi_cli_objects *o, struct alqi_cli_old_row *row)
{
    size_t mask = o->n_old_slots - 1;
    size_t hole = (size_t)(row - o->old);

    free(row->objects);
    for (size_t i = (hole + 1) & mask; o->old[i].objects != NULL;
         i = (i + 1) & mask) {
        size_t from_home = (i - home(o, o->old[i].number)) & mask;

        if (from_home < ((i - hole) & mask))
            continue;
        o->old[hole] = o->old[i];
        hole = i;
    }
    o->old[hole].objects = NULL;
    o->n_old--;
}

/* ---- from open to old and back --------------------------------------- */

/* Packs the survivors of an open row into an old one. Requires that some
 * live. */
static void
row_close(struct alqi_cli_objects *o, const struct alqi_cli_young_row *row)
{
    size_t n = bits_of(row->alive);
    struct alqi_cli_old_row *old;
    struct alqi_cli_object *to;

    if (2 * (o->n_old + 1) > o->n_old_slots)
        old_grow(o);
    old = old_find(o, row->number);
    old->number = row->number;
    old->alive = old->kept = row->alive;
    old->objects = to = alqi_cli_realloc(NULL, n, sizeof *to);
    for (uint64_t left = row->alive; left != 0; left &= left - 1)
        *to++ = row->objects[__builtin_ctzll(left)];
    o->n_old++;
}

/* Makes an open row the one of that number. Its old content is closed; the
 * survivors of the new number come back from the old rows (.inv.one). */
void
alqi_cli_objects_open_slow(struct alqi_cli_objects *o,
                           struct alqi_cli_young_row *row, uint64_t number)
{
    struct alqi_cli_old_row *old;

    if (row->alive != 0)
        row_close(o, row);
    row->number = number;
    row->alive = 0;
    old = old_find(o, number);
    if (old->objects == NULL)
        return;
    row->alive = old->alive;
    for (uint64_t left = row->alive; left != 0; left &= left - 1)
        row->objects[__builtin_ctzll(left)] =
            *old_object(old, left & (0 - left));
    old_drop(o, old);
}

/* Packs an old row anew, so that only live objects have places (.inv.room). */
static void
old_pack(struct alqi_cli_old_row *row)
{
    size_t n = bits_of(row->alive);
    struct alqi_cli_object *to = row->objects;

    for (uint64_t left = row->alive; left != 0; left &= left - 1)
        *to++ = *old_object(row, left & (0 - left));
    row->kept = row->alive;
    row->objects = alqi_cli_realloc(row->objects, n, sizeof *to);
}

/* ---- births that do not fit -------------------------------------------- */

void
alqi_cli_objects_widen_slow(struct alqi_cli_objects *o, uint64_t id,
                            const struct alqi_cli_birth *birth)
{
    struct alqi_cli_birth *kept = alqi_cli_duplicate(birth, 1, sizeof *birth);

    alqi_cli_map_put(&o->wide, id, (uint64_t)(uintptr_t)kept);
}

void
alqi_cli_objects_wide_slow(const struct alqi_cli_objects *o, uint64_t id,
                           struct alqi_cli_life *life)
{
    const struct alqi_cli_birth *birth;
    uint64_t kept = 0;

    alqi_base_map_get(&o->wide, id, &kept);
    birth = (const struct alqi_cli_birth *)(uintptr_t)kept;
    life->time_us = birth->time_us;
    life->length = birth->length;
    life->n_samples = birth->n_samples;
    life->rate = birth->rate;
}

void
alqi_cli_objects_forget_slow(struct alqi_cli_objects *o, uint64_t id)
{
    uint64_t kept;

    if (alqi_base_map_take(&o->wide, id, &kept))
        free((void *)(uintptr_t)kept);
}

static void
wide_free(struct alqi_cli_objects *o)
{
    uint64_t id, kept;
    size_t at = 0;

    while (alqi_base_map_next(&o->wide, &at, &id, &kept))
        free((void *)(uintptr_t)kept);
    alqi_base_map_clear(&o->wide);
}

/* ---- the interface --------------------------------------------------- */

void
alqi_cli_objects_init(struct alqi_cli_objects *o)
{
    memset(o, 0, sizeof *o);
    o->young = alqi_cli_realloc(NULL, ALQI_CLI_YOUNG_ROWS, sizeof *o->young);
    for (uint64_t i = 0; i < ALQI_CLI_YOUNG_ROWS; i++) {
        o->young[i].number = i;
        o->young[i].alive = 0;
    }
    old_slots_new(o, SLOTS_FIRST);
}

void
alqi_cli_objects_free(struct alqi_cli_objects *o)
{
    for (size_t i = 0; i < o->n_old_slots; i++)
        free(o->old[i].objects);
    free(o->old);
    free(o->young);
    wide_free(o);
}

struct alqi_cli_object *
alqi_cli_objects_find(const struct alqi_cli_objects *o, uint64_t id)
{
    uint64_t number = id / ALQI_CLI_ROW;
    struct alqi_cli_young_row *row = alqi_cli_objects_young(o, number);
    const struct alqi_cli_old_row *old;

    if (row->number == number)
        return (row->alive & alqi_cli_objects_bit(id)) != 0
                   ? &row->objects[id % ALQI_CLI_ROW]
                   : NULL;
    old = old_find(o, number);
    if (old->objects == NULL || (old->alive & alqi_cli_objects_bit(id)) == 0)
        return NULL;
    return old_object(old, alqi_cli_objects_bit(id));
}

/* Takes an object out of the old rows. Half-empty rows are packed: that bounds
 * the room of a survivor. */
bool
alqi_cli_objects_take_old(struct alqi_cli_objects *o, uint64_t id,
                          struct alqi_cli_life *life)
{
    struct alqi_cli_old_row *row = old_find(o, id / ALQI_CLI_ROW);

    if (row->objects == NULL || (row->alive & alqi_cli_objects_bit(id)) == 0)
        return false;
    alqi_cli_objects_read(o, id, old_object(row, alqi_cli_objects_bit(id)),
                          life);
    row->alive &= ~alqi_cli_objects_bit(id);
    if (row->alive == 0)
        old_drop(o, row);
    else if (2 * bits_of(row->alive) <= bits_of(row->kept))
        old_pack(row);
    return true;
}

/* The objects alive in a row of the order in which next goes: the open rows,
 * then the slots of old ones. */
static uint64_t
alive_in(const struct alqi_cli_objects *o, size_t row)
{
    const struct alqi_cli_old_row *old;

    if (row < ALQI_CLI_YOUNG_ROWS)
        return o->young[row].alive;
    old = &o->old[row - ALQI_CLI_YOUNG_ROWS];
    return old->objects != NULL ? old->alive : 0;
}

/* *at counts places, ALQI_CLI_ROW of them a row. */
struct alqi_cli_object *
alqi_cli_objects_next(const struct alqi_cli_objects *o, size_t *at,
                      uint64_t *id)
{
    size_t n_rows = ALQI_CLI_YOUNG_ROWS + o->n_old_slots;
    size_t row = *at / ALQI_CLI_ROW;
    uint64_t left =
        row < n_rows ? alive_in(o, row) & (0 - alqi_cli_objects_bit(*at)) : 0;
    const struct alqi_cli_old_row *old;
    uint64_t place;

    while (left == 0) {
        if (++row >= n_rows)
            return NULL;
        left = alive_in(o, row);
    }
    place = (uint64_t)__builtin_ctzll(left);
    *at = row * ALQI_CLI_ROW + place + 1;
    if (row < ALQI_CLI_YOUNG_ROWS) {
        *id = o->young[row].number * ALQI_CLI_ROW + place;
        return &o->young[row].objects[place];
    }
    old = &o->old[row - ALQI_CLI_YOUNG_ROWS];
    *id = old->number * ALQI_CLI_ROW + place;
    return old_object(old, left & (0 - left));
}
