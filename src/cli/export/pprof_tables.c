/* pprof_tables.c -- see pprof_tables.h */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/read/notes.h"
#include "cli/export/pprof_tables.h"

/* Above bit 46 of a module's code stands how often its place was used anew
 * (codes.h, .inv.code); bit 61 alone says that no module lay there. */
#define ADDRESS_MASK (((uint64_t)1 << 47) - 1)
#define CODE_NO_MODULE ((uint64_t)1 << 61)

enum { NO_MODULE = -1, MAIN_PROGRAM = 1 };

/* What is known of all frames of a location. */
enum { FUNCTIONS = 1, FILES = 2, LINES = 4, UNUSED = 0xFF };

enum {
    STRING_POINTERS,
    FUNCTION_POINTERS,
    LINE_POINTERS,
    LOCATION_POINTERS,
    MAPPING_POINTERS
};

static void
enter(struct alqi_base_map *map, uint64_t key, uint64_t value)
{
    if (alqi_base_map_put(map, key, value))
        return;
    alqi_cli_say("out of memory for a table of the profile");
    exit(ALQI_CLI_UNREADABLE);
}

/* ---- strings and functions ------------------------------------------- */

static int64_t
string_of(struct alqi_cli_pprof_tables *t, uint32_t name)
{
    uint64_t index;

    if (alqi_base_map_get(&t->string_of_name, name, &index))
        return (int64_t)index;
    t->strings = alqi_cli_grow(t->strings, t->n_strings, sizeof *t->strings);
    t->strings[t->n_strings] = name;
    enter(&t->string_of_name, name, t->n_strings);
    return t->n_strings++;
}

int64_t
alqi_cli_pprof_string(struct alqi_cli_pprof_tables *t, const char *text)
{
    return string_of(t, alqi_cli_names_intern(t->analysis->names, text));
}

static uint64_t
function_of(struct alqi_cli_pprof_tables *t, uint32_t name, uint32_t file)
{
    uint64_t key = (uint64_t)name << 32 | file;
    uint64_t id;
    Pprof__Function *f;

    if (alqi_base_map_get(&t->function_of_names, key, &id))
        return id;
    t->functions =
        alqi_cli_grow(t->functions, t->n_functions, sizeof *t->functions);
    f = &t->functions[t->n_functions++];
    pprof__function__init(f);
    f->id = t->n_functions;
    f->name = string_of(t, name);
    f->system_name = f->name;
    f->filename = string_of(t, file);
    enter(&t->function_of_names, key, f->id);
    return f->id;
}

/* ---- mappings -------------------------------------------------------- */

static Pprof__Mapping *
mapping_new(struct alqi_cli_pprof_tables *t)
{
    Pprof__Mapping *m;

    t->mappings =
        alqi_cli_grow(t->mappings, t->n_mappings, sizeof *t->mappings);
    m = &t->mappings[t->n_mappings++];
    pprof__mapping__init(m);
    m->id = t->n_mappings;
    return m;
}

static void
mapping_fill(struct alqi_cli_pprof_tables *t, Pprof__Mapping *m,
             const struct alqi_cli_module_note *note)
{
    m->memory_start = note->start; /* where the file's first byte lies */
    m->memory_limit = note->end;
    m->filename = string_of(t, note->path);
    m->build_id = string_of(t, note->build_id);
}

static uint64_t
mapping_of(struct alqi_cli_pprof_tables *t, int module)
{
    uint64_t id;
    Pprof__Mapping *m;

    if (alqi_base_map_get(&t->mapping_of_module, (uint64_t)module, &id))
        return id;
    m = mapping_new(t);
    mapping_fill(t, m, &t->analysis->notes.modules[module]);
    enter(&t->mapping_of_module, (uint64_t)module, m->id);
    return m->id;
}

/* The module of the main program's path; without any, a mapping that has its
 * name alone. */
