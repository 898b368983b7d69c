/* symbol.c -- modules and the frames of their addresses
 * [doc/design/symbol]
 *
 * A module is opened (its files are found and checked), loaded at its first
 * address (symbols and DWARF are read), and answers from then on.  Answers are
 * kept: the same address gives the same frames, and costs one look-up.
 *
 *   found --first address--> cache read --address not in it--> loaded
 *
 * What an earlier command has resolved comes from the cache (symbol_cache.h); a
 * module whose addresses are all there is never loaded.  New answers go into
 * the cache when the table is dropped.
 *
 * .inv.one    A resolved address has at least one frame, and every frame has
 *             a function and a file.
 * .inv.stay   Nothing a frame points to moves or goes before the table.
 * .inv.lasting Only answers go into the cache that the files of its key give
 *             again: none of damaged files, none of .dwo files, which have no
 *             identity in the key, none made as memory ran out.
 *
 * Keeps .inv.once. */
#include "stack/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file_name.h"
#include "base/map.h"
#include "stack/symbol_cache.h"
#include "stack/symbol_dwarf.h"
#include "stack/symbol_find.h"
#include "stack/symbol_elf_names.h"

/* The frames of an address that was resolved, in the table's arena. */
struct answer {
    size_t count;
    struct alqi_symbol_frame frames[];
};

/* One file of the traced process, by the path and build-id recorded. */
struct alqi_symbol_module {
    struct alqi_symbol_module *next; /* of the table */
    struct alqi_symbol_table *table;
    const char *path, *name; /* name: without directories */
    const uint8_t *build_id; /* as the caller gave it     */
    size_t build_id_bytes;
    struct alqi_symbol_files files;
    bool is_kept_read;            /* the cache was asked                   */
    struct alqi_symbol_kept kept; /* what it had                           */
    bool is_loaded;               /* names and dwarf are read              */
    bool is_short;                /* memory ran out: answers may lack some */
    struct alqi_symbol_names names;
    struct alqi_symbol_dwarf *dwarf; /* NULL: none */
    struct alqi_base_map answers;    /* address to struct answer * */
};

struct alqi_symbol_table {
    struct alqi_symbol_module *modules;
    struct alqi_base_arena arena;
    struct alqi_symbol_demangler demangler;
    struct alqi_symbol_search search;
    struct alqi_symbol_cache cache;
    struct alqi_symbol_location scratch[ALQI_SYMBOL_DEPTH_MAX];
    struct alqi_symbol_module lost; /* stands in when memory is out */
};

static const struct alqi_symbol_frame frame_lost = {"[out of memory]", "", 0,
                                                    0};

struct alqi_symbol_table *
alqi_symbol_table_new(bool is_command)
{
    struct alqi_symbol_table *table = calloc(1, sizeof *table);
    const char *dirs = getenv("ALIQUOT_DEBUG_PATH");

    if (table == NULL)
        return NULL;
    table->lost.table = table;
    table->lost.path = table->lost.name = "[out of memory]";
    table->lost.is_loaded = table->lost.is_kept_read = true;
    table->search.debug_dirs = alqi_base_arena_printf(
        &table->arena, "%s%s/usr/lib/debug", dirs != NULL ? dirs : "",
        dirs != NULL ? ":" : "");
    alqi_symbol_debuginfod_init(&table->search.server, is_command);
    alqi_symbol_cache_init(&table->cache, is_command);
    return table;
}

/* Whether the files give the same answers again (.inv.lasting). */
static bool
module_is_lasting(const struct alqi_symbol_module *m)
{
    const struct alqi_symbol_files *f = &m->files;
    bool is_damaged = (f->program != NULL && f->program->is_damaged) ||
                      (f->debug != NULL && f->debug->is_damaged) ||
                      (f->shared != NULL && f->shared->is_damaged);

    if (is_damaged || m->is_short || (f->program == NULL && f->debug == NULL))
        return false;
    if (!m->is_loaded)
        return true;
    return m->dwarf != NULL ? !alqi_symbol_dwarf_is_split(m->dwarf)
                            : alqi_symbol_files_dwarf(f) == NULL;
}

/* Fills what the answers rest upon; false: they are not kept. */
static bool
module_key(const struct alqi_symbol_module *m,
           struct alqi_symbol_cache_key *key)
{
    const struct alqi_symbol_files *f = &m->files;
    const struct alqi_symbol_elf *program = f->program;
    const uint8_t *id = program != NULL ? program->build_id : m->build_id;
    size_t n = program != NULL ? program->build_id_bytes : m->build_id_bytes;

    memset(key, 0, sizeof *key);
    if (n == 0 || n > sizeof key->build_id ||
        strlen(m->name) >= sizeof key->name || !module_is_lasting(m))
        return false;
    memcpy(key->build_id, id, n);
    key->build_id_bytes = n;
    memcpy(key->name, m->name, strlen(m->name));
    if (program != NULL)
        key->program = program->identity;
    if (f->debug != NULL)
        key->debug = f->debug->identity;
    if (f->shared != NULL)
        key->shared = f->shared->identity;
    return true;
}

