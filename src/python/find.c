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

/* A symbol that the module defines; NULL: it does not. */
static const ElfW(Sym) * symbol_of(const struct symbols *s, const char *name)
{
    uint32_t hash = gnu_hash(name), n_buckets = s->hash[0], first = s->hash[1];
    uint32_t n_words = s->hash[2];
    const uint32_t *buckets =
        s->hash + 4 + n_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + n_buckets;
    uint32_t i = buckets[hash % n_buckets];

    if (i < first)
        return NULL;
    for (;; i++) {
        uint32_t h = chain[i - first];

        if ((h | 1) == (hash | 1) &&
            strcmp(s->text + s->symbol[i].st_name, name) == 0 &&
            s->symbol[i].st_shndx != SHN_UNDEF)
            return &s->symbol[i];
        if ((h & 1) != 0)
            return NULL;
    }
}

/* Its address; 0: the module does not define it. */
static uintptr_t
symbol_find(const struct symbols *s, const char *name)
{
    const ElfW(Sym) *symbol = symbol_of(s, name);

    return symbol != NULL ? s->bias + symbol->st_value : 0;
}

/* The version as layouts have it.  Before 3.11 there is no word of it, and the
 * function that tells it writes: what each version has first tells them. */
static uint32_t
version_of(const struct symbols *s)
{
    uintptr_t version = symbol_find(s, "Py_Version");

    if (version != 0)
        return *(const uint32_t *)version >> 16;
    if (symbol_of(s, "PyIter_Send") != NULL)
        return 0x030a;
    if (symbol_of(s, "PyObject_CallNoArgs") != NULL)
        return 0x0309;
    return symbol_of(s, "PyConfig_Read") != NULL ? 0x0308 : 0;
}

/* Whether the interpreter says that it is built without a GIL: its objects and
 * frames are other ones.  From 3.13 on _PyRuntime begins with a mark, the
 * version and this. */
static bool
is_free_threaded(const struct symbols *s)
{
    static const char mark[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
    struct {
        char mark[sizeof mark];
        uint64_t version, is_free_threaded;
    } begin;
    uintptr_t runtime = symbol_find(s, "_PyRuntime");

    if (runtime == 0)
        return false;
    memcpy(&begin, (const void *)runtime, sizeof begin);
    return memcmp(begin.mark, mark, sizeof mark) == 0 &&
           begin.is_free_threaded != 0;
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

/* What is called and compared; false: some of it is not there. */
static bool
symbols_find(const struct symbols *s, struct alqi_python *out)
{
    const ElfW(Sym) *evaluator = symbol_of(s, "_PyEval_EvalFrameDefault");

    if (evaluator == NULL)
        return false;
    out->evaluator_start = s->bias + evaluator->st_value;
    out->evaluator_end = out->evaluator_start + evaluator->st_size;
    out->current_thread =
        (void *(*)(void))symbol_find(s, "_PyThreadState_UncheckedGet");
    if (out->current_thread == NULL) /* from 3.13 on */
        out->current_thread =
            (void *(*)(void))symbol_find(s, "PyThreadState_GetUnchecked");
    out->own_thread =
        (void *(*)(void))symbol_find(s, "PyGILState_GetThisThreadState");
    out->is_initialized = (int (*)(void))symbol_find(s, "Py_IsInitialized");
    out->get_allocator =
        (void (*)(int, struct alqi_python_allocator *))symbol_find(
            s, "PyMem_GetAllocator");
    out->set_allocator =
        (void (*)(int, struct alqi_python_allocator *))symbol_find(
            s, "PyMem_SetAllocator");
    out->code_type = symbol_find(s, "PyCode_Type");
    out->text_type = symbol_find(s, "PyUnicode_Type");
    out->bytes_type = symbol_find(s, "PyBytes_Type");
    out->frame_type = symbol_find(s, "PyFrame_Type");
    return text_find((uintptr_t)out->current_thread, out) &&
           out->current_thread != NULL && out->own_thread != NULL &&
           out->is_initialized != NULL && out->get_allocator != NULL &&
           out->set_allocator != NULL && out->code_type != 0 &&
           out->text_type != 0 && out->bytes_type != 0 && out->frame_type != 0;
}

enum alqi_python_found
alqi_python_find(uintptr_t address, struct alqi_python *out)
{
    struct symbols s;

    if (!symbols_open(address, &s) ||
        symbol_of(&s, "PyEval_EvalFrameEx") == NULL)
        return ALQI_PYTHON_NONE;
    out->layout = alqi_python_layout_of(version_of(&s));
    if (out->layout == NULL || is_free_threaded(&s) || !symbols_find(&s, out))
        return ALQI_PYTHON_UNREAD;
    return ALQI_PYTHON_READ;
}
