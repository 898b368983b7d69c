/* index.h -- the samples of a trace in columns, and the names they need
 *
 * A file, little-endian, that is mapped and read where it lies.  It ends with
 * a foot that says where its sections are; columns come in blocks of rows, each
 * with the bytes that its numbers need above their least.
 *
 * .inv.index   Nothing in the file is trusted.  What says where something lies
 *              is checked when it is opened, what numbers something when it is
 *              used: a hostile file gives wrong answers or an error.  The bytes
 *              do not change while they are open: a file is replaced, never
 *              written again.
 * .inv.parent  A node's parent has a smaller number; node 0 is the empty stack.
 * .inv.events  The event stream tells births in order of rows. */
#ifndef ALQI_VIEW_INDEX_H
#define ALQI_VIEW_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "view/peak.h"

enum {
    ALQI_VIEW_VERSION = 8,
    ALQI_VIEW_BLOCK_ROWS = 1024,
    ALQI_VIEW_KEY_BYTES = 40,
    ALQI_VIEW_ROWS_MAX = 0x7FFFFFFF,
    ALQI_VIEW_WIDTH_MASK = 15
};

/* What a row has.  LIFE is the block's own, up to the trace's end when it
 * stays; PROMOTED is 0, or 1 more than the time from its birth on; HOLDER is 0,
 * or 1 more than the number of the step that holds it. */
enum alqi_view_column {
    ALQI_VIEW_BORN,
    ALQI_VIEW_LIFE,
    ALQI_VIEW_CLASS,
    ALQI_VIEW_STACK,
    ALQI_VIEW_ORIGIN,
    ALQI_VIEW_SAMPLES,
    ALQI_VIEW_FLAGS,
    ALQI_VIEW_PROMOTED,
    ALQI_VIEW_HOLDER,
    ALQI_VIEW_N_COLUMNS
};

/* Bits of the column FLAGS. */
enum alqi_view_flag {
    ALQI_VIEW_PEAK = 7,   /* a bit for each colour that counts it at the peak */
    ALQI_VIEW_FIRST = 24, /* its first colour, by number (peak.h) */
    ALQI_VIEW_LEFT = 32,  /* never freed */
    ALQI_VIEW_STAYS = 64, /* is there when the trace ends */
    ALQI_VIEW_CHAIN = 128,  /* realloc's: its life is that of its chain */
    ALQI_VIEW_REACH = 1792, /* never freed: its enum alqi_view_reach */
    /* POSSIBLE, and HELD if no allocator's memory is old */
    ALQI_VIEW_OLD = 2048
};

enum { ALQI_VIEW_FIRST_SHIFT = 3, ALQI_VIEW_REACH_SHIFT = 8 };

/* What leads to a block that was never freed (doc/design/leaks.md). */
enum alqi_view_reach {
    ALQI_VIEW_UNTOLD, /* it was not looked at */
    ALQI_VIEW_LOST,
    ALQI_VIEW_INDIRECT,
    ALQI_VIEW_POSSIBLE,
    ALQI_VIEW_HELD,
    ALQI_VIEW_REACHES
};

/* Whether the trace tells classes, and when the process was looked through. */
enum alqi_view_looked {
    ALQI_VIEW_LOOKED_NEVER,
    ALQI_VIEW_LOOKED_AT_END,
    /* when its exit handlers had run, of some process at least */
    ALQI_VIEW_LOOKED_EARLY
};

/* "lost", "held" ...; "unknown" of what was not looked at. */
const char *alqi_view_reach_name(enum alqi_view_reach reach);

/* That of a row's flags (.inv.index). */
static inline enum alqi_view_reach
alqi_view_reach_of(uint64_t flags)
{
    uint64_t reach = (flags & ALQI_VIEW_REACH) >> ALQI_VIEW_REACH_SHIFT;

    return reach < ALQI_VIEW_REACHES ? (enum alqi_view_reach)reach
                                     : ALQI_VIEW_UNTOLD;
}

/* Where a block was allocated. */
enum alqi_view_source {
    ALQI_VIEW_MINOR = 0,
    ALQI_VIEW_MAJOR = 1,
    ALQI_VIEW_MALLOC = 2
};

/* ---- in the file --------------------------------------------------------- */

/* Blocks of one size and rate: each stands for 1/p blocks. */
struct alqi_view_class {
    uint64_t size_bytes; /* of one block, header included */
    /* words tried for a sample, header included */
    uint64_t words;
    /* that a block is seen and stands here; from 1e-30 to 1 */
    double p;
    /* that one colour has it; the same range */
    double colour_p;
};

