/* own_find.c -- the allocators that are linked into the program
 *                                                     [doc/design/patch.md]
 *
 * By the names of the functions that the program defines: those of its symbol
 * table, also hidden ones, or of its dynamic one if it was stripped.
 *
 *   prefix: asked for, or known --has PREFIXmalloc and PREFIXfree--> found
 *           no prefix: malloc and free themselves
 *
 * .inv.family  The functions of an allocator are patched together, or none is:
 *              a block that is seen to come is seen to go. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plat/process.h"
#include "preload/own.h"

enum { ENTRIES_MAX = 128 };

/* What comes behind a prefix. */
static const struct {
    const char *name;
    enum alqi_preload_own_kind kind;
} functions[] = {
    {"malloc", ALQI_OWN_SIZE},
    {"calloc", ALQI_OWN_PRODUCT},
    {"realloc", ALQI_OWN_REALLOC},
    {"free", ALQI_OWN_FREE},
    {"cfree", ALQI_OWN_FREE},
    {"memalign", ALQI_OWN_SIZE_SECOND},
    {"aligned_alloc", ALQI_OWN_SIZE_SECOND},
    {"posix_memalign", ALQI_OWN_STATUS},
    {"valloc", ALQI_OWN_SIZE},
    {"pvalloc", ALQI_OWN_SIZE},
    /* jemalloc */
    {"mallocx", ALQI_OWN_SIZE},
    {"rallocx", ALQI_OWN_REALLOC},
    {"dallocx", ALQI_OWN_FREE},
    {"sdallocx", ALQI_OWN_FREE},
    /* mimalloc */
    {"zalloc", ALQI_OWN_SIZE},
    {"malloc_small", ALQI_OWN_SIZE},
    {"zalloc_small", ALQI_OWN_SIZE},
    {"malloc_aligned", ALQI_OWN_SIZE},
    {"zalloc_aligned", ALQI_OWN_SIZE},
    {"calloc_aligned", ALQI_OWN_PRODUCT},
    {"realloc_aligned", ALQI_OWN_REALLOC},
    {"rezalloc", ALQI_OWN_REALLOC},
    {"heap_malloc", ALQI_OWN_SIZE_SECOND},
    {"heap_zalloc", ALQI_OWN_SIZE_SECOND},
    {"heap_malloc_aligned", ALQI_OWN_SIZE_SECOND},
    {"free_size", ALQI_OWN_FREE},
    {"free_aligned", ALQI_OWN_FREE},
    {"free_size_aligned", ALQI_OWN_FREE},
    {"new_n", ALQI_OWN_PRODUCT},
    /* both, for C++ */
    {"new", ALQI_OWN_SIZE},
    {"new_nothrow", ALQI_OWN_SIZE},
    {"new_aligned", ALQI_OWN_SIZE},
    {"new_aligned_nothrow", ALQI_OWN_SIZE},
    /* gperftools' tcmalloc */
    {"newarray", ALQI_OWN_SIZE},
    {"newarray_nothrow", ALQI_OWN_SIZE},
    {"newarray_aligned", ALQI_OWN_SIZE},
    {"newarray_aligned_nothrow", ALQI_OWN_SIZE},
    {"malloc_skip_new_handler", ALQI_OWN_SIZE},
    {"free_sized", ALQI_OWN_FREE},
};

/* C++'s operators, in front of what tells them apart: of an allocator alone
 * whose operators do not call its malloc (has_operators). */
static const struct {
    const char *name;
    enum alqi_preload_own_kind kind;
} operators[] = {
    {"_Znwm", ALQI_OWN_SIZE},
    {"_Znam", ALQI_OWN_SIZE},
    {"_ZdlPv", ALQI_OWN_FREE},
    {"_ZdaPv", ALQI_OWN_FREE},
};

static const char *const known[] = {"", "je_", "_rjem_", "mi_", "tc_"};

enum { PREFIXES_MAX = ALQI_ALLOCATORS_MAX + ALQI_COUNT_OF(known) };

struct prefix {
    char text[ALQI_ALLOCATOR_BYTES_MAX + 1];
    size_t n_text;
    bool is_asked; /* by the program's user */
    bool has_malloc, has_free, has_operators;
    bool is_mimalloc;
};

/* The program's file. */
struct program {
    const uint8_t *bytes;
    size_t n_bytes;
    const Elf64_Sym *symbols;
    size_t n_symbols;
    const char *names; /* end with a NUL */
    size_t n_names;
    uintptr_t bias, text_start, text_end;
};

static struct prefix prefixes[PREFIXES_MAX];
static unsigned n_prefixes;
static bool is_first[256]; /* letter of what prefixes_mark looks for */
static struct alqi_preload_own_entry entries[ENTRIES_MAX];
static size_t n_entries;

/* ---- the program's symbols ----------------------------------------------- */

static bool
has_bytes(const struct program *p, uint64_t at, uint64_t n)
{
    return at <= p->n_bytes && n <= p->n_bytes - at;
}

