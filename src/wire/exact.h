/* exact.h -- every allocation and free, two or three bytes each
 *
 * Chunks of kind ALQI_RAW_EXACT [wire/raw.h] hold what one thread did, blocks
 * named by address; whoever reads them brings the threads into one order by
 * the ticks and finds out which block a free means.  Chunks of kind
 * ALQI_RAW_NODES hold the call stacks as a tree.
 *
 * An event begins with its head byte (spec malloc-profilers 5b item 7):
 *
 *   0 c vvvvvv            free; v, and more if c: the address
 *   1 0 z c vvvv          allocation by the stack that came after the last
 *                         one's stack the time before; v: the address
 *   1 1 0 z ssss  s8      allocation by the stack in slot s (12 bits)
 *   1 1 1 0 0000          allocation by another stack: its node is written
 *   1 1 1 1 kkkk          enum alqi_exact_control
 *
 * Addresses are differences of granules (2^shift bytes) to the slot's last
 * address, or, for frees and unknown stacks, to the last event's; z says that
 * the size is the slot's last one.  The slots are a cache of stacks that both
 * sides keep alike: a function of the events since the chunk's start, so each
 * chunk stands alone (raw.h .inv.alone).
 *
 * Behind the head come, where they are needed: ticks (in timed chunks), slot or
 * node, size, the rest of the address.  Numbers are LEB128, signed ones zigzag.
 *
 * Ticks are alqi_plat_ticks_sigsafe() >> ALQI_EXACT_TICK_SHIFT.  An untimed
 * stream (a program with one thread) writes them now and then (TIME); its
 * events carry the time of the last one.  In a timed stream each event has its
 * own, taken after malloc returned and before free began:
 *
 * Keeps .inv.ticks (doc/design/exact.md): If two threads hand an address on, by
 * free and malloc or by a pointer, the first one's event has the lower tick. */
#ifndef ALQI_WIRE_EXACT_H
#define ALQI_WIRE_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/raw.h"

enum {
    ALQI_EXACT_SLOTS = 4096,
    ALQI_EXACT_TICK_SHIFT = 4,
    ALQI_EXACT_TIME_STEP = 1 << 13, /* ticks between two TIMEs, untimed */
    ALQI_EXACT_EVENT_BYTES_MAX = 80,
    ALQI_EXACT_GRANULE_SHIFT = 4 /* at a chunk's start */
};

enum alqi_exact_control {
    ALQI_EXACT_TIME,    /* ticks since the last ones                        */
    ALQI_EXACT_TIMED,   /* from here each event has ticks                   */
    ALQI_EXACT_SHIFT,   /* granules have another size: log2 of it           */
    ALQI_EXACT_CLOCK,   /* as TIME; and CLOCK_MONOTONIC, ns since the chunk */
    ALQI_EXACT_MOVED,   /* the block freed last lives on in the next one    */
    ALQI_EXACT_UNDO,    /* the block freed last was not: realloc failed     */
    ALQI_EXACT_SAMPLES, /* n: the next allocation stands for others, too    */
    ALQI_EXACT_MAPPING, /* the next event is about a mapping, not a block   */
    ALQI_EXACT_THREAD,  /* index, tid, name: of the stream from here        */
    ALQI_EXACT_RATE,    /* allocations from here were sampled: 8 bytes      */
    ALQI_EXACT_RSS,     /* resident bytes now                               */
    ALQI_EXACT_POOL,    /* n: the next allocation is of that pool           */
    ALQI_EXACT_MARK,    /* n: the MARK event (raw.h) of that number was here */
    ALQI_EXACT_CONTROLS
};

/* The last allocation by one stack; both sides keep the same ones. */
struct alqi_exact_slot {
    uint32_t node;
    uint32_t size_bytes;     /* UINT32_MAX: not to be matched      */
    uint64_t address : 48;   /* two's complement, high bits lost   */
    uint64_t next_slot : 16; /* whose stack came after this one's  */
};

/* What both sides know: a function of the events since the chunk's start. */
struct alqi_exact_state {
    uint64_t last_address; /* of the last event */
    uint64_t last_ticks;   /* shifted */
    uint64_t start_ns;     /* of the chunk, CLOCK_MONOTONIC */
    uint32_t prev_slot;    /* of the last allocation's stack */
    uint32_t last_node;    /* the last one written out */
    uint8_t shift;         /* a granule is 2^shift bytes */
    bool is_timed;         /* each event has its ticks */
    struct alqi_exact_slot slots[ALQI_EXACT_SLOTS];
};

/* ---- encoder: async-signal-safe, bounded ----------------------------------
 */

struct alqi_exact_encoder {
    uint8_t *at;
    uint8_t *end;
    struct alqi_exact_state state;
};

/* Starts on an empty chunk whose header has start_ns, and its ticks as
 * first_ordinal. */
void alqi_exact_begin(struct alqi_exact_encoder *encoder,
                      struct alqi_raw_chunk_header *chunk, size_t chunk_bytes,
                      bool is_timed);

