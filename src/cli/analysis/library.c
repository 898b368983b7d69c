/* library.c -- which frames are the system's, not the program's makers'
 *
 * [library.h] A module is known by its name, the last part of its path; the
 * modules that the recording lists have paths. In recordings that list none, a
 * shared library is the system's. */
#include <stddef.h>
#include <string.h>

#include "base/base.h"
#include "base/file_name.h"
#include "cli/analysis/library.h"

static bool
begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* /lib, /lib64, /usr/lib32 and their like. */
static bool
is_system_path(const char *path)
{
    if (begins_with(path, "/usr/"))
        path += strlen("/usr");
    if (!begins_with(path, "/lib"))
        return false;
    path += strlen("/lib");
    return path[strspn(path, "x0123456789")] == '/';
}

/* The path of a module; NULL: the recording does not say. */
static const char *
path_of(const struct alqi_cli_analysis *a, const char *module)
{
    for (uint32_t i = 0; i < a->notes.n_modules; i++) {
        const char *path =
            alqi_cli_names_text(a->names, a->notes.modules[i].path);

        if (strcmp(alqi_base_file_name(path), module) == 0)
            return path;
    }
    return NULL;
}

bool
alqi_cli_is_library(const struct alqi_cli_analysis *a,
                    const struct alqi_cli_frame *f)
{
    const char *file = alqi_cli_names_text(a->names, f->file);
    const char *module = alqi_cli_names_text(a->names, f->module);
    const char *path;

    if (begins_with(file, "/usr/include/") ||
        begins_with(file, "/usr/lib/gcc/") || strcmp(module, "[vdso]") == 0)
        return true;
    if (strcmp(module, alqi_base_file_name(a->info->executable)) == 0)
        return false;
    path = path_of(a, module);
    return path != NULL
               ? is_system_path(path)
               : strchr(module, '/') == NULL && strstr(module, ".so") != NULL;
}
