/* copy.h -- a copy of a process, made to be read      [doc/design/leaks.md]
 *
 * The preload exports one structure and one function by the names below.  The
 * command gives a thread of the process a call of the function, while all its
 * other threads are stopped, and finds the copy's number in the structure.  The
 * copy, a forked process, has the same structure at the same address, and
 * lists there which of its blocks are in the sample. */
#ifndef ALQI_WIRE_COPY_H
#define ALQI_WIRE_COPY_H

#include <stdatomic.h>
#include <stdint.h>

#define ALQI_COPY_TOLD "alq_copy_told"
/* void (const char *reader): the number, as the process knows it, of the
 * process that will read the copy; "0": it has none there */
#define ALQI_COPY_MAKE "alq_copy_make"

/* A block of the sample. */
struct alqi_copy_block {
    uint64_t address;
    uint64_t ordinal; /* with the stream, as in the recording (wire/raw.h) */
    uint32_t stream;
    uint32_t pad;
};

/* Memory of the preload's own. */
struct alqi_copy_range {
    uint64_t start;
    uint64_t bytes;
};

/* The first three words are the process's, written by its calls; the fourth is
 * the command's, in the copy; the others are the copy's. */
struct alqi_copy_told {
    _Atomic(uint32_t) n_calls;   /* that have returned; written last  */
    int32_t error;               /* of the last call, an errno; 0     */
    int32_t pid;                 /* of its copy, as the process knows it */
    _Atomic(uint32_t) is_tied;   /* the command's: the copy ends with it */
    _Atomic(uint32_t) is_listed; /* the rest is valid               */
    uint64_t blocks;             /* address of so many rows; 0: no memory, if
                                  * there are any */
    uint64_t n_blocks;
    uint64_t owned; /* likewise, of ranges */
    uint64_t n_owned;
};

#endif
