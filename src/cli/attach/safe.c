/* safe.c -- is this thread at a safe point? (libdwfl)
 *
 * Keeps .inv.safe (doc/design/attach.md): from the innermost frame outward a
 * chain is
 *
 *   [C library, entered by a function that waits]  program ...  [C library]
 *                                                  [the program's first frame]
 *
 * and nothing else is safe: no frame of the linker, of an allocator, of this
 * project's library, of no module, and none that a signal interrupted. */
#include "cli/attach/safe.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"

enum { FRAMES_MAX = 1024, STACK_BYTES_LEAST = 64 << 10, NAME_BYTES_MOST = 40 };

enum kind { PROGRAM, C_LIBRARY, FORBIDDEN };

struct alqi_cli_modules {
    Dwfl *dwfl;
    pid_t pid;
    const char *library;      /* the caller's */
    const char *library_name; /* likewise     */
};

/* ---- files --------------------------------------------------------------- */

/* libdwfl's callbacks have no argument of ours. */
static const struct alqi_cli_modules *opening;

/* A process's paths are those of its own root. */
static int
elf_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
         char **file, Elf **elf)
{
    char path[PATH_MAX + 64];
    int fd;

    if (strcmp(name, opening->library_name) == 0)
        snprintf(path, sizeof path, "%s", opening->library);
    else
        snprintf(path, sizeof path, "/proc/%d/root%s", (int)opening->pid, name);
    fd = name[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return dwfl_linux_proc_find_elf(module, data, name, base, file, elf);
    *file = strdup(path);
    return fd;
}

/* Unwind tables are in the program's own files; others are not looked for. */
static int
no_debuginfo(Dwfl_Module *module, void **data, const char *name,
             Dwarf_Addr base, const char *file, const char *link,
             GElf_Word checksum, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link;
    (void)checksum, (void)found;
    return -1;
}

struct alqi_cli_modules *
alqi_cli_modules_open(const struct alqi_cli_attach_target *target,
                      const char *library, const char *library_name)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = elf_find,
                                             .find_debuginfo = no_debuginfo};
    struct alqi_cli_modules *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->pid = target->pid;
    m->library = library;
    m->library_name = library_name;
    opening = m;
    m->dwfl = dwfl_begin(&callbacks);
    if (m->dwfl != NULL && dwfl_linux_proc_report(m->dwfl, m->pid) == 0 &&
        dwfl_report_end(m->dwfl, NULL, NULL) == 0)
        return m;
    alqi_cli_modules_drop(m);
    return NULL;
}

bool
alqi_cli_modules_attach(struct alqi_cli_modules *m)
{
    opening = m;
    return dwfl_linux_proc_attach(m->dwfl, m->pid, true) == 0;
}

void
alqi_cli_modules_drop(struct alqi_cli_modules *m)
{
    if (m != NULL && m->dwfl != NULL)
        dwfl_end(m->dwfl);
    free(m);
}

static const char *
module_name(Dwfl_Module *module)
{
    const char *name =
        dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

    return name != NULL ? name : "";
}

/* ---- what modules export ------------------------------------------------- */

/* The value of a symbol that the module's dynamic table defines, without the
 * module's bias; false: it defines none. */
