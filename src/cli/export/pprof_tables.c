/* pprof_tables.c -- the tables of a pprof profile that samples refer to
 *
 * An entry is made when it is first asked for, and found again by its key: a
 * name, a pair of strings, a code, a module. Mapping 1 is made at the
 * start. After the last location tables_finish() says of each mapping what all
 * its locations have. */
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/read/notes.h"
#include "cli/export/pprof_tables.h"
#include "wire/code.h"

enum { NO_MODULE = -1, MAIN_PROGRAM = 1 };

/* What is known of all frames of a location. */
enum { FUNCTIONS = 1, FILES = 2, LINES = 4, UNUSED = 0xFF };

/* ---- strings and functions ------------------------------------------- */

/* The string of a name, entered if it is new. */
static uint32_t
string_of(struct alqi_cli_pprof_tables *t, uint32_t name)
{
    return alqi_cli_intern(&t->strings, &name);
}

int64_t
alqi_cli_pprof_string(struct alqi_cli_pprof_tables *t, const char *text)
{
    return string_of(t, alqi_cli_names_intern(t->analysis->names, text));
}

/* The identifier of a function, known by its name and file. */
static uint64_t
function_of(struct alqi_cli_pprof_tables *t, uint32_t name, uint32_t file)
{
    const uint32_t row[] = {string_of(t, name), string_of(t, file)};

    return alqi_cli_intern(&t->functions, row) + UINT64_C(1);
}

struct alqi_cli_pprof_function
alqi_cli_pprof_function(const struct alqi_cli_pprof_tables *t, uint32_t index)
{
    const uint32_t *row = &t->functions.words[2 * (size_t)index];

    return (struct alqi_cli_pprof_function){row[0], row[1]};
}

/* ---- mappings -------------------------------------------------------- */

/* Identifier of a new one. */
static uint64_t
mapping_new(struct alqi_cli_pprof_tables *t, const struct alqi_pb_mapping *m)
{
    t->mappings =
        alqi_cli_grow(t->mappings, t->n_mappings, sizeof *t->mappings);
    t->mappings[t->n_mappings++] = *m;
    return t->n_mappings;
}

/* A mapping of the module, not entered yet. */
static struct alqi_pb_mapping
mapping_make(struct alqi_cli_pprof_tables *t,
             const struct alqi_cli_module_note *note)
{
    struct alqi_pb_mapping m = {.start = note->start, .limit = note->end};

    m.file = string_of(t, note->path);
    m.build_id = string_of(t, note->build_id);
    return m;
}

/* The identifier of a module's mapping. */
static uint64_t
mapping_of(struct alqi_cli_pprof_tables *t, int module)
{
    struct alqi_pb_mapping m;
    uint64_t id;

    if (alqi_base_map_get(&t->mapping_of_module, (uint64_t)module, &id))
        return id;
    m = mapping_make(t, &t->analysis->notes.modules[module]);
    id = mapping_new(t, &m);
    alqi_cli_map_put(&t->mapping_of_module, (uint64_t)module, id);
    return id;
}

/* Enters mapping 1: the module of the main program's path; without any, a
 * mapping that has its name alone. */
