/* meanwhile.h -- recordings become traces while their processes write them
 *
 * A thread of this command converts each recording of a run as it grows, so
 * that little is left to do when the program has ended. What it has made is of
 * use only where it is what a conversion at the end would make; of all others
 * the caller converts the recording at once. See doc/design/record.md. */
#ifndef ALQI_CLI_RECORD_MEANWHILE_H
#define ALQI_CLI_RECORD_MEANWHILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/convert/convert.h"
#include "cli/record/run.h"

struct alqi_cli_meanwhile;

/* Begins for the recordings in the run's directory. The run's symbols are the
 * thread's until _end. NULL: no thread could be made, or no memory. */
struct alqi_cli_meanwhile *
alqi_cli_meanwhile_begin(const struct alqi_cli_record_run *run);
/* The thread ends; NULL is allowed. */
void alqi_cli_meanwhile_end(struct alqi_cli_meanwhile *meanwhile);
/* After _end: removes what was made and not taken. NULL is allowed. */
void alqi_cli_meanwhile_drop(struct alqi_cli_meanwhile *meanwhile);

/* The recording at that path, with what it has got until now, if it is being
 * converted; the meanwhile's. NULL: the caller opens it. */
struct alqi_cli_recording *
alqi_cli_meanwhile_recording(struct alqi_cli_meanwhile *meanwhile,
                             const char *path);
/* After that: converts the rest of the recording. True: the file at *made is
 * the whole trace, with the counts in *result; _drop removes it unless the
 * caller has moved it. False: the recording is to be converted at once. */
bool alqi_cli_meanwhile_finish(struct alqi_cli_meanwhile *meanwhile,
                               const char *path, const char *ended,
                               struct alqi_cli_convert_result *result,
                               const char **made);

#endif
