/* recode.c -- the codes of the merged trace
 *
 * [recode.h] places holds what each new code expands to; the trace writer
 * reads it through alqi_cli_recode_lookup. Each old trace has its own map from
 * old codes to new ones, so a code is compared by content only once a trace.
 *
 * A module is the same when path, build id, size and link address are. Should
 * a place of it nevertheless expand differently (one process had the debug
 * information, another had not), a twin of the module with a range of its own
 * takes the second meaning.
 *
 * Modules and notes about them become lines of the new trace, written once
 * each by alqi_cli_recode_tell. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/merge/recode.h"
#include "wire/code.h"
#include "wire/ctf_locations.h"
#include "wire/side.h"

enum {
    VALUE_MAX = 4096,
    PAGE_BYTES = 4096,
    /* meanings of one place; further ones become loose codes */
    TWINS_MAX = 16,
    NO_MODULE = -1
};

/* Codes of modules lie in [RANGE_FIRST, RANGE_END), loose ones from
 * LOOSE_FIRST on (.inv.range), and those of code made at run time from
 * MADE_FIRST on: numbers that are no address (wire/code.h). */
#define RANGE_FIRST UINT64_C(0x10000)
#define RANGE_END ALQI_CODE_ADDRESS_END
#define LOOSE_FIRST ALQI_CODE_NUMBERED
#define MADE_FIRST (ALQI_CODE_BARE | alqi_code_of(1, ALQI_CODE_MADE))

/* The codes of a module in the old trace. */
struct alqi_cli_recode_range {
    uint64_t start, end; /* codes (start, end] */
    /* index of the new module, or NO_MODULE: its codes become loose */
    int32_t module;
};

/* A module of the new trace. */
struct module {
    const char *path;     /* interned */
    const char *build_id; /* interned */
    /* interned; what its symbols lack; NULL: nothing known */
    const char *note;
    /* of its range of addresses */
    uint64_t n_bytes;
    /* of its start in the file: start minus bias */
    uint64_t link_address;
    /* of its codes in the new trace */
    uint64_t start;
    /* the next module of the same key, or NO_MODULE */
    int32_t twin;
    /* the note has been handed out as a line */
    bool is_note_told;
};

struct alqi_cli_recode {
    /* what each new code expands to; interns the names */
    struct alqi_wire_locations places;
    /* hash of an expansion -> new code outside of all modules */
    struct alqi_base_map loose;
    /* loose codes given out */
    uint64_t n_loose;
    /* index is the id in the new trace */
    struct module *modules;
    uint32_t n_modules;
    uint32_t n_told, n_notes; /* modules told; notes not yet told */
    /* where the next module's codes begin */
    uint64_t range_next;
};

struct alqi_cli_recode *
alqi_cli_recode_new(void)
{
    struct alqi_cli_recode *r = alqi_cli_zeros(1, sizeof *r);

    alqi_wire_locations_init(&r->places, alqi_base_mix((uintptr_t)r), SIZE_MAX);
    r->range_next = RANGE_FIRST;
    return r;
}

void
alqi_cli_recode_drop(struct alqi_cli_recode *r)
{
    if (r == NULL)
        return;
    alqi_wire_locations_drop(&r->places);
    alqi_base_map_clear(&r->loose);
    free(r->modules);
    free(r);
}

void
alqi_cli_recode_from_free(struct alqi_cli_recode_from *from)
{
    alqi_base_map_clear(&from->codes);
    free(from->ranges);
    memset(from, 0, sizeof *from);
}

/* ---- running out of memory ----------------------------------------------- */

/* Ends the command when there is no memory. */
static void
need(bool is_there)
{
    if (is_there)
        return;
    alqi_cli_die("out of memory for the locations of the merged trace");
}

static const char *
intern(struct alqi_cli_recode *r, const char *text)
{
    const char *name = alqi_wire_locations_name(&r->places, text);

    need(name != NULL);
    return name;
}

/* ---- modules ------------------------------------------------------------- */

/* A text of the line, interned; "" without the key. */
static const char *
text(struct alqi_cli_recode *r, const char *line, const char *key)
{
    char value[VALUE_MAX];

    if (!alqi_side_get(line, key, value, sizeof value))
        value[0] = '\0';
    return intern(r, value);
}

