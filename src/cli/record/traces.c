/* traces.c -- the recordings of a run become traces
 *
 * [traces.h] The directory is gone through by kind of file: recordings, once
 * to find the program's last image and once to convert; heap traces; markers
 * of processes that said why they have none. Then the directory is removed,
 * unless something stays in it.
 *
 * A file ends in one of four ways: it becomes a trace and is unlinked; it
 * stays and counts in n_left (damaged, or its process runs on); it is unlinked
 * with a reason said and counts in n_explained; it is of an image that only
 * executed the next one, and is unlinked silently.
 *
 * The name that was asked for goes to the last image of the program's process.
 * All others are named after program and process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/convert/convert.h"
#include "cli/convert/heap_held.h"
#include "cli/convert/heap_trace.h"
#include "cli/tool/output.h"
#include "cli/tool/pack.h"
#include "cli/tool/proc.h"
#include "cli/record/ending.h"
#include "cli/record/limit.h"
#include "cli/record/meanwhile.h"
#include "cli/record/name.h"
#include "cli/record/traces.h"
#include "cli/record/writer.h"
#include "cli/tool/text.h"
#include "plat/program.h"

/* Programs named before the rest is only counted. */
enum { UNRECORDED_SAID = 10 };

/* Processes named before the rest is only counted, and how often the directory
 * is gone through at most. */
enum { LATER_SAID = 5, VISITS_MAX = 5 };

/* Of a heap's trace in the directory. */
#define HEAP_SUFFIX ALQI_CLI_RECORDING_SUFFIX ".heap"

/* An image of the program's, or of another that it ran: whose trace. */
struct image {
    /* path of its program; "" when it is unknown */
    const char *executable;
    uint32_t pid;
    /* of the name: ".heap" or "" */
    const char *part;
    /* the last image of the program's process */
    bool is_main;
};

bool
alqi_cli_record_may_overwrite(const struct alqi_cli_record_run *r,
                              const char *path)
{
    return r->is_forced || (r->is_memtrace && alqi_cli_output_is_trace(path));
}

/* Opens the name that was asked for; a heap's trace stands beside it. --force
 * truncates what is there. A trace that MEMTRACE names is unlinked instead, so
 * that a process that still writes it keeps it. -1: errno. */
static int
main_open(const struct alqi_cli_record_run *r, const struct image *image,
          char *path, size_t capacity)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    char stem[2 * PATH_MAX];

    errno = ENAMETOOLONG;
    if (image->part[0] == '\0') {
        alqi_cli_record_name(r, image->executable, image->pid, path, capacity);
    } else {
        alqi_cli_record_name_stem(r, image->executable, image->pid, true, stem,
                                  sizeof stem);
        if ((size_t)snprintf(path, capacity, "%s%s%s", stem, image->part,
                             r->suffix) >= capacity)
            return -1;
    }
    /* Who still writes the trace that was there keeps it. */
    if (!r->is_forced && alqi_cli_record_may_overwrite(r, path))
        unlink(path);
    return open(path, flags | (r->is_forced ? O_TRUNC : O_EXCL), 0644);
}

/* Opens the trace of an image. Only the name asked for may overwrite; other
 * names take the next free number. NULL: the reason has been said. */
static FILE *
trace_create(struct alqi_cli_record_run *r, const struct image *image,
             char *path, size_t capacity)
{
    const bool has_name = image->is_main && r->output != NULL;
    char stem[2 * PATH_MAX], suffix[32];
    FILE *file = NULL;
    int fd = -1;

    alqi_cli_record_name_stem(r, image->executable, image->pid, false, stem,
                              sizeof stem);
    snprintf(suffix, sizeof suffix, "%s%s", image->part, r->suffix);
    if (has_name)
        fd = main_open(r, image, path, capacity);
    if (fd < 0 && (!has_name || r->is_late || image->part[0] != '\0'))
        fd = alqi_cli_output_numbered(stem, suffix, 0644, path, capacity);
    if (fd >= 0)
        file = alqi_cli_pack_fdopen(fd, path);
    if (file != NULL)
        return file;
    alqi_cli_say("record: cannot create %s: %s", path, strerror(errno));
    r->n_unwritten++;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !r->is_forced) /* then this call has made the file */
        unlink(path);
    return NULL;
}

