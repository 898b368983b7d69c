#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/file.h"
#include "preload/preload.h"

enum { NAME_TRIES = 100, RETRY_NS = 1000000000 };

static struct {
    struct alqi_plat_lock lock; /* of growth: offset, size, descriptor */
    struct alqi_raw_header *header;
    int fd;
    dev_t device;
    ino_t inode;
    uint64_t retry_after_ns;
    bool has_said_full;
    char path[1200];
    char error[1400]; /* the last that was said */
} file = {.fd = -1};

static struct alqi_raw_header nobodys;

struct alqi_raw_header *
alqi_preload_file_header(void)
{
    return file.header != NULL ? file.header : &nobodys;
}

const char *
alqi_preload_file_path(void)
{
    return file.header != NULL ? file.path : "";
}

const char *
alqi_preload_file_error(void)
{
    return file.error;
}

/* ---- names -----------------------------------------------------------------
 */

static size_t
append(char *out, size_t capacity, size_t at, const char *text, size_t n)
{
    if (n > capacity - 1 - at)
        n = capacity - 1 - at;
    memcpy(out + at, text, n);
    out[at + n] = '\0';
    return at + n;
}

static size_t
append_number(char *out, size_t capacity, size_t at, unsigned long value)
{
    char digits[24];
    size_t i = sizeof digits;

    do
        digits[--i] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return append(out, capacity, at, digits + i, sizeof digits - i);
}

/* %e is the program's name, %p the pid, %n a number that makes it unique, %%
 * a percent sign. */
static bool
name_expand(char *out, size_t capacity, const char *pattern,
            const char *executable, unsigned attempt)
{
    const char *slash = strrchr(executable, '/');
    const char *name = slash != NULL ? slash + 1 : executable;
    bool is_unique = false;
    size_t at = 0;

    out[0] = '\0';
    if (pattern[0] != '/' && pattern[0] != '@' &&
        getcwd(out, capacity - 1) != NULL)
        at = append(out, capacity, strlen(out), "/", 1);
    for (const char *p = pattern; *p != '\0'; p++) {
        if (p[0] == '%' && p[1] == 'e') {
            at = append(out, capacity, at, name, strlen(name));
            p++;
        } else if (p[0] == '%' && p[1] == 'p') {
            at = append_number(out, capacity, at, (unsigned long)getpid());
            p++;
        } else if (p[0] == '%' && p[1] == 'n') {
            at = append_number(out, capacity, at, attempt);
            is_unique = true;
            p++;
        } else {
            p += p[0] == '%' && p[1] == '%';
            at = append(out, capacity, at, p, 1);
        }
    }
    if (!is_unique && attempt > 0) {
        at = append(out, capacity, at, ".", 1);
        append_number(out, capacity, at, attempt);
    }
    return strlen(out) < capacity - 1;
}

bool
alqi_preload_file_name(char *out, size_t capacity, const char *pattern)
{
    char executable[1024] = "";
    ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);

    executable[n > 0 ? n : 0] = '\0';
    return name_expand(out, capacity, pattern, executable, 0);
}

/* As a recording that stands beside this process's own. */
bool
alqi_preload_heap_name(char *out, size_t capacity)
{
    static const char suffix[] = ".heap";
    char executable[1024] = "";
    ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);

    executable[n > 0 ? n : 0] = '\0';
    for (unsigned attempt = 0; attempt < NAME_TRIES; attempt++) {
        size_t at;

        if (!name_expand(out, capacity, alqi_preload_config.out, executable,
                         attempt))
            return false;
        at = strlen(out);
        if (append(out, capacity, at, suffix, sizeof suffix - 1) !=
            at + sizeof suffix - 1)
            return false;
        if (access(out, F_OK) != 0)
            return true;
    }
    return false;
}

/* ---- the descriptor ------------------------------------------------------ */

