/* program.c -- whether a preload can come into a program: its first bytes
 *
 *   "#!"   its interpreter is looked at, SCRIPT_DEPTH_MAX times at most
 *   ELF    privileged, then width, then machine, then the dynamic linker
 *   else   OK, as a file that cannot be opened: exec decides
 *
 * All memory is on the stack, and all calls are system calls: the caller may
 * be between vfork and exec. */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "plat/program.h"

enum { SCRIPT_DEPTH_MAX = 4, HEAD_BYTES = 1024, SEGMENTS_MAX = 512 };

static bool
is_privileged(const char *path, int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    return ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid()) ||
           ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
            st.st_gid != getgid()) ||
           (getuid() != 0 &&
            getxattr(path, "security.capability", NULL, 0) > 0);
}

/* By its name: of the dynamic linkers that are not glibc's. */
static bool
is_of_another_libc(const char *linker)
{
    static const char *const others[] = {"ld-musl", "ld-uClibc", "ld64-uClibc",
                                         "linker64"};
    const char *name = alqi_base_file_name(linker);

    for (size_t i = 0; i < ALQI_COUNT_OF(others); i++)
        if (strncmp(name, others[i], strlen(others[i])) == 0)
            return true;
    return false;
}

/* Whether a file without an interpreter is a library: a dynamic linker, which
 * loads the program that it is given. */
static bool
has_soname(int fd, const Elf64_Phdr *dynamic)
{
    Elf64_Dyn d = {.d_tag = DT_NULL};

    for (unsigned i = 0; i < dynamic->p_filesz / sizeof d; i++) {
        off_t at = (off_t)(dynamic->p_offset + i * sizeof d);

        if (pread(fd, &d, sizeof d, at) != (ssize_t)sizeof d ||
            d.d_tag == DT_NULL || d.d_tag == DT_SONAME)
            break;
    }
    return d.d_tag == DT_SONAME;
}

static enum alqi_plat_program
linker_look(const char *path, int fd, const Elf64_Ehdr *eh)
{
    Elf64_Phdr ph, dynamic = {.p_filesz = 0};
    char linker[256];
    ssize_t n;

    for (unsigned i = 0; i < eh->e_phnum && i < SEGMENTS_MAX; i++) {
        off_t at = (off_t)(eh->e_phoff + i * (uint64_t)eh->e_phentsize);

        if (pread(fd, &ph, sizeof ph, at) != (ssize_t)sizeof ph)
            return ALQI_PLAT_PROGRAM_STATIC;
        if (ph.p_type == PT_DYNAMIC)
            dynamic = ph;
        if (ph.p_type != PT_INTERP)
            continue;
        n = pread(fd, linker, sizeof linker - 1, (off_t)ph.p_offset);
        linker[n > 0 ? n : 0] = '\0';
        return is_of_another_libc(linker) ? ALQI_PLAT_PROGRAM_LIBC
                                          : ALQI_PLAT_PROGRAM_OK;
    }
    if (is_of_another_libc(path))
        return ALQI_PLAT_PROGRAM_LIBC;
    return has_soname(fd, &dynamic) ? ALQI_PLAT_PROGRAM_OK
                                    : ALQI_PLAT_PROGRAM_STATIC;
}

static enum alqi_plat_program
elf_look(const char *path, int fd, const char *head, size_t n)
{
#if defined(__x86_64__)
    const unsigned machine = EM_X86_64;
#elif defined(__aarch64__)
    const unsigned machine = EM_AARCH64;
#endif
    Elf64_Ehdr eh;

    if (is_privileged(path, fd))
        return ALQI_PLAT_PROGRAM_PRIVILEGED;
    if (n < sizeof eh || head[EI_CLASS] != ELFCLASS64)
        return ALQI_PLAT_PROGRAM_WIDTH;
    memcpy(&eh, head, sizeof eh);
    return eh.e_machine != machine ? ALQI_PLAT_PROGRAM_MACHINE
                                   : linker_look(path, fd, &eh);
}

/* The path behind "#!". */
static void
shebang_parse(const char *head, char file[ALQI_PLAT_PROGRAM_PATH])
{
    const char *p = head + 2 + strspn(head + 2, " \t");
    size_t n = strcspn(p, " \t\n");

    if (n >= ALQI_PLAT_PROGRAM_PATH)
        n = ALQI_PLAT_PROGRAM_PATH - 1;
    memcpy(file, p, n);
    file[n] = '\0';
}

enum alqi_plat_program
alqi_plat_program_look(const char *path, char file[ALQI_PLAT_PROGRAM_PATH])
{
    enum alqi_plat_program program = ALQI_PLAT_PROGRAM_OK;
    char head[HEAD_BYTES + 1];

    file[0] = '\0';
    for (unsigned depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n;

        if (fd < 0)
            return ALQI_PLAT_PROGRAM_OK; /* exec decides */
        n = read(fd, head, HEAD_BYTES);
        head[n > 0 ? n : 0] = '\0';
        if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
            program = elf_look(path, fd, head, (size_t)n);
        close(fd);
        if (n < 2 || memcmp(head, "#!", 2) != 0)
            return program;
        shebang_parse(head, file);
        path = file;
    }
    return program;
}

const char *
alqi_plat_program_text(enum alqi_plat_program program)
{
    static const char *const text[] = {
        [ALQI_PLAT_PROGRAM_OK] = "ordinary",
        [ALQI_PLAT_PROGRAM_STATIC] = "statically linked",
        [ALQI_PLAT_PROGRAM_WIDTH] = "a 32-bit program",
        [ALQI_PLAT_PROGRAM_MACHINE] = "a program for another machine",
        [ALQI_PLAT_PROGRAM_LIBC] = "of another C library",
        [ALQI_PLAT_PROGRAM_PRIVILEGED] =
            "set-user-ID, set-group-ID or given capabilities"};

    return text[program];
}
