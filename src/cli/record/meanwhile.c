/* meanwhile.c -- see meanwhile.h: a thread that converts what is being recorded
 *
 * States of a recording of the run's directory:
 *
 *   seen --it has begun, and few are open--> open --its process ended--> whole
 *     |                                      |  ^                         ^
 *     |                                      +--+ it has grown            |
 *     |                                      +------ _finish -------------+
 *     +--it cannot be read--> given up <-----+  not alike, or an error
 *
 * The thread moves all of them until _end; after it the caller's thread does.
 * The program's own process ends for the caller, who has waited for it and
 * knows how; only what it was before an exec is made whole here.
 *
 * Keeps .inv.alike (doc/design/record.md): A trace that is handed out has the
 *   blocks of one that is made at once, with their stacks and ends, in each
 *   thread's order.
 * Keeps .inv.at_once: Whatever is odd is given up here, and said where it is
 *   converted at once: this file says nothing.
 * Keeps .inv.room: The trace is written on only while the disk has as much room
 *   left as the recording takes. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/record/meanwhile.h"
#include "cli/record/name.h"
#include "cli/tool/cli.h"
#include "cli/tool/output.h"
#include "cli/tool/pack.h"
#include "cli/tool/proc.h"
#include "plat/process.h"

enum {
    STEP_EVENTS = 4096,
    /* recordings that are open at once */
    OPEN_MAX = 16,
    /* between two looks; doubled up to _MOST while there is something new, and
     * up to _IDLE while there is not */
    PAUSE_MS_FIRST = 10,
    PAUSE_MS_MOST = 100,
    PAUSE_MS_IDLE = 1000,
    /* where others want the processor, the program first of all */
    NICE = 10,
    /* growing that takes long has a pause of so many times that */
    PAUSE_SHARE = 10
};

enum state { SEEN, OPEN, WHOLE, GIVEN_UP };

/* A recording, and the trace that is made of it; it never moves, since the
 * conversion holds out and result. */
struct work {
    enum state state;
    /* of the recording, and of the trace beside it, a hidden file: whoever
     * reads all that is in the directory means recordings; owned */
    char *path, *made;
    /* valid while OPEN, and of one that _finish made WHOLE; else NULL: there
     * may be more of them than files can be open; owned */
    struct alqi_cli_recording *recording;
    /* valid while OPEN; owned */
    struct alqi_cli_conversion *conversion;
    struct alqi_cli_trace_out out;
    struct alqi_cli_convert_result result;
    /* the last step stopped before the end of what was known */
    bool is_behind;
};

struct alqi_cli_meanwhile {
    const struct alqi_cli_record_run *run;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t stopped;
    /* set under the mutex; read without it between two steps */
    _Atomic bool is_stopped;
    /* in the order in which they were seen; each owned */
    struct work **works;
    size_t n_works, works_capacity;
    /* a recording's inode -> index in works */
    struct alqi_base_map work_of;
    unsigned n_open;
    /* when the directory was looked through, and had changed: wall clock */
    time_t looked_s, changed_s;
    /* of the last look: events were written; the time that recordings took to
     * grow, which is more the longer they are */
    bool has_new;
    uint64_t grow_us;
};

/* ---- a trace ------------------------------------------------------------- */

/* Closes what is open, and the trace. False: it is not whole. */
static bool
work_close(struct alqi_cli_meanwhile *m, struct work *w)
{
    enum alq_status status = alqi_cli_conversion_close(w->conversion);
    bool is_written =
        status == ALQ_OK && alqi_cli_trace_failure(&w->out, status) == NULL;

    m->n_open--;
    w->conversion = NULL;
    return fclose(w->out.file) == 0 && is_written;
}

/* .inv.at_once */
static void
work_give_up(struct alqi_cli_meanwhile *m, struct work *w)
{
    if (w->state == OPEN)
        (void)work_close(m, w);
    if (w->state != SEEN)
        unlink(w->made);
    alqi_cli_recording_drop(w->recording);
    w->recording = NULL;
    w->state = GIVEN_UP;
}