static bool
exported(Dwfl_Module *module, const char *name, GElf_Addr *value,
         GElf_Addr *bias)
{
    Elf *elf = dwfl_module_getelf(module, bias);
    Elf_Scn *section = NULL;

    while (elf != NULL && (section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        Elf_Data *data;
        GElf_Sym symbol;

        if (gelf_getshdr(section, &header) == NULL ||
            header.sh_type != SHT_DYNSYM)
            continue;
        data = elf_getdata(section, NULL);
        for (int i = 1; gelf_getsym(data, i, &symbol) != NULL; i++) {
            const char *its = elf_strptr(elf, header.sh_link, symbol.st_name);

            if (symbol.st_shndx != SHN_UNDEF && its != NULL &&
                strcmp(its, name) == 0) {
                *value = symbol.st_value;
                return true;
            }
        }
    }
    return false;
}

/* A look-up, and what it found. */
struct wanted {
    const char *module; /* file name; NULL: the first that defines it */
    const char *name;
    uintptr_t address;
    const char *path; /* of the module that defines it */
};

static int
wanted_visit(Dwfl_Module *module, void **data, const char *path,
             Dwarf_Addr start, void *arg)
{
    struct wanted *w = arg;
    GElf_Addr value, bias = 0;

    (void)data, (void)start;
    if ((w->module != NULL &&
         strcmp(alqi_base_file_name(path), w->module) != 0) ||
        !exported(module, w->name, &value, &bias))
        return DWARF_CB_OK;
    w->address = (uintptr_t)(value + bias);
    w->path = path;
    return DWARF_CB_ABORT;
}

uintptr_t
alqi_cli_modules_symbol(struct alqi_cli_modules *m, const char *module,
                        const char *name)
{
    struct wanted w = {.module = module, .name = name};

    opening = m;
    dwfl_getmodules(m->dwfl, wanted_visit, &w, 0);
    return w.address;
}

const char *
alqi_cli_modules_exporter(struct alqi_cli_modules *m, const char *name)
{
    struct wanted w = {.name = name};

    opening = m;
    dwfl_getmodules(m->dwfl, wanted_visit, &w, 0);
    return w.path;
}

static int
first_visit(Dwfl_Module *module, void **data, const char *path,
            Dwarf_Addr start, void *arg)
{
    (void)data, (void)path, (void)start;
    *(Dwfl_Module **)arg = module;
    return DWARF_CB_ABORT;
}

bool
alqi_cli_modules_program_defines(struct alqi_cli_modules *m, const char *name)
{
    Dwfl_Module *program = NULL;
    GElf_Addr value, bias;

    opening = m;
    dwfl_getmodules(m->dwfl, first_visit, &program, 0);
    return program != NULL && exported(program, name, &value, &bias);
}

/* The section that has the address, and how far behind its begin that is;
 * NULL: none has. */
static const char *
section_at(Dwfl_Module *module, uintptr_t address, GElf_Addr *offset,
           GElf_Shdr *header)
{
    GElf_Addr bias;
    Elf_Scn *section;
    size_t names;

    *offset = address;
    section = dwfl_module_address_section(module, offset, &bias);
    if (section == NULL || gelf_getshdr(section, header) == NULL ||
        elf_getshdrstrndx(dwfl_module_getelf(module, &bias), &names) != 0)
        return NULL;
    return elf_strptr(dwfl_module_getelf(module, &bias), names,
                      header->sh_name);
}

/* A look-up of the module that has an address. */
struct covering {
    uintptr_t address;
    Dwfl_Module *module;
};

static int
covering_visit(Dwfl_Module *module, void **data, const char *path,
               Dwarf_Addr start, void *arg)
{
    struct covering *c = arg;
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    GElf_Phdr header;
    size_t n = 0;

    (void)data, (void)path, (void)start;
    if (elf == NULL || elf_getphdrnum(elf, &n) != 0)
        return DWARF_CB_OK;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &header) != NULL &&
            header.p_type == PT_LOAD &&
            c->address - (header.p_vaddr + bias) < header.p_memsz)
            c->module = module;
    return c->module != NULL ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* libdwfl knows a module by the mappings of its file: zeroed variables behind
 * them are the module's, too. */
static Dwfl_Module *
module_at(struct alqi_cli_modules *m, uintptr_t address)
{
    struct covering c = {.address = address,
                         .module = dwfl_addrmodule(m->dwfl, address)};

    if (c.module == NULL)
        dwfl_getmodules(m->dwfl, covering_visit, &c, 0);
    return c.module;
}

/* The symbol that has the address; NULL: none of the module's has. */
static const char *
symbol_at(Dwfl_Module *module, uintptr_t address, GElf_Off *offset,
          GElf_Sym *symbol)
{
    const char *name =
        dwfl_module_addrinfo(module, address, offset, symbol, NULL, NULL, NULL);

    return name != NULL && *offset < symbol->st_size ? name : NULL;
}

