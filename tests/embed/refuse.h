/* refuse.h -- a system that refuses memory, for tests
 *
 * The program is linked with --wrap for the calls in refuse.c. */
#ifndef ALQI_EMBED_REFUSE_H
#define ALQI_EMBED_REFUSE_H

#include <stdbool.h>
#include <stdint.h>

struct refuse {
    uint64_t calls; /* for memory, so far */
    uint64_t from;  /* the first one that fails, from 1; 0: none */
    uint64_t n;     /* so many in a row fail */
    bool armed;
};

extern struct refuse refuse;

/* Counts a call that may be refused; whether it is. */
bool refuse_one(void);

/* From now on calls from `from` on fail, n of them. */
void refuse_begin(uint64_t from, uint64_t n);

#endif
