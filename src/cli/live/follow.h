/* follow.h -- a recording or a trace, analysed while it is being written
 *
 * What has been read is never read again: a round costs what has come since
 * the last one.  (But for exact recordings, whose chunks do not stay as they
 * are: those are read anew.) */
#ifndef ALQI_CLI_LIVE_FOLLOW_H
#define ALQI_CLI_LIVE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/analysis/analysis.h"

struct alqi_cli_follow;

enum alqi_cli_follow_state {
    ALQI_CLI_FOLLOW_BEHIND, /* there is more to read at once              */
    ALQI_CLI_FOLLOW_LEVEL,  /* all that has been written is read          */
    ALQI_CLI_FOLLOW_OVER    /* the same, and nobody writes any more       */
};

/* pid: the process that writes it, as it is known here; 0: as the file says.
 * is_indexed: alqi_cli_follow_index() will be called. NULL when it is neither a
 * recording nor a trace; then why says so. */
struct alqi_cli_follow *alqi_cli_follow_open(const char *path, pid_t pid,
                                             bool is_indexed, char *why,
                                             size_t n_why);
void alqi_cli_follow_drop(struct alqi_cli_follow *follow);

/* Reads what there is, for budget_us at most, or a little longer. */
enum alqi_cli_follow_state alqi_cli_follow_read(struct alqi_cli_follow *follow,
                                                uint64_t budget_us);

/* What has been read so far.  Not to be kept over a read: it may be another. */
struct alqi_cli_analysis *
alqi_cli_follow_analysis(struct alqi_cli_follow *follow);

/* An index (view/index.h) of what has been read so far, as
 * alqi_cli_rows_picture gives it. */
const char *alqi_cli_follow_index(struct alqi_cli_follow *follow, char **bytes,
                                  size_t *n_bytes);

/* "" or why nothing more is read of it, though there is more. */
const char *alqi_cli_follow_damage(const struct alqi_cli_follow *follow);
/* Of what had been written when it was last looked at, 0 to 1. */
double alqi_cli_follow_progress(const struct alqi_cli_follow *follow);
/* The file, open; its name may be gone. */
int alqi_cli_follow_fd(const struct alqi_cli_follow *follow);
/* The process that wrote it, as the file says. */
pid_t alqi_cli_follow_pid(const struct alqi_cli_follow *follow);
/* Of a managed heap, in words; else of malloc, in bytes. */
bool alqi_cli_follow_is_heap(const struct alqi_cli_follow *follow);

#endif
