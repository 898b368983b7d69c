/* dump.h -- a snapshot of the managed heap in a file [doc/design/heap-snapshot]
 *
 *   header  "ALQHEAP1"
 *   record  kind (a byte), then its numbers: varints; a text is its length in
 *           bytes and the bytes
 *
 *   PROGRAM  pid, wall us, command (arguments separated by a NUL)
 *   MODULE   start, end, bias, path, build-id
 *   KIND     number, name
 *   SITE     number, n frames; each: address, function, file, line; address 0:
 *            the frame has texts alone; function "": the address alone, a
 *            return address: the call is before it
 *   ROOT     enum alqi_dump_root, domain's id or 0: the heap's, slot's
 *            address or 0: not known, name, block
 *   SAMPLE   block, site's number, samples, bits of the rate (samples a word)
 *   TRACED   block, stream, object: its number in the trace that was under way
 *   RUN      address of the first block's header; then each block:
 *              wosize << 8 | tag (0: the run has ended; a block has a field),
 *              words between the end of the block before and its header
 *              (0 for the first), kind's number + 1 or 0,
 *              and for each edge 1 + zigzag of (target - block) / 8; 0 after
 *              the last
 *   END      blocks, words (headers included), edges, roots, samples,
 *            stop's ns, 1 if a copy of the process wrote it
 *
 * .inv.dump_order  KIND and SITE stand before what names their number; END is
 *                  the last record; other records come in any order, RUNs in
 *                  any order of addresses and without overlap.
 *
 * A tag's name is KIND 0 to 255, at the tag's number: it holds for blocks of
 * that tag without a kind of their own, and may stand anywhere before END.
 * Names of custom operations are KINDs from 256 on.  An edge is a field's: two
 * fields with the same target are two edges.  An edge or a root may lead to an
 * address without a block: of memory that the program keeps outside of the
 * heap.
 *
 * The encoder allocates nothing, takes no lock and calls nothing but the
 * caller's function.  Both sides are pure; the bytes may come from anywhere. */
#ifndef ALQI_WIRE_DUMP_H
#define ALQI_WIRE_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALQI_DUMP_MAGIC "ALQHEAP1"

enum alqi_dump_kind {
    ALQI_DUMP_PROGRAM = 1,
    ALQI_DUMP_MODULE,
    ALQI_DUMP_KIND,
    ALQI_DUMP_SITE,
    ALQI_DUMP_ROOT,
    ALQI_DUMP_SAMPLE,
    ALQI_DUMP_RUN,
    ALQI_DUMP_END,
    ALQI_DUMP_TRACED /* the last one */
};

enum alqi_dump_root {
    ALQI_DUMP_ROOT_FRAME,    /* name: function:line of its site */
    ALQI_DUMP_ROOT_RANGE,    /* alq_range; name: its own, or "" */
    ALQI_DUMP_ROOT_GLOBAL,   /* alq_global: the slot's address names it */
    ALQI_DUMP_ROOT_BOXED,    /* alq_root */
    ALQI_DUMP_ROOT_PIN,      /* pinned blocks */
    ALQI_DUMP_ROOT_SCANNER,  /* shown by a function: its address is the slot */
    ALQI_DUMP_ROOT_STACK,    /* a word of a conservative thread */
    ALQI_DUMP_ROOT_TRANSFER, /* an argument or a result of a domain */
    ALQI_DUMP_ROOT_FINAL,    /* a finaliser's value */
    ALQI_DUMP_ROOT_PROFILE,  /* a datum of the profiler */
    ALQI_DUMP_ROOT_HOST,     /* of the runtime that the heap hosts */
    ALQI_DUMP_ROOTS
};

/* ---- encoder ------------------------------------------------------------ */

/* Takes n bytes; false: they could not be written, and no more are given. */
typedef bool alqi_dump_write_fn(void *arg, const uint8_t *bytes, size_t n);

enum { ALQI_DUMP_BUFFER_BYTES = 65536 };

struct alqi_dump_encoder {
    alqi_dump_write_fn *write;
    void *arg;
    uint8_t *at;     /* of buffer: where the next byte goes */
    bool has_failed; /* a write did; nothing is written any more */
    /* of the END record; the encoder counts */
    uint64_t n_blocks, n_words, n_edges, n_roots, n_samples;
    uint64_t block;   /* whose edges are written; 0: no RUN is open */
    uint64_t run_end; /* address behind that block */
    uint8_t buffer[ALQI_DUMP_BUFFER_BYTES];
};

struct alqi_dump_module {
    uint64_t start, end, bias;
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
};

/* Texts may be NULL: as "". */
struct alqi_dump_frame {
    uint64_t address;
    const char *function, *file;
    uint64_t line;
};

/* Begins a file with its header. */
void alqi_dump_begin(struct alqi_dump_encoder *e, alqi_dump_write_fn *write,
                     void *arg);
void alqi_dump_program(struct alqi_dump_encoder *e, uint64_t pid,
                       uint64_t wall_us, const char *command,
                       size_t command_bytes);
void alqi_dump_module(struct alqi_dump_encoder *e,
                      const struct alqi_dump_module *module);
void alqi_dump_kind_name(struct alqi_dump_encoder *e, uint64_t number,
                         const char *name);
void alqi_dump_site(struct alqi_dump_encoder *e, uint64_t number,
                    const struct alqi_dump_frame *frames, size_t n_frames);
void alqi_dump_root(struct alqi_dump_encoder *e, enum alqi_dump_root kind,
                    uint64_t domain, uint64_t slot, const char *name,
                    uint64_t block);
void alqi_dump_sample(struct alqi_dump_encoder *e, uint64_t block,
                      uint64_t site, uint64_t samples, double rate);
/* The block of a trace that is under way, by what that knows it as. */
void alqi_dump_traced(struct alqi_dump_encoder *e, uint64_t block,
                      uint64_t stream, uint64_t object);
/* The block at this address (of its first field); its edges follow, before
 * anything else.  It begins a RUN where it has to. */
void alqi_dump_block(struct alqi_dump_encoder *e, uint64_t block,
                     uint64_t wosize, unsigned tag, uint64_t kind_plus_1);
void alqi_dump_edge(struct alqi_dump_encoder *e, uint64_t target);
/* Writes END and what is left in the buffer; false: something was not
 * written. */
bool alqi_dump_end(struct alqi_dump_encoder *e, uint64_t stop_ns,
                   bool is_copied);

#endif