static void
main_program(struct alqi_cli_pprof_tables *t)
{
    struct alqi_cli_analysis *a = t->analysis;
    uint32_t name = alqi_cli_names_intern(a->names, a->info->executable);
    Pprof__Mapping *m = mapping_new(t);

    m->filename = string_of(t, name);
    for (uint32_t i = 0; i < a->notes.n_modules; i++)
        if (a->notes.modules[i].path == name) {
            mapping_fill(t, m, &a->notes.modules[i]);
            enter(&t->mapping_of_module, i, MAIN_PROGRAM);
            break;
        }
}

/* ---- locations ------------------------------------------------------- */

/* The latest module there, as names.c has it. */
static int
module_at(const struct alqi_cli_notes *notes, uint64_t code)
{
    for (uint32_t i = notes->n_modules; i-- > 0;) {
        const struct alqi_cli_module_note *m = &notes->modules[i];

        if (code > m->code_start && code <= m->code_end)
            return (int)i;
    }
    return NO_MODULE;
}

/* Where symbols have no file, the module stands for it: no file to pprof,
 * which has modules of its own. */
static uint32_t
file_of(const struct alqi_cli_frame *f, int module)
{
    return module != NO_MODULE && f->file == f->module ? ALQI_CLI_NO_NAME
                                                       : f->file;
}

static void
lines_add(struct alqi_cli_pprof_tables *t, Pprof__Location *l, int module,
          const struct alqi_cli_frame *frames, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        uint64_t id =
            function_of(t, frames[i].function, file_of(&frames[i], module));
        Pprof__Line *line;

        t->lines = alqi_cli_grow(t->lines, t->n_lines, sizeof *t->lines);
        line = &t->lines[t->n_lines++];
        pprof__line__init(line);
        line->function_id = id;
        line->line = frames[i].line;
    }
    l->n_line = n;
}

static Pprof__Location *
location_new(struct alqi_cli_pprof_tables *t, unsigned claims)
{
    Pprof__Location *l;

    t->claims = alqi_cli_grow(t->claims, t->n_locations, sizeof *t->claims);
    t->locations =
        alqi_cli_grow(t->locations, t->n_locations, sizeof *t->locations);
    t->claims[t->n_locations] = (uint8_t)claims;
    l = &t->locations[t->n_locations++];
    pprof__location__init(l);
    l->id = t->n_locations;
    return l;
}

static unsigned
claims_of(const struct alqi_cli_frame *frames, uint32_t n, int module,
          bool is_bare)
{
    unsigned claims = is_bare ? 0 : FUNCTIONS | FILES | LINES;

    for (uint32_t i = 0; i < n; i++) {
        if (file_of(&frames[i], module) == ALQI_CLI_NO_NAME)
            claims &= ~(unsigned)FILES;
        if (frames[i].line <= 0)
            claims &= ~(unsigned)LINES;
    }
    return claims;
}

static uint64_t
location_make(struct alqi_cli_pprof_tables *t, uint64_t code)
{
    struct alqi_cli_analysis *a = t->analysis;
    int module = module_at(&a->notes, code);
    uint32_t n;
    const struct alqi_cli_frame *frames =
        alqi_cli_names_frames(a->names, a->reader, code, &n);
    bool is_bare = module != NO_MODULE && n == 1 && frames[0].is_nameless;
    Pprof__Location *l = location_new(t, claims_of(frames, n, module, is_bare));

    if (module != NO_MODULE)
        l->mapping_id = mapping_of(t, module);
    else if (a->notes.n_modules == 0)
        l->mapping_id = MAIN_PROGRAM;
    if (module != NO_MODULE ||
        (a->notes.n_modules > 0 && (code & ~ADDRESS_MASK) == CODE_NO_MODULE))
        l->address = (code & ADDRESS_MASK) - 1;
    if (!is_bare)
        lines_add(t, l, module, frames, n);
    return l->id;
}

uint64_t
alqi_cli_pprof_location(struct alqi_cli_pprof_tables *t, uint64_t code)
{
    uint64_t id;

    if (alqi_base_map_get(&t->location_of_code, code, &id))
        return id;
    id = location_make(t, code);
    enter(&t->location_of_code, code, id);
    return id;
}

uint64_t
alqi_cli_pprof_stand_in(struct alqi_cli_pprof_tables *t, const char *name)
{
    struct alqi_cli_frame frame = {0};
    Pprof__Location *l = location_new(t, 0);

    frame.function = alqi_cli_names_intern(t->analysis->names, name);
    lines_add(t, l, NO_MODULE, &frame, 1);
    return l->id;
}

