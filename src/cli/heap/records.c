/* records.c -- modules, kinds, sites, roots and samples of a snapshot
 *                                                                 [state.h]
 *
 * .inv.named  Roots of equal names are one holder: the slots of an array, the
 *             words of a stack, the frames of one place. */
#include "cli/heap/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"

enum { NAME_BYTES = 512 };

/* ---- texts --------------------------------------------------------------- */

/* A text of the file as a name, cut where it is very long. */
static uint32_t
name_of(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_text *text)
{
    char name[NAME_BYTES];
    size_t n = text->n < sizeof name - 1 ? text->n : sizeof name - 1;

    if (n > 0)
        memcpy(name, text->bytes, n);
    name[n] = '\0';
    return alqi_cli_names_intern(s->names, name);
}

static void
module_take(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    struct alqi_cli_heap_module module = {
        .start = r->numbers[0],
        .end = r->numbers[1],
        .bias = r->numbers[2],
        .build_id = (const uint8_t *)r->texts[1].bytes,
        .build_id_bytes = r->texts[1].n};
    char *path = strndup(r->texts[0].bytes, r->texts[0].n);

    if (path == NULL)
        alqi_cli_die("heap: no memory for names");
    module.path = path;
    alqi_cli_heap_symbols_add(s->symbols, &module);
    free(path);
}

static void
kind_take(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    if (r->numbers[0] >= ALQI_CLI_HEAP_KINDS - 1)
        return; /* its blocks are "of other kinds" */
    if (r->numbers[0] >= s->n_kinds)
        s->kinds = alqi_cli_widen(s->kinds, &s->n_kinds,
                                  (uint32_t)r->numbers[0], sizeof *s->kinds);
    s->kinds[r->numbers[0]].name = name_of(s, &r->texts[0]);
}

static void
site_take(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    s->sites = alqi_cli_grow(s->sites, s->n_sites, sizeof *s->sites);
    s->sites[s->n_sites] =
        (struct alqi_cli_heap_site){.number = r->numbers[0], .record = *r};
    alqi_cli_map_put(&s->sites_by_number, r->numbers[0], s->n_sites++);
}

/* ---- roots --------------------------------------------------------------- */

/* A variable's symbol, else its address. */
static void
variable_name(struct alqi_cli_heap_snapshot *s, const char *what, uint64_t slot,
              char *out, size_t capacity)
{
    char symbol[NAME_BYTES / 2];

    if (alqi_cli_heap_symbols_variable(s->symbols, slot, symbol, sizeof symbol))
        snprintf(out, capacity, "%s %s", what, symbol);
    else
        snprintf(out, capacity, "%s at 0x%" PRIx64, what, slot);
}

/* A function that shows roots. */
static void
scanner_name(struct alqi_cli_heap_snapshot *s, uint64_t slot, char *out,
             size_t capacity)
{
    struct alqi_cli_heap_place_of_code place;

    if (alqi_cli_heap_symbols_code(s->symbols, slot, &place))
        snprintf(out, capacity, "scanner %s", place.function);
    else
        snprintf(out, capacity, "scanner at 0x%" PRIx64, slot);
}

/* OCaml's compiler names the block of values of the module A.B "camlA__B".
 * False: this is no module's name. */
static bool
ocaml_module_name(const char *symbol, char *out, size_t capacity)
{
    size_t n = 0;

    if (strncmp(symbol, "caml", 4) != 0 || symbol[4] < 'A' || symbol[4] > 'Z')
        return false;
    for (const char *at = symbol + 4; *at != '\0' && n + 1 < capacity; at++) {
        bool is_dot = at[0] == '_' && at[1] == '_';

        out[n++] = is_dot ? '.' : *at;
        at += is_dot;
    }
    out[n] = '\0';
    return true;
}

/* A root of OCaml's runtime: a field of a module, a variable of C code, or a
 * slot that is in no file: of a stack, or of the domain's state. */
