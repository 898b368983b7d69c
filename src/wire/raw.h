/* raw.h -- what the preload writes while the program runs [doc/design/preload]
 *
 * A recording is a header and chunks of equal size behind it, all in whole
 * pages of the writer's.  A chunk is owned by one stream, and a stream belongs
 * to one thread at a time and outlives it.  The file is mapped shared by the
 * writer: what a chunk's `used` covers is in the file whatever happens to the
 * process.
 *
 * .inv.commit  `used` grows only after the bytes it covers are written
 *              (release store), so a reader never meets half an event.
 * .inv.alone   A chunk is decodable by itself: its first allocation shares no
 *              frame with another, its header has time and ordinal, and until
 *              a RATE event its allocations are of the header's rate.
 * .inv.order   Times of one stream never go back.
 * .inv.named   Stacks with a number stand in the same chunk before the events
 *              that name them, and have NAMED_FRAMES frames at most together:
 *              a reader keeps them.
 *
 * .inv.python  A frame with the bit ALQI_RAW_PYTHON is one of a Python
 * function: a number, which a CODE event defines that was written before, and a
 * line.  No address of a program has that bit.  The innermost frame of a pool's
 * block is such a number, too, from POOL_FIRST on.
 *
 * Numbers are LEB128 varints, signed ones zigzag (varint.h).  Everything here
 * is pure; the encoder is async-signal-safe. */
#ifndef ALQI_WIRE_RAW_H
#define ALQI_WIRE_RAW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALQI_RAW_MAGIC "ALIQRAW1"
#define ALQI_RAW_CHUNK_MAGIC 0x43514C41u /* "ALQC" */

enum {
    ALQI_RAW_HEADER_BYTES = 8192, /* or a page, where that is larger */
    ALQI_RAW_CHUNK_BYTES = 65536,
    ALQI_RAW_CHUNK_HEADER_BYTES = 40,
    ALQI_RAW_FRAMES_MAX = 4096,
    ALQI_RAW_NAMED_FRAMES = 4096,
    ALQI_RAW_NAMED_MAX = 512, /* of one chunk */
    ALQI_RAW_TEXT_BYTES_MAX = 4000,
    ALQI_RAW_JIT_DUMP_BYTES = 1024,
    ALQI_RAW_NAME_BYTES_MAX = 400,
    ALQI_RAW_EVENT_BYTES_MAX = 64 + 10 * ALQI_RAW_FRAMES_MAX
};

/* A frame of a Python function (.inv.python). */
#define ALQI_RAW_PYTHON (UINT64_C(1) << 62)
enum {
    ALQI_RAW_PYTHON_LINE_BITS = 20,
    ALQI_RAW_PYTHON_NUMBER_BITS = 26,
    ALQI_RAW_PYTHON_LINE_MAX = (1 << ALQI_RAW_PYTHON_LINE_BITS) - 1,
    ALQI_RAW_PYTHON_NUMBER_MAX = (1 << ALQI_RAW_PYTHON_NUMBER_BITS) - 1,
    ALQI_RAW_POOL_FIRST = 1 << (ALQI_RAW_PYTHON_NUMBER_BITS - 1)
};

/* The file of a pool's frame. */
#define ALQI_RAW_POOL_FILE "[pool]"

/* line: 0 when unknown. */
static inline uint64_t
alqi_raw_python_frame(uint32_t number, uint32_t line)
{
    if (line > ALQI_RAW_PYTHON_LINE_MAX)
        line = ALQI_RAW_PYTHON_LINE_MAX;
    return ALQI_RAW_PYTHON | (uint64_t)number << ALQI_RAW_PYTHON_LINE_BITS |
           line;
}

enum alqi_raw_counter {
    ALQI_RAW_SAMPLES,          /* allocations recorded                    */
    ALQI_RAW_FREES,            /* frees of recorded allocations           */
    ALQI_RAW_DROPPED_NESTED,   /* by a signal handler inside the profiler */
    ALQI_RAW_DROPPED_NOMEM,    /* no memory for the profiler's tables     */
    ALQI_RAW_DROPPED_SPACE,    /* no room in the file: disk, limit, quota */
    ALQI_RAW_DROPPED_CAP,      /* too many tracked blocks                 */
    ALQI_RAW_LOST_FREES,       /* frees that could not be written         */
    ALQI_RAW_INCOMPLETE,       /* stacks that end before the first frame  */
    ALQI_RAW_TRUNCATED,        /* stacks cut at the depth limit           */
    ALQI_RAW_INHERITED_FREES,  /* frees of blocks from before the fork    */
    ALQI_RAW_DEEPBIND_DROPPED, /* dlopen calls that lost RTLD_DEEPBIND    */
    ALQI_RAW_AFTER_END,        /* blocks of ended threads, not recorded   */
    ALQI_RAW_WITHIN,           /* so often one or more were allocated in a
                                  callback, or by a handler that came in the
                                  profiler's way; of whole recordings alone */
    ALQI_RAW_PYTHON_FRAMES,    /* stacks with frames of Python functions  */
    ALQI_RAW_PYTHON_SMALL,     /* so often the countdown passed zero in
                                  Python's own allocator                  */
    ALQI_RAW_PATCHED,          /* functions of the program's own allocators
                                  whose calls are seen                    */
    ALQI_RAW_COUNTERS = 16
};

