/* attach.h -- the preload comes into a process that runs, and out of it
 *                                                   [doc/design/attach.md] */
#ifndef ALQI_CLI_ATTACH_ATTACH_H
#define ALQI_CLI_ATTACH_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/attach/target.h"
#include "wire/attach.h"

struct alqi_cli_attach;

/* Looks whether it can be done; nothing of the process is touched.  `verb` is
 * said before messages; `library` is the preload's file.  NULL: the reason has
 * been said. */
struct alqi_cli_attach *alqi_cli_attach_open(const char *verb, pid_t pid,
                                             const char *library);
void alqi_cli_attach_drop(struct alqi_cli_attach *attach);

const struct alqi_cli_attach_target *
alqi_cli_attach_target_of(const struct alqi_cli_attach *attach);

/* Loads the library if it is not there, and begins a recording with `settings`
 * (wire/attach.h).  False: the reason has been said, and the process is as it
 * was, but for an idle library. */
bool alqi_cli_attach_begin(struct alqi_cli_attach *attach, const char *settings,
                           struct alqi_attach_told *told);

/* Ends it.  False: the reason has been said; or the process has ended. */
bool alqi_cli_attach_end(struct alqi_cli_attach *attach);

#endif
