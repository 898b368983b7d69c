/* side_write.h -- the side records that every writer of traces puts
 *
 * The library, the conversion and the merge write the same records: each is
 * made here, once. */
#ifndef ALQI_WIRE_SIDE_WRITE_H
#define ALQI_WIRE_SIDE_WRITE_H

#include "wire/ctf.h"

enum {
    ALQI_SIDE_LINE_BYTES = 4000, /* the longest line, with its NUL */
    ALQI_SIDE_NO_PROCESS = -1
};

/* Where records go, and the running number of those with a text. */
struct alqi_side_writer {
    struct alqi_ctf_writer *writer;
    uint64_t *n_texts;
    /* of the records that are put */
    uint64_t time_us;
};

/* A module, as its record says it. */
struct alqi_side_module {
    uint64_t id;
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    uint64_t reuse;
    const char *build_id;
    const char *path;
};

/* A record that is a line, under the next number. */
enum alq_status alqi_side_write_line(const struct alqi_side_writer *w,
                                     const char *line);

/* A record that is only a kind (ALQI_SIDE_THREAD ...) and a number. */
enum alq_status alqi_side_write_mark(const struct alqi_side_writer *w,
                                     uint64_t kind, uint64_t number);

/* The words of a command line, each behind the NUL of the one before; the last
 * may lack its own.  A line that is longer than the room is cut at a word. */
enum alq_status alqi_side_write_cmdline(const struct alqi_side_writer *w,
                                        const char *words, size_t n_bytes);

/* process: an index, or ALQI_SIDE_NO_PROCESS. */
enum alq_status alqi_side_write_thread(const struct alqi_side_writer *w,
                                       uint64_t index, uint64_t tid,
                                       int64_t process, const char *name);
enum alq_status alqi_side_write_module(const struct alqi_side_writer *w,
                                       const struct alqi_side_module *m);
/* What a module's symbols lack. */
enum alq_status alqi_side_write_symbols(const struct alqi_side_writer *w,
                                        uint64_t id, const char *note);
/* A phase of that name begins. */
enum alq_status alqi_side_write_phase(const struct alqi_side_writer *w,
                                      const char *name);
enum alq_status alqi_side_write_rate(const struct alqi_side_writer *w,
                                     uint64_t index, double per_word);

#endif
