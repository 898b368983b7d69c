/* sites.h -- allocation sites, put together by function, line, file, module */
#ifndef ALQI_VIEW_SITES_H
#define ALQI_VIEW_SITES_H

#include "view/ask.h"
#include "view/growth.h"
#include "view/search.h"

/* What tells sites apart; in the order of the key `group`. */
enum alqi_view_grouping {
    ALQI_VIEW_BY_FUNCTION,
    ALQI_VIEW_BY_LINE,
    ALQI_VIEW_BY_FILE,
    ALQI_VIEW_BY_MODULE
};

/* Stacks that the grouping does not tell apart. */
struct alqi_view_site {
    /* of its heaviest stack; what the grouping does not tell apart varies
     * within the site */
    uint32_t function;
    /* 0 unless sites are lines */
    int32_t line;
    /* who calls there: the fold of that stack at the node that names it */
    uint32_t fold;
    /* of mmap, not of malloc */
    bool is_mapping;
    /* of one stack, to find the heaviest */
    double heaviest_bytes;
    struct alqi_view_sum sum;
    /* if it was asked for */
    struct alqi_view_growth growth;
};

struct alqi_view_sites {
    struct alqi_view_site *rows; /* the owner's to free */
    uint32_t n;
    /* by stack: its row, as they were made; the caller's; NULL: not wanted */
    uint32_t *row_of_stack;
};

/* Sites of the stacks that have something in the scan, or of all if there is
 * growth, by stack (growth.h); NULL: none. False: no memory. */
bool alqi_view_sites_make(struct alqi_view_sites *sites,
                          const struct alqi_view_index *index,
                          const struct alqi_view_shape *shape,
                          const struct alqi_view_scan *scan,
                          const struct alqi_view_growth *growth,
                          enum alqi_view_grouping grouping);

/* A question about sites, as its answers share it. */
struct alqi_view_sites_question {
    enum alqi_view_grouping grouping;
    /* rows that are wanted */
    uint64_t limit;
    struct alqi_view_search search;
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
};

/* Takes the keys group, limit and q, which are the last ones. False after a
 * refusal; else alqi_view_sites_done is to be called. */
bool alqi_view_sites_take(struct alqi_view_sites_question *question,
                          struct alqi_view_ask *ask, uint64_t limit_default);
/* False after a refusal: it could not be put, or there was no memory to look at
 * all functions. */
bool alqi_view_sites_done(struct alqi_view_sites_question *question,
                          struct alqi_view_ask *ask, bool is_put);

/* Writes what each answer has of a site, as members. */
void alqi_view_put_site(struct alqi_view_json *out,
                        const struct alqi_view_site *site,
                        const struct alqi_view_shape *shape,
                        struct alqi_view_used *used);

#endif