/* Closes a trace. One that is not whole, or not wanted, is unlinked. False: it
 * could not be written, and the reason has been said. */
static bool
trace_finish(struct alqi_cli_record_run *r, struct alqi_cli_trace_out *out,
             enum alq_status status, const char *path, bool is_wanted)
{
    const char *why = alqi_cli_trace_failure(out, status);
    struct stat st;
    bool is_file = fstat(fileno(out->file), &st) == 0 && S_ISREG(st.st_mode);

    if (fclose(out->file) != 0 && why == NULL)
        why = strerror(errno);
    if (why != NULL && is_wanted) {
        alqi_cli_say("record: writing %s: %s", path, why);
        r->n_unwritten++;
    }
    if ((why != NULL || !is_wanted) && is_file)
        unlink(path);
    return why == NULL || !is_wanted;
}
/* Of a process under a system-call filter, which had only what was mapped
 * before. */
#define CONFINED_TEXT                                                          \
    "; the program forbids itself system calls, and --reserve=N maps more "    \
    "before"

/* Reports what the recorder dropped. */
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

    bool is_confined = (atomic_load(&h->flags) & ALQI_RAW_CONFINED) != 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(reasons); i++) {
        uint64_t n = atomic_load(&h->counters[reasons[i].counter]);

        if (n > 0)
            alqi_cli_say("%u: %" PRIu64 " %s%s", h->pid, n, reasons[i].text,
                         is_confined && i <= 1 ? CONFINED_TEXT : "");
    }
    if (result->n_damaged_chunks > 0)
        alqi_cli_say("%u: %" PRIu64 " damaged parts of the recording left out",
                     h->pid, result->n_damaged_chunks);
}

/* A trace without a block: says why that may be. */
static void
say_nothing_seen(const struct alqi_cli_record_run *r,
                 const struct alqi_raw_header *h, bool is_exact)
{
    const char *elsewhere =
        r->is_following
            ? "or in a program that it executed, which has its own trace"
            : "or in a program that a child executed (--follow records those)";

    if (r->attached_pid != 0)
        alqi_cli_say("%u: no sample: in this time it allocated little for a "
                     "mean interval of %s (try a smaller --interval), or not "
                     "through malloc",
                     h->pid,
                     alqi_cli_text_bytes(ALQI_WORD_BYTES / h->rate).text);
    else if ((pid_t)h->pid == r->pid && WIFSIGNALED(r->wait_status))
        alqi_cli_say("%u: no %s: the program was killed before its first",
                     h->pid, is_exact ? "block" : "sample");
    else if (is_exact)
        alqi_cli_say("%u: no block: the program allocated nothing, or not "
                     "through malloc, %s",
                     h->pid, elsewhere);
    else
        alqi_cli_say("%u: no sample: the program allocated little for a mean "
                     "interval of %s (try a smaller --interval, or --exact), "
                     "or not through malloc, %s",
                     h->pid,
                     h->rate > 0
                         ? alqi_cli_text_bytes(ALQI_WORD_BYTES / h->rate).text
                         : "infinite",
                     elsewhere);
}

/* Reports what was recorded of a Python interpreter, and how to do without. */
static void
say_python(const struct alqi_raw_header *h)
{
    uint64_t n_small = atomic_load(&h->counters[ALQI_RAW_PYTHON_SMALL]);

    if (n_small > 0)
        alqi_cli_say("%s (%u): Python functions are in the stacks, and its "
                     "small objects are sampled, too (--no-python: neither)",
                     alqi_base_file_name(h->executable), h->pid);
    else if (atomic_load(&h->counters[ALQI_RAW_PYTHON_FRAMES]) > 0)
        alqi_cli_say("%s (%u): Python functions are in the stacks "
                     "(--no-python: not)",
                     alqi_base_file_name(h->executable), h->pid);
    else if ((atomic_load(&h->flags) &
              (ALQI_RAW_PYTHON_UNREAD | ALQI_RAW_IS_EXACT)) ==
             ALQI_RAW_PYTHON_UNREAD)
        alqi_cli_say("%s (%u): no Python functions are in the stacks: they are "
                     "read of Python 3.8 to 3.14 with a global lock",
                     alqi_base_file_name(h->executable), h->pid);
}

