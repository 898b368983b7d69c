/* push.h -- what the files of `aliquot push` share
 *
 * An engine is one row of the table in push.c and a function that makes what it
 * is sent. */
#ifndef ALQI_CLI_FLEET_PUSH_H
#define ALQI_CLI_FLEET_PUSH_H

#include "cli/fleet/reading.h"
#include "cli/tool/web.h"

enum { ALQI_CLI_LABELS_MOST = 30, ALQI_CLI_NAME_BYTES = 256 };

struct alqi_cli_push_label {
    char *name;        /* of malloc, and holds value, too */
    const char *value; /* behind the name */
};

/* What is told with a profile, and what of the trace it has. */
struct alqi_cli_push_window {
    const char *service;
    const struct alqi_cli_push_label *labels;
    uint32_t n_labels;
    uint64_t from_ns, until_ns;     /* since 1970 */
    struct alqi_cli_export *export; /* part.since: what was sent before */
};

/* What is posted. */
struct alqi_cli_push_body {
    char *query; /* behind the engine's path; or NULL */
    void *bytes; /* of malloc */
    size_t n_bytes;
    size_t n_profile_bytes; /* before compression and the like */
    uint32_t n_stacks;      /* of all profiles in it ... */
    uint32_t most_stacks;   /* ... and of the one that has most */
};

struct alqi_cli_push_engine {
    const char *name;
    /* added to the address, unless it ends so */
    const char *path;
    const char *type; /* Content-Type */
    bool has_dots;    /* in names of labels */
    /* False when there is nothing to tell. */
    bool (*make)(const struct alqi_cli_push_window *window,
                 struct alqi_cli_push_body *body);
    /* What an answer of status 200 says is wrong all the same; or NULL. */
    const char *(*objection)(const struct alqi_cli_web_answer *answer);
};

bool alqi_cli_push_pyroscope(const struct alqi_cli_push_window *window,
                             struct alqi_cli_push_body *body);
bool alqi_cli_push_parca(const struct alqi_cli_push_window *window,
                         struct alqi_cli_push_body *body);
bool alqi_cli_push_otlp(const struct alqi_cli_push_window *window,
                        struct alqi_cli_push_body *body);
const char *alqi_cli_push_otlp_objection(const struct alqi_cli_web_answer *a);

#endif
