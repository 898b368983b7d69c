/* recording.c -- the file of a raw recording: opened, checked, mapped, grown
 *
 * [recording.h] The mapping is shared for a recording of samples: readers see
 * what the writer adds, up to n_bytes. It is private and frozen for an exact
 * one (freeze.c), which is read only up to a moment. Both grow only in
 * alqi_cli_recording_grow.
 *
 * The header is copied and checked when the recording is opened. Later only the
 * fields that the writer changes (flags, largest rate, counters, the end) are
 * copied again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert/freeze.h"
#include "cli/tool/proc.h"
#include "cli/convert/recording.h"
#include "plat/plat.h"

/* ---- the recording ------------------------------------------------------- */

struct alqi_cli_recording {
    /* the mapping; moves when the recording grows */
    const uint8_t *bytes;
    size_t n_bytes;
    /* a checked copy; its texts end with NUL */
    struct alqi_raw_header header;
    /* CLOCK_MONOTONIC, as it was opened; 0: all of it */
    uint64_t until_ns;
    /* what is read now ends here; 0: all of it */
    uint64_t moment_ns;
    /* its process stands still: it is one moment's, whole and held */
    bool is_still;
    /* samples are read up to BEHIND_NS before the last growth */
    bool is_behind;
    /* open for as long as the recording, to map it anew */
    int fd;
    /* the writer's, as it is known here (containers); 0: it does not run */
    pid_t pid;
    /* the writer was waited for, and how it ended; valid if is_waited */
    struct alqi_cli_waited waited;
    bool is_waited;
};

/* The magic is zero until the rest of the header is written. */
static const char unfinished[sizeof((struct alqi_raw_header *)0)->magic];

bool
alqi_cli_recording_is_unbegun(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char magic[sizeof unfinished];
    struct stat st;
    bool is = fd >= 0 && fstat(fd, &st) == 0 &&
              (st.st_size < ALQI_RAW_HEADER_BYTES ||
               (pread(fd, magic, sizeof magic, 0) == sizeof magic &&
                memcmp(magic, unfinished, sizeof magic) == 0));

    if (fd >= 0)
        close(fd);
    return is;
}

/* True when the header is one that this version reads; else *why says what is
 * wrong. */
static bool
header_check(const struct alqi_cli_recording *r, const char **why)
{
    const struct alqi_raw_header *h = &r->header;

    *why = NULL;
    if (memcmp(h->magic, unfinished, sizeof unfinished) == 0)
        *why = "it was never begun: its process was killed before its first "
               "block, or is not there yet";
    else if (memcmp(h->magic, ALQI_RAW_MAGIC, sizeof h->magic) != 0)
        *why = "it is not a recording";
    else if (h->header_bytes != alqi_raw_header_bytes(h) ||
             h->chunk_bytes != ALQI_RAW_CHUNK_BYTES)
        *why = "it was made by another version of aliquot";
    else if (r->n_bytes < h->header_bytes)
        *why = "it is shorter than a recording's header";
    else if (!(h->rate >= 0 && h->rate <= 1))
        *why = "its sampling rate is out of range";
    return *why == NULL;
}

static uint64_t until_ns; /* of those opened from now on; 0: all of it */

void
alqi_cli_recordings_until(uint64_t ns)
{
    until_ns = ns;
}

/* Whether more may come: as the header says it now. */
static bool
goes_on(const struct alqi_cli_recording *r)
{
    const struct alqi_raw_header *now = (const void *)r->bytes;

    return (atomic_load(&now->flags) &
            (ALQI_RAW_DETACHED | ALQI_RAW_EXECUTED)) == 0 &&
           alqi_cli_recording_is_live_as(r, r->pid);
}

static bool
is_exact(const struct alqi_cli_recording *r)
{
    return (atomic_load(&r->header.flags) & ALQI_RAW_IS_EXACT) != 0;
}

/* Keeps .inv.moment (doc/design/record.md): the moment of one that goes on,
 * taken before what is there is looked at. Exact streams are held one after the
 * other, so together they are whole only up to a time before the first; the
 * margin covers the error of ticks as nanoseconds. Samples are whole up to a
 * time at which each writer has written the events whose time it has taken: one
 * that takes longer has its event later in the trace. */
static void
moment_set(struct alqi_cli_recording *r)
{
    enum { EXACT_NS = 200000, BEHIND_NS = 20000000 };
    uint64_t moment_ns;

    r->moment_ns = r->until_ns;
    if (is_exact(r) ? r->is_still : !r->is_behind)
        return;
    if (!goes_on(r))
        return;
    moment_ns =
        alqi_plat_mono_ns_sigsafe() - (r->is_behind ? BEHIND_NS : EXACT_NS);
    if (r->moment_ns == 0 || moment_ns < r->moment_ns)
        r->moment_ns = moment_ns;
}

/* Maps the recording anew, held still. On failure r has no mapping, and only
 * dropping it is allowed. False: errno. */