enum alqi_raw_flag {
    ALQI_RAW_FORKED = 1,     /* begins at a fork: earlier blocks are unknown */
    ALQI_RAW_OWN_MALLOC = 2, /* the program brings its own malloc            */
    ALQI_RAW_EXITED = 4,     /* exit handlers ran, or it called _exit        */
    ALQI_RAW_IS_EXACT = 8,   /* every block, not a sample: wire/exact.h      */
    ALQI_RAW_LATE = 16,      /* begun in a process that had begun before     */
    ALQI_RAW_PAUSED = 32,    /* it was stopped, if only for a while          */
    ALQI_RAW_CONFINED = 64,  /* system calls were forbidden: no more space   */
    ALQI_RAW_EXECUTED = 128, /* the process went on as another program       */
    ALQI_RAW_DETACHED = 256, /* it was ended, and the process runs on        */
    ALQI_RAW_PYTHON_UNREAD = 512, /* an interpreter is not read: its version,
                                     or its build without a global lock      */
    ALQI_RAW_LEAKS = 1024 /* its end is to be looked at: alqi_raw_ending     */
};

enum alqi_raw_limit_kind {
    ALQI_RAW_LIMIT_LIVE, /* bytes that are alive     */
    ALQI_RAW_LIMIT_ALLOC /* bytes that were allocated */
};

enum { ALQI_RAW_LIMITS = 2 };

/* Suffix of a recording that could not be begun: the file has the reason that
 * its process logged. */
#define ALQI_RAW_SAID_SUFFIX ".said"

/* Where a recorded process reports a limit that was reached, or that it waits
 * with its end, by a line with the recording's name: a named pipe in the
 * recording's directory. */
#define ALQI_RAW_LIMIT_PIPE "limits"

/* Where a recorded process lists the programs that it executed and that cannot
 * be recorded, one line each: enum alqi_plat_program, and the path.  In the
 * same directory. */
#define ALQI_RAW_UNRECORDED "unrecorded"

/* A limit on the process that was reached. */
struct alqi_raw_limit {
    _Atomic(uint64_t) at_ns; /* CLOCK_MONOTONIC, written last; 0: it was not */
    uint64_t bytes;          /* the limit                                    */
    uint64_t live_bytes;     /* then, as the process's samples had it        */
    uint64_t alloc_bytes;
};

/* Whether the process waits with its end (preload/ending.c): it writes WAITS,
 * the command that looked through it LOOKED. */
enum alqi_raw_ending {
    ALQI_RAW_ENDING_NOT,
    ALQI_RAW_ENDING_WAITS,
    ALQI_RAW_ENDING_LOOKED
};

/* Where a command listens that has asked for a copy of the process (copy_asked,
 * wire/copy.h); by the header's pid and start_mono_ns. */
#define ALQI_RAW_COPY_SOCKET "@aliquot.copy.%u.%llx"

/* The header, as the writer maps it. */
struct alqi_raw_header {
    char magic[8];
    uint32_t header_bytes; /* up to the first chunk */
    uint32_t chunk_bytes;
    uint32_t pid;
    uint32_t parent_pid;
    _Atomic(uint32_t) flags;
    uint32_t depth_frames;
    uint64_t start_wall_ns;
    uint64_t start_mono_ns;
    uint64_t process_start_ticks; /* tells a reused pid from this process */
    double rate;                  /* samples per word, at the start */
    uint64_t seed;
    _Atomic(uint32_t) n_chunks;
    uint32_t n_cmdline_bytes;
    _Atomic(uint64_t) counters[ALQI_RAW_COUNTERS];
    /* The largest rate so far, as the bits of a double; raised before the
     * first allocation of that rate.  0: `rate`. */
    _Atomic(uint64_t) most_rate_bits;
    char executable[1024];
    char host[64];
    char cmdline[ALQI_RAW_TEXT_BYTES_MAX]; /* NUL-separated */
    struct alqi_raw_limit limits[ALQI_RAW_LIMITS];
    /* The file of code made at run time that the process mapped (jitdump), its
     * absolute path, valid once the word before it is not 0. */
    _Atomic(uint32_t) has_jit_dump;
    char jit_dump[ALQI_RAW_JIT_DUMP_BYTES];
    _Atomic(uint32_t) ending; /* enum alqi_raw_ending */
    /* Marks that are not in the recording. */
    _Atomic(uint64_t) dropped_marks;
    /* 1: a command asks for a copy; the process takes that back when it
     * connects. */
    _Atomic(uint32_t) copy_asked;
    /* CLOCK_MONOTONIC of the end, written before EXITED, EXECUTED or DETACHED;
     * 0: none of them, or a writer that did not tell. */
    _Atomic(uint64_t) ended_ns;
    /* The kernel's own maximum of resident memory of this image, in bytes, as
     * of the last look at it; 0: it was not looked at. */
    _Atomic(uint64_t) most_rss_bytes;
};

