/* codes.c -- the modules of one process, and location codes for its addresses
 *
 * The conversion announces each module as the recording mentions it
 * (codes_module) and asks a code for each address of a stack (codes_from).
 * When the trace writer closes a packet, it asks for the names of the codes
 * that the packet mentions first (codes_lookup).
 *
 * modules[] is in order of first arrival; modules never leave, because a name
 * may be asked for after the module was unloaded. latest[] has them in order of
 * last arrival: a module that comes back to its place is the same one, with its
 * codes. code_home binds a code to its module; so keeps .inv.code
 * (wire/code.h). Codes are bare for addresses in no module, or in one that is
 * more than ALQI_CODE_REUSE_MAX above others, and for those in code that the
 * process made as it ran (jit.h), which code_home binds to its piece
 * (.inv.made, too). A module beyond the addresses of codes is kept in
 * modules[], but no code is bound to it. Code 2 is the frame of a mapping;
 * codes of Python frames have ALQI_CODE_NUMBERED and, below it, what the
 * recording has. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cli/convert/codes.h"
#include "cli/convert/entries.h"
#include "wire/code.h"

/* A function of a Python program. */
struct python_name {
    /* both in one allocation, which begins with the first; owned */
    char *function;
    const char *file;
};

struct alqi_cli_codes {
    /* names for all modules; the caller's, outlives the codes */
    struct alqi_symbol_table *symbols;
    /* path of modules whose event has none: the main program; the caller's */
    const char *executable;
    /* in order of first arrival: index is id; owned */
    struct alqi_cli_module **modules;
    /* the same modules in order of last arrival */
    struct alqi_cli_module **latest;
    /* in both */
    size_t n_modules;
    /* NULL: nothing is known of code made at run time; the caller's */
    struct alqi_cli_jit *jit;
    /* code -> id of the module, or number of the piece of jit's, that it was
     * given out for */
    struct alqi_base_map code_home;
    /* codes in modules, in the order in which they were given out; the first
     * n_read were looked up by _read_ahead; owned */
    uint64_t *given;
    size_t n_given, n_read, given_capacity;
    /* what the last lookup returned; valid until the next one */
    struct alqi_ctf_entry entries[ALQI_CLI_ENTRIES_MAX];
    /* the function name in entries[0] of lookup_unknown */
    char unknown[64];
    /* of Python functions, in order of arrival; owned */
    struct python_name *python;
    size_t n_python, python_capacity;
    /* the recording's number -> index in python */
    struct alqi_base_map python_of;
    /* shortened names: the trace writer holds lookup's texts until the packet
     * is written */
    struct alqi_base_arena kept;
};

struct alqi_cli_codes *
alqi_cli_codes_new(struct alqi_symbol_table *symbols, const char *executable)
{
    struct alqi_cli_codes *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->symbols = symbols;
    c->executable = executable;
    return c;
}

void
alqi_cli_codes_drop(struct alqi_cli_codes *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->n_modules; i++) {
        free(c->modules[i]->path);
        free(c->modules[i]);
    }
    free(c->modules);
    free(c->latest);
    for (size_t i = 0; i < c->n_python; i++)
        free(c->python[i].function);
    free(c->python);
    alqi_base_map_clear(&c->python_of);
    alqi_base_arena_drop(&c->kept);
    alqi_base_map_clear(&c->code_home);
    free(c->given);
    free(c);
}

void
alqi_cli_codes_use_jit(struct alqi_cli_codes *c, struct alqi_cli_jit *jit)
{
    c->jit = jit;
}

/* The event describes module m again: same range, path and build id. The path
 * is a parameter because an event of the main program has none. */
static bool
module_is(const struct alqi_cli_module *m, const struct alqi_raw_event *e,
          const char *path)
{
    return m->start == e->start && m->end == e->end &&
           strcmp(m->path, path) == 0 && m->n_id_bytes == e->build_id_bytes &&
           memcmp(m->id_bytes, e->build_id, e->build_id_bytes) == 0;
}

