/* intern.h -- call stacks as numbers: a tree in one table
 *
 * A node is a frame and its caller's node; a stack is the node of its
 * innermost frame.  So stacks share what they have in common from the
 * outermost frame on, and equal stacks are one number.
 *
 * A node is found by the hash of the whole path to it: a known stack is one
 * look-up, and then one comparison for each frame, which makes it exact.
 *
 * .inv.node    A node never changes once its number is in a slot, nor moves.
 * .inv.caller  A node's caller has a smaller number: walks end.
 * .inv.half    At most half of the slots are used.
 *
 * Ordering: a slot is stored with release when its node is whole (pairs with
 * the acquire of a look-up); so is the pointer to a table of slots that has
 * grown.  Look-ups take no lock, additions one; slots outgrown are kept, for
 * look-ups that are in them still, and are together no more than the last. */
#ifndef ALQI_STACK_INTERN_H
#define ALQI_STACK_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct alqi_stack_table;

/* NULL: no memory. */
struct alqi_stack_table *alqi_stack_table_new(void);
void alqi_stack_table_drop(struct alqi_stack_table *table);

/* frames: innermost first.  0: n_frames is 0, or there is no memory. */
uint32_t alqi_stack_table_add(struct alqi_stack_table *table,
                              const uintptr_t *frames, size_t n_frames);

/* As alqi_stack_table_add, but adds nothing; 0: the stack is not there. */
uint32_t alqi_stack_table_find(const struct alqi_stack_table *table,
                               const uintptr_t *frames, size_t n_frames);

/* The innermost max_frames; returns how many there are, 0 for no stack's id. */
size_t alqi_stack_table_get(const struct alqi_stack_table *table, uint32_t id,
                            uintptr_t *frames, size_t max_frames);

size_t alqi_stack_table_bytes(const struct alqi_stack_table *table);

#endif