static bool
freeze(struct alqi_cli_recording *r, int fd)
{
    munmap((void *)r->bytes, r->n_bytes);
    r->bytes = alqi_cli_freeze(fd, r->is_still, &r->n_bytes);
    return r->bytes != NULL;
}

/* All processes are gone through where the writer has another number here, and
 * where it was killed: not for each of the many that said how they ended. */
static pid_t
writer_find(const struct alqi_raw_header *h)
{
    if ((h->flags &
         (ALQI_RAW_EXITED | ALQI_RAW_EXECUTED | ALQI_RAW_DETACHED)) != 0)
        return (pid_t)h->pid;
    return alqi_cli_proc_here((pid_t)h->pid, h->process_start_ticks);
}

/* Opens and maps the recording; returns what is wrong, or NULL.  An exact
 * recording is frozen whether or not its process lives: it may have gone on
 * since the first mapping. */
static const char *
recording_map(struct alqi_cli_recording *r, const char *path)
{
    off_t size_bytes = -1;
    const char *why;
    void *map;

    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd >= 0)
        size_bytes = alqi_cli_recorded_bytes(r->fd);
    if (size_bytes < 0)
        return strerror(errno);
    if (size_bytes < ALQI_RAW_HEADER_BYTES)
        return "it is shorter than a recording's header";
    map = mmap(NULL, (size_t)size_bytes, PROT_READ, MAP_SHARED, r->fd, 0);
    if (map == MAP_FAILED)
        return strerror(errno);
    r->bytes = map;
    r->n_bytes = (size_t)size_bytes;
    r->until_ns = until_ns;
    memcpy(&r->header, map, sizeof r->header);
    if (!header_check(r, &why))
        return why;
    r->header.executable[sizeof r->header.executable - 1] = '\0';
    r->header.host[sizeof r->header.host - 1] = '\0';
    r->header.jit_dump[sizeof r->header.jit_dump - 1] = '\0';
    r->pid = writer_find(&r->header);
    moment_set(r);
    if ((r->is_still || is_exact(r)) && !freeze(r, r->fd))
        return strerror(errno);
    return NULL;
}

enum way { AS_IT_IS, STILL, BEHIND };

static struct alqi_cli_recording *
recording_open(const char *path, enum way way, char *error, size_t error_bytes)
{
    struct alqi_cli_recording *r = calloc(1, sizeof *r);
    const char *why = "there is no memory";

    if (r != NULL) {
        r->is_still = way == STILL;
        r->is_behind = way == BEHIND;
        why = recording_map(r, path);
    }
    if (why == NULL)
        return r;
    snprintf(error, error_bytes, "%s", why);
    alqi_cli_recording_drop(r);
    return NULL;
}

struct alqi_cli_recording *
alqi_cli_recording_open(const char *path, char *error, size_t error_bytes)
{
    return recording_open(path, AS_IT_IS, error, error_bytes);
}

struct alqi_cli_recording *
alqi_cli_recording_open_still(const char *path, char *error, size_t error_bytes)
{
    return recording_open(path, STILL, error, error_bytes);
}

struct alqi_cli_recording *
alqi_cli_recording_open_behind(const char *path, char *error,
                               size_t error_bytes)
{
    return recording_open(path, BEHIND, error, error_bytes);
}

