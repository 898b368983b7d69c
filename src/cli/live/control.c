/* control.c -- aliquot start, stop, rate, status, mark: a running process
 *
 * Five verbs of one shape: options, a request of a line, the state that comes
 * back. Nothing is kept between two requests. What the process says is cleaned
 * before it is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/defaults.h"
#include "cli/tool/cli.h"
#include "cli/live/control.h"
#include "cli/tool/rate.h"
#include "cli/tool/rate.h"
#include "cli/tool/text.h"
#include "wire/side.h"

/* Of a path in a request or a reply. */
enum { PATH_BYTES = 4096 };

struct control {
    struct alqi_cli_control_target target;
    /* samples per word; negative: not given */
    double rate;
    /* as the user means it; NULL: not given */
    const char *output;
};

#define TARGET_ROWS ALQI_CLI_TARGET_ROWS(struct control, target)
#define RATE_ROWS                                                              \
    {0,                                                                        \
     "interval",                                                               \
     "N[K|M|G]",                                                               \
     NULL,                                                                     \
     "mean bytes between samples",                                             \
     ALQI_CLI_TAKEN(alqi_cli_interval_take, offsetof(struct control, rate)),   \
     ALQI_CLI_ONE_OF("rate")},                                                 \
    {                                                                          \
        0, "rate", "R", NULL,                                                  \
            "instead: samples per word, above 0 and up to 1",                  \
            ALQI_CLI_TAKEN(alqi_cli_rate_take,                                 \
                           offsetof(struct control, rate)),                    \
            ALQI_CLI_ONE_OF("rate")                                            \
    }

const struct alqi_cli_option alqi_cli_start_options[] = {
    TARGET_ROWS,
    RATE_ROWS,
    {'o', "output", "FILE", NULL,
     "the recording; default aliquot.PROGRAM.PID.alqraw",
     ALQI_CLI_TEXT(struct control, output)},
    {0},
};

const struct alqi_cli_option alqi_cli_stop_options[] = {TARGET_ROWS, {0}};

const struct alqi_cli_option alqi_cli_status_options[] = {TARGET_ROWS, {0}};

const struct alqi_cli_option alqi_cli_rate_options[] = {
    TARGET_ROWS,
    RATE_ROWS,
    {0},
};

const struct alqi_cli_option alqi_cli_mark_options[] = {TARGET_ROWS, {0}};

/* ---- what is printed -------------------------------------------------------
 */

/* A line for each kind of loss that has happened. */
static void
losses_print(const char *reply)
{
    static const struct {
        const char *key, *text;
    } losses[] = {
        {"dropped_nested", "samples dropped: the profiler was interrupted"},
        {"dropped_nomem", "samples dropped: no memory for its tables"},
        {"dropped_space", "samples dropped: no room in the file"},
        {"dropped_cap", "samples dropped: too many blocks at once"},
        {"lost_frees", "frees lost: their blocks count as never freed"},
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(losses); i++)
        if (alqi_side_get_real(reply, losses[i].key) > 0)
            printf("%.0f %s\n", alqi_side_get_real(reply, losses[i].key),
                   losses[i].text);
}

/* The process's number, or the socket's name. */
static void
who_print(const struct alqi_cli_control_target *t)
{
    if (t->pid != 0)
        printf("%d", (int)t->pid);
    else
        printf("%s", alqi_cli_shown(t->control).text);
}

/* One line for people of such a reply. "starting" is a state of a process
 * that has not allocated since the request. */
static void
state_print(const struct alqi_cli_control_target *t, const char *reply)
{
    char state[32] = "?", file[PATH_BYTES] = "", note[500] = "";
    double rate = alqi_side_get_real(reply, "rate");

    alqi_side_get(reply, "state", state, sizeof state);
    alqi_side_get(reply, "file", file, sizeof file);
    alqi_side_get(reply, "note", note, sizeof note);
    who_print(t);
    if (strcmp(state, "starting") == 0)
        printf(": samples one in %s from where it next allocates\n",
               alqi_cli_text_bytes(ALQI_WORD_BYTES / rate).text);
    else if (strcmp(state, "exact") == 0)
        printf(": every block is recorded to %s\n", alqi_cli_shown(file).text);
    else if (strcmp(state, "off") == 0)
        printf(": off, nothing is recorded; a start samples one in %s\n",
               rate > 0 ? alqi_cli_text_bytes(ALQI_WORD_BYTES / rate).text
                        : ALQI_DEFAULT_INTERVAL_TEXT " KiB");
    else
        printf(": %s, %.0f sampled blocks, one in %s, in %s\n",
               alqi_cli_shown(state).text, alqi_side_get_real(reply, "samples"),
               alqi_cli_text_bytes(ALQI_WORD_BYTES / rate).text,
               alqi_cli_shown(file).text);
    if (note[0] != '\0')
        printf("the last start failed: %s\n", alqi_cli_shown(note).text);
    losses_print(reply);
}

