/* control.h -- a running process, asked by its control socket
 *                                                    [src/preload/serve.c] */
#ifndef ALQI_CLI_LIVE_CONTROL_H
#define ALQI_CLI_LIVE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ALQI_CLI_REPLY_BYTES = 16384 };

/* Nothing answers, and nothing was said of it. */
enum { ALQI_CLI_SILENT = -2 };

struct alqi_cli_control_target {
    const char *verb;    /* stands in front of messages */
    pid_t pid;           /* 0: not given                     */
    const char *control; /* the socket's name; NULL: by pid  */
    bool is_heap;        /* by pid, the managed heap's       */
    int answer_ms;       /* waits so long; 0: some seconds   */
    bool has_other_way;  /* no answer: SILENT instead of why */
};

/* -p of a verb, to the target's pid (alqi_cli_take_fn of tool/cli.h). */
bool alqi_cli_pid_take(void *pid, const char *verb, const char *value);

/* The options that name a target, which is a field of the verb's struct. */
#define ALQI_CLI_CONTROL_ROW(in, target)                                       \
    {                                                                          \
        0, "control", "NAME", NULL,                                            \
            "its control socket, if ALIQUOT sets the name",                    \
            ALQI_CLI_TEXT(in, target.control)                                  \
    }
#define ALQI_CLI_TARGET_ROWS(in, target)                                       \
    {'p',                                                                      \
     "pid",                                                                    \
     "PID",                                                                    \
     NULL,                                                                     \
     "the process",                                                            \
     ALQI_CLI_TAKEN(alqi_cli_pid_take, offsetof(in, target.pid))},             \
        ALQI_CLI_CONTROL_ROW(in, target),                                      \
    {                                                                          \
        0, "heap", NULL, NULL, "its managed heap instead of its malloc",       \
            ALQI_CLI_FLAG(in, target.is_heap)                                  \
    }

/* Sends "command [key=value]..." (see wire/side.h) and leaves "ok key=..." in
 * reply.  -1 to go on, or the exit status; the reason is said. */
int alqi_cli_ask(const struct alqi_cli_control_target *target,
                 const char *request, char reply[ALQI_CLI_REPLY_BYTES]);

/* Sends it, and leaves the answer to be read from fd, which is the caller's to
 * close.  -1, SILENT, or the exit status; the reason is said. */
int alqi_cli_connect(const struct alqi_cli_control_target *target,
                     const char *request, int *fd);

/* The same of a command with what it may be given: rate 0 and output NULL are
 * not.  output is a path as the user means it; of `mark` a name.  "graph" is a
 * snapshot of the heap's blocks. */
int alqi_cli_command(const struct alqi_cli_control_target *target,
                     const char *command, double rate, const char *output,
                     char reply[ALQI_CLI_REPLY_BYTES]);

/* Why nothing answers, and what to do.  Returns the status to exit with. */
int alqi_cli_say_silent(const struct alqi_cli_control_target *target);

/* Whether a file with `name` in its path is mapped there; *is_known is false
 * when the map may not be read. */
bool alqi_cli_has_mapped(pid_t pid, const char *name, bool *is_known);

/* start, stop, status and mark of a process that nobody prepared (started.c):
 * the status to exit with; SILENT: it is none, or there is nothing to stop.
 * output is the name of a mark. */
int alqi_cli_started(const struct alqi_cli_control_target *target,
                     const char *command, double rate, const char *output);

/* The path of a file as its process has it may be another here (containers):
 * as it is reached, in path. */
void alqi_cli_path_here(pid_t pid, const char *file, char *path, size_t n);

#endif