/* Who allocated: one of few combinations. */
struct alqi_view_origin {
    /* index; the domain where threads are not known */
    uint32_t thread;
    /* number, from 0, in a merged trace; else 0 */
    uint32_t process;
    /* stream of the trace */
    uint32_t domain;
    /* enum alqi_view_source */
    uint32_t source;
};

/* A call stack: its innermost node. */
struct alqi_view_stack {
    uint32_t node;
    /* of mmap, not of malloc */
    uint16_t is_mapping;
    /* its blocks are no leaks, said a file of suppressions */
    uint16_t is_suppressed;
};

/* A frame below its parent (.inv.parent). */
struct alqi_view_node {
    uint32_t parent;
    uint32_t function;
    int32_t line; /* 0 when unknown */
};

/* A function; its texts by number. */
struct alqi_view_function {
    uint32_t name, file, module;
    /* ALQI_VIEW_WRAPPER, ALQI_VIEW_NAMELESS, ALQI_VIEW_LIBRARY */
    uint32_t flags;
};

enum {
    ALQI_VIEW_WRAPPER = 1,  /* malloc, operator new and their like */
    ALQI_VIEW_NAMELESS = 2, /* an address is its name */
    ALQI_VIEW_LIBRARY = 4   /* of the system, not of the program's makers */
};

struct alqi_view_thread {
    uint32_t index, name;
    /* the kernel's number */
    uint64_t tid;
};

/* Resident memory at a time since the start. */
struct alqi_view_resident {
    uint64_t us, bytes;
};

/* A phase begins at a time since the start; those of one index rise. */
struct alqi_view_mark {
    uint64_t us;
    /* number of the phase's name */
    uint32_t text;
    /* keeps the next one aligned; 0 */
    uint32_t unused;
};

/* A row's place in a chain of realloc. */
struct alqi_view_chain {
    uint32_t row;
    /* its place among the chain's sampled blocks, from 1; 0: not known */
    uint32_t generation;
    /* of the whole chain */
    uint64_t life_us;
};

/* One column of one block: the least and greatest number, and where the rest
 * lies. */
struct alqi_view_slice {
    uint64_t least, most;
    /* place in the data; its low 4 bits: bytes of each number */
    uint64_t at;
};

/* No step, for steps and rows. */
#define ALQI_VIEW_NO_STEP UINT32_MAX

/* A step of ways from roots to what was never freed (wire/reach.h). */
struct alqi_view_holder_step {
    uint32_t in;   /* the step before it, a smaller number; NO_STEP: a root */
    uint32_t name; /* a text */
    uint32_t most; /* of its blocks that follow each other */
};

/* The trace as a whole. Texts are numbers; times are since the trace's start
 * unless it is said. */
struct alqi_view_meta {
    uint32_t name, program, command, host, context, ended, damage, no_stack;
    uint64_t pid;
    uint64_t start_us; /* since 1970 */
    uint64_t end_us;
    /* by colour: time of its peak */
    uint64_t peak_us[ALQI_VIEW_COLOURS];
    /* estimate of the most live bytes */
    double peak_bytes;
    /* by what share of it the most may be more (interval.h .def.peak) */
    double peak_lack;
    /* samples for each word of the trace's header */
    double rate;
    /* samples for each word tried: the trace's own, and the smallest used */
    double lambda, least_lambda;
    /* mean bytes between two samples */
    double interval_bytes;
    /* of the trace's blocks that have rows; 1: all */
    double share;
    /* of the recorded program; 8: lengths are bytes */
    uint32_t word_bits;
    /* every block is here */
    uint32_t is_exact;
    /* no event is earlier than the one before it */
    uint32_t is_in_order;
    /* enum alqi_view_looked */
    uint32_t looked;
    /* blocks of the trace that have no row */
    uint64_t n_left_out;
};

enum alqi_view_section {
    ALQI_VIEW_S_META,
    ALQI_VIEW_S_DATA,
    ALQI_VIEW_S_SLICES,
    ALQI_VIEW_S_EVENTS,
    ALQI_VIEW_S_CHAINS,
    ALQI_VIEW_S_CLASSES,
    ALQI_VIEW_S_ORIGINS,
    ALQI_VIEW_S_STACKS,
    ALQI_VIEW_S_NODES,
    ALQI_VIEW_S_FUNCTIONS,
    ALQI_VIEW_S_THREADS,
    ALQI_VIEW_S_RESIDENT,
    ALQI_VIEW_S_MARKS,
    ALQI_VIEW_S_NOTES, /* numbers of texts */
    ALQI_VIEW_S_STEPS,
    ALQI_VIEW_S_TEXT_AT,
    ALQI_VIEW_S_TEXTS,
    ALQI_VIEW_N_SECTIONS
};