/* Reports that calls of the program's own allocators were seen. */
static void
say_patched(const struct alqi_raw_header *h)
{
    uint64_t n = atomic_load(&h->counters[ALQI_RAW_PATCHED]);

    if (n > 0)
        alqi_cli_say("%s (%u): it has an allocator of its own, whose blocks "
                     "are recorded, too: %" PRIu64 " functions of it begin "
                     "with a jump (--allocator=none: they do not)",
                     alqi_base_file_name(h->executable), h->pid, n);
}

/* Says that --leaks did not see the process, why, and what does. */
static void
say_unlooked(struct alqi_cli_recording *recording)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(recording);
    const char *ended = alqi_cli_recording_ended(recording);
    int signal = alqi_cli_recording_signal(recording);
    char why[120] = "it forbade itself system calls, or ended by a bare one";

    if (!alqi_cli_recording_is_unlooked(recording))
        return;
    if (signal != 0)
        snprintf(why, sizeof why, "signal %d ended it", signal);
    else if (strcmp(ended, "killed") == 0)
        strcpy(why, "a signal or a bare system call ended it");
    else if (strcmp(ended, "exec") == 0)
        strcpy(why, "it went on as another program (exec)");
    alqi_cli_say("%s (%u) was not looked at, for %s: which of its blocks were "
                 "lost is not known; ask 'aliquot leaks -p PID' while it runs, "
                 "or let it end by exit()",
                 alqi_base_file_name(h->executable), h->pid, why);
}

/* Reports a trace. Empty ones of other images are only counted. */
static void
say_result(struct alqi_cli_record_run *r, const struct alqi_raw_header *h,
           const struct alqi_cli_convert_result *result, bool is_main,
           const char *path)
{
    bool is_exact = (atomic_load(&h->flags) & ALQI_RAW_IS_EXACT) != 0;

    if (r->is_quiet)
        return;
    if (result->n_allocs == 0 && !is_main) {
        r->n_empty++;
        return;
    }
    alqi_cli_say("%s (%u): %s %s%s of %s allocated -> %s",
                 alqi_base_file_name(h->executable), h->pid,
                 alqi_cli_text_count((double)result->n_allocs).text,
                 is_exact ? "block" : "sampled block",
                 result->n_allocs == 1 ? "" : "s",
                 alqi_cli_text_bytes(result->allocated_bytes).text, path);
    say_python(h);
    say_patched(h);
    if (result->n_allocs == 0 &&
        (atomic_load(&h->flags) & ALQI_RAW_OWN_MALLOC) == 0)
        say_nothing_seen(r, h, is_exact);
}

/* There were samples, and the file had no room for any: the trace would be of
 * nothing. Says so. */
static bool
is_all_dropped(struct alqi_cli_record_run *r, const struct alqi_raw_header *h,
               const struct alqi_cli_convert_result *result)
{
    uint64_t n = atomic_load(&h->counters[ALQI_RAW_DROPPED_SPACE]);

    if (result->n_allocs > 0 || n == 0)
        return false;
    r->n_explained++;
    r->n_unwritten++;
    alqi_cli_say("record: %s (%u) left no trace: %" PRIu64
                 " %s%s dropped, for there was no room in %s",
                 alqi_base_file_name(h->executable), h->pid, n,
                 r->is_exact ? "block" : "sample", n == 1 ? "" : "s",
                 r->directory);
    return true;
}

/* How the process ended, for the end record. Of the child of this command the
 * wait status says it, unless that was another program by then. */
static const char *
ended_word(const struct alqi_cli_record_run *r,
           struct alqi_cli_recording *recording)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(recording);
    struct alqi_cli_waited waited = {
        .is_signal = WIFSIGNALED(r->wait_status),
        .signal = WIFSIGNALED(r->wait_status) ? WTERMSIG(r->wait_status) : 0,
        .ended_ns = r->ended_ns,
        .most_rss_bytes = r->has_no_rss ? 0 : r->most_rss_bytes,
    };

    if (r->attached_pid == 0 && (pid_t)h->pid == r->debugger)
        alqi_cli_recording_waited(recording, &waited);
    return alqi_cli_recording_ended(recording);
}

