/* root_ambiguous.h -- what ambiguous references lead to    [root_stack.h]
 *
 *     a young block      is retained, as a pinned one (pin_retain.h)
 *     an old block       is marked, and its pool does not move in compaction
 *
 * A word leads to a block if it is the address of its first field, or of a
 * byte behind that up to its end, where C code may point.  Each word is looked
 * up as if it were one less.  In stops alone.
 *
 * .inv.clean  No bit of the map of young words is set but while the young
 *             blocks that words lead to are looked for. */
#ifndef ALQI_HEAP_ROOT_AMBIGUOUS_H
#define ALQI_HEAP_ROOT_AMBIGUOUS_H

#include "heap/state.h"

/* Shows each young block that some word leads to, once, in the order of
 * addresses; blocks retained before among them.  By the leader, while all
 * headers can be read. */
void alqi_heap_ambiguous_young_stw(struct alqi_domain *leader,
                                   void (*stay)(struct alqi_domain *of,
                                                alq_value block));

/* Shows the old blocks, but garbage, that the words of the domain's threads
 * lead to, one as often as there are words. */
void alqi_heap_ambiguous_old_stw(struct alqi_domain *of,
                                 void (*each)(void *arg, alq_value block),
                                 void *arg);

/* Marking begins: old blocks that the words of the domain's threads lead to. */
void alqi_heap_ambiguous_darken_stw(struct alqi_domain *of);

/* Compaction begins: an address in each block of a pool that a word leads to.
 */
void alqi_heap_ambiguous_words_stw(struct alqi_heap *heap,
                                   void (*visit)(struct alqi_heap *heap,
                                                 uintptr_t word));

#endif
