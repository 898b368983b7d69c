/* pin.h -- pinned blocks: their address does not change
 *
 * A pinned young block stays in place when its minor heap is emptied, and
 * stays young: it is *retained*.  A minor heap is opened where no retained
 * block is.  After the last pin has gone the next collection promotes the
 * block, or finds it dead.
 *
 *    during a minor collection   header 0, field 0 its own address, so it looks
 *                                moved to where it is.  The header and field 0
 *                                are in its entry of `next`
 *    between collections         a block like any other, in `retained`
 *
 * .inv.retained  Each field of the major heap that holds a retained block is
 *                in `fields`: remembered sets are empty after a collection.
 *
 * Pins are the heap's: they outlive the domain that made them, as retained
 * blocks outlive the domain in whose slice they lie.
 *
 * .inv.pinned  `index` leads from each pinned block to its entry, which has at
 *              least one pin.
 * .inv.sorted  `retained`, and `next` once it is complete, are in the order of
 *              addresses, each block once.
 * .inv.hidden  During a minor collection that some block outlasts, each block
 *              of `next` has header 0 and its own address in field 0, from
 *              begin to end (pin_retain.h).  At other times `next` is empty.
 *
 * .inv.stay  An entry is ready for each block that may have to stay: room is
 *            made for a pin, and for each word of a conservative stack.
 * .inv.fragmented  Where retained blocks leave too little room a minor heap is
 *                  closed and is_fragmented: that is no lack of memory.  Small
 *                  blocks are born old, their fields remembered, until a
 *                  collection finds more room. */
#ifndef ALQI_HEAP_PIN_H
#define ALQI_HEAP_PIN_H

#include "heap/state.h"

/* A thread's stack of so many words is scanned conservatively, or no longer:
 * each may lead to a block that stays.  False: no memory. */
bool alqi_heap_pin_stack_add(struct alqi_heap *heap, size_t words);
void alqi_heap_pin_stack_remove(struct alqi_heap *heap, size_t words);

/* More room for blocks that stay, where it may lack. */
bool alqi_heap_pin_grow_stw(struct alqi_heap *heap);

/* The block is no weak one: those that are young are in lists of young ones. */
enum alq_status alqi_heap_pin(struct alqi_domain *d, alq_value block);
enum alq_status alqi_heap_unpin(struct alqi_domain *d, alq_value block);

/* ---- a minor collection ------------------------------------------------- */

/* Some block does not move in this collection. */
static inline bool
alqi_heap_pin_is_active(const struct alqi_heap *heap)
{
    return heap->pins.n_next > 0;
}

/* A field of the major heap was promoted: if its value has stayed young, the
 * field is one of the set, which is self's until the end. */
void alqi_heap_pin_field(struct alqi_domain *self, alqi_heap_word *field);

/* A custom block that stays: it is charged for or finalised when it moves or
 * dies. */
void alqi_heap_pin_custom(struct alqi_heap *heap, alq_value block,
                          uint64_t cost_words);

/* Retained blocks are numbered in the order of addresses; during a collection,
 * those that stay.  The first one from an address on, and block i, with its
 * header's place and end; false: none is left that begins below `to`. */
size_t alqi_heap_pin_from(const struct alqi_heap *heap, uintptr_t from);
bool alqi_heap_pin_at(const struct alqi_heap *heap, size_t i, uintptr_t to,
                      struct alqi_heap_range *out);

/* The first one from `from` on. */
static inline bool
alqi_heap_pin_find(const struct alqi_heap *heap, uintptr_t from, uintptr_t to,
                   struct alqi_heap_range *out)
{
    return alqi_heap_pin_at(heap, alqi_heap_pin_from(heap, from), to, out);
}

/* ---- at other times ----------------------------------------------------- */

/* Pins and what pinned young blocks hold: roots. */
void alqi_heap_pin_visit_stw(struct alqi_heap *heap,
                             void (*visit)(void *arg, alq_value *slot),
                             void *arg);

/* Shows each word that compaction must leave as it is, which may point out of
 * pools: pins, addresses of fields that hold retained blocks. */
void alqi_heap_pin_words_stw(struct alqi_heap *heap,
                             void (*visit)(struct alqi_heap *heap,
                                           uintptr_t word));

/* Out of stops: something is pinned; the block is. */
bool alqi_heap_pin_is_any(struct alqi_heap *heap);
bool alqi_heap_pin_is_pinned(struct alqi_heap *heap, alq_value block);

bool alqi_heap_pin_is_retained(const struct alqi_heap *heap, alq_value v);

static inline bool
alqi_heap_pin_has_retained(const struct alqi_heap *heap)
{
    return heap->pins.n_retained > 0;
}

/* No retained block begins there.  This and the next one also out of stops,
 * while others pin. */
bool alqi_heap_pin_is_free(struct alqi_heap *heap, uintptr_t from,
                           uintptr_t to);

/* Bytes of the domain's slice without a retained block, from *start on: as many
 * as were asked for, else the most that there are together. */
uintptr_t alqi_heap_pin_room(const struct alqi_domain *d, uintptr_t bytes,
                             uintptr_t *start);

/* The heap ends. */
void alqi_heap_pin_drop(struct alqi_heap *heap);

#endif