_Static_assert(sizeof(struct alqi_raw_header) <= ALQI_RAW_HEADER_BYTES,
               "the header fits its page");

/* Bytes up to the first chunk; the least where the header does not say yet. */
static inline uint32_t
alqi_raw_header_bytes(const struct alqi_raw_header *h)
{
    return h->header_bytes >= ALQI_RAW_HEADER_BYTES &&
                   h->header_bytes <= ALQI_RAW_CHUNK_BYTES
               ? h->header_bytes
               : ALQI_RAW_HEADER_BYTES;
}

enum alqi_raw_chunk_kind {
    ALQI_RAW_EVENTS = 1,
    ALQI_RAW_MODULES = 2,
    ALQI_RAW_EXACT = 3, /* wire/exact.h; first_ordinal: ticks at start_ns */
    ALQI_RAW_NODES = 4  /* wire/exact.h; first_ordinal: the first id      */
};

/* Written by the stream; `used` last (.inv.commit). */
struct alqi_raw_chunk_header {
    uint32_t magic;
    uint32_t kind;
    uint32_t stream;
    uint32_t sequence;      /* of this chunk in its stream */
    uint64_t start_ns;      /* CLOCK_MONOTONIC             */
    uint64_t first_ordinal; /* of the stream's next allocation */
    _Atomic(uint32_t) used; /* bytes of events behind this header */
    uint32_t pad;
};

_Static_assert(sizeof(struct alqi_raw_chunk_header) ==
                   ALQI_RAW_CHUNK_HEADER_BYTES,
               "the chunk header has no hidden padding");

/* ---- encoder ------------------------------------------------------------- */

/* Into one chunk; the stream's writer alone uses it. */
struct alqi_raw_encoder {
    uint8_t *at; /* the next free byte */
    uint8_t *end;
    uint64_t last_ns;
    uintptr_t last_pc;
    uint64_t next_ordinal;
    double rate;      /* of the next allocation, as the chunk says so far */
    uint32_t n_named; /* stacks of this chunk that have a number */
    uint32_t n_named_frames;
};

/* Whether a stack of so many frames may have a number (.inv.named). */
static inline bool
alqi_raw_may_name(const struct alqi_raw_encoder *encoder, uint32_t n_frames)
{
    return encoder->n_named < ALQI_RAW_NAMED_MAX &&
           n_frames <= ALQI_RAW_NAMED_FRAMES - encoder->n_named_frames;
}

/* Each returns false, and writes nothing, when the event does not fit. */

bool alqi_raw_put_thread(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                         uint32_t index, uint32_t tid, const char *name);

/* frames: innermost first, as captured; the outer n_shared of them stand in
 * the stream's previous allocation already. */
bool alqi_raw_put_alloc(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                        uint64_t size_bytes, uint64_t n_samples,
                        const uintptr_t *frames, uint32_t n_frames,
                        uint32_t n_shared);

/* As put_alloc; the stack has the next number, encoder->n_named, from now on
 * (.inv.named). */
bool alqi_raw_put_named(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                        uint64_t size_bytes, uint64_t n_samples,
                        const uintptr_t *frames, uint32_t n_frames,
                        uint32_t n_shared);

/* An allocation whose stack has that number in this chunk; its innermost
 * frame is `pc`. */
bool alqi_raw_put_again(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                        uint64_t size_bytes, uint64_t n_samples,
                        uint32_t number, uintptr_t pc);

/* The allocations that follow in this chunk were sampled at that rate. */
bool alqi_raw_put_rate(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                       double rate);

bool alqi_raw_put_free(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                       bool own_stream, uint32_t stream, uint64_t ordinal);

/* A property of the allocation that is put next, with nothing between: a
 * realloc of that block, which the allocation frees; a mapping (mmap). */
bool alqi_raw_put_moved(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                        bool own_stream, uint32_t stream, uint64_t ordinal);
bool alqi_raw_put_mapped(struct alqi_raw_encoder *encoder, uint64_t now_ns);

/* A property likewise: the block is of a pool; its number is defined by a CODE
 * event that was written before. */
