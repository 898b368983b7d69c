/* symbols.c -- variables by libdwfl, code by the symbol table of stacks
 *                                                                 [symbols.h]
 *
 * States of a module: named -> looked at, when an address of it is asked for
 * first: its file is open, or it has none that fits. */
#include "cli/heap/symbols.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "stack/symbol.h"

struct module {
    struct alqi_cli_heap_module is; /* its path is owned */
    bool is_looked_at;
    Dwfl *dwfl;                      /* of its file alone; NULL: none fits */
    struct alqi_symbol_module *code; /* NULL: not asked for yet */
};

struct alqi_cli_heap_symbols {
    struct alqi_symbol_table *table; /* NULL until code is asked for */
    struct module *modules;
    uint32_t n_modules;
};

struct alqi_cli_heap_symbols *
alqi_cli_heap_symbols_new(void)
{
    return alqi_cli_zeros(1, sizeof(struct alqi_cli_heap_symbols));
}

void
alqi_cli_heap_symbols_drop(struct alqi_cli_heap_symbols *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->n_modules; i++) {
        if (s->modules[i].dwfl != NULL)
            dwfl_end(s->modules[i].dwfl);
        free((char *)(uintptr_t)s->modules[i].is.path);
    }
    alqi_symbol_table_drop(s->table);
    free(s->modules);
    free(s);
}

void
alqi_cli_heap_symbols_add(struct alqi_cli_heap_symbols *s,
                          const struct alqi_cli_heap_module *module)
{
    struct module *m;

    s->modules = alqi_cli_grow(s->modules, s->n_modules, sizeof *s->modules);
    m = &s->modules[s->n_modules++];
    *m = (struct module){.is = *module};
    m->is.path = alqi_cli_copy(module->path);
}

static struct module *
module_of(struct alqi_cli_heap_symbols *s, uint64_t address)
{
    for (uint32_t i = 0; i < s->n_modules; i++)
        if (address >= s->modules[i].is.start && address < s->modules[i].is.end)
            return &s->modules[i];
    return NULL;
}

/* ---- variables ----------------------------------------------------------- */

/* A file of the same path that was built anew has other symbols. */
static bool
is_same(Dwfl_Module *module, const struct alqi_cli_heap_module *is)
{
    const unsigned char *id;
    GElf_Addr address;
    int n = dwfl_module_build_id(module, &id, &address);

    return is->build_id_bytes == 0 ||
           (n > 0 && (size_t)n == is->build_id_bytes &&
            memcmp(id, is->build_id, is->build_id_bytes) == 0);
}

static void
look(struct module *m)
{
    static char *no_path = NULL;
    static const Dwfl_Callbacks callbacks = {
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &no_path};
    Dwfl_Module *module;

    m->is_looked_at = true;
    m->dwfl = dwfl_begin(&callbacks);
    if (m->dwfl == NULL)
        return;
    dwfl_report_begin(m->dwfl);
    module = dwfl_report_elf(m->dwfl, "", m->is.path, -1, m->is.bias, true);
    dwfl_report_end(m->dwfl, NULL, NULL);
    if (module != NULL && is_same(module, &m->is))
        return;
    dwfl_end(m->dwfl);
    m->dwfl = NULL;
}

const char *
alqi_cli_heap_symbols_data(struct alqi_cli_heap_symbols *s, uint64_t address,
                           uint64_t *offset, uint64_t *size)
{
    struct module *m = module_of(s, address);
    Dwfl_Module *module = NULL;
    const char *name;
    GElf_Sym symbol;

    if (m == NULL)
        return NULL;
    if (!m->is_looked_at)
        look(m);
    if (m->dwfl != NULL)
        module = dwfl_addrmodule(m->dwfl, address);
    if (module == NULL)
        return NULL;
    name = dwfl_module_addrinfo(module, address, offset, &symbol, NULL, NULL,
                                NULL);
    *size = symbol.st_size;
    return name;
}

bool
alqi_cli_heap_symbols_variable(struct alqi_cli_heap_symbols *s,
                               uint64_t address, char *out, size_t capacity)
{
    struct module *m = module_of(s, address);
    uint64_t offset, size;
    const char *name, *file;

    if (m == NULL)
        return false;
    name = alqi_cli_heap_symbols_data(s, address, &offset, &size);
    file = alqi_base_file_name(m->is.path);
    if (name != NULL && offset < size)
        snprintf(out, capacity, "%s (%s)", name, file);
    else
        snprintf(out, capacity, "%s+0x%" PRIx64, file, address - m->is.bias);
    return true;
}

/* ---- code ---------------------------------------------------------------- */

bool
alqi_cli_heap_symbols_code(struct alqi_cli_heap_symbols *s, uint64_t address,
                           struct alqi_cli_heap_place_of_code *place)
{
    struct module *m = module_of(s, address);
    const struct alqi_symbol_frame *frames;
    size_t n;

    if (m == NULL)
        return false;
    if (s->table == NULL)
        s->table = alqi_symbol_table_new(true);
    if (s->table == NULL)
        alqi_cli_die("heap: no memory for symbols");
    if (m->code == NULL)
        m->code = alqi_symbol_module_open(s->table, m->is.path, m->is.build_id,
                                          m->is.build_id_bytes);
    n = alqi_symbol_resolve(m->code, address - m->is.bias, &frames);
    place->function = frames[n - 1].function;
    place->file = frames[n - 1].file;
    place->line = frames[n - 1].line;
    return true;
}
