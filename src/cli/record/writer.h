/* writer.h -- which process writes a recording */
#ifndef ALQI_CLI_RECORD_WRITER_H
#define ALQI_CLI_RECORD_WRITER_H

#include <sys/types.h>

#include "wire/raw.h"

/* Its number here; in a container it has another one there.  0: it has ended,
 * or goes on as another program. */
pid_t alqi_cli_record_writer(const struct alqi_raw_header *header,
                             const char *path);

#endif
