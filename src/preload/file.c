/* file.c -- the recording's file: created, mapped by windows, made longer
 *
 *   header | chunk chunk ... chunk | ... | to `size_bytes`: holes yet
 *            ^next                 ^end: one page more is mapped, of the window
 *            '------ window -------'     that comes after, which is made of it
 *
 * Header and chunks are whole pages, whatever their size.
 *
 * The file is longer than its data, by holes, and one window of it is mapped at
 * a time.  mremap moves the window without a descriptor: there is a descriptor
 * only while the file is created, and while it is made longer, by its name.
 *
 * Keeps .inv.blocks, .inv.mine and .inv.few of file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_name.h"
#include "base/pattern.h"
#include "plat/process.h"
#include "plat/socket.h"
#include "preload/file.h"
#include "preload/preload.h"

enum {
    NAME_TRIES = 100,
    RETRY_NS = 1000000000,
    WINDOW_BYTES = 64 * ALQI_RAW_CHUNK_BYTES,
    SIZE_FIRST_BYTES = 64 << 20 /* twice as much each time */
};

static struct {
    struct alqi_plat_lock lock;     /* of growth, and of what follows        */
    struct alqi_raw_header *header; /* mapped; NULL: there is no file        */
    void *closed; /* where the last header was, a page of nobody's; or NULL  */
    char *next;   /* in the window: where the next chunk begins   */
    char *end;    /* of the window                                */
    off_t size_bytes;        /* of the file, holes included                  */
    dev_t device;            /* of the file: .inv.mine                       */
    ino_t inode;             /* likewise                                     */
    uint64_t retry_after_ns; /* no chunk is tried before that time           */
    bool has_logged_full;    /* the line "no space" has been logged          */
    char path[1200];         /* absolute; while there is a file              */
    char error[1400];        /* of the last failure, as logged               */
} file = {.lock = ALQI_PLAT_LOCK(PRELOAD_FILE)};

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

/* The number in decimal, at the end of the room. */
static const char *
decimal(char digits[24], unsigned long value)
{
    size_t i = 23;

    digits[i] = '\0';
    do
        digits[--i] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return digits + i;
}

/* The path of a pattern (config.c), from the working directory on. Where the
 * pattern has no number of its own, attempts but the first get one. */
static bool
name_expand(char *out, size_t capacity, const char *pattern,
            const char *executable, unsigned attempt)
{
    char pid[24], number[24], host[65] = "";
    const struct alqi_base_pattern_part parts[] = {
        {'e', alqi_base_file_name(executable)},
        {'h', host},
        {'n', decimal(number, attempt)},
        {'p', decimal(pid, (unsigned long)getpid())}};
    bool is_whole, has_number = alqi_base_pattern_stray(pattern, "ehp") != NULL;
    size_t at = 0;

    out[0] = '\0';
    if (strstr(pattern, "%h") != NULL)
        gethostname(host, sizeof host - 1);
    if (pattern[0] != '/' && pattern[0] != '@' &&
        getcwd(out, capacity - 1) != NULL)
        at = append(out, capacity, strlen(out), "/", 1);
    is_whole = alqi_base_pattern_expand_sigsafe(
        out + at, capacity - at, pattern, parts, ALQI_COUNT_OF(parts));
    if (!has_number && attempt > 0) {
        at = append(out, capacity, strlen(out), ".", 1);
        append(out, capacity, at, parts[2].text, strlen(parts[2].text));
    }
    return is_whole && strlen(out) < capacity - 1;
}

bool
alqi_preload_file_name(char *out, size_t capacity, const char *pattern)
{
    char executable[1024];

    alqi_plat_executable_sigsafe(executable, sizeof executable);
    return name_expand(out, capacity, pattern, executable, 0);
}

/* The name of a heap's recording that stands beside this process's own; false:
 * none fits, or all are taken. */
bool
alqi_preload_heap_name(char *out, size_t capacity)
{
    static const char suffix[] = ".heap";
    char executable[1024];

    alqi_plat_executable_sigsafe(executable, sizeof executable);
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

/* To go on would raise SIGXFSZ. */
static off_t
limit_bytes(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        limit.rlim_cur > (rlim_t)INT64_MAX)
        return INT64_MAX;
    return (off_t)limit.rlim_cur;
}

/* Makes the file `wanted` bytes long, or, if that is too much for where it is,
 * less, but `least`. */
static bool
file_lengthen(int fd, off_t least, off_t wanted)
{
    off_t most = limit_bytes();

    if (most < least) {
        errno = EFBIG;
        return false;
    }
    if (wanted > most)
        wanted = most;
    while (ftruncate(fd, wanted) != 0) {
        if (wanted <= least)
            return false;
        wanted = wanted / 2 > least ? wanted / 2 : least;
    }
    file.size_bytes = wanted;
    return true;
}

