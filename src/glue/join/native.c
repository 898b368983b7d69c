/* native.c -- the modules of the process and the names of their functions
 *
 *   a module: mapped --meet--> known --the first name asked for--> read
 *
 * Any thread moves a module, under `lock`.  A module is known for good: another
 * that is mapped in its place later is a new module (.inv.kept).  A forked
 * child frees the lock, and reads again what another thread was reading.
 * aliquot(1) names a trace's frames anew, by debug information that this
 * library does not read (cli/convert/heap_trace.c); both read files by
 * stack/symbol_elf.h. */
#include <elf.h>
#include <link.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "glue/join/native.h"
#include "plat/plat.h"
#include "plat/process.h"
#include "stack/symbol_elf.h"

enum { SYMBOL_BYTES_MAX = 256 << 20, MODULES_MAX = 4096 };

/* A module; written under `lock`, its symbols once. Readers without the lock
 * need is_read, which they see by taking it. */
struct module {
    struct alqi_glue_module pub;
    bool is_read;     /* its symbols, if it has any */
    ElfW(Sym) * syms; /* functions alone */
    size_t n_syms;    /* valid when is_read */
    char *texts;      /* ends with 0 */
};

static struct alqi_plat_lock lock =
    ALQI_PLAT_LOCK(GLUE_NATIVE); /* of all below */
static struct module *modules[MODULES_MAX];
static unsigned n_modules;

/* ---- symbols ------------------------------------------------------------ */

static bool
is_function(const ElfW(Sym) * s, size_t n_texts)
{
    unsigned type = s->st_info & 15;

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_value != 0 &&
           s->st_shndx != SHN_UNDEF && s->st_name != 0 && s->st_name < n_texts;
}

/* .symtab or, in a stripped file, .dynsym; NULL: neither can be used. */
static const struct alqi_symbol_section *
table_find(const struct alqi_symbol_elf *elf)
{
    const struct alqi_symbol_section *best = NULL;

    for (uint32_t i = 0; i < elf->section_count; i++) {
        const struct alqi_symbol_section *s = &elf->sections[i];

        if (s->entry_bytes == sizeof(ElfW(Sym)) && s->size_bytes > 0 &&
            s->size_bytes <= SYMBOL_BYTES_MAX && s->link < elf->section_count &&
            elf->sections[s->link].size_bytes <= SYMBOL_BYTES_MAX &&
            (s->type == SHT_SYMTAB || (s->type == SHT_DYNSYM && best == NULL)))
            best = s;
    }
    return best;
}

/* Copies the functions of a symbol table and the texts that it names. */
static void
table_copy(struct module *m, const struct alqi_symbol_section *table,
           const struct alqi_symbol_section *texts)
{
    size_t n = table->size_bytes / sizeof *m->syms;

    m->syms = malloc(table->size_bytes);
    m->texts = calloc(1, texts->size_bytes + 1);
    if (m->syms == NULL || m->texts == NULL)
        return;
    memcpy(m->texts, texts->bytes, texts->size_bytes);
    for (size_t i = 0; i < n; i++) {
        ElfW(Sym) *to = &m->syms[m->n_syms];

        memcpy(to, table->bytes + i * sizeof *to, sizeof *to);
        m->n_syms += is_function(to, texts->size_bytes);
    }
}

/* Reads the module's functions; without a file or a table it has none. */
static void
symbols_read_locked(struct module *m)
{
    const struct alqi_symbol_section *table;
    struct alqi_symbol_elf *elf;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_NATIVE));
    m->n_syms = 0; /* a parent may have been at it */
    if (alqi_symbol_elf_open(&elf, m->pub.path) != NULL)
        return; /* such as the vdso */
    table = table_find(elf);
    if (table != NULL)
        table_copy(m, table, &elf->sections[table->link]);
    alqi_symbol_elf_drop(elf);
}

/* The name of the function that the offset lies in; NULL: none. The innermost
 * one if several overlap. Requires is_read. */
static const char *
symbol_find(const struct module *m, uintptr_t at)
{
    const ElfW(Sym) *best = NULL;

    for (size_t i = 0; i < m->n_syms; i++) {
        const ElfW(Sym) *s = &m->syms[i];

        if (at - s->st_value < (s->st_size != 0 ? s->st_size : 1) &&
            (best == NULL || s->st_value > best->st_value))
            best = s;
    }
    return best != NULL ? m->texts + best->st_name : NULL;
}

/* ---- modules ------------------------------------------------------------ */

/* What the linker tells of a module; points into its memory, valid within the
 * callback. */
struct found {
    uintptr_t start, end, bias;
    /* of executable segments; text_end 0: none */
    uintptr_t text_start, text_end;
    uint64_t text_offset;
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
};

/* The build-id among the notes of a segment, which is mapped. */
static void
note_find(struct found *f, const uint8_t *at, size_t n)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name = ((size_t)note->n_namesz + 3) & ~(size_t)3;
        size_t text = ((size_t)note->n_descsz + 3) & ~(size_t)3;

        if (name > n || text > n || sizeof *note + name + text > n)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            memcmp(note + 1, "GNU", 4) == 0) {
            f->build_id = at + sizeof *note + name;
            f->build_id_bytes = note->n_descsz;
            return;
        }
        at += sizeof *note + name + text;
        n -= sizeof *note + name + text;
    }
}

/* A copy that is kept for good; "" without memory. */
static const char *
copy_text(const char *text)
{
    const char *copy = strdup(text);

    return copy != NULL ? copy : "";
}

