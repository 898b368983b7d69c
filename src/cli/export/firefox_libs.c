/* firefox_libs.c -- the modules of a recording as the viewer's "libs"
 *
 * Frames know their module by its base name; of modules with one name the
 * first is taken. */
#include <inttypes.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/export/firefox.h"
#include "cli/tool/json.h"

enum { ID_DIGITS = 32 };

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* The module note that a frame's module is the base name of, or n_modules. */
static uint32_t
module_find(const struct alqi_cli_firefox *f, uint32_t module)
{
    const struct alqi_cli_analysis *a = &f->export->analysis;
    const char *name = alqi_cli_names_text(a->names, module);
    uint32_t i = 0;

    while (i < a->notes.n_modules &&
           strcmp(base_name(
                      alqi_cli_names_text(a->names, a->notes.modules[i].path)),
                  name) != 0)
        i++;
    return i;
}

void
alqi_cli_firefox_libs_find(struct alqi_cli_firefox *f)
{
    uint32_t n_modules = f->export->analysis.notes.n_modules;
    const struct alqi_cli_export_stacks *s = &f->stacks;
    bool *is_tried;

    f->lib_of_module =
        alqi_cli_realloc(NULL, s->n_texts, sizeof *f->lib_of_module);
    memset(f->lib_of_module, 0, s->n_texts * sizeof *f->lib_of_module);
    f->module_of_lib =
        alqi_cli_realloc(NULL, s->n_texts, sizeof *f->module_of_lib);
    is_tried = alqi_cli_realloc(NULL, s->n_texts, sizeof *is_tried);
    memset(is_tried, 0, s->n_texts * sizeof *is_tried);
    for (uint32_t i = 0; i < s->n_frames; i++) {
        uint32_t module = s->frames[i].frame.module;
        uint32_t note;

        if (is_tried[module])
            continue;
        is_tried[module] = true;
        note = module_find(f, module);
        if (note < n_modules) {
            f->module_of_lib[f->n_libs] = note;
            f->lib_of_module[module] = ++f->n_libs;
        }
    }
    free(is_tried);
}

int64_t
alqi_cli_firefox_lib(const struct alqi_cli_firefox *f,
                     const struct alqi_cli_frame *frame)
{
    return (int64_t)f->lib_of_module[frame->module] - 1;
}

/* The id of symbol servers: the first 16 bytes of the build-id as a GUID, whose
 * first three fields are little-endian, and an age of 0. */
static void
breakpad_id(char *out, const char *build_id)
{
    static const unsigned char order[ID_DIGITS / 2] = {
        3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char digits[ID_DIGITS];
    size_t n = strnlen(build_id, ID_DIGITS);

    memset(digits, '0', sizeof digits);
    memcpy(digits, build_id, n);
    for (int i = 0; i < ID_DIGITS; i++)
        out[i] = (char)toupper(
            (unsigned char)digits[2 * order[i / 2] + (unsigned)i % 2]);
    out[ID_DIGITS] = '0';
    out[ID_DIGITS + 1] = '\0';
}

static void
lib_put(const struct alqi_cli_firefox *f, uint32_t lib)
{
    const struct alqi_cli_analysis *a = &f->export->analysis;
    const struct alqi_cli_module_note *m =
        &a->notes.modules[f->module_of_lib[lib]];
    const char *path = alqi_cli_names_text(a->names, m->path);
    const char *build_id = alqi_cli_names_text(a->names, m->build_id);
    const char *keys[] = {"name", "debugName", "path", "debugPath"};
    char id[ID_DIGITS + 2] = "";

    fputs("{\"arch\":\"\",", f->out);
    for (int i = 0; i < 4; i++) {
        fprintf(f->out, "\"%s\":", keys[i]);
        alqi_cli_json_text(f->out, i < 2 ? base_name(path) : path);
        fputc(',', f->out);
    }
    if (build_id[0] != '\0')
        breakpad_id(id, build_id);
    fputs("\"breakpadId\":", f->out);
    alqi_cli_json_text(f->out, id);
    fputs(",\"codeId\":", f->out);
    if (build_id[0] != '\0')
        alqi_cli_json_text(f->out, build_id);
    else
        fputs("null", f->out);
    fputc('}', f->out);
}

void
alqi_cli_firefox_libs_put(const struct alqi_cli_firefox *f)
{
    fputs("\"libs\":[", f->out);
    for (uint32_t i = 0; i < f->n_libs; i++) {
        fputs(i > 0 ? ",\n" : "", f->out);
        lib_put(f, i);
    }
    fputs("],\n", f->out);
}
