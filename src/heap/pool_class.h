/* pool_class.h -- sizes of slots: OCaml's 32 classes and four for larger
 * blocks, so that every young block fits into a pool
 *
 * .inv.class  The class of a size is the smallest whose slots it fits in; each
 *             size up to ALQI_HEAP_CLASS_WORDS_MAX has one, up to 8 words the
 *             class is the size - 1. */
#ifndef ALQI_HEAP_POOL_CLASS_H
#define ALQI_HEAP_POOL_CLASS_H

#include "heap/state.h"

/* Words of a slot, header included. */
extern const uint16_t alqi_heap_class_words[ALQI_HEAP_CLASSES]
    __attribute__((visibility("hidden")));

/* The smallest class for `words`, 1 to ALQI_HEAP_CLASS_WORDS_MAX: a table. */
extern const uint8_t alqi_heap_class_table[ALQI_HEAP_CLASS_WORDS_MAX + 1]
    __attribute__((visibility("hidden")));

/* The smallest class for `words`, header included: 1 to
 * ALQI_HEAP_CLASS_WORDS_MAX. */
static inline unsigned
alqi_heap_class_of(size_t words)
{
    ALQI_DEBUG(words >= 1 &&
               words <= ALQI_HEAP_CLASS_WORDS_MAX); /* .inv.class */
    return alqi_heap_class_table[words];
}

/* Slots of a pool of the class. */
static inline unsigned
alqi_heap_class_slots(unsigned size_class)
{
    return (ALQI_HEAP_POOL_WORDS - ALQI_HEAP_POOL_HEAD_WORDS) /
           alqi_heap_class_words[size_class];
}

#endif
