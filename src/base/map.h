/* map.h -- 64-bit numbers to 64-bit numbers, for tools (uses malloc)
 *
 * Open addressing, linear probes, removal without tombstones: size follows
 * what is in the map, not what was. */
#ifndef ALQI_BASE_MAP_H
#define ALQI_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_base_map_slot {
    uint64_t key;
    uint64_t value;
    bool is_used;
};

/* All zeros is an empty map. */
struct alqi_base_map {
    struct alqi_base_map_slot *slots;
    size_t n_slots; /* 0 or a power of two */
    size_t n_used;
};

/* False when there is no memory: the map is as it was. */
bool alqi_base_map_put(struct alqi_base_map *map, uint64_t key, uint64_t value);
bool alqi_base_map_get(const struct alqi_base_map *map, uint64_t key,
                       uint64_t *value);
/* False when the key is not there. */
bool alqi_base_map_take(struct alqi_base_map *map, uint64_t key,
                        uint64_t *value);
void alqi_base_map_clear(struct alqi_base_map *map);

#endif
