/* source.h -- lines of source files for the viewer */
#ifndef ALQI_CLI_VIEW_SOURCE_H
#define ALQI_CLI_VIEW_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* All zeros is an empty one. */
struct alqi_cli_view_source {
    char *text; /* of the file read last, each line ended by a zero byte */
    size_t n_bytes;
};

/* As alqi_view_lines_fn; arg is a struct alqi_cli_view_source.  Regular files
 * of text only, up to 16 MiB. */
int alqi_cli_view_lines(void *arg, const char *path, uint64_t from,
                        const char **lines, int n);

#endif