static void
main_program(struct alqi_cli_pprof_tables *t)
{
    struct alqi_cli_analysis *a = t->analysis;
    uint32_t name = alqi_cli_names_intern(a->names, a->info->executable);
    struct alqi_pb_mapping m = {.file = string_of(t, name)};

    for (uint32_t i = 0; i < a->notes.n_modules; i++)
        if (a->notes.modules[i].path == name) {
            m = mapping_make(t, &a->notes.modules[i]);
            alqi_cli_map_put(&t->mapping_of_module, i, MAIN_PROGRAM);
            break;
        }
    mapping_new(t, &m);
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

/* The frame's file; no name where the module stands for a file that symbols do
 * not have: pprof has modules of its own. */
static uint32_t
file_of(const struct alqi_cli_frame *f, int module)
{
    return module != NO_MODULE && f->file == f->module ? ALQI_CLI_NO_NAME
                                                       : f->file;
}

/* The lines of a location, innermost first: pprof wants inlined calls in that
 * order, and frames come the other way round. */
static void
lines_add(struct alqi_cli_pprof_tables *t, struct alqi_cli_pprof_location *l,
          int module, const struct alqi_cli_frame *frames, uint32_t n)
{
    l->first_line = t->n_lines;
    l->n_lines = n;
    for (uint32_t i = n; i-- > 0;) {
        uint64_t function =
            function_of(t, frames[i].function, file_of(&frames[i], module));

        t->lines = alqi_cli_grow(t->lines, t->n_lines, sizeof *t->lines);
        t->lines[t->n_lines++] =
            (struct alqi_cli_pprof_line){function, frames[i].line};
    }
}

/* Identifier of a new one. */
static uint64_t
location_new(struct alqi_cli_pprof_tables *t,
             const struct alqi_cli_pprof_location *l)
{
    t->locations =
        alqi_cli_grow(t->locations, t->n_locations, sizeof *t->locations);
    t->locations[t->n_locations++] = *l;
    return t->n_locations;
}

/* What all frames of a location have; a bare one claims nothing. */
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

/* Makes the location of a code (.inv.address, .inv.bare). */
static uint64_t
location_make(struct alqi_cli_pprof_tables *t, uint64_t code)
{
    struct alqi_cli_analysis *a = t->analysis;
    int module = module_at(&a->notes, code);
    uint32_t n;
    const struct alqi_cli_frame *frames =
        alqi_cli_names_frames(a->names, a->reader, code, &n);
    bool is_bare = module != NO_MODULE && n == 1 && frames[0].is_nameless;
    struct alqi_cli_pprof_location l = {
        .claims = (uint8_t)claims_of(frames, n, module, is_bare)};

    if (module != NO_MODULE)
        l.mapping = mapping_of(t, module);
    else if (a->notes.n_modules == 0)
        l.mapping = MAIN_PROGRAM;
    if (module != NO_MODULE ||
        (a->notes.n_modules > 0 && alqi_code_is_bare(code)))
        l.address = alqi_code_address(code) - 1;
    if (!is_bare)
        lines_add(t, &l, module, frames, n);
    return location_new(t, &l);
}

/* A code has the same names throughout the trace, so its location is made
 * once. */
uint64_t
alqi_cli_pprof_location(struct alqi_cli_pprof_tables *t, uint64_t code)
{
    uint64_t id;

    if (alqi_base_map_get(&t->location_of_code, code, &id))
        return id;
    id = location_make(t, code);
    alqi_cli_map_put(&t->location_of_code, code, id);
    return id;
}

uint64_t
alqi_cli_pprof_stand_in(struct alqi_cli_pprof_tables *t, const char *name)
{
    struct alqi_cli_frame frame = {0};
    struct alqi_cli_pprof_location l = {0};

    frame.function = alqi_cli_names_intern(t->analysis->names, name);
    lines_add(t, &l, NO_MODULE, &frame, 1);
    return location_new(t, &l);
}

/* ---- the whole ------------------------------------------------------- */

void
alqi_cli_pprof_tables_init(struct alqi_cli_pprof_tables *t,
                           struct alqi_cli_analysis *analysis)
{
    memset(t, 0, sizeof *t);
    t->analysis = analysis;
    t->strings.n_words = 1;
    t->functions.n_words = 2;
    string_of(t, ALQI_CLI_NO_NAME); /* string 0 is "" */
    main_program(t);
}

void
alqi_cli_pprof_tables_free(struct alqi_cli_pprof_tables *t)
{
    alqi_base_intern_clear(&t->strings);
    alqi_base_intern_clear(&t->functions);
    free(t->locations);
    free(t->lines);
    free(t->mappings);
    alqi_base_map_clear(&t->location_of_code);
    alqi_base_map_clear(&t->mapping_of_module);
}

/* A mapping claims what all its locations claim; one without locations claims
 * nothing. */
void
alqi_cli_pprof_tables_finish(struct alqi_cli_pprof_tables *t)
{
    uint8_t *least = alqi_cli_realloc(NULL, t->n_mappings, 1);

    memset(least, UNUSED, t->n_mappings);
    for (uint32_t i = 0; i < t->n_locations; i++)
        if (t->locations[i].mapping != 0)
            least[t->locations[i].mapping - 1] &= t->locations[i].claims;
    for (uint32_t i = 0; i < t->n_mappings; i++) {
        unsigned claims = least[i] == UNUSED ? 0 : least[i];

        t->mappings[i].has_functions = (claims & FUNCTIONS) != 0;
        t->mappings[i].has_files = (claims & FILES) != 0;
        t->mappings[i].has_lines = (claims & LINES) != 0;
    }
    free(least);
}

const char *
alqi_cli_pprof_text(const struct alqi_cli_pprof_tables *t, int64_t string)
{
    return alqi_cli_names_text(t->analysis->names, t->strings.words[string]);
}
