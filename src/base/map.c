#include <stdlib.h>

#include "base/base.h"
#include "base/map.h"

enum { SLOTS_MIN = 64 };

static size_t
home(const struct alqi_base_map *map, uint64_t key)
{
    return (size_t)alqi_base_mix(key) & (map->n_slots - 1);
}

/* The key's slot, or the empty one where it would go. */
static struct alqi_base_map_slot *
slot_find(const struct alqi_base_map *map, uint64_t key)
{
    size_t i = home(map, key);

    while (map->slots[i].is_used && map->slots[i].key != key)
        i = (i + 1) & (map->n_slots - 1);
    return &map->slots[i];
}

static bool
grow(struct alqi_base_map *map)
{
    struct alqi_base_map bigger = {.n_used = map->n_used};

    bigger.n_slots = map->n_slots != 0 ? 2 * map->n_slots : SLOTS_MIN;
    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    if (bigger.slots == NULL)
        return false;
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].is_used)
            *slot_find(&bigger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = bigger;
    return true;
}

bool
alqi_base_map_put(struct alqi_base_map *map, uint64_t key, uint64_t value)
{
    struct alqi_base_map_slot *slot;

    if (4 * (map->n_used + 1) > 3 * map->n_slots && !grow(map))
        return false;
    slot = slot_find(map, key);
    map->n_used += !slot->is_used;
    *slot = (struct alqi_base_map_slot){key, value, true};
    return true;
}

bool
alqi_base_map_get(const struct alqi_base_map *map, uint64_t key,
                  uint64_t *value)
{
    const struct alqi_base_map_slot *slot;

    if (map->n_used == 0)
        return false;
    slot = slot_find(map, key);
    if (slot->is_used)
        *value = slot->value;
    return slot->is_used;
}

/* Moves later members of the run into the hole, so that every key stays
 * reachable from its home without passing an empty slot. */
static void
hole_close(struct alqi_base_map *map, size_t hole)
{
    size_t mask = map->n_slots - 1;

    for (size_t i = (hole + 1) & mask; map->slots[i].is_used;
         i = (i + 1) & mask) {
        size_t want = home(map, map->slots[i].key);

        if (((i - want) & mask) < ((i - hole) & mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].is_used = false;
}

bool
alqi_base_map_take(struct alqi_base_map *map, uint64_t key, uint64_t *value)
{
    struct alqi_base_map_slot *slot;

    if (map->n_used == 0)
        return false;
    slot = slot_find(map, key);
    if (!slot->is_used)
        return false;
    *value = slot->value;
    map->n_used--;
    hole_close(map, (size_t)(slot - map->slots));
    return true;
}

void
alqi_base_map_clear(struct alqi_base_map *map)
{
    free(map->slots);
    *map = (struct alqi_base_map){0};
}