static void
host_name(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r,
          char *out, size_t capacity)
{
    char module[NAME_BYTES / 2];
    uint64_t offset, size, slot = r->numbers[2];
    const char *symbol =
        alqi_cli_heap_symbols_data(s->symbols, slot, &offset, &size);

    if (symbol != NULL && ocaml_module_name(symbol, module, sizeof module))
        snprintf(out, capacity, "module %s, value %" PRIu64, module,
                 offset / 8 + 1);
    else if (alqi_cli_heap_symbols_variable(s->symbols, slot, module,
                                            sizeof module))
        snprintf(out, capacity, "%s", module);
    else
        snprintf(out, capacity, "stacks of domain %" PRIu64, r->numbers[1]);
}

static const char *const titles[ALQI_DUMP_ROOTS] = {
    [ALQI_DUMP_ROOT_FRAME] = "frame",
    [ALQI_DUMP_ROOT_RANGE] = "range",
    [ALQI_DUMP_ROOT_GLOBAL] = "global",
    [ALQI_DUMP_ROOT_BOXED] = "root",
    [ALQI_DUMP_ROOT_PIN] = "pinned blocks",
    [ALQI_DUMP_ROOT_SCANNER] = "scanner",
    [ALQI_DUMP_ROOT_STACK] = "stack of domain",
    [ALQI_DUMP_ROOT_TRANSFER] = "transfer of domain",
    [ALQI_DUMP_ROOT_FINAL] = "finalisers",
    [ALQI_DUMP_ROOT_PROFILE] = "profiler",
    [ALQI_DUMP_ROOT_HOST] = "runtime",
};

/* The words for a root without a name of its own. */
static void
holder_name(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r,
            char *out, size_t capacity)
{
    enum alqi_dump_root kind = (enum alqi_dump_root)r->numbers[0];

    switch (kind) {
    case ALQI_DUMP_ROOT_RANGE:
    case ALQI_DUMP_ROOT_GLOBAL:
    case ALQI_DUMP_ROOT_BOXED:
        variable_name(s, titles[kind], r->numbers[2], out, capacity);
        break;
    case ALQI_DUMP_ROOT_HOST:
        host_name(s, r, out, capacity);
        break;
    case ALQI_DUMP_ROOT_SCANNER:
        scanner_name(s, r->numbers[2], out, capacity);
        break;
    case ALQI_DUMP_ROOT_FRAME:
    case ALQI_DUMP_ROOT_STACK:
    case ALQI_DUMP_ROOT_TRANSFER:
        snprintf(out, capacity, "%s %s%" PRIu64, titles[kind],
                 kind == ALQI_DUMP_ROOT_FRAME ? "of domain " : "",
                 r->numbers[1]);
        break;
    default:
        snprintf(out, capacity, "%s", titles[kind]);
        break;
    }
}

static uint32_t
holder_name_intern(struct alqi_cli_heap_snapshot *s,
                   const struct alqi_dump_record *r)
{
    enum alqi_dump_root kind = (enum alqi_dump_root)r->numbers[0];
    char name[NAME_BYTES + 32];
    int n = (int)(r->texts[0].n < NAME_BYTES ? r->texts[0].n : NAME_BYTES);

    if (n > 0 && kind == ALQI_DUMP_ROOT_RANGE)
        snprintf(name, sizeof name, "%.*s", n, r->texts[0].bytes);
    else if (n > 0)
        snprintf(name, sizeof name, "%s %.*s", titles[kind], n,
                 r->texts[0].bytes);
    else
        holder_name(s, r, name, sizeof name);
    return alqi_cli_names_intern(s->names, name);
}

static uint32_t
holder_of(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    uint32_t name = holder_name_intern(s, r);
    bool is_new;
    uint64_t *at = alqi_cli_map_at(&s->holders_by_key,
                                   r->numbers[0] << 32 | name, &is_new);

    if (is_new) {
        *at = s->n_holders;
        s->holders =
            alqi_cli_grow(s->holders, s->n_holders, sizeof *s->holders);
        s->holders[s->n_holders++] = (struct alqi_cli_heap_holder){
            .name = name, .kind = (enum alqi_dump_root)r->numbers[0]};
    }
    return (uint32_t)*at;
}

