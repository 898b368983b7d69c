/* again.c -- a second pass over the trace that is exported
 *
 * The first pass has said all warnings. A pipe was not kept, so it cannot be
 * read twice; the caller knows what would need no second pass. */
#include "cli/export/again.h"
#include "cli/tool/cli.h"

static void
be_quiet(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    (void)text; /* it was said the first time */
}

int
alqi_cli_export_again(struct alqi_cli_input *input, const char *what_needs,
                      struct alqi_cli_input **again)
{
    int fd = alqi_cli_input_again(input), rc;

    if (fd < 0)
        return alqi_cli_unreadable("%s cannot be read twice, as %s",
                                   alqi_cli_input_name(input), what_needs);
    rc = alqi_cli_input_open_fd(fd, alqi_cli_input_name(input), ALQI_CLI_OK,
                                again);
    if (rc < 0)
        alqi_cli_input_warn(*again, be_quiet, NULL);
    return rc;
}
