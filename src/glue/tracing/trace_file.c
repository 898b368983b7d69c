/* trace_file.c -- the file of a trace: whole packets, or none
 *
 * Written by one thread at a time, the tracer under its lock. A forked child is
 * told by a word in a page that the kernel clears at a fork (mark_get):
 * getpid() at each callback would be a system call. After a failed write
 * nothing is written. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "glue/tracing/trace_file.h"
#include "plat/plat.h"

/* A word that is 0 again in a forked child; NULL: there is none. Takes no lock,
 * which a thread that the child lacks might hold. */
static volatile uint64_t *
mark_get(void)
{
    static uint64_t *mark;
    uint64_t *now = __atomic_load_n(&mark, __ATOMIC_ACQUIRE), *fresh;

    if (now == NULL) {
        fresh = alqi_plat_pages_map_wiped_on_fork(sizeof *fresh);
        if (fresh == NULL)
            return NULL;
        if (__atomic_compare_exchange_n(&mark, &now, fresh, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            now = fresh;
        else
            alqi_plat_pages_unmap(fresh, sizeof *fresh);
    }
    if (__atomic_load_n(now, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(now, (uint64_t)getpid(), __ATOMIC_RELAXED);
    return now;
}

/* Opens the file as memtrace does: no other user may read it, and its writer
 * holds a lock. */
int
alqi_glue_trace_file_open(struct alqi_glue_trace_file *f, const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;

    *f = (struct alqi_glue_trace_file){.fd = -1, .pid = getpid()};
    f->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (f->fd < 0)
        return errno;
    if (fcntl(f->fd, F_SETLK, &lock) != 0 &&
        (errno == EACCES || errno == EAGAIN)) {
        close(f->fd);
        return EAGAIN;
    }
    f->is_regular = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
    if (f->is_regular && ftruncate(f->fd, 0) != 0) {
        int error = errno;

        close(f->fd);
        return error;
    }
    f->mark = mark_get();
    return 0;
}

/* Without the page the process's number is asked for. */
bool
alqi_glue_trace_file_is_childs(const struct alqi_glue_trace_file *f)
{
    return (f->mark != NULL ? (pid_t)*f->mark : getpid()) != f->pid;
}

/* errno is kept: the program's allocation goes on behind it. */
bool
alqi_glue_trace_file_write(struct alqi_glue_trace_file *f, const void *bytes,
                           size_t n)
{
    int saved = errno;

    if (f->failed_errno != 0 || alqi_glue_trace_file_is_childs(f))
        return false;
    f->failed_errno = alqi_plat_write_sigsafe(f->fd, bytes, n); /* .inv.quiet */
    if (f->failed_errno == 0)
        f->n_bytes += n;
    else if (f->is_regular)
        while (ftruncate(f->fd, (off_t)f->n_bytes) != 0 && errno == EINTR)
            continue; /* .inv.whole */
    errno = saved;
    return f->failed_errno == 0;
}

int
alqi_glue_trace_file_close(struct alqi_glue_trace_file *f)
{
    bool is_childs = alqi_glue_trace_file_is_childs(f);

    if (close(f->fd) != 0 && errno != EINTR && f->failed_errno == 0)
        f->failed_errno = errno;
    f->fd = -1;
    return is_childs ? 0 : f->failed_errno;
}
