/* limit.c -- reports of limits that a recorded program reached
 *
 * [limit.h] Two ways lead to a report: the pipe says at once which recording
 * has reached a limit (heard), or the recording itself does when it becomes a
 * trace (look). The table `told` holds each recording and kind that has its
 * report, so none is made twice.
 *
 * A report is `aliquot report` in a forked process, on the recording read up
 * to the time at which the limit was reached; its output goes into a file.
 * Only then the signal is sent, to a process that is still the recorded one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/defaults.h"
#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/record/ending.h"
#include "cli/record/limit.h"
#include "cli/record/name.h"
#include "cli/record/writer.h"
#include "cli/tool/output.h"
#include "cli/convert/recording.h"
#include "cli/tool/text.h"
#include "plat/plat.h"

/* Bounds of the sampling interval that is chosen for small limits. */
#define INTERVAL_LEAST_BYTES 4096.0
#define INTERVAL_MOST_BYTES ALQI_DEFAULT_INTERVAL_BYTES

/* SAMPLES_AT_LIMIT: expected when the limit is reached, for an error of 3 %.
 * SETTLE_NS: until writes of that time are in the file. */
enum { SAMPLES_AT_LIMIT = 1024, SETTLE_NS = 1000000 };

/* ---- options ------------------------------------------------------------- */

/* A signal by name, with or without SIG, or by number, as the preload reads
 * it; 0: none. */
static int
signal_parse(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (strncmp(text, "SIG", 3) == 0)
        text += 3;
    for (int i = 1; i <= SIGRTMAX; i++) {
        const char *name = sigabbrev_np(i);

        if ((*end == '\0' && number == i) ||
            (name != NULL && strcmp(name, text) == 0))
            return i;
    }
    return 0;
}

/* Takes --on-limit. False: the reason has been said. */
bool
alqi_cli_record_limit_action_take(void *to, const char *verb, const char *value)
{
    struct alqi_cli_record_limits *limits = to;

    limits->has_action = true;
    limits->signal = 0;
    if (strcmp(value, "report") == 0)
        return true;
    if (strcmp(value, "kill") == 0)
        limits->signal = SIGKILL;
    else if (strcmp(value, "signal") == 0)
        limits->signal = SIGTERM;
    else if (strncmp(value, "signal=", 7) == 0)
        limits->signal = signal_parse(value + 7);
    if (limits->signal != 0)
        return true;
    if (strncmp(value, "signal=", 7) == 0)
        return alqi_cli_refuse("%s: --on-limit %s: there is no signal %s; "
                               "'kill -l' lists them",
                               verb, value, value + 7);
    return alqi_cli_refuse("%s: --on-limit %s: choose one of: report, signal, "
                           "signal=NAME, kill",
                           verb, value);
}

bool
alqi_cli_record_limit_is_set(const struct alqi_cli_record_limits *limits)
{
    return limits->bytes[ALQI_RAW_LIMIT_LIVE] > 0 ||
           limits->bytes[ALQI_RAW_LIMIT_ALLOC] > 0;
}

/* The smallest limit decides. */
double
alqi_cli_record_limit_interval_bytes(
    const struct alqi_cli_record_limits *limits)
{
    double interval = INTERVAL_MOST_BYTES;

    for (unsigned kind = 0; kind < ALQI_RAW_LIMITS; kind++) {
        double enough = limits->bytes[kind] / SAMPLES_AT_LIMIT;

        if (limits->bytes[kind] > 0 && enough < interval)
            interval = enough;
    }
    return interval > INTERVAL_LEAST_BYTES ? interval : INTERVAL_LEAST_BYTES;
}

void
alqi_cli_record_limit_settings(const struct alqi_cli_record_limits *limits,
                               char *out, size_t capacity)
{
    char action[20] = "report";

    out[0] = '\0';
    if (!alqi_cli_record_limit_is_set(limits))
        return;
    if (limits->signal == SIGKILL)
        strcpy(action, "kill");
    else if (limits->signal != 0)
        snprintf(action, sizeof action, "%d", limits->signal);
    for (unsigned kind = 0; kind < ALQI_RAW_LIMITS; kind++)
        if (limits->bytes[kind] > 0) {
            size_t n = strlen(out);

            snprintf(out + n, capacity - n, ",%s=%.0f",
                     kind == ALQI_RAW_LIMIT_LIVE ? "limit_live" : "limit_alloc",
                     limits->bytes[kind]);
        }
    snprintf(out + strlen(out), capacity - strlen(out),
             ",on_limit=%s,limit_notify=1", action);
}

