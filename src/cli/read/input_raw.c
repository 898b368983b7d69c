/* input_raw.c -- a raw recording, or heaptrack's, made into a temporary trace
 *
 * [input_raw.h] Recordings stay raw when `aliquot record` is interrupted or
 * the program outlives it. One that is still growing is read up to what is
 * there. The trace is an unnamed file: only the descriptor that is returned
 * keeps it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/convert/convert.h"
#include "cli/read/input_raw.h"
#include "cli/tool/output.h"

/* Writes the trace of the recording to out. False: the reason has been said. */
static bool
convert(const char *path, const struct alqi_cli_recording *recording, FILE *out)
{
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(true);
    struct alqi_cli_convert_result result;
    struct alqi_cli_trace_out trace = {.file = out};
    enum alq_status st = ALQ_ENOMEM;
    const char *why;

    if (symbols != NULL)
        st = alqi_cli_convert(recording, alqi_cli_recording_ended(recording), 0,
                              NULL, symbols, alqi_cli_trace_put, &trace,
                              &result);
    alqi_symbol_table_drop(symbols);
    why = alqi_cli_trace_failure(&trace, st);
    if (why != NULL)
        alqi_cli_say("cannot convert the recording %s: %s", path, why);
    return why == NULL;
}

/* NULL: the reason has been said. */
static FILE *
temporary_open(void)
{
    FILE *out = tmpfile();

    if (out == NULL)
        alqi_cli_say("cannot make a temporary file: %s", strerror(errno));
    return out;
}

/* The descriptor of what was written, at its beginning, or -1 where it is not
 * all there. The duplicate keeps the file alive after the stream is closed. */
static int
temporary_close(FILE *out, bool is_written)
{
    int fd = is_written ? dup(fileno(out)) : -1;

    fclose(out);
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

int
alqi_cli_input_raw_open(const char *path)
{
    struct alqi_cli_recording *recording;
    char why[256];
    FILE *out = temporary_open();
    bool is_written;

    if (out == NULL)
        return -1;
    recording = alqi_cli_recording_open(path, why, sizeof why);
    if (recording == NULL)
        alqi_cli_say("cannot read the recording %s: %s", path, why);
    is_written = recording != NULL && convert(path, recording, out);
    alqi_cli_recording_drop(recording);
    return temporary_close(out, is_written);
}

int
alqi_cli_input_heaptrack_open(const char *path, alqi_ctf_read_fn *read,
                              void *read_arg,
                              struct alqi_cli_heaptrack_result *result)
{
    FILE *out = temporary_open();
    struct alqi_cli_trace_out trace = {.file = out};
    enum alq_status st;
    const char *why;

    if (out == NULL)
        return -1;
    st = alqi_cli_heaptrack_convert(read, read_arg, alqi_cli_trace_put, &trace,
                                    result);
    why = alqi_cli_trace_failure(&trace, st);
    if (why != NULL)
        alqi_cli_say("cannot convert %s: %s", path, why);
    return temporary_close(out, why == NULL);
}
