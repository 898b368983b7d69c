/* push_otlp.c -- OTLP's profiles over HTTP, the signal in development
 *
 * Written to opentelemetry-proto 1.11.0, package v1development: field numbers
 * are those of July 2026, and the signal is free to change them.  A request is
 * four profiles of one type each, which share a dictionary.  Its tables have an
 * empty entry 0, so pprof's ids, which count from 1, are positions in them. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/export/pprof_profile.h"
#include "cli/fleet/push.h"
#include "cli/tool/text.h"
#include "wire/pb.h"

/* Fields of the messages, by number. */
enum {
    REQUEST_RESOURCE_PROFILES = 1,
    REQUEST_DICTIONARY = 2,
    RESOURCE_PROFILES_RESOURCE = 1,
    RESOURCE_PROFILES_SCOPE = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_PROFILES_SCOPE = 1,
    SCOPE_PROFILES_PROFILES = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    ANY_STRING = 1,
    ANY_INT = 3,
    DICTIONARY_MAPPINGS = 1,
    DICTIONARY_LOCATIONS = 2,
    DICTIONARY_FUNCTIONS = 3,
    DICTIONARY_LINKS = 4,
    DICTIONARY_STRINGS = 5,
    DICTIONARY_ATTRIBUTES = 6,
    DICTIONARY_STACKS = 7,
    MAPPING_START = 1,
    MAPPING_LIMIT = 2,
    MAPPING_FILE = 4,
    MAPPING_ATTRIBUTES = 5,
    LOCATION_LINES = 3,
    STACK_LOCATIONS = 1,
    ATTRIBUTE_KEY = 1,
    ATTRIBUTE_VALUE = 2,
    PROFILE_TYPE = 1,
    PROFILE_SAMPLES = 2,
    PROFILE_TIME = 3,
    PROFILE_DURATION = 4,
    PROFILE_PERIOD_TYPE = 5,
    PROFILE_PERIOD = 6,
    PROFILE_ID = 7,
    SAMPLE_STACK = 1,
    SAMPLE_VALUES = 4
};

enum { ID_BYTES = 16 };

static const char build_id_key[] = "process.executable.build_id.gnu";

/* ---- the dictionary -------------------------------------------------- */

/* An empty message: entry 0 of a table, which means none. */
static void
empty_put(struct alqi_pb *pb, unsigned field)
{
    alqi_pb_end(pb, alqi_pb_begin(pb, field));
}

/* Entry 0, then the functions by their identifiers. */
static void
functions_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    empty_put(pb, DICTIONARY_FUNCTIONS);
    for (uint32_t i = 0; i < p->tables.functions.n; i++) {
        struct alqi_cli_pprof_function f =
            alqi_cli_pprof_function(&p->tables, i);
        const uint64_t names[] = {f.name, f.name, f.file};

        alqi_pb_record(pb, DICTIONARY_FUNCTIONS, names, ALQI_COUNT_OF(names));
    }
}

/* The inlined calls of a location, innermost first. */
static void
lines_put(struct alqi_pb *pb, const struct alqi_cli_pprof_tables *t,
          const struct alqi_cli_pprof_location *l)
{
    for (uint32_t i = l->first_line; i < l->first_line + l->n_lines; i++) {
        const uint64_t line[] = {t->lines[i].function,
                                 (uint64_t)t->lines[i].line};

        alqi_pb_record(pb, LOCATION_LINES, line, ALQI_COUNT_OF(line));
    }
}

/* Entry 0, then the locations by their identifiers. */
static void
locations_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    empty_put(pb, DICTIONARY_LOCATIONS);
    for (uint32_t i = 0; i < p->tables.n_locations; i++) {
        const struct alqi_cli_pprof_location *l = &p->tables.locations[i];
        const uint64_t place[] = {l->mapping, l->address};
        size_t mark = alqi_pb_begin(pb, DICTIONARY_LOCATIONS);

        alqi_pb_numbers(pb, place, ALQI_COUNT_OF(place));
        lines_put(pb, &p->tables, l);
        alqi_pb_end(pb, mark);
    }
}

