/* pin_state.h -- pinned blocks, and ambiguous references to young ones */
#ifndef ALQI_HEAP_PIN_STATE_H
#define ALQI_HEAP_PIN_STATE_H

#include "base/map.h"
#include "heap/minor_state.h"

struct alqi_heap_pin {
    alq_value value;
    uintptr_t count; /* of pins; the entry goes with the last one */
};

/* A young block that stays where it is. */
struct alqi_heap_retained {
    alq_value block;
    uintptr_t header;     /* the block's; valid during a collection */
    alqi_heap_word first; /* its field 0; likewise */
    uint64_t cost_words;  /* custom.h; valid if is_custom */
    bool is_custom;       /* promotion charges it, or death finalises it */
};

/* The heap's.  Under `lock` outside of stops, without it in a stop. */
struct alqi_heap_pins {
    struct alqi_plat_lock lock;
    struct alqi_base_map index; /* from block to its place in `entries` */
    struct alqi_heap_pin *entries;
    size_t n;                            /* pinned blocks */
    size_t size;                         /* entries that there is memory for */
    struct alqi_heap_retained *retained; /* in the order of addresses */
    size_t n_retained;
    struct alqi_heap_retained *next; /* those that stay in this collection */
    size_t n_next;                   /* > 0 only in a minor collection */
    size_t retained_size;            /* entries that both have memory for */
    size_t n_stack_words; /* ambiguous words that they have room for */
    struct alqi_heap_remembered fields; /* major fields that hold retained
                                         * blocks: .inv.retained */
    bool is_collecting;                 /* retained blocks look moved */
};

/* Threads that are scanned conservatively: root_stack.h.  The heap's. */
struct alqi_heap_stacks {
    uint32_t n; /* threads; atomic, changes under the lock of pins */
    uint64_t *ambiguous_bits; /* one for each young word, during a collection
                               * with such threads; NULL: there was none */
    uint64_t n_ambiguous;     /* words that led to a minor heap, in this one */
};

/* Bits of a domain's slice that are set: indices; to = 0: none.  In stops. */
struct alqi_heap_ambiguous {
    uintptr_t from;
    uintptr_t to;
};

#endif
