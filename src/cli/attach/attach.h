/* attach.h -- the preload comes into a process that runs, and out of it
 *                                                   [doc/design/attach.md] */
#ifndef ALQI_CLI_ATTACH_ATTACH_H
#define ALQI_CLI_ATTACH_ATTACH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/target.h"
#include "wire/attach.h"

struct alqi_cli_attach;

/* Whether the process has the preload, loaded by such a command; false also
 * where that cannot be read.  Says nothing. */
bool alqi_cli_attach_is_late(pid_t pid);

/* Looks whether it can be done; nothing of the process is touched.  `verb` is
 * said before messages; `library` is the preload's file.  NULL: the reason has
 * been said. */
struct alqi_cli_attach *alqi_cli_attach_open(const char *verb, pid_t pid,
                                             const char *library);
void alqi_cli_attach_drop(struct alqi_cli_attach *attach);

const struct alqi_cli_attach_target *
alqi_cli_attach_target_of(const struct alqi_cli_attach *attach);

/* Where the process makes the recording. */
struct alqi_cli_attach_place {
    char here[PATH_MAX];       /* a directory, as this command reaches it */
    char there[PATH_MAX + 16]; /* the same, as the process names it */
};

/* Makes a directory in the process's /tmp, of its user; it is reached by a
 * descriptor, so also when the process has ended.  False: the reason has been
 * said. */
bool alqi_cli_attach_place_make(const char *verb,
                                const struct alqi_cli_attach_target *target,
                                struct alqi_cli_attach_place *place);

struct alqi_cli_attach_settings {
    double rate;    /* samples per word     */
    uint64_t depth; /* frames; 0: the usual */
    uint64_t seed;  /* 0: random            */
    bool has_no_rss;
    bool has_no_python;
    bool has_native;
    /* a path as the process names it, a pattern (base/pattern.h) that it makes
     * the file's name of; NULL: in the place */
    const char *output;
    /* no command stays: the recording goes on until it is told to end */
    bool is_left;
};

/* Loads the library if it is not there, and begins a recording.  place is not
 * read if the settings have an output.  False: the reason has been said, and
 * the process is as it was, but for an idle library. */
bool alqi_cli_attach_begin(struct alqi_cli_attach *attach,
                           const struct alqi_cli_attach_settings *settings,
                           const struct alqi_cli_attach_place *place,
                           struct alqi_attach_told *told);

/* What the library tells now; false: it has gone, or was never loaded. */
bool alqi_cli_attach_told(const struct alqi_cli_attach *attach,
                          struct alqi_attach_told *told);

/* The command that is to end the recording; 0: none is, or it has ended. */
pid_t alqi_cli_attach_recorder(const struct alqi_attach_told *told);

/* A phase of that name begins.  False: the reason has been said. */
bool alqi_cli_attach_mark(struct alqi_cli_attach *attach, const char *name);

/* Ends it.  False: the reason has been said; or the process has ended. */
bool alqi_cli_attach_end(struct alqi_cli_attach *attach);

#endif
