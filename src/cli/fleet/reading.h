/* reading.h -- a trace for those who ask for it again and again
 *
 * A recording or a trace that grows is read on from where it was read to
 * (follow.h), so that an answer costs what has come since the last one, and a
 * picture of what is alive.  What follow.h cannot read on, a compressed file or
 * standard input, is read once. */
#ifndef ALQI_CLI_FLEET_READING_H
#define ALQI_CLI_FLEET_READING_H

#include <sys/types.h>

#include "cli/export/export.h"
#include "cli/live/follow.h"

/* By which a file is known again. */
struct alqi_cli_reading_file {
    uint64_t n_bytes;
    uint64_t changed_ns; /* since 1970 */
    uint64_t inode;
};

/* Fields are valid as far as is_there says; one thread at a time. */
struct alqi_cli_reading {
    /* the caller's; "-" is standard input */
    const char *path;
    pid_t pid;       /* whose recording it is, as far as is known; or 0 */
    bool is_there;   /* export.analysis is valid */
    bool is_growing; /* somebody writes it still */
    struct alqi_cli_follow *follow;    /* NULL: it was read once */
    struct alqi_cli_export export;     /* input, analysis */
    uint64_t wall_ns;                  /* when it was read ... */
    uint64_t took_ns;                  /* ... and how long that took */
    struct alqi_cli_reading_file file; /* that was opened last */
};

/* Nothing is read yet. */
void alqi_cli_reading_init(struct alqi_cli_reading *reading, const char *path,
                           pid_t pid);
void alqi_cli_reading_free(struct alqi_cli_reading *reading);

/* Reads what is new.  Returns -1 to go on, or the exit status; the reason was
 * said. */
int alqi_cli_reading_update(struct alqi_cli_reading *reading);

/* Up to when it tells: until it was read, or until the trace ends. */
uint64_t alqi_cli_reading_taken_ns(const struct alqi_cli_reading *reading);

/* "" or what is wrong with it. */
const char *alqi_cli_reading_damage(const struct alqi_cli_reading *reading);

/* A profile of it as the file of `export --format=pprof`, to be freed; measure
 * as --allocated and --live. */
void *alqi_cli_reading_pprof(struct alqi_cli_reading *reading,
                             enum alqi_cli_measure measure,
                             const struct alqi_cli_moment *since,
                             bool is_window, size_t *n_bytes);

#endif
