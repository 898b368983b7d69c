/* trace_file.h -- the file of a trace: whole packets, or none
 *
 * .inv.parent  A forked child writes nothing: the file is its parent's.
 *
 * Keeps .inv.whole (doc/design/trace.md): What a write that failed has left of
 *   another packet is cut off again, where the file can be cut.
 * Keeps .inv.quiet: Neither a pipe that nobody reads nor a limit on the size of
 *   files ends the program by its signal. */
#ifndef ALQI_GLUE_TRACING_TRACE_FILE_H
#define ALQI_GLUE_TRACING_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct alqi_glue_trace_file {
    int fd;
    int failed_errno;              /* of the write after which there was none */
    uint64_t n_bytes;              /* written whole; the file's length */
    pid_t pid;                     /* of the process that opened it */
    const volatile uint64_t *mark; /* pid, not so in a forked child; or NULL */
    bool is_regular;               /* it can be cut */
};

/* 0, or errno; EAGAIN: another process writes it.  It is overwritten. */
int alqi_glue_trace_file_open(struct alqi_glue_trace_file *file,
                              const char *path);

/* False: it is not there, and nothing will be; failed_errno says why, 0 in a
 * forked child. */
bool alqi_glue_trace_file_write(struct alqi_glue_trace_file *file,
                                const void *bytes, size_t n);

/* 0, or the errno of the first failure. */
int alqi_glue_trace_file_close(struct alqi_glue_trace_file *file);

bool alqi_glue_trace_file_is_childs(const struct alqi_glue_trace_file *file);

#endif