/* The process's number in "PROGRAM.PID.N.alqraw", as settings_make has it; the
 * program's name may hold dots. */
static pid_t
pid_of_name(const char *path)
{
    const char *end = path + strlen(path) - strlen(ALQI_CLI_RECORDING_SUFFIX);
    unsigned n_dots = 0;

    while (end > path && n_dots < 2)
        n_dots += *--end == '.';
    return (pid_t)strtol(end + 1, NULL, 10);
}

/* Reports a recording without a header. True: it may go. */
static bool
unbegun_say(struct alqi_cli_record_run *r, const char *path)
{
    pid_t pid = pid_of_name(path);
    struct alqi_cli_proc proc;

    if (pid != r->pid && alqi_cli_proc_read(pid, &proc))
        return alqi_cli_refuse(
            "record: process %d runs on and begins its recording now, "
            "%s",
            (int)pid, path);
    r->n_explained++;
    alqi_cli_say("record: process %d was killed as its recording began: "
                 "nothing of it is recorded",
                 (int)pid);
    return true;
}

/* A trace that was made beside its recording takes the place of the empty one
 * at path. False: that is no file of this user's alone, so its bytes are to be
 * written. */
static bool
trace_place(const char *made, const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           st.st_uid == geteuid() && chmod(made, st.st_mode & 07777) == 0 &&
           rename(made, path) == 0;
}

/* Writes the trace: the rest of it, if it was begun while the process ran. */
static enum alq_status
trace_write(const struct alqi_cli_record_run *r, const char *raw_path,
            struct alqi_cli_recording *recording, const char *path,
            struct alqi_cli_trace_out *out,
            struct alqi_cli_convert_result *result)
{
    const char *ended = ended_word(r, recording), *made;

    if (alqi_cli_meanwhile_finish(r->meanwhile, raw_path, ended, result,
                                  &made)) {
        if (trace_place(made, path))
            return ALQ_OK;
        unlink(made);
    }
    return alqi_cli_convert(
        recording, ended, (uint64_t)r->time_step_us,
        alqi_cli_record_ending_found(r, alqi_cli_recording_header(recording)),
        r->symbols, alqi_cli_trace_put, out, result);
}

/* Makes the trace of a recording that has ended. True: the recording may go. An
 * image without a block that only executed the next one gets no trace. */
static bool
recording_write(struct alqi_cli_record_run *r, const char *raw_path,
                struct alqi_cli_recording *recording)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(recording);
    struct image image = {
        .executable = h->executable,
        .pid = h->pid,
        .part = "",
        .is_main = (pid_t)h->pid == r->pid && h->start_mono_ns == r->main_ns,
    };
    struct alqi_cli_convert_result result;
    struct alqi_cli_trace_out out = {0};
    enum alq_status status;
    char path[PATH_MAX];
    bool is_wanted, ok;

    out.file = trace_create(r, &image, path, sizeof path);
    if (out.file == NULL)
        return false;
    status = trace_write(r, raw_path, recording, path, &out, &result);
    is_wanted = status != ALQ_OK ||
                (!is_all_dropped(r, h, &result) &&
                 !(result.n_allocs == 0 && !image.is_main &&
                   (pid_t)h->pid == r->pid)); /* it only executed the next */
    ok = trace_finish(r, &out, status, path, is_wanted);
    if (ok && is_wanted) {
        say_result(r, h, &result, image.is_main, path);
        say_drops(h, &result);
        if (result.n_allocs > 0 || image.is_main)
            say_unlooked(recording);
        r->n_traces++;
    }
    return ok;
}

/* A recording of a live process stays raw: every verb reads it as it stands. */
static bool
ended_write(struct alqi_cli_record_run *r, const char *path,
            struct alqi_cli_recording *recording)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(recording);

    if (!alqi_cli_recording_is_live(recording))
        return recording_write(r, path, recording);
    alqi_cli_say("%s (%u) runs on; its recording is %s, and every command can "
                 "read it now",
                 alqi_base_file_name(h->executable), h->pid, path);
    return false;
}

