/* record.c -- aliquot record: run a program, leave a trace of each process
 *
 * The preload writes raw recordings into a directory of this run, made beside
 * the output; when the program has ended, each becomes a trace and the
 * directory goes.  What cannot become one stays, and is named. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/convert.h"
#include "cli/launch.h"
#include "cli/pack.h"
#include "cli/program.h"
#include "cli/rate.h"
#include "cli/text.h"

enum {
    EXIT_OURS = 125,
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    DEPTH_DEFAULT = 256
};

#define INTERVAL_BYTES_DEFAULT (512.0 * 1024)
#define MAX_MEMORY_BYTES_DEFAULT (256.0 * 1024 * 1024)
#define MAX_MEMORY_LEAST (1024.0 * 1024)
#define MEMTRACE_RATE_DEFAULT 1e-6
#define PROBES_INTERVAL_MOST 0x1p60
#define RECORDING_SUFFIX ".alqraw"

enum {
    OPT_RATE = 128,
    OPT_INTERVAL,
    OPT_DEPTH,
    OPT_FOLLOW,
    OPT_SEED,
    OPT_MMAP,
    OPT_NO_RSS,
    OPT_TIME_STEP,
    OPT_EXACT,
    OPT_MAX_MEMORY,
    OPT_PROBES,
    OPT_CONTROL,
    OPT_OFF
};

const struct alqi_cli_option alqi_cli_record_options[] = {
    {'o', "output", "FILE", NULL, "the trace; default aliquot.PROGRAM.PID.ctf"},
    {'f', "force", NULL, NULL, "overwrite FILE if it exists"},
    {OPT_INTERVAL, "interval", "N[K|M|G]", NULL,
     "mean bytes between samples; default 512K"},
    {OPT_RATE, "rate", "R", NULL,
     "instead: samples per word, 0 to 1 (1: every block)"},
    {OPT_EXACT, "exact", NULL, NULL, "record every block, not a sample"},
    {OPT_MAX_MEMORY, "max-memory", "N[K|M|G]", NULL,
     "of --exact's tables, before sampling; default 256M"},
    {OPT_DEPTH, "depth", "N", NULL, "frames kept per stack; default 256"},
    {OPT_FOLLOW, "follow", NULL, NULL,
     "record exec'd programs, too, one trace a process"},
    {OPT_MMAP, "mmap", NULL, NULL, "record mappings made by mmap, too"},
    {OPT_TIME_STEP, "time-step", "T", NULL,
     "round times to T, such as 10ms: compresses better"},
    {OPT_NO_RSS, "no-rss", NULL, NULL,
     "do not look at resident memory now and then"},
    {OPT_PROBES, "probes", "[=N[K|M|G]]", NULL,
     "fire USDT probes, too, one in N bytes; default 512K"},
    {OPT_CONTROL, "control", NULL, NULL,
     "let aliquot start, stop, rate, status ... reach it"},
    {OPT_OFF, "off", NULL, NULL, "do not sample before an 'aliquot start'"},
    {OPT_SEED, "seed", "N", NULL, "of the sampling; default: random"},
    {'q', "quiet", NULL, NULL, "say nothing but errors"},
    {0},
};

struct record {
    const char *output;
    double rate; /* samples per word */
    unsigned depth;
    uint64_t seed;
    bool has_rate; /* given */
    bool is_forced;
    bool is_controlled;
    bool is_off;
    bool is_following;
    bool is_quiet;
    bool is_mapping;
    bool has_no_rss;
    uint64_t time_step_us;
    bool is_exact;
    bool has_probes;
    double probes_interval_bytes; /* 0: the preload's own */
    double max_memory_bytes;
    char directory[PATH_MAX]; /* of the raw recordings */
    char base[PATH_MAX];      /* output without .ctf, for further processes */
    const char *suffix;       /* of their traces */
    pid_t pid;                /* of the program */
    int wait_status;
    struct alqi_symbol_table *symbols;
    unsigned n_traces;
    unsigned n_left;
    unsigned n_empty; /* processes without a sample */
    bool has_main;
};

/* ---- options ------------------------------------------------------------- */

static bool
refuse(const char *option, const char *value, const char *range)
{
    alqi_cli_say("record: --%s %s: %s", option, value, range);
    return false;
}

