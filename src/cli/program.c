#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/program.h"

enum { SCRIPT_DEPTH_MAX = 4, HEAD_BYTES = 4096, SEGMENTS_MAX = 512 };

static bool
is_executable_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

static enum alqi_cli_program_kind
path_find(const char *name, char *path, size_t capacity)
{
    const char *dirs = getenv("PATH");
    bool is_there = false;

    if (strchr(name, '/') != NULL) {
        snprintf(path, capacity, "%s", name);
        if (access(path, F_OK) != 0)
            return ALQI_PROGRAM_NOT_FOUND;
        return is_executable_file(path) ? ALQI_PROGRAM_OK
                                        : ALQI_PROGRAM_NOT_EXEC;
    }
    if (dirs == NULL)
        dirs = "/bin:/usr/bin";
    while (*name != '\0') {
        size_t n = strcspn(dirs, ":");

        snprintf(path, capacity, "%.*s%s%s", (int)n, dirs, n != 0 ? "/" : "./",
                 name);
        if (is_executable_file(path))
            return ALQI_PROGRAM_OK;
        is_there = is_there || access(path, F_OK) == 0;
        if (dirs[n] == '\0')
            break;
        dirs += n + 1;
    }
    return is_there ? ALQI_PROGRAM_NOT_EXEC : ALQI_PROGRAM_NOT_FOUND;
}

static bool
is_privileged(const char *path, int fd, char *what, size_t capacity)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return false;
    if ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid())
        snprintf(what, capacity, "set-user-ID");
    else if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
             st.st_gid != getgid())
        snprintf(what, capacity, "set-group-ID");
    else if (getuid() != 0 &&
             getxattr(path, "security.capability", NULL, 0) > 0)
        snprintf(what, capacity, "given capabilities");
    else
        return false;
    return true;
}

/* Whether the ELF file asks for a dynamic linker. */
static bool
has_interpreter(int fd, const Elf64_Ehdr *eh)
{
    for (unsigned i = 0; i < eh->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr ph;
        off_t at = (off_t)(eh->e_phoff + i * (uint64_t)eh->e_phentsize);

        if (pread(fd, &ph, sizeof ph, at) != (ssize_t)sizeof ph)
            return false;
        if (ph.p_type == PT_INTERP)
            return true;
    }
    return false;
}

static enum alqi_cli_program_kind
elf_inspect(int fd, const char *head, size_t n, char *what, size_t capacity)
{
#if defined(__x86_64__)
    const unsigned machine = EM_X86_64;
#elif defined(__aarch64__)
    const unsigned machine = EM_AARCH64;
#endif
    Elf64_Ehdr eh;

    if (n < sizeof eh || head[EI_CLASS] != ELFCLASS64) {
        snprintf(what, capacity, "a 32-bit program");
        return ALQI_PROGRAM_FOREIGN;
    }
    memcpy(&eh, head, sizeof eh);
    if (eh.e_machine != machine) {
        snprintf(what, capacity, "a program for another machine");
        return ALQI_PROGRAM_FOREIGN;
    }
    if (!has_interpreter(fd, &eh)) {
        snprintf(what, capacity, "statically linked");
        return ALQI_PROGRAM_STATIC;
    }
    return ALQI_PROGRAM_OK;
}

/* The path behind "#!". */
static void
shebang_parse(const char *head, char *path, size_t capacity)
{
    const char *p = head + 2;

    p += strspn(p, " \t");
    snprintf(path, capacity, "%.*s", (int)strcspn(p, " \t\n"), p);
}

static enum alqi_cli_program_kind
file_inspect(const char *path, struct alqi_cli_program *out, unsigned depth)
{
    char head[HEAD_BYTES + 1];
    enum alqi_cli_program_kind kind = ALQI_PROGRAM_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return ALQI_PROGRAM_OK; /* executable but not readable: exec decides */
    n = read(fd, head, HEAD_BYTES);
    head[n > 0 ? n : 0] = '\0';
    if (n >= 4 && memcmp(head, ELFMAG, SELFMAG) == 0) {
        if (is_privileged(path, fd, out->what, sizeof out->what))
            kind = ALQI_PROGRAM_PRIVILEGED;
        else
            kind =
                elf_inspect(fd, head, (size_t)n, out->what, sizeof out->what);
    } else if (n >= 2 && memcmp(head, "#!", 2) == 0 &&
               depth < SCRIPT_DEPTH_MAX) {
        shebang_parse(head, out->interpreter, sizeof out->interpreter);
        kind = file_inspect(out->interpreter, out, depth + 1);
    }
    close(fd);
    return kind;
}

void
alqi_cli_program_inspect(const char *name, struct alqi_cli_program *out)
{
    memset(out, 0, sizeof *out);
    out->kind = path_find(name, out->path, sizeof out->path);
    if (out->kind == ALQI_PROGRAM_OK)
        out->kind = file_inspect(out->path, out, 0);
}
