/* main.c -- the aliquot command: dispatch, and what holds for every verb
 *
 * Standard output is checked once, at the end: a reader that went away is no
 * error, a full disk is. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <aliquot/status.h>

#include "cli/tool/cli.h"
#include "cli/tool/launch.h"

static int
output_close(int rc)
{
    bool bad = ferror(stdout) != 0;

    errno = 0;
    if (fclose(stdout) != 0)
        bad = true;
    if (!bad || errno == EPIPE || errno == EBADF)
        return rc;
    fprintf(stderr, "aliquot: cannot write standard output: %s\n",
            errno != 0 ? strerror(errno) : "a write failed");
    return ALQI_CLI_UNREADABLE;
}

static int
run(int argc, char **argv)
{
    const struct alqi_cli_verb *verb;

    if (argc < 2) {
        alqi_cli_help_all();
        return ALQI_CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("aliquot %s\n", ALQI_VERSION);
        return ALQI_CLI_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        alqi_cli_help_all();
        return ALQI_CLI_OK;
    }
    verb = alqi_cli_verb_find(argv[1]);
    if (verb != NULL)
        return verb->run(argc - 1, argv + 1);
    if (argv[1][0] == '-')
        return alqi_cli_usage(NULL, "there is no option '%s' before a command",
                              argv[1]);
    if (strchr(argv[1], '/') != NULL)
        return alqi_cli_usage(NULL,
                              "there is no command '%s'; to record a program: "
                              "aliquot record %s",
                              argv[1], argv[1]);
    return alqi_cli_usage(NULL, "there is no command '%s'", argv[1]);
}

int
main(int argc, char **argv)
{
    alqi_cli_launch_ignore_xfsz();
    return output_close(run(argc, argv));
}