static bool
set_number(struct record *r, int id, const char *value)
{
    char *end;
    double v;

    switch (id) {
    case OPT_INTERVAL:
        r->has_rate = true;
        return alqi_cli_interval_set("record", value, &r->rate);
    case OPT_MAX_MEMORY:
        if (!alqi_cli_bytes_parse(value, &v) ||
            !(v == 0 || v >= MAX_MEMORY_LEAST))
            return refuse("max-memory", value, "0, or a size from 1M on");
        r->max_memory_bytes = v;
        return true;
    case OPT_RATE:
        r->has_rate = true;
        return alqi_cli_rate_set("record", value, &r->rate);
    case OPT_DEPTH:
        v = strtod(value, &end);
        if (*end != '\0' || !(v >= 1 && v <= ALQI_RAW_FRAMES_MAX))
            return refuse("depth", value, "a number from 1 to 4096");
        r->depth = (unsigned)v;
        return true;
    default:
        errno = 0;
        r->seed = strtoull(value, &end, 0);
        if (*end != '\0' || end == value || errno != 0)
            return refuse("seed", value, "a whole number below 2^64");
        return true;
    }
}

static bool
set_time_step(struct record *r, const char *value)
{
    double us;

    if (!alqi_cli_parse_duration(value, &us) || !(us >= 1 && us <= 1e9))
        return refuse("time-step", value, "a time from 1us on, such as 10ms");
    r->time_step_us = (uint64_t)us;
    return true;
}

/* Without a value the preload's own interval, which depends on the mode. */
static bool
set_probes(struct record *r, const char *value)
{
    double bytes = 0;

    if (value != NULL &&
        (!alqi_cli_bytes_parse(value, &bytes) ||
         !(bytes >= ALQI_WORD_BYTES && bytes <= PROBES_INTERVAL_MOST)))
        return refuse("probes", value, "a size from 8 on, such as 64K");
    r->has_probes = true;
    r->probes_interval_bytes = bytes;
    return true;
}

static bool
set_option(void *arg, int id, const char *value)
{
    struct record *r = arg;

    switch (id) {
    case 'o':
        r->output = value;
        return true;
    case 'f':
        r->is_forced = true;
        return true;
    case 'q':
        r->is_quiet = true;
        return true;
    case OPT_FOLLOW:
        r->is_following = true;
        return true;
    case OPT_OFF:
        r->is_off = true;
        __attribute__((fallthrough));
    case OPT_CONTROL:
        r->is_controlled = true;
        return true;
    case OPT_MMAP:
        r->is_mapping = true;
        return true;
    case OPT_TIME_STEP:
        return set_time_step(r, value);
    case OPT_PROBES:
        return set_probes(r, value);
    case OPT_NO_RSS:
        r->has_no_rss = true;
        return true;
    case OPT_EXACT:
        r->is_exact = true;
        return true;
    default:
        return set_number(r, id, value);
    }
}

/* ---- before the start ---------------------------------------------------- */

static int
program_refuse(const char *name, const struct alqi_cli_program *p)
{
    const char *file = p->interpreter[0] ? p->interpreter : p->path;

    switch (p->kind) {
    case ALQI_PROGRAM_NOT_FOUND:
        alqi_cli_say("record: %s: not found", name);
        return EXIT_NOT_FOUND;
    case ALQI_PROGRAM_NOT_EXEC:
        alqi_cli_say("record: %s: not an executable file", p->path);
        return EXIT_NOT_EXECUTABLE;
    case ALQI_PROGRAM_STATIC:
        alqi_cli_say("record: %s is statically linked: there is no dynamic "
                     "linker to load the profiler, so nothing would be "
                     "recorded; relink it dynamically",
                     file);
        return EXIT_OURS;
    default:
        alqi_cli_say("record: %s is %s: the profiler is built for this "
                     "machine's 64-bit programs only",
                     file, p->what);
        return EXIT_OURS;
    }
}

static bool
directory_make(struct record *r)
{
    char parent[PATH_MAX], full[PATH_MAX];
    const char *output = r->output != NULL ? r->output : "aliquot";
    const char *slash = strrchr(output, '/');

    snprintf(parent, sizeof parent, "%.*s",
             slash != NULL ? (int)(slash - output + (slash == output)) : 1,
             slash != NULL ? output : ".");
    if (realpath(parent, full) == NULL) {
        alqi_cli_say("record: %s: %s", parent, strerror(errno));
        return false;
    }
    if (snprintf(r->directory, sizeof r->directory, "%s/aliquot-raw.XXXXXX",
                 full) >= (int)sizeof r->directory ||
        mkdtemp(r->directory) == NULL) {
        alqi_cli_say("record: cannot make a directory in %s: %s", full,
                     strerror(errno));
        return false;
    }
    return true;
}

