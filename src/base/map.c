/* map.c -- open addressing with linear probes
 *
 *   no slots --the first key--> SLOTS_MIN --half are used--> twice as many
 *
 * .inv.reach  No slot from a key's home to the key's own is empty.  So a
 *             removal moves later keys into the hole, and leaves no tombstone.
 *
 * Keeps .inv.zero: Key 0 stands beside the slots, and counts in n_used. */
#include <stdlib.h>

#include "base/map.h"

enum { SLOTS_MIN = 64 };

/* The key's slot, or the empty one where it would go. */
static inline struct alqi_base_map_slot *
slot_find(const struct alqi_base_map *map, uint64_t key)
{
    size_t i = alqi_base_map_home(map, key);

    while (map->slots[i].key != 0 && map->slots[i].key != key)
        i = (i + 1) & (map->n_slots - 1);
    return &map->slots[i];
}

static ALQI_NOINLINE bool
grow(struct alqi_base_map *map)
{
    struct alqi_base_map bigger = *map;

    bigger.n_slots = map->n_slots != 0 ? 2 * map->n_slots : SLOTS_MIN;
    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].key != 0)
            *slot_find(&bigger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = bigger;
    return true;
}

static ALQI_COLD uint64_t *
zero_at(struct alqi_base_map *map, bool *is_new)
{
    *is_new = !map->has_zero;
    if (*is_new)
        map->zero_value = 0;
    map->n_used += *is_new;
    map->has_zero = true;
    return &map->zero_value;
}

uint64_t *
alqi_base_map_at(struct alqi_base_map *map, uint64_t key, bool *is_new)
{
    struct alqi_base_map_slot *slot;

    if (ALQI_UNLIKELY(key == 0))
        return zero_at(map, is_new);
    if (ALQI_UNLIKELY(2 * (map->n_used + 1) > map->n_slots) && !grow(map))
        return NULL;
    slot = slot_find(map, key);
    *is_new = slot->key == 0;
    if (*is_new)
        *slot = (struct alqi_base_map_slot){.key = key};
    map->n_used += *is_new;
    return &slot->value;
}

bool
alqi_base_map_put(struct alqi_base_map *map, uint64_t key, uint64_t value)
{
    bool is_new;
    uint64_t *at = alqi_base_map_at(map, key, &is_new);

    if (at != NULL)
        *at = value;
    return at != NULL;
}

bool
alqi_base_map_get(const struct alqi_base_map *map, uint64_t key,
                  uint64_t *value)
{
    const struct alqi_base_map_slot *slot;

    if (ALQI_UNLIKELY(key == 0)) {
        if (map->has_zero)
            *value = map->zero_value;
        return map->has_zero;
    }
    if (map->n_slots == 0)
        return false;
    slot = slot_find(map, key);
    if (slot->key != 0)
        *value = slot->value;
    return slot->key != 0;
}

/* Moves later members of the run into the hole, as .inv.reach requires. */
static inline void
hole_close(struct alqi_base_map *map, size_t hole)
{
    size_t mask = map->n_slots - 1;

    for (size_t i = (hole + 1) & mask; map->slots[i].key != 0;
         i = (i + 1) & mask) {
        size_t want = alqi_base_map_home(map, map->slots[i].key);

        if (((i - want) & mask) < ((i - hole) & mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].key = 0;
}

static ALQI_COLD bool
zero_take(struct alqi_base_map *map, uint64_t *value)
{
    if (!map->has_zero)
        return false;
    *value = map->zero_value;
    map->has_zero = false;
    map->n_used--;
    return true;
}

bool
alqi_base_map_take(struct alqi_base_map *map, uint64_t key, uint64_t *value)
{
    struct alqi_base_map_slot *slot;

    if (ALQI_UNLIKELY(key == 0))
        return zero_take(map, value);
    if (map->n_slots == 0)
        return false;
    slot = slot_find(map, key);
    if (slot->key == 0)
        return false;
    *value = slot->value;
    map->n_used--;
    hole_close(map, (size_t)(slot - map->slots));
    return true;
}

bool
alqi_base_map_next(const struct alqi_base_map *map, size_t *at, uint64_t *key,
                   uint64_t *value)
{
    while (*at < map->n_slots) {
        const struct alqi_base_map_slot *slot = &map->slots[(*at)++];

        if (slot->key == 0)
            continue;
        *key = slot->key;
        *value = slot->value;
        return true;
    }
    if (*at > map->n_slots || !map->has_zero)
        return false;
    (*at)++;
    *key = 0;
    *value = map->zero_value;
    return true;
}

void
alqi_base_map_clear(struct alqi_base_map *map)
{
    free(map->slots);
    *map = (struct alqi_base_map){0};
}
