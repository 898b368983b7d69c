/* writer.h -- which process writes a recording, or may begin one */
#ifndef ALQI_CLI_RECORD_WRITER_H
#define ALQI_CLI_RECORD_WRITER_H

#include <sys/types.h>

#include "wire/raw.h"

/* Its number here; in a container it has another one there.  0: it has ended,
 * or goes on as another program. */
pid_t alqi_cli_record_writer(const struct alqi_raw_header *header,
                             const char *path);

/* A process that runs, and may begin a recording in the directory: a child that
 * was not sampled yet.  The one of the least number above `after`; 0: there is
 * none. */
pid_t alqi_cli_record_writer_later(const char *directory, pid_t after);

#endif