/* Interned texts are equal when their addresses are. */
static bool
is_same(const struct module *a, const struct module *b)
{
    return a->path == b->path && a->build_id == b->build_id &&
           a->n_bytes == b->n_bytes && a->link_address == b->link_address;
}

/* Adds a module like this one, with a range of its own; a page lies free
 * between ranges. NO_MODULE when no range is left. */
static int32_t
module_add(struct alqi_cli_recode *r, const struct module *like)
{
    uint64_t n_bytes = (like->n_bytes | (PAGE_BYTES - 1)) + 1 + PAGE_BYTES;
    struct module *m;

    if (like->n_bytes >= RANGE_END || n_bytes > RANGE_END - r->range_next)
        return NO_MODULE;
    r->modules = alqi_cli_grow(r->modules, r->n_modules, sizeof *r->modules);
    m = &r->modules[r->n_modules];
    *m = *like;
    m->start = r->range_next;
    m->twin = NO_MODULE;
    m->note = NULL;
    r->range_next += n_bytes;
    return (int32_t)r->n_modules++;
}

/* The new module like this one, made if there is none. */
static int32_t
module_find(struct alqi_cli_recode *r, const struct module *like)
{
    for (uint32_t i = 0; i < r->n_modules; i++)
        if (is_same(&r->modules[i], like))
            return (int32_t)i;
    return module_add(r, like);
}

/* Modules of the old trace are numbered by arrival, so ranges[] is indexed by
 * the old id. */
void
alqi_cli_recode_module(struct alqi_cli_recode *r,
                       struct alqi_cli_recode_from *from, const char *line)
{
    uint64_t reuse = alqi_side_get_number(line, "reuse", 10);
    uint64_t start = alqi_side_get_number(line, "start", 16);
    uint64_t end = alqi_side_get_number(line, "end", 16);
    struct alqi_cli_recode_range *range;
    struct module like = {
        .path = text(r, line, "path"),
        .build_id = text(r, line, "build_id"),
        .n_bytes = end - start,
        .link_address = start - alqi_side_get_number(line, "bias", 16),
    };

    from->ranges =
        alqi_cli_grow(from->ranges, from->n_ranges, sizeof *from->ranges);
    range = &from->ranges[from->n_ranges++];
    range->start = alqi_code_of(start, reuse);
    range->end = alqi_code_of(end, reuse);
    range->module = end > start ? module_find(r, &like) : NO_MODULE;
}

/* The first note about a module stands for all processes that load it. */
void
alqi_cli_recode_symbols(struct alqi_cli_recode *r,
                        struct alqi_cli_recode_from *from, const char *line)
{
    uint64_t id = alqi_side_get_number(line, "id", 10);
    struct module *m;

    if (id >= from->n_ranges || from->ranges[id].module == NO_MODULE)
        return;
    m = &r->modules[from->ranges[id].module];
    if (m->note != NULL)
        return;
    m->note = text(r, line, "note");
    m->is_note_told = false;
    r->n_notes++;
}

/* Modules come before notes: a note names a module's id. */
enum alq_status
alqi_cli_recode_tell(struct alqi_cli_recode *r,
                     const struct alqi_side_writer *side)
{
    enum alq_status status = ALQ_OK;

    for (; status == ALQ_OK && r->n_told < r->n_modules; r->n_told++) {
        const struct module *m = &r->modules[r->n_told];
        struct alqi_side_module record = {
            .id = r->n_told,
            .start = m->start,
            .end = m->start + m->n_bytes,
            .bias = m->start - m->link_address,
            .build_id = m->build_id,
            .path = m->path,
        };

        status = alqi_side_write_module(side, &record);
    }
    for (uint32_t i = 0; status == ALQ_OK && r->n_notes > 0 && i < r->n_told;
         i++) {
        struct module *m = &r->modules[i];

        if (m->note == NULL || m->is_note_told)
            continue;
        m->is_note_told = true;
        r->n_notes--;
        status = alqi_side_write_symbols(side, i, m->note);
    }
    return status;
}

/* ---- codes --------------------------------------------------------------- */

/* What an old code expands to, its names interned here. */
static void
place_copy(struct alqi_cli_recode *r, const struct alqi_ctf_reader *reader,
           uint64_t code, struct alqi_ctf_entry *entries,
           struct alqi_ctf_location *out)
{
    const struct alqi_ctf_location *old =
        alqi_ctf_reader_location(reader, code);
    char address[32];