/* The linker's path of the program itself is empty: the kernel has it. */
static const char *
module_path(const char *path)
{
    char text[PATH_MAX];

    if (path[0] != '\0')
        return copy_text(path);
    alqi_plat_executable_sigsafe(text, sizeof text);
    return copy_text(text);
}

/* A module in the same place by the same path is the same; the main program has
 * no path here. */
static bool
is_known_locked(const struct found *f)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_NATIVE));
    for (unsigned i = n_modules; i-- > 0;) {
        const struct alqi_glue_module *m = &modules[i]->pub;

        if (m->start == f->start && m->end == f->end)
            return f->path[0] == '\0' || strcmp(m->path, f->path) == 0;
    }
    return false;
}

/* Enters a module that is new. The build-id stands behind the struct. */
static void
module_add_locked(const struct found *f)
{
    struct module *m;
    uint8_t *id;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_NATIVE));
    if (n_modules == MODULES_MAX || is_known_locked(f))
        return;
    m = calloc(1, sizeof *m + f->build_id_bytes);
    if (m == NULL)
        return;
    id = (uint8_t *)(m + 1);
    if (f->build_id_bytes > 0)
        memcpy(id, f->build_id, f->build_id_bytes);
    m->pub = (struct alqi_glue_module){
        .start = f->start,
        .end = f->end,
        .bias = f->bias,
        .text_start = f->text_start,
        .text_end = f->text_end,
        .text_offset = f->text_offset,
        .path = module_path(f->path),
        .build_id = id,
        .build_id_bytes = f->build_id_bytes,
        .number = n_modules,
    };
    m->pub.name = alqi_base_file_name(m->pub.path);
    modules[n_modules] = m;
    /* A child forked in between finds no half of it. */
    __atomic_store_n(&n_modules, n_modules + 1, __ATOMIC_RELEASE);
}

/* Adds an executable segment to the text. The text begins with the page that
 * its first segment begins in, as the kernel maps whole pages. */
static void
text_grow(struct found *f, const ElfW(Phdr) * p)
{
    uintptr_t at = f->bias + p->p_vaddr, page = (uintptr_t)getpagesize();

    if ((p->p_flags & PF_X) == 0)
        return;
    if (f->text_end == 0) {
        f->text_start = at & ~(page - 1);
        f->text_offset = p->p_offset & ~(uint64_t)(page - 1);
    }
    if (at + p->p_memsz > f->text_end)
        f->text_end = at + p->p_memsz;
}

/* The callback of dl_iterate_phdr: finds bounds, text and build-id of one
 * module. */
static int
module_met(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct found f = {.start = UINTPTR_MAX, .bias = info->dlpi_addr};

    (void)size;
    (void)arg;
    f.path = info->dlpi_name != NULL ? info->dlpi_name : "";
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_NOTE && f.build_id == NULL)
            note_find(&f, (const uint8_t *)at, p->p_filesz);
        if (p->p_type != PT_LOAD)
            continue;
        if (at < f.start)
            f.start = at;
        if (at + p->p_memsz > f.end)
            f.end = at + p->p_memsz;
        text_grow(&f, p);
    }
    if (f.start < f.end) {
        alqi_plat_lock(&lock);
        module_add_locked(&f);
        alqi_plat_unlock(&lock);
    }
    return 0;
}

/* The linker's own lock is taken before ours, never the other way round. */
void
alqi_glue_native_meet(void)
{
    dl_iterate_phdr(module_met, NULL);
}

/* The struct stays, so the lock is needed for the table alone. */
const struct alqi_glue_module *
alqi_glue_native_module(unsigned number)
{
    const struct alqi_glue_module *m = NULL;

    alqi_plat_lock(&lock);
    if (number < n_modules)
        m = &modules[number]->pub;
    alqi_plat_unlock(&lock);
    return m;
}

/* The latest over the address. */
static struct module *
module_at_locked(uintptr_t at)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_NATIVE));
    for (unsigned i = n_modules; i-- > 0;)
        if (at - modules[i]->pub.start <
            modules[i]->pub.end - modules[i]->pub.start)
            return modules[i];
    return NULL;
}

/* ---- names -------------------------------------------------------------- */

/* The latest module over an address, with the lock taken for the search alone:
 * modules stay. */
static struct module *
module_find(uintptr_t at)
{
    struct module *m;

    alqi_plat_lock(&lock);
    m = module_at_locked(at);
    alqi_plat_unlock(&lock);
    return m;
}

const struct alqi_glue_module *
alqi_glue_native_module_at(uintptr_t pc)
{
    const struct module *m = module_find(pc - 1);

    return m != NULL ? &m->pub : NULL;
}

/* A module that was loaded since the last look is met first. The file is read
 * at the first name that is asked for. */
const char *
alqi_glue_native_name(uintptr_t pc, const struct alqi_glue_module **module,
                      uintptr_t *offset)
{
    uintptr_t at = pc - 1; /* a return address may be one past its function */
    struct module *m = module_find(at);
    const char *name;

    if (m == NULL) {
        alqi_glue_native_meet();
        m = module_find(at);
    }
    *module = m != NULL ? &m->pub : NULL;
    *offset = m != NULL ? at - m->pub.bias : at;
    if (m == NULL)
        return NULL;
    alqi_plat_lock(&lock);
    if (!m->is_read)
        symbols_read_locked(m);
    m->is_read = true;
    alqi_plat_unlock(&lock);
    name = symbol_find(m, *offset);
    return name;
}

/* ---- fork --------------------------------------------------------------- */

static void
after_fork_child(void)
{
    alqi_plat_lock_break(&lock);
}

__attribute__((constructor)) static void
forks_watch(void)
{
    pthread_atfork(NULL, NULL, after_fork_child);
}