/* Each returns false, and writes nothing, when there may not be room.  ticks
 * are unshifted. */
bool alqi_exact_put_alloc(struct alqi_exact_encoder *encoder, uint64_t ticks,
                          uint64_t address, uint64_t size_bytes, uint32_t node);
bool alqi_exact_put_free(struct alqi_exact_encoder *encoder, uint64_t ticks,
                         uint64_t address);
/* TIMED, MOVED, UNDO, MAPPING; SAMPLES, RSS, POOL and MARK with their number.
 */
bool alqi_exact_put_control(struct alqi_exact_encoder *encoder,
                            enum alqi_exact_control control, uint64_t value);
bool alqi_exact_put_clock(struct alqi_exact_encoder *encoder, uint64_t ticks,
                          uint64_t now_ns);
bool alqi_exact_put_thread(struct alqi_exact_encoder *encoder, uint64_t ticks,
                           uint32_t index, uint32_t tid, const char *name);
bool alqi_exact_put_rate(struct alqi_exact_encoder *encoder, double rate);

/* ---- nodes -----------------------------------------------------------------
 *
 * Node `id` is the stack of node `parent`, 0 being the empty one, with a call
 * from it at pc.  Ids of a recording count up from 1; a chunk's first one is
 * its header's first_ordinal.
 *
 * Keeps .inv.modules (doc/design/exact.md): The nodes that follow are of the
 * modules that the recording's first n module events tell of; n stands between
 * the nodes whenever it has grown, and at a chunk's start. */

struct alqi_exact_node_encoder {
    uint8_t *at;
    uint8_t *end;
    uint64_t last_pc;
};

bool alqi_exact_put_node(struct alqi_exact_node_encoder *encoder, uint32_t id,
                         uint32_t parent, uint64_t pc);
bool alqi_exact_put_modules(struct alqi_exact_node_encoder *encoder,
                            uint64_t n_modules);

/* ---- decoder ---------------------------------------------------------------
 */

enum alqi_exact_kind {
    ALQI_EXACT_ALLOC = ALQI_EXACT_CONTROLS,
    ALQI_EXACT_FREE /* other kinds: enum alqi_exact_control */
};

/* An event as it is read; of the fields, those of its kind are valid. */
struct alqi_exact_event {
    unsigned kind;
    uint32_t node;
    uint64_t ticks; /* shifted */
    uint64_t address;
    uint64_t size_bytes;
    uint64_t value; /* SAMPLES, CLOCK (absolute), RSS, POOL, MARK */
    double rate;
    uint32_t thread_index;
    uint32_t tid;
    char name[32];
};

struct alqi_exact_decoder {
    const uint8_t *at;
    const uint8_t *end;
    const char *error; /* set with a -1 result */
    struct alqi_exact_state state;
};

/* False, with error, when the bytes are no such chunk. */
bool alqi_exact_decoder_open(struct alqi_exact_decoder *decoder,
                             const uint8_t *chunk, size_t n_bytes);
/* The chunk lies there now, and may have got more since; what was read of it,
 * so many bytes with its header, is the same. */
void alqi_exact_decoder_more(struct alqi_exact_decoder *decoder,
                             const uint8_t *chunk, size_t n_bytes,
                             size_t offset_bytes);

/* 1: *event is filled; 0: end; -1: damaged.  TIMED and SHIFT are handled
 * within, and not returned. */
int alqi_exact_next(struct alqi_exact_decoder *decoder,
                    struct alqi_exact_event *event);

struct alqi_exact_node_decoder {
    const uint8_t *at;
    const uint8_t *end;
    const char *error;
    uint64_t last_pc;
    uint64_t n_modules; /* the last node came after so many */
    uint32_t next_id;
};

bool alqi_exact_node_decoder_open(struct alqi_exact_node_decoder *decoder,
                                  const uint8_t *chunk, size_t n_bytes);
int alqi_exact_node_next(struct alqi_exact_node_decoder *decoder, uint32_t *id,
                         uint32_t *parent, uint64_t *pc);

/* ---- what both sides do ----------------------------------------------------
 */

/* Nodes that were met one after the other lie side by side. */
static inline uint32_t
alqi_exact_slot_of(uint32_t node)
{
    return node % ALQI_EXACT_SLOTS;
}

_Static_assert(ALQI_EXACT_SLOTS == 1 << 12, "a slot is 12 bits");
_Static_assert(sizeof(struct alqi_exact_slot) == 16, "four to a cache line");

/* After an allocation by the stack in `slot`. */
static inline void
alqi_exact_learn(struct alqi_exact_state *s, uint32_t slot, uint32_t node,
                 uint64_t address, uint64_t size_bytes)
{
    struct alqi_exact_slot *at = &s->slots[slot];

    at->node = node;
    at->size_bytes =
        size_bytes < UINT32_MAX ? (uint32_t)size_bytes : UINT32_MAX;
    at->address = address & (((uint64_t)1 << 48) - 1);
    s->slots[s->prev_slot].next_slot = (uint16_t)slot;
    s->prev_slot = slot;
    s->last_address = address;
}

#endif