/* ---- what is reported ---------------------------------------------------- */

/* A limit that was reached, as the recording has it. */
struct reached {
    /* the recording's; valid while it is open */
    const struct alqi_raw_header *header;
    enum alqi_raw_limit_kind kind;
    /* CLOCK_MONOTONIC, and the estimates at that time */
    uint64_t at_ns, live_bytes, alloc_bytes;
    /* the limit */
    double bytes;
    /* to send; 0: none */
    int signal;
};

/* Words for a kind of limit. */
static const char *
kind_text(enum alqi_raw_limit_kind kind)
{
    return kind == ALQI_RAW_LIMIT_LIVE ? "live bytes" : "allocated bytes";
}

static double
reached_bytes(const struct reached *r)
{
    return (double)(r->kind == ALQI_RAW_LIMIT_LIVE ? r->live_bytes
                                                   : r->alloc_bytes);
}

/* Microseconds since the recording's start. */
static double
after_us(const struct reached *r)
{
    return (double)(r->at_ns - r->header->start_mono_ns) / 1000;
}

/* Prints the command line, cleaned of control characters. */
static void
command_print(const struct alqi_raw_header *h)
{
    char text[1024];
    size_t n = h->n_cmdline_bytes < sizeof h->cmdline ? h->n_cmdline_bytes
                                                      : sizeof h->cmdline;

    printf("command  ");
    for (size_t at = 0; at < n; at += strnlen(h->cmdline + at, n - at) + 1) {
        char word[1024];

        snprintf(word, sizeof word, "%.*s", (int)(n - at), h->cmdline + at);
        alqi_cli_clean(text, sizeof text, word);
        printf(" %s", text);
    }
    printf("\n");
}

/* Prints the lines that stand above the report. */
static void
head_print(const struct reached *r)
{
    const struct alqi_raw_header *h = r->header;
    bool is_exact = (atomic_load(&h->flags) & ALQI_RAW_IS_EXACT) != 0;

    printf("limit     %s of %s\n", alqi_cli_text_bytes(r->bytes).text,
           kind_text(r->kind));
    printf("program   %s (%u)\n", alqi_cli_shown(h->executable).text, h->pid);
    command_print(h);
    printf("reached   after %s: %s alive, %s allocated%s%s\n",
           alqi_cli_text_duration(after_us(r)).text,
           alqi_cli_text_bytes((double)r->live_bytes).text,
           alqi_cli_text_bytes((double)r->alloc_bytes).text,
           is_exact ? "" : " (estimated)",
           (atomic_load(&h->flags) & ALQI_RAW_FORKED) != 0
               ? "; what is alive counts what it had from the process it was "
                 "forked from"
               : "");
    if (r->signal == 0)
        printf("then      it went on\n\n");
    else if (r->signal == SIGKILL)
        printf("then      it was sent SIGKILL\n\n");
    else
        printf("then      SIG%s is sent to it, if it still runs when this is "
               "there\n\n",
               sigabbrev_np(r->signal));
}

/* Writes the report; runs in a process of its own, where standard output is
 * the file. What was alive then is "alive at the end" of a recording that is
 * read up to that time. */
static _Noreturn void
report_print(const struct reached *r, const char *path)
{
    char *argv[] = {
        (char *)"report",
        (char *)(r->kind == ALQI_RAW_LIMIT_LIVE ? "--live" : "--allocated"),
        (char *)"--no-pager",
        (char *)"--color=never",
        (char *)"--",
        (char *)path,
        NULL};
    int rc;

    head_print(r);
    fflush(stdout);
    alqi_cli_recordings_until(r->at_ns);
    rc = alqi_cli_report(ALQI_COUNT_OF(argv) - 1, argv);
    fflush(stdout);
    _exit(rc);
}

/* ---- the report's file --------------------------------------------------- */

static const char *
suffix_of(enum alqi_raw_limit_kind kind)
{
    return kind == ALQI_RAW_LIMIT_LIVE ? ".limit-live.txt" : ".limit-alloc.txt";
}

/* Creates the report's file: the program's own beside the output, others by
 * program and process, with a number if that is taken. -1: the reason has been
 * said. */