/* Opens the file of the trace; false: it cannot be made. */
static bool
made_open(struct work *w)
{
    int fd = open(w->made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    w->out = (struct alqi_cli_trace_out){0};
    if (fd >= 0)
        w->out.file = alqi_cli_pack_fdopen(fd, w->made);
    if (fd >= 0 && w->out.file == NULL) {
        close(fd);
        unlink(w->made);
    }
    return w->out.file != NULL;
}

/* A recording that has not begun yet stays as it is. */
static void
work_open(struct alqi_cli_meanwhile *m, struct work *w)
{
    char why[200];

    if (m->n_open == OPEN_MAX || alqi_cli_recording_is_unbegun(w->path))
        return;
    w->recording = alqi_cli_recording_open_behind(w->path, why, sizeof why);
    if (w->recording == NULL || !made_open(w)) {
        work_give_up(m, w);
        return;
    }
    w->state = OPEN;
    m->n_open++;
    if (alqi_cli_conversion_open(w->recording, (uint64_t)m->run->time_step_us,
                                 m->run->symbols, alqi_cli_trace_put, &w->out,
                                 &w->result, &w->conversion) != ALQ_OK)
        work_give_up(m, w);
}

/* .inv.room */
static bool
has_room(const struct work *w)
{
    struct statvfs fs;
    size_t n_chunks;

    (void)alqi_cli_recording_chunks(w->recording, &n_chunks);
    return statvfs(w->made, &fs) == 0 &&
           (uint64_t)fs.f_bavail * fs.f_frsize / ALQI_RAW_CHUNK_BYTES >
               n_chunks;
}

/* Writes what is known of the recording, or until the thread is to stop. False:
 * an error. */
static bool
work_step(struct alqi_cli_meanwhile *m, struct work *w, bool is_last)
{
    uint64_t n_before = w->result.n_allocs;
    bool is_more = true;

    while (is_more && (is_last || !atomic_load(&m->is_stopped)))
        if (alqi_cli_conversion_step(w->conversion, STEP_EVENTS, &is_more) !=
                ALQ_OK ||
            w->out.error != 0)
            return false;
    w->is_behind = is_more;
    m->has_new |= w->result.n_allocs != n_before;
    return true;
}

/* Takes up what the recording has got, after all that was known. False: it is
 * not to be gone on with. */
static bool
work_grow(struct alqi_cli_meanwhile *m, struct work *w)
{
    uint64_t before_us;
    bool ok;

    if (w->is_behind && !work_step(m, w, true))
        return false;
    before_us = alqi_cli_mono_us();
    ok = alqi_cli_recording_grow(w->recording,
                                 alqi_cli_recording_pid(w->recording)) &&
         alqi_cli_conversion_more(w->conversion) == ALQ_OK &&
         alqi_cli_conversion_is_alike(w->conversion);
    m->grow_us += alqi_cli_mono_us() - before_us;
    return ok;
}

/* Writes the rest of a recording that has grown for the last time. False: the
 * trace is not whole. */
static bool
work_finish(struct alqi_cli_meanwhile *m, struct work *w, const char *ended)
{
    bool ok = work_step(m, w, true) &&
              alqi_cli_conversion_end(w->conversion, ended) == ALQ_OK;

    w->state = WHOLE;
    return work_close(m, w) && ok;
}

/* Its process has ended, and nobody knows more of how than the recording. */
static bool
is_over(const struct alqi_cli_meanwhile *m, const struct work *w)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(w->recording);

    return !alqi_cli_recording_is_live(w->recording) &&
           ((pid_t)h->pid != m->run->pid ||
            (atomic_load(&h->flags) & ALQI_RAW_EXECUTED) != 0);
}