/* ---- the whole ------------------------------------------------------- */

void
alqi_cli_pprof_tables_init(struct alqi_cli_pprof_tables *t,
                           struct alqi_cli_analysis *analysis)
{
    memset(t, 0, sizeof *t);
    t->analysis = analysis;
    string_of(t, ALQI_CLI_NO_NAME); /* string 0 is "" */
    main_program(t);
}

void
alqi_cli_pprof_tables_free(struct alqi_cli_pprof_tables *t)
{
    free(t->strings);
    free(t->functions);
    free(t->claims);
    free(t->locations);
    free(t->lines);
    free(t->mappings);
    for (size_t i = 0; i < ALQI_COUNT_OF(t->pointers); i++)
        free(t->pointers[i]);
    alqi_base_map_clear(&t->string_of_name);
    alqi_base_map_clear(&t->function_of_names);
    alqi_base_map_clear(&t->location_of_code);
    alqi_base_map_clear(&t->mapping_of_module);
}

/* A mapping has what all of its locations have; without any, nothing. */
static void
mappings_claim(struct alqi_cli_pprof_tables *t)
{
    uint8_t *least = alqi_cli_realloc(NULL, t->n_mappings, 1);

    memset(least, UNUSED, t->n_mappings);
    for (uint32_t i = 0; i < t->n_locations; i++)
        if (t->locations[i].mapping_id != 0)
            least[t->locations[i].mapping_id - 1] &= t->claims[i];
    for (uint32_t i = 0; i < t->n_mappings; i++) {
        Pprof__Mapping *m = &t->mappings[i];
        unsigned claims = least[i] == UNUSED ? 0 : least[i];

        m->has_functions = (claims & FUNCTIONS) != 0;
        m->has_filenames = (claims & FILES) != 0;
        m->has_line_numbers = (claims & LINES) != 0;
        m->has_inline_frames = m->has_line_numbers;
    }
    free(least);
}

/* Addresses of n entries, for a repeated field. */
static void *
pointers_to(void **kept, void *entries, uint32_t n, size_t each_bytes)
{
    void **p = alqi_cli_realloc(NULL, n, sizeof *p);

    for (uint32_t i = 0; i < n; i++)
        p[i] = (char *)entries + i * each_bytes;
    *kept = p;
    return p;
}

static void
locations_put(struct alqi_cli_pprof_tables *t)
{
    Pprof__Line **line = pointers_to(&t->pointers[LINE_POINTERS], t->lines,
                                     t->n_lines, sizeof *t->lines);

    for (uint32_t i = 0; i < t->n_locations; i++) {
        t->locations[i].line = line;
        line += t->locations[i].n_line;
    }
}

static void
strings_put(struct alqi_cli_pprof_tables *t, Pprof__Profile *profile)
{
    char **text = alqi_cli_realloc(NULL, t->n_strings, sizeof *text);

    for (uint32_t i = 0; i < t->n_strings; i++)
        text[i] =
            (char *)alqi_cli_names_text(t->analysis->names, t->strings[i]);
    t->pointers[STRING_POINTERS] = text;
    profile->n_string_table = t->n_strings;
    profile->string_table = text;
}

void
alqi_cli_pprof_tables_put(struct alqi_cli_pprof_tables *t,
                          Pprof__Profile *profile)
{
    mappings_claim(t);
    locations_put(t);
    strings_put(t, profile);
    profile->n_mapping = t->n_mappings;
    profile->mapping = pointers_to(&t->pointers[MAPPING_POINTERS], t->mappings,
                                   t->n_mappings, sizeof *t->mappings);
    profile->n_location = t->n_locations;
    profile->location =
        pointers_to(&t->pointers[LOCATION_POINTERS], t->locations,
                    t->n_locations, sizeof *t->locations);
    profile->n_function = t->n_functions;
    profile->function =
        pointers_to(&t->pointers[FUNCTION_POINTERS], t->functions,
                    t->n_functions, sizeof *t->functions);
}
