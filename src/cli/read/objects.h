/* objects.h -- the sampled blocks that are alive, by object number
 *
 * Memory grows with the blocks that are alive: 20 bytes each when those born
 * together live together, up to 112 when one of 64 neighbours survives. */
#ifndef ALQI_CLI_READ_OBJECTS_H
#define ALQI_CLI_READ_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "base/map.h"

enum { ALQI_CLI_EPOCH_BITS = 19 };

/* What is known of a block at its birth. */
struct alqi_cli_birth {
    /* the unit and origin are the caller's */
    uint64_t time_us;
    uint64_t length;
    uint64_t n_samples;
    /* of the peak then (analysis.c); below 1 << ALQI_CLI_EPOCH_BITS */
    uint32_t epoch;
    /* number of the rate that sampled it */
    uint16_t rate;
};

enum {
    ALQI_CLI_TIME_BITS = 48,
    ALQI_CLI_SAMPLES_BITS = 16,
    ALQI_CLI_RATE_BITS = 8
};

/* A block as it is kept: 20 bytes, so a row packs well. */
struct alqi_cli_object {
    /* of its birth, if is_wide is not set: else that is in the map */
    uint64_t time_us : ALQI_CLI_TIME_BITS;
    uint64_t n_samples : ALQI_CLI_SAMPLES_BITS;
    uint32_t length;
    /* the caller's number of its site */
    uint32_t site;
    /* of the peak when it was born (analysis.c) */
    uint32_t epoch : ALQI_CLI_EPOCH_BITS;
    /* its birth does not fit the fields here */
    uint32_t is_wide : 1;
    /* it has left the minor heap */
    uint32_t is_promoted : 1;
    /* what leads to it: the caller's */
    uint32_t reach : 3;
    /* of its birth, as time_us */
    uint32_t rate : ALQI_CLI_RATE_BITS;
} __attribute__((packed, aligned(4)));

/* A block as it is used: the same, with full widths. */
struct alqi_cli_life {
    uint64_t time_us;
    uint64_t length;
    uint64_t n_samples;
    uint32_t site;
    uint32_t epoch;
    uint16_t rate;
    uint8_t reach;
    bool is_wide;
};

enum { ALQI_CLI_ROW = 64, ALQI_CLI_YOUNG_ROWS = 64 };

/* An open row: objects number * 64 to number * 64 + 63, each at its place. */
struct alqi_cli_young_row {
    /* of the row: the objects' numbers divided by 64 */
    uint64_t number;
    /* bits: the object lives */
    uint64_t alive;
    /* by number modulo 64 */
    struct alqi_cli_object objects[ALQI_CLI_ROW];
};

/* A closed row: the survivors, packed. */
struct alqi_cli_old_row {
    uint64_t number;
    uint64_t alive;
    /* bits: the object has a place in objects[]; a superset of alive */
    uint64_t kept;
    /* in order of their bits; NULL: the slot is free */
    struct alqi_cli_object *objects;
};

/* All live objects (objects.c). */
struct alqi_cli_objects {
    /* [ALQI_CLI_YOUNG_ROWS], at number modulo that */
    struct alqi_cli_young_row *young;
    /* hash table by row number */
    struct alqi_cli_old_row *old;
    /* rows in use; slots, a power of two */
    size_t n_old, n_old_slots;
    /* objects alive in all rows */
    size_t n_alive;
    /* id -> address of the birth that does not fit its object; owned */
    struct alqi_base_map wide;
};

void alqi_cli_objects_init(struct alqi_cli_objects *objects);
void alqi_cli_objects_free(struct alqi_cli_objects *objects);

/* The open row that has the place of that number; it may be another row. */
static inline struct alqi_cli_young_row *
alqi_cli_objects_young(const struct alqi_cli_objects *objects, uint64_t number)
{
    return &objects->young[number % ALQI_CLI_YOUNG_ROWS];
}

static inline uint64_t
alqi_cli_objects_bit(uint64_t id)
{
    return UINT64_C(1) << (id % ALQI_CLI_ROW);
}

/* Makes the open row the one of that number. */
void alqi_cli_objects_open_slow(struct alqi_cli_objects *objects,
                                struct alqi_cli_young_row *row,
                                uint64_t number);
/* Keeps a birth that does not fit its object. */
void alqi_cli_objects_widen_slow(struct alqi_cli_objects *objects, uint64_t id,
                                 const struct alqi_cli_birth *birth);

