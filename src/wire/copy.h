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

/* ---- through a socket ------------------------------------------------------
 *
 * Where the command may not trace the process, the process makes the copy
 * itself when it is asked to (preload/copy_send.c), and the copy sends what the
 * command asks it for:
 *
 *   command: "aliquot/1 copy\n"
 *   process: "aliquot/1 ok ...\n"   all of its other threads stand still
 *   command: ALQI_COPY_TAKEN        it has taken what is to be of that moment
 *   copy:    frames, the last of kind READY
 *   command: a question             copy: so many bytes, and how many of the
 *   ...                                   first are true
 *
 * The copy ends when the command closes its end.  Both are of one machine. */

#define ALQI_COPY_TAKEN '.'

enum alqi_copy_kind {
    ALQI_COPY_HEAD,    /* struct alqi_copy_head                          */
    ALQI_COPY_MAPS,    /* bytes of its /proc/self/maps                   */
    ALQI_COPY_THREADS, /* struct alqi_copy_thread, each                  */
    ALQI_COPY_BLOCKS,  /* struct alqi_copy_block, each                   */
    ALQI_COPY_OWNED,   /* struct alqi_copy_range, each                   */
    ALQI_COPY_READY,   /* nothing: it waits for questions                */
    ALQI_COPY_KINDS
};

/* In front of a frame's bytes; a kind's bytes may come in several. */
struct alqi_copy_frame {
    uint32_t kind;
    uint32_t n_bytes; /* at most ALQI_COPY_FRAME_BYTES */
};

enum { ALQI_COPY_FRAME_BYTES = 4096 };

struct alqi_copy_head {
    uint64_t still_ns;  /* so long the threads had stood when it was made */
    int32_t pid;        /* as it knows itself                             */
    uint32_t n_unknown; /* threads that did not come to stand             */
};

/* A thread that stood. */
struct alqi_copy_thread {
    uint64_t context; /* address of the ucontext_t that the system made for its
                       * signal handler; 0: it is the one that copied */
    uint64_t sp;      /* of the one that copied; else 0 */
    uint64_t thread_pointer;
    uint32_t tid; /* as the process knows it */
    uint32_t pad;
};

enum alqi_copy_question_kind {
    ALQI_COPY_READ,        /* n bytes of memory                             */
    ALQI_COPY_PAGES,       /* n words of its table of pages, as /proc's     */
    ALQI_COPY_SHARED_PAGES /* of the process's, for what it shares          */
};

struct alqi_copy_question {
    uint64_t from; /* an address; of a table, a page's number */
    uint64_t n;
    uint32_t kind; /* enum alqi_copy_question_kind */
    uint32_t pad;
};

#endif
