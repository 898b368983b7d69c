/* names.c -- every text of a trace once, every location expanded once
 *
 * [names.h] Two maps, from a text's hash and from a code, give numbers in
 * arrays that only grow. Numbers are given out in order and never change.
 * Texts of one hash have keys that follow one another.
 *
 * An expansion is made when its code is first asked for. It holds the frames
 * that the reader knew then, so modules that are added later do not change
 * it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/map.h"
#include "cli/tool/cli.h"
#include "cli/read/names.h"
#include "cli/tool/text.h"
#include "stack/symbol_elf_names.h"
#include "wire/code.h"

enum { TEXT_BLOCK_BYTES = 65536 };

/* The frames of one location code: n of them from frames[first] on. */
struct expansion {
    uint32_t first, n;
};

/* A range of location codes, (start, end], and the base name of its module. */
struct module {
    /* location codes (start, end] */
    uint64_t start, end;
    /* number of the module's base name */
    uint32_t name;
};

struct alqi_cli_names {
    /* by number; they point into the blocks */
    char **texts;
    uint32_t n_texts;
    /* a text's hash, or the next free key -> its number */
    struct alqi_base_map text_of_hash;
    /* newest block of text bytes; each begins with the address of the one
     * before */
    char *block;
    /* bytes of it, and those in use */
    size_t block_bytes, block_used;
    /* in order of first use; moves when it grows */
    struct expansion *expansions;
    uint32_t n_expansions;
    /* code -> index in expansions */
    struct alqi_base_map expansion_of;
    /* of all expansions; moves when it grows */
    struct alqi_cli_frame *frames;
    uint32_t n_frames;
    /* in order of arrival; later ones win */
    struct module *modules;
    uint32_t n_modules;
};

/* ---- texts ----------------------------------------------------------- */

static uint64_t
text_hash(const char *text, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001B3u;
    return alqi_base_mix(h);
}

/* Room for a text of n bytes in the newest block; a text that is longer than
 * blocks are has a longer one. The first bytes of a block hold the address of
 * the one before it. */
static char *
text_room(struct alqi_cli_names *names, size_t n)
{
    size_t least = sizeof names->block + n + 1;
    char *block;

    if (names->block == NULL ||
        names->block_used + n + 1 > names->block_bytes) {
        names->block_bytes =
            least > TEXT_BLOCK_BYTES ? least : TEXT_BLOCK_BYTES;
        block = alqi_cli_realloc(NULL, names->block_bytes, 1);
        memcpy(block, &names->block, sizeof names->block);
        names->block = block;
        names->block_used = sizeof names->block;
    }
    return names->block + names->block_used;
}

/* A clean text is no longer than what it was made of, so it is whole. It is
 * made where it stays if it is new. */
uint32_t
alqi_cli_names_intern(struct alqi_cli_names *names, const char *text)
{
    size_t most = strlen(text);
    char *clean = text_room(names, most);
    size_t n = alqi_cli_clean(clean, most + 1, text);
    uint64_t key = text_hash(clean, n), number;

    for (; alqi_base_map_get(&names->text_of_hash, key, &number); key++)
        if (strcmp(names->texts[number], clean) == 0)
            return (uint32_t)number;
    names->texts =
        alqi_cli_grow(names->texts, names->n_texts, sizeof *names->texts);
    names->texts[names->n_texts] = clean;
    names->block_used += n + 1;
    alqi_cli_map_put(&names->text_of_hash, key, names->n_texts);
    return names->n_texts++;
}

const char *
alqi_cli_names_text(const struct alqi_cli_names *names, uint32_t number)
{
    return names->texts[number];
}

struct alqi_cli_names *
alqi_cli_names_new(void)
{
    struct alqi_cli_names *names = alqi_cli_realloc(NULL, 1, sizeof *names);

    memset(names, 0, sizeof *names);
    alqi_cli_names_intern(names, ""); /* becomes ALQI_CLI_NO_NAME */
    return names;
}

void
alqi_cli_names_drop(struct alqi_cli_names *names)
{
    if (names == NULL)
        return;
    while (names->block != NULL) {
        char *block = names->block;

        memcpy(&names->block, block, sizeof names->block);
        free(block);
    }
    free(names->texts);
    alqi_base_map_clear(&names->text_of_hash);
    free(names->expansions);
    alqi_base_map_clear(&names->expansion_of);
    free(names->frames);
    free(names->modules);
    free(names);
}

char *
alqi_cli_names_demangled(const char *raw)
{
    struct alqi_symbol_demangler demangler = {0};
    struct alqi_base_arena arena = {0};
    const char *clear = alqi_symbol_demangle(&demangler, &arena, raw);
    char *copy = clear != raw ? alqi_cli_copy(clear) : NULL;

    alqi_symbol_demangler_drop(&demangler);
    alqi_base_arena_drop(&arena);
    return copy;
}