/* .inv.mine */
static bool
file_reach(off_t least)
{
    int fd = open(file.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), error;
    struct stat st;
    bool ok;

    if (fd < 0)
        return false;
    errno = ESTALE;
    ok = fstat(fd, &st) == 0 && st.st_dev == file.device &&
         st.st_ino == file.inode && file_lengthen(fd, least, 2 * least);
    error = errno;
    close(fd);
    errno = error;
    return ok;
}

/* ---- the window ---------------------------------------------------------- */

static size_t
page_bytes(void)
{
    return alqi_plat_page_bytes_sigsafe();
}

static size_t
header_bytes(void)
{
    return page_bytes() > ALQI_RAW_HEADER_BYTES ? page_bytes()
                                                : ALQI_RAW_HEADER_BYTES;
}

static off_t
chunk_offset(uint32_t n)
{
    return (off_t)header_bytes() + (off_t)n * ALQI_RAW_CHUNK_BYTES;
}

/* Maps the next chunks, some `bytes` of them, in the place of the window. */
static bool
window_move(off_t offset, size_t bytes)
{
    size_t left = (size_t)(file.end - file.next) + page_bytes();
    char *p;

    if (offset + (off_t)bytes > file.size_bytes &&
        !file_reach(offset + (off_t)bytes))
        return false;
    p = mremap(file.next, 0, bytes + page_bytes(), MREMAP_MAYMOVE);
    if (p == MAP_FAILED)
        return false;
    munmap(file.next, left);
    file.next = p;
    file.end = p + bytes;
    return true;
}

/* .inv.blocks */
static bool
blocks_take(char *at, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i += page_bytes())
        if (!alqi_plat_page_touch_sigsafe(at + i)) {
            errno = ENOSPC;
            return false;
        }
    return true;
}

bool
alqi_preload_file_reserve(size_t bytes)
{
    uint32_t n, was;
    bool ok = false;

    bytes = (bytes / ALQI_RAW_CHUNK_BYTES + 1) * ALQI_RAW_CHUNK_BYTES;
    was = alqi_preload_lock(&file.lock);
    if (file.header != NULL) {
        n = atomic_load_explicit(&file.header->n_chunks, memory_order_relaxed);
        ok = window_move(chunk_offset(n), bytes);
    }
    alqi_preload_unlock(&file.lock, was);
    return ok;
}

/* ---- header -------------------------------------------------------------- */

/* Reads at most `capacity` bytes of a file; returns how many, 0 if it cannot be
 * opened. */
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

/* Fills the header of a new recording, which is zeros. */
static void
header_fill(struct alqi_raw_header *h, const char *executable, uint32_t flags)
{
    h->header_bytes = (uint32_t)header_bytes();
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
    alqi_preload_jit_tell(h);
    if (alqi_preload_config.has_leaks)
        flags |= ALQI_RAW_LEAKS;
    atomic_fetch_or(&h->flags, flags); /* .pair.alone */
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
    alqi_preload_log(text);
}

/* memtrace writes over the trace that was there.  So do we, if it is one: a
 * trace, a recording, or empty; a process that still writes the old one keeps
 * it. */
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

static int
file_open(void)
{
    return open(file.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                0600);
}

/* The path is the one given, no pattern. */
static int
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
    return file_open();
}

/* Creates the recording under the first of the pattern's names that is free.
 * -1: errno says why. */
