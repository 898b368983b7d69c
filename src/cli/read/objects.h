/* objects.h -- the sampled blocks that are alive, by object number
 *
 * Memory grows with the blocks that are alive: 28 bytes each when those born
 * together live together, up to 128 when one of 64 neighbours survives. */
#ifndef ALQI_CLI_READ_OBJECTS_H
#define ALQI_CLI_READ_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum { ALQI_CLI_EPOCH_BITS = 28 };

/* A block as it is kept: 28 bytes, so a row packs well. */
struct alqi_cli_object {
    /* of its birth; the unit and origin are the caller's */
    uint64_t time_us;
    /* UINT32_MAX: the length is in wide_lengths */
    uint32_t length_low;
    /* UINT32_MAX: the number is in wide_samples */
    uint32_t n_samples_low;
    /* the caller's number of its site */
    uint32_t site;
    /* of the peak when it was born (analysis.c) */
    uint32_t epoch : ALQI_CLI_EPOCH_BITS;
    /* it has left the minor heap */
    uint32_t is_promoted : 1;
    /* enum alqi_view_reach */
    uint32_t reach : 3;
    /* number of the rate that sampled it */
    uint16_t rate;
    /* of its birth; the domain where threads are not known */
    uint16_t thread;
} __attribute__((packed, aligned(4)));

/* A block as it is used: the same, with full widths. */
struct alqi_cli_life {
    uint64_t time_us;
    uint64_t length;
    uint64_t n_samples;
    uint32_t site;
    uint32_t epoch;
    uint16_t rate;
    uint16_t thread;
    uint8_t reach;
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
    /* values that do not fit 32 bits, by id */
    struct alqi_base_map wide_lengths, wide_samples;
};

void alqi_cli_objects_init(struct alqi_cli_objects *objects);
void alqi_cli_objects_free(struct alqi_cli_objects *objects);

/* NULL when the number is in use already.  All else in it is zero.  Pointers to
 * objects hold until the next add or take. */
struct alqi_cli_object *alqi_cli_objects_add(struct alqi_cli_objects *objects,
                                             uint64_t id, uint64_t length,
                                             uint64_t n_samples);
/* The object, left where it is; NULL: it is not there. */
struct alqi_cli_object *
alqi_cli_objects_find(const struct alqi_cli_objects *objects, uint64_t id);

/* Takes the object out; false when it is not there. */
bool alqi_cli_objects_take(struct alqi_cli_objects *objects, uint64_t id,
                           struct alqi_cli_life *life);

/* Widens an object that add, find or next returned. */
void alqi_cli_objects_read(const struct alqi_cli_objects *objects, uint64_t id,
                           const struct alqi_cli_object *object,
                           struct alqi_cli_life *life);

/* Those that are alive, one after the other, from *at = 0 on; NULL after the
 * last. */
struct alqi_cli_object *
alqi_cli_objects_next(const struct alqi_cli_objects *objects, size_t *at,
                      uint64_t *id);

#endif