bool alqi_raw_put_pooled(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                         uint32_t number);

/* A property likewise: realloc made the allocation; MOVED says of which block.
 */
bool alqi_raw_put_reborn(struct alqi_raw_encoder *encoder, uint64_t now_ns);

bool alqi_raw_put_rss(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                      uint64_t rss_bytes);

bool alqi_raw_put_module(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                         uint64_t start, uint64_t end, uint64_t bias,
                         const char *path, const uint8_t *build_id,
                         uint32_t build_id_bytes);

/* The name of a number's code, for frames (.inv.python). */
bool alqi_raw_put_code(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                       uint32_t number, const char *function, const char *file);

/* A phase of that name begins; the name is as alqi_side_mark_name makes it.
 * Where it begins an exact stream says by the number; 0: here. */
bool alqi_raw_put_mark(struct alqi_raw_encoder *encoder, uint64_t now_ns,
                       uint32_t number, const char *name);

/* ---- decoder ------------------------------------------------------------- */

enum alqi_raw_kind {
    ALQI_RAW_THREAD = 1,
    ALQI_RAW_ALLOC = 2,
    ALQI_RAW_FREE_OWN = 3,
    ALQI_RAW_FREE_OTHER = 4,
    ALQI_RAW_MODULE = 5,
    ALQI_RAW_RATE = 6,
    ALQI_RAW_ALLOC_NAMED = 7, /* these two come out as ALLOC */
    ALQI_RAW_ALLOC_AGAIN = 8,
    ALQI_RAW_MOVED_OWN = 16,   /* these three come out as part of the ALLOC */
    ALQI_RAW_MOVED_OTHER = 17, /* that follows them */
    ALQI_RAW_MAPPED = 18,
    ALQI_RAW_RSS = 19,
    ALQI_RAW_REBORN = 20, /* comes out as part of the ALLOC, too */
    ALQI_RAW_CODE = 21,
    ALQI_RAW_POOLED = 22, /* comes out as part of the ALLOC, too */
    ALQI_RAW_MARK = 23
};

/* An event as it is read; of the fields below, those of its kind are valid. */
struct alqi_raw_event {
    enum alqi_raw_kind kind;
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    /* THREAD */
    uint32_t thread_index;
    uint32_t tid;
    char name[32];
    /* ALLOC; FREE_*: the allocation meant */
    uint32_t stream;
    uint64_t ordinal;
    uint64_t size_bytes;
    uint64_t n_samples;
    /* RATE, ALLOC: samples per word; ALLOC: 0 means the header's */
    double rate;
    bool is_mapping;
    uint32_t pool;  /* of a pool of that number; 0: of none */
    bool is_reborn; /* made by realloc: .inv.reborn of the design note */
    bool is_moved;  /* it frees, and continues, the block of the next two */
    uint32_t from_stream;
    uint64_t from_ordinal;
    /* RSS */
    uint64_t rss_bytes;
    /* CODE: its file is `path`; MARK: up to ALQI_SIDE_MARKS_MAX */
    uint32_t number;
    char function[ALQI_RAW_NAME_BYTES_MAX]; /* MARK: the phase's name */
    /* MODULE */
    uint64_t start, end, bias;
    char path[ALQI_RAW_TEXT_BYTES_MAX];
    uint8_t build_id[64];
    uint32_t build_id_bytes;
};

/* Decodes one chunk; the caller owns the bytes. */
struct alqi_raw_decoder {
    const uint8_t *at;
    const uint8_t *end;
    const char *error; /* set with a -1 result */
    uint64_t last_ns;
    uint64_t last_pc;
    uint32_t stream;
    uint64_t next_ordinal;
    double rate;       /* 0: the header's          */
    uint32_t n_frames; /* of the last allocation */
    uint32_t n_shared;
    uint32_t n_named;
    uint64_t frames[ALQI_RAW_FRAMES_MAX]; /* outermost first */
    uint32_t named_end[ALQI_RAW_NAMED_MAX];
    uint64_t named[ALQI_RAW_NAMED_FRAMES]; /* each behind the one before */
};

/* False, with *error, when `chunk` is not a chunk.  `used` is bounded by
 * n_bytes. */
bool alqi_raw_decoder_open(struct alqi_raw_decoder *decoder,
                           const uint8_t *chunk, size_t n_bytes);

/* At the end of what `chunk`, which it was opened on, had: it may have got more
 * since.  A damaged one is to be left alone. */
void alqi_raw_decoder_more(struct alqi_raw_decoder *decoder,
                           const uint8_t *chunk, size_t n_bytes);

/* 1: *event is filled (frames stay in the decoder); 0: end; -1: damaged. */
int alqi_raw_next(struct alqi_raw_decoder *decoder,
                  struct alqi_raw_event *event);

#endif
