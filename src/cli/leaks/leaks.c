/* leaks.c -- aliquot leaks: which blocks of a running process are lost
 *                                                    [doc/design/leaks.md]
 *
 * Phases: the recording is found -> the process is copied (core.c) -> the
 * recording up to that moment becomes a trace, and tells the blocks -> the
 * trace is read, and tells what each is of, and whether they are all -> the
 * copy is looked through (scan.c).
 *
 * .inv.all_known  Memory between the known blocks of an allocator is free, and
 *             no root, only where the figures of the trace are exact
 *             (alqi_cli_is_exact): a block that is not recorded may lead to
 *             others. */
#include "cli/leaks/leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/analysis/remarks.h"
#include "cli/attach/asked.h"
#include "cli/attach/core_sent.h"
#include "cli/convert/convert.h"
#include "cli/leaks/growth.h"
#include "cli/live/control.h"
#include "cli/live/recorded.h"
#include "cli/tool/cli.h"
#include "cli/tool/output.h"
#include "cli/tool/proc.h"
#include "cli/tool/text.h"
#include "wire/side.h"

enum {
    TOP_DEFAULT = 10,
    LOOKS_DEFAULT = 5,
    STEP_EVENTS = 1 << 20,
    ASKED_MS = 10000 /* for the process to connect */
};

#define RUN struct alqi_cli_leaks_run

const struct alqi_cli_option alqi_cli_leaks_options[] = {
    {'p', "pid", "PID", NULL, "the process",
     ALQI_CLI_TAKEN(alqi_cli_pid_take, offsetof(RUN, pid))},
    {'n', "top", "N", NULL, "rows of each class; 0: all; default 10",
     ALQI_CLI_COUNT(RUN, top)},
    {0, "growth", "DURATION", NULL,
     "what grows from the first of some looks to the last, so much later",
     ALQI_CLI_DURATION(RUN, growth_us), .least = 1000, .most = 1e15,
     .wants = "from 1ms on: a number and a unit, ns us ms s m h"},
    {0, "looks", "N", NULL, "so many for --growth; default 5",
     ALQI_CLI_COUNT(RUN, n_looks), .least = 2, .most = ALQI_CLI_LEAK_LOOKS_MOST,
     .wants = "write a whole number from 2 to 1000"},
    {0, "no-pager", NULL, NULL, "do not page the output",
     ALQI_CLI_FLAG(RUN, has_no_pager)},
    {0, "json", NULL, NULL, "print JSON, with all sites",
     ALQI_CLI_FLAG(RUN, is_json)},
    {0},
};

/* ---- the blocks ---------------------------------------------------------- */

/* Stream and number are those that the recording knows it by. */
static void
block_take(struct alqi_cli_leaks_run *r, const struct alqi_cli_lying *lying,
           uint32_t stream, uint64_t number)
{
    alqi_cli_leak_table_add(&r->scan.table, lying->address, lying->bytes,
                            lying->id);
    if (r->reaches != NULL)
        alqi_cli_reaches_add(r->reaches, lying->address, stream, number);
}

/* A block that is in the recording twice, by address and by sample, is one. */
static void
blocks_take(struct alqi_cli_leaks_run *r,
            const struct alqi_cli_conversion *conversion)
{
    struct alqi_cli_lying lying;
    size_t at = 0;

    while (alqi_cli_conversion_lies_next(conversion, &at, &lying))
        block_take(r, &lying, ALQI_CLI_REACHED_EXACT, lying.id);
    for (size_t i = 0; i < r->core.n_blocks; i++) {
        const struct alqi_copy_block *b = &r->core.blocks[i];

        if (alqi_cli_conversion_lies(conversion, b->address, b->stream,
                                     b->ordinal, &lying))
            block_take(r, &lying, b->stream, b->ordinal);
    }
}

static enum alq_status
steps_run(struct alqi_cli_leaks_run *r, struct alqi_cli_conversion *c)
{
    enum alq_status status;
    bool is_more;

    alqi_cli_conversion_keep_sizes(c);
    do
        status = alqi_cli_conversion_step(c, STEP_EVENTS, &is_more);
    while (status == ALQ_OK && is_more);
    if (status != ALQ_OK)
        return status;
    blocks_take(r, c);
    return alqi_cli_conversion_end(c, "running");
}