/* The table and its names; false: they are not in the file. */
static bool
table_take(struct program *p, const Elf64_Shdr *sections, size_t n_sections,
           const Elf64_Shdr *table)
{
    const Elf64_Shdr *names;

    if (table->sh_link >= n_sections || table->sh_entsize != sizeof(Elf64_Sym))
        return false;
    names = &sections[table->sh_link];
    if (!has_bytes(p, table->sh_offset, table->sh_size) ||
        !has_bytes(p, names->sh_offset, names->sh_size) ||
        table->sh_offset % _Alignof(Elf64_Sym) != 0 || names->sh_size == 0 ||
        p->bytes[names->sh_offset + names->sh_size - 1] != '\0')
        return false;
    p->symbols = (const Elf64_Sym *)(p->bytes + table->sh_offset);
    p->n_symbols = table->sh_size / sizeof(Elf64_Sym);
    p->names = (const char *)p->bytes + names->sh_offset;
    p->n_names = names->sh_size;
    return true;
}

/* The symbol table, or else the dynamic one. */
static bool
table_find(struct program *p)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)p->bytes;
    const Elf64_Shdr *sections;
    static const uint32_t kinds[] = {SHT_SYMTAB, SHT_DYNSYM};

    if (p->n_bytes < sizeof *head ||
        !has_bytes(p, head->e_shoff, head->e_shnum * sizeof *sections) ||
        head->e_shoff % _Alignof(Elf64_Shdr) != 0)
        return false;
    sections = (const Elf64_Shdr *)(p->bytes + head->e_shoff);
    for (unsigned k = 0; k < ALQI_COUNT_OF(kinds); k++)
        for (size_t i = 0; i < head->e_shnum; i++)
            if (sections[i].sh_type == kinds[k] &&
                table_take(p, sections, head->e_shnum, &sections[i]))
                return true;
    return false;
}

static int
place_read(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct program *p = arg;

    (void)size;
    p->bias = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *s = &info->dlpi_phdr[i];

        if (s->p_type == PT_LOAD && (s->p_flags & PF_X) != 0) {
            p->text_start = p->bias + s->p_vaddr;
            p->text_end = p->text_start + s->p_filesz;
        }
    }
    return 1; /* the program comes first */
}

/* Maps the program's file; false: it cannot be read, or has no symbols. */
static bool
program_open(struct program *p)
{
    char path[PATH_MAX];
    void *bytes = MAP_FAILED;
    struct stat st;
    int fd;

    *p = (struct program){0};
    alqi_plat_executable_sigsafe(path, sizeof path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED)
        return false;
    p->bytes = bytes;
    p->n_bytes = (size_t)st.st_size;
    dl_iterate_phdr(place_read, p);
    return table_find(p);
}

static void
program_close(const struct program *p)
{
    if (p->bytes != NULL)
        munmap((void *)p->bytes, p->n_bytes);
}

/* The name of a function that the program defines, or "". */
static const char *
function_name(const struct program *p, const Elf64_Sym *s)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);

    return type == STT_FUNC && s->st_shndx != SHN_UNDEF &&
                   s->st_name < p->n_names
               ? p->names + s->st_name
               : "";
}

/* ---- which of them ------------------------------------------------------- */

static void
prefix_add(const char *text, size_t n, bool is_asked)
{
    struct prefix *p = &prefixes[n_prefixes];

    memcpy(p->text, text, n);
    p->text[n] = '\0';
    p->n_text = n;
    p->is_asked = is_asked;
    n_prefixes++;
    for (const char *c = n > 0 ? p->text : "mf"; *c != '\0'; c++)
        is_first[(unsigned char)*c] = true;
}

/* One that is asked for, or a message that it is left out. */
static void
asked_add(const char *text, size_t n)
{
    char message[120 + ALQI_ALLOCATOR_BYTES_MAX];

    if (n <= ALQI_ALLOCATOR_BYTES_MAX && n_prefixes < ALQI_ALLOCATORS_MAX) {
        prefix_add(text, n, true);
        return;
    }
    snprintf(message, sizeof message,
             "allocator=%.*s is left out: at most %d, of %d bytes each",
             (int)(n < ALQI_ALLOCATOR_BYTES_MAX ? n : ALQI_ALLOCATOR_BYTES_MAX),
             text, ALQI_ALLOCATORS_MAX, ALQI_ALLOCATOR_BYTES_MAX);
    alqi_preload_log(message);
}

/* Those asked for come first. */
static void
prefixes_fill(void)
{
    const char *text = alqi_preload_config.allocators;

    while (*text != '\0') {
        size_t n = strcspn(text, ":");

        asked_add(text, n);
        text += n + (text[n] == ':');
    }
    for (unsigned i = 0; i < ALQI_COUNT_OF(known); i++)
        prefix_add(known[i], strlen(known[i]), false);
}

/* What mimalloc has else: copies of texts that do not ask its malloc, and
 * functions that begin with a call, which cannot be moved, and then ask free,
 * memalign or malloc_aligned, which are patched. */
static const struct {
    const char *name;
    enum alqi_preload_own_kind kind;
} mimalloc[] = {
    {"strdup", ALQI_OWN_TEXT},   {"strndup", ALQI_OWN_TEXT_PART},
    {"cfree", ALQI_OWN_KINDS},   {"valloc", ALQI_OWN_KINDS},
    {"pvalloc", ALQI_OWN_KINDS},
};

