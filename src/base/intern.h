/* intern.h -- rows of 32-bit words, each kept once and known by a number, for
 * tools (uses malloc)
 *
 * Numbers go from 0 on, in the order in which rows are first met. */
#ifndef ALQI_BASE_INTERN_H
#define ALQI_BASE_INTERN_H

#include <stdint.h>

enum { ALQI_BASE_INTERN_NONE = UINT32_MAX };

/* Empty when all is zero but n_words, which must not be. */
struct alqi_base_intern {
    uint32_t n_words; /* of each row */
    uint32_t n;       /* rows; also the number of the next new one */
    uint32_t *words;  /* the rows, in order of their numbers */
    uint32_t *slots;  /* a row's number + 1; 0: free; at most half are used */
    uint32_t n_slots; /* 0 or a power of two */
};

/* The row's number: the n of before the call when the row is new.
 * ALQI_BASE_INTERN_NONE when there is no memory: the table is as it was. */
uint32_t alqi_base_intern(struct alqi_base_intern *table, const uint32_t *row);
/* Empty again, for rows as long as before. */
void alqi_base_intern_clear(struct alqi_base_intern *table);

#endif
