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

enum { ALQI_CLI_EPOCH_BITS = 31 };

/* As it is kept. */
struct alqi_cli_object {
    uint64_t time_us;
    uint32_t length_low;    /* UINT32_MAX: see objects.wide_lengths */
    uint32_t n_samples_low; /* UINT32_MAX: see objects.wide_samples */
    uint32_t site;
    uint32_t epoch : ALQI_CLI_EPOCH_BITS; /* see analysis.c */
    uint32_t is_promoted : 1;
    uint16_t rate;   /* that sampled it */
    uint16_t thread; /* or domain, where threads are not known */
} __attribute__((packed, aligned(4)));

/* As it is used. */
struct alqi_cli_life {
    uint64_t time_us;
    uint64_t length;
    uint64_t n_samples;
    uint32_t site;
    uint32_t epoch;
    uint16_t rate;
    uint16_t thread;
};

enum { ALQI_CLI_ROW = 64, ALQI_CLI_YOUNG_ROWS = 64 };

/* Neighbours: objects number * 64 to number * 64 + 63. */
struct alqi_cli_young_row {
    uint64_t number;
    uint64_t alive; /* bits */
    struct alqi_cli_object objects[ALQI_CLI_ROW];
};

struct alqi_cli_old_row {
    uint64_t number;
    uint64_t alive;
    uint64_t kept;                   /* bits: has a place in objects[] */
    struct alqi_cli_object *objects; /* NULL: the slot is free */
};

struct alqi_cli_objects {
    struct alqi_cli_young_row *young; /* [ALQI_CLI_YOUNG_ROWS] */
    struct alqi_cli_old_row *old;     /* by number, hashed */
    size_t n_old, n_old_slots;        /* slots: a power of two */
    size_t n_alive;
    struct alqi_base_map wide_lengths, wide_samples; /* by id */
};

void alqi_cli_objects_init(struct alqi_cli_objects *objects);
void alqi_cli_objects_free(struct alqi_cli_objects *objects);

/* NULL when the number is in use already.  All else in it is zero.  Pointers to
 * objects hold until the next add or take. */
struct alqi_cli_object *alqi_cli_objects_add(struct alqi_cli_objects *objects,
                                             uint64_t id, uint64_t length,
                                             uint64_t n_samples);
struct alqi_cli_object *
alqi_cli_objects_find(const struct alqi_cli_objects *objects, uint64_t id);

/* Takes the object out; false when it is not there. */
bool alqi_cli_objects_take(struct alqi_cli_objects *objects, uint64_t id,
                           struct alqi_cli_life *life);

void alqi_cli_objects_read(const struct alqi_cli_objects *objects, uint64_t id,
                           const struct alqi_cli_object *object,
                           struct alqi_cli_life *life);

/* Those that are alive, one after the other, from *at = 0 on; NULL after the
 * last. */
struct alqi_cli_object *
alqi_cli_objects_next(const struct alqi_cli_objects *objects, size_t *at,
                      uint64_t *id);

#endif
