/* intern.c -- see intern.h
 *
 * Open addressing with linear probes, beside an array of rows that only grows.
 * The array has room for as many rows as half of the slots can name. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/intern.h"

enum { SLOTS_FIRST = 64 };

static const uint32_t SLOTS_MOST = UINT32_C(1) << 31;

/* Two words a step: rows are short, and looked up more often than added. */
static inline uint64_t
row_hash(const uint32_t *row, uint32_t n_words)
{
    uint64_t hash = n_words % 2 != 0 ? row[n_words - 1] : 0;

    for (uint32_t k = 0; k + 1 < n_words; k += 2)
        hash = alqi_base_mix(hash ^ ((uint64_t)row[k] << 32 | row[k + 1]));
    return n_words == 1 ? alqi_base_mix(hash) : hash;
}

static inline bool
is_same(const uint32_t *a, const uint32_t *b, uint32_t n_words)
{
    while (n_words > 0 && *a == *b) {
        a++;
        b++;
        n_words--;
    }
    return n_words == 0;
}

/* The slot that names the row, or the free one where it would go. */
static uint32_t *
slot_find(const struct alqi_base_intern *t, const uint32_t *row)
{
    uint32_t mask = t->n_slots - 1;
    uint32_t i = (uint32_t)row_hash(row, t->n_words) & mask;

    while (t->slots[i] != 0 &&
           !is_same(&t->words[(size_t)(t->slots[i] - 1) * t->n_words], row,
                    t->n_words))
        i = (i + 1) & mask;
    return &t->slots[i];
}

static ALQI_NOINLINE bool
grow(struct alqi_base_intern *t)
{
    uint32_t n_slots = t->n_slots != 0 ? 2 * t->n_slots : SLOTS_FIRST;
    uint32_t *slots, *words;

    if (t->n_slots == SLOTS_MOST)
        return false;
    words = reallocarray(t->words, n_slots / 2, t->n_words * sizeof *words);
    if (words != NULL)
        t->words = words;
    slots = words != NULL ? calloc(n_slots, sizeof *slots) : NULL;
    if (slots == NULL)
        return false;
    free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    for (uint32_t i = 0; i < t->n; i++)
        *slot_find(t, &t->words[(size_t)i * t->n_words]) = i + 1;
    return true;
}

uint32_t
alqi_base_intern(struct alqi_base_intern *t, const uint32_t *row)
{
    uint32_t *slot;

    if (ALQI_UNLIKELY(2 * (uint64_t)(t->n + 1) > t->n_slots) && !grow(t))
        return ALQI_BASE_INTERN_NONE;
    slot = slot_find(t, row);
    if (*slot == 0) {
        memcpy(&t->words[(size_t)t->n * t->n_words], row,
               t->n_words * sizeof *row);
        *slot = ++t->n;
    }
    return *slot - 1;
}

void
alqi_base_intern_clear(struct alqi_base_intern *t)
{
    free(t->words);
    free(t->slots);
    *t = (struct alqi_base_intern){.n_words = t->n_words};
}