/* The trace of the recording up to the core's moment; false: said. */
static bool
trace_write(struct alqi_cli_leaks_run *r,
            const struct alqi_cli_recording *recording, FILE *file)
{
    struct alqi_cli_trace_out out = {.file = file};
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(true);
    struct alqi_cli_convert_result result;
    struct alqi_cli_conversion *c = NULL;
    enum alq_status status = ALQ_ENOMEM, closed;
    const char *why;

    if (symbols != NULL)
        status = alqi_cli_conversion_open(
            recording, 0, symbols, alqi_cli_trace_put, &out, &result, &c);
    if (status == ALQ_OK)
        status = steps_run(r, c);
    closed = alqi_cli_conversion_close(c);
    alqi_symbol_table_drop(symbols);
    why = alqi_cli_trace_failure(&out, status != ALQ_OK ? status : closed);
    return why == NULL ||
           alqi_cli_refuse("leaks: cannot write the trace: %s", why);
}

/* ---- the run ------------------------------------------------------------- */

/* Of one look; one of several is kept. */
static void
result_show(struct alqi_cli_leaks_run *r)
{
    if (r->growth_us > 0) {
        r->look = alqi_cli_leaks_json(r);
        return;
    }
    alqi_cli_term_start(&r->term, 0, !r->is_json && !r->has_no_pager);
    if (r->is_json)
        alqi_cli_leaks_json_end(alqi_cli_leaks_json(r));
    else
        alqi_cli_leaks_print(r);
    alqi_cli_term_stop(&r->term);
}

/* What is read has gone in the middle: classes of it would be wrong. */
static bool
gone_refuse(const struct alqi_cli_leaks_run *r)
{
    return alqi_cli_core_is_there(&r->core) ||
           alqi_cli_refuse("leaks: process %d: %s was ended, or does not "
                           "answer, before all of it was read; try again",
                           (int)r->pid, r->core.is_end ? "it" : "its copy");
}

static void
found_show(struct alqi_cli_leaks_run *r)
{
    alqi_cli_leak_found_sum(&r->found, &r->scan);
    alqi_cli_leak_holders_make(&r->holders, &r->found, &r->scan, r->places);
    alqi_cli_leaks_tell(r);
    result_show(r);
    alqi_cli_leak_holders_free(&r->holders);
}

/* Of the trace in fd, which is taken. */
static int
trace_look(struct alqi_cli_leaks_run *r, int fd)
{
    struct alqi_cli_input *input;
    uint64_t since_us;
    clock_t since_cpu;
    int rc;

    lseek(fd, 0, SEEK_SET);
    rc = alqi_cli_input_open_fd(fd, "the trace", ALQI_CLI_OK, &input);
    if (rc >= 0)
        return rc;
    alqi_cli_leak_found_read(&r->found, input);
    rc = alqi_cli_input_finish(input);
    r->is_whole = alqi_cli_is_exact(&r->found.analysis);
    since_us = alqi_cli_mono_us();
    since_cpu = clock();
    r->scan.tls_bytes = alqi_cli_leak_places_tls_bytes(r->places);
    alqi_cli_leak_scan_run(&r->scan, &r->core, r->path, r->is_whole);
    r->scan_us = alqi_cli_mono_us() - since_us;
    r->scan_cpu_us = (uint64_t)(clock() - since_cpu) * 1000000 / CLOCKS_PER_SEC;
    if (gone_refuse(r))
        found_show(r);
    else
        rc = ALQI_CLI_FINDING;
    alqi_cli_leak_found_free(&r->found);
    alqi_cli_input_drop(input);
    return rc;
}

/* The recording as it is while its process stands still. */
static bool
still(void *run)
{
    struct alqi_cli_leaks_run *r = run;
    char why[256];

    r->at_us = alqi_cli_mono_us();
    r->recording = alqi_cli_recording_open_still(r->path, why, sizeof why);
    return r->recording != NULL ||
           alqi_cli_refuse("leaks: %s: %s", r->path, why);
}

static int
recording_look(struct alqi_cli_leaks_run *r)
{
    FILE *trace = tmpfile();
    int fd = -1;

    if (trace == NULL)
        return alqi_cli_unreadable("leaks: no temporary file: %s",
                                   strerror(errno));
    if (trace_write(r, r->recording, trace) && fflush(trace) == 0)
        fd = dup(fileno(trace));
    fclose(trace);
    return fd >= 0 ? trace_look(r, fd) : ALQI_CLI_UNREADABLE;
}