static int
file_open(const struct alqi_cli_record_run *run, const struct reached *r,
          bool is_main, char *path, size_t capacity)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    const char *executable = r->header->executable;
    char stem[2 * PATH_MAX];
    int fd = -1;

    if (is_main && run->output != NULL) {
        alqi_cli_record_name_stem(run, executable, r->header->pid, true, stem,
                                  sizeof stem);
        if ((size_t)snprintf(path, capacity, "%s%s", stem, suffix_of(r->kind)) <
            capacity)
            fd = open(path, flags | (run->is_forced ? O_TRUNC : O_EXCL), 0666);
    }
    alqi_cli_record_name_stem(run, executable, r->header->pid, false, stem,
                              sizeof stem);
    if (fd < 0)
        fd = alqi_cli_output_numbered(stem, suffix_of(r->kind), 0666, path,
                                      capacity);
    if (fd < 0)
        alqi_cli_say("record: cannot create %s: %s", path, strerror(errno));
    return fd;
}

/* Makes a report and waits for it. False: there is none, and the reason has
 * been said. A report that is not complete stays. */
static bool
report_make(const struct alqi_cli_record_run *run, const struct reached *r,
            bool is_main, const char *recording, char *path, size_t capacity)
{
    int fd = file_open(run, r, is_main, path, capacity);
    int status = -1;
    pid_t child;

    if (fd < 0)
        return false;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        dup2(fd, STDOUT_FILENO);
        report_print(r, recording);
    }
    close(fd);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) <= 1)
        return true;
    alqi_cli_say("record: %s is not complete", path);
    return true;
}

/* One line on stderr about the limit, what was done, and the report's name. */
static void
say(const struct alqi_cli_record_run *run, const struct reached *r,
    bool is_sent, const char *path)
{
    char then[80] = "";

    if (run->is_quiet)
        return;
    if (r->signal == SIGKILL)
        strcpy(then, "; killed");
    else if (r->signal != 0 && !is_sent)
        snprintf(then, sizeof then, "; it had ended before SIG%s was sent",
                 sigabbrev_np(r->signal));
    else if (r->signal != 0)
        snprintf(then, sizeof then, "; sent SIG%s", sigabbrev_np(r->signal));
    alqi_cli_say("%s (%u): %s %s after %s, the limit is %s%s%s%s",
                 alqi_base_file_name(r->header->executable), r->header->pid,
                 alqi_cli_text_bytes(reached_bytes(r)).text,
                 r->kind == ALQI_RAW_LIMIT_LIVE ? "alive" : "allocated",
                 alqi_cli_text_duration(after_us(r)).text,
                 alqi_cli_text_bytes(r->bytes).text, then,
                 path[0] != '\0' ? " -> " : "", path);
}

/* ---- telling ------------------------------------------------------------- */

/* Notes a recording and kind. True when it was not noted before. */
static bool
is_first(struct alqi_cli_record_limits *limits, const char *path,
         enum alqi_raw_limit_kind kind)
{
    struct alqi_cli_record_told *t;

    for (size_t i = 0; i < limits->n_told; i++)
        if (limits->told[i].kind == kind &&
            strcmp(limits->told[i].name, alqi_base_file_name(path)) == 0)
            return false;
    limits->told = alqi_cli_realloc(limits->told, limits->n_told + 1,
                                    sizeof *limits->told);
    t = &limits->told[limits->n_told++];
    snprintf(t->name, sizeof t->name, "%s", alqi_base_file_name(path));
    t->kind = kind;
    return true;
}

/* Waits until the events just before the limit are in the file. */
static void
settle(uint64_t at_ns)
{
    const struct timespec rest = {0, SETTLE_NS};

    if (alqi_plat_mono_ns_sigsafe() < at_ns + SETTLE_NS)
        nanosleep(&rest, NULL);
}

/* Makes the report, sends the signal, says so. SIGKILL is the process's own
 * doing, so it is not sent. */
