/* live.c -- a page over a process that runs
 *
 *   process --status, recording--> parts (live/top.h) --index--> set
 *
 * The page asks once a second; each question looks at the process, reads what
 * it has written since, and gives the set a new index of each part that has
 * grown. A page that asks nothing (it is paused, or hidden) costs nothing, and
 * its figures stay.
 *
 * .inv.share   Making indexes takes at most one part in SHARE of the time: a
 *              long recording is renewed less often, and the answer says so.
 * .inv.renew   A trace's bytes live until the set has others in their place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/defaults.h"
#include "cli/live/top.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"
#include "cli/view/live.h"
#include "view/json.h"

enum {
    READ_US = 300000, /* of one question; a long recording takes several */
    SHARE = 4,        /* .inv.share */
    ANSWER_BYTES_MAX = 65536,
    NO_TRACE = -1
};

/* What the set has of a part. */
struct shown {
    int trace;   /* of the set; NO_TRACE: none yet */
    char *bytes; /* its index (.inv.renew) */
    /* events that are in it, of which generation of the part's file */
    uint64_t n_events;
    unsigned generation;
    bool is_whole;  /* it was made when nobody wrote any more */
    bool is_behind; /* more has been written than it has */
};

struct alqi_cli_view_live {
    struct alqi_view_set *set; /* the caller's */
    struct alqi_cli_top top;   /* its parts alone */
    struct shown *shown;       /* by part */
    /* counts the changes of the set: answers of before are old */
    uint64_t generation;
    /* monotonic: no index is made before; what the last ones took */
    uint64_t next_us, took_us;
};

/* ---- indexes ------------------------------------------------------------- */

/* Everything that the analysis has taken. */
static uint64_t
events_of(struct alqi_cli_follow *follow)
{
    const struct alqi_cli_analysis *a = alqi_cli_follow_analysis(follow);

    return a->n_allocs + a->n_promotes + a->n_frees + a->notes.n_rss +
           a->notes.n_marks;
}

/* The set has the new index, or what it had. */
static const char *
set_give(struct alqi_cli_view_live *l, struct shown *s, char *bytes, size_t n)
{
    const char *error;

    if (s->trace != NO_TRACE)
        return alqi_view_set_renew(l->set, (uint32_t)s->trace, bytes, n);
    error = alqi_view_set_add(l->set, bytes, n);
    if (error == NULL)
        s->trace = (int)l->set->n_traces - 1;
    return error;
}

/* Gives the set an index of what has been read of the part. What goes wrong is
 * the part's trouble. */
static void
index_renew(struct alqi_cli_view_live *l, struct alqi_cli_top_part *p,
            struct shown *s)
{
    size_t n = 0;
    char *bytes = NULL;
    const char *error = alqi_cli_follow_index(p->follow, &bytes, &n);

    if (error == NULL) {
        error = set_give(l, s, bytes, n);
        if (error != NULL)
            free(bytes);
    }
    if (error != NULL) {
        snprintf(p->trouble, sizeof p->trouble, "%s", error);
        return;
    }
    free(s->bytes);
    s->bytes = bytes;
    s->n_events = events_of(p->follow);
    s->generation = p->generation;
    s->is_whole = p->reading == ALQI_CLI_FOLLOW_OVER;
    l->generation++;
}

/* What was read has more than the index, or says how the process ended. */
static bool
has_news(const struct alqi_cli_top_part *p, const struct shown *s)
{
    return p->follow != NULL &&
           (s->trace == NO_TRACE || s->generation != p->generation ||
            s->n_events != events_of(p->follow) ||
            s->is_whole != (p->reading == ALQI_CLI_FOLLOW_OVER));
}

/* Asks the process, reads on, and renews the index if it may (.inv.share). Of a
 * process that has ended the page asks on as long as something is behind. */