    out->entries = entries;
    if (old == NULL || old->n_entries == 0) { /* as names.c shows it */
        snprintf(address, sizeof address, "0x%" PRIx64, code);
        entries[0] =
            (struct alqi_ctf_entry){intern(r, ""), intern(r, address), 0, 0, 0};
        out->n_entries = 1;
        return;
    }
    out->n_entries = old->n_entries;
    for (uint32_t i = 0; i < old->n_entries; i++) {
        entries[i] = old->entries[i];
        entries[i].file = intern(r, entries[i].file);
        entries[i].function = intern(r, entries[i].function);
    }
}

/* True when the new code means *place from now on, or did already. False when
 * it means something else. */
static bool
place_take(struct alqi_cli_recode *r, struct alqi_ctf_location *place,
           uint64_t code)
{
    const struct alqi_ctf_location *known =
        alqi_wire_locations_find(&r->places, code);

    place->code = code;
    if (known != NULL)
        return alqi_wire_locations_equal(known, place);
    need(alqi_wire_locations_add(&r->places, place) != NULL);
    return true;
}

/* The code at offset in the module or one of its twins; 0: there is none. */
static uint64_t
code_in_module(struct alqi_cli_recode *r, int32_t module, uint64_t offset,
               struct alqi_ctf_location *place)
{
    for (int n = 0; n < TWINS_MAX; n++) {
        if (place_take(r, place, r->modules[module].start + offset))
            return place->code;
        if (r->modules[module].twin == NO_MODULE) {
            int32_t twin = module_add(r, &r->modules[module]);

            if (twin == NO_MODULE)
                return 0;
            r->modules[module].twin = twin;
        }
        module = r->modules[module].twin;
    }
    return 0;
}

/* A hash of an expansion; equal ones have equal hashes within one run. */
static uint64_t
place_hash(const struct alqi_ctf_location *place)
{
    uint64_t h = place->n_entries;

    for (uint32_t i = 0; i < place->n_entries; i++) {
        const struct alqi_ctf_entry *e = &place->entries[i];

        /* Interned names are equal exactly when their addresses are. */
        h = alqi_base_mix(h ^ (uintptr_t)e->file);
        h = alqi_base_mix(h ^ (uintptr_t)e->function);
        h = alqi_base_mix(h ^ ((uint64_t)(uint32_t)e->line << 32 |
                               (uint32_t)e->start_column << 12 |
                               (uint32_t)e->end_column));
    }
    return h;
}

/* The code of a place outside of all modules, which stays one of code made at
 * run time. The map is probed from the hash on: a key whose code means
 * something else is passed over. */
static uint64_t
code_loose(struct alqi_cli_recode *r, struct alqi_ctf_location *place,
           bool is_made)
{
    uint64_t hash = place_hash(place);
    uint64_t code;

    for (; alqi_base_map_get(&r->loose, hash, &code); hash++)
        if (alqi_code_is_made(code) == is_made && place_take(r, place, code))
            return code;
    code = (is_made ? MADE_FIRST : LOOSE_FIRST) + r->n_loose++;
    place_take(r, place, code);
    need(alqi_base_map_put(&r->loose, hash, code));
    return code;
}

/* The latest range that holds the code wins, as in names.c. */
uint64_t
alqi_cli_recode_code(struct alqi_cli_recode *r,
                     struct alqi_cli_recode_from *from, uint64_t code)
{
    struct alqi_ctf_entry entries[UINT8_MAX];
    struct alqi_ctf_location place;
    uint64_t new = 0;

    if (alqi_base_map_get(&from->codes, code, &new))
        return new;
    place_copy(r, from->reader, code, entries, &place);
    for (uint32_t i = from->n_ranges; i-- > 0;) {
        const struct alqi_cli_recode_range *range = &from->ranges[i];

        if (code <= range->start || code > range->end)
            continue;
        if (range->module != NO_MODULE)
            new = code_in_module(r, range->module, code - range->start, &place);
        break;
    }
    if (new == 0)
        new = code_loose(r, &place, alqi_code_is_made(code));
    need(alqi_base_map_put(&from->codes, code, new));
    return new;
}

void
alqi_cli_recode_lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    struct alqi_cli_recode *r = arg;
    const struct alqi_ctf_location *known =
        alqi_wire_locations_find(&r->places, code);

    if (known != NULL)
        *out = *known;
}