static inline bool
alqi_cli_birth_is_wide(const struct alqi_cli_birth *birth)
{
    return birth->time_us >> ALQI_CLI_TIME_BITS != 0 ||
           birth->n_samples >> ALQI_CLI_SAMPLES_BITS != 0 ||
           birth->length > UINT32_MAX || birth->rate >> ALQI_CLI_RATE_BITS != 0;
}

/* NULL when the number is in use already.  All else in it is zero.  Pointers to
 * objects hold until the next add or take.  Inline, as take is, for exact
 * recordings have tens of millions of blocks. */
static inline struct alqi_cli_object *
alqi_cli_objects_add(struct alqi_cli_objects *objects, uint64_t id,
                     struct alqi_cli_birth birth)
{
    uint64_t number = id / ALQI_CLI_ROW;
    struct alqi_cli_young_row *row = alqi_cli_objects_young(objects, number);
    struct alqi_cli_object *object = &row->objects[id % ALQI_CLI_ROW];

    if (ALQI_UNLIKELY(row->number != number))
        alqi_cli_objects_open_slow(objects, row, number);
    if (ALQI_UNLIKELY((row->alive & alqi_cli_objects_bit(id)) != 0))
        return NULL;
    row->alive |= alqi_cli_objects_bit(id);
    objects->n_alive++;
    *object = (struct alqi_cli_object){
        .time_us = birth.time_us & ((UINT64_C(1) << ALQI_CLI_TIME_BITS) - 1),
        .n_samples = (uint16_t)birth.n_samples,
        .length = (uint32_t)birth.length,
        .epoch = birth.epoch & ((UINT32_C(1) << ALQI_CLI_EPOCH_BITS) - 1),
        .rate = (uint8_t)birth.rate,
    };
    if (ALQI_UNLIKELY(alqi_cli_birth_is_wide(&birth))) {
        object->is_wide = true;
        alqi_cli_objects_widen_slow(objects, id, &birth);
    }
    return object;
}

/* The object, left where it is; NULL: it is not there. */
struct alqi_cli_object *
alqi_cli_objects_find(const struct alqi_cli_objects *objects, uint64_t id);

/* The birth of that object that does not fit it, into `life`. */
void alqi_cli_objects_wide_slow(const struct alqi_cli_objects *objects,
                                uint64_t id, struct alqi_cli_life *life);

/* Widens an object that add, find or next returned. */
static inline void
alqi_cli_objects_read(const struct alqi_cli_objects *objects, uint64_t id,
                      const struct alqi_cli_object *object,
                      struct alqi_cli_life *life)
{
    life->time_us = object->time_us;
    life->length = object->length;
    life->n_samples = object->n_samples;
    life->site = object->site;
    life->epoch = object->epoch;
    life->rate = object->rate;
    life->reach = object->reach;
    life->is_wide = object->is_wide;
    if (ALQI_UNLIKELY(life->is_wide))
        alqi_cli_objects_wide_slow(objects, id, life);
}

/* The same as take, of an object that is not in an open row. */
bool alqi_cli_objects_take_old(struct alqi_cli_objects *objects, uint64_t id,
                               struct alqi_cli_life *life);
/* Drops the birth that did not fit. */
void alqi_cli_objects_forget_slow(struct alqi_cli_objects *objects,
                                  uint64_t id);

/* Takes the object out; false when it is not there. */
static inline bool
alqi_cli_objects_take(struct alqi_cli_objects *objects, uint64_t id,
                      struct alqi_cli_life *life)
{
    uint64_t number = id / ALQI_CLI_ROW;
    struct alqi_cli_young_row *row = alqi_cli_objects_young(objects, number);

    if (row->number == number) {
        if ((row->alive & alqi_cli_objects_bit(id)) == 0)
            return false;
        alqi_cli_objects_read(objects, id, &row->objects[id % ALQI_CLI_ROW],
                              life);
        row->alive &= ~alqi_cli_objects_bit(id);
    } else if (!alqi_cli_objects_take_old(objects, id, life)) {
        return false;
    }
    objects->n_alive--;
    if (ALQI_UNLIKELY(life->is_wide))
        alqi_cli_objects_forget_slow(objects, id);
    return true;
}

/* Those that are alive, one after the other, from *at = 0 on; NULL after the
 * last. */
struct alqi_cli_object *
alqi_cli_objects_next(const struct alqi_cli_objects *objects, size_t *at,
                      uint64_t *id);

#endif
