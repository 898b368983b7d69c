/* jit.c -- which file lists the code that the process makes as it runs
 *
 * A program that writes a jitdump maps it as code, for a profiler to see; the
 * file is wherever the program wants it. The header of the recording gets its
 * path: of the first such file, which a forked child has from its parent, with
 * the code.
 *
 *   nothing --a mapping--> path --a recording, now or later--> in the header
 *
 * .pair.dump  alqi_preload_jit_mapped() (release) -> alqi_preload_jit_tell()
 *             (acquire): the path.  Who makes a recording looks many system
 *             calls after its header is there, so that one of the two tells.
 * .pair.told_dump  alqi_preload_jit_tell() (release) -> a reader of the
 *             recording (acquire): the path in the header. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_name.h"
#include "preload/file.h"
#include "preload/preload.h"

enum { FREE, WRITING, WRITTEN };

static struct {
    _Atomic(uint32_t) state; /* .pair.dump */
    char path[ALQI_RAW_JIT_DUMP_BYTES];
} dump;

/* "jit-NUMBER.dump". */
static bool
is_name(const char *name)
{
    size_t n;

    if (strncmp(name, "jit-", 4) != 0)
        return false;
    for (n = 4; isdigit((unsigned char)name[n]); n++)
        continue;
    return n > 4 && strcmp(name + n, ".dump") == 0;
}

/* .pair.told_dump */
void
alqi_preload_jit_tell(struct alqi_raw_header *header)
{
    if (atomic_load_explicit(&dump.state, memory_order_acquire) != WRITTEN)
        return;
    memcpy(header->jit_dump, dump.path, sizeof header->jit_dump);
    atomic_store_explicit(&header->has_jit_dump, 1, memory_order_release);
}

/* The system call itself, as in poll.c. */
void
alqi_preload_jit_mapped(int fd)
{
    char link[40], path[ALQI_RAW_JIT_DUMP_BYTES];
    uint32_t was = FREE;
    int saved = errno;
    long n;

    if (atomic_load_explicit(&dump.state, memory_order_relaxed) != FREE ||
        alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
    errno = saved;
    if (n <= 0 || n >= (long)sizeof path)
        return;
    path[n] = '\0';
    if (!is_name(alqi_base_file_name(path)) ||
        !atomic_compare_exchange_strong(&dump.state, &was, WRITING))
        return;
    strcpy(dump.path, path);
    atomic_store_explicit(&dump.state, WRITTEN, memory_order_release);
    alqi_preload_jit_tell(alqi_preload_file_header());
}