/* At the end there is more of the recording; what the copy told is of before,
 * and what has been freed since is not in the trace any more. */
static bool
end_take(struct alqi_cli_leaks_run *r)
{
    if (r->watch != NULL && r->core.sent != NULL) {
        r->watch->go(r->watch->arg); /* the copy has all that can be seen */
        return true;
    }
    if (r->watch == NULL || !alqi_cli_end_reach(&r->core, r->watch))
        return true;
    alqi_cli_recording_drop(r->recording);
    r->reaches->is_end = true;
    return still(r);
}

/* ---- the process --------------------------------------------------------- */

/* The recording's path: as the system says, or, where this command may not know
 * what is mapped, the process.  -1, or the exit status. */
static int
recording_find(struct alqi_cli_leaks_run *r)
{
    const struct alqi_cli_control_target target = {
        .verb = "leaks", .pid = r->pid, .has_other_way = true};
    char reply[ALQI_CLI_REPLY_BYTES], file[PATH_MAX];

    if (!r->is_refused || alqi_cli_attach_target_has_map(r->pid) ||
        alqi_cli_ask(&target, "status", reply) >= 0 ||
        !alqi_side_get(reply, "file", file, sizeof file) || file[0] == '\0')
        return alqi_cli_recorded("leaks", r->pid, r->path, sizeof r->path);
    alqi_cli_path_here(r->pid, file, r->path, sizeof r->path);
    return -1;
}

/* The connection through which the process sends a copy of itself; -1: it does
 * not; *rc: -1, or the exit status where that has been said. */
static int
copy_ask(struct alqi_cli_leaks_run *r, int *rc)
{
    const struct alqi_cli_control_target target = {.verb = "leaks",
                                                   .pid = r->pid};
    int fd = -1;

    *rc = -1;
    if (r->watch != NULL)
        return r->watch->ask(r->watch->arg);
    *rc = alqi_cli_connect(&target, "copy", &fd);
    if (*rc == -1)
        return fd;
    if (*rc >= 0)
        return -1;
    *rc = -1;
    return alqi_cli_asked_connect_path(r->path, r->pid, ASKED_MS);
}

/* From outside, where that may be; else by the process itself. */
static bool
core_take(struct alqi_cli_leaks_run *r)
{
    int fd, rc;

    if (!r->is_refused)
        return alqi_cli_core_take("leaks", r->pid, still, r, &r->core);
    fd = copy_ask(r, &rc);
    if (fd >= 0)
        return alqi_cli_core_take_sent("leaks", r->pid, fd, still, r, &r->core);
    if (rc >= 0 || alqi_cli_core_take("leaks", r->pid, still, r, &r->core))
        return rc < 0;
    if (r->watch == NULL)
        alqi_cli_say("leaks: process %d was asked to make a copy of itself, "
                     "and did not answer within %d s: it allocates nothing, "
                     "perhaps; one that 'aliquot record --control' starts "
                     "answers at any time",
                     (int)r->pid, ASKED_MS / 1000);
    return false;
}

/* One look at the process. */
static int
look(struct alqi_cli_leaks_run *r)
{
    int rc;

    r->is_refused = alqi_cli_attach_target_is_refused(r->pid);
    rc = recording_find(r);
    if (rc >= 0)
        return rc;
    rc = ALQI_CLI_FINDING;
    if (core_take(r)) {
        /* while the process is there: it may end when it is let go */
        r->places = alqi_cli_leak_places_open(&r->core);
        if (end_take(r))
            rc = recording_look(r);
        alqi_cli_leak_places_drop(r->places);
        alqi_cli_leak_scan_free(&r->scan);
        alqi_cli_end_leave(&r->core);
        alqi_cli_core_drop(&r->core);
    }
    alqi_cli_recording_drop(r->recording);
    return rc;
}

/* ---- growth -------------------------------------------------------------- */

static void
growth_show(struct alqi_cli_leaks_run *r, struct alqi_cli_leak_growth *g)
{
    alqi_cli_leak_growth_solve(g);
    alqi_cli_term_start(&r->term, 0, !r->is_json && !r->has_no_pager);
    if (r->is_json)
        alqi_cli_leaks_json_end(alqi_cli_leak_growth_json(g));
    else
        alqi_cli_leak_growth_print(g, &r->term, r->top);
    alqi_cli_term_stop(&r->term);
}

