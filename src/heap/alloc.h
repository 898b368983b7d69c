/* alloc.h -- allocation, the slow ways */
#ifndef ALQI_HEAP_ALLOC_H
#define ALQI_HEAP_ALLOC_H

#include "heap/custom.h"
#include "heap/state.h"

/* Sets the domain's status to `why`, unless one stands there, and returns
 * ALQ_NULL.  d may be NULL. */
alq_value alqi_heap_fail(struct alqi_domain *d, enum alq_status why);

/* Returned instead of room: the minor heap is fragmented, and the caller makes
 * each block by alqi_heap_alloc_fragmented. */
enum { ALQI_HEAP_ROOM_FRAGMENTED = 1 };

/* Serves requests, then moves young_ptr down by `words` (1 to
 * ALQI_HEAP_CLASS_WORDS_MAX, the sum over the blocks) and returns it.  0 and a
 * status: memory is short, or the client refuses (observe.h, which has `caller`
 * too). */
uintptr_t alqi_heap_room(struct alqi_domain *d, const uintptr_t *headers,
                         unsigned n_blocks, size_t words,
                         const struct alqi_stack_regs *caller);

/* As alqi_heap_room, but the client of the hooks is not called, and no permit
 * is asked for.  *sample_at: the first sampled word, counted from 1 at the
 * highest address; 0: none is. */
uintptr_t alqi_heap_room_unseen(struct alqi_domain *d, size_t words,
                                uint64_t *sample_at);

/* Runs finalisers and alarms that are due, then asks the limit trigger for a
 * permit of so many words.  The caller then makes them by _room_unseen and
 * _alloc_direct, which do not ask.  May collect; may not return, as permit may
 * not. */
enum alq_status alqi_heap_alloc_may(struct alqi_domain *d, uint64_t words);

/* After ALQI_HEAP_ROOM_FRAGMENTED: a small block in the major heap.  Its fields
 * are ALQ_UNIT and remembered, so the program may set them as if the block were
 * young.  ALQ_NULL and a status: memory is short. */
alq_value alqi_heap_alloc_fragmented(struct alqi_domain *d, uintptr_t header);

/* A block with the header, of colour 0 and at least one field, its fields not
 * set; or ALQ_NULL and a status. */
alq_value alqi_heap_alloc(struct alqi_domain *d, uintptr_t header);

/* As alqi_heap_alloc, for a small block that has a sampled word; `caller` as
 * for alqi_heap_room. */
alq_value alqi_heap_alloc_sample(struct alqi_domain *d, uintptr_t header,
                                 const struct alqi_stack_regs *caller);
/* For the client's `sample`: the same by the client's request and
 * request_done. */
alq_value alqi_heap_alloc_sample_any(struct alqi_domain *d, uintptr_t header,
                                     const struct alqi_stack_regs *caller);
/* For the client's `sample`, after its own request returned `status`: the room
 * may be gone by then. */
alq_value alqi_heap_alloc_sample_asked(struct alqi_domain *d, uintptr_t header,
                                       enum alq_status status);

/* As alqi_heap_alloc, for a custom block: its data are zeros. */
alq_value alqi_heap_alloc_custom(struct alqi_domain *d,
                                 const struct alq_custom_ops *ops,
                                 size_t wosize, struct alqi_heap_held held);

/* A block in the major heap, of any size, its fields not set; ALQ_NULL and a
 * status.  The client is not called. */
alq_value alqi_heap_alloc_direct(struct alqi_domain *d, uintptr_t header);

/* As alqi_heap_alloc_direct, for the library's own use: the words do not count
 * as allocated by the program. */
alq_value alqi_heap_alloc_own(struct alqi_domain *d, uintptr_t header);

/* The block without fields: static, the same for all heaps. */
alq_value alqi_heap_atom(void);

/* Collects, if a collection is requested. */
void alqi_heap_collect_asked(struct alqi_domain *d);

/* Serves requests.  Returns the status of a finaliser or alarm that failed. */
enum alq_status alqi_heap_poll(struct alqi_domain *d);

#endif
