/* layout.h -- the constants of blocks, pools and minor heaps, and the type with
 * which the collector reads them                         [doc/design/heap.md]
 */
#ifndef ALQI_HEAP_LAYOUT_H
#define ALQI_HEAP_LAYOUT_H

#include <aliquot/heap.h>

#include "base/base.h"

/* The collector's own reads and writes of blocks: they alias whatever type the
 * program keeps in a block. */
typedef alq_value __attribute__((may_alias)) alqi_heap_word;

/* The build hosts OCaml's values: hosted.h. */
#ifndef ALQI_HOSTS_OCAML
#define ALQI_HOSTS_OCAML 0
#endif

enum {
    ALQI_HEAP_CHUNK_BYTES = 32768, /* sizes of minor heaps are multiples */
    ALQI_HEAP_POOL_BYTES = 32768,  /* and pools lie at multiples of it */
    ALQI_HEAP_POOL_SHIFT = 15,     /* log2 of these bytes */
    ALQI_HEAP_POOL_WORDS = 4096,
    /* struct alqi_heap_pool: pool_state.h.  For OCaml slots of a cache line
     * begin at one. */
    ALQI_HEAP_POOL_HEAD_WORDS = ALQI_HOSTS_OCAML ? 8 : 4,
    /* Slots; as include/aliquot/heap.h says, and twice that for OCaml. */
    ALQI_HEAP_DOMAINS_MAX = ALQI_HOSTS_OCAML ? 256 : 128,
    ALQI_HEAP_CLASSES = 36, /* of slot sizes: pool_class.h */
    ALQI_HEAP_CLASS_WORDS_MAX = ALQ_SMALL_WOSIZE_MAX + 1, /* with header */
    ALQI_HEAP_WORKER_POOLS = /* that one worker of a minor collection may hold:
                                a buffer of each class, scannable or not */
    2 * ALQI_HEAP_CLASSES,
    ALQI_HEAP_RING = 128 /* blocks whose headers are being prefetched */
};

/* Written over blocks that are gone, in builds that check: no program has it.
 */
#define ALQI_HEAP_POISON ((alqi_heap_word)0xD7D7D7D7D7D7D7D6)

/* Bytes of a domain's slice of the minor part: no minor heap is larger. */
#define ALQI_HEAP_MINOR_BYTES_MAX ((uintptr_t)32 << 20)

/* Rare events are forced: hard builds. */
#define ALQI_HEAP_IS_HARD (ALQI_CHECKS >= 3)

#endif