/* What a module has at an address. */
struct variable {
    const char *name; /* the symbol's, else the section's */
    const char *file; /* base name of the module's */
    bool is_symbol;
    uint64_t offset; /* of the address in it */
    uint64_t bytes;  /* of all of it */
};

static bool
variable_at(struct alqi_cli_modules *m, uintptr_t address, struct variable *v)
{
    Dwfl_Module *module;
    GElf_Sym symbol;
    GElf_Shdr header;

    opening = m;
    module = module_at(m, address);
    if (module == NULL)
        return false;
    v->file = alqi_base_file_name(module_name(module));
    v->name = symbol_at(module, address, &v->offset, &symbol);
    v->is_symbol = v->name != NULL;
    if (!v->is_symbol)
        v->name = section_at(module, address, &v->offset, &header);
    if (v->name != NULL)
        v->bytes = v->is_symbol ? symbol.st_size : header.sh_size;
    return v->name != NULL;
}

bool
alqi_cli_modules_place(struct alqi_cli_modules *m, uintptr_t address, char *out,
                       size_t capacity)
{
    struct variable v;

    if (!variable_at(m, address, &v))
        return false;
    if (!v.is_symbol)
        snprintf(out, capacity, "%s %s+0x%" PRIx64, v.file, v.name, v.offset);
    else if (v.offset == 0)
        snprintf(out, capacity, "%s (%s)", v.name, v.file);
    else
        snprintf(out, capacity, "%s+0x%" PRIx64 " (%s)", v.name, v.offset,
                 v.file);
    return true;
}

bool
alqi_cli_modules_variable(struct alqi_cli_modules *m, uintptr_t address,
                          char *out, size_t capacity, uint64_t *from,
                          uint64_t *to)
{
    struct variable v;

    if (!variable_at(m, address, &v))
        return false;
    if (v.is_symbol)
        snprintf(out, capacity, "%s (%s)", v.name, v.file);
    else
        snprintf(out, capacity, "%s %s", v.file, v.name);
    *from = address - v.offset;
    *to = *from + v.bytes;
    return true;
}

/* Adds the module's thread-local variables, as aligned as they ask for. */
static int
tls_visit(Dwfl_Module *module, void **data, const char *path, Dwarf_Addr start,
          void *arg)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    uint64_t *bytes = arg;
    GElf_Phdr header;
    size_t n = 0;

    (void)data, (void)path, (void)start;
    if (elf == NULL || elf_getphdrnum(elf, &n) != 0)
        return DWARF_CB_OK;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &header) != NULL &&
            header.p_type == PT_TLS)
            *bytes += header.p_memsz + header.p_align;
    return DWARF_CB_OK;
}

uint64_t
alqi_cli_modules_tls_bytes(struct alqi_cli_modules *m)
{
    uint64_t bytes = 0;

    opening = m;
    dwfl_getmodules(m->dwfl, tls_visit, &bytes, 0);
    return bytes;
}

/* ---- frames -------------------------------------------------------------- */

struct chain {
    struct alqi_cli_modules *modules;
    unsigned n_frames;
    struct {
        enum kind kind;
        bool is_waiting; /* a function of the C library that waits */
    } frames[FRAMES_MAX];
};

/* Entry points of the C library that wait in the system, take no lock over it,
 * and allocate nothing. */
static bool
is_waiting_name(const char *name)
{
    static const char names[] =
        " accept accept4 clock_nanosleep connect epoll_pwait epoll_pwait2 "
        "epoll_wait fsync msgrcv nanosleep pause poll ppoll pread64 pselect "
        "pthread_barrier_wait pthread_cond_clockwait pthread_cond_timedwait "
        "pthread_cond_wait pthread_join pthread_timedjoin_np read readv recv "
        "recvfrom recvmmsg recvmsg select sem_clockwait sem_timedwait sem_wait "
        "semop semtimedop send sendmsg sigsuspend sigtimedwait sigwait "
        "sigwaitinfo sleep syscall usleep wait wait3 wait4 waitid waitpid "
        "write writev ";
    char word[NAME_BYTES_MOST + 3];
    size_t n;

    name += strspn(name, "_");
    n = strcspn(name, "@"); /* the version */
    if (n == 0 || n > NAME_BYTES_MOST)
        return false;
    snprintf(word, sizeof word, " %.*s ", (int)n, name);
    return strstr(names, word) != NULL;
}

