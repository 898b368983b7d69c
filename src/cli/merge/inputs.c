/* inputs.c -- several operands as one input
 *
 * [inputs.h] One path is opened as it is. Several are joined into an unnamed
 * temporary file, which then is the input; it goes away with its descriptor. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/merge/inputs.h"
#include "cli/merge/join.h"

/* Joins the traces into an unnamed file. -1: *fd is at its start; else the
 * exit status. */
static int
joined_make(const struct alqi_cli_paths *paths,
            struct alqi_cli_join_result *result, int *fd)
{
    struct alqi_cli_trace_out out = {.file = tmpfile(),
                                     .name = "a temporary file"};
    int rc = ALQI_CLI_UNREADABLE;

    *fd = -1;
    if (out.file == NULL) {
        alqi_cli_say("cannot make a temporary file: %s", strerror(errno));
        return rc;
    }
    rc = alqi_cli_join(paths, 2, &out, result);
    if (rc < 0 && (fflush(out.file) != 0 || (*fd = dup(fileno(out.file))) < 0 ||
                   lseek(*fd, 0, SEEK_SET) != 0)) {
        alqi_cli_say("cannot write a temporary file: %s", strerror(errno));
        rc = ALQI_CLI_UNREADABLE;
    }
    fclose(out.file);
    return rc;
}

int
alqi_cli_inputs_open(const struct alqi_cli_paths *paths,
                     struct alqi_cli_input **out)
{
    struct alqi_cli_join_result result;
    int rc, fd;

    if (!paths->has_many)
        return alqi_cli_input_open(paths->paths[0].path, NULL, NULL, out);
    rc = joined_make(paths, &result, &fd);
    if (rc < 0)
        return alqi_cli_input_open_fd(fd, "the traces together", result.status,
                                      out);
    if (fd >= 0)
        close(fd);
    return rc;
}