/* Makes the trace of a recording. True: the recording may go. */
static bool
recording_convert(struct alqi_cli_record_run *r, const char *path)
{
    struct alqi_cli_recording *recording;
    char error[200];
    bool ok;

    if (alqi_cli_recording_is_unbegun(path))
        return unbegun_say(r, path);
    alqi_cli_record_limit_look(r, path);
    recording = alqi_cli_meanwhile_recording(r->meanwhile, path);
    if (recording != NULL)
        return ended_write(r, path, recording);
    recording = alqi_cli_recording_open(path, error, sizeof error);
    if (recording == NULL)
        return alqi_cli_refuse("record: %s: %s", path, error);
    ok = ended_write(r, path, recording);
    alqi_cli_recording_drop(recording);
    return ok;
}

/* ---- managed heaps ------------------------------------------------------- */

/* Reports a heap's trace, and what was dropped of it. */
static void
say_heap(const struct alqi_cli_record_run *r,
         const struct alqi_cli_heap_head *h,
         const struct alqi_cli_heap_result *result, const char *path)
{
    if (result->n_dropped > 0)
        alqi_cli_say("%" PRIu64 ": %" PRIu64 " events of the heap dropped: no "
                     "room in the file, or no memory",
                     h->pid, result->n_dropped);
    if (!r->is_quiet)
        alqi_cli_say("%s (%" PRIu64
                     "), heap: %s sampled block%s of %s allocated -> %s",
                     alqi_base_file_name(h->executable), h->pid,
                     alqi_cli_text_count((double)result->n_allocs).text,
                     result->n_allocs == 1 ? "" : "s",
                     alqi_cli_text_bytes(result->allocated_bytes).text, path);
}

/* The snapshot beside a heap's trace. */
struct beside {
    char path[PATH_MAX + 320];
};

static struct beside
beside_of(const char *trace)
{
    struct beside b;

    snprintf(b.path, sizeof b.path, "%s" ALQI_CLI_HEAP_HELD_SUFFIX, trace);
    return b;
}

/* Who holds the blocks of the heap, if its trace has a snapshot beside it.
 * False: it has none, or none that is whole: said. */
static bool
heap_held(const char *path, struct alqi_cli_reaches *reaches)
{
    bool is_known;

    *reaches = (struct alqi_cli_reaches){0};
    if (access(path, F_OK) != 0)
        return false;
    is_known = alqi_cli_heap_held(path, reaches);
    if (!is_known)
        alqi_cli_say("record: who holds the blocks of the heap is left out of "
                     "its trace: the snapshot is not whole");
    return is_known;
}

/* Copies a heap's trace with names from debug information. True: the old one
 * may go. */
static bool
heap_write(struct alqi_cli_record_run *r, const char *from,
           const struct alqi_cli_heap_head *h)
{
    bool is_main = (pid_t)h->pid == r->pid;
    const char *ended =
        is_main && !WIFSIGNALED(r->wait_status) ? "exit" : "killed";
    struct image image = {h->executable, (uint32_t)h->pid, ".heap",
                          is_main && !r->has_main_heap};
    struct alqi_cli_heap_result result;
    struct alqi_cli_trace_out out = {0};
    struct alqi_cli_reaches reaches;
    enum alq_status status;
    char path[PATH_MAX];
    bool is_held;

    out.file = trace_create(r, &image, path, sizeof path);
    if (out.file == NULL)
        return false;
    r->has_main_heap = r->has_main_heap || image.is_main;
    is_held = heap_held(beside_of(from).path, &reaches);
    status = alqi_cli_heap_trace_write(from, ended, is_held ? &reaches : NULL,
                                       r->symbols, alqi_cli_trace_put, &out,
                                       &result);
    alqi_cli_reaches_free(&reaches);
    if (!trace_finish(r, &out, status, path, true))
        return false;
    say_heap(r, h, &result, path);
    return true;
}

