/* output.h -- files that verbs write: never over an existing one unasked */
#ifndef ALQI_CLI_TOOL_OUTPUT_H
#define ALQI_CLI_TOOL_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <aliquot/status.h>

/* 0, or the errno of what was not written to the stream, as far as it is still
 * known; the stream is flushed. */
int alqi_cli_stream_error(FILE *file);

/* A trace on its way to a file, with the first error of a write: a later call
 * may have changed errno, or had no reason to set it. */
struct alqi_cli_trace_out {
    FILE *file;
    const char *name; /* in messages; NULL where its writer knows it */
    int error;        /* 0: none */
};

/* The packet function (ctf.h) of one. */
bool alqi_cli_trace_put(void *trace_out, const void *bytes, size_t n);
/* Why it was not all written, where who wrote it says `status`; NULL: it was.
 */
const char *alqi_cli_trace_failure(struct alqi_cli_trace_out *out,
                                   enum alq_status status);

struct alqi_cli_output {
    const char *path; /* "-" is standard output */
    FILE *file;       /* stdout for "-" */
    bool is_file;     /* a regular one, no device or pipe */
};

/* A name that ends in ".zst" is written compressed.  -1 to go on, or the exit
 * status; the reason has been said. */
int alqi_cli_output_open(struct alqi_cli_output *output, const char *path,
                         bool overwrites);
/* ALQI_CLI_OK when all was written, else said, and a half-written file is
 * removed. */
int alqi_cli_output_close(struct alqi_cli_output *output);
/* Closes it and removes the file: there is nothing to write after all. */
void alqi_cli_output_abandon(struct alqi_cli_output *output);

/* Creates a file of a name that is not taken: stem and suffix, or with ".1",
 * ".2" ... between them; path becomes the last name that was tried. -1: errno.
 */
int alqi_cli_output_numbered(const char *stem, const char *suffix, mode_t mode,
                             char *path, size_t capacity);

/* A file that is finished takes the place of what is at `path`, if that is a
 * file or nothing.  False: errno, which is EEXIST for a device or a pipe. */
bool alqi_cli_output_replace(const char *finished, const char *path);

/* Whether a file can be written there, as far as that is known before: it is
 * opened, and what is there stays as it is.  False: errno. */
bool alqi_cli_output_try(const char *path);

/* Whether two names lead to one file that exists. */
bool alqi_cli_output_is(const char *path, const char *other);

/* Whether a file may go where a trace is to be written by a name that was given
 * for another tool, too: a trace, a recording, or empty, compressed or not. */
bool alqi_cli_output_is_trace(const char *path);

/* Makes each missing folder above the path, for its user alone. Errors are
 * ignored: opening the file tells them. */
void alqi_cli_folders_make(const char *path);

#endif