static int
file_open_new(const char *executable)
{
    int fd = -1;

    if (alqi_preload_config.is_memtrace)
        return file_open_memtrace();
    for (unsigned attempt = 0; attempt < NAME_TRIES; attempt++) {
        if (!name_expand(file.path, sizeof file.path, alqi_preload_config.out,
                         executable, attempt)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = file_open();
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* The header, and the first window, which may be small; of either the next
 * page, too.  False: errno says why. */
static bool
file_map(int fd)
{
    size_t bytes = alqi_preload_config.reserve_bytes;
    off_t least = chunk_offset(1) + (off_t)bytes;
    struct stat st;
    char *p;

    if (fstat(fd, &st) != 0 ||
        !file_lengthen(fd, least,
                       least > SIZE_FIRST_BYTES ? least : SIZE_FIRST_BYTES))
        return false;
    file.device = st.st_dev;
    file.inode = st.st_ino;
    if (bytes < WINDOW_BYTES)
        bytes = WINDOW_BYTES;
    if (bytes > (size_t)(file.size_bytes - header_bytes()))
        bytes = (size_t)(file.size_bytes - header_bytes());
    bytes -= bytes % ALQI_RAW_CHUNK_BYTES;
    p = mmap(NULL, header_bytes() + bytes + page_bytes(),
             PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return false;
    file.next = p + header_bytes();
    file.end = file.next + bytes;
    if (blocks_take(p, header_bytes())) {
        file.header = (void *)p;
        return true;
    }
    munmap(p, header_bytes() + bytes + page_bytes());
    errno = ENOSPC;
    return false;
}

/* Leaves a name that tells `aliquot record` that this process has said why it
 * has no recording: a name needs no room on the disk. */
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
    bool ok;
    int fd, error;

    if (alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        return false; /* a child that was forked then */
    if ((alqi_preload_config.is_memtrace ||
         alqi_preload_config.attacher_pid != 0) &&
        (flags & ALQI_RAW_FORKED) != 0)
        return false; /* as memtrace: one process, one trace */
    alqi_plat_executable_sigsafe(executable, sizeof executable);
    fd = file_open_new(executable);
    if (fd < 0) {
        say_failed("cannot record", "creating");
        return false;
    }
    ok = file_map(fd);
    error = errno;
    close(fd);
    if (!ok) {
        errno = error;
        say_failed("cannot record", "making room in");
        file_give_up();
        return false;
    }
    header_fill(file.header, executable, flags);
    file.retry_after_ns = 0;
    file.has_logged_full = false;
    return true;
}

void
alqi_preload_file_close(void)
{
    uint32_t was = alqi_preload_lock(&file.lock);

    if (file.closed != NULL)
        munmap(file.closed, header_bytes());
    file.closed = file.header;
    if (file.header != NULL) {
        munmap(file.next, (size_t)(file.end - file.next) + page_bytes());
        file.header = NULL;
        mmap(file.closed, header_bytes(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    alqi_preload_unlock(&file.lock, was);
}

void
alqi_preload_file_remove(char *path, size_t capacity)
{
    struct stat st;

    snprintf(path, capacity, "%s", file.path);
    if (file.header == NULL && lstat(path, &st) == 0 &&
        st.st_dev == file.device && st.st_ino == file.inode)
        unlink(path);
}

void
alqi_preload_file_leave(void)
{
    if (file.header != NULL) {
        munmap(file.header, header_bytes());
        munmap(file.next, (size_t)(file.end - file.next) + page_bytes());
    }
    file.header = NULL;
    alqi_plat_lock_break(&file.lock);
}

/* ---- chunks -------------------------------------------------------------- */

/* No chunk can be made: the next try comes RETRY_NS later.  Logged once a
 * recording. */
static void
chunk_failed_locked(uint64_t now_ns)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_FILE));
    file.retry_after_ns = now_ns + RETRY_NS;
    if (!file.has_logged_full) {
        file.has_logged_full = true;
        say_failed(alqi_preload_config.is_exact ? "blocks are dropped for now"
                                                : "samples are dropped for now",
                   "making room in");
    }
}

/* What a confined process has mapped before is all there is. */
static bool
window_more(off_t offset)
{
    errno = ENOSPC;
    return alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE &&
           window_move(offset, WINDOW_BYTES);
}

struct alqi_raw_chunk_header *
alqi_preload_file_chunk_new(enum alqi_raw_chunk_kind kind, uint32_t stream,
                            uint32_t sequence, uint64_t now_ns,
                            uint64_t first_ordinal)
{
    struct alqi_raw_chunk_header *chunk = NULL;
    int saved = errno;
    uint32_t n, was;

    if (file.header == NULL)
        return NULL;
    was = alqi_preload_lock(&file.lock);
    if (now_ns < file.retry_after_ns)
        goto out;
    n = atomic_load_explicit(&file.header->n_chunks, memory_order_relaxed);
    if ((file.next == file.end && !window_more(chunk_offset(n))) ||
        !blocks_take(file.next, ALQI_RAW_CHUNK_BYTES)) {
        chunk_failed_locked(now_ns);
        goto out;
    }
    chunk = (void *)file.next;
    file.next += ALQI_RAW_CHUNK_BYTES;
    chunk->kind = kind;
    chunk->stream = stream;
    chunk->sequence = sequence;
    chunk->start_ns = now_ns;
    chunk->first_ordinal = first_ordinal;
    chunk->magic = ALQI_RAW_CHUNK_MAGIC;
    /* .pair.commit */
    atomic_store_explicit(&file.header->n_chunks, n + 1, memory_order_release);
out:
    alqi_preload_unlock(&file.lock, was);
    errno = saved;
    return chunk;
}

void
alqi_preload_file_chunk_done(struct alqi_raw_chunk_header *chunk)
{
    int saved = errno;

    if (alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE ||
        alqi_preload_config.reserve_bytes != 0)
        return; /* munmap may be forbidden */
    munmap(chunk, ALQI_RAW_CHUNK_BYTES);
    errno = saved;
}