/* ---- modules --------------------------------------------------------- */

void
alqi_cli_names_add_module(struct alqi_cli_names *names, uint64_t start,
                          uint64_t end, const char *path)
{
    struct module *m;

    names->modules =
        alqi_cli_grow(names->modules, names->n_modules, sizeof *names->modules);
    m = &names->modules[names->n_modules++];
    m->start = start;
    m->end = end;
    m->name = alqi_cli_names_intern(names, alqi_base_file_name(path));
}

/* Base name of the module that the code lies in, the latest one first; of code
 * made at run time a word. */
static uint32_t
module_name(struct alqi_cli_names *names, uint64_t code)
{
    if (alqi_code_is_made(code))
        return alqi_cli_names_intern(names, ALQI_CODE_MADE_MODULE);
    for (uint32_t i = names->n_modules; i-- > 0;)
        if (code > names->modules[i].start && code <= names->modules[i].end)
            return names->modules[i].name;
    return ALQI_CLI_NO_NAME;
}

/* ---- frames ---------------------------------------------------------- */

/* Room for one more frame. */
static struct alqi_cli_frame *
frames_add(struct alqi_cli_names *names)
{
    names->frames =
        alqi_cli_grow(names->frames, names->n_frames, sizeof *names->frames);
    return &names->frames[names->n_frames++];
}

/* "0x" and lower-case digits. */
static bool
is_hex(const char *text)
{
    return strncmp(text, "0x", 2) == 0 && text[2] != '\0' &&
           text[2 + strspn(text + 2, "0123456789abcdef")] == '\0';
}

/* The name is "module+0x1a2b", or "0x1a2b" as frame_unknown writes it. */
static bool
is_offset(const char *function)
{
    const char *plus = strrchr(function, '+');

    return is_hex(plus != NULL ? plus + 1 : function);
}

/* A frame from an entry of the trace. Without a module the file stands in; a
 * bare address belongs to "[unknown]". */
static void
frame_fill(struct alqi_cli_names *names, uint32_t module,
           const struct alqi_ctf_entry *entry)
{
    struct alqi_cli_frame *f = frames_add(names);

    f->function = alqi_cli_names_intern(
        names, entry->function[0] != '\0' ? entry->function : "??");
    f->file = alqi_cli_names_intern(names, entry->file);
    f->line = entry->line;
    f->module = module != ALQI_CLI_NO_NAME ? module : f->file;
    if (f->module == ALQI_CLI_NO_NAME && is_hex(entry->function))
        f->module = alqi_cli_names_intern(names, "[unknown]");
    f->is_wrapper = alqi_cli_is_wrapper(entry->function);
    f->is_nameless = is_offset(entry->function);
}

/* The frame of a code that the trace does not explain: its number. */
static void
frame_unknown(struct alqi_cli_names *names, uint32_t module, uint64_t code)
{
    struct alqi_cli_frame *f = frames_add(names);
    char text[32];

    snprintf(text, sizeof text, "0x%" PRIx64, code);
    f->function = alqi_cli_names_intern(names, text);
    f->file = ALQI_CLI_NO_NAME;
    f->line = 0;
    f->module = module != ALQI_CLI_NO_NAME
                    ? module
                    : alqi_cli_names_intern(names, "[unknown]");
    f->is_wrapper = false;
    f->is_nameless = true;
}

/* Makes the expansion of a code: at least one frame. Returns its index. */
static uint32_t
expand(struct alqi_cli_names *names, const struct alqi_ctf_reader *reader,
       uint64_t code)
{
    const struct alqi_ctf_location *location =
        alqi_ctf_reader_location(reader, code);
    uint32_t module = module_name(names, code), first = names->n_frames;

    if (location == NULL || location->n_entries == 0)
        frame_unknown(names, module, code);
    else
        for (uint32_t i = 0; i < location->n_entries; i++)
            frame_fill(names, module, &location->entries[i]);
    names->expansions = alqi_cli_grow(names->expansions, names->n_expansions,
                                      sizeof *names->expansions);
    names->expansions[names->n_expansions] =
        (struct expansion){first, names->n_frames - first};
    return names->n_expansions++;
}

const struct alqi_cli_frame *
alqi_cli_names_frames(struct alqi_cli_names *names,
                      const struct alqi_ctf_reader *reader, uint64_t code,
                      uint32_t *n_frames)
{
    bool is_new;
    uint64_t *index = alqi_cli_map_at(&names->expansion_of, code, &is_new);
    const struct expansion *x;

    if (is_new)
        *index = expand(names, reader, code);
    x = &names->expansions[*index];
    *n_frames = x->n;
    return &names->frames[x->first];
}