void
alqi_cli_recording_drop(struct alqi_cli_recording *r)
{
    if (r == NULL)
        return;
    if (r->bytes != NULL)
        munmap((void *)r->bytes, r->n_bytes);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

/* Copies what the writer changes of a header. */
static void
header_renew(struct alqi_cli_recording *r)
{
    struct alqi_raw_header *h = &r->header;
    struct alqi_raw_header now;

    memcpy(&now, r->bytes, sizeof now);
    h->flags = now.flags;
    h->most_rate_bits = now.most_rate_bits;
    h->has_jit_dump = now.has_jit_dump;
    h->ended_ns = now.ended_ns;
    h->most_rss_bytes = now.most_rss_bytes;
    memcpy(h->jit_dump, now.jit_dump, sizeof h->jit_dump - 1);
    for (unsigned i = 0; i < ALQI_RAW_COUNTERS; i++)
        h->counters[i] = now.counters[i];
}

/* Maps what the file has got since. False: errno. */
static bool
map_grow(struct alqi_cli_recording *r)
{
    off_t size_bytes = alqi_cli_recorded_bytes(r->fd);
    void *map;

    if (size_bytes < 0)
        return false;
    if ((size_t)size_bytes <= r->n_bytes)
        return true;
    map = mremap((void *)r->bytes, r->n_bytes, (size_t)size_bytes,
                 MREMAP_MAYMOVE);
    if (map == MAP_FAILED)
        return false;
    r->bytes = map;
    r->n_bytes = (size_t)size_bytes;
    return true;
}

bool
alqi_cli_recording_grow(struct alqi_cli_recording *r, pid_t pid)
{
    r->pid = pid;
    moment_set(r);
    if (is_exact(r) ? !freeze(r, r->fd) : !map_grow(r))
        return false;
    header_renew(r);
    return true;
}

const struct alqi_raw_header *
alqi_cli_recording_header(const struct alqi_cli_recording *r)
{
    return &r->header;
}

/* The writer keeps the largest rate as bits; a value that cannot be is
 * ignored. */
double
alqi_cli_recording_most_rate(const struct alqi_cli_recording *r)
{
    uint64_t bits = atomic_load(&r->header.most_rate_bits);
    double most;

    memcpy(&most, &bits, sizeof most);
    return most > r->header.rate && most <= 1 ? most : r->header.rate;
}

const uint8_t *
alqi_cli_recording_chunks(const struct alqi_cli_recording *r, size_t *n_places)
{
    *n_places = (r->n_bytes - r->header.header_bytes) / ALQI_RAW_CHUNK_BYTES;
    return r->bytes + r->header.header_bytes;
}

uint64_t
alqi_cli_recording_moment_ns(const struct alqi_cli_recording *r)
{
    return r->moment_ns != 0 ? r->moment_ns : UINT64_MAX;
}

uid_t
alqi_cli_recording_owner(const struct alqi_cli_recording *r)
{
    struct stat st;

    return fstat(r->fd, &st) == 0 ? st.st_uid : (uid_t)-1;
}

pid_t
alqi_cli_recording_pid(const struct alqi_cli_recording *r)
{
    return r->pid;
}

/* Process numbers are reused, so the start time must be the recorded one
 * too. */
bool
alqi_cli_recording_is_live_as(const struct alqi_cli_recording *r, pid_t pid)
{
    struct alqi_cli_proc proc;

    return alqi_cli_proc_read(pid, &proc) &&
           proc.start_ticks == r->header.process_start_ticks;
}

bool
alqi_cli_recording_is_live(const struct alqi_cli_recording *r)
{
    return (atomic_load(&r->header.flags) &
            (ALQI_RAW_DETACHED | ALQI_RAW_EXECUTED)) == 0 &&
           alqi_cli_recording_is_live_as(r, r->pid);
}

/* A recording that was ended alone is of a process that ran on then. One whose
 * process is there no more, and has set no flag, was killed, or ended by a
 * system call that nobody saw. */
const char *
alqi_cli_recording_ended(const struct alqi_cli_recording *r)
{
    uint32_t flags = atomic_load(&r->header.flags);

    if (alqi_cli_recording_is_live(r) || (flags & ALQI_RAW_DETACHED) != 0)
        return "running";
    if ((flags & ALQI_RAW_EXECUTED) != 0)
        return "exec";
    if (r->is_waited)
        return r->waited.is_signal ? "killed" : "exit";
    return (flags & ALQI_RAW_EXITED) != 0 ? "exit" : "killed";
}

bool
alqi_cli_recording_is_unlooked(const struct alqi_cli_recording *r)
{
    return (atomic_load(&r->header.flags) & ALQI_RAW_LEAKS) != 0 &&
           atomic_load(&r->header.ending) != ALQI_RAW_ENDING_LOOKED &&
           strcmp(alqi_cli_recording_ended(r), "running") != 0;
}

void
alqi_cli_recording_waited(struct alqi_cli_recording *r,
                          const struct alqi_cli_waited *waited)
{
    r->waited = *waited;
    r->is_waited = true;
}

int
alqi_cli_recording_signal(const struct alqi_cli_recording *r)
{
    return strcmp(alqi_cli_recording_ended(r), "killed") == 0 ? r->waited.signal
                                                              : 0;
}

/* Recordings of before this field, and of processes that told nothing, have
 * 0. */
uint64_t
alqi_cli_recording_ended_ns(const struct alqi_cli_recording *r)
{
    uint64_t ns = atomic_load(&r->header.ended_ns);

    if (ns == 0 && r->is_waited)
        ns = r->waited.ended_ns;
    if (ns == 0 && alqi_cli_recording_is_live(r))
        ns = alqi_plat_mono_ns_sigsafe();
    return r->moment_ns != 0 && ns > r->moment_ns ? r->moment_ns : ns;
}

uint64_t
alqi_cli_recording_most_rss(const struct alqi_cli_recording *r)
{
    uint64_t bytes = atomic_load(&r->header.most_rss_bytes);
    bool is_told = atomic_load(&r->header.ended_ns) != 0;

    return !is_told && r->is_waited && r->waited.most_rss_bytes > bytes
               ? r->waited.most_rss_bytes
               : bytes;
}

bool
alqi_cli_recording_room(void *array, size_t n, size_t *capacity,
                        size_t each_bytes)
{
    size_t wanted = *capacity == 0 ? 16 : 2 * *capacity;
    void *grown;

    if (n < *capacity)
        return true;
    grown = reallocarray(*(void **)array, wanted, each_bytes);
    if (grown == NULL)
        return false;
    *(void **)array = grown;
    *capacity = wanted;
    return true;
}

int
alqi_cli_chunk_order(const void *a, const void *b)
{
    const struct alqi_cli_chunk_ref *x = a, *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}
