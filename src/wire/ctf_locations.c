/* ctf_locations.c -- see locations.h */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wire/ctf_locations.h"

enum { CAPACITY_MIN = 256 };

struct alqi_wire_name {
    uint64_t hash;
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
    free(locations->names);
    free(locations->codes);
    alqi_base_arena_drop(&locations->arena);
    *locations = (struct alqi_wire_locations){0};
}

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

static uint64_t
code_hash(uint64_t seed, uint64_t code)
{
    return alqi_base_mix(seed ^ (code << 1));
}

/* A table twice the size, counted against the ceiling; NULL if refused. */
static void *
table_grown(struct alqi_wire_locations *locations, size_t capacity,
            size_t *grown)
{
    struct alqi_base_arena *arena = &locations->arena;
    size_t n = capacity == 0 ? CAPACITY_MIN : capacity * 2;
    size_t more_bytes = (n - capacity) * sizeof(void *);
    void *table;

    if (more_bytes > arena->limit_bytes - arena->n_bytes)
        return NULL;
    table = calloc(n, sizeof(void *));
    if (table == NULL)
        return NULL;
    arena->n_bytes += more_bytes;
    *grown = n;
    return table;
}

static void
names_place(struct alqi_wire_name **table, size_t capacity,
            struct alqi_wire_name *name)
{
    size_t i = name->hash & (capacity - 1);

    while (table[i] != NULL)
        i = (i + 1) & (capacity - 1);
    table[i] = name;
}

static bool
names_grow(struct alqi_wire_locations *locations)
{
    size_t n = 0;
    struct alqi_wire_name **grown;

    if (locations->n_names < locations->names_capacity / 2)
        return true;
    grown = table_grown(locations, locations->names_capacity, &n);
    if (grown == NULL)
        return false;
    for (size_t i = 0; i < locations->names_capacity; i++)
        if (locations->names[i] != NULL)
            names_place(grown, n, locations->names[i]);
    free(locations->names);
    locations->names = grown;
    locations->names_capacity = n;
    return true;
}

const char *
alqi_wire_locations_name(struct alqi_wire_locations *locations,
                         const char *text)
{
    size_t n_bytes = strlen(text);
    uint64_t hash = text_hash(locations->seed, text, n_bytes);
    struct alqi_wire_name *name;

    if (!names_grow(locations))
        return NULL;
    for (size_t i = hash & (locations->names_capacity - 1);
         (name = locations->names[i]) != NULL;
         i = (i + 1) & (locations->names_capacity - 1))
        if (name->hash == hash && strcmp(name->text, text) == 0)
            return name->text;

    name = alqi_base_arena_take(&locations->arena, sizeof *name + n_bytes + 1);
    if (name == NULL)
        return NULL;
    name->hash = hash;
    memcpy(name->text, text, n_bytes + 1);
    names_place(locations->names, locations->names_capacity, name);
    locations->n_names++;
    return name->text;
}

static void
codes_place(const struct alqi_wire_locations *locations,
            const struct alqi_ctf_location **table, size_t capacity,
            const struct alqi_ctf_location *location)
{
    size_t i = code_hash(locations->seed, location->code) & (capacity - 1);

    while (table[i] != NULL)
        i = (i + 1) & (capacity - 1);
    table[i] = location;
}

static bool
codes_grow(struct alqi_wire_locations *locations)
{
    size_t n = 0;
    const struct alqi_ctf_location **grown;

    if (locations->n_codes < locations->codes_capacity / 2)
        return true;
    grown = table_grown(locations, locations->codes_capacity, &n);
    if (grown == NULL)
        return false;
    for (size_t i = 0; i < locations->codes_capacity; i++)
        if (locations->codes[i] != NULL)
            codes_place(locations, grown, n, locations->codes[i]);
    free(locations->codes);
    locations->codes = grown;
    locations->codes_capacity = n;
    return true;
}

const struct alqi_ctf_location *
alqi_wire_locations_find(const struct alqi_wire_locations *locations,
                         uint64_t code)
{
    size_t mask = locations->codes_capacity - 1;
    const struct alqi_ctf_location *location;

    if (locations->n_codes == 0)
        return NULL;
    for (size_t i = code_hash(locations->seed, code) & mask;
         (location = locations->codes[i]) != NULL; i = (i + 1) & mask)
        if ((location->code << 1) == (code << 1))
            return location;
    return NULL;
}

const struct alqi_ctf_location *
alqi_wire_locations_add(struct alqi_wire_locations *locations,
                        const struct alqi_ctf_location *location)
{
    size_t entries_bytes = location->n_entries * sizeof location->entries[0];
    struct alqi_ctf_location *copy;

    if (!codes_grow(locations))
        return NULL;
    copy =
        alqi_base_arena_take(&locations->arena, sizeof *copy + entries_bytes);
    if (copy == NULL)
        return NULL;
    copy->code = location->code;
    copy->n_entries = location->n_entries;
    copy->entries = (struct alqi_ctf_entry *)(copy + 1);
    if (entries_bytes != 0)
        memcpy(copy + 1, location->entries, entries_bytes);
    codes_place(locations, locations->codes, locations->codes_capacity, copy);
    locations->n_codes++;
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
