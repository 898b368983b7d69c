/* query.h -- the query of a URL as keys and values */
#ifndef ALQI_VIEW_QUERY_H
#define ALQI_VIEW_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALQI_VIEW_PAIRS_MAX = 256, ALQI_VIEW_ERROR_BYTES = 256 };

struct alqi_view_pair {
    const char *key, *value; /* decoded */
    /* some part of the answer has asked for the key */
    bool is_used;
};

/* A parsed query. */
struct alqi_view_query {
    /* where keys and values lie; owned */
    char *text;
    struct alqi_view_pair pairs[ALQI_VIEW_PAIRS_MAX];
    uint32_t n_pairs;
    /* "" or what is wrong: the first error */
    char error[ALQI_VIEW_ERROR_BYTES];
};

/* False when it is no query: see error.  To be freed in any case. */
bool alqi_view_query_parse(struct alqi_view_query *query, const char *text);
void alqi_view_query_free(struct alqi_view_query *query);

/* Keeps the first error. */
void alqi_view_query_fail(struct alqi_view_query *query, const char *format,
                          ...) __attribute__((format(printf, 2, 3)));

/* The value of a key that stands once; NULL when it is not there. */
const char *alqi_view_query_get(struct alqi_view_query *query, const char *key);
/* A whole number from least to most; `otherwise` when it is not there. */
uint64_t alqi_view_query_number(struct alqi_view_query *query, const char *key,
                                uint64_t least, uint64_t most,
                                uint64_t otherwise);
/* The position of the value in choices "a b c"; 0 when the key is not there. */
unsigned alqi_view_query_choice(struct alqi_view_query *query, const char *key,
                                const char *choices);
/* False, and an error, when a key is left that nothing asked for. */
bool alqi_view_query_done(struct alqi_view_query *query);

/* Reads digits alone, up to 2^63 - 1, and steps over them. False: none, or too
 * large. */
bool alqi_view_number_parse(const char **text, uint64_t *value);

#endif