/* Makes it whole, and lets the recording go. */
static bool
work_end(struct alqi_cli_meanwhile *m, struct work *w)
{
    bool ok = work_finish(m, w, alqi_cli_recording_ended(w->recording));

    alqi_cli_recording_drop(w->recording);
    w->recording = NULL;
    return ok;
}

static void
work_go_on(struct alqi_cli_meanwhile *m, struct work *w)
{
    bool ok = has_room(w);

    if (ok && is_over(m, w))
        ok = work_grow(m, w) && work_end(m, w);
    else if (ok)
        ok =
            work_grow(m, w) && (!alqi_cli_conversion_has_times(w->conversion) ||
                                work_step(m, w, false));
    if (!ok)
        work_give_up(m, w);
    else if (w->state == OPEN && !w->is_behind)
        alqi_cli_conversion_read_symbols(w->conversion);
}

/* ---- the directory ------------------------------------------------------- */

static void
work_free(struct work *w)
{
    free(w->path);
    free(w->made);
    free(w);
}

/* NULL: there is no memory. */
static struct work *
work_new(const struct alqi_cli_record_run *run, const char *name)
{
    struct work *w = calloc(1, sizeof *w);

    if (w == NULL)
        return NULL;
    if (asprintf(&w->path, "%s/%s", run->directory, name) < 0)
        w->path = NULL;
    if (w->path != NULL && asprintf(&w->made, "%s/.%s.part%s", run->directory,
                                    name, run->suffix) >= 0)
        return w;
    w->made = NULL;
    work_free(w);
    return NULL;
}

/* True: the recording was new, and is entered. */
static bool
work_enter(struct alqi_cli_meanwhile *m, struct work *w)
{
    struct stat st;
    uint64_t index;

    if (lstat(w->path, &st) != 0 ||
        alqi_base_map_get(&m->work_of, st.st_ino, &index) ||
        !alqi_cli_recording_room(&m->works, m->n_works, &m->works_capacity,
                                 sizeof *m->works) ||
        !alqi_base_map_put(&m->work_of, st.st_ino, m->n_works))
        return false;
    m->works[m->n_works++] = w;
    return true;
}

/* Takes a recording's name. Without memory it is left to the end. */
static void
name_take(struct alqi_cli_meanwhile *m, const char *name)
{
    struct work *w = work_new(m->run, name);

    if (w != NULL && !work_enter(m, w))
        work_free(w);
}

/* Looks through the directory if something was made in it, or went, since the
 * last time. Its clock has steps: what changed just now may change again. */
static void
directory_look(struct alqi_cli_meanwhile *m)
{
    time_t now_s = time(NULL);
    struct stat st;
    struct dirent *d;
    DIR *dir;

    if (stat(m->run->directory, &st) != 0 ||
        (m->looked_s > st.st_mtime + 1 && m->changed_s == st.st_mtime))
        return;
    dir = opendir(m->run->directory);
    if (dir == NULL)
        return;
    m->looked_s = now_s;
    m->changed_s = st.st_mtime;
    while ((d = readdir(dir)) != NULL)
        if (alqi_cli_record_is_recording(d->d_name))
            name_take(m, d->d_name);
    closedir(dir);
}

/* ---- the thread ---------------------------------------------------------- */

/* Waits so long, or until the thread is to stop: true. */
static bool
stop_wait(struct alqi_cli_meanwhile *m, uint64_t us)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    us += (uint64_t)until.tv_nsec / 1000;
    until.tv_sec += (time_t)(us / 1000000);
    until.tv_nsec = (long)(us % 1000000 * 1000);
    pthread_mutex_lock(&m->mutex);
    while (!m->is_stopped && rc == 0)
        rc = pthread_cond_timedwait(&m->stopped, &m->mutex, &until);
    pthread_mutex_unlock(&m->mutex);
    return m->is_stopped;
}