/* How many modules lay over the place before, ALQI_CODE_REUSE_MAX + 1 at most;
 * -1 when this one did: it is the latest now. */
static int
reuse_count(struct alqi_cli_codes *c, const struct alqi_raw_event *e,
            const char *path)
{
    int reuse = 0;

    for (size_t i = c->n_modules; i-- > 0;) {
        struct alqi_cli_module *m = c->latest[i];

        if (m->end <= e->start || e->end <= m->start)
            continue;
        if (module_is(m, e, path)) {
            memmove(&c->latest[i], &c->latest[i + 1],
                    (c->n_modules - 1 - i) * sizeof(struct alqi_cli_module *));
            c->latest[c->n_modules - 1] = m;
            return -1;
        }
        if ((int)m->reuse >= reuse && reuse <= ALQI_CODE_REUSE_MAX)
            reuse = (int)m->reuse + 1;
    }
    return reuse > ALQI_CODE_REUSE_MAX ? ALQI_CODE_REUSE_MAX + 1 : reuse;
}

/* A module from its event, with its symbols opened; NULL without memory. The
 * caller sets reuse and enters it in modules[]. */
static struct alqi_cli_module *
module_new(struct alqi_cli_codes *c, const struct alqi_raw_event *e,
           const char *path)
{
    struct alqi_cli_module *m = calloc(1, sizeof *m);

    if (m == NULL)
        return NULL;
    m->path = strdup(path);
    if (m->path == NULL) {
        free(m);
        return NULL;
    }
    m->start = e->start;
    m->end = e->end;
    m->bias = e->bias;
    m->id = (uint32_t)c->n_modules;
    m->n_id_bytes = e->build_id_bytes;
    memcpy(m->id_bytes, e->build_id, e->build_id_bytes);
    for (uint32_t i = 0; i < e->build_id_bytes; i++)
        snprintf(m->build_id + 2 * i, 3, "%02x", e->build_id[i]);
    m->symbols = alqi_symbol_module_open(c->symbols, m->path, m->id_bytes,
                                         m->n_id_bytes);
    return m;
}

/* Room for one module more than n; false: no memory. */
static bool
list_room(struct alqi_cli_module ***list, size_t n)
{
    struct alqi_cli_module **more = realloc(*list, (n + 1) * sizeof *more);

    if (more != NULL)
        *list = more;
    return more != NULL;
}

bool
alqi_cli_codes_module(struct alqi_cli_codes *c, const struct alqi_raw_event *e,
                      const struct alqi_cli_module **out)
{
    const char *path = e->path[0] != '\0' ? e->path : c->executable;
    int reuse = reuse_count(c, e, path);
    struct alqi_cli_module *m;

    *out = NULL;
    if (reuse < 0)
        return true;
    if (!list_room(&c->modules, c->n_modules) ||
        !list_room(&c->latest, c->n_modules))
        return false;
    m = module_new(c, e, path);
    if (m == NULL)
        return false;
    m->reuse = (uint32_t)reuse;
    c->modules[c->n_modules] = c->latest[c->n_modules] = m;
    c->n_modules++;
    *out = m;
    return true;
}

const struct alqi_cli_module *
alqi_cli_codes_module_at(const struct alqi_cli_codes *c, uint32_t id)
{
    return id < c->n_modules ? c->modules[id] : NULL;
}

/* The latest module over the address; the newest ones are asked first, which
 * is what "latest" means.  Return addresses may be one past the end. */
static const struct alqi_cli_module *
module_at(const struct alqi_cli_codes *c, uint64_t pc)
{
    for (size_t i = c->n_modules; i-- > 0;)
        if (pc - 1 - c->latest[i]->start <
            c->latest[i]->end - c->latest[i]->start)
            return c->latest[i];
    return NULL;
}

/* The code of an address in no module: of the piece of code over it, if one is
 * known (.inv.made). The last number is shared by all that come after. */