static bool
output_check(const struct record *r)
{
    struct stat st;

    if (r->output == NULL || r->is_forced || stat(r->output, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return true;
    alqi_cli_say("record: %s exists; -f overwrites it", r->output);
    return false;
}

static char *
settings_make(const struct record *r, const char *preload)
{
    char *text, probes[40] = "";
    int n;

    if (r->probes_interval_bytes > 0)
        snprintf(probes, sizeof probes, "probes=%.17g,",
                 r->probes_interval_bytes);
    else if (r->has_probes)
        strcpy(probes, "probes,");
    n = asprintf(&text,
                 "%s%s%srate=%.17g,depth=%u,seed=%" PRIu64
                 ",follow=%d,mmap=%d,rss=%d,exact=%d,max_memory=%.0f"
                 ",preload=%s,out=%s/"
                 "%%e.%%p.%%n" RECORDING_SUFFIX,
                 r->is_off ? "off," : "", r->is_controlled ? "control," : "",
                 probes, r->rate, r->depth, r->seed, r->is_following,
                 r->is_mapping, !r->has_no_rss, r->is_exact,
                 r->max_memory_bytes, preload, r->directory);

    return n < 0 ? NULL : text;
}

/* ---- after the end ------------------------------------------------------- */

static bool
packet_write(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* The name of the trace of an image that none was asked for: of the first of
 * its program and process, or of the attempt-th after it.  False: too long. */
static bool
trace_name(const struct record *r, const struct alqi_raw_header *h,
           unsigned attempt, char *path, size_t capacity)
{
    const char *exe = h->executable[0] ? base_name(h->executable) : "program";
    char number[16] = "";
    int n;

    if (attempt > 0)
        snprintf(number, sizeof number, ".%u", attempt);
    n = snprintf(path, capacity, "%s.%s.%u%s%s", r->base, exe, h->pid, number,
                 r->suffix);
    return n > 0 && (size_t)n < capacity;
}

/* Opens the trace of one image; the program's first gets the name asked for,
 * and only that may overwrite. */
static FILE *
trace_create(struct record *r, const struct alqi_raw_header *h, char *path,
             size_t capacity)
{
    bool is_main = (pid_t)h->pid == r->pid && !r->has_main;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL;
    int fd = -1;

    if (is_main && r->output != NULL) {
        if (r->is_forced)
            flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC;
        snprintf(path, capacity, "%s", r->output);
        fd = open(path, flags, 0644);
    } else {
        for (unsigned attempt = 0; attempt < 1000; attempt++) {
            errno = ENAMETOOLONG;
            if (trace_name(r, h, attempt, path, capacity))
                fd = open(path, flags, 0644);
            if (fd >= 0 || errno != EEXIST)
                break;
        }
    }
    if (fd < 0) {
        alqi_cli_say("record: cannot create %s: %s", path, strerror(errno));
        return NULL;
    }
    r->has_main = r->has_main || is_main;
    return alqi_cli_pack_fdopen(fd, path);
}

static void
say_drops(const struct alqi_raw_header *h,
          const struct alqi_cli_convert_result *result)
{
    static const struct {
        enum alqi_raw_counter counter;
        const char *text;
    } reasons[] = {
        {ALQI_RAW_DROPPED_SPACE, "samples dropped: no room in the file"},
        {ALQI_RAW_DROPPED_NOMEM, "samples dropped: no memory"},
        {ALQI_RAW_DROPPED_NESTED, "samples dropped: inside a signal handler"},
        {ALQI_RAW_DROPPED_CAP, "samples dropped: too many tracked blocks"},
        {ALQI_RAW_LOST_FREES, "frees not recorded: no room in the file, or "
                              "inside a signal handler"},
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(reasons); i++) {
        uint64_t n = atomic_load(&h->counters[reasons[i].counter]);

        if (n > 0)
            alqi_cli_say("%u: %" PRIu64 " %s", h->pid, n, reasons[i].text);
    }
    if (result->n_damaged_chunks > 0)
        alqi_cli_say("%u: %" PRIu64 " damaged parts of the recording left out",
                     h->pid, result->n_damaged_chunks);
}

static void
say_result(struct record *r, const struct alqi_raw_header *h,
           const struct alqi_cli_convert_result *result, const char *path)
{
    bool is_main = (pid_t)h->pid == r->pid;
    bool is_exact = (atomic_load(&h->flags) & ALQI_RAW_IS_EXACT) != 0;

    if (r->is_quiet)
        return;
    if (result->n_allocs == 0 && !is_main) {
        r->n_empty++;
        return;
    }
    alqi_cli_say(
        "%s (%u): %s %s%s of %s allocated -> %s", base_name(h->executable),
        h->pid, alqi_cli_text_count((double)result->n_allocs).text,
        is_exact ? "block" : "sample", result->n_allocs == 1 ? "" : "s",
        alqi_cli_text_bytes(result->allocated_bytes).text, path);
    if (result->n_allocs == 0 &&
        (atomic_load(&h->flags) & ALQI_RAW_OWN_MALLOC) == 0)
        alqi_cli_say("%u: no sample: the program allocated little (the mean "
                     "interval is %s), or not through malloc, or in a program "
                     "that it executed (--follow records those)",
                     h->pid,
                     h->rate > 0
                         ? alqi_cli_text_bytes(ALQI_WORD_BYTES / h->rate).text
                         : "infinite");
}

static const char *
ended_word(const struct record *r, const struct alqi_raw_header *h)
{
    if ((pid_t)h->pid == r->pid)
        return WIFSIGNALED(r->wait_status) ? "killed" : "exit";
    return (atomic_load(&h->flags) & ALQI_RAW_EXITED) != 0 ? "exit" : "killed";
}

/* True when the recording became a trace and may go. */
static bool
recording_convert(struct record *r, const char *raw_path)
{
    struct alqi_cli_convert_result result;
    struct alqi_cli_recording *recording;
    const struct alqi_raw_header *h;
    char error[200], path[PATH_MAX];
    enum alq_status status;
    FILE *out;

    recording = alqi_cli_recording_open(raw_path, error, sizeof error);
    if (recording == NULL) {
        alqi_cli_say("record: %s: %s", raw_path, error);
        return false;
    }
    h = alqi_cli_recording_header(recording);
    if (alqi_cli_recording_is_live(recording)) {
        alqi_cli_say("%s (%u) runs on and is recorded to %s, which every "
                     "verb reads as it stands",
                     base_name(h->executable), h->pid, raw_path);
        alqi_cli_recording_drop(recording);
        return false;
    }
    out = trace_create(r, h, path, sizeof path);
    if (out == NULL) {
        alqi_cli_recording_drop(recording);
        return false;
    }
    status = alqi_cli_convert(recording, ended_word(r, h), r->time_step_us,
                              r->symbols, packet_write, out, &result);
    if (fclose(out) != 0 && status == ALQ_OK)
        status = ALQ_EIO;
    if (status == ALQ_OK) {
        say_result(r, h, &result, path);
        say_drops(h, &result);
        r->n_traces++;
    } else {
        alqi_cli_say("record: writing %s: %s", path, alq_status_text(status));
    }
    alqi_cli_recording_drop(recording);
    return status == ALQ_OK;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int
is_recording_name(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name), k = strlen(RECORDING_SUFFIX);

    return n > k && strcmp(entry->d_name + n - k, RECORDING_SUFFIX) == 0;
}

static void
recordings_convert(struct record *r)
{
    struct dirent **names;
    int n = scandir(r->directory, &names, is_recording_name, by_name);

    r->symbols = alqi_symbol_table_new(true);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX + 300];

        snprintf(path, sizeof path, "%s/%s", r->directory, names[i]->d_name);
        if (r->symbols != NULL && recording_convert(r, path))
            unlink(path);
        else
            r->n_left++;
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    alqi_symbol_table_drop(r->symbols);
    if (r->n_empty > 0)
        alqi_cli_say("%u more process%s without a sample, each with a trace",
                     r->n_empty, r->n_empty == 1 ? "" : "es");
    if (r->n_left > 0)
        alqi_cli_say("%u recordings stay in %s; 'aliquot report FILE' reads "
                     "them as they are",
                     r->n_left, r->directory);
    else if (rmdir(r->directory) != 0)
        alqi_cli_say("record: cannot remove %s: %s", r->directory,
                     strerror(errno));
}

/* ---- the verb ------------------------------------------------------------ */

static int
exec_failed(const char *name, int error)
{
    alqi_cli_say("record: cannot run %s: %s", name, strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int
run(struct record *r, struct alqi_cli_launch *launch)
{
    struct alqi_cli_launched launched;

    if (!alqi_cli_launch(launch, &launched)) {
        rmdir(r->directory);
        return EXIT_OURS;
    }
    if (launched.exec_errno != 0) {
        rmdir(r->directory);
        return exec_failed(launch->argv[0], launched.exec_errno);
    }
    r->pid = launched.pid;
    r->wait_status = launched.wait_status;
    recordings_convert(r);
    if (r->n_traces == 0 && r->n_left == 0 && r->is_off)
        alqi_cli_say("record: %s was never started, so there is no trace",
                     launch->argv[0]);
    else if (r->n_traces == 0 && r->n_left == 0)
        alqi_cli_say("record: %s left no recording: the preload was not "
                     "loaded into it, or it could not write to %s",
                     launch->argv[0], r->directory);
    return alqi_cli_launch_mirror(r->wait_status);
}

/* A program that the dynamic linker will not let us into runs all the same. */
static int
run_unrecorded(char **argv, const struct alqi_cli_program *p)
{
    struct alqi_cli_launch launch = {.argv = argv};
    struct alqi_cli_launched launched;

    alqi_cli_say("record: off: %s is %s, and the dynamic linker loads no "
                 "profiler into such a program",
                 p->path, p->what);
    if (!alqi_cli_launch(&launch, &launched))
        return EXIT_OURS;
    if (launched.exec_errno != 0)
        return exec_failed(argv[0], launched.exec_errno);
    return alqi_cli_launch_mirror(launched.wait_status);
}

/* As the library of that name does where it is linked: the trace's file, which
 * is overwritten, and its rate.  What the command line says wins; then the
 * variables are left to the program.  False: said. */
static bool
memtrace_honour(struct record *r)
{
    const char *path = getenv("MEMTRACE"), *rate = getenv("MEMTRACE_RATE");

    if (r->output != NULL || path == NULL || *path == '\0')
        return true;
    if (!r->has_rate && rate != NULL &&
        !alqi_cli_rate_set("MEMTRACE_RATE: record", rate, &r->rate))
        return false;
    if (!r->has_rate && rate == NULL)
        r->rate = MEMTRACE_RATE_DEFAULT;
    r->output = strdup(path);
    r->is_forced = true;
    unsetenv("MEMTRACE");
    unsetenv("MEMTRACE_RATE");
    return r->output != NULL;
}

static void
base_set(struct record *r)
{
    size_t n;

    snprintf(r->base, sizeof r->base, "%s",
             r->output != NULL ? r->output : "aliquot");
    n = alqi_cli_pack_stem(r->base);
    r->suffix = r->base[n] == '\0' ? ".ctf" : ".ctf.zst";
    r->base[n] = '\0';
    if (n > 4 && strcmp(r->base + n - 4, ".ctf") == 0)
        r->base[n - 4] = '\0';
}

int
alqi_cli_record(int argc, char **argv)
{
    static struct record r = {.rate = ALQI_WORD_BYTES / INTERVAL_BYTES_DEFAULT,
                              .max_memory_bytes = MAX_MEMORY_BYTES_DEFAULT,
                              .depth = DEPTH_DEFAULT};
    static struct alqi_cli_program program;
    struct alqi_cli_launch launch = {0};
    char preload[PATH_MAX];
    char *settings;
    int first, status;

    status = alqi_cli_parse("record", argc, argv, set_option, &r, &first);
    if (status >= 0)
        return status;
    if (first >= argc)
        return alqi_cli_usage("record", "record: no program to run");
    alqi_cli_program_inspect(argv[first], &program);
    if (program.kind == ALQI_PROGRAM_PRIVILEGED)
        return run_unrecorded(argv + first, &program);
    if (program.kind != ALQI_PROGRAM_OK)
        return program_refuse(argv[first], &program);
    if (r.is_off && r.is_exact)
        return alqi_cli_usage("record", "record: --exact begins with the "
                                        "program, --off later: choose one");
    if (!memtrace_honour(&r))
        return ALQI_CLI_USAGE;
    if (!output_check(&r) || !alqi_cli_preload_find(preload, sizeof preload) ||
        !directory_make(&r))
        return EXIT_OURS;
    base_set(&r);
    settings = settings_make(&r, preload);
    if (settings == NULL)
        return EXIT_OURS;
    launch.argv = argv + first;
    launch.preload = preload;
    launch.settings = settings;
    status = run(&r, &launch);
    free(settings);
    return status;
}