/* All answers of a module, the cache's and new ones, malloc'd; NULL: no
 * memory. */
static struct alqi_symbol_cache_entry *
entries_list(const struct alqi_symbol_module *m, size_t *n)
{
    const struct alqi_symbol_kept *kept = &m->kept;
    struct alqi_symbol_cache_entry *entries =
        calloc(m->answers.n_used + kept->n_addresses + 1, sizeof *entries);
    const struct answer *answer;
    uint64_t address, value;
    size_t at = 0;

    *n = 0;
    if (entries == NULL)
        return NULL;
    for (uint32_t i = 0; i < kept->n_addresses; i++)
        entries[(*n)++] = (struct alqi_symbol_cache_entry){
            kept->addresses[i], &kept->frames[kept->firsts[i]],
            kept->firsts[i + 1] - kept->firsts[i]};
    while (alqi_base_map_next(&m->answers, &at, &address, &value)) {
        answer = (const struct answer *)(uintptr_t)value;
        entries[(*n)++] = (struct alqi_symbol_cache_entry){
            address, answer->frames, (uint32_t)answer->count};
    }
    return entries;
}

/* Puts new answers into the cache, beside those that it had. */
static void
module_keep(struct alqi_symbol_module *m)
{
    struct alqi_symbol_cache_entry *entries;
    struct alqi_symbol_cache_key key;
    size_t n;

    if (m->answers.n_used == 0 || !module_key(m, &key))
        return;
    entries = entries_list(m, &n);
    if (entries != NULL)
        alqi_symbol_cache_write(&m->table->cache, &key, entries, n);
    free(entries);
}

static void
module_drop(struct alqi_symbol_module *m)
{
    module_keep(m);
    alqi_symbol_kept_drop(&m->kept);
    if (m->dwarf != NULL)
        alqi_symbol_dwarf_drop(m->dwarf);
    alqi_symbol_names_drop(&m->names);
    alqi_symbol_files_drop(&m->files);
    alqi_base_map_clear(&m->answers);
}

void
alqi_symbol_table_drop(struct alqi_symbol_table *table)
{
    struct alqi_symbol_module *m;

    if (table == NULL)
        return;
    for (m = table->modules; m != NULL; m = m->next)
        module_drop(m);
    alqi_symbol_cache_drop(&table->cache);
    alqi_symbol_debuginfod_drop(&table->search.server);
    alqi_symbol_demangler_drop(&table->demangler);
    alqi_base_arena_drop(&table->arena);
    free(table);
}

/* A module of which nothing is found yet; NULL: no memory. */
static struct alqi_symbol_module *
module_new(struct alqi_symbol_table *table, const char *path,
           const uint8_t *build_id, size_t build_id_bytes)
{
    struct alqi_symbol_module *m =
        alqi_base_arena_take(&table->arena, sizeof *m);

    if (m == NULL)
        return NULL;
    memset(m, 0, sizeof *m);
    m->table = table;
    m->path = alqi_base_arena_text(&table->arena, path, strlen(path));
    m->build_id = (const uint8_t *)alqi_base_arena_text(
        &table->arena, build_id_bytes > 0 ? (const char *)build_id : "",
        build_id_bytes);
    m->build_id_bytes = build_id_bytes;
    if (m->path == NULL || m->build_id == NULL)
        return NULL;
    m->name = alqi_base_file_name(m->path);
    return m;
}

struct alqi_symbol_module *
alqi_symbol_module_open(struct alqi_symbol_table *table, const char *path,
                        const uint8_t *build_id, size_t build_id_bytes)
{
    struct alqi_symbol_module *m;

    for (m = table->modules; m != NULL; m = m->next) {
        if (strcmp(m->path, path) == 0 && m->build_id_bytes == build_id_bytes &&
            (build_id_bytes == 0 ||
             memcmp(m->build_id, build_id, build_id_bytes) == 0))
            return m;
    }
    m = module_new(table, path, build_id, build_id_bytes);
    if (m == NULL)
        return &table->lost;
    alqi_symbol_files_find(&m->files, &table->search, &table->arena, m->path,
                           m->build_id, m->build_id_bytes);
    m->next = table->modules;
    table->modules = m;
    return m;
}

const char *
alqi_symbol_module_note(const struct alqi_symbol_module *module)
{
    return module->files.note;
}

/* Damage inside packed sections shows only when they are unpacked. */
static void
damage_note(struct alqi_symbol_module *m)
{
    const struct alqi_symbol_elf *elf = alqi_symbol_files_dwarf(&m->files);

    if (elf == NULL || m->files.note != NULL ||
        (m->dwarf != NULL && !elf->is_damaged))
        return;
    m->files.note = alqi_base_arena_printf(
        &m->table->arena,
        "%s: its debug sections are damaged: source lines and inlined calls "
        "are missing",
        m->path);
}