static void
tell(struct alqi_cli_record_run *run, struct alqi_cli_recording *recording,
     const char *path, struct reached *r)
{
    char file[PATH_MAX + 64] = "";
    bool *has_main = &run->limits.has_main[r->kind];
    bool is_main = !*has_main && (pid_t)r->header->pid == run->pid;
    pid_t writer;
    bool is_sent;

    *has_main = *has_main || is_main;
    settle(r->at_ns);
    if (!report_make(run, r, is_main, path, file, sizeof file))
        file[0] = '\0';
    writer = alqi_cli_record_writer(r->header, path);
    is_sent = r->signal != 0 && r->signal != SIGKILL && writer > 0 &&
              alqi_cli_recording_is_live_as(recording, writer) &&
              kill(writer, r->signal) == 0;
    say(run, r, is_sent, file);
}

/* A recording that cannot be opened is reported when it should become a
 * trace. */
void
alqi_cli_record_limit_look(struct alqi_cli_record_run *run, const char *path)
{
    struct alqi_cli_recording *recording;
    const struct alqi_raw_header *h;
    char error[200];

    if (!alqi_cli_record_limit_is_set(&run->limits))
        return;
    recording = alqi_cli_recording_open(path, error, sizeof error);
    if (recording == NULL)
        return; /* which is said when it is to become a trace */
    h = alqi_cli_recording_header(recording);
    for (unsigned kind = 0; kind < ALQI_RAW_LIMITS; kind++) {
        const struct alqi_raw_limit *l = &h->limits[kind];
        struct reached r = {.header = h,
                            .kind = (enum alqi_raw_limit_kind)kind,
                            .at_ns = atomic_load(&l->at_ns),
                            .live_bytes = l->live_bytes,
                            .alloc_bytes = l->alloc_bytes,
                            .bytes = (double)l->bytes,
                            .signal = run->limits.signal};

        if (r.at_ns != 0 && is_first(&run->limits, path, r.kind))
            tell(run, recording, path, &r);
    }
    alqi_cli_recording_drop(recording);
}

/* ---- the pipe ------------------------------------------------------------ */

static void
pipe_path(const struct alqi_cli_record_run *run, char *path, size_t capacity)
{
    snprintf(path, capacity, "%s/" ALQI_RAW_LIMIT_PIPE, run->directory);
}

/* The pipe is opened for writing too, so that it never reads as ended. */
bool
alqi_cli_record_limit_open(struct alqi_cli_record_run *run)
{
    char path[PATH_MAX + 16];

    pipe_path(run, path, sizeof path);
    run->limits.pipe = -1;
    if (mkfifo(path, 0600) == 0)
        run->limits.pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (run->limits.pipe < 0)
        alqi_cli_say("record: cannot make a pipe in %s: %s", run->directory,
                     strerror(errno));
    return run->limits.pipe >= 0;
}

/* A line is the name of a recording in the directory; a name with a slash is
 * ignored. */
static void
line_take(struct alqi_cli_record_run *run, const char *name)
{
    char path[PATH_MAX + 600];

    if (name[0] == '\0' || strchr(name, '/') != NULL)
        return;
    snprintf(path, sizeof path, "%s/%s", run->directory, name);
    alqi_cli_record_limit_look(run, path);
    alqi_cli_record_ending_look(run, path);
}

/* Takes whole lines; the rest stays for the next call. A line too long for a
 * name is thrown away. */
void
alqi_cli_record_limit_heard(void *arg, pid_t pid)
{
    struct alqi_cli_record_run *run = arg;
    struct alqi_cli_record_limits *l = &run->limits;
    char *end;
    ssize_t n;

    run->pid = pid;
    while ((n = read(l->pipe, l->line + l->n_line,
                     sizeof l->line - 1 - l->n_line)) > 0) {
        l->n_line += (size_t)n;
        l->line[l->n_line] = '\0';
        while ((end = strchr(l->line, '\n')) != NULL) {
            *end = '\0';
            line_take(run, l->line);
            l->n_line -= (size_t)(end + 1 - l->line);
            memmove(l->line, end + 1, l->n_line + 1);
        }
        if (l->n_line == sizeof l->line - 1)
            l->n_line = 0; /* nothing of ours */
    }
}

void
alqi_cli_record_limit_close(struct alqi_cli_record_run *run)
{
    char path[PATH_MAX + 16];

    if (!alqi_cli_record_limit_is_set(&run->limits) && !run->is_leaks)
        return;
    pipe_path(run, path, sizeof path);
    unlink(path);
    if (run->limits.pipe >= 0)
        close(run->limits.pipe);
    free(run->limits.told);
    run->limits.told = NULL;
    run->limits.n_told = 0;
    run->limits.pipe = -1;
}