static bool
is_c_library(const char *file)
{
    return strcmp(file, "libc.so.6") == 0 ||
           strcmp(file, "libpthread.so.0") == 0;
}

/* Not the C library: the linker, this project's library, or an allocator.  The
 * verdict is kept with the module. */
static bool
is_forbidden(const struct alqi_cli_modules *m, Dwfl_Module *module,
             const char *path)
{
    static char yes, no;
    const char *file = alqi_base_file_name(path);
    GElf_Addr value, bias;
    void **kept;

    dwfl_module_info(module, &kept, NULL, NULL, NULL, NULL, NULL, NULL);
    if (*kept == NULL)
        *kept = strncmp(file, "ld-linux", 8) == 0 ||
                        strcmp(path, m->library_name) == 0 ||
                        exported(module, "malloc", &value, &bias)
                    ? &yes
                    : &no;
    return *kept == &yes;
}

static int
frame_visit(Dwfl_Frame *frame, void *arg)
{
    struct chain *c = arg;
    bool is_exact = false;
    Dwfl_Module *module;
    Dwarf_Addr pc;
    const char *path, *name;

    if (c->n_frames == FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_exact))
        return DWARF_CB_ABORT;
    if (is_exact && c->n_frames > 0)
        return DWARF_CB_ABORT; /* a signal interrupted it */
    module = dwfl_addrmodule(c->modules->dwfl, is_exact ? pc : pc - 1);
    if (module == NULL)
        return DWARF_CB_ABORT;
    path = module_name(module);
    if (is_c_library(alqi_base_file_name(path))) {
        name = dwfl_module_addrname(module, is_exact ? pc : pc - 1);
        c->frames[c->n_frames].kind = C_LIBRARY;
        c->frames[c->n_frames].is_waiting =
            name != NULL && is_waiting_name(name);
    } else if (is_forbidden(c->modules, module, path)) {
        return DWARF_CB_ABORT;
    }
    c->n_frames++;
    return DWARF_CB_OK;
}

/* The chain of the head of this file. */
static bool
is_chain_safe(const struct chain *c, bool is_in_call)
{
    unsigned inner = 0, outer = c->n_frames;

    if (outer > 1 && c->frames[outer - 2].kind == C_LIBRARY)
        outer--; /* a program's first frame, which calls the C library */
    while (inner < outer && c->frames[inner].kind == C_LIBRARY)
        inner++;
    while (outer > inner && c->frames[outer - 1].kind == C_LIBRARY)
        outer--;
    for (unsigned i = inner; i < outer; i++)
        if (c->frames[i].kind == C_LIBRARY)
            return false;
    return inner < outer &&
           (inner == 0 || (is_in_call && c->frames[inner - 1].is_waiting));
}

bool
alqi_cli_is_safe(struct alqi_cli_modules *m,
                 const struct alqi_cli_attach_target *target,
                 const struct alqi_plat_stopped *thread)
{
    const struct alqi_cli_mapping *stack =
        alqi_cli_attach_target_at(target, thread->sp);
    static struct chain chain; /* large */

    memset(&chain, 0, sizeof chain);
    chain.modules = m;
    opening = m;
    if (thread->is_in_sequence || stack == NULL ||
        (thread->sp - stack->start < STACK_BYTES_LEAST &&
         strcmp(stack->path, "[stack]") != 0))
        return false;
    return dwfl_getthread_frames(m->dwfl, thread->tid, frame_visit, &chain) ==
               0 &&
           is_chain_safe(&chain, thread->call >= 0);
}