/* The last bytes of the file. */
struct alqi_view_foot {
    struct {
        uint64_t at, n_bytes;
    } sections[ALQI_VIEW_N_SECTIONS];
    /* of the columns */
    uint64_t n_rows;
    unsigned char key[ALQI_VIEW_KEY_BYTES]; /* of the trace it was made of */
    uint32_t version;
    /* size of this struct */
    uint32_t foot_bytes;
    char magic[8];
};

#define ALQI_VIEW_MAGIC "ALQVIEW\n"

/* Kinds of events. An event is a few bytes of 7 bits: the first one has the
 * kind in its low 2 bits and the number's lowest 5 above it. */
enum alqi_view_event_kind {
    /* the next rows are born: so many, 1 or more */
    ALQI_VIEW_E_BIRTHS,
    /* a row is freed: so many rows before the next one */
    ALQI_VIEW_E_FREE,
    /* a row is promoted; the number as for FREE */
    ALQI_VIEW_E_PROMOTE,
    /* a process ends with all it holds: its number; the time follows as a
     * second event of this kind */
    ALQI_VIEW_E_GONE
};

enum { ALQI_VIEW_EVENT_BYTES_MAX = 10 };

struct alqi_view_event {
    enum alqi_view_event_kind kind;
    uint64_t number;
};

/* ---- opened -------------------------------------------------------------- */

/* What one sampled block of a class stands for. */
struct alqi_view_weight {
    /* estimate, variance, third cumulant (interval.h) */
    double bytes, bytes_var, bytes_third;
    /* the same, of blocks */
    double objects, objects_var, objects_third;
    /* the part of both that is certain */
    double seen_bytes, seen_objects;
};

/* Kinds of functions that stand for many (whole.h). */
enum alqi_view_whole_kind {
    ALQI_VIEW_WHOLE_MODULE,
    ALQI_VIEW_WHOLE_DIRECTORY,
    ALQI_VIEW_WHOLE_THREAD,
    ALQI_VIEW_N_WHOLES
};

/* They, and whose they are (whole.h); all zeros: there are none. */
struct alqi_view_wholes {
    /* by kind, its first function; then the end of the last kind */
    uint32_t from[ALQI_VIEW_N_WHOLES + 1];
    /* by function of the file; owned */
    struct {
        uint32_t module, directory;
    } * of_function;
    /* by origin: its thread's; owned */
    uint32_t *of_origin;
    /* those of the file, then wholes; owned */
    struct alqi_view_function *functions;
    /* numbered behind those of the file; owned, each of them */
    char **texts;
    uint32_t n_texts;
};

/* An open index: where its parts lie, and weights computed from it. */
struct alqi_view_index {
    /* the file; the caller's */
    const unsigned char *bytes;
    size_t n_bytes;
    /* inside the file, checked */
    const struct alqi_view_foot *foot;
    const struct alqi_view_meta *meta;
    uint32_t n_rows, n_blocks;
    /* columns: slices say where each lies */
    const unsigned char *data;
    /* [n_blocks][ALQI_VIEW_N_COLUMNS] */
    const struct alqi_view_slice *slices;
    /* the event stream (.inv.events) */
    const unsigned char *events;
    size_t n_event_bytes;
    /* by row, rising */
    const struct alqi_view_chain *chains;
    uint32_t n_chains;
    /* this and the tables below lie inside the file */
    const struct alqi_view_class *classes;
    uint32_t n_classes;
    const struct alqi_view_origin *origins;
    uint32_t n_origins;
    const struct alqi_view_stack *stacks;
    uint32_t n_stacks;
    const struct alqi_view_node *nodes;
    uint32_t n_nodes;
    /* of the file, then wholes, which lie in `wholes` with copies of them */
    const struct alqi_view_function *functions;
    uint32_t n_functions;
    /* those of the file */
    uint32_t n_named;
    const struct alqi_view_thread *threads;
    uint32_t n_threads;
    const struct alqi_view_resident *resident;
    uint32_t n_resident;
    /* by time; read by phase.h */
    const struct alqi_view_mark *marks;
    uint32_t n_marks;
    /* numbers of texts */
    const uint32_t *notes;
    uint32_t n_notes;
    /* what holds rows; none: the trace does not tell */
    const struct alqi_view_holder_step *steps;
    uint32_t n_steps;
    /* [n_texts + 1]: where each text begins */
    const uint64_t *text_at;
    uint32_t n_texts;
    /* zero-terminated, one behind the other */
    const char *texts;
    /* by class; made at the opening; owned */
    struct alqi_view_weight *weights;
    /* by class: what one colour counts at the peak; owned */
    struct alqi_view_weight *colour_weights;
    /* the largest weight of an unseen sample (interval.h); 0: none */
    double most_bytes, most_objects;
    struct alqi_view_wholes wholes;
};

