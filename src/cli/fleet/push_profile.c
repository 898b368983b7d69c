/* push_profile.c -- what Pyroscope and Parca are sent: profile.proto
 *
 * What was allocated is of the window alone, since both add up what they get;
 * what is in use is as it is now.  Pyroscope takes both in one profile.  To
 * Parca a profile with a duration is one of differences: it gets two. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/export/pprof_profile.h"
#include "cli/fleet/push.h"
#include "cli/tool/memory.h"

enum { NS_PER_S = 1000000000 };

/* ---- a profile ------------------------------------------------------- */

struct profile {
    /* of malloc */
    char *bytes;
    size_t n;
};

/* A compressed profile of the window with those types, to be freed; adds its
 * sizes and stacks to body. */
static struct profile
profile_make(const struct alqi_cli_push_window *w,
             enum alqi_cli_pprof_types types, struct alqi_cli_push_body *body)
{
    struct profile p = {NULL, 0};
    struct alqi_cli_pprof *pprof;
    uint32_t n_stacks;
    FILE *out = alqi_cli_memory_open(&p.bytes, &p.n);

    w->export->part.types = types;
    pprof = alqi_cli_pprof_new(w->export);
    n_stacks = alqi_cli_pprof_message(pprof)->n_samples;
    body->n_stacks += n_stacks;
    if (n_stacks > body->most_stacks)
        body->most_stacks = n_stacks;
    body->n_profile_bytes += alqi_cli_pprof_write(pprof, out);
    alqi_cli_pprof_drop(pprof);
    alqi_cli_memory_close(out, "a profile");
    return p;
}

/* ---- Pyroscope ------------------------------------------------------- */

/* "service{name=value,name=value}", for a query */
static char *
name_make(const struct alqi_cli_push_window *w)
{
    char *text = NULL, *escaped;
    size_t n;
    FILE *out = alqi_cli_memory_open(&text, &n);

    fprintf(out, "%s{", w->service);
    for (uint32_t i = 0; i < w->n_labels; i++)
        fprintf(out, "%s%s=%s", i > 0 ? "," : "", w->labels[i].name,
                w->labels[i].value);
    fputc('}', out);
    alqi_cli_memory_close(out, "a name");
    escaped = alqi_cli_web_escape(text);
    free(text);
    return escaped;
}

/* The engine's `make`: the profile is the body, everything else is in the
 * query. */
bool
alqi_cli_push_pyroscope(const struct alqi_cli_push_window *w,
                        struct alqi_cli_push_body *body)
{
    struct profile p = profile_make(w, ALQI_CLI_PPROF_ALL, body);
    char *name = name_make(w);

    body->bytes = p.bytes;
    body->n_bytes = p.n;
    if (asprintf(&body->query,
                 "?format=pprof&spyName=aliquot&name=%s&from=%" PRIu64
                 "&until=%" PRIu64,
                 name, w->from_ns / NS_PER_S, w->until_ns / NS_PER_S) < 0)
        body->query = NULL;
    free(name);
    return body->query != NULL && body->n_stacks > 0;
}

/* ---- Parca ----------------------------------------------------------- */

/* Text that JSON can carry, to be freed; padded as RFC 4648 says. */
static char *
base64(const struct profile *p)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = (const unsigned char *)p->bytes;
    char *text = alqi_cli_realloc(NULL, p->n / 3 + 2, 4), *to = text;

    for (size_t i = 0; i < p->n; i += 3) {
        size_t left = p->n - i;
        uint32_t bits = (uint32_t)from[i] << 16 |
                        (left > 1 ? (uint32_t)from[i + 1] << 8 : 0) |
                        (left > 2 ? from[i + 2] : 0);

        for (size_t k = 0; k < 4; k++)
            *to++ = k <= left ? digits[bits >> (18 - 6 * k) & 63] : '=';
    }
    *to = '\0';
    return text;
}

static json_t *
label(const char *name, const char *value)
{
    return json_pack("{s:s, s:s}", "name", name, "value", value);
}

/* Parca names a series by labels; __name__ and job are its own words for kind
 * and service. */
static json_t *
labels_make(const struct alqi_cli_push_window *w)
{
    json_t *list = json_array();

    json_array_append_new(list, label("__name__", "memory"));
    json_array_append_new(list, label("job", w->service));
    for (uint32_t i = 0; i < w->n_labels; i++)
        json_array_append_new(list,
                              label(w->labels[i].name, w->labels[i].value));
    return list;
}

/* A profile of nothing is left out: Parca has nothing to do with it. */
static void
raw_add(json_t *samples, const struct alqi_cli_push_window *w,
        enum alqi_cli_pprof_types types, struct alqi_cli_push_body *body)
{
    uint32_t before = body->n_stacks;
    struct profile p = profile_make(w, types, body);

    if (body->n_stacks > before) {
        char *text = base64(&p);

        json_array_append_new(samples, json_pack("{s:s}", "rawProfile", text));
        free(text);
    }
    free(p.bytes);
}

/* The engine's `make`: JSON with one or two raw profiles of a series. */
bool
alqi_cli_push_parca(const struct alqi_cli_push_window *w,
                    struct alqi_cli_push_body *body)
{
    json_t *samples = json_array(), *root;

    raw_add(samples, w, ALQI_CLI_PPROF_ALLOCATED, body);
    raw_add(samples, w, ALQI_CLI_PPROF_IN_USE, body);
    root = json_pack("{s:b, s:[{s:{s:o}, s:o}]}", "normalized", 0, "series",
                     "labels", "labels", labels_make(w), "samples", samples);
    body->bytes = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (body->bytes == NULL)
        alqi_cli_die("out of memory for a profile");
    body->n_bytes = strlen(body->bytes);
    return body->n_stacks > 0;
}