static void
root_take(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    uint32_t holder = holder_of(s, r);

    s->holders[holder].n_roots++;
    s->roots = alqi_cli_grow(s->roots, s->n_roots, sizeof *s->roots);
    s->roots[s->n_roots++] = (struct alqi_cli_heap_root){r->numbers[3], holder};
}

static void
sample_take(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    struct alqi_cli_heap_sample sample = {.block = r->numbers[0],
                                          .samples = r->numbers[2],
                                          .site = ALQI_CLI_HEAP_NOTHING};
    uint64_t site;

    memcpy(&sample.rate, &r->numbers[3], sizeof sample.rate);
    if (!(sample.rate > 0 && sample.rate <= 1))
        sample.rate = 1;
    if (alqi_base_map_get(&s->sites_by_number, r->numbers[1], &site))
        sample.site = (uint32_t)site;
    s->samples = alqi_cli_grow(s->samples, s->n_samples, sizeof *s->samples);
    s->samples[s->n_samples++] = sample;
}

static void
traced_take(struct alqi_cli_heap_snapshot *s, const struct alqi_dump_record *r)
{
    const uint64_t most = ((uint64_t)1 << 56) - 1;

    s->traced = alqi_cli_grow(s->traced, s->n_traced, sizeof *s->traced);
    s->traced[s->n_traced++] =
        (struct alqi_cli_heap_traced){.block = r->numbers[0],
                                      .stream = r->numbers[1] & 0xFF,
                                      .object = r->numbers[2] & most};
}

/* ---- all ----------------------------------------------------------------- */

void
alqi_cli_heap_record_take(struct alqi_cli_heap_snapshot *s,
                          const struct alqi_dump_record *r)
{
    switch (r->kind) {
    case ALQI_DUMP_PROGRAM:
        s->pid = r->numbers[0];
        s->wall_us = r->numbers[1];
        s->command = r->texts[0];
        break;
    case ALQI_DUMP_MODULE:
        module_take(s, r);
        break;
    case ALQI_DUMP_KIND:
        kind_take(s, r);
        break;
    case ALQI_DUMP_SITE:
        site_take(s, r);
        break;
    case ALQI_DUMP_ROOT:
        root_take(s, r);
        break;
    case ALQI_DUMP_SAMPLE:
        sample_take(s, r);
        break;
    case ALQI_DUMP_TRACED:
        traced_take(s, r);
        break;
    case ALQI_DUMP_RUN:
        break;
    case ALQI_DUMP_END:
        s->has_end = true;
        s->stop_ns = r->numbers[5];
        s->is_copied = r->numbers[6] != 0;
        break;
    }
}