/* As high as the limit allows, out of the way of programs that expect 3. */
int
alqi_preload_fd_move_up(int fd)
{
    static const int floors[] = {1000, 230, 100, 20};

    for (size_t i = 0; i < ALQI_COUNT_OF(floors); i++) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, floors[i]);

        if (high >= 0) {
            close(fd);
            return high;
        }
    }
    return fd;
}

static bool
fd_is_ours(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == file.device &&
           st.st_ino == file.inode;
}

/* .inv.mine */
static bool
fd_ready(void)
{
    int fd;

    if (fd_is_ours(file.fd))
        return true;
    file.fd = -1;
    fd = open(file.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (!fd_is_ours(fd)) {
        close(fd);
        errno = ENOENT; /* what stands there is another file */
        return false;
    }
    file.fd = alqi_preload_fd_move_up(fd);
    return true;
}

/* To go on would raise SIGXFSZ. */
static bool
is_over_limit(off_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY && (rlim_t)size > limit.rlim_cur;
}

static bool
range_write(const void *bytes, size_t n_bytes, off_t at)
{
    const char *p = bytes;

    while (n_bytes > 0) {
        ssize_t n = pwrite(file.fd, p, n_bytes, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        p += n;
        at += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

/* .inv.blocks; and never a SIGXFSZ.  False: errno says why. */
static bool
blocks_reserve(off_t offset, off_t n_bytes)
{
    static const char zeros[4096];
    int status;

    if (is_over_limit(offset + n_bytes)) {
        errno = EFBIG;
        return false;
    }
    do
        status = fallocate(file.fd, 0, offset, n_bytes);
    while (status != 0 && errno == EINTR);
    if (status == 0)
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
        return false;
    for (off_t at = 0; at < n_bytes; at += (off_t)sizeof zeros)
        if (!range_write(zeros, sizeof zeros, offset + at))
            return false;
    return true;
}

static void *
range_map(off_t offset, size_t n_bytes)
{
    void *p;

    if (!fd_ready() || !blocks_reserve(offset, (off_t)n_bytes))
        return NULL;
    p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd,
             offset);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- header -------------------------------------------------------------- */

static size_t
file_slurp(const char *path, char *out, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;

    if (fd < 0)
        return 0;
    while (n < capacity) {
        ssize_t got = read(fd, out + n, capacity - n);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    return n;
}

/* Field 22 of stat, counted from behind the name, which may hold anything. */
static uint64_t
process_start_ticks(void)
{
    char text[1024];
    size_t n = file_slurp("/proc/self/stat", text, sizeof text - 1);
    const char *p;

    text[n] = '\0';
    p = strrchr(text, ')');
    for (unsigned field = 2; p != NULL && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p != NULL ? strtoull(p, NULL, 10) : 0;
}

static void
header_fill(struct alqi_raw_header *h, const char *executable, uint32_t flags)
{
    h->header_bytes = ALQI_RAW_HEADER_BYTES;
    h->chunk_bytes = ALQI_RAW_CHUNK_BYTES;
    h->pid = (uint32_t)getpid();
    h->parent_pid = (uint32_t)getppid();
    h->depth_frames = alqi_preload_config.depth_frames;
    h->start_wall_ns = alqi_plat_wall_ns_sigsafe();
    h->start_mono_ns = alqi_plat_mono_ns_sigsafe();
    h->process_start_ticks = process_start_ticks();
    h->rate = alqi_preload_config.rate;
    memcpy(&h->most_rate_bits, &h->rate, sizeof h->rate);
    h->seed = alqi_preload_config.seed;
    append(h->executable, sizeof h->executable, 0, executable,
           strlen(executable));
    gethostname(h->host, sizeof h->host - 1);
    h->n_cmdline_bytes = (uint32_t)file_slurp("/proc/self/cmdline", h->cmdline,
                                              sizeof h->cmdline);
    atomic_fetch_or(&h->flags, flags);
    /* Last: a file with the magic is a recording. */
    memcpy(h->magic, ALQI_RAW_MAGIC, sizeof h->magic);
}

/* Not strerror: this may be in a signal handler. */
static const char *
failure(void)
{
    if (alqi_preload_config.is_memtrace && errno == EEXIST)
        return "it exists and is no trace that can be replaced; remove it, or "
               "name another file";
    if (errno == EFBIG)
        return "the limit on the size of files is reached (ulimit -f)";
    return strerrordesc_np(errno);
}

/* errno says why. */
static void
say_failed(const char *result, const char *what)
{
    char text[1500];

    snprintf(file.error, sizeof file.error, "%s %s: %s", what, file.path,
             failure());
    snprintf(text, sizeof text, "%s: %s", result, file.error);
    alqi_preload_say(text);
}

/* memtrace writes over the trace that was there.  So do we, if it is one: a
 * trace, a recording, or empty; who still writes the old one keeps it. */
static void
trace_remove(const char *path)
{
    static const uint8_t trace[] = {0xC1, 0x1F, 0xFC, 0xC1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char head[8] = "";
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return;
    n = read(fd, head, sizeof head);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (n == 0 ||
         (n == sizeof head && (memcmp(head, ALQI_RAW_MAGIC, n) == 0 ||
                               memcmp(head, trace, sizeof trace) == 0))))
        unlink(path);
    close(fd);
}

/* The path is the one given, no pattern. */
static bool
file_open_memtrace(void)
{
    size_t at = 0;

    file.path[0] = '\0';
    if (alqi_preload_config.out[0] != '/' &&
        getcwd(file.path, sizeof file.path - 1) != NULL)
        at = append(file.path, sizeof file.path, strlen(file.path), "/", 1);
    append(file.path, sizeof file.path, at, alqi_preload_config.out,
           strlen(alqi_preload_config.out));
    trace_remove(file.path);
    file.fd = open(file.path,
                   O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return file.fd >= 0;
}

static bool
file_open_new(const char *executable)
{
    if (alqi_preload_config.is_memtrace)
        return file_open_memtrace();
    for (unsigned attempt = 0; attempt < NAME_TRIES; attempt++) {
        if (!name_expand(file.path, sizeof file.path, alqi_preload_config.out,
                         executable, attempt)) {
            errno = ENAMETOOLONG;
            return false;
        }
        file.fd =
            open(file.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                 0600);
        if (file.fd >= 0 || errno != EEXIST)
            return file.fd >= 0;
    }
    return false;
}

/* Who records learns by a name that this process has said why it left nothing:
 * a name needs no room. */
static void
file_give_up(void)
{
    char name[sizeof file.path + sizeof ALQI_RAW_SAID_SUFFIX];

    snprintf(name, sizeof name, "%s" ALQI_RAW_SAID_SUFFIX, file.path);
    if (!alqi_preload_config.is_recorded || rename(file.path, name) != 0)
        unlink(file.path);
}

bool
alqi_preload_file_create(uint32_t flags)
{
    char executable[1024] = "";
    struct alqi_raw_header *header;
    struct stat st;
    ssize_t n;

    if (alqi_preload_config.is_memtrace && (flags & ALQI_RAW_FORKED) != 0)
        return false; /* as memtrace: one process, one trace */
    n = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[n > 0 ? n : 0] = '\0';
    if (!file_open_new(executable) || fstat(file.fd, &st) != 0) {
        say_failed("cannot record", "creating");
        return false;
    }
    file.device = st.st_dev;
    file.inode = st.st_ino;
    file.fd = alqi_preload_fd_move_up(file.fd);
    header = range_map(0, ALQI_RAW_HEADER_BYTES);
    if (header == NULL) {
        say_failed("cannot record", "making room in");
        close(file.fd);
        file_give_up();
        file.fd = -1;
        return false;
    }
    header_fill(header, executable, flags);
    file.header = header;
    file.retry_after_ns = 0;
    file.has_said_full = false;
    return true;
}

void
alqi_preload_file_leave(void)
{
    if (file.header != NULL)
        munmap(file.header, ALQI_RAW_HEADER_BYTES);
    if (fd_is_ours(file.fd))
        close(file.fd);
    file.header = NULL;
    file.fd = -1;
    atomic_store_explicit(&file.lock.state, 0, memory_order_relaxed);
}

/* ---- chunks -------------------------------------------------------------- */

static void
chunk_failed_locked(uint64_t now_ns)
{
    file.retry_after_ns = now_ns + RETRY_NS;
    if (!file.has_said_full) {
        file.has_said_full = true;
        say_failed(alqi_preload_config.is_exact ? "blocks are dropped for now"
                                                : "samples are dropped for now",
                   "making room in");
    }
}

struct alqi_raw_chunk_header *
alqi_preload_file_chunk_new(enum alqi_raw_chunk_kind kind, uint32_t stream,
                            uint32_t sequence, uint64_t now_ns,
                            uint64_t first_ordinal)
{
    struct alqi_raw_chunk_header *chunk = NULL;
    int saved = errno;
    uint32_t n;

    if (file.header == NULL)
        return NULL;
    alqi_plat_lock(&file.lock);
    if (now_ns < file.retry_after_ns)
        goto out;
    n = atomic_load_explicit(&file.header->n_chunks, memory_order_relaxed);
    chunk = range_map(ALQI_RAW_HEADER_BYTES + (off_t)n * ALQI_RAW_CHUNK_BYTES,
                      ALQI_RAW_CHUNK_BYTES);
    if (chunk == NULL) {
        chunk_failed_locked(now_ns);
        goto out;
    }
    chunk->kind = kind;
    chunk->stream = stream;
    chunk->sequence = sequence;
    chunk->start_ns = now_ns;
    chunk->first_ordinal = first_ordinal;
    chunk->magic = ALQI_RAW_CHUNK_MAGIC;
    atomic_store_explicit(&file.header->n_chunks, n + 1, memory_order_release);
out:
    alqi_plat_unlock(&file.lock);
    errno = saved;
    return chunk;
}

/* A place behind all others, or -1. */
static off_t
place_take(uint64_t now_ns)
{
    off_t at = -1;
    uint32_t n;

    alqi_plat_lock(&file.lock);
    if (file.header != NULL && now_ns >= file.retry_after_ns) {
        n = atomic_load_explicit(&file.header->n_chunks, memory_order_relaxed);
        at = ALQI_RAW_HEADER_BYTES + (off_t)n * ALQI_RAW_CHUNK_BYTES;
        errno = EFBIG; /* unless the descriptor says otherwise */
        if (is_over_limit(at + ALQI_RAW_CHUNK_BYTES) || !fd_ready()) {
            chunk_failed_locked(now_ns);
            at = -1;
        } else {
            atomic_store_explicit(&file.header->n_chunks, n + 1,
                                  memory_order_release);
        }
    }
    alqi_plat_unlock(&file.lock);
    return at;
}

/* A page fault in a shared mapping costs far more than a page of a write: what
 * fills chunks fast has one mapping, written out when it is full.  The header
 * goes last: without it there is no chunk. */
bool
alqi_preload_file_chunk_copy(const struct alqi_raw_chunk_header *chunk,
                             uint64_t now_ns)
{
    int saved = errno;
    off_t at = place_take(now_ns);
    bool ok = at >= 0 &&
              range_write(chunk + 1, ALQI_RAW_CHUNK_BYTES - sizeof *chunk,
                          at + (off_t)sizeof *chunk) &&
              range_write(chunk, sizeof *chunk, at);

    if (at >= 0 && !ok) {
        alqi_plat_lock(&file.lock);
        chunk_failed_locked(now_ns);
        alqi_plat_unlock(&file.lock);
    }
    errno = saved;
    return ok;
}

void
alqi_preload_file_chunk_done(struct alqi_raw_chunk_header *chunk)
{
    int saved = errno;

    munmap(chunk, ALQI_RAW_CHUNK_BYTES);
    errno = saved;
}