/* Makes the lasting trace of a managed heap. True: the file may go. */
static bool
heap_convert(struct alqi_cli_record_run *r, const char *path)
{
    struct alqi_cli_heap_head head;
    char error[200];

    if (!alqi_cli_heap_trace_head(path, &head, error, sizeof error))
        return alqi_cli_refuse("record: %s: %s", path, error);
    if (alqi_cli_heap_trace_is_live(path))
        return alqi_cli_refuse(
            "%s (%" PRIu64 ") runs on; the trace of its heap is %s, and every "
            "command can read it now",
            alqi_base_file_name(head.executable), head.pid, path);
    return heap_write(r, path, &head);
}

/* ---- all of them --------------------------------------------------------- */

/* Order by name, numbers by value: images of a process in their order. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static bool
ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), k = strlen(suffix);

    return n > k && strcmp(name + n - k, suffix) == 0;
}

/* A marker: its process has said why it has no recording. */
static void
said_visit(struct alqi_cli_record_run *r, const char *path)
{
    unlink(path);
    r->n_explained++;
    r->n_unwritten++;
}

/* Visits the files with that suffix in order. False: the directory cannot be
 * read. */
static bool
each_visit(struct alqi_cli_record_run *r, const char *suffix,
           void (*visit)(struct alqi_cli_record_run *r, const char *path))
{
    struct dirent **names;
    int n = scandir(r->directory, &names, NULL, by_name);

    if (n < 0)
        return false;
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX + 300];

        snprintf(path, sizeof path, "%s/%s", r->directory, names[i]->d_name);
        if (ends_with(names[i]->d_name, suffix))
            visit(r, path);
        free(names[i]);
    }
    free(names);
    return true;
}

/* Removes a file that was converted, or counts one that stays. */
static void
went_or_left(struct alqi_cli_record_run *r, const char *path, bool is_converted)
{
    if (is_converted)
        unlink(path);
    else
        r->n_left++;
}

static void
recording_visit(struct alqi_cli_record_run *r, const char *path)
{
    went_or_left(r, path, r->symbols != NULL && recording_convert(r, path));
}

static void
heap_visit(struct alqi_cli_record_run *r, const char *path)
{
    bool is_converted = r->symbols != NULL && heap_convert(r, path);

    if (is_converted)
        unlink(beside_of(path).path);
    went_or_left(r, path, is_converted);
}

/* Finds the last image of the program's process: the one that began last. Under
 * gdb that is the process which gdb has made, the last one if there are more.
 */
static void
main_find(struct alqi_cli_record_run *r, const char *path)
{
    char error[200];
    struct alqi_cli_recording *recording =
        alqi_cli_recording_open(path, error, sizeof error);
    const struct alqi_raw_header *h;

    if (recording == NULL)
        return;
    h = alqi_cli_recording_header(recording);
    if (h->start_mono_ns > r->main_ns &&
        ((pid_t)h->pid == r->pid ||
         (r->is_debugged && (pid_t)h->parent_pid == r->debugger))) {
        r->main_ns = h->start_mono_ns;
        r->pid = (pid_t)h->pid;
    }
    alqi_cli_recording_drop(recording);
}

/* ---- what is not recorded ------------------------------------------------ */

/* Programs that ran unrecorded, each named once. */
struct unrecorded {
    /* lines that were reported: kind and path */
    char said[UNRECORDED_SAID][PATH_MAX];
    /* lines in said; further ones that were only counted */
    unsigned n_said, n_more;
};

/* Takes a line of the preload's list: a kind of program and its path. Each is
 * said once; those beyond the first ten are counted. */
static void
unrecorded_take(struct unrecorded *u, char *line)
{
    unsigned kind;
    int at;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%u %n", &kind, &at) != 1 ||
        kind > ALQI_PLAT_PROGRAM_PRIVILEGED)
        return;
    for (unsigned i = 0; i < u->n_said; i++)
        if (strcmp(u->said[i], line) == 0)
            return;
    if (u->n_said == UNRECORDED_SAID) {
        u->n_more++;
        return;
    }
    snprintf(u->said[u->n_said++], PATH_MAX, "%s", line);
    alqi_cli_say("%s is %s: it ran unrecorded", line + at,
                 alqi_plat_program_text((enum alqi_plat_program)kind));
}

