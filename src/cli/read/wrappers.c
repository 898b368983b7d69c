/* wrappers.c -- functions that only hand a request on to the allocator
 *
 * Naming a site after one of them would tell nothing: they are passed over for
 * the name and stay in the stack.  Only names that mean this everywhere are
 * here; `--skip` adds others. */
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/convert/codes.h"
#include "view/cxxname.h"
#include "cli/read/names.h"

/* Whole names, by the project or language that has them. */
static const char *const whole[] = {
    /* C */
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "strdup",
    "strndup",
    "__strdup",
    "__strndup",
    "wcsdup",
    /* GNU programs, git */
    "xmalloc",
    "xcalloc",
    "xrealloc",
    "xreallocarray",
    "xnmalloc",
    "x2realloc",
    "x2nrealloc",
    "xzalloc",
    "xcharalloc",
    "xmemdup",
    "xstrdup",
    "xstrndup",
    "xmallocz",
    "xmemdupz",
    "do_xmalloc",
    "do_xmallocz",
    "ggc_internal_alloc",
    "ggc_internal_cleared_alloc",
    /* GLib */
    "g_malloc",
    "g_malloc0",
    "g_malloc_n",
    "g_malloc0_n",
    "g_realloc",
    "g_realloc_n",
    "g_try_malloc",
    "g_try_malloc0",
    "g_try_realloc",
    "g_strdup",
    "g_strndup",
    "g_memdup",
    "g_memdup2",
    "g_slice_alloc",
    "g_slice_alloc0",
    ALQI_CLI_MAPPING_NAME,
    /* Python */
    "PyMem_Malloc",
    "PyMem_Calloc",
    "PyMem_Realloc",
    "PyMem_RawMalloc",
    "PyMem_RawCalloc",
    "PyMem_RawRealloc",
    "_PyMem_RawMalloc",
    "_PyMem_RawCalloc",
    "_PyMem_RawRealloc",
    "_PyMem_RawStrdup",
    "_PyMem_Strdup",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "_PyObject_GC_Alloc",
    "_PyObject_GC_Malloc",
    "_PyObject_GC_Calloc",
    "pymalloc_alloc",
    "pymalloc_realloc",
    "gc_alloc",
    /* Perl */
    "Perl_safesysmalloc",
    "Perl_safesyscalloc",
    "Perl_safesysrealloc",
    "Perl_savepv",
    "Perl_savepvn",
    /* Redis, Valkey */
    "zmalloc",
    "zmalloc_usable",
    "zcalloc",
    "zcalloc_num",
    "zcalloc_usable",
    "zrealloc",
    "zrealloc_usable",
    "zstrdup",
    "ztrymalloc",
    "ztrymalloc_usable",
    "ztrymalloc_usable_internal",
    "ztrycalloc",
    "ztrycalloc_usable",
    "ztryrealloc",
    "ztryrealloc_usable",
    /* OpenSSL */
    "CRYPTO_malloc",
    "CRYPTO_zalloc",
    "CRYPTO_realloc",
    "CRYPTO_clear_realloc",
    "CRYPTO_aligned_alloc",
    "CRYPTO_strdup",
    "CRYPTO_strndup",
    "CRYPTO_memdup",
    /* SQLite */
    "sqlite3MemMalloc",
    "sqlite3MemRealloc",
    "mallocWithAlarm",
    "sqlite3Malloc",
    "sqlite3MallocZero",
    "sqlite3Realloc",
    "sqlite3_malloc",
    "sqlite3_malloc64",
    "sqlite3_realloc",
    "sqlite3_realloc64",
    "sqlite3DbMallocRaw",
    "sqlite3DbMallocRawNN",
    "sqlite3DbMallocZero",
    "sqlite3DbRealloc",
    "sqlite3DbReallocOrFree",
    "sqlite3DbStrDup",
    "sqlite3DbStrNDup",
    "dbMallocRawFinish",
    "dbReallocFinish",
};

/* Beginnings of names: whatever follows is a variant of an allocator. */
static const char *const prefixes[] = {
    "operator new", "alq_alloc_", /* our own inline functions */
    "__rust_alloc", "__rust_realloc", "__rdl_", "__rg_",
};

/* Rust: crates that only hold, hand on or pass through what a program asks for
 * (its library's collections; core, which has no allocator). */
static const char *const rust[] = {
    "alloc::",
    "core::",
    "hashbrown::",
    "std::alloc::",
    "std::collections::",
    "std::sys::alloc::",
};

/* Traits of these that have functions of no one else's. */
static const char *const rust_traits[] = {
    "alloc::",
    "core::alloc::",
};

/* Names of --skip; for the whole command. */
static const char *const *more;
static size_t n_more;

static bool
is_any(const char *const *names, size_t n, const char *function)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

static bool
has_prefix(const char *const *prefix, size_t n, const char *function)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(function, prefix[i], strlen(prefix[i])) == 0)
            return true;
    return false;
}

/* A function of Rust's allocator or collections:
 * "alloc::alloc::Global::alloc_impl", "<alloc::alloc::Global>::alloc_impl",
 * "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "<T as
 * core::convert::Into<U>>::into". Such code is generic over the program's
 * types, so it is not the program's own. A name that ends in parameters is
 * C++, where other namespaces have these names. */
static bool
is_of_rust(const char *function)
{
    size_t n = strlen(function);
    const char *trait, *type = function;

    if (n == 0 || function[n - 1] == ')' || strstr(function, ") const") != NULL)
        return false;
    while (*type == '<' || *type == '&' || *type == '[')
        type++;
    if (has_prefix(rust, ALQI_COUNT_OF(rust), type))
        return true;
    trait = function[0] == '<' ? strstr(function, " as ") : NULL;
    if (trait == NULL)
        return false;
    trait += strlen(" as ");
    return has_prefix(rust_traits, ALQI_COUNT_OF(rust_traits), trait) ||
           (strncmp(trait, "core::", strlen("core::")) == 0 &&
            strstr(function, "::") >= trait);
}

/* A class's own: "llvm::User::operator new(unsigned long, unsigned int)". */
static bool
is_new_of_class(const char *function)
{
    const char *found = strstr(function, "::operator new");

    return found != NULL &&
           memchr(function, '(', (size_t)(found - function)) == NULL;
}

bool
alqi_cli_is_wrapper(const char *function)
{
    return is_any(whole, ALQI_COUNT_OF(whole), function) ||
           is_any(more, n_more, function) ||
           has_prefix(prefixes, ALQI_COUNT_OF(prefixes), function) ||
           is_new_of_class(function) || is_of_rust(function) ||
           alqi_view_cxxname_is_internal(function);
}

/* The copy of the list is never freed: the names point into it. */
void
alqi_cli_wrappers_add(const char *list)
{
    static const char **names;
    char *copy = strdup(list);
    char *rest = copy;
    char *name;

    while (copy != NULL && (name = strsep(&rest, ",")) != NULL) {
        names = alqi_cli_realloc(names, n_more + 1, sizeof *names);
        names[n_more++] = name;
    }
    more = names;
}

bool
alqi_cli_wrappers_take(void *to, const char *verb, const char *value)
{
    (void)to;
    (void)verb;
    alqi_cli_wrappers_add(value);
    return true;
}
