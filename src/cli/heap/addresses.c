/* addresses.c -- bits by fields of memory, and counts in front of them
 *                                                              [addresses.h] */
#include "cli/heap/addresses.h"

#include <stdlib.h>

#include "cli/tool/cli.h"

static struct alqi_cli_heap_field *
field_new(struct alqi_cli_heap_addresses *set, uint64_t index)
{
    if (set->high == 0 || index < set->low)
        set->low = index;
    if (index >= set->high)
        set->high = index + 1;
    return alqi_cli_zeros(1, sizeof(struct alqi_cli_heap_field));
}

static struct alqi_cli_heap_granule *
granule_at(struct alqi_cli_heap_addresses *set, uint64_t address)
{
    struct alqi_cli_heap_field **field;
    struct alqi_cli_heap_granule **granule;

    if (set->fields == NULL) /* pages that are not touched cost nothing */
        set->fields = calloc(ALQI_CLI_HEAP_FIELDS, sizeof *set->fields);
    if (set->fields == NULL)
        alqi_cli_die("heap: no memory for the places of blocks");
    field = &set->fields[address >> ALQI_CLI_HEAP_FIELD_BITS];
    if (*field == NULL)
        *field = field_new(set, address >> ALQI_CLI_HEAP_FIELD_BITS);
    granule = &(*field)->granules[address >> ALQI_CLI_HEAP_GRANULE_BITS &
                                  (ALQI_CLI_HEAP_GRANULES - 1)];
    if (*granule == NULL) {
        *granule = alqi_cli_zeros(1, sizeof **granule);
        set->n_places++;
    }
    return *granule;
}

bool
alqi_cli_heap_addresses_add(struct alqi_cli_heap_addresses *set,
                            uint64_t address, bool is_inner)
{
    struct alqi_cli_heap_cell *cell;
    uint64_t bit = (uint64_t)1 << (address >> 3 & 63);

    if (address >> ALQI_CLI_HEAP_ADDRESS_BITS != 0 || address % 8 != 0)
        return false;
    cell = &granule_at(set, address)
                ->cells[address >> ALQI_CLI_HEAP_CELL_BITS &
                        (ALQI_CLI_HEAP_CELLS - 1)];
    set->n_twice += (cell->all & bit) != 0;
    cell->all |= bit;
    cell->inner |= is_inner ? bit : 0;
    return true;
}

/* .inv.counted of one granule; the counts of all before it are n_inner and
 * n_leaves. */
static bool
granule_count(struct alqi_cli_heap_granule *granule, uint64_t *n_inner,
              uint64_t *n_leaves)
{
    for (unsigned i = 0; i < ALQI_CLI_HEAP_CELLS; i++) {
        struct alqi_cli_heap_cell *cell = &granule->cells[i];

        cell->n_inner = (uint32_t)*n_inner;
        cell->n_leaves = (uint32_t)*n_leaves;
        *n_inner += alqi_cli_heap_bits(cell->inner);
        *n_leaves += alqi_cli_heap_bits(cell->all & ~cell->inner);
    }
    return *n_inner < ALQI_CLI_HEAP_LEAF && *n_leaves < ALQI_CLI_HEAP_LEAF;
}

static void
places_fill(struct alqi_cli_heap_addresses *set)
{
    uint32_t n = 0;

    set->places = alqi_cli_zeros(set->n_places + 1, sizeof *set->places);
    for (uint64_t f = set->low; f < set->high; f++)
        for (uint64_t g = 0;
             set->fields[f] != NULL && g < ALQI_CLI_HEAP_GRANULES; g++)
            if (set->fields[f]->granules[g] != NULL)
                set->places[n++] = (struct alqi_cli_heap_place){
                    f << ALQI_CLI_HEAP_FIELD_BITS |
                        g << ALQI_CLI_HEAP_GRANULE_BITS,
                    set->fields[f]->granules[g]};
}

bool
alqi_cli_heap_addresses_seal(struct alqi_cli_heap_addresses *set)
{
    uint64_t n_inner = 0, n_leaves = 0;

    places_fill(set);
    for (uint32_t i = 0; i < set->n_places; i++)
        if (!granule_count(set->places[i].granule, &n_inner, &n_leaves))
            return false;
    set->n_inner = (uint32_t)n_inner;
    set->n_leaves = (uint32_t)n_leaves;
    return true;
}

void
alqi_cli_heap_addresses_free(struct alqi_cli_heap_addresses *set)
{
    for (uint64_t f = set->low; f < set->high; f++) {
        for (uint32_t g = 0;
             set->fields[f] != NULL && g < ALQI_CLI_HEAP_GRANULES; g++)
            free(set->fields[f]->granules[g]);
        free(set->fields[f]);
    }
    free(set->fields);
    free(set->places);
    *set = (struct alqi_cli_heap_addresses){0};
}

/* ---- numbers to addresses ------------------------------------------------ */

static uint32_t
before(const struct alqi_cli_heap_cell *cell, bool is_leaf)
{
    return is_leaf ? cell->n_leaves : cell->n_inner;
}

/* The last of n cells, `step` bytes apart, in front of which there are `number`
 * blocks at most. */
static const struct alqi_cli_heap_cell *
cell_of(const struct alqi_cli_heap_granule *granule, uint32_t number,
        bool is_leaf)
{
    unsigned low = 0, high = ALQI_CLI_HEAP_CELLS;

    while (high - low > 1) {
        unsigned middle = (low + high) / 2;

        if (before(&granule->cells[middle], is_leaf) <= number)
            low = middle;
        else
            high = middle;
    }
    return &granule->cells[low];
}

static const struct alqi_cli_heap_place *
place_of(const struct alqi_cli_heap_addresses *set, uint32_t number,
         bool is_leaf)
{
    uint32_t low = 0, high = set->n_places;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (before(set->places[middle].granule->cells, is_leaf) <= number)
            low = middle;
        else
            high = middle;
    }
    return &set->places[low];
}

uint64_t
alqi_cli_heap_address(const struct alqi_cli_heap_addresses *set,
                      uint32_t number)
{
    bool is_leaf = (number & ALQI_CLI_HEAP_LEAF) != 0;
    uint32_t n = number & ~ALQI_CLI_HEAP_LEAF;
    const struct alqi_cli_heap_place *place = place_of(set, n, is_leaf);
    const struct alqi_cli_heap_cell *cell = cell_of(place->granule, n, is_leaf);
    uint64_t bits = is_leaf ? cell->all & ~cell->inner : cell->inner;

    for (n -= before(cell, is_leaf); n > 0; n--)
        bits &= bits - 1;
    return place->address +
           ((uint64_t)(cell - place->granule->cells)
            << ALQI_CLI_HEAP_CELL_BITS) +
           (uint64_t)__builtin_ctzll(bits) * 8;
}
