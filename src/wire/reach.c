/* reach.c -- numbers of blocks as runs and the gaps between them  [reach.h]
 *
 * A line is: none -> begun (from is known) -> full, or a number that is not
 * behind the last one comes -> written, none. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/reach.h"

enum { ITEM_BYTES = 48 /* the longest item: two numbers of 20 digits */ };

/* ---- writing ------------------------------------------------------------- */

/* A name takes three bytes for each of its own at most, so it fits a line. */
enum alq_status
alqi_side_holder_put(const struct alqi_side_writer *w,
                     const struct alqi_side_holder *h)
{
    char text[ALQI_SIDE_LINE_BYTES], name[ALQI_SIDE_HOLDER_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_cut(name, sizeof name, h->name);
    alqi_side_text(&line, NULL, "holder");
    alqi_side_number(&line, "id", h->id);
    if (h->in != 0)
        alqi_side_number(&line, "in", h->in);
    if (h->most > 1)
        alqi_side_number(&line, "most", h->most);
    alqi_side_text(&line, "name", name);
    return alqi_side_write_line(w, text);
}

/* The open run enters the line. */
static void
run_close(struct alqi_side_reach *r)
{
    uint64_t n = r->behind - r->first;

    if (n == 0)
        return;
    r->n += (size_t)snprintf(r->ids + r->n, sizeof r->ids - r->n, "%s%" PRIu64,
                             r->n > 0 ? "," : "", r->first - r->told);
    if (n > 1)
        r->n += (size_t)snprintf(r->ids + r->n, sizeof r->ids - r->n,
                                 "x%" PRIu64, n);
    r->told = r->first = r->behind;
}

enum alq_status
alqi_side_reach_end(struct alqi_side_reach *r, const struct alqi_side_writer *w)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    run_close(r);
    if (r->n == 0)
        return ALQ_OK;
    r->n = 0;
    alqi_side_text(&line, NULL, "reach");
    alqi_side_text(&line, "class", r->class);
    if (r->holder != 0)
        alqi_side_number(&line, "holder", r->holder);
    if (r->is_old)
        alqi_side_number(&line, "old", 1);
    alqi_side_number(&line, "from", r->from);
    alqi_side_text(&line, "ids", r->ids);
    return alqi_side_write_line(w, text);
}

enum alq_status
alqi_side_reach_put(struct alqi_side_reach *r, const struct alqi_side_writer *w,
                    uint64_t id)
{
    bool is_begun = r->n > 0 || r->behind > r->first;
    enum alq_status status = ALQ_OK;

    if (is_begun && id == r->behind) {
        r->behind++;
        return ALQ_OK;
    }
    run_close(r);
    if (r->n > sizeof r->ids - ITEM_BYTES || (is_begun && id < r->behind)) {
        status = alqi_side_reach_end(r, w);
        is_begun = false;
    }
    if (!is_begun)
        r->from = r->told = id;
    r->first = id;
    r->behind = id + 1;
    return status;
}

/* ---- reading ------------------------------------------------------------- */

bool
alqi_side_holder_get(struct alqi_side_holder *h, const char *line,
                     char name[ALQI_SIDE_HOLDER_BYTES])
{
    *h = (struct alqi_side_holder){.id = alqi_side_get_number(line, "id", 10),
                                   .in = alqi_side_get_number(line, "in", 10),
                                   .most =
                                       alqi_side_get_number(line, "most", 10),
                                   .name = name};
    if (h->most == 0)
        h->most = 1;
    return alqi_side_get(line, "name", name, ALQI_SIDE_HOLDER_BYTES) &&
           h->id != 0 && h->in < h->id;
}

bool
alqi_side_reach_open(struct alqi_side_reach_runs *runs, const char *line)
{
    runs->at = runs->ids;
    runs->next = alqi_side_get_number(line, "from", 10);
    return alqi_side_get(line, "ids", runs->ids, sizeof runs->ids);
}

/* A number at *at, which is moved behind it.  False: there is none. */
static bool
number_take(const char **at, uint64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return true;
}

bool
alqi_side_reach_next(struct alqi_side_reach_runs *runs, uint64_t *first,
                     uint64_t *n)
{
    const char *at = runs->at;
    uint64_t gap;

    at += at > runs->ids && *at == ',';
    *n = 1;
    if (!number_take(&at, &gap))
        return false;
    if (*at == 'x') {
        at++;
        if (!number_take(&at, n))
            return false;
    }
    if (gap > UINT64_MAX - runs->next || *n == 0 ||
        *n > UINT64_MAX - runs->next - gap)
        return false;
    *first = runs->next + gap;
    runs->next = *first + *n;
    runs->at = at;
    return true;
}
