/* ending.h -- a recorded program is looked through before it ends
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_RECORD_ENDING_H
#define ALQI_CLI_RECORD_ENDING_H

#include "cli/record/run.h"

/* If the process of the recording waits with its end, says what it leaves,
 * and lets it go. */
void alqi_cli_record_ending_look(struct alqi_cli_record_run *run,
                                 const char *path);
/* What was found of the recording's process, which is the run's; NULL: it was
 * not looked through. */
const struct alqi_cli_reaches *
alqi_cli_record_ending_found(const struct alqi_cli_record_run *run,
                             const struct alqi_raw_header *header);
void alqi_cli_record_ending_free(struct alqi_cli_record_run *run);

#endif
