/* alloc.h -- allocation, the slow ways */
#ifndef ALQI_HEAP_ALLOC_H
#define ALQI_HEAP_ALLOC_H

#include "heap/custom.h"
#include "heap/state.h"

/* Notes why something failed, unless a reason stands there; ALQ_NULL.  d may be
 * NULL. */
alq_value alqi_heap_fail(struct alqi_domain *d, enum alq_status why);

/* Instead of room: blocks that stay where they are leave none, and each block
 * is to be made by alqi_heap_alloc_fragmented. */
enum { ALQI_HEAP_ROOM_FRAGMENTED = 1 };

/* Does what is asked for, then moves young_ptr down by `words` (1 to
 * ALQI_HEAP_CLASS_WORDS_MAX, the sum over the blocks); 0 and a status: no
 * memory, or the client says no (observe.h, `caller` too). */
uintptr_t alqi_heap_room(struct alqi_domain *d, const uintptr_t *headers,
                         unsigned n_blocks, size_t words,
                         const struct alqi_stack_regs *caller);

/* The same, and the client hears nothing of it. */
uintptr_t alqi_heap_room_unseen(struct alqi_domain *d, size_t words);

/* Whether the program may have so many words, which are then made by calls that
 * do not ask: _room_unseen, _alloc_direct.  Does what is asked for before; may
 * not return. */
enum alq_status alqi_heap_alloc_may(struct alqi_domain *d, uint64_t words);

/* After that: a small block in the major heap whose fields may be set as if it
 * were young: they are ALQ_UNIT, and remembered.  ALQ_NULL and a status. */
alq_value alqi_heap_alloc_fragmented(struct alqi_domain *d, uintptr_t header);

/* A block with the header, of colour 0 and at least one field, its fields not
 * set; or ALQ_NULL and a status. */
alq_value alqi_heap_alloc(struct alqi_domain *d, uintptr_t header);

/* The same for a small block that runs over the trigger; `caller` as above. */
alq_value alqi_heap_alloc_sample(struct alqi_domain *d, uintptr_t header,
                                 const struct alqi_stack_regs *caller);
/* For the client's `sample`: by its request and request_done. */
alq_value alqi_heap_alloc_sample_any(struct alqi_domain *d, uintptr_t header,
                                     const struct alqi_stack_regs *caller);
/* And where it has asked itself, with this answer, and the room may be gone. */
alq_value alqi_heap_alloc_sample_asked(struct alqi_domain *d, uintptr_t header,
                                       enum alq_status status);

/* The same for a custom block: data are zeros. */
alq_value alqi_heap_alloc_custom(struct alqi_domain *d,
                                 const struct alq_custom_ops *ops,
                                 size_t wosize, struct alqi_heap_held held);

/* A block in the major heap, of any size, its fields not set; ALQ_NULL and a
 * status.  The client hears nothing of it. */
alq_value alqi_heap_alloc_direct(struct alqi_domain *d, uintptr_t header);

/* The same for the library's own use: not among the words that the program has
 * allocated, which a client hears of one by one. */
alq_value alqi_heap_alloc_own(struct alqi_domain *d, uintptr_t header);

/* The block without fields. */
alq_value alqi_heap_atom(void);

/* Collects, if that is asked for. */
void alqi_heap_collect_asked(struct alqi_domain *d);

/* Does what is asked for; the status of a finaliser or alarm that failed. */
enum alq_status alqi_heap_poll(struct alqi_domain *d);

#endif
