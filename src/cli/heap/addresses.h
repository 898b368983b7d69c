/* addresses.h -- blocks by address                [doc/design/heap-snapshot]
 *
 * A bit for each word of the heap says whether a block begins there, and a
 * second one whether it leads to others: an inner block, else a leaf.  Inner
 * blocks and leaves are numbered apart, each in the order of addresses.
 *
 * States: filled (_add) -> sealed (_seal) -> asked (_find, _address).
 *
 * .inv.counted  In a sealed set each cell has the numbers of the first inner
 *               block and of the first leaf at or behind it. */
#ifndef ALQI_CLI_HEAP_ADDRESSES_H
#define ALQI_CLI_HEAP_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ALQI_CLI_HEAP_CELL_BITS = 9,     /* bytes of memory of a cell: 64 words */
    ALQI_CLI_HEAP_GRANULE_BITS = 16, /* ... of a granule  */
    ALQI_CLI_HEAP_FIELD_BITS = 26,   /* ... of a field    */
    ALQI_CLI_HEAP_ADDRESS_BITS = 48, /* no process has more */
    ALQI_CLI_HEAP_CELLS =
        1 << (ALQI_CLI_HEAP_GRANULE_BITS - ALQI_CLI_HEAP_CELL_BITS),
    ALQI_CLI_HEAP_GRANULES =
        1 << (ALQI_CLI_HEAP_FIELD_BITS - ALQI_CLI_HEAP_GRANULE_BITS),
    ALQI_CLI_HEAP_FIELDS =
        1 << (ALQI_CLI_HEAP_ADDRESS_BITS - ALQI_CLI_HEAP_FIELD_BITS)
};

/* A block's number: of an inner block, or with this bit of a leaf. */
#define ALQI_CLI_HEAP_LEAF ((uint32_t)1 << 31)
#define ALQI_CLI_HEAP_NONE UINT32_MAX

struct alqi_cli_heap_cell {
    uint64_t all, inner;        /* bit i: word i begins a block, an inner one */
    uint32_t n_inner, n_leaves; /* blocks in front of the cell */
};

struct alqi_cli_heap_granule {
    struct alqi_cli_heap_cell cells[ALQI_CLI_HEAP_CELLS];
};

struct alqi_cli_heap_field {
    struct alqi_cli_heap_granule *granules[ALQI_CLI_HEAP_GRANULES];
};

/* All zeros is an empty set. */
struct alqi_cli_heap_addresses {
    struct alqi_cli_heap_field **fields; /* of FIELDS; NULL: nothing there */
    struct alqi_cli_heap_place {
        uint64_t address; /* of the granule's first byte */
        struct alqi_cli_heap_granule *granule;
    } * places; /* by address, of a sealed set */
    uint32_t n_places;
    uint64_t low, high;         /* fields that are there lie in [low, high) */
    uint64_t n_twice;           /* blocks that were there already */
    uint32_t n_inner, n_leaves; /* of a sealed set */
};

/* False: the address is no block's of any process. */
bool alqi_cli_heap_addresses_add(struct alqi_cli_heap_addresses *set,
                                 uint64_t address, bool is_inner);
/* False: there are more blocks than numbers. */
bool alqi_cli_heap_addresses_seal(struct alqi_cli_heap_addresses *set);
void alqi_cli_heap_addresses_free(struct alqi_cli_heap_addresses *set);

/* The address of the block of that number. */
uint64_t alqi_cli_heap_address(const struct alqi_cli_heap_addresses *set,
                               uint32_t number);

/* Bits of a word; without an instruction for it the library's call costs
 * more. */
static inline uint32_t
alqi_cli_heap_bits(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
    return (uint32_t)(x * 0x0101010101010101u >> 56);
}

/* The cell of an address; NULL: no block is near. */
static inline const struct alqi_cli_heap_cell *
alqi_cli_heap_cell(const struct alqi_cli_heap_addresses *set, uint64_t address)
{
    const struct alqi_cli_heap_field *field;
    const struct alqi_cli_heap_granule *granule;

    if (address >> ALQI_CLI_HEAP_ADDRESS_BITS != 0 || set->fields == NULL)
        return NULL;
    field = set->fields[address >> ALQI_CLI_HEAP_FIELD_BITS];
    if (field == NULL)
        return NULL;
    granule = field->granules[address >> ALQI_CLI_HEAP_GRANULE_BITS &
                              (ALQI_CLI_HEAP_GRANULES - 1)];
    return granule == NULL
               ? NULL
               : &granule->cells[address >> ALQI_CLI_HEAP_CELL_BITS &
                                 (ALQI_CLI_HEAP_CELLS - 1)];
}

/* The number of the block at the address; NONE: there is none. */
static inline uint32_t
alqi_cli_heap_find(const struct alqi_cli_heap_addresses *set, uint64_t address)
{
    const struct alqi_cli_heap_cell *cell = alqi_cli_heap_cell(set, address);
    uint64_t bit = (uint64_t)1 << (address >> 3 & 63);

    if (cell == NULL || address % 8 != 0 || (cell->all & bit) == 0)
        return ALQI_CLI_HEAP_NONE;
    if ((cell->inner & bit) != 0)
        return cell->n_inner + alqi_cli_heap_bits(cell->inner & (bit - 1));
    return ALQI_CLI_HEAP_LEAF |
           (cell->n_leaves +
            alqi_cli_heap_bits(cell->all & ~cell->inner & (bit - 1)));
}

#endif