/* Goes through all recordings once. */
static void
look(struct alqi_cli_meanwhile *m)
{
    m->has_new = false;
    m->grow_us = 0;
    directory_look(m);
    for (size_t i = 0; i < m->n_works && !m->is_stopped; i++) {
        if (m->works[i]->state == SEEN)
            work_open(m, m->works[i]);
        else if (m->works[i]->state == OPEN)
            work_go_on(m, m->works[i]);
    }
}

/* The pause after a look. */
static uint64_t
pause_us(const struct alqi_cli_meanwhile *m, uint64_t last_us)
{
    uint64_t most_us = (m->has_new ? PAUSE_MS_MOST : PAUSE_MS_IDLE) * 1000;
    uint64_t us = 2 * last_us < most_us ? 2 * last_us : most_us;

    return us > PAUSE_SHARE * m->grow_us ? us : PAUSE_SHARE * m->grow_us;
}

static void *
thread_run(void *arg)
{
    struct alqi_cli_meanwhile *m = arg;
    uint64_t us = PAUSE_MS_FIRST * 1000;

    alqi_plat_thread_name("aliquot-convert");
    alqi_plat_thread_nice(NICE);
    while (!stop_wait(m, us)) {
        look(m);
        us = pause_us(m, us);
    }
    return NULL;
}

/* Signals are for the thread that runs the program. */
static bool
thread_make(struct alqi_cli_meanwhile *m)
{
    sigset_t all, mask;
    bool is_made;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    is_made = pthread_create(&m->thread, NULL, thread_run, m) == 0;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return is_made;
}

struct alqi_cli_meanwhile *
alqi_cli_meanwhile_begin(const struct alqi_cli_record_run *run)
{
    struct alqi_cli_meanwhile *m =
        run->symbols != NULL ? calloc(1, sizeof *m) : NULL;
    pthread_condattr_t monotonic;

    if (m == NULL)
        return NULL;
    m->run = run;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->stopped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (thread_make(m))
        return m;
    alqi_cli_meanwhile_drop(m);
    return NULL;
}

void
alqi_cli_meanwhile_end(struct alqi_cli_meanwhile *m)
{
    if (m == NULL)
        return;
    pthread_mutex_lock(&m->mutex);
    m->is_stopped = true;
    pthread_cond_signal(&m->stopped);
    pthread_mutex_unlock(&m->mutex);
    pthread_join(m->thread, NULL);
}

void
alqi_cli_meanwhile_drop(struct alqi_cli_meanwhile *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n_works; i++) {
        work_give_up(m, m->works[i]);
        work_free(m->works[i]);
    }
    free(m->works);
    alqi_base_map_clear(&m->work_of);
    pthread_cond_destroy(&m->stopped);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

/* ---- the end ------------------------------------------------------------- */

/* NULL: none was seen there. */
static struct work *
work_find(const struct alqi_cli_meanwhile *m, const char *path)
{
    struct stat st;
    uint64_t index;

    return m != NULL && stat(path, &st) == 0 &&
                   alqi_base_map_get(&m->work_of, st.st_ino, &index)
               ? m->works[index]
               : NULL;
}

struct alqi_cli_recording *
alqi_cli_meanwhile_recording(struct alqi_cli_meanwhile *m, const char *path)
{
    struct work *w = work_find(m, path);

    if (w != NULL && w->state == OPEN && !work_grow(m, w))
        work_give_up(m, w);
    return w != NULL ? w->recording : NULL;
}

bool
alqi_cli_meanwhile_finish(struct alqi_cli_meanwhile *m, const char *path,
                          const char *ended,
                          struct alqi_cli_convert_result *result,
                          const char **made)
{
    struct work *w = work_find(m, path);

    if (w == NULL || (w->state != OPEN && w->state != WHOLE))
        return false;
    if (w->state == OPEN && !work_finish(m, w, ended)) {
        unlink(w->made); /* the conversion at once may need its room */
        return false;
    }
    *result = w->result;
    *made = w->made;
    return true;
}
