/* find.c -- the interpreter among the modules of the process
 *
 * By the dynamic symbols of one module, read where they are mapped: dlsym takes
 * the linker's lock and allocates, and would not see a library that was opened
 * for one user alone. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/base.h"
#include "python/layout.h"
#include "python/python.h"

/* "Run" is a version that tests/python was run with. */
static const struct alqi_python_layout layouts[] = {
    {
        .version = 0x030b, /* 3.11: run; Debian 12's */
        .entry = ALQI_PYTHON_ENTRY_FLAG,
        .thread_id = 152,
        .thread_top = 56,
        .has_cframe = true,
        .cframe_frame = 8,
        .cframe_previous = 16,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_instr = 56,
        .frame_entry = 68,
        .code_first_line = 72,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_units = 184,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_state = 32,
        .text_ascii_data = 48,
        .text_data = 72,
    },
    {
        .version = 0x030c, /* 3.12: run */
        .entry = ALQI_PYTHON_ENTRY_FRAME,
        .thread_id = 136,
        .thread_top = 56,
        .has_cframe = true,
        .cframe_frame = 0,
        .cframe_previous = 8,
        .frame_code = 0,
        .frame_previous = 8,
        .frame_instr = 56,
        .frame_entry = 70,
        .code_first_line = 68,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_units = 192,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_state = 32,
        .text_ascii_data = 40,
        .text_data = 56,
    },
    {
        .version = 0x030d, /* 3.13: run */
        .entry = ALQI_PYTHON_ENTRY_FRAME,
        .thread_id = 152,
        .thread_top = 72,
        .frame_code = 0,
        .frame_previous = 8,
        .frame_instr = 56,
        .frame_entry = 70,
        .code_first_line = 68,
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .code_units = 200,
        .type = 8,
        .size = 16,
        .bytes_data = 32,
        .text_state = 32,
        .text_ascii_data = 40,
        .text_data = 56,
    },
};

/* The tables of a module's dynamic section that a look-up reads. */
struct symbols {
    const uint32_t *hash; /* DT_GNU_HASH */
    const ElfW(Sym) * symbol;
    const char *text;
    uintptr_t bias;
};

/* The linker has added the bias to some addresses of the section, and not to
 * others. */
static uintptr_t
address_of(const struct link_map *map, uintptr_t value)
{
    return value < map->l_addr ? value + map->l_addr : value;
}

/* False: the module has no such tables. */
static bool
symbols_open(uintptr_t address, struct symbols *s)
{
    struct dl_find_object found;
    const ElfW(Dyn) * dyn;

    memset(s, 0, sizeof *s);
    if (_dl_find_object((void *)address, &found) != 0 ||
        found.dlfo_link_map == NULL || found.dlfo_link_map->l_ld == NULL)
        return false;
    s->bias = found.dlfo_link_map->l_addr;
    for (dyn = found.dlfo_link_map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
        uintptr_t at = address_of(found.dlfo_link_map, dyn->d_un.d_ptr);

        if (dyn->d_tag == DT_GNU_HASH)
            s->hash = (const uint32_t *)at;
        else if (dyn->d_tag == DT_SYMTAB)
            s->symbol = (const void *)at;
        else if (dyn->d_tag == DT_STRTAB)
            s->text = (const char *)at;
    }
    return s->hash != NULL && s->symbol != NULL && s->text != NULL &&
           s->hash[0] != 0;
}

static uint32_t
gnu_hash(const char *name)
{
    uint32_t h = 5381;

    for (; *name != '\0'; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/* Address of a symbol that the module defines; 0: it does not. */
static uintptr_t
symbol_find(const struct symbols *s, const char *name)
{
    uint32_t hash = gnu_hash(name), n_buckets = s->hash[0], first = s->hash[1];
    uint32_t n_words = s->hash[2];
    const uint32_t *buckets =
        s->hash + 4 + n_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + n_buckets;
    uint32_t i = buckets[hash % n_buckets];

    if (i < first)
        return 0;
    for (;; i++) {
        uint32_t h = chain[i - first];

        if ((h | 1) == (hash | 1) &&
            strcmp(s->text + s->symbol[i].st_name, name) == 0 &&
            s->symbol[i].st_shndx != SHN_UNDEF)
            return s->bias + s->symbol[i].st_value;
        if ((h & 1) != 0)
            return 0;
    }
}

/* Where the code around the address is mapped: of a program with holes between
 * its segments it is one of them. */
static bool
text_find(uintptr_t address, struct alqi_python *out)
{
    struct dl_find_object found;

    if (address == 0 || _dl_find_object((void *)address, &found) != 0)
        return false;
    out->text_start = (uintptr_t)found.dlfo_map_start;
    out->text_end = (uintptr_t)found.dlfo_map_end;
    return true;
}

static const struct alqi_python_layout *
layout_of(uint32_t version)
{
    for (size_t i = 0; i < ALQI_COUNT_OF(layouts); i++)
        if (layouts[i].version == version >> 16)
            return &layouts[i];
    return NULL;
}

bool
alqi_python_find(uintptr_t address, struct alqi_python *out)
{
    struct symbols s;
    uintptr_t version;

    if (!symbols_open(address, &s))
        return false;
    version = symbol_find(&s, "Py_Version");
    if (version == 0)
        return false;
    out->layout = layout_of(*(const uint32_t *)version);
    out->current_thread =
        (void *(*)(void))symbol_find(&s, "_PyThreadState_UncheckedGet");
    if (out->current_thread == NULL) /* from 3.13 on */
        out->current_thread =
            (void *(*)(void))symbol_find(&s, "PyThreadState_GetUnchecked");
    out->own_thread =
        (void *(*)(void))symbol_find(&s, "PyGILState_GetThisThreadState");
    out->is_initialized = (int (*)(void))symbol_find(&s, "Py_IsInitialized");
    out->get_allocator =
        (void (*)(int, struct alqi_python_allocator *))symbol_find(
            &s, "PyMem_GetAllocator");
    out->set_allocator =
        (void (*)(int, struct alqi_python_allocator *))symbol_find(
            &s, "PyMem_SetAllocator");
    out->code_type = symbol_find(&s, "PyCode_Type");
    out->text_type = symbol_find(&s, "PyUnicode_Type");
    out->bytes_type = symbol_find(&s, "PyBytes_Type");
    return text_find((uintptr_t)out->current_thread, out) &&
           out->layout != NULL && out->current_thread != NULL &&
           out->own_thread != NULL && out->is_initialized != NULL &&
           out->get_allocator != NULL && out->set_allocator != NULL &&
           out->code_type != 0 && out->text_type != 0 && out->bytes_type != 0;
}