/* Reports the programs into which the preload could not be loaded. */
static void
unrecorded_say(const struct alqi_cli_record_run *r)
{
    char path[PATH_MAX + 20], line[PATH_MAX];
    static struct unrecorded u;
    FILE *file;

    snprintf(path, sizeof path, "%s/" ALQI_RAW_UNRECORDED, r->directory);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL)
        unrecorded_take(&u, line);
    if (u.n_more > 0)
        alqi_cli_say("%u more programs ran unrecorded", u.n_more);
    fclose(file);
    unlink(path);
}

/* ---- what comes later ---------------------------------------------------- */

struct later {
    const char *directory;
    unsigned n; /* processes */
};

static void
later_visit(void *arg, pid_t pid)
{
    struct later *l = arg;
    struct alqi_cli_proc proc;

    if (l->n++ < LATER_SAID && alqi_cli_proc_read(pid, &proc))
        alqi_cli_say("%s (%d) runs on and was not sampled yet: what it "
                     "allocates is recorded in %s",
                     proc.command, (int)pid, l->directory);
}

/* Reports the processes that may yet begin a recording.  True: there are some,
 * and the directory stays. */
static bool
later_say(struct alqi_cli_record_run *r)
{
    struct later l = {.directory = r->directory};

    alqi_cli_record_writers_later(r->directory, later_visit, &l);
    if (l.n > LATER_SAID)
        alqi_cli_say("%u more processes run on like that", l.n - LATER_SAID);
    r->n_explained += l.n;
    return l.n > 0;
}

/* Makes the traces of what is in the directory. */
static void
all_visit(struct alqi_cli_record_run *r)
{
    each_visit(r, ALQI_CLI_RECORDING_SUFFIX, recording_visit);
    each_visit(r, HEAP_SUFFIX, heap_visit);
    each_visit(r, ALQI_RAW_SAID_SUFFIX, said_visit);
}

/* The directory goes, unless something of it stays.  A child may begin and end
 * its recording meanwhile: then there is one more to visit. */
static void
directory_finish(struct alqi_cli_record_run *r)
{
    int rc = -1;

    for (int i = 0; i < VISITS_MAX && rc != 0 && r->n_left == 0; i++) {
        if (later_say(r))
            return;
        rc = rmdir(r->directory);
        if (rc != 0 && errno == ENOTEMPTY)
            all_visit(r);
        else if (rc != 0 && errno == ENOENT)
            rc = 0;
    }
    if (r->n_left > 0)
        alqi_cli_say("%u recording%s in %s; 'aliquot report FILE' reads %s",
                     r->n_left, r->n_left == 1 ? " stays" : "s stay",
                     r->directory,
                     r->n_left == 1 ? "it as it is" : "them as they are");
    else if (rc != 0)
        alqi_cli_say("record: cannot remove %s: %s", r->directory,
                     strerror(errno));
}

/* The program's last image is found before anything is converted, because
 * conversion removes recordings. */
void
alqi_cli_record_traces(struct alqi_cli_record_run *r)
{
    alqi_cli_meanwhile_end(r->meanwhile);
    if (r->symbols == NULL)
        r->symbols = alqi_symbol_table_new(true);
    if (!each_visit(r, ALQI_CLI_RECORDING_SUFFIX, main_find)) {
        alqi_cli_say("record: %s and what was recorded in it: %s", r->directory,
                     strerror(errno));
        r->n_explained++;
        r->n_unwritten++;
    }
    unrecorded_say(r);
    all_visit(r);
    alqi_cli_meanwhile_drop(r->meanwhile);
    r->meanwhile = NULL;
    alqi_cli_record_limit_close(r);
    directory_finish(r);
    alqi_symbol_table_drop(r->symbols);
    alqi_cli_record_ending_free(r);
    if (r->n_empty > 0)
        alqi_cli_say("%u more trace%s without a %s", r->n_empty,
                     r->n_empty == 1 ? "" : "s",
                     r->is_exact ? "block" : "sample");
}
