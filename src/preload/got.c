/* got.c -- the words by which modules call malloc, written and restored
 *
 *   fresh --dlopen--> stale --looks, 1 s without a change--> fresh
 *
 * A module calls a function of another one through a word that the dynamic
 * linker has filled: an entry of its global offset table, or a word of its
 * data.  The relocations name them.
 *
 * .inv.try     A walk holds `lock` and waits for the linker's; so who comes
 *              from a sample tries `lock`, and never waits: it may hold the
 *              linker's.
 * .pair.stale  loading(): changed_ns, then is_stale ->
 *              alqi_preload_got_look_slow(): is_stale := false, then
 *              changed_ns.  Sequentially consistent, so one of the two leaves
 *              it true (tests/models/got_weak.pml).
 * .pair.word   word_store() (release) -> the program, that calls through the
 *              word: the functions behind ours (rows_fill).
 *
 * Keeps .inv.walk and .inv.relro (doc/design/attach.md). */
#include "preload/got.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/preload.h"

enum { DLOPEN /* the first row */ };
#define FIRST_LETTERS "acdfmprv" /* of the rows' names, and "" */
enum { SETTLED_NS = 1000000000 };

static void loading(void);
static void *dlopen_late(const char *path, int mode);
static void *dlsym_late(void *handle, const char *name);

static struct {
    const char *name;
    void *ours; /* NULL: as this library exports it, written by rows_fill */
    void *real; /* written by rows_fill, before the first walk            */
} rows[] = {[DLOPEN] = {"dlopen", (void *)dlopen_late},
            {"dlsym", (void *)dlsym_late},
            {"malloc"},
            {"calloc"},
            {"realloc"},
            {"free"},
            {"memalign"},
            {"aligned_alloc"},
            {"posix_memalign"},
            {"valloc"},
            {"pvalloc"},
            {"dlclose"}};

_Atomic(bool) alqi_preload_got_is_stale; /* .pair.stale */

static struct {
    struct alqi_plat_lock lock; /* of walks that write                      */
    uint64_t looked_ns;         /* the last walk's time; under the lock     */
    /* Of the last one that wrote a word, or of the last dlopen: .pair.stale. */
    _Atomic(uint64_t) changed_ns;
    _Atomic(bool) is_forked; /* and nobody has attached to it since;
                                .pair.alone */
} got = {.lock = ALQI_PLAT_LOCK(PRELOAD_GOT)};

/* ---- one module ---------------------------------------------------------- */

/* A module's tables, as the dynamic linker has them in memory. */
struct module {
    uintptr_t bias;
    uintptr_t relro_start, relro_end; /* pages; empty: there are none */
    uintptr_t text_start, text_end;   /* around its code              */
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Rela *tables[2];
    size_t n_rows[2]; /* of the tables */
};

/* What a walk does with a word that a row names. */
struct walk {
    void (*visit)(struct walk *walk, const struct module *module, size_t row,
                  const Elf64_Sym *symbol, void **word);
    const char *name;   /* of look_visit                */
    void *found;        /* likewise                     */
    uint32_t n_words;   /* that have, or were given, our address */
    uint32_t n_written; /* now                          */
    uint32_t n_modules; /* with such a word             */
    bool is_main_only;  /* the program's module alone   */
};

/* The linker adds the bias to addresses of the section, but in modules whose
 * section cannot be written. */
static uintptr_t
address_of(const struct module *m, Elf64_Addr value)
{
    return value < m->bias ? m->bias + value : value;
}

static void
dynamic_read(struct module *m, const Elf64_Dyn *d)
{
    size_t plt_bytes = 0, rela_bytes = 0;

    for (; d->d_tag != DT_NULL; d++) {
        uintptr_t at = address_of(m, d->d_un.d_ptr);

        if (d->d_tag == DT_SYMTAB)
            m->symbols = (const Elf64_Sym *)at;
        else if (d->d_tag == DT_STRTAB)
            m->strings = (const char *)at;
        else if (d->d_tag == DT_JMPREL)
            m->tables[0] = (const Elf64_Rela *)at;
        else if (d->d_tag == DT_RELA)
            m->tables[1] = (const Elf64_Rela *)at;
        else if (d->d_tag == DT_PLTRELSZ)
            plt_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_RELASZ)
            rela_bytes = d->d_un.d_val;
    }
    m->n_rows[0] = plt_bytes / sizeof(Elf64_Rela);
    m->n_rows[1] = rela_bytes / sizeof(Elf64_Rela);
}

