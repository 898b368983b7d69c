/* heap_stack_kit.h -- a conservative thread, programs that root nothing, and
 * blocks that are known without being held: with their bits turned over */
#ifndef ALQI_EMBED_HEAP_STACK_KIT_H
#define ALQI_EMBED_HEAP_STACK_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"

enum {
    IS_HARD = ALQI_CHECKS >= 3,
    LARGE = 5000, /* fields */
    ROUNDS = IS_HARD ? 20 : 200,
    HIDDEN = 6
};

extern struct alq_domain *d;

int set_up(void **state);
int tear_down(void **state);
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* (a, b); it does not fail. */
alq_value pair(struct alq_domain *self, alq_value a, alq_value b);

/* Garbage for some minor collections; all kinds of collections. */
void litter(struct alq_domain *self);
void collect(struct alq_domain *self);

uint64_t held_blocks(void);

/* What calls have left behind below the caller's frame. */
void wipe(void);

/* A tree of pairs, of 2^depth leaves. */
alq_value tree(struct alq_domain *self, unsigned depth);
intptr_t leaves(alq_value v);

/* Trees, sets, a table, in locals, and collections of all kinds. */
void program(struct alq_domain *self, unsigned rounds);

/* Custom blocks; their data begin with the generation and their numbers.  Of
 * this generation so many were finalised. */
extern const struct alq_custom_ops held_ops;
extern unsigned n_finalised;
extern uint32_t generation;

/* Finalisers that could change what the thread has chosen. */
extern unsigned n_inside;

/* Makes a generation: HIDDEN blocks, and their addresses turned over. */
extern uintptr_t hidden[HIDDEN];
void hidden_make(size_t bytes);
uint32_t hidden_number(unsigned i);

#endif