static void
part_look(struct alqi_cli_view_live *l, struct alqi_cli_top_part *p,
          struct shown *s)
{
    bool is_more, may = alqi_cli_mono_us() >= l->next_us;

    alqi_cli_top_part_ask(p);
    is_more = alqi_cli_top_part_read(p, READ_US);
    if (may && has_news(p, s))
        index_renew(l, p, s);
    s->is_behind =
        is_more ||
        (p->is_gone && p->follow != NULL &&
         ((!may && has_news(p, s)) || p->reading != ALQI_CLI_FOLLOW_OVER));
}

static void
look(struct alqi_cli_view_live *l)
{
    uint64_t begun_us = alqi_cli_mono_us();

    for (uint32_t i = 0; i < l->top.n_parts; i++)
        part_look(l, &l->top.parts[i], &l->shown[i]);
    if (begun_us < l->next_us)
        return;
    l->took_us = alqi_cli_mono_us() - begun_us;
    l->next_us = alqi_cli_mono_us() + (SHARE - 1) * l->took_us;
}

/* ---- the answer ---------------------------------------------------------- */

static void
key_bool(struct alqi_view_json *json, const char *key, bool value)
{
    alqi_view_json_key(json, key);
    alqi_view_json_bool(json, value);
}

static void
part_put(struct alqi_view_json *json, const struct alqi_cli_top_part *p,
         const struct shown *s)
{
    alqi_view_json_open(json, '{');
    alqi_view_json_key(json, "trace");
    if (s->trace == NO_TRACE)
        alqi_view_json_null(json);
    else
        alqi_view_json_int(json, s->trace);
    alqi_view_json_key_int(json, "pid", p->pid);
    alqi_view_json_key_text(json, "command", p->command);
    alqi_view_json_key_text(json, "state", p->state);
    alqi_view_json_key(json, "interval_bytes");
    alqi_view_json_whole(json, p->rate > 0 ? ALQI_WORD_BYTES / p->rate : 0);
    alqi_view_json_key_int(json, "dropped", (int64_t)p->counts.n_dropped);
    alqi_view_json_key_int(json, "lost", (int64_t)p->counts.n_lost);
    alqi_view_json_key_text(json, "trouble", p->trouble);
    key_bool(json, "is_heap", p->is_heap);
    key_bool(json, "has_control", p->has_control);
    key_bool(json, "is_gone", p->is_gone);
    key_bool(json, "is_behind", s->is_behind);
    alqi_view_json_close(json, '}');
}

static void
answer_put(const struct alqi_cli_view_live *l,
           struct alqi_cli_http_answer *answer)
{
    struct alqi_view_json json = {.most = ANSWER_BYTES_MAX};

    alqi_view_json_open(&json, '{');
    alqi_view_json_key_int(&json, "generation",
                           l != NULL ? (int64_t)l->generation : 0);
    alqi_view_json_key_int(&json, "took_us",
                           l != NULL ? (int64_t)l->took_us : 0);
    alqi_view_json_key(&json, "parts");
    alqi_view_json_open(&json, '[');
    for (uint32_t i = 0; l != NULL && i < l->top.n_parts; i++)
        part_put(&json, &l->top.parts[i], &l->shown[i]);
    alqi_view_json_close(&json, ']');
    alqi_view_json_close(&json, '}');
    if (json.has_failed) {
        free(json.text);
        alqi_cli_http_say(answer, 500, "there is no memory for the answer");
        return;
    }
    answer->status = 200;
    answer->type = "application/json";
    answer->body = json.text;
    answer->n_bytes = json.n;
}

/* ---- commands ------------------------------------------------------------ */

/* The mean bytes between samples that the request wishes, as a rate; 0: none.
 * False: it is no such number. */
