/* trace_names.c -- see trace_names.h
 *
 * A record of the trace has room for 4096 bytes.  Names that are longer are cut
 * in the middle, for what tells them apart is at their ends; a record that is
 * too long all the same would have no name at all. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "glue/tracing/trace_names.h"
#include "wire/code.h"
#include "wire/ctf_record.h"

enum {
    NAME_BYTES = 1000,     /* of one of few */
    ENTRY_FIXED_BYTES = 16 /* line, columns, indexes, two NULs, some slack */
};

void
alqi_glue_trace_names_init(struct alqi_glue_trace_names *names)
{
    memset(names, 0, sizeof *names);
    alqi_wire_locations_init(&names->places, alqi_base_mix((uintptr_t)names),
                             SIZE_MAX);
}

void
alqi_glue_trace_names_free(struct alqi_glue_trace_names *names)
{
    alqi_base_map_clear(&names->native);
    alqi_base_map_clear(&names->other);
    alqi_wire_locations_drop(&names->places);
}

/* The kept copy of a text that is longer than n bytes is its beginning and its
 * end. NULL: no memory. */
static const char *
name_keep(struct alqi_glue_trace_names *names, const char *text, size_t n)
{
    static const char dots[] = "...";
    char cut[NAME_BYTES + sizeof dots];
    size_t all, head, tail;

    if (text == NULL)
        text = "";
    all = strlen(text);
    if (all <= n)
        return alqi_wire_locations_name(&names->places, text);
    head = n / 2;
    tail = n - head - strlen(dots);
    while (head > 0 && ((unsigned char)text[head] & 0xC0) == 0x80)
        head--; /* not within a character */
    while (tail > 0 && ((unsigned char)text[all - tail] & 0xC0) == 0x80)
        tail--;
    snprintf(cut, sizeof cut, "%.*s%s%s", (int)head, text, dots,
             text + all - tail);
    return alqi_wire_locations_name(&names->places, cut);
}

/* Numbers that the format has no room for become the largest. */
static int32_t
at_most(unsigned value, int32_t most)
{
    return value < (unsigned)most ? (int32_t)value : most;
}

/* One entry of a record; false: no memory for its names. */
static bool
entry_fill(struct alqi_glue_trace_names *names, struct alqi_ctf_entry *e,
           const struct alq_location *l, size_t name_bytes)
{
    e->file = name_keep(names, l->file, name_bytes);
    e->function = name_keep(
        names, l->function != NULL ? l->function : "[unknown]", name_bytes);
    e->line = at_most(l->line, ALQI_CTF_LINE_MAX);
    e->start_column = at_most(l->start_column, ALQI_CTF_START_COLUMN_MAX);
    e->end_column = at_most(l->end_column, ALQI_CTF_END_COLUMN_MAX);
    return e->file != NULL && e->function != NULL;
}

/* Keeps the names of a code. A record has ALQI_RECORD_BYTES_MAX bytes, so names
 * share them, and the outermost of very many are left out. */
static bool
place_add(struct alqi_glue_trace_names *names, uint64_t code,
          const struct alq_location *locations, size_t n)
{
    struct alqi_ctf_entry entries[ALQI_RECORD_ENTRIES_MAX];
    struct alqi_ctf_location place = {.code = code, .entries = entries};
    size_t room;

    if (alqi_wire_locations_find(&names->places, code) != NULL)
        return true;                  /* the map had no memory, the last time */
    if (n > ALQI_COUNT_OF(entries)) { /* the outermost ones say least */
        locations += n - ALQI_COUNT_OF(entries);
        n = ALQI_COUNT_OF(entries);
    }
    room = (ALQI_RECORD_BYTES_MAX / n - ENTRY_FIXED_BYTES) / 2;
    if (room > NAME_BYTES)
        room = NAME_BYTES;
    if (room < 8) {
        locations += n - 64;
        n = 64;
        room = (ALQI_RECORD_BYTES_MAX / 64 - ENTRY_FIXED_BYTES) / 2;
    }
    for (size_t i = 0; i < n; i++)
        if (!entry_fill(names, &entries[i], &locations[i], room))
            return false;
    place.n_entries = (uint32_t)n;
    return alqi_wire_locations_add(&names->places, &place) != NULL;
}

/* The machine's addresses are codes; all else gets a number. */
static uint64_t
code_new(struct alqi_glue_trace_names *names, bool is_native, uintptr_t frame)
{
    if (is_native && frame >= 4096 && alqi_code_has_room(frame))
        return frame;
    return (is_native ? ALQI_CODE_BARE : ALQI_CODE_NUMBERED) |
           names->n_others++;
}

/* A frame that nothing describes is named by its number. */
bool
alqi_glue_trace_names_add(struct alqi_glue_trace_names *names, bool is_native,
                          uintptr_t frame, const struct alq_location *locations,
                          size_t n)
{
    struct alq_location unknown = {.file = "[unknown]"};
    uint64_t code = code_new(names, is_native, frame);
    char text[40];

    if (n == 0) {
        snprintf(text, sizeof text, "[unknown]+0x%" PRIxPTR, frame);
        unknown.function = text;
        locations = &unknown;
        n = 1;
    }
    return place_add(names, code, locations, n) &&
           alqi_base_map_put(is_native ? &names->native : &names->other, frame,
                             code);
}

void
alqi_glue_trace_names_lookup(void *arg, uint64_t code,
                             struct alqi_ctf_location *out)
{
    const struct alqi_glue_trace_names *names = arg;
    const struct alqi_ctf_location *place =
        alqi_wire_locations_find(&names->places, code);

    if (!ALQI_NEVER(place == NULL)) /* .inv.once */
        *out = *place;
}
