/* debugged.c -- see debugged.h
 *
 * The environment is set for the program alone: gdb itself is not recorded, and
 * no shell stands between the two, which else would be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/record/debugged.h"
#include "cli/tool/cli.h"

static char *
setting(const char *name, const char *value, const char *more)
{
    char *text;

    if (asprintf(&text, "set environment %s %s%s%s", name, value,
                 more != NULL && *more != '\0' ? ":" : "",
                 more != NULL ? more : "") < 0)
        alqi_cli_die("out of memory for gdb's commands");
    return text;
}

/* What is made here lives as long as this process. */
void
alqi_cli_record_debugged(struct alqi_cli_launch *launch)
{
    const char *begin[] = {
        "gdb",    "-q",
        "-ex",    "set startup-with-shell off",
        "-ex",    setting("LD_PRELOAD", launch->preload, getenv("LD_PRELOAD")),
        "-ex",    setting("ALIQUOT", launch->settings, NULL),
        "-ex",    "run",
        "--args",
    };
    size_t n = 0;
    const char **argv;

    while (launch->argv[n] != NULL)
        n++;
    argv = alqi_cli_realloc(NULL, ALQI_COUNT_OF(begin) + n + 1, sizeof *argv);
    memcpy(argv, begin, sizeof begin);
    memcpy(argv + ALQI_COUNT_OF(begin), launch->argv, (n + 1) * sizeof *argv);
    launch->argv = (char *const *)argv;
    launch->preload = NULL;
}
