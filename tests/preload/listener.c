/* listener.c -- a tracer of USDT probes that needs no BPF
 *
 * usage: listener LIBRARY EVENTS PROGRAM [ARGUMENT...]
 *
 * Runs PROGRAM with LIBRARY preloaded and puts a breakpoint on each probe of
 * its notes, as the kernel does for BPF.  A program that sends itself SIGUSR1
 * is listened to from there: semaphores are raised; SIGUSR2 lowers them and
 * takes the breakpoints out.  Its threads and forked children are followed.
 *
 * EVENTS gets a line for each firing: the process, the probe, its arguments in
 * hex, taken from where the note says.  Exits as PROGRAM does. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __x86_64__
enum { TRAP_BYTES = 1, TRAP_SKIPS = 1 };
static const uint8_t trap[] = {0xCC};
#define PC(regs) ((regs).rip)
#elif defined __aarch64__
/* The program counter stays at a brk. */
enum { TRAP_BYTES = 4, TRAP_SKIPS = 0 };
static const uint8_t trap[] = {0x00, 0x00, 0x20, 0xD4};
#define PC(regs) ((regs).pc)
#else
#error "which instruction is a breakpoint here?"
#endif

enum { PROBES_MAX = 8 };

static struct probe {
    uint64_t location, semaphore; /* in the file's addresses */
    const char *name, *arguments;
    uint8_t nop[TRAP_BYTES];
} probes[PROBES_MAX];

static unsigned n_probes;
static const char *library;
static FILE *events;
static bool is_listening;
static uint64_t bias; /* where the library is, of everyone forked, too */

static _Noreturn void
die(const char *what)
{
    fprintf(stderr, "listener: %s: %s\n", what, strerror(errno));
    exit(99);
}

/* ---- notes --------------------------------------------------------------- */

/* Descriptor: location, base, semaphore; provider, name, arguments. */
static void
note_take(const uint8_t *descriptor)
{
    struct probe *p = &probes[n_probes++];
    const char *provider = (const char *)descriptor + 24;

    if (n_probes > PROBES_MAX)
        die("too many probes");
    memcpy(&p->location, descriptor, 8);
    memcpy(&p->semaphore, descriptor + 16, 8);
    p->name = provider + strlen(provider) + 1;
    p->arguments = p->name + strlen(p->name) + 1;
}

static void
notes_read(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const Elf64_Nhdr *note = (const void *)at;
        const uint8_t *name = at + sizeof *note;
        const uint8_t *descriptor = name + ((note->n_namesz + 3) & ~3u);

        if (note->n_type == 3 && strcmp((const char *)name, "stapsdt") == 0)
            note_take(descriptor);
        at = descriptor + ((note->n_descsz + 3) & ~3u);
    }
}

static void
library_read(void)
{
    int fd = open(library, O_RDONLY);
    struct stat st;
    const uint8_t *file;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    const char *names;

    if (fd < 0 || fstat(fd, &st) != 0)
        die(library);
    file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        die(library);
    head = (const void *)file;
    sections = (const void *)(file + head->e_shoff);
    names = (const char *)file + sections[head->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, ".note.stapsdt") == 0)
            notes_read(file + sections[i].sh_offset,
                       file + sections[i].sh_offset + sections[i].sh_size);
}

/* ---- the program's memory ------------------------------------------------ */

static void
memory(pid_t pid, bool is_write, uint64_t at, void *bytes, size_t n)
{
    char path[64];
    int fd;
    ssize_t got;

    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    fd = open(path, is_write ? O_RDWR : O_RDONLY);
    got = is_write ? pwrite(fd, bytes, n, (off_t)at)
                   : pread(fd, bytes, n, (off_t)at);
    if (fd < 0 || got != (ssize_t)n)
        die("memory of the program");
    close(fd);
}

static void
bias_find(pid_t pid)
{
    char path[64], line[4300];
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strstr(line, library) == NULL)
            continue;
        bias = strtoull(line, NULL, 16); /* of offset 0 */
        fclose(maps);
        return;
    }
    die("the library is not in the program");
}

