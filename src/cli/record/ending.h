/* ending.h -- a recorded program is looked through before it ends
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_RECORD_ENDING_H
#define ALQI_CLI_RECORD_ENDING_H

#include "cli/record/run.h"

/* If the process of the recording waits with its end, says what it leaves,
 * and lets it go. */
void alqi_cli_record_ending_look(const struct alqi_cli_record_run *run,
                                 const char *path);

#endif