/* NULL, or what is wrong with it.  The bytes stay the caller's, 8-aligned, and
 * must outlive the index; the index is to be closed in any case. */
const char *alqi_view_index_open(struct alqi_view_index *index,
                                 const void *bytes, size_t n_bytes);
void alqi_view_index_close(struct alqi_view_index *index);

/* The key of the trace that an index was made of. NULL: the bytes are no index
 * of this version. */
const unsigned char *alqi_view_index_key(const void *bytes, size_t n_bytes);

/* A text by its number; "" for numbers that are none. */
const char *alqi_view_text(const struct alqi_view_index *index,
                           uint32_t number);

/* Rows of a block: the last one may be short. */
static inline uint32_t
alqi_view_block_rows(const struct alqi_view_index *index, uint32_t block)
{
    uint32_t left = index->n_rows - block * ALQI_VIEW_BLOCK_ROWS;

    return left < ALQI_VIEW_BLOCK_ROWS ? left : ALQI_VIEW_BLOCK_ROWS;
}

static inline const struct alqi_view_slice *
alqi_view_slice_of(const struct alqi_view_index *index, uint32_t block,
                   enum alqi_view_column column)
{
    return &index->slices[(size_t)block * ALQI_VIEW_N_COLUMNS + column];
}

/* A column of a block, as numbers; out[ALQI_VIEW_BLOCK_ROWS]. */
void alqi_view_read(const struct alqi_view_index *index, uint32_t block,
                    enum alqi_view_column column, uint64_t *out);
/* The same of a column of numbers of classes, stacks, origins ...: those from
 * n on become 0. */
void alqi_view_read_numbers(const struct alqi_view_index *index, uint32_t block,
                            enum alqi_view_column column, uint32_t n,
                            uint32_t *out);

/* One number of one row. */
static inline uint64_t
alqi_view_cell(const struct alqi_view_index *x, uint32_t row,
               enum alqi_view_column column)
{
    const struct alqi_view_slice *s =
        alqi_view_slice_of(x, row / ALQI_VIEW_BLOCK_ROWS, column);
    size_t width = s->at & ALQI_VIEW_WIDTH_MASK;
    const unsigned char *at =
        x->data + (s->at - width) + row % ALQI_VIEW_BLOCK_ROWS * width;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (width) {
    case 0:
        return s->least;
    case 1:
        return s->least + *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return s->least + two;
    case 4:
        memcpy(&four, at, sizeof four);
        return s->least + four;
    default:
        memcpy(&eight, at, sizeof eight);
        return s->least + eight;
    }
}

/* The chain's life in place of the rows' own; flags and lives are of that
 * block. */
void alqi_view_read_chains(const struct alqi_view_index *index, uint32_t block,
                           const uint64_t *flags, uint64_t *lives);

/* A row's place in its chain; NULL: it is in none. */
const struct alqi_view_chain *
alqi_view_chain_of(const struct alqi_view_index *index, uint32_t row);

bool alqi_view_event_more(const struct alqi_view_index *index, size_t *at,
                          struct alqi_view_event *event);

/* Reads the event at *at and steps on; false at the end. */
static inline bool
alqi_view_event_next(const struct alqi_view_index *x, size_t *at,
                     struct alqi_view_event *e)
{
    unsigned char byte;

    if (*at >= x->n_event_bytes)
        return false;
    byte = x->events[(*at)++];
    e->kind = (enum alqi_view_event_kind)(byte & 3);
    e->number = byte >> 2 & 31;
    return byte < 0x80 || alqi_view_event_more(x, at, e);
}

#endif
