/* record.c -- aliquot record: run a program, leave a trace of each process
 *
 * With -p a process that runs is recorded instead (attached.c), with -d the
 * program runs under gdb (debugged.c).
 *
 * Phases: parse -> check what can be known before the program runs for hours
 * (program, output, limits) -> make a directory beside the output -> launch
 * with the preload -> traces (traces.c) -> the program's own exit status.
 *
 * The preload writes raw recordings into the directory of the run. When the
 * program has ended, each becomes a trace and the directory goes. Recordings
 * that cannot become a trace stay, and are named.
 *
 * Exit statuses are those of env(1): 125 for a failure of this verb, 126 and
 * 127 for a program that cannot be run or found. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/defaults.h"
#include "base/pattern.h"
#include "cli/tool/cli.h"
#include "cli/tool/launch.h"
#include "cli/tool/output.h"
#include "cli/tool/program.h"
#include "cli/tool/rate.h"
#include "cli/record/attached.h"
#include "cli/record/debugged.h"
#include "cli/record/limit.h"
#include "cli/record/meanwhile.h"
#include "cli/record/name.h"
#include "cli/record/traces.h"
#include "wire/raw.h"

/* Exit statuses, as env(1) and time(1) have them. */
enum { EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* Bounds of the sizes that options accept, in bytes. */
#define MAX_MEMORY_LEAST (1024.0 * 1024)
#define RESERVE_LEAST (1024.0 * 1024)
#define RESERVE_MOST 0x1p40
#define PROBES_INTERVAL_MOST 0x1p60
#define LIMIT_LEAST 4096.0
#define LIMIT_MOST 0x1p60

/* ---- options ------------------------------------------------------------- */

/* Takes --max-memory (alqi_cli_take_fn): a size from 1M on, or 0 for no
 * bound. */
static bool
max_memory_take(void *to, const char *verb, const char *value)
{
    double *bytes = to;

    if (alqi_cli_bytes_parse(value, bytes) &&
        (*bytes == 0 || *bytes >= MAX_MEMORY_LEAST))
        return true;
    return alqi_cli_refuse("%s: --max-memory %s: 0, or a size from 1M on", verb,
                           value);
}

/* Takes --seed (alqi_cli_take_fn). */
static bool
seed_take(void *to, const char *verb, const char *value)
{
    char *end;

    errno = 0;
    *(uint64_t *)to = strtoull(value, &end, 0);
    if (value[0] >= '0' && value[0] <= '9' && *end == '\0' && errno == 0)
        return true;
    return alqi_cli_refuse("%s: --seed %s: a whole number below 2^64", verb,
                           value);
}

#define RUN struct alqi_cli_record_run
/* The value of --limit-live and --limit-alloc. */
#define LIMIT(kind)                                                            \
    ALQI_CLI_BYTES(RUN, limits.bytes[kind]),                                   \
        .least = LIMIT_LEAST, .most = LIMIT_MOST,                              \
        .wants = "a size from 4K on, such as 512M"

const struct alqi_cli_option alqi_cli_record_options[] = {
    {'p', "pid", "PID", NULL, "record a process that runs, from now on",
     ALQI_CLI_COUNT(RUN, attached_pid), .least = 1, .most = INT_MAX,
     .wants = "the number of a process"},
    {0, "for", "T", NULL, "with -p: end the recording after T, such as 30s",
     ALQI_CLI_DURATION(RUN, for_us), .least = 1000, .most = 1e15,
     .wants = "a time from 1ms on, such as 30s"},
    {'d', "debug", NULL, NULL, "run PROG under gdb",
     ALQI_CLI_FLAG(RUN, is_debugged)},
    {'o', "output", "FILE", NULL,
     "the trace, with %e %h %p; default aliquot.%e.%p.ctf",
     ALQI_CLI_TEXT(RUN, output)},
    {'f', "force", NULL, NULL, "overwrite FILE if it exists",
     ALQI_CLI_FLAG(RUN, is_forced)},
    {0, "interval", "N[K|M|G]", NULL,
     "mean bytes between two samples; default " ALQI_DEFAULT_INTERVAL_TEXT "K",
     ALQI_CLI_TAKEN(alqi_cli_interval_take, offsetof(RUN, rate)),
     ALQI_CLI_ALSO(RUN, has_rate)},
    {0, "rate", "R", NULL, "instead: samples per 8-byte word, up to 1 (all)",
     ALQI_CLI_TAKEN(alqi_cli_rate_take, offsetof(RUN, rate)),
     ALQI_CLI_ALSO(RUN, has_rate)},
    {0, "exact", NULL, NULL, "record every block instead of a sample",
     ALQI_CLI_FLAG(RUN, is_exact)},
    {0, "leaks", "[=FILE]", NULL,
     "at its end say which blocks are lost; to FILE as JSON",
     ALQI_CLI_TEXT(RUN, leaks_output), ALQI_CLI_ALSO(RUN, is_leaks)},
    {0, "max-memory", "N[K|M|G]", NULL,
     "memory for --exact; beyond it sample; default " ALQI_DEFAULT_TEXT(
         ALQI_DEFAULT_MAX_MEMORY_MIB) "M",
     ALQI_CLI_TAKEN(max_memory_take, offsetof(RUN, max_memory_bytes)),
     ALQI_CLI_ALSO(RUN, has_max_memory)},
    {0, "reserve", "N[K|M|G]", NULL,
     "map N bytes at the start, for system-call filters",
     ALQI_CLI_BYTES(RUN, reserve_bytes), .least = RESERVE_LEAST,
     .most = RESERVE_MOST, .wants = "a size from 1M to 1024G"},
    {0, "depth", "N", NULL,
     "frames of a call stack; default " ALQI_DEFAULT_TEXT(
         ALQI_DEFAULT_DEPTH_FRAMES),
     ALQI_CLI_COUNT(RUN, depth), .least = 1, .most = ALQI_RAW_FRAMES_MAX,
     .wants = "a whole number from 1 to 4096"},
    {0, "follow", NULL, NULL,
     "also record programs that are executed in children",
     ALQI_CLI_FLAG(RUN, is_following)},
    {0, "mmap", NULL, NULL, "also record memory mapped with mmap",
     ALQI_CLI_FLAG(RUN, is_mapping)},
    {0, "time-step", "T", NULL,
     "round times to T, such as 10ms; compresses better",
     ALQI_CLI_DURATION(RUN, time_step_us), .least = 1, .most = 1e9,
     .wants = "a time from 1us on, such as 10ms"},
    {0, "allocator", "P[,P]...", NULL,
     "Pmalloc, Pfree, ... of the program count, too",
     ALQI_CLI_TEXT(RUN, allocators)},
    {0, "no-python", NULL, NULL,
     "no Python functions in stacks, no small Python objects",
     ALQI_CLI_FLAG(RUN, has_no_python)},
    {0, "native", NULL, NULL,
     "also keep the frames of Python's evaluator in stacks",
     ALQI_CLI_FLAG(RUN, has_native)},
    {0, "no-rss", NULL, NULL, "do not record resident memory",
     ALQI_CLI_FLAG(RUN, has_no_rss)},
    /* Without a value the preload's own interval, which depends on the mode. */
    {0, "probes", "[=N[K|M|G]]", NULL,
     "also fire USDT probes, one in N bytes; "
     "default " ALQI_DEFAULT_INTERVAL_TEXT "K",
     ALQI_CLI_BYTES(RUN, probes_interval_bytes), .least = ALQI_WORD_BYTES,
     .most = PROBES_INTERVAL_MOST, .wants = "a size from 8 on, such as 64K",
     ALQI_CLI_ALSO(RUN, has_probes)},
    {0, "limit-live", "N[K|M|G]", NULL,
     "write a report when more than N bytes are in use",
     LIMIT(ALQI_RAW_LIMIT_LIVE)},
    {0, "limit-alloc", "N[K|M|G]", NULL,
     "the same when more than N bytes were allocated",
     LIMIT(ALQI_RAW_LIMIT_ALLOC)},
    {0, "on-limit", "WHAT", NULL,
     "at a limit also: signal[=NAME] or kill the process",
     ALQI_CLI_TAKEN(alqi_cli_record_limit_action_take, offsetof(RUN, limits))},
    {0, "control", NULL, NULL,
     "let 'aliquot start', 'stop', 'top' ... reach it",
     ALQI_CLI_FLAG(RUN, is_controlled)},
    {0, "off", NULL, NULL, "do not sample until 'aliquot start' is called",
     ALQI_CLI_FLAG(RUN, is_off), ALQI_CLI_ALSO(RUN, is_controlled)},
    {0, "seed", "N", NULL, "seed of the sampling; default: random",
     ALQI_CLI_TAKEN(seed_take, offsetof(RUN, seed))},
    {'q', "quiet", NULL, NULL, "print nothing but errors",
     ALQI_CLI_FLAG(RUN, is_quiet)},
    {0},
};

/* ---- before the start ---------------------------------------------------- */

/* Says why the program cannot be recorded; returns the exit status. */
static int
program_refuse(const char *name, const struct alqi_cli_program *p)
{
    const char *file = p->interpreter[0] ? p->interpreter : p->path;
    const char *why = "the profiler is built for this machine's 64-bit "
                      "programs with glibc only";

    if (!p->is_found) {
        if (strchr(name, '/') == NULL && access(name, X_OK) == 0)
            alqi_cli_say("record: %s: not found in PATH; for the file of this "
                         "directory write ./%s",
                         name, name);
        else
            alqi_cli_say("record: %s: not found", name);
        return EXIT_NOT_FOUND;
    }
    if (!p->is_executable) {
        alqi_cli_say("record: %s: not an executable file", p->path);
        return EXIT_NOT_EXECUTABLE;
    }
    if (p->kind == ALQI_PLAT_PROGRAM_STATIC)
        why = "there is no dynamic linker to load the profiler, so nothing "
              "would be recorded; relink it dynamically";
    alqi_cli_say("record: %s is %s: %s", file, alqi_plat_program_text(p->kind),
                 why);
    return EXIT_OURS;
}

bool
alqi_cli_record_directory_make(struct alqi_cli_record_run *r)
{
    char parent[PATH_MAX], full[PATH_MAX];
    const char *output = r->output != NULL ? r->output : "aliquot";
    const char *slash = strrchr(output, '/');

    snprintf(parent, sizeof parent, "%.*s",
             slash != NULL ? (int)(slash - output + (slash == output)) : 1,
             slash != NULL ? output : ".");
    if (realpath(parent, full) == NULL)
        return alqi_cli_refuse("record: %s: %s", parent, strerror(errno));
    if (snprintf(r->directory, sizeof r->directory, "%s/.aliquot-raw.XXXXXX",
                 full) >= (int)sizeof r->directory ||
        mkdtemp(r->directory) == NULL)
        return alqi_cli_refuse("record: cannot make a directory in %s: %s",
                               full, strerror(errno));
    return true;
}

/* A file that stands where the trace is to go. */
static bool
is_replaced(const struct alqi_cli_record_run *r, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return alqi_cli_refuse("record: %s is a directory: name a file in it",
                               path);
    if (alqi_cli_record_may_overwrite(r, path))
        return true;
    if (r->is_memtrace)
        alqi_cli_say("record: MEMTRACE=%s: that exists and is no trace; -f "
                     "overwrites it",
                     path);
    else
        alqi_cli_say("record: %s exists; -f overwrites it", path);
    return false;
}

/* Tries a file that is written when the program has ended.  False: said. */
static bool
output_try(const char *path)
{
    return alqi_cli_output_try(path) ||
           alqi_cli_refuse("record: cannot create %s: %s", path,
                           strerror(errno));
}

/* Whether the trace can be written, as far as that is known before the program
 * has run.  Where the name is not known, one like it is tried: another number
 * follows a name that is taken.  False: said. */
static bool
trace_check(const struct alqi_cli_record_run *r)
{
    char path[2 * PATH_MAX + 32];
    size_t n;
    struct stat st;

    if (r->output != NULL && !r->is_late) {
        alqi_cli_record_name(r, "", 0, path, PATH_MAX);
        if (lstat(path, &st) != 0)
            return output_try(path);
        return is_replaced(r, path) && (r->is_memtrace || output_try(path));
    }
    alqi_cli_record_name_stem(r, "", (uint32_t)getpid(), false, path, PATH_MAX);
    n = strlen(path);
    snprintf(path + n, sizeof path - n, "%s", r->suffix);
    return lstat(path, &st) == 0 || output_try(path);
}

static bool
outputs_check(const struct alqi_cli_record_run *r)
{
    if (!trace_check(r))
        return false;
    if (r->leaks_output == NULL)
        return true;
    if (r->output != NULL && strcmp(r->output, r->leaks_output) == 0)
        return alqi_cli_refuse("record: --leaks and --output are one file, %s: "
                               "name two",
                               r->output);
    return output_try(r->leaks_output);
}

/* The program's, or, where that is 0 and an output could not be written, ours:
 * who asks for a trace and gets none shall not go on as if there were one. */
static int
status_of(const struct alqi_cli_record_run *r, int program_status)
{
    return program_status == 0 && r->n_unwritten > 0 ? EXIT_OURS
                                                     : program_status;
}

/* What --allocator names can be where functions begin.  -1, or the status to
 * exit with. */
static int
allocators_check(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
    unsigned n_prefixes = 0;
    size_t n;

    if (text == NULL)
        return -1;
    for (const char *at = text;; at += n + 1) {
        n = strcspn(at, ",");
        if (n == 0 || n > ALQI_ALLOCATOR_BYTES_MAX || strspn(at, letters) < n)
            return alqi_cli_usage(
                "record",
                "record: --allocator=%.*s: that is not what names of functions "
                "begin with: letters, digits, '_', '$' and '.', at most %d",
                (int)(n < 100 ? n : 100), at, ALQI_ALLOCATOR_BYTES_MAX);
        if (++n_prefixes > ALQI_ALLOCATORS_MAX)
            return alqi_cli_usage("record",
                                  "record: --allocator takes at most %d",
                                  ALQI_ALLOCATORS_MAX);
        if (at[n] == '\0')
            return -1;
    }
}

enum {
    ALLOCATORS_BYTES =
        ALQI_ALLOCATORS_MAX * (ALQI_ALLOCATOR_BYTES_MAX + 1) + 20,
    SETTINGS_BYTES = 2 * sizeof((struct alqi_cli_record_run *)NULL)->directory +
                     PATH_MAX + ALLOCATORS_BYTES + 1000
};

/* The text of ALIQUOT for the preload; out has SETTINGS_BYTES. */
static void
settings_make(const struct alqi_cli_record_run *r, const char *preload,
              char *out)
{
    char probes[40] = "", limits[160], allocators[ALLOCATORS_BYTES] = "";
    char directory[2 * sizeof r->directory];

    alqi_base_pattern_quote(directory, r->directory, strlen(r->directory));
    alqi_cli_record_limit_settings(&r->limits, limits, sizeof limits);
    if (r->allocators != NULL)
        snprintf(allocators, sizeof allocators, "allocator=%s,", r->allocators);
    for (char *p = allocators; (p = strchr(p, ',')) != NULL && p[1] != '\0';)
        *p = ':'; /* a comma ends a key of the preload's */
    if (r->probes_interval_bytes > 0)
        snprintf(probes, sizeof probes, "probes=%.17g,",
                 r->probes_interval_bytes);
    else if (r->has_probes)
        strcpy(probes, "probes,");
    snprintf(out, SETTINGS_BYTES,
             "%s%s%s%srate=%.17g,depth=%" PRIu64 ",seed=%" PRIu64
             ",follow=%d,mmap=%d,rss=%d,python=%d,native=%d,exact=%d,max_"
             "memory=%.0f,"
             "reserve=%.0f,notes=1,heap=1,leaks=%d"
             "%s,preload=%s,out=%s/"
             "%%e.%%p.%%n" ALQI_CLI_RECORDING_SUFFIX,
             r->is_off ? "off," : "", r->is_controlled ? "control," : "",
             allocators, probes, r->rate, r->depth, r->seed, r->is_following,
             r->is_mapping, !r->has_no_rss, !r->has_no_python, r->has_native,
             r->is_exact, r->max_memory_bytes, r->reserve_bytes, r->is_leaks,
             limits, preload, directory);
}

/* ---- the verb ------------------------------------------------------------ */

/* Says why the program could not be run; returns the exit status. */
static int
exec_failed(const char *name, int error)
{
    alqi_cli_say("record: cannot run %s: %s", name, strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Removes pipe and directory of a run that recorded nothing. */
static void
directory_remove(struct alqi_cli_record_run *r)
{
    alqi_cli_record_limit_close(r);
    rmdir(r->directory);
}

/* Reports of limits are made while the program runs: the launcher watches the
 * pipe. False: the reason has been said. */
static bool
limits_begin(struct alqi_cli_record_run *r, struct alqi_cli_launch *launch)
{
    if (!alqi_cli_record_limit_is_set(&r->limits) && !r->is_leaks)
        return true;
    if (!alqi_cli_record_limit_open(r)) {
        directory_remove(r);
        return false;
    }
    launch->watched = alqi_cli_record_limit_heard;
    launch->arg = r;
    launch->watch_fd = r->limits.pipe;
    return true;
}

/* The program runs. While it does, nothing else may make traces: reports of
 * limits and looks for leaks do, in this thread. */
static void
program_began(void *arg, pid_t pid)
{
    struct alqi_cli_record_run *r = arg;

    r->pid = r->debugger = pid;
    r->symbols = alqi_symbol_table_new(true);
    if (!alqi_cli_record_limit_is_set(&r->limits) && !r->is_leaks)
        r->meanwhile = alqi_cli_meanwhile_begin(r);
}

/* Runs the program and makes the traces. Returns its exit status, or dies of
 * its signal. */
static int
run(struct alqi_cli_record_run *r, struct alqi_cli_launch *launch)
{
    struct alqi_cli_launched launched;

    if (!alqi_cli_launch(launch, &launched)) {
        directory_remove(r);
        return EXIT_OURS;
    }
    if (launched.exec_errno != 0) {
        directory_remove(r);
        return exec_failed(launch->argv[0], launched.exec_errno);
    }
    r->wait_status = launched.wait_status;
    r->ended_ns = launched.ended_ns;
    r->most_rss_bytes = launched.most_rss_bytes;
    alqi_cli_record_traces(r);
    if (r->n_traces == 0 && r->n_left == 0 && r->is_off)
        alqi_cli_say("record: %s was never started, so there is no trace",
                     launch->argv[0]);
    else if (r->n_traces + r->n_left + r->n_explained == 0 &&
             WIFSIGNALED(r->wait_status))
        alqi_cli_say("record: %s was killed before its recording began",
                     launch->argv[0]);
    else if (r->n_traces + r->n_left + r->n_explained == 0) {
        r->n_unwritten++;
        alqi_cli_say("record: %s left no recording: it could not create one "
                     "(its message says why), or the dynamic linker did not "
                     "load the profiler",
                     launch->argv[0]);
    }
    return status_of(r, alqi_cli_launch_mirror(r->wait_status));
}

/* A program that the dynamic linker lets no profiler into runs all the same. */
static int
run_unrecorded(char **argv, const struct alqi_cli_program *p)
{
    struct alqi_cli_launch launch = {.argv = argv};
    struct alqi_cli_launched launched;

    alqi_cli_say(
        "record: not recording: %s is %s, and the dynamic linker loads no "
        "profiler into such a program",
        p->path, alqi_plat_program_text(p->kind));
    if (!alqi_cli_launch(&launch, &launched))
        return EXIT_OURS;
    if (launched.exec_errno != 0)
        return exec_failed(argv[0], launched.exec_errno);
    return alqi_cli_launch_mirror(launched.wait_status);
}

/* Takes MEMTRACE and MEMTRACE_RATE as the library of that name does where it
 * is linked: the trace's file, which is overwritten if it is a trace, and its
 * rate. The command line wins; then the variables are left to the program.
 * False: the reason has been said. */
static bool
memtrace_honour(struct alqi_cli_record_run *r)
{
    const char *path = getenv("MEMTRACE"), *rate = getenv("MEMTRACE_RATE");

    if (r->output != NULL || path == NULL || *path == '\0')
        return true;
    if (!r->has_rate)
        r->rate = ALQI_DEFAULT_MEMTRACE_RATE;
    if (!r->has_rate && rate != NULL && *rate != '\0' &&
        !alqi_cli_rate_parse(rate, &r->rate))
        return alqi_cli_refuse(
            "record: MEMTRACE_RATE=%s: a number above 0, and 1 at "
            "most",
            rate);
    r->output = strdup(path);
    r->is_memtrace = true;
    unsetenv("MEMTRACE");
    unsetenv("MEMTRACE_RATE");
    return r->output != NULL;
}

static void
late_text_make(struct alqi_cli_record_run *r)
{
    snprintf(r->late_text, sizeof r->late_text,
             "aliquot: the program has ended and its trace is being written; "
             "another ^C leaves the recording in %s\n",
             r->directory);
}

/* Checks the limits against other options, and samples more finely for small
 * ones. -1 to go on, or the exit status. */
static int
limits_check(struct alqi_cli_record_run *r)
{
    if (!alqi_cli_record_limit_is_set(&r->limits))
        return r->limits.has_action
                   ? alqi_cli_usage("record",
                                    "record: --on-limit of what? Give "
                                    "--limit-live or --limit-alloc")
                   : -1;
    if (r->is_off)
        return alqi_cli_usage("record", "record: limits count from the start, "
                                        "--off begins later: choose one");
    if (!r->has_rate && !r->is_exact) {
        r->has_rate = true;
        r->rate =
            ALQI_WORD_BYTES / alqi_cli_record_limit_interval_bytes(&r->limits);
    }
    return -1;
}

/* Options that have no meaning for a process that runs already. -1 to go on, or
 * the exit status. */
static int
attached_check(const struct alqi_cli_record_run *r, bool has_program)
{
    const struct {
        bool is_given;
        const char *text;
    } refused[] = {
        {has_program, "-p records a process that runs: give no program"},
        {r->is_debugged, "--debug begins with the program: not with -p"},
        {r->is_exact, "--exact begins with the program: not with -p"},
        {r->is_leaks, "--leaks is for the program's end: of a process that "
                      "runs 'aliquot leaks -p' tells"},
        {r->is_following, "--follow begins with the program: not with -p"},
        {r->is_mapping, "--mmap begins with the program: not with -p"},
        {r->allocators != NULL,
         "--allocator begins with the program: not with -p"},
        {r->is_off || r->is_controlled,
         "-p samples until it ends: --off and --control are not for it"},
        {r->has_probes, "--probes begins with the program: not with -p"},
        {r->reserve_bytes > 0, "--reserve begins with the program: not with "
                               "-p"},
        {alqi_cli_record_limit_is_set(&r->limits),
         "limits count from the start: not with -p"},
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(refused); i++)
        if (refused[i].is_given)
            return alqi_cli_usage("record", "record: %s", refused[i].text);
    return -1;
}

/* Records a process that runs. Returns the exit status. */
static int
run_attached(struct alqi_cli_record_run *r, bool has_program)
{
    int status = attached_check(r, has_program);
    char preload[PATH_MAX];

    if (status >= 0)
        return status;
    if (!alqi_cli_record_name_set(r))
        return ALQI_CLI_USAGE;
    if (!outputs_check(r))
        return ALQI_CLI_USAGE;
    if (!alqi_cli_preload_find(preload, sizeof preload) ||
        !alqi_cli_record_attached(r, preload))
        return EXIT_OURS;
    alqi_cli_record_traces(r);
    return status_of(r, 0);
}

/* The run's state is static because it is large. */
int
alqi_cli_record(int argc, char **argv)
{
    static struct alqi_cli_record_run r = {.rate = ALQI_DEFAULT_RATE,
                                           .max_memory_bytes =
                                               ALQI_DEFAULT_MAX_MEMORY_BYTES,
                                           .depth = ALQI_DEFAULT_DEPTH_FRAMES};
    static struct alqi_cli_program program;
    struct alqi_cli_launch launch = {0};
    char preload[PATH_MAX];
    char settings[SETTINGS_BYTES];
    int first, status;

    status = alqi_cli_parse("record", argc, argv, &r, &first);
    if (status >= 0)
        return status;
    if (r.attached_pid != 0)
        return run_attached(&r, first < argc);
    if (r.for_us > 0)
        return alqi_cli_usage("record", "record: --for is for -p: a program "
                                        "is recorded to its end");
    if (first >= argc)
        return alqi_cli_usage("record", "record: no program to run");
    alqi_cli_program_inspect(argv[first], &program);
    if (program.kind == ALQI_PLAT_PROGRAM_PRIVILEGED)
        return run_unrecorded(argv + first, &program);
    if (!program.is_executable || program.kind != ALQI_PLAT_PROGRAM_OK)
        return program_refuse(argv[first], &program);
    if (r.is_off && r.is_exact)
        return alqi_cli_usage("record", "record: --exact begins with the "
                                        "program, --off later: choose one");
    if (r.has_max_memory && !r.is_exact)
        return alqi_cli_usage("record", "record: --max-memory is for --exact: "
                                        "give that, too");
    if (r.output != NULL && strcmp(r.output, "-") == 0)
        return alqi_cli_usage("record", "record: standard output is the "
                                        "program's: name a file");
    status = limits_check(&r);
    if (status < 0)
        status = allocators_check(r.allocators);
    if (status >= 0)
        return status;
    if (!memtrace_honour(&r))
        return ALQI_CLI_USAGE;
    if (!alqi_cli_record_name_set(&r))
        return ALQI_CLI_USAGE;
    if (!outputs_check(&r))
        return ALQI_CLI_USAGE;
    if (!alqi_cli_preload_find(preload, sizeof preload) ||
        !alqi_cli_record_directory_make(&r))
        return EXIT_OURS;
    late_text_make(&r);
    settings_make(&r, preload, settings);
    launch.argv = argv + first;
    launch.preload = preload;
    launch.settings = settings;
    launch.late_text = r.late_text;
    launch.began = program_began;
    launch.arg = &r;
    if (r.is_debugged)
        alqi_cli_record_debugged(&launch);
    return limits_begin(&r, &launch) ? run(&r, &launch) : EXIT_OURS;
}