static uint64_t
code_made(struct alqi_cli_codes *c, uint64_t pc, uint64_t time_ns)
{
    uint64_t code, piece, home, number = ALQI_CODE_MADE;

    if (c->jit == NULL || !alqi_cli_jit_find(c->jit, pc - 1, time_ns, &piece))
        return ALQI_CODE_BARE | pc;
    for (;; number++) {
        code = ALQI_CODE_BARE | alqi_code_of(pc, number);
        if (!alqi_base_map_get(&c->code_home, code, &home))
            return alqi_base_map_put(&c->code_home, code, piece) ? code : 0;
        if (home == piece || number == ALQI_CODE_REUSE_MAX)
            return code;
    }
}

/* Both texts of the event in one allocation; NULL: no memory. */
static char *
python_name_make(const struct alqi_raw_event *e, struct python_name *out)
{
    size_t n = strlen(e->function) + 1, n_file = strlen(e->path) + 1;

    out->function = malloc(n + n_file);
    if (out->function == NULL)
        return NULL;
    memcpy(out->function, e->function, n);
    memcpy(out->function + n, e->path, n_file);
    out->file = out->function + n;
    return out->function;
}

/* A number is told once; what a damaged recording tells anew is passed over. */
bool
alqi_cli_codes_python(struct alqi_cli_codes *c, const struct alqi_raw_event *e)
{
    uint64_t index;

    if (alqi_base_map_get(&c->python_of, e->number, &index))
        return true;
    if (c->n_python == c->python_capacity) {
        size_t capacity = c->python_capacity * 2 + 64;
        struct python_name *more = realloc(c->python, capacity * sizeof *more);

        if (more == NULL)
            return false;
        c->python = more;
        c->python_capacity = capacity;
    }
    if (python_name_make(e, &c->python[c->n_python]) == NULL)
        return false;
    c->n_python++;
    return alqi_base_map_put(&c->python_of, e->number, c->n_python - 1);
}

/* The entry of a Python frame. */
static void
lookup_python(struct alqi_cli_codes *c, uint64_t code,
              struct alqi_ctf_location *out)
{
    uint64_t number = (code & ~ALQI_CODE_NUMBERED) >> ALQI_RAW_PYTHON_LINE_BITS;
    uint64_t index;

    c->entries[0] =
        (struct alqi_ctf_entry){.file = "[python]", .function = "[unknown]"};
    if (alqi_base_map_get(&c->python_of, number, &index))
        c->entries[0] = (struct alqi_ctf_entry){
            .file = c->python[index].file,
            .function = c->python[index].function,
            .line = (int32_t)(code & ALQI_RAW_PYTHON_LINE_MAX),
        };
    *out = (struct alqi_ctf_location){code, 1, c->entries};
}

/* Enters a code that is given out for the first time. False: no memory. */
static bool
code_give(struct alqi_cli_codes *c, uint64_t code, uint32_t module)
{
    if (!alqi_cli_recording_room(&c->given, c->n_given, &c->given_capacity,
                                 sizeof *c->given) ||
        !alqi_base_map_put(&c->code_home, code, module))
        return false;
    c->given[c->n_given++] = code;
    return true;
}

/* .inv.code */
uint64_t
alqi_cli_codes_from(struct alqi_cli_codes *c, uint64_t pc, uint64_t time_ns)
{
    const struct alqi_cli_module *m = module_at(c, pc);
    uint64_t code, home;

    if (pc >> 62 == ALQI_RAW_PYTHON >> 62)
        return ALQI_CODE_NUMBERED |
               (pc & (((uint64_t)1 << (ALQI_RAW_PYTHON_LINE_BITS +
                                       ALQI_RAW_PYTHON_NUMBER_BITS)) -
                      1));
    if (!alqi_code_has_room(pc))
        return ALQI_CODE_BEYOND;
    if (m == NULL)
        return code_made(c, pc, time_ns);
    if (m->reuse > ALQI_CODE_REUSE_MAX)
        return ALQI_CODE_BARE | pc;
    code = alqi_code_of(pc, m->reuse);
    if (!alqi_base_map_get(&c->code_home, code, &home) &&
        !code_give(c, code, m->id))
        return 0;
    return code != 0 ? code : ALQI_CODE_BARE;
}