static bool
rate_take(const struct alqi_cli_http_request *request, double *rate)
{
    const char *text = alqi_cli_http_value(request, "interval");
    char *end;
    double bytes;

    *rate = 0;
    if (text == NULL || text[0] == '\0')
        return true;
    bytes = strtod(text, &end);
    if (end == text || *end != '\0' || !(bytes >= ALQI_WORD_BYTES) ||
        !isfinite(bytes))
        return false;
    *rate = ALQI_WORD_BYTES / bytes;
    return true;
}

/* The part that the request names, the first if none. */
static struct alqi_cli_top_part *
part_of(struct alqi_cli_view_live *l,
        const struct alqi_cli_http_request *request)
{
    const char *text = alqi_cli_http_value(request, "part");
    unsigned long at = text != NULL ? strtoul(text, NULL, 10) : 0;

    return at < l->top.n_parts ? &l->top.parts[at] : NULL;
}

/* Does what is wished. False: refused, and the answer says why. */
static bool
command(struct alqi_cli_view_live *l,
        const struct alqi_cli_http_request *request,
        struct alqi_cli_http_answer *answer)
{
    static const char *const known[] = {"start", "stop", "rate"};
    const char *wish = alqi_cli_http_value(request, "do");
    struct alqi_cli_top_part *p = part_of(l, request);
    double rate;

    for (size_t i = 0; wish != NULL && i < ALQI_COUNT_OF(known); i++) {
        if (strcmp(wish, known[i]) != 0)
            continue;
        if (p == NULL || !p->has_control) {
            alqi_cli_http_say(answer, 409,
                              "the process has no control socket: it cannot be "
                              "told to %s",
                              wish);
            return false;
        }
        if (!rate_take(request, &rate)) {
            alqi_cli_http_say(answer, 400,
                              "interval: a number of bytes, at least %d",
                              ALQI_WORD_BYTES);
            return false;
        }
        if (alqi_cli_top_part_command(p, wish, rate, NULL))
            return true;
        alqi_cli_http_say(answer, 409, "%s", p->trouble);
        return false;
    }
    alqi_cli_http_say(answer, 400, "do: start, stop or rate");
    return false;
}

void
alqi_cli_view_live_answer(struct alqi_cli_view_live *l,
                          const struct alqi_cli_http_request *request,
                          struct alqi_cli_http_answer *answer)
{
    if (l != NULL && request->is_post && !command(l, request, answer))
        return;
    if (l != NULL)
        look(l);
    answer_put(l, answer);
}

/* ---- opening ------------------------------------------------------------- */

/* Looks once. -1, or the status to exit with where nothing can be watched. */
static int
first_look(struct alqi_cli_view_live *l)
{
    const struct alqi_cli_top_part *first = &l->top.parts[0];

    look(l);
    for (uint32_t i = 0; i < l->top.n_parts; i++)
        if (l->top.parts[i].follow != NULL || l->top.parts[i].is_answering)
            return -1;
    if (first->trouble[0] != '\0')
        alqi_cli_say("view: %s", first->trouble);
    else
        alqi_cli_say("view: there is no process %d", (int)first->pid);
    return ALQI_CLI_FINDING;
}

int
alqi_cli_view_live_open(const struct alqi_cli_control_target *target,
                        struct alqi_view_set *set,
                        struct alqi_cli_view_live **live)
{
    struct alqi_cli_view_live *l = *live = alqi_cli_zeros(1, sizeof *l);
    int rc = alqi_cli_top_watch(&l->top, target, true);

    l->set = set;
    l->shown = alqi_cli_zeros(l->top.n_parts, sizeof *l->shown);
    for (uint32_t i = 0; i < l->top.n_parts; i++) {
        l->shown[i].trace = NO_TRACE;
        l->top.parts[i].is_indexed = true;
    }
    return rc < 0 ? first_look(l) : rc;
}

void
alqi_cli_view_live_drop(struct alqi_cli_view_live *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < l->top.n_parts; i++)
        free(l->shown[i].bytes);
    free(l->shown);
    alqi_cli_top_unwatch(&l->top);
    free(l);
}