/* Until so many microseconds after the first look. */
static void
moment_wait(uint64_t first_us, double after_us)
{
    uint64_t now_us = alqi_cli_mono_us();
    double wait_us = after_us - (double)(now_us - first_us);
    struct timespec rest;

    if (wait_us <= 0)
        return;
    rest.tv_sec = (time_t)(wait_us / 1e6);
    rest.tv_nsec = (long)((wait_us - (double)rest.tv_sec * 1e6) * 1e3);
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

/* The looks at equal steps; a process that ends before the last one has had
 * fewer, and why was said. */
static int
growth_watch(struct alqi_cli_leaks_run *r, struct alqi_cli_leak_growth *g)
{
    uint64_t first_us = alqi_cli_mono_us();
    double step_us = r->growth_us / (double)(r->n_looks - 1);
    int rc = ALQI_CLI_OK;

    for (uint64_t i = 0; i < r->n_looks && rc == ALQI_CLI_OK; i++) {
        struct alqi_cli_leaks_run one = {.pid = r->pid,
                                         .growth_us = r->growth_us};

        moment_wait(first_us, step_us * (double)i);
        rc = look(&one);
        if (one.look != NULL &&
            !alqi_cli_leak_growth_add(g, one.look, "the process"))
            rc = ALQI_CLI_FINDING;
    }
    if (rc != ALQI_CLI_OK && g->n_looks >= 2)
        alqi_cli_say("leaks: process %d: %u of %" PRIu64 " looks were taken",
                     (int)r->pid, g->n_looks, r->n_looks);
    return rc;
}

/* Looks that were kept. */
static int
growth_read(struct alqi_cli_leak_growth *g, int n, char **paths)
{
    for (int i = 0; i < n; i++) {
        json_error_t error;
        json_t *json = json_load_file(paths[i], 0, &error);
        struct alqi_cli_shown path = alqi_cli_shown(paths[i]);

        if (json == NULL)
            return alqi_cli_unreadable("leaks: %s: line %d: %s", path.text,
                                       error.line,
                                       alqi_cli_shown(error.text).text);
        if (!alqi_cli_leak_growth_add(g, json, path.text))
            return ALQI_CLI_UNREADABLE;
    }
    return ALQI_CLI_OK;
}

/* Of the process, or of n files. */
static int
growth_run(struct alqi_cli_leaks_run *r, int n, char **paths)
{
    struct alqi_cli_leak_growth *g = alqi_cli_zeros(1, sizeof *g);
    int rc = n > 0 ? growth_read(g, n, paths) : growth_watch(r, g);

    if (g->n_looks >= 2 && (n == 0 || rc == ALQI_CLI_OK))
        growth_show(r, g);
    alqi_cli_leak_growth_free(g);
    free(g);
    return rc;
}

/* ---- the command --------------------------------------------------------- */

static int
leaks_run(struct alqi_cli_leaks_run *r, int argc, char **argv)
{
    int first, rc = alqi_cli_parse("leaks", argc, argv, r, &first);
    int n_files = argc - first;

    if (rc >= 0)
        return rc;
    if (r->n_looks > 0 && r->growth_us == 0)
        return alqi_cli_usage("leaks", "leaks: --looks is of --growth: give "
                                       "that, too");
    if (r->n_looks == 0)
        r->n_looks = LOOKS_DEFAULT;
    if (r->pid == 0 && n_files >= 2 && r->growth_us == 0)
        return growth_run(r, n_files, argv + first);
    if (r->pid == 0 || n_files > 0)
        return alqi_cli_usage("leaks", "leaks: of which process? Give -p PID, "
                                       "or two or more files of --json");
    return r->growth_us > 0 ? growth_run(r, 0, NULL) : look(r);
}

int
alqi_cli_leaks(int argc, char **argv)
{
    struct alqi_cli_leaks_run r = {.top = TOP_DEFAULT};

    return leaks_run(&r, argc, argv);
}

int
alqi_cli_leaks_at_end(int argc, char **argv, struct alqi_cli_reaches *reaches,
                      const struct alqi_cli_end_watch *watch)
{
    struct alqi_cli_leaks_run r = {
        .top = TOP_DEFAULT, .reaches = reaches, .watch = watch};

    return leaks_run(&r, argc, argv);
}