static void
segment_read(struct module *m, const Elf64_Phdr *s, const Elf64_Dyn **dynamic)
{
    uintptr_t start = m->bias + s->p_vaddr, end = start + s->p_memsz;
    uintptr_t page = alqi_plat_page_bytes_sigsafe();

    if (s->p_type == PT_DYNAMIC) {
        *dynamic = (const Elf64_Dyn *)start;
    } else if (s->p_type == PT_GNU_RELRO) {
        m->relro_start = start & ~(page - 1);
        m->relro_end = end & ~(page - 1);
    } else if (s->p_type == PT_LOAD && (s->p_flags & PF_X) != 0) {
        if (m->text_end == 0 || start < m->text_start)
            m->text_start = start;
        if (end > m->text_end)
            m->text_end = end;
    }
}

/* False: it has no symbols. */
static bool
module_read(struct module *m, const struct dl_phdr_info *info)
{
    const Elf64_Dyn *dynamic = NULL;

    *m = (struct module){.bias = info->dlpi_addr};
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        segment_read(m, &info->dlpi_phdr[i], &dynamic);
    if (dynamic == NULL)
        return false;
    dynamic_read(m, dynamic);
    return m->symbols != NULL && m->strings != NULL;
}

static bool
is_own(const struct module *m)
{
    return (uintptr_t)is_own - m->text_start < m->text_end - m->text_start;
}

/* Which words hold the address of a symbol, and nothing else. */
static bool
is_address(const Elf64_Rela *r)
{
    unsigned long type = ELF64_R_TYPE(r->r_info);

#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
           (type == R_X86_64_64 && r->r_addend == 0);
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
           (type == R_AARCH64_ABS64 && r->r_addend == 0);
#else
#error "which relocations fill a word with an address?"
#endif
}

static void
relocation_visit(struct walk *w, const struct module *m, const Elf64_Rela *r)
{
    const Elf64_Sym *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];
    const char *name = m->strings + symbol->st_name;

    if (strchr(FIRST_LETTERS, name[0]) == NULL)
        return; /* most, in modules of C++ */
    for (size_t row = 0; row < ALQI_COUNT_OF(rows); row++)
        if (strcmp(name, rows[row].name) == 0)
            w->visit(w, m, row, symbol, (void **)(m->bias + r->r_offset));
}

static int
module_visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct walk *w = arg;
    uint32_t n_before = w->n_words;
    struct module m;

    (void)size;
    if (!module_read(&m, info) || is_own(&m))
        return 0;
    for (unsigned t = 0; t < ALQI_COUNT_OF(m.tables); t++)
        for (size_t i = 0; m.tables[t] != NULL && i < m.n_rows[t]; i++)
            if (is_address(&m.tables[t][i]))
                relocation_visit(w, &m, &m.tables[t][i]);
    w->n_modules += w->n_words != n_before;
    return w->is_main_only; /* the program comes first */
}

/* ---- words --------------------------------------------------------------- */

/* .inv.relro; where neither holds the page is not ours to write (.pair.word).
 */
static void
word_store(struct walk *w, const struct module *m, void **word, void *value)
{
    uintptr_t at = (uintptr_t)word;
    void *relro = (void *)m->relro_start;
    size_t n_bytes = m->relro_end - m->relro_start;
    bool is_relro = at >= m->relro_start && at < m->relro_end;

    if (alqi_plat_page_touch_sigsafe(word)) {
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
    } else if (is_relro &&
               mprotect(relro, n_bytes, PROT_READ | PROT_WRITE) == 0) {
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
        mprotect(relro, n_bytes, PROT_READ);
    } else {
        return;
    }
    w->n_written++;
}

/* A word that waits for lazy binding points into its own module's code.  What
 * the module defines itself is bound to that where all modules are. */
static bool
is_unbound(const struct module *m, const Elf64_Sym *symbol, const void *value,
           const void *real)
{
    return (symbol->st_shndx == SHN_UNDEF ||
            m->bias + symbol->st_value == (uintptr_t)real) &&
           (uintptr_t)value - m->text_start < m->text_end - m->text_start;
}

static void
write_visit(struct walk *w, const struct module *m, size_t row,
            const Elf64_Sym *symbol, void **word)
{
    void *value = __atomic_load_n(word, __ATOMIC_RELAXED);

    if (rows[row].real != NULL && rows[row].ours != NULL &&
        value != rows[row].ours &&
        (value == rows[row].real ||
         is_unbound(m, symbol, value, rows[row].real)))
        word_store(w, m, word, rows[row].ours);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) == rows[row].ours)
        w->n_words++;
}

static void
restore_visit(struct walk *w, const struct module *m, size_t row,
              const Elf64_Sym *symbol, void **word)
{
    (void)symbol;
    if (rows[row].ours != NULL &&
        __atomic_load_n(word, __ATOMIC_RELAXED) == rows[row].ours)
        word_store(w, m, word, rows[row].real);
}