/* What a name is by a prefix, or ALQI_OWN_KINDS. */
static enum alqi_preload_own_kind
kind_by(const struct prefix *p, const char *name)
{
    const char *rest = name + p->n_text;

    if (strncmp(name, p->text, p->n_text) != 0)
        return ALQI_OWN_KINDS;
    for (unsigned i = 0; p->is_mimalloc && i < ALQI_COUNT_OF(mimalloc); i++)
        if (strcmp(rest, mimalloc[i].name) == 0)
            return mimalloc[i].kind;
    for (unsigned i = 0; i < ALQI_COUNT_OF(functions); i++)
        if (strcmp(rest, functions[i].name) == 0)
            return functions[i].kind;
    if (p->n_text > 0 && strncmp(rest, "delete", strlen("delete")) == 0)
        return ALQI_OWN_FREE;
    for (unsigned i = 0; p->has_operators && i < ALQI_COUNT_OF(operators); i++)
        if (strncmp(name, operators[i].name, strlen(operators[i].name)) == 0)
            return operators[i].kind;
    return ALQI_OWN_KINDS;
}

/* Looks for what makes a prefix one of an allocator. */
static void
prefixes_mark(const char *name)
{
    if (!is_first[(unsigned char)name[0]])
        return; /* nearly all of a large program's */
    for (unsigned i = 0; i < n_prefixes; i++) {
        struct prefix *p = &prefixes[i];
        const char *rest = name + p->n_text;

        if (strncmp(name, p->text, p->n_text) != 0)
            continue;
        p->has_malloc = p->has_malloc || strcmp(rest, "malloc") == 0 ||
                        strcmp(rest, "mallocx") == 0;
        p->has_free = p->has_free || strcmp(rest, "free") == 0;
        p->is_mimalloc =
            p->is_mimalloc || strcmp(rest, "is_in_heap_region") == 0;
        /* jemalloc's operators have fast paths of their own */
        p->has_operators = p->has_operators || strcmp(rest, "mallctl") == 0;
    }
}

static bool
is_found(const struct prefix *p)
{
    return p->has_malloc && p->has_free;
}

static bool
prefixes_any(void)
{
    for (unsigned i = 0; i < n_prefixes; i++)
        if (is_found(&prefixes[i]))
            return true;
    return false;
}

static void
entry_add(const struct program *p, const Elf64_Sym *s, const char *name,
          enum alqi_preload_own_kind kind)
{
    uintptr_t at = p->bias + s->st_value;

    if (n_entries == ENTRIES_MAX || at < p->text_start || at >= p->text_end)
        return;
    for (size_t i = 0; i < n_entries; i++)
        if (entries[i].at == at)
            return; /* another name of it */
    entries[n_entries++] = (struct alqi_preload_own_entry){
        .name = name, .at = at, .n_bytes = s->st_size, .kind = kind};
}

static void
entries_find(const struct program *p)
{
    for (size_t i = 0; i < p->n_symbols; i++)
        prefixes_mark(function_name(p, &p->symbols[i]));
    if (!prefixes_any())
        return; /* as of most programs */
    for (size_t i = 0; i < p->n_symbols; i++) {
        const char *name = function_name(p, &p->symbols[i]);

        for (unsigned k = 0; k < n_prefixes; k++) {
            enum alqi_preload_own_kind kind;

            if (!is_found(&prefixes[k]))
                continue;
            kind = kind_by(&prefixes[k], name);
            if (kind != ALQI_OWN_KINDS)
                entry_add(p, &p->symbols[i], name, kind);
        }
    }
}

/* ---- start --------------------------------------------------------------- */

/* Says which of those asked for are not there. */
static void
missing_log(void)
{
    for (unsigned i = 0; i < n_prefixes; i++) {
        const struct prefix *p = &prefixes[i];
        char text[300];

        if (!p->is_asked || is_found(p))
            continue;
        snprintf(text, sizeof text,
                 "allocator=%s: the program names no functions %smalloc and "
                 "%sfree: it has none, or was stripped",
                 p->text, p->text, p->text);
        alqi_preload_log(text);
    }
}

static bool
patch(void)
{
    if (n_entries == 0)
        return false;
    if (!alqi_plat_is_alone()) {
        alqi_preload_log("the program's own allocator is not recorded: a "
                         "library has started a thread before main()");
        return false;
    }
    return alqi_preload_own_patch(entries, n_entries);
}

bool
alqi_preload_own_start(void)
{
    struct program program;
    bool is_patched = false;

    if (strcmp(alqi_preload_config.allocators, "none") == 0)
        return false;
    prefixes_fill();
    if (program_open(&program)) {
        entries_find(&program);
        is_patched = patch();
    }
    missing_log();
    for (size_t i = 0; i < n_entries; i++)
        entries[i].name = NULL; /* the file's */
    program_close(&program);
    if (is_patched)
        alqi_preload_count(ALQI_RAW_PATCHED, n_entries);
    return is_patched;
}
