/* symbol_find.c -- which files describe a module
 *
 * The build-id decides: a file found under the recorded path is used only if
 * it has the recorded id, and so is every candidate for its debug file.  In
 * order: DIR/.build-id/xx/yyy.debug for each debug directory, the places gdb
 * looks for a .gnu_debuglink, debuginfod if allowed (.def.id, .def.order).
 *
 * Whatever is missing ends up in one line of text for the report
 * (.inv.note). */
#include "stack/symbol_find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "stack/symbol_elf_image.h"

/* One search; the files found are filled in as it goes. */
struct search {
    struct alqi_symbol_files *files;
    struct alqi_symbol_search *search;
    struct alqi_base_arena *arena;
    const char *path;
    const uint8_t *build_id; /* expected; may be the program's own */
    size_t build_id_bytes;
    char dwarf_path[PATH_MAX]; /* of the file that has DWARF */
};

/* Runs `visit` on each debug directory until it says true. */
static bool
each_dir(struct search *s,
         bool (*visit)(struct search *, const char *dir, const void *arg),
         const void *arg)
{
    const char *at = s->search->debug_dirs;
    char dir[PATH_MAX];
    size_t bytes;

    for (; at != NULL && *at != '\0'; at += bytes + (at[bytes] == ':')) {
        bytes = strcspn(at, ":");
        if (bytes == 0 || bytes >= sizeof dir)
            continue;
        memcpy(dir, at, bytes);
        dir[bytes] = '\0';
        if (visit(s, dir, arg))
            return true;
    }
    return false;
}

/* Opens the file if it has this build-id. */
static bool
elf_open_checked(struct alqi_symbol_elf **elf, const char *path,
                 const uint8_t *build_id, size_t bytes)
{
    if (alqi_symbol_elf_open(elf, path) != NULL)
        return false;
    if (alqi_symbol_elf_has_id(*elf, build_id, bytes))
        return true;
    alqi_symbol_elf_drop(*elf);
    *elf = NULL;
    return false;
}

/* "DIR/.build-id/xx/yyy.SUFFIX"; false: the id is too short or too long. */
static bool
id_path(char *path, size_t path_bytes, const char *dir, const uint8_t *id,
        size_t bytes, const char *suffix)
{
    size_t i, n;

    if (bytes < 2 || bytes > ALQI_SYMBOL_ID_BYTES_MAX)
        return false;
    n = (size_t)snprintf(path, path_bytes, "%s/.build-id/%02x/", dir, id[0]);
    if (n + 2 * bytes + 8 > path_bytes)
        return false;
    for (i = 1; i < bytes; i++)
        n += (size_t)snprintf(path + n, path_bytes - n, "%02x", id[i]);
    snprintf(path + n, path_bytes - n, "%s", suffix);
    return true;
}

static bool
debug_by_id(struct search *s, const char *dir, const void *arg)
{
    (void)arg;
    return id_path(s->dwarf_path, sizeof s->dwarf_path, dir, s->build_id,
                   s->build_id_bytes, ".debug") &&
           elf_open_checked(&s->files->debug, s->dwarf_path, s->build_id,
                            s->build_id_bytes);
}

/* Fedora and others link the program itself there too. */
static bool
program_by_id(struct search *s, const char *dir, const void *arg)
{
    char path[PATH_MAX];

    (void)arg;
    return id_path(path, sizeof path, dir, s->build_id, s->build_id_bytes,
                   "") &&
           elf_open_checked(&s->files->program, path, s->build_id,
                            s->build_id_bytes);
}

/* What .gnu_debuglink says: a file name and the CRC-32 of the file. */
struct debuglink {
    const char *name;
    const char *program_dir; /* "" for one in / */
    uint32_t crc;
};

static bool
crc_is(const struct alqi_symbol_elf *elf, uint32_t crc)
{
    return crc32_z(crc32_z(0, NULL, 0), elf->bytes, elf->size_bytes) == crc;
}

/* Takes the file BEFORE DIR/BETWEEN NAME as the debug file, if it is that. */
static bool
debug_try(struct search *s, const struct debuglink *link, const char *before,
          const char *between)
{
    struct alqi_symbol_elf *elf = NULL;
    int n = snprintf(s->dwarf_path, sizeof s->dwarf_path, "%s%s/%s%s", before,
                     link->program_dir, between, link->name);

    if (n < 0 || (size_t)n >= sizeof s->dwarf_path ||
        alqi_symbol_elf_open(&elf, s->dwarf_path) != NULL)
        return false;
    /* The checksum reads the whole file; equal ids say as much. */
    if (alqi_symbol_image_is_useful(elf) &&
        (alqi_symbol_elf_has_id(elf, s->build_id, s->build_id_bytes) ||
         (s->build_id_bytes == 0 && crc_is(elf, link->crc)))) {
        s->files->debug = elf;
        return true;
    }
    alqi_symbol_elf_drop(elf);
    return false;
}