/* Whether memory ran out since errno was last 0, which it is again.  Nothing
 * that reads a module tells what it did without, but malloc and mmap leave
 * their errno; so this is asked after each step. */
static void
memory_check(struct alqi_symbol_module *m)
{
    m->is_short |= errno == ENOMEM;
    errno = 0;
}

/* Reads symbols and DWARF, once. */
static void
module_load(struct alqi_symbol_module *m)
{
    if (m->is_loaded)
        return;
    m->is_loaded = true;
    alqi_symbol_names_load(&m->names, &m->files, &m->table->arena);
    memory_check(m);
    m->dwarf = alqi_symbol_dwarf_open(&m->files, &m->table->arena);
    memory_check(m);
    damage_note(m);
}

/* The name that is shown for a mangled one. */
static const char *
demangled(struct alqi_symbol_module *m, const char *raw)
{
    return alqi_symbol_demangle(&m->table->demangler, &m->table->arena, raw);
}

/* The function that was compiled, as opposed to those inlined into it, has an
 * ELF symbol too.  That wins when DWARF is silent or knows only the name
 * without namespace and parameters (g++ for copies of local templates). */
static const char *
outermost_name(struct alqi_symbol_module *m, uint64_t address,
               const struct alqi_symbol_location *p)
{
    const char *raw = NULL;

    if (p->is_linkage_name)
        return demangled(m, p->function);
    raw = alqi_symbol_names_find(&m->names, address);
    if (raw != NULL && (p->function == NULL || raw != demangled(m, raw)))
        return demangled(m, raw);
    if (p->function != NULL)
        return p->function;
    raw = alqi_base_arena_printf(&m->table->arena, "%s+0x%llx", m->name,
                                 (unsigned long long)address);
    return raw != NULL ? raw : m->name;
}

/* Resolves the address: its DWARF frames, or one frame of its ELF symbol.
 * NULL: no memory. */
static const struct answer *
answer_make(struct alqi_symbol_module *m, uint64_t address)
{
    struct alqi_symbol_table *table = m->table;
    struct alqi_symbol_location *p = table->scratch;
    struct alqi_symbol_frame *f;
    struct answer *answer;
    size_t count = 0, i;

    if (m->dwarf != NULL)
        count = alqi_symbol_dwarf_find(m->dwarf, address, p);
    memory_check(m);
    if (count == 0) {
        memset(p, 0, sizeof *p);
        count = 1;
    }
    answer =
        alqi_base_arena_take(&table->arena, sizeof *answer + count * sizeof *f);
    if (answer == NULL)
        return NULL;
    answer->count = count;
    f = answer->frames;
    for (i = 0; i < count; i++) {
        if (i == 0)
            f[i].function = outermost_name(m, address, &p[i]);
        else if (p[i].function != NULL)
            f[i].function = demangled(m, p[i].function);
        else
            f[i].function = "[inlined]";
        f[i].file = p[i].file != NULL ? p[i].file : m->name;
        f[i].line = p[i].file != NULL ? p[i].line : 0;
        f[i].column = p[i].file != NULL ? p[i].column : 0;
    }
    return answer;
}

/* Reads the module and resolves the address; NULL: no memory. */
static const struct answer *
answer_read(struct alqi_symbol_module *m, uint64_t address)
{
    const struct answer *answer;
    int saved = errno;

    errno = 0;
    module_load(m);
    answer = answer_make(m, address);
    memory_check(m);
    errno = saved;
    return answer;
}

/* The cache's frames of the address, and how many. */
static size_t
kept_find(struct alqi_symbol_module *m, uint64_t address,
          const struct alqi_symbol_frame **frames)
{
    struct alqi_symbol_cache_key key;

    if (!m->is_kept_read) {
        m->is_kept_read = true;
        if (module_key(m, &key))
            alqi_symbol_cache_read(&m->table->cache, &key, &m->kept);
    }
    return alqi_symbol_kept_find(&m->kept, address, frames);
}

bool
alqi_symbol_module_is_loaded(const struct alqi_symbol_module *module)
{
    return module->is_loaded;
}

size_t
alqi_symbol_resolve(struct alqi_symbol_module *module, uint64_t address,
                    const struct alqi_symbol_frame **frames)
{
    size_t n = kept_find(module, address, frames);
    const struct answer *answer;
    uint64_t known;

    if (n > 0)
        return n;
    if (alqi_base_map_get(&module->answers, address, &known)) {
        answer = (const struct answer *)(uintptr_t)known;
    } else {
        answer = answer_read(module, address);
        if (answer == NULL) {
            *frames = &frame_lost;
            return 1;
        }
        /* without memory it is made again next time */
        alqi_base_map_put(&module->answers, address, (uintptr_t)answer);
    }
    *frames = answer->frames;
    return answer->count;
}
