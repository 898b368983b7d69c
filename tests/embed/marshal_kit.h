/* marshal_kit.h -- what the tests of messages share */
#ifndef ALQI_EMBED_MARSHAL_KIT_H
#define ALQI_EMBED_MARSHAL_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"

/* A fresh domain for each test. */
extern struct alq_domain *d;
int setup(void **state);
int teardown(void **state);

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Below n; the same numbers in each test. */
uint32_t rnd(uint32_t n);
int64_t rnd_any(void);

enum { HAND_MAX = 8192 };

/* A message by hand. */
struct hand {
    unsigned char bytes[HAND_MAX];
    size_t n;
};

void number(struct hand *m, uint64_t n, unsigned bytes);

/* A small header, then `data`, whose length is n. */
struct hand hand(const void *data, size_t n, uint64_t objects, uint64_t words);

/* A big one. */
struct hand hand_big(const void *data, size_t n, uint64_t objects,
                     uint64_t words);

/* Writes v, and compares all behind the header with `data`, whose length is
 * n. */
void bytes_are(alq_value v, unsigned flags, const void *data, size_t n,
               uint64_t objects, uint64_t words);

#define BYTES(v, flags, data, objects, words)                                  \
    bytes_are(v, flags, data, sizeof(data) - 1, objects, words)

alq_value pair(alq_value a, alq_value b);
alq_value number_custom(const struct alq_custom_ops *ops, int64_t n);

/* A custom block that holds a count of bytes, and these. */
alq_value box(const char *text);
extern const struct alq_custom_ops dumb_ops; /* cannot be written */
extern const struct alq_custom_ops *const kinds[];
extern unsigned n_finalised; /* boxes */
extern bool refuse_box;      /* to write or read one */

/* Whether b is a, but elsewhere; nothing is allocated in the heap. */
void is_twin(alq_value a, alq_value b);

/* A block of n others, each of which leads to any of them. */
alq_value graph(uint32_t n);

#endif