/* Entry 0, then the mappings. The attributes are build-ids, one of each mapping
 * that has one. */
static void
mappings_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    uint64_t n_attributes = 0;

    empty_put(pb, DICTIONARY_MAPPINGS);
    for (uint32_t i = 0; i < p->tables.n_mappings; i++) {
        const struct alqi_pb_mapping *m = &p->tables.mappings[i];
        size_t mark = alqi_pb_begin(pb, DICTIONARY_MAPPINGS);

        alqi_pb_uint(pb, MAPPING_START, m->start);
        alqi_pb_uint(pb, MAPPING_LIMIT, m->limit);
        alqi_pb_uint(pb, MAPPING_FILE, m->file);
        if (m->build_id != 0) {
            n_attributes++;
            alqi_pb_uints(pb, MAPPING_ATTRIBUTES, &n_attributes, 1);
        }
        alqi_pb_end(pb, mark);
    }
}

/* The key of each is the string behind those of the profile (dictionary_put).
 * The n-th attribute is the n-th build-id, as mappings_put() counts. */
static void
attributes_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    empty_put(pb, DICTIONARY_ATTRIBUTES);
    for (uint32_t i = 0; i < p->tables.n_mappings; i++) {
        uint64_t build_id = p->tables.mappings[i].build_id;
        size_t mark, value;

        if (build_id == 0)
            continue;
        mark = alqi_pb_begin(pb, DICTIONARY_ATTRIBUTES);
        alqi_pb_uint(pb, ATTRIBUTE_KEY, p->tables.strings.n); /* the last one */
        value = alqi_pb_begin(pb, ATTRIBUTE_VALUE);
        alqi_pb_text(pb, ANY_STRING,
                     alqi_cli_pprof_text(&p->tables, (int64_t)build_id));
        alqi_pb_end(pb, value);
        alqi_pb_end(pb, mark);
    }
}

/* Entry 0, then the stack of each sample: its number is the sample's, from 1
 * on. */
static void
stacks_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    empty_put(pb, DICTIONARY_STACKS);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        size_t mark = alqi_pb_begin(pb, DICTIONARY_STACKS);

        alqi_pb_uints(pb, STACK_LOCATIONS, p->samples[i].locations,
                      p->samples[i].n_locations);
        alqi_pb_end(pb, mark);
    }
}

/* The tables that all profiles of the request share. */
static void
dictionary_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p)
{
    size_t mark = alqi_pb_begin(pb, REQUEST_DICTIONARY);

    mappings_put(pb, p);
    locations_put(pb, p);
    functions_put(pb, p);
    empty_put(pb, DICTIONARY_LINKS);
    for (uint32_t i = 0; i < p->tables.strings.n; i++)
        alqi_pb_text(pb, DICTIONARY_STRINGS,
                     alqi_cli_pprof_text(&p->tables, i));
    alqi_pb_text(pb, DICTIONARY_STRINGS, build_id_key);
    attributes_put(pb, p);
    stacks_put(pb, p);
    alqi_pb_end(pb, mark);
}

/* ---- profiles -------------------------------------------------------- */

/* A type of value: two indexes of strings. */
static void
type_put(struct alqi_pb *pb, unsigned field,
         const struct alqi_cli_pprof_type *type)
{
    const uint64_t names[] = {(uint64_t)type->type, (uint64_t)type->unit};

    alqi_pb_record(pb, field, names, ALQI_COUNT_OF(names));
}

/* The samples whose value of that type is not 0; returns how many. */
static size_t
samples_put(struct alqi_pb *pb, const struct alqi_cli_pprof_profile *p,
            size_t type)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_samples; i++) {
        size_t mark;

        if (p->samples[i].values[type] == 0)
            continue;
        mark = alqi_pb_begin(pb, PROFILE_SAMPLES);
        alqi_pb_uint(pb, SAMPLE_STACK, i + 1);
        alqi_pb_ints(pb, SAMPLE_VALUES, &p->samples[i].values[type], 1);
        alqi_pb_end(pb, mark);
        n++;
    }
    return n;
}

