/* attached.h -- recording a process that runs        [doc/design/attach.md] */
#ifndef ALQI_CLI_RECORD_ATTACHED_H
#define ALQI_CLI_RECORD_ATTACHED_H

#include "cli/record/run.h"

/* Attaches, waits for ^C, --for or the process's end, and detaches: the run's
 * directory has the recording then. False: the reason has been said. */
bool alqi_cli_record_attached(struct alqi_cli_record_run *r,
                              const char *preload);

/* ---- record.c ------------------------------------------------------------ */

/* Makes the directory of the run beside the output, the file system that is to
 * hold the traces. False: the reason has been said. */
bool alqi_cli_record_directory_make(struct alqi_cli_record_run *r);

#endif