static bool
debug_under_dir(struct search *s, const char *dir, const void *arg)
{
    return debug_try(s, arg, dir, "");
}

/* The places where gdb looks for the file that .gnu_debuglink names. */
static void
debug_by_link(struct search *s)
{
    const uint8_t *rest;
    size_t rest_bytes;
    char real[PATH_MAX], *slash;
    struct debuglink link;

    link.name = alqi_symbol_elf_link(s->files->program, ".gnu_debuglink", &rest,
                                     &rest_bytes);
    if (link.name == NULL || strchr(link.name, '/') != NULL ||
        rest_bytes < sizeof link.crc || realpath(s->path, real) == NULL)
        return;
    memcpy(&link.crc, rest + rest_bytes - sizeof link.crc, sizeof link.crc);
    slash = strrchr(real, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    link.program_dir = real;
    if (debug_try(s, &link, "", "") || debug_try(s, &link, "", ".debug/"))
        return;
    each_dir(s, debug_under_dir, &link);
}

/* The file with this build-id, from debuginfod. */
static bool
elf_fetch(struct search *s, struct alqi_symbol_elf **elf, const uint8_t *id,
          size_t bytes)
{
    int fd = alqi_symbol_debuginfod_fetch(&s->search->server, id, bytes);

    if (fd < 0 || alqi_symbol_elf_map(elf, fd) != NULL)
        return false;
    if (alqi_symbol_elf_has_id(*elf, id, bytes))
        return true;
    alqi_symbol_elf_drop(*elf);
    *elf = NULL;
    return false;
}

/* The separate debug file, in the order of .def.order. */
static void
debug_find(struct search *s)
{
    if (s->build_id_bytes > 0 && each_dir(s, debug_by_id, NULL))
        return;
    if (s->files->program != NULL)
        debug_by_link(s);
    if (s->files->debug == NULL && s->build_id_bytes > 0 &&
        elf_fetch(s, &s->files->debug, s->build_id, s->build_id_bytes))
        s->dwarf_path[0] = '\0';
}

/* What .gnu_debugaltlink says: the name and build-id of dwz's file. */
struct altlink {
    const char *name;
    const uint8_t *id;
    size_t id_bytes;
};

/* A visitor of each_dir(): opens dwz's file by its build-id. */
static bool
shared_by_id(struct search *s, const char *dir, const void *arg)
{
    const struct altlink *link = arg;
    char path[PATH_MAX];

    return id_path(path, sizeof path, dir, link->id, link->id_bytes,
                   ".debug") &&
           elf_open_checked(&s->files->shared, path, link->id, link->id_bytes);
}

/* False when the DWARF wants a shared file that is not there. */
static bool
shared_find(struct search *s)
{
    struct altlink link;
    char path[PATH_MAX], *slash = strrchr(s->dwarf_path, '/');
    const struct alqi_symbol_elf *dwarf = alqi_symbol_files_dwarf(s->files);
    int n;

    if (dwarf == NULL)
        return true;
    link.name = alqi_symbol_elf_link(dwarf, ".gnu_debugaltlink", &link.id,
                                     &link.id_bytes);
    if (link.name == NULL)
        return true;
    if (each_dir(s, shared_by_id, &link))
        return true;
    n = snprintf(path, sizeof path, "%.*s%s",
                 link.name[0] == '/' || slash == NULL
                     ? 0
                     : (int)(slash + 1 - s->dwarf_path),
                 s->dwarf_path, link.name);
    if (n > 0 && (size_t)n < sizeof path &&
        elf_open_checked(&s->files->shared, path, link.id, link.id_bytes))
        return true;
    return elf_fetch(s, &s->files->shared, link.id, link.id_bytes);
}

/* What is wrong with the file at the path; NULL when it is the module. */
static const char *
program_find(struct search *s)
{
    const char *wrong = alqi_symbol_elf_open(&s->files->program, s->path);

    if (wrong == NULL && s->files->program->type == ET_REL)
        wrong = "is an object file";
    else if (wrong == NULL && s->build_id_bytes > 0 &&
             !alqi_symbol_elf_has_id(s->files->program, s->build_id,
                                     s->build_id_bytes))
        wrong = "has another build-id than the one recorded";
    if (wrong == NULL) {
        s->build_id = s->files->program->build_id;
        s->build_id_bytes = s->files->program->build_id_bytes;
        return NULL;
    }
    alqi_symbol_elf_drop(s->files->program);
    s->files->program = NULL;
    if (s->build_id_bytes > 0)
        each_dir(s, program_by_id, NULL);
    return wrong;
}

/* What the report lacks without DWARF; NULL: nothing. */
static const char *
cost_of(const struct alqi_symbol_files *files)
{
    const struct alqi_symbol_elf *program = files->program;

    if (alqi_symbol_files_dwarf(files) != NULL)
        return NULL;
    if (program == NULL && files->debug == NULL)
        return "no debug file was found: no functions and no source lines";
    if ((files->debug != NULL &&
         alqi_symbol_elf_has_type(files->debug, SHT_SYMTAB)) ||
        (program != NULL &&
         (alqi_symbol_elf_has_type(program, SHT_SYMTAB) ||
          alqi_symbol_elf_find(program, ".gnu_debugdata") != NULL)))
        return "no debug file was found: no source lines and no inlined calls";
    if (program != NULL && alqi_symbol_elf_has_type(program, SHT_DYNSYM))
        return "no debug file was found: exported functions only, no source "
               "lines";
    return "no debug file was found: no functions and no source lines";
}

/* .inv.note: joins what was missing into one line. */
static void
note_write(struct search *s, const char *wrong, bool has_shared)
{
    const char *cost = cost_of(s->files);
    const struct alqi_symbol_elf *dwarf = alqi_symbol_files_dwarf(s->files);
    const char *shared =
        has_shared ? NULL : "its dwz file is missing: some names are missing";
    const char *damage =
        (s->files->program != NULL && s->files->program->is_damaged) ||
                (dwarf != NULL && dwarf->is_damaged)
            ? "the file is damaged: what lies outside it is ignored"
            : NULL;
    const char *late = s->search->server.has_given_up
                           ? "debuginfod did not answer in time"
                           : NULL;
    const char *parts[6] = {wrong, damage, cost, late, shared, NULL};
    size_t i, n = 0;
    char text[512];

    if (wrong != NULL && cost == NULL)
        parts[2] = "its debug file was found by build-id";
    text[0] = '\0';
    for (i = 0; i < 5; i++) {
        if (parts[i] != NULL && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                                  n == 0             ? " "
                                  : parts[i] == late ? ", "
                                                     : "; ",
                                  parts[i]);
    }
    if (n == 0)
        return;
    s->files->note = alqi_base_arena_printf(s->arena, "%s%s%s", s->path,
                                            wrong == NULL ? ":" : "", text);
}

void
alqi_symbol_files_find(struct alqi_symbol_files *files,
                       struct alqi_symbol_search *search,
                       struct alqi_base_arena *arena, const char *path,
                       const uint8_t *build_id, size_t build_id_bytes)
{
    struct search s = {.files = files,
                       .search = search,
                       .arena = arena,
                       .path = path,
                       .build_id = build_id,
                       .build_id_bytes = build_id_bytes};
    const char *wrong;

    memset(files, 0, sizeof *files);
    wrong = program_find(&s);
    if (files->program == NULL || !alqi_symbol_image_is_useful(files->program))
        debug_find(&s);
    else
        snprintf(s.dwarf_path, sizeof s.dwarf_path, "%s", path);
    note_write(&s, wrong, shared_find(&s));
    if (files->program != NULL &&
        files->program != alqi_symbol_files_dwarf(files))
        alqi_symbol_elf_close_fd(files->program);
}

struct alqi_symbol_elf *
alqi_symbol_files_dwarf(const struct alqi_symbol_files *files)
{
    if (files->debug != NULL && alqi_symbol_image_is_useful(files->debug))
        return files->debug;
    if (files->program != NULL && alqi_symbol_image_is_useful(files->program))
        return files->program;
    return NULL;
}

void
alqi_symbol_files_drop(struct alqi_symbol_files *files)
{
    alqi_symbol_elf_drop(files->program);
    alqi_symbol_elf_drop(files->debug);
    alqi_symbol_elf_drop(files->shared);
    memset(files, 0, sizeof *files);
}