/* ---- requests --------------------------------------------------------------
 */

/* Relative to where the user stands, not to where the process does. */
static bool
output_put(const char *verb, const char *output, struct alqi_side_line *line)
{
    char path[PATH_BYTES] = "", full[2 * PATH_BYTES];
    size_t n = line->n;

    if (output[0] != '/' && getcwd(path, sizeof path) == NULL)
        path[0] = '\0';
    snprintf(full, sizeof full, "%s%s%s", path, path[0] != '\0' ? "/" : "",
             output);
    if (strlen(full) < 1024)
        alqi_side_text(line, "out", full);
    if (line->n > n)
        return true;
    return alqi_cli_refuse("%s: -o %s: too long a path", verb, output);
}

/* Makes the request's line; a path goes out whole, as the process has another
 * current folder. */
int
alqi_cli_command(const struct alqi_cli_control_target *t, const char *command,
                 double rate, const char *output,
                 char reply[ALQI_CLI_REPLY_BYTES])
{
    char request[4000];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(request);
    bool is_graph = strcmp(command, "graph") == 0;

    alqi_side_text(&line, NULL, is_graph ? "snapshot" : command);
    if (is_graph)
        alqi_side_text(&line, "graph", "1");
    if (rate > 0)
        alqi_side_real(&line, "rate", rate);
    if (strcmp(command, "mark") == 0)
        alqi_side_text(&line, "name", output);
    else if (output != NULL && !output_put(t->verb, output, &line))
        return ALQI_CLI_USAGE;
    return alqi_cli_ask(t, request, reply);
}

/* Sends a request and prints the state that comes back; of a mark, what it has
 * done. */
static int
ask(struct control *c, const char *command)
{
    char reply[ALQI_CLI_REPLY_BYTES];
    int rc;

    c->target.has_other_way = c->target.pid != 0 && c->target.control == NULL;
    rc = alqi_cli_command(&c->target, command, c->rate, c->output, reply);
    if (rc == ALQI_CLI_SILENT)
        rc = alqi_cli_started(&c->target, command, c->rate, c->output);
    if (rc == ALQI_CLI_SILENT)
        rc = alqi_cli_say_silent(&c->target);
    if (rc >= 0)
        return rc;
    if (strcmp(command, "mark") != 0) {
        state_print(&c->target, reply);
        return ALQI_CLI_OK;
    }
    who_print(&c->target);
    printf(": the phase '%s' begins\n", alqi_cli_shown(c->output).text);
    return ALQI_CLI_OK;
}

/* aliquot mark -p PID NAME: a phase begins. */
int
alqi_cli_mark(int argc, char **argv)
{
    struct control c = {.target = {.verb = "mark"}};
    char name[ALQI_SIDE_MARK_BYTES];
    int first;
    int rc = alqi_cli_parse("mark", argc, argv, &c, &first);

    if (rc >= 0)
        return rc;
    if (first + 1 != argc)
        return alqi_cli_usage("mark", "mark: give the process by -p, and one "
                                      "name");
    c.output = argv[first];
    if (!alqi_side_mark_name(name, c.output) || strcmp(name, c.output) != 0)
        return alqi_cli_usage("mark",
                              "mark: '%s': write a name of 1 to %d bytes",
                              c.output, ALQI_SIDE_MARK_BYTES - 1);
    return ask(&c, "mark");
}

/* These verbs have no operands: says which option the text is the value of. */
static int
operand_refuse(const struct control *c, const char *text)
{
    const char *verb = c->target.verb;
    double bytes;

    if (c->target.pid == 0 && strspn(text, "0123456789") == strlen(text))
        return alqi_cli_usage(verb,
                              "%s: '%s' is too many: a process is named "
                              "by -p: write -p %s",
                              verb, text, text);
    if ((strcmp(verb, "rate") == 0 || strcmp(verb, "start") == 0) &&
        alqi_cli_bytes_parse(text, &bytes))
        return alqi_cli_usage(verb,
                              "%s: '%s' is too many: write "
                              "--interval=%s",
                              verb, text, text);
    return alqi_cli_usage(verb,
                          "%s: '%s' is too many; processes are named "
                          "by -p",
                          verb, text);
}

/* The verb is the command. rate 0 is refused: it would stop without
 * saying so. */
int
alqi_cli_control(int argc, char **argv)
{
    const char *verb = argv[0];
    struct control c = {.target = {.verb = verb}, .rate = -1};
    int first;
    int rc = alqi_cli_parse(verb, argc, argv, &c, &first);

    if (rc >= 0)
        return rc;
    if (first < argc)
        return operand_refuse(&c, argv[first]);
    if (c.rate == 0)
        return alqi_cli_usage(verb, "%s: rate 0 samples nothing: use stop",
                              verb);
    if (strcmp(verb, "rate") == 0 && c.rate < 0)
        return alqi_cli_usage(verb, "rate: which? Give --interval or --rate");
    return ask(&c, verb);
}