static void
look_visit(struct walk *w, const struct module *m, size_t row,
           const Elf64_Sym *symbol, void **word)
{
    void *value = __atomic_load_n(word, __ATOMIC_RELAXED);

    if (strcmp(rows[row].name, w->name) == 0 &&
        !is_unbound(m, symbol, value, NULL))
        w->found = value;
}

void *
alqi_preload_got_real(const char *name)
{
    void *p = dlsym(RTLD_DEFAULT, name);
    struct walk w = {.visit = look_visit, .name = name, .is_main_only = true};
    const Elf64_Sym *symbol = NULL;
    Dl_info info;

    if (p == NULL || dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) == 0 ||
        symbol == NULL || symbol->st_shndx != SHN_UNDEF)
        return p;
    dl_iterate_phdr(module_visit, &w); /* a stub of the program */
    return w.found;
}

/* ---- all modules --------------------------------------------------------- */

/* The names by themselves mean the allocator here: its definitions come before
 * this library's. */
static void
rows_fill(void)
{
    Dl_info own = {0};
    void *handle = NULL;

    if (dladdr((void *)is_own, &own) != 0)
        handle = dlopen(own.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    for (size_t row = 0; row < ALQI_COUNT_OF(rows); row++) {
        if (rows[row].real == NULL)
            rows[row].real = alqi_preload_got_real(rows[row].name);
        if (rows[row].ours == NULL && handle != NULL)
            rows[row].ours = dlsym(handle, rows[row].name);
    }
    /* The handle is kept: the library stays. */
}

static struct walk
walk_locked(void (*visit)(struct walk *, const struct module *, size_t,
                          const Elf64_Sym *, void **))
{
    struct walk w = {.visit = visit};

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_GOT));
    dl_iterate_phdr(module_visit, &w);
    got.looked_ns = alqi_plat_mono_ns_sigsafe();
    if (w.n_written > 0)
        atomic_store(&got.changed_ns, got.looked_ns);
    return w;
}

struct alqi_preload_got_count
alqi_preload_got_write(void)
{
    struct walk w;

    if (rows[DLOPEN].real == NULL)
        rows_fill();
    got.is_forked = false;
    alqi_plat_lock(&got.lock);
    w = walk_locked(write_visit);
    alqi_plat_unlock(&got.lock);
    /* A thread may have been binding a word lazily meanwhile. */
    loading();
    return (struct alqi_preload_got_count){w.n_modules, w.n_words};
}

void
alqi_preload_got_restore(void)
{
    alqi_plat_lock(&got.lock);
    atomic_store(&alqi_preload_got_is_stale, false);
    walk_locked(restore_visit);
    alqi_plat_unlock(&got.lock);
}

/* .inv.try.  A module that is being loaded may get its words after the walk:
 * only a second without a change is the end.  The flag is cleared before that
 * is looked at: a module that comes meanwhile sets it again (.pair.stale). */
void
alqi_preload_got_look_slow(uint64_t every_ns)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    int saved = errno;

    if (!alqi_plat_lock_try(&got.lock))
        return;
    if (now_ns - got.looked_ns >= every_ns &&
        atomic_load(&alqi_preload_got_is_stale)) {
        walk_locked(write_visit);
        atomic_store(&alqi_preload_got_is_stale, false);
        if (got.looked_ns <= atomic_load(&got.changed_ns) + SETTLED_NS)
            atomic_store(&alqi_preload_got_is_stale, true);
    }
    alqi_plat_unlock(&got.lock);
    errno = saved;
}

void
alqi_preload_got_fork_child(void)
{
    alqi_plat_lock_break(&got.lock);
    /* A child records nothing, and the linker's lock may be a thread's that is
     * no more. */
    got.is_forked = true;
    atomic_store(&alqi_preload_got_is_stale, false);
}

/* ---- modules that are loaded later ----------------------------------------
 */

static _Atomic(bool) has_opened; /* since the last dlsym; .pair.alone */

static void
loading(void)
{
    if (got.is_forked)
        return;
    atomic_store(&got.changed_ns, alqi_plat_mono_ns_sigsafe());
    atomic_store(&alqi_preload_got_is_stale, true);
}

/* dlopen reads its caller's address, as in dl.c .inv.dlopen. */
static void *
dlopen_late(const char *path, int mode)
{
    loading();
    atomic_store(&has_opened, true);
    return ((void *(*)(const char *, int))rows[DLOPEN].real)(path, mode);
}

/* What dlopen has loaded is asked for next: its words are written by then.
 * dlsym reads its caller's address, too. */
static void *
dlsym_late(void *handle, const char *name)
{
    alqi_preload_got_look(
        atomic_exchange(&has_opened, false) ? 0 : ALQI_PRELOAD_GOT_LOOK_NS);
    return dlsym(handle, name);
}