static int
root_compare(const void *a, const void *b)
{
    const struct alqi_cli_heap_root *x = a, *y = b;

    if (x->holder != y->holder)
        return x->holder < y->holder ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static int
sample_compare(const void *a, const void *b)
{
    const struct alqi_cli_heap_sample *x = a, *y = b;

    return (x->block > y->block) - (x->block < y->block);
}

void
alqi_cli_heap_records_end(struct alqi_cli_heap_snapshot *s)
{
    if (s->n_roots > 0)
        qsort(s->roots, s->n_roots, sizeof *s->roots, root_compare);
    if (s->n_samples > 0)
        qsort(s->samples, s->n_samples, sizeof *s->samples, sample_compare);
}

void
alqi_cli_heap_records_free(struct alqi_cli_heap_snapshot *s)
{
    alqi_cli_heap_symbols_drop(s->symbols);
    alqi_cli_names_drop(s->names);
    alqi_base_map_clear(&s->holders_by_key);
    alqi_base_map_clear(&s->sites_by_number);
    free(s->kinds);
    free(s->holders);
    free(s->roots);
    free(s->sites);
    free(s->samples);
    free(s->traced);
}

/* ---- names --------------------------------------------------------------- */

const char *
alqi_cli_heap_kind_name(struct alqi_cli_heap_snapshot *s, uint32_t kind)
{
    static const char *const tags[] = {"abstract", "string", "double",
                                       "double array", "custom"};
    char name[NAME_BYTES];

    if (kind >= s->n_kinds)
        return kind == ALQI_CLI_HEAP_KINDS - 1 ? "other kinds" : "block";
    if (s->kinds[kind].name == ALQI_CLI_NO_NAME) {
        if (kind >= 251 && kind <= 255)
            snprintf(name, sizeof name, "%s", tags[kind - 251]);
        else if (kind < 251)
            snprintf(name, sizeof name, "block of tag %" PRIu32, kind);
        else
            snprintf(name, sizeof name, "kind %" PRIu32, kind);
        s->kinds[kind].name = alqi_cli_names_intern(s->names, name);
    }
    return alqi_cli_names_text(s->names, s->kinds[kind].name);
}

const char *
alqi_cli_heap_holder_name(const struct alqi_cli_heap_snapshot *s,
                          uint32_t holder)
{
    return alqi_cli_names_text(s->names, s->holders[holder].name);
}

/* A frame has texts, or an address, or both. */
static void
frame_name(struct alqi_cli_heap_snapshot *s, struct alqi_cli_heap_site *site,
           const struct alqi_dump_site_frame *f)
{
    struct alqi_cli_heap_place_of_code place;

    site->function = name_of(s, &f->function);
    site->file = name_of(s, &f->file);
    site->line = f->line;
    if (f->address == 0 || site->file != ALQI_CLI_NO_NAME ||
        !alqi_cli_heap_symbols_code(s->symbols, f->address - 1, &place))
        return;
    site->function = alqi_cli_names_intern(s->names, place.function);
    site->file = place.line > 0 ? alqi_cli_names_intern(s->names, place.file)
                                : ALQI_CLI_NO_NAME;
    site->line = place.line;
}

/* By the innermost function that is no allocator's. */
static void
site_resolve(struct alqi_cli_heap_snapshot *s, struct alqi_cli_heap_site *site)
{
    struct alqi_dump_record record = site->record;
    struct alqi_dump_site_frame frame;

    for (uint64_t i = 0; i < record.numbers[1]; i++) {
        alqi_dump_next_frame(&record, &frame);
        frame_name(s, site, &frame);
        if (site->function != ALQI_CLI_NO_NAME &&
            !alqi_cli_is_wrapper(alqi_cli_names_text(s->names, site->function)))
            return;
    }
    if (site->function == ALQI_CLI_NO_NAME)
        site->function = alqi_cli_names_intern(s->names, "unknown function");
}

void
alqi_cli_heap_site_name(struct alqi_cli_heap_snapshot *s, uint32_t n, char *out,
                        size_t capacity)
{
    struct alqi_cli_heap_site *site = &s->sites[n];

    if (site->function == ALQI_CLI_NO_NAME)
        site_resolve(s, site);
    if (site->file == ALQI_CLI_NO_NAME)
        snprintf(out, capacity, "%s",
                 alqi_cli_names_text(s->names, site->function));
    else
        snprintf(out, capacity, "%s (%s:%" PRIu64 ")",
                 alqi_cli_names_text(s->names, site->function),
                 alqi_cli_names_text(s->names, site->file), site->line);
}

const struct alqi_cli_heap_sample *
alqi_cli_heap_sample_at(const struct alqi_cli_heap_snapshot *s,
                        uint64_t address)
{
    struct alqi_cli_heap_sample key = {.block = address};

    return s->n_samples == 0 ? NULL
                             : bsearch(&key, s->samples, s->n_samples,
                                       sizeof key, sample_compare);
}