/* Puts the profile of one type. Values in use are those of the window's end,
 * and such a profile has no duration. A profile without samples is taken out
 * again, as engines refuse it. */
static void
profile_put(struct alqi_pb *pb, const struct alqi_cli_push_window *w,
            const struct alqi_cli_pprof_profile *p, size_t type)
{
    bool is_in_use =
        strncmp(alqi_cli_pprof_text(&p->tables, p->types[type].type), "inuse",
                strlen("inuse")) == 0;
    size_t before = pb->n, mark = alqi_pb_begin(pb, SCOPE_PROFILES_PROFILES);
    unsigned char id[ID_BYTES];

    type_put(pb, PROFILE_TYPE, &p->types[type]);
    if (samples_put(pb, p, type) == 0) { /* of nothing: refused by engines */
        pb->n = before;
        return;
    }
    alqi_pb_fixed64(pb, PROFILE_TIME, is_in_use ? w->until_ns : w->from_ns);
    alqi_pb_uint(pb, PROFILE_DURATION,
                 is_in_use ? 0 : w->until_ns - w->from_ns);
    type_put(pb, PROFILE_PERIOD_TYPE, &p->period_type);
    alqi_pb_int(pb, PROFILE_PERIOD, p->period);
    if (getrandom(id, sizeof id, 0) == (ssize_t)sizeof id)
        alqi_pb_bytes(pb, PROFILE_ID, id, sizeof id);
    alqi_pb_end(pb, mark);
}

/* ---- the resource ---------------------------------------------------- */

/* A key and its value: text, or the number if text is NULL. */
static void
attribute_put(struct alqi_pb *pb, const char *key, const char *text,
              uint64_t number)
{
    size_t mark = alqi_pb_begin(pb, RESOURCE_ATTRIBUTES), value;

    alqi_pb_text(pb, KEY_VALUE_KEY, key);
    value = alqi_pb_begin(pb, KEY_VALUE_VALUE);
    if (text != NULL)
        alqi_pb_text(pb, ANY_STRING, text);
    else
        alqi_pb_uint(pb, ANY_INT, number);
    alqi_pb_end(pb, value);
    alqi_pb_end(pb, mark);
}

/* A label of the same name is the user's word for it. */
static void
fact_put(struct alqi_pb *pb, const struct alqi_cli_push_window *w,
         const char *key, const char *text, uint64_t number)
{
    char clean[ALQI_CLI_NAME_BYTES];

    for (uint32_t i = 0; i < w->n_labels; i++)
        if (strcmp(w->labels[i].name, key) == 0)
            return;
    if (text != NULL)
        alqi_cli_clean(clean, sizeof clean, text);
    if (text != NULL ? clean[0] != '\0' : number != 0)
        attribute_put(pb, key, text != NULL ? clean : NULL, number);
}

/* What is recorded: service, facts of the process, the user's labels. */
static void
resource_put(struct alqi_pb *pb, const struct alqi_cli_push_window *w)
{
    const struct alqi_ctf_info *info = w->export->analysis.info;
    size_t mark = alqi_pb_begin(pb, RESOURCE_PROFILES_RESOURCE);

    attribute_put(pb, "service.name", w->service, 0);
    fact_put(pb, w, "host.name", info->host, 0);
    fact_put(pb, w, "process.pid", NULL, info->pid);
    fact_put(pb, w, "process.executable.path", info->executable, 0);
    for (uint32_t i = 0; i < w->n_labels; i++)
        attribute_put(pb, w->labels[i].name, w->labels[i].value, 0);
    alqi_pb_end(pb, mark);
}

