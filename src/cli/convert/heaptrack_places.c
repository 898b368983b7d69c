/* heaptrack_places.c -- see heaptrack_places.h
 *
 * .inv.before  A number in a line is one of what stands before: stacks have no
 *              rings, and a parent's depth is known.
 * .inv.code    The addresses of two modules may be anything, so a code is no
 *              address: above bit 32 it is the module's number, below it the
 *              place's. A module's codes are those of a range of their own, as
 *              readers of module records expect. A place in no module has a
 *              number as its code (wire/code.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/convert/heaptrack_places.h"
#include "cli/tool/cli.h"
#include "wire/code.h"

enum { MODULE_SHIFT = 32, MODULES_MAX = (1 << 16) - 1 };

void
alqi_cli_heaptrack_places_init(struct alqi_cli_heaptrack_places *p)
{
    memset(p, 0, sizeof *p);
    p->texts = alqi_cli_zeros(1, sizeof *p->texts);
    p->texts[0].bytes = "";
    p->places = alqi_cli_zeros(1, sizeof *p->places);
    p->stacks = alqi_cli_zeros(1, sizeof *p->stacks);
    p->n_texts = p->n_places = p->n_stacks = 1;
}

void
alqi_cli_heaptrack_places_free(struct alqi_cli_heaptrack_places *p)
{
    free(p->texts);
    free(p->places);
    free(p->stacks);
    free(p->frames);
    alqi_base_arena_drop(&p->names);
}

/* Takes a number below n. */
static bool
take_below(struct alqi_cli_line *line, uint32_t n, uint32_t *number)
{
    uint64_t value;

    if (!alqi_cli_line_hex(line, &value) || value >= n)
        return false;
    *number = (uint32_t)value;
    return true;
}

/* ---- texts --------------------------------------------------------------- */

/* With its size in front from version 3 on, else to the line's end. */
bool
alqi_cli_heaptrack_text_take(struct alqi_cli_heaptrack_places *p,
                             struct alqi_cli_line line, bool is_sized)
{
    uint64_t n_bytes = (uint64_t)(line.end - line.at);
    char *bytes;

    if (p->n_texts == UINT32_MAX ||
        (is_sized && (!alqi_cli_line_hex(&line, &n_bytes) ||
                      n_bytes > (uint64_t)(line.end - line.at))))
        return false;
    bytes = alqi_base_arena_text(&p->names, line.at, n_bytes);
    if (bytes == NULL)
        alqi_cli_die("out of memory for names");
    p->texts = alqi_cli_grow(p->texts, p->n_texts, sizeof *p->texts);
    p->texts[p->n_texts++] = (struct alqi_cli_heaptrack_text){.bytes = bytes};
    return true;
}

/* ---- places -------------------------------------------------------------- */

/* Takes a frame, which may lack its file, or all of it if it is the first. */
static bool
frame_take(struct alqi_cli_heaptrack_places *p, struct alqi_cli_line *line)
{
    struct alqi_cli_heaptrack_frame f = {0};
    uint64_t number = 0;

    if (p->n_frames == UINT32_MAX ||
        (line->at < line->end && !take_below(line, p->n_texts, &f.function)) ||
        (line->at < line->end && (!take_below(line, p->n_texts, &f.file) ||
                                  !alqi_cli_line_hex(line, &number))))
        return false;
    f.line = number <= ALQI_CTF_LINE_MAX ? (int32_t)number : 0;
    p->frames = alqi_cli_grow(p->frames, p->n_frames, sizeof *p->frames);
    p->frames[p->n_frames++] = f;
    return true;
}

/* The code of the place that comes next, in the module of that text; fills
 * *module in if it is the first one there. */
static uint64_t
code_make(struct alqi_cli_heaptrack_places *p, uint32_t text,
          struct alqi_side_module *module)
{
    uint64_t start;

    *module = (struct alqi_side_module){.path = NULL};
    if (text == 0 ||
        (p->texts[text].module == 0 && p->n_modules == MODULES_MAX))
        return ALQI_CODE_NUMBERED | p->n_places;
    if (p->texts[text].module != 0)
        return (uint64_t)p->texts[text].module << MODULE_SHIFT | p->n_places;
    p->texts[text].module = ++p->n_modules;
    start = (uint64_t)p->n_modules << MODULE_SHIFT;
    *module = (struct alqi_side_module){
        .id = p->n_modules - 1,
        .start = start,
        .end = start + UINT32_MAX,
        .bias = start,
        .build_id = "",
        .path = p->texts[text].bytes,
    };
    return start | p->n_places;
}

bool
alqi_cli_heaptrack_place_take(struct alqi_cli_heaptrack_places *p,
                              struct alqi_cli_line line,
                              struct alqi_side_module *module)
{
    struct alqi_cli_heaptrack_place place = {.first = p->n_frames};
    uint32_t text;

    if (p->n_places == UINT32_MAX ||
        !alqi_cli_line_hex(&line, &place.address) ||
        !take_below(&line, p->n_texts, &text))
        return false;
    do
        if (!frame_take(p, &line))
            return false;
    while (line.at < line.end);
    place.n = p->n_frames - place.first;
    place.code = code_make(p, text, module);
    p->places = alqi_cli_grow(p->places, p->n_places, sizeof *p->places);
    p->places[p->n_places++] = place;
    return true;
}

/* A function without a name is called by its address. */
static struct alqi_ctf_entry
entry_from(struct alqi_cli_heaptrack_places *p,
           const struct alqi_cli_heaptrack_place *place,
           const struct alqi_cli_heaptrack_frame *f)
{
    const char *function =
        f->function != 0
            ? p->texts[f->function].bytes
            : alqi_base_arena_printf(&p->names, "0x%" PRIx64, place->address);

    return (struct alqi_ctf_entry){
        .file = p->texts[f->file].bytes,
        .function = function != NULL ? function : "",
        .line = f->line,
    };
}

/* Outermost first: the frames from behind. */
void
alqi_cli_heaptrack_lookup(void *arg, uint64_t code,
                          struct alqi_ctf_location *out)
{
    struct alqi_cli_heaptrack_places *p = arg;
    const struct alqi_cli_heaptrack_place *place = &p->places[(uint32_t)code];
    size_t n =
        place->n < ALQI_CLI_ENTRIES_MAX ? place->n : ALQI_CLI_ENTRIES_MAX;

    for (size_t i = 0; i < n; i++)
        p->entries[i] =
            entry_from(p, place, &p->frames[place->first + n - 1 - i]);
    n = alqi_cli_entries_fit(p->entries, n, &p->names);
    *out = (struct alqi_ctf_location){code, (uint32_t)n, p->entries};
}

/* ---- stacks -------------------------------------------------------------- */

bool
alqi_cli_heaptrack_stack_take(struct alqi_cli_heaptrack_places *p,
                              struct alqi_cli_line line)
{
    struct alqi_cli_heaptrack_stack stack;

    if (p->n_stacks == UINT32_MAX ||
        !take_below(&line, p->n_places, &stack.place) || stack.place == 0 ||
        !take_below(&line, p->n_stacks, &stack.parent) ||
        p->stacks[stack.parent].depth >= ALQI_CLI_HEAPTRACK_DEPTH_MAX)
        return false;
    stack.depth = p->stacks[stack.parent].depth + 1;
    p->stacks = alqi_cli_grow(p->stacks, p->n_stacks, sizeof *p->stacks);
    p->stacks[p->n_stacks++] = stack;
    return true;
}
