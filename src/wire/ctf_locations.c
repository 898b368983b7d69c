/* ctf_locations.c -- interned names, and locations by code
 *
 * Both are maps of base/map, whose keys are hashed with the seed already: two
 * names of one hash are chained, a code's hash is its own.
 *
 * .inv.counted  A map is grown only by as much as the arena's limit leaves, and
 *               is counted there: the ceiling holds for all together. */
#include <string.h>

#include "base/base.h"
#include "wire/ctf_locations.h"

/* A name, and the next one with the same hash. */
struct name {
    struct name *next;
    char text[];
};

void
alqi_wire_locations_init(struct alqi_wire_locations *locations, uint64_t seed,
                         size_t limit_bytes)
{
    *locations = (struct alqi_wire_locations){
        .arena = {.limit_bytes = limit_bytes}, .seed = seed};
}

void
alqi_wire_locations_drop(struct alqi_wire_locations *locations)
{
    alqi_base_map_clear(&locations->names);
    alqi_base_map_clear(&locations->codes);
    alqi_base_arena_drop(&locations->arena);
}

/* Seeded hash of a text, eight bytes at a time. */
static uint64_t
text_hash(uint64_t seed, const char *text, size_t n_bytes)
{
    uint64_t h = seed ^ n_bytes;
    uint64_t word = 0;

    for (; n_bytes >= sizeof word; n_bytes -= sizeof word) {
        memcpy(&word, text, sizeof word);
        h = alqi_base_mix(h ^ word);
        text += sizeof word;
    }
    word = 0;
    memcpy(&word, text, n_bytes);
    return alqi_base_mix(h ^ word);
}

/* The map grows when half of its slots are used. */
static size_t
growth_bytes(const struct alqi_base_map *map)
{
    enum { FIRST = 64 };

    if (2 * (map->n_used + 1) <= map->n_slots)
        return 0;
    return (map->n_slots != 0 ? map->n_slots : FIRST) * sizeof *map->slots;
}

/* As alqi_base_map_at, within the ceiling (.inv.counted). */
static uint64_t *
map_at(struct alqi_wire_locations *locations, struct alqi_base_map *map,
       uint64_t key, bool *is_new)
{
    struct alqi_base_arena *arena = &locations->arena;
    size_t more_bytes = growth_bytes(map);
    uint64_t *at;

    if (arena->limit_bytes != 0 &&
        more_bytes > arena->limit_bytes - arena->n_bytes)
        return NULL;
    at = alqi_base_map_at(map, key, is_new);
    if (at != NULL)
        arena->n_bytes += more_bytes;
    return at;
}

const char *
alqi_wire_locations_name(struct alqi_wire_locations *locations,
                         const char *text)
{
    size_t n_bytes = strlen(text);
    uint64_t hash = text_hash(locations->seed, text, n_bytes);
    bool is_new;
    uint64_t *first = map_at(locations, &locations->names, hash, &is_new);
    struct name *name;

    if (first == NULL)
        return NULL;
    for (name = (struct name *)(uintptr_t)*first; name != NULL;
         name = name->next)
        if (strcmp(name->text, text) == 0)
            return name->text;
    name = alqi_base_arena_take(&locations->arena, sizeof *name + n_bytes + 1);
    if (name == NULL)
        return NULL;
    name->next = (struct name *)(uintptr_t)*first;
    memcpy(name->text, text, n_bytes + 1);
    *first = (uintptr_t)name;
    return name->text;
}

/* Readers of the format tell codes apart by their low 63 bits. */
static uint64_t
code_key(const struct alqi_wire_locations *locations, uint64_t code)
{
    return locations->seed ^ code << 1;
}

const struct alqi_ctf_location *
alqi_wire_locations_find(const struct alqi_wire_locations *locations,
                         uint64_t code)
{
    uint64_t location = 0;

    alqi_base_map_get(&locations->codes, code_key(locations, code), &location);
    return (const struct alqi_ctf_location *)(uintptr_t)location;
}

const struct alqi_ctf_location *
alqi_wire_locations_add(struct alqi_wire_locations *locations,
                        const struct alqi_ctf_location *location)
{
    size_t entries_bytes = location->n_entries * sizeof location->entries[0];
    struct alqi_ctf_location *copy;
    uint64_t *at;
    bool is_new;

    copy =
        alqi_base_arena_take(&locations->arena, sizeof *copy + entries_bytes);
    if (copy == NULL)
        return NULL;
    at = map_at(locations, &locations->codes,
                code_key(locations, location->code), &is_new);
    if (at == NULL)
        return NULL;
    copy->code = location->code;
    copy->n_entries = location->n_entries;
    copy->entries = (struct alqi_ctf_entry *)(copy + 1);
    if (entries_bytes != 0)
        memcpy(copy + 1, location->entries, entries_bytes);
    *at = (uintptr_t)copy;
    return copy;
}

static bool
entry_equal(const struct alqi_ctf_entry *a, const struct alqi_ctf_entry *b)
{
    return a->file == b->file && a->function == b->function &&
           a->line == b->line && a->start_column == b->start_column &&
           a->end_column == b->end_column;
}

bool
alqi_wire_locations_equal(const struct alqi_ctf_location *a,
                          const struct alqi_ctf_location *b)
{
    if (a->n_entries != b->n_entries)
        return false;
    for (uint32_t i = 0; i < a->n_entries; i++)
        if (!entry_equal(&a->entries[i], &b->entries[i]))
            return false;
    return true;
}
