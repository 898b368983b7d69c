/* filter.h -- which samples pass: the filter of a query
 *
 * The language is that of doc/design/view.md and aliquot-view(1).  A filter
 * points into its query. */
#ifndef ALQI_VIEW_FILTER_H
#define ALQI_VIEW_FILTER_H

#include "view/query.h"

enum { ALQI_VIEW_LIST_MAX = 64 /* of texts or numbers of one key */ };

/* Closed; without an end it goes from 0, or to UINT64_MAX. */
struct alqi_view_range {
    bool is_there;
    bool has_least;
    uint64_t least, most;
};

enum alqi_view_live {
    ALQI_VIEW_LIVE_ANY,
    ALQI_VIEW_LIVE_RANGE,
    ALQI_VIEW_LIVE_PEAK,
    ALQI_VIEW_LIVE_END
};

enum alqi_view_heap {
    ALQI_VIEW_HEAP_MINOR = 1,
    ALQI_VIEW_HEAP_MAJOR = 2,
    ALQI_VIEW_HEAP_MALLOC = 4,
    ALQI_VIEW_HEAP_ALL = 7
};

enum alqi_view_by {
    ALQI_VIEW_BY_BYTES,
    ALQI_VIEW_BY_BLOCKS,
    ALQI_VIEW_BY_SAMPLES
};

/* A text of in, notin, hide. */
struct alqi_view_word {
    const char *text;
    bool is_whole; /* "=text": the whole name */
};

struct alqi_view_words {
    struct alqi_view_word words[ALQI_VIEW_LIST_MAX];
    uint32_t n;
};

struct alqi_view_numbers {
    uint64_t numbers[ALQI_VIEW_LIST_MAX];
    uint32_t n; /* 0: any */
};

/* A key that chooses samples, as the query has it. */
struct alqi_view_choice {
    uint32_t key; /* number in the table of keys */
    const char *value;
};

/* .inv.choices  Each key that the table of filter.c does not mark as choosing
 *               nothing is among `choices`, in the order of the query, whether
 *               or not the code that compares two filters has heard of it. */
struct alqi_view_filter {
    uint32_t trace;
    enum alqi_view_by by;
    struct alqi_view_range alloc, live, freed, size, life;
    enum alqi_view_live live_kind;
    bool is_never; /* freed=never */
    unsigned heap;
    struct alqi_view_numbers threads, domains;
    struct alqi_view_words in, notin, hide;
    struct alqi_view_choice choices[ALQI_VIEW_PAIRS_MAX];
    uint32_t n_choices;
    char *kept; /* texts of a copy */
};

/* Takes the filter's keys from the query, those with the prefix when it is not
 * "": b.alloc, b.live ...; t is below n_traces.  What is wrong is the query's
 * error. */
bool alqi_view_filter_take(struct alqi_view_filter *filter,
                           struct alqi_view_query *query, const char *prefix,
                           uint32_t n_traces);

/* A copy that needs no query; false when there is no memory.  The texts are
 * freed with the copy. */
bool alqi_view_filter_keep(struct alqi_view_filter *copy,
                           const struct alqi_view_filter *filter);
bool alqi_view_words_keep(struct alqi_view_words *copy, char **texts,
                          const struct alqi_view_words *words);

/* The same samples of the same trace pass both: both have the same choices.
 * False also for filters that say the same in other words or another order. */
bool alqi_view_filter_is_same(const struct alqi_view_filter *a,
                              const struct alqi_view_filter *b);
bool alqi_view_words_are_same(const struct alqi_view_words *a,
                              const struct alqi_view_words *b);
bool alqi_view_word_matches(const struct alqi_view_word *word,
                            const char *name);

#endif