/* The profiles, then the dictionary that they refer to. */
static void
request_put(struct alqi_pb *pb, const struct alqi_cli_push_window *w,
            const struct alqi_cli_pprof_profile *p)
{
    size_t resource = alqi_pb_begin(pb, REQUEST_RESOURCE_PROFILES);
    size_t scope_profiles, scope;

    resource_put(pb, w);
    scope_profiles = alqi_pb_begin(pb, RESOURCE_PROFILES_SCOPE);
    scope = alqi_pb_begin(pb, SCOPE_PROFILES_SCOPE);
    alqi_pb_text(pb, SCOPE_NAME, "aliquot");
    alqi_pb_text(pb, SCOPE_VERSION, ALQI_VERSION);
    alqi_pb_end(pb, scope);
    for (size_t t = 0; t < p->n_types; t++)
        profile_put(pb, w, p, t);
    alqi_pb_end(pb, scope_profiles);
    alqi_pb_end(pb, resource);
    dictionary_put(pb, p);
}

/* The engine's `make`: all types of sample in one request, uncompressed. */
bool
alqi_cli_push_otlp(const struct alqi_cli_push_window *w,
                   struct alqi_cli_push_body *body)
{
    struct alqi_pb pb = {0};
    struct alqi_cli_pprof *pprof;

    w->export->part.types = ALQI_CLI_PPROF_ALL;
    pprof = alqi_cli_pprof_new(w->export);
    request_put(&pb, w, alqi_cli_pprof_message(pprof));
    body->n_stacks = alqi_cli_pprof_message(pprof)->n_samples;
    body->most_stacks = body->n_stacks;
    alqi_cli_pprof_drop(pprof);
    if (pb.is_short)
        alqi_cli_die("out of memory for a profile");
    body->bytes = pb.bytes;
    body->n_bytes = body->n_profile_bytes = pb.n;
    return body->n_stacks > 0;
}

/* ---- the answer ------------------------------------------------------ */

struct view {
    const unsigned char *at, *end;
};

/* Reads protobuf's number at v->at; a cut one ends with the bytes. */
static uint64_t
varint(struct view *v)
{
    uint64_t value = 0;

    for (unsigned shift = 0; v->at < v->end && shift < 64; shift += 7) {
        value |= (uint64_t)(*v->at & 127) << shift;
        if (*v->at++ < 128)
            break;
    }
    return value;
}

/* The next field, *field 0 at the end; what it holds, or its number. */
static struct view
field_next(struct view *v, uint64_t *field, uint64_t *number)
{
    struct view inside = {v->at, v->at};
    uint64_t tag = v->at < v->end ? varint(v) : 0;

    *field = tag >> 3;
    *number = 0;
    if ((tag & 7) == 0) {
        *number = varint(v);
    } else if ((tag & 7) == 2) {
        uint64_t n = varint(v);

        inside.at = v->at;
        v->at += n < (uint64_t)(v->end - v->at) ? (ptrdiff_t)n : v->end - v->at;
        inside.end = v->at;
    } else {
        *field = 0; /* nothing of ours */
    }
    return inside;
}

/* The server may take a part, and say how many profiles it refused, and why. */
const char *
alqi_cli_push_otlp_objection(const struct alqi_cli_web_answer *a)
{
    static char text[300];
    const unsigned char *bytes = (const unsigned char *)a->text;
    struct view all = {bytes, bytes + a->n_text}, part, message = {0};
    uint64_t field, number, n_rejected = 0;
    char line[250] = "";

    part = field_next(&all, &field, &number);
    if (field != 1)
        return NULL;
    do {
        struct view inside = field_next(&part, &field, &number);

        if (field == 1)
            n_rejected = number;
        if (field == 2)
            message = inside;
    } while (field != 0);
    if (n_rejected == 0)
        return NULL;
    snprintf(line, sizeof line, "%.*s", (int)(message.end - message.at),
             message.at != NULL ? (const char *)message.at : "");
    snprintf(text, sizeof text,
             "%llu profiles were refused: ", (unsigned long long)n_rejected);
    alqi_cli_clean(text + strlen(text), sizeof text - strlen(text), line);
    return text;
}
