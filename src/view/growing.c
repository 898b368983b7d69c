/* growing.c -- the answer `growth`: sites whose live bytes grow steadily
 *
 * Growth is that of all blocks that pass the filter without its conditions on
 * time; beside it stands what passes the whole filter, as in `sites`. Rows are
 * in the order of their growth, the fastest first. */
#include <stdlib.h>

#include "view/growth.h"
#include "view/sites.h"
#include "view/sort.h"

enum { LIMIT_DEFAULT = 100, ROW_BYTES = 480 };

/* Order by growth, then by function and line. */
static int
by_growth(const void *left, const void *right, void *arg)
{
    const struct alqi_view_site *a = left, *b = right;

    (void)arg;
    if (a->growth.slope != b->growth.slope)
        return a->growth.slope > b->growth.slope ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Keeps the sites that grow steadily, and sorts them. */
static void
steady_keep(struct alqi_view_sites *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        if (alqi_view_growth_is_steady(&s->rows[i].growth))
            s->rows[n++] = s->rows[i];
    s->n = n;
    alqi_view_sort(s->rows, s->n, sizeof *s->rows, by_growth, NULL);
}

/* Writes one site. */
static void
put_row(struct alqi_view_json *out, const struct alqi_view_site *site,
        const struct alqi_view_shape *shape, struct alqi_view_used *used)
{
    alqi_view_json_open(out, '{');
    alqi_view_put_site(out, site, shape, used);
    alqi_view_json_key(out, "bytes_per_minute");
    alqi_view_json_whole(out, alqi_view_growth_rate(&site->growth));
    alqi_view_json_key(out, "bytes_per_minute_se");
    alqi_view_json_whole(out, alqi_view_growth_stderr(&site->growth));
    alqi_view_json_close(out, '}');
}

/* Writes the rows that fit and are found, and how many were found beside. */
static void
put_rows(struct alqi_view_ask *ask, const struct alqi_view_sites *s,
         struct alqi_view_used *used, struct alqi_view_sites_question *q)
{
    uint64_t n_put = 0, n_rest = 0;

    alqi_view_json_key(ask->out, "rows");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0; i < s->n; i++) {
        if (!alqi_view_search_takes(&q->search, ask->x, s->rows[i].function))
            continue;
        if (n_put < q->limit &&
            n_put * ROW_BYTES + used->bytes < ALQI_VIEW_ROWS_BYTES) {
            put_row(ask->out, &s->rows[i], q->shape, used);
            n_put++;
        } else {
            n_rest++;
        }
    }
    alqi_view_json_close(ask->out, ']');
    alqi_view_json_key_int(ask->out, "rest", (int64_t)n_rest);
}

/* By stack: the growth of what passes without conditions on time. The scan of
 * the whole filter stays valid: several are kept. NULL: no memory. */
static struct alqi_view_growth *
growth_make(struct alqi_view_ask *ask)
{
    struct alqi_view_filter filter = ask->filter;
    const struct alqi_view_scan *all;

    alqi_view_filter_untime(&filter);
    all = alqi_view_scan_of(ask->trace, &filter);
    return all != NULL ? alqi_view_growth_of_stacks(ask->x, all) : NULL;
}

bool
alqi_view_growing(struct alqi_view_ask *ask)
{
    struct alqi_view_sites_question q;
    struct alqi_view_growth *growth;
    struct alqi_view_sites sites = {0};
    struct alqi_view_used used;
    bool is_put;

    if (!alqi_view_sites_take(&q, ask, LIMIT_DEFAULT))
        return false;
    growth = growth_make(ask);
    is_put = growth != NULL && alqi_view_sites_make(&sites, ask->x, q.shape,
                                                    q.scan, growth, q.grouping);
    is_put = alqi_view_used_new(&used, ask->x) && is_put;
    if (is_put) {
        steady_keep(&sites);
        alqi_view_json_key_int(
            ask->out, "from_us",
            (int64_t)alqi_view_window(ask->x->meta->end_us).from_us);
        put_rows(ask, &sites, &used, &q);
        alqi_view_used_put(&used, ask->out);
    }
    alqi_view_used_free(&used);
    free(growth);
    free(sites.rows);
    return alqi_view_sites_done(&q, ask, is_put);
}
