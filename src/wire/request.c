/* request.c -- the lines of a control socket, read and written
 *
 * A line is split by side.c's keys; a command that is unknown, or a rate out
 * of range, is an answer, not a failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/request.h"
#include "wire/side.h"

static const char *const commands[] = {
    [ALQI_REQUEST_STATUS] = "status",     [ALQI_REQUEST_START] = "start",
    [ALQI_REQUEST_STOP] = "stop",         [ALQI_REQUEST_RATE] = "rate",
    [ALQI_REQUEST_SNAPSHOT] = "snapshot", [ALQI_REQUEST_MARK] = "mark",
    [ALQI_REQUEST_COPY] = "copy",
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static bool
rate_read(const char *line, double *rate)
{
    char value[64], *end;

    *rate = 0;
    if (!alqi_side_get(line, "rate", value, sizeof value))
        return true;
    *rate = strtod(value, &end);
    return *end == '\0' && end != value && *rate > 0 && *rate <= 1;
}

const char *
alqi_request_read(const char *line, struct alqi_request *out)
{
    char command[16], graph[2];
    bool is_mark;
    int i = 0;

    if (strncmp(line, ALQI_REQUEST_GREETING " ",
                strlen(ALQI_REQUEST_GREETING) + 1) != 0)
        return "this process speaks " ALQI_REQUEST_GREETING;
    line += strlen(ALQI_REQUEST_GREETING) + 1;
    if (!alqi_side_get(line, NULL, command, sizeof command))
        command[0] = '\0';
    if (!rate_read(line, &out->rate))
        return "the rate is no number above 0 and up to 1";
    while (i < N_COMMANDS && strcmp(command, commands[i]) != 0)
        i++;
    if (i == N_COMMANDS || (i == ALQI_REQUEST_RATE && out->rate <= 0))
        return "there is no such command";
    out->command = (enum alqi_request_command)i;
    is_mark = out->command == ALQI_REQUEST_MARK;
    if (!alqi_side_get(line, is_mark ? "name" : "out", out->out,
                       sizeof out->out))
        out->out[0] = '\0';
    out->is_graph = out->command == ALQI_REQUEST_SNAPSHOT &&
                    alqi_side_get(line, "graph", graph, sizeof graph);
    if (is_mark && out->out[0] == '\0')
        return "a mark needs a name";
    return out->is_graph && out->out[0] != '/'
               ? "a graph needs the path of its file, from the root on"
               : NULL;
}

void
alqi_request_answer(char *answer, bool is_so, const char *said)
{
    size_t n = (size_t)snprintf(answer, ALQI_REQUEST_ANSWER_BYTES - 1, "%s %s",
                                ALQI_REQUEST_GREETING, is_so ? "ok " : "error");

    if (is_so)
        snprintf(answer + n, ALQI_REQUEST_ANSWER_BYTES - 1 - n, "%s", said);
    else
        alqi_side_put(answer, ALQI_REQUEST_ANSWER_BYTES - 1, n, "text", said);
    strcat(answer, "\n");
}
