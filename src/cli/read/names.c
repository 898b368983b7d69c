/* names.c -- every text of a trace once, every location expanded once
 *
 * [names.h] Two open-addressing tables, texts by content and expansions by
 * code, point into arrays that only grow. Both tables are at most half full,
 * so a probe ends soon. Numbers are given out in order and never change.
 *
 * An expansion is made when its code is first asked for. It holds the frames
 * that the reader knew then, so modules that are added later do not change
 * it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/read/names.h"
#include "cli/tool/text.h"

enum { TEXT_MAX = 2048, SLOTS_FIRST = 256, TEXT_BLOCK_BYTES = 65536 };

/* The frames of one location code: n of them from frames[first] on. */
struct expansion {
    uint64_t code;
    uint32_t first; /* in frames */
    uint32_t n;
};

/* A range of location codes, (start, end], and the base name of its module. */
struct module {
    uint64_t start, end;
    uint32_t name;
};

struct alqi_cli_names {
    /* by number; they point into the blocks */
    char **texts;
    uint32_t n_texts;
    /* hash table: number + 1; 0 is free */
    uint32_t *text_slots;
    uint32_t n_text_slots;
    /* newest block of text bytes; each begins with the address of the one
     * before */
    char *block;
    /* bytes of it in use */
    size_t block_used;
    /* in order of first use; capacity is n_code_slots */
    struct expansion *expansions;
    uint32_t n_expansions;
    /* hash table: index in expansions + 1; 0 is free */
    uint32_t *code_slots;
    uint32_t n_code_slots;
    /* of all expansions; moves when it grows */
    struct alqi_cli_frame *frames;
    uint32_t n_frames, frames_capacity;
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

/* The slot of a text, or the free one where it belongs. */
static uint32_t *
text_slot(struct alqi_cli_names *names, const char *text, size_t n)
{
    uint32_t mask = names->n_text_slots - 1;
    uint32_t i = (uint32_t)text_hash(text, n) & mask;

    for (;; i = (i + 1) & mask) {
        uint32_t number = names->text_slots[i];

        if (number == 0 || strcmp(names->texts[number - 1], text) == 0)
            return &names->text_slots[i];
    }
}

/* Doubles the table and the array, and enters all texts anew. */
static void
texts_grow(struct alqi_cli_names *names)
{
    uint32_t n =
        names->n_text_slots == 0 ? SLOTS_FIRST : 2 * names->n_text_slots;

    names->texts = alqi_cli_realloc(names->texts, n, sizeof *names->texts);
    free(names->text_slots);
    names->text_slots = alqi_cli_realloc(NULL, n, sizeof *names->text_slots);
    memset(names->text_slots, 0, n * sizeof *names->text_slots);
    names->n_text_slots = n;
    for (uint32_t i = 0; i < names->n_texts; i++)
        *text_slot(names, names->texts[i], strlen(names->texts[i])) = i + 1;
}

/* Copies a text of n bytes into a block. The first bytes of a block hold the
 * address of the one before it. */
static char *
text_keep(struct alqi_cli_names *names, const char *text, size_t n)
{
    char *kept;

    if (names->block == NULL || names->block_used + n + 1 > TEXT_BLOCK_BYTES) {
        char *block = alqi_cli_realloc(NULL, TEXT_BLOCK_BYTES, 1);

        memcpy(block, &names->block, sizeof names->block);
        names->block = block;
        names->block_used = sizeof names->block;
    }
    kept = names->block + names->block_used;
    memcpy(kept, text, n + 1);
    names->block_used += n + 1;
    return kept;
}

uint32_t
alqi_cli_names_intern(struct alqi_cli_names *names, const char *text)
{
    char clean[TEXT_MAX];
    size_t n = alqi_cli_clean(clean, sizeof clean, text);
    uint32_t *slot;

    if (2 * (names->n_texts + 1) > names->n_text_slots)
        texts_grow(names);
    slot = text_slot(names, clean, n);
    if (*slot == 0) {
        names->texts[names->n_texts] = text_keep(names, clean, n);
        *slot = ++names->n_texts;
    }
    return *slot - 1;
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
    free(names->text_slots);
    free(names->expansions);
    free(names->code_slots);
    free(names->frames);
    free(names->modules);
    free(names);
}

/* ---- modules --------------------------------------------------------- */

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void
alqi_cli_names_add_module(struct alqi_cli_names *names, uint64_t start,
                          uint64_t end, const char *path)
{
    struct module *m;

    if ((names->n_modules & (names->n_modules - 1)) == 0)
        names->modules = alqi_cli_realloc(
            names->modules, names->n_modules == 0 ? 1 : 2 * names->n_modules,
            sizeof *names->modules);
    m = &names->modules[names->n_modules++];
    m->start = start;
    m->end = end;
    m->name = alqi_cli_names_intern(names, base_name(path));
}

/* Base name of the module that the code lies in, the latest one first. */
static uint32_t
module_name(const struct alqi_cli_names *names, uint64_t code)
{
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
    if (names->n_frames == names->frames_capacity) {
        names->frames_capacity =
            names->frames_capacity == 0 ? 256 : 2 * names->frames_capacity;
        names->frames = alqi_cli_realloc(names->frames, names->frames_capacity,
                                         sizeof *names->frames);
    }
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

/* The slot of a code, or the free one where it belongs. */
static uint32_t *
code_slot(const struct alqi_cli_names *names, uint64_t code)
{
    uint32_t mask = names->n_code_slots - 1;
    uint32_t i = (uint32_t)alqi_base_mix(code) & mask;

    for (;; i = (i + 1) & mask) {
        uint32_t index = names->code_slots[i];

        if (index == 0 || names->expansions[index - 1].code == code)
            return &names->code_slots[i];
    }
}

/* Doubles the table and the expansions, and enters all codes anew. */
static void
codes_grow(struct alqi_cli_names *names)
{
    uint32_t n =
        names->n_code_slots == 0 ? SLOTS_FIRST : 2 * names->n_code_slots;

    names->expansions =
        alqi_cli_realloc(names->expansions, n, sizeof *names->expansions);
    free(names->code_slots);
    names->code_slots = alqi_cli_realloc(NULL, n, sizeof *names->code_slots);
    memset(names->code_slots, 0, n * sizeof *names->code_slots);
    names->n_code_slots = n;
    for (uint32_t i = 0; i < names->n_expansions; i++)
        *code_slot(names, names->expansions[i].code) = i + 1;
}

/* Makes the expansion of a code: at least one frame. The caller has made
 * room. */
static void
expand(struct alqi_cli_names *names, const struct alqi_ctf_reader *reader,
       uint64_t code)
{
    const struct alqi_ctf_location *location =
        alqi_ctf_reader_location(reader, code);
    uint32_t module = module_name(names, code);
    struct expansion *x = &names->expansions[names->n_expansions++];

    x->code = code;
    x->first = names->n_frames;
    if (location == NULL || location->n_entries == 0)
        frame_unknown(names, module, code);
    else
        for (uint32_t i = 0; i < location->n_entries; i++)
            frame_fill(names, module, &location->entries[i]);
    x->n = names->n_frames - x->first;
}

const struct alqi_cli_frame *
alqi_cli_names_frames(struct alqi_cli_names *names,
                      const struct alqi_ctf_reader *reader, uint64_t code,
                      uint32_t *n_frames)
{
    uint32_t *slot;
    const struct expansion *x;

    if (2 * (names->n_expansions + 1) > names->n_code_slots)
        codes_grow(names);
    slot = code_slot(names, code);
    if (*slot == 0) {
        expand(names, reader, code);
        *slot = names->n_expansions;
    }
    x = &names->expansions[*slot - 1];
    *n_frames = x->n;
    return &names->frames[x->first];
}