static void
entry_fill(struct alqi_ctf_entry *entry, const struct alqi_symbol_frame *frame)
{
    *entry = (struct alqi_ctf_entry){
        .file = frame->file,
        .function = frame->function,
        .line = (int32_t)frame->line,
        .start_column = (int32_t)frame->column,
        .end_column = (int32_t)frame->column,
    };
}

/* The entry of an address that lies in no module: it shows the bare address, or
 * why there is none. */
static void
lookup_unknown(struct alqi_cli_codes *c, uint64_t code,
               struct alqi_ctf_location *out)
{
    if (code == ALQI_CODE_BEYOND)
        snprintf(c->unknown, sizeof c->unknown, "[address beyond %d bits]",
                 ALQI_CODE_ADDRESS_BITS);
    else
        snprintf(c->unknown, sizeof c->unknown, "[unknown]+0x%" PRIx64,
                 alqi_code_address(code));
    c->entries[0] =
        (struct alqi_ctf_entry){.file = "[unknown]", .function = c->unknown};
    *out = (struct alqi_ctf_location){code, 1, c->entries};
}

/* The entry of an address in code made at run time. Its text is bounded. */
static void
lookup_made(struct alqi_cli_codes *c, uint64_t code, uint64_t piece,
            struct alqi_ctf_location *out)
{
    struct alqi_symbol_frame frame;

    alqi_cli_jit_frame(c->jit, piece, alqi_code_address(code) - 1, &frame);
    entry_fill(&c->entries[0], &frame);
    if (frame.file[0] == '\0')
        c->entries[0].file = ALQI_CODE_MADE_MODULE;
    *out = (struct alqi_ctf_location){code, 1, c->entries};
}

/* A return address points behind its call, so the symbols are asked for the
 * byte before it; bias turns the address into one of the module's file. */
static size_t
code_resolve(const struct alqi_cli_codes *c, uint64_t code, uint64_t home,
             const struct alqi_symbol_frame **frames)
{
    const struct alqi_cli_module *m = c->modules[home];

    return alqi_symbol_resolve(m->symbols,
                               alqi_code_address(code) - 1 - m->bias, frames);
}

void
alqi_cli_codes_read_ahead(struct alqi_cli_codes *c)
{
    const struct alqi_symbol_frame *frames;
    uint64_t home;

    for (; c->n_read < c->n_given; c->n_read++)
        if (alqi_base_map_get(&c->code_home, c->given[c->n_read], &home))
            code_resolve(c, c->given[c->n_read], home, &frames);
}

/* Names of a code, outermost function first. */
void
alqi_cli_codes_lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    struct alqi_cli_codes *c = arg;
    const struct alqi_symbol_frame *frames;
    uint64_t home;
    size_t n;

    if (code == ALQI_CLI_CODE_MAPPING) {
        c->entries[0] = (struct alqi_ctf_entry){
            .file = "", .function = ALQI_CLI_MAPPING_NAME};
        *out = (struct alqi_ctf_location){code, 1, c->entries};
        return;
    }
    if ((code & ALQI_CODE_NUMBERED) != 0) {
        lookup_python(c, code, out);
        return;
    }
    if (!alqi_base_map_get(&c->code_home, code, &home)) {
        lookup_unknown(c, code, out);
        return;
    }
    if (alqi_code_is_made(code)) {
        lookup_made(c, code, home, out);
        return;
    }
    n = code_resolve(c, code, home, &frames);
    if (n > ALQI_CLI_ENTRIES_MAX) { /* the outermost ones say least */
        frames += n - ALQI_CLI_ENTRIES_MAX;
        n = ALQI_CLI_ENTRIES_MAX;
    }
    for (size_t i = 0; i < n; i++)
        entry_fill(&c->entries[i], &frames[i]);
    n = alqi_cli_entries_fit(c->entries, n, &c->kept);
    *out = (struct alqi_ctf_location){code, (uint32_t)n, c->entries};
}
