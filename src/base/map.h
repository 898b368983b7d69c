/* map.h -- 64-bit numbers to 64-bit numbers, for tools (uses malloc)
 *
 * Open addressing, linear probes, removal without tombstones: size follows
 * what is in the map, not what was.  At most half of the slots are used. */
#ifndef ALQI_BASE_MAP_H
#define ALQI_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* .inv.zero  A slot of key 0 is empty: what key 0 is mapped to stands apart. */
struct alqi_base_map_slot {
    uint64_t key;
    uint64_t value;
};

/* All zeros is an empty map. */
struct alqi_base_map {
    struct alqi_base_map_slot *slots;
    size_t n_slots; /* 0 or a power of two */
    size_t n_used;  /* key 0 included */
    uint64_t zero_value;
    bool has_zero;
};

/* False when there is no memory: the map is as it was. */
bool alqi_base_map_put(struct alqi_base_map *map, uint64_t key, uint64_t value);
bool alqi_base_map_get(const struct alqi_base_map *map, uint64_t key,
                       uint64_t *value);
/* Where the key's value stands, until the map is changed again; *is_new, and
 * the value 0, when it was not there.  NULL when there is no memory. */
uint64_t *alqi_base_map_at(struct alqi_base_map *map, uint64_t key,
                           bool *is_new);
/* False when the key is not there. */
bool alqi_base_map_take(struct alqi_base_map *map, uint64_t key,
                        uint64_t *value);
/* Goes through what is in the map, in no order: *at begins with 0. */
bool alqi_base_map_next(const struct alqi_base_map *map, size_t *at,
                        uint64_t *key, uint64_t *value);
void alqi_base_map_clear(struct alqi_base_map *map);

static inline size_t
alqi_base_map_home(const struct alqi_base_map *map, uint64_t key)
{
    return (size_t)alqi_base_mix(key) & (map->n_slots - 1);
}

/* The key will be asked for soon. */
static inline void
alqi_base_map_prefetch(const struct alqi_base_map *map, uint64_t key)
{
    if (map->n_slots > 0)
        __builtin_prefetch(&map->slots[alqi_base_map_home(map, key)], 1);
}

#endif
