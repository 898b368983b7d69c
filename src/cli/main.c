/* main.c -- the aliquot command: dispatch, and what holds for every verb
 *
 * Standard output is checked once, at the end: a reader that went away is no
 * error, a full disk is, and so is none at all for what has something to say.
 *
 * .inv.standard  No file that a verb opens is standard input, output or
 *                error: where one of them is closed, something takes its place
 *                that cannot be read or written, and that a recorded program
 *                does not get. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <aliquot/status.h>

#include "cli/tool/cli.h"
#include "cli/tool/launch.h"
#include "cli/tool/output.h"

static int
output_close(int rc)
{
    int error = alqi_cli_stream_error(stdout);

    errno = 0;
    if (fclose(stdout) != 0 && error == 0)
        error = errno;
    if (error == 0 || error == EPIPE)
        return rc;
    alqi_cli_say("cannot write standard output: %s",
                 error == EBADF ? "it is closed" : strerror(error));
    return ALQI_CLI_UNREADABLE;
}

/* Keeps .inv.standard: open() takes the lowest number that is free. */
static void
standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null",
                        O_CLOEXEC | (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
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
    standard_open();
    alqi_cli_launch_ignore_xfsz();
    return output_close(run(argc, argv));
}