static void
listen_set(pid_t pid, bool on)
{
    if (on == is_listening)
        return;
    is_listening = on;
    bias_find(pid);
    for (unsigned i = 0; i < n_probes; i++) {
        struct probe *p = &probes[i];
        uint16_t semaphore;

        if (on)
            memory(pid, false, bias + p->location, p->nop, TRAP_BYTES);
        memory(pid, true, bias + p->location,
               on ? (void *)(uintptr_t)trap : p->nop, TRAP_BYTES);
        memory(pid, false, bias + p->semaphore, &semaphore, 2);
        semaphore = (uint16_t)(semaphore + (on ? 1 : -1));
        memory(pid, true, bias + p->semaphore, &semaphore, 2);
    }
}

/* ---- firings ------------------------------------------------------------- */

static uint64_t
register_named(const struct user_regs_struct *r, const char *name, size_t n)
{
#if defined __x86_64__
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        {"rax", r->rax}, {"rbx", r->rbx}, {"rcx", r->rcx}, {"rdx", r->rdx},
        {"rsi", r->rsi}, {"rdi", r->rdi}, {"rbp", r->rbp}, {"rsp", r->rsp},
        {"r8", r->r8},   {"r9", r->r9},   {"r10", r->r10}, {"r11", r->r11},
        {"r12", r->r12}, {"r13", r->r13}, {"r14", r->r14}, {"r15", r->r15}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0)
            return all[i].value;
#else
    if (n > 1 && name[0] == 'x' && atoi(name + 1) < 31)
        return r->regs[atoi(name + 1)];
#endif
    fprintf(stderr, "listener: register %.*s\n", (int)n, name);
    exit(98);
}

/* "8@%rdi" and "8@x0": this test wants arguments in registers. */
static uint64_t
argument(const struct user_regs_struct *r, const char **at)
{
    const char *name = strchr(*at, '@') + 1;
    size_t n;

    if (*name == '%')
        name++;
    n = strcspn(name, " ");
    *at = name + n + strspn(name + n, " ");
    return register_named(r, name, n);
}

static int
process_of(pid_t tid)
{
    char path[64], line[100];
    int pid = -1;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    f = fopen(path, "r");
    while (f != NULL && pid < 0 && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "Tgid: %d", &pid);
    if (f != NULL)
        fclose(f);
    return pid;
}

static bool
fired(pid_t tid)
{
    struct user_regs_struct regs;
    struct iovec io = {&regs, sizeof regs};
    uint64_t pc;

    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) != 0)
        die("registers");
    pc = PC(regs) - TRAP_SKIPS - bias;
    for (unsigned i = 0; i < n_probes; i++) {
        if (probes[i].location != pc)
            continue;
        fprintf(events, "%d %s", process_of(tid), probes[i].name);
        for (const char *at = probes[i].arguments; *at != '\0';)
            fprintf(events, " %lx", (unsigned long)argument(&regs, &at));
        fprintf(events, "\n");
        if (TRAP_SKIPS == 0) {
            PC(regs) += TRAP_BYTES;
            ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &io);
        }
        return true;
    }
    return false;
}

/* ---- the program --------------------------------------------------------- */

/* The signal to pass on. */
static int
stopped(pid_t tid, int status)
{
    int signal = WSTOPSIG(status);

    if (status >> 16 != 0 || signal == SIGSTOP) /* an event; a new task */
        return 0;
    if (signal == SIGUSR1 || signal == SIGUSR2) {
        listen_set(tid, signal == SIGUSR1);
        return 0;
    }
    return signal == SIGTRAP && fired(tid) ? 0 : signal;
}

static pid_t
start(char **argv)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    setenv("LD_PRELOAD", library, 1);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(argv[0], argv);
    _exit(127);
}

int
main(int argc, char **argv)
{
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC;
    pid_t first, tid;
    int status;

    if (argc < 4)
        return 99;
    library = argv[1];
    library_read();
    events = fopen(argv[2], "w");
    if (events == NULL)
        die(argv[2]);
    first = start(argv + 3);
    if (first < 0 || waitpid(first, &status, 0) != first ||
        !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, first, 0, options) != 0) {
        fprintf(stderr, "listener: denied: ptrace: %s\n", strerror(errno));
        return 77;
    }
    ptrace(PTRACE_CONT, first, 0, 0);
    while ((tid = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status))
            ptrace(PTRACE_CONT, tid, 0, stopped(tid, status));
        else if (tid == first)
            break;
    }
    fclose(events);
    if (WIFSIGNALED(status))
        fprintf(stderr, "listener: signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
