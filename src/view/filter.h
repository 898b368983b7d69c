/* filter.h -- which samples pass: the filter of a query
 *
 * The language is that of doc/design/view.md and aliquot-view(1).  A filter
 * points into its query. */
#ifndef ALQI_VIEW_FILTER_H
#define ALQI_VIEW_FILTER_H

#include "view/query.h"
#include "view/word.h"

enum { ALQI_VIEW_LIST_MAX = 64 /* of texts or numbers of one key */ };

/* Closed; without an end it goes from 0, or to UINT64_MAX. */
struct alqi_view_range {
    /* the query has the condition */
    bool is_there;
    /* the range has a beginning */
    bool has_least;
    /* both belong to it */
    uint64_t least, most;
};

/* What the key `live` asks for. */
enum alqi_view_live {
    /* nothing */
    ALQI_VIEW_LIVE_ANY,
    /* live at some time of the range */
    ALQI_VIEW_LIVE_RANGE,
    /* live at the peak */
    ALQI_VIEW_LIVE_PEAK,
    /* never freed */
    ALQI_VIEW_LIVE_END
};

/* Bits: heaps that a filter keeps. */
enum alqi_view_heap {
    ALQI_VIEW_HEAP_MINOR = 1,
    ALQI_VIEW_HEAP_MAJOR = 2,
    ALQI_VIEW_HEAP_MALLOC = 4,
    ALQI_VIEW_HEAP_ALL = 7
};

/* What answers sort and cut by. */
enum alqi_view_by {
    ALQI_VIEW_BY_BYTES,
    ALQI_VIEW_BY_BLOCKS,
    ALQI_VIEW_BY_SAMPLES
};

/* Texts of one key, or of some. */
struct alqi_view_words {
    /* in the order of the query */
    struct alqi_view_word words[ALQI_VIEW_LIST_MAX];
    uint32_t n;
};

/* Numbers of one key. */
struct alqi_view_numbers {
    uint64_t numbers[ALQI_VIEW_LIST_MAX];
    uint32_t n; /* 0: any */
};

/* A key that chooses samples, as the query has it. */
struct alqi_view_choice {
    uint32_t key; /* number in the table of keys */
    /* the query's, or a copy's */
    const char *value;
};

/* .inv.choices  Each key that the table of filter.c does not mark as choosing
 *               nothing is among `choices`, in the order of the query, whether
 *               or not the code that compares two filters has heard of it. */
struct alqi_view_filter {
    /* its number in the set */
    uint32_t trace;
    /* no part of what passes */
    enum alqi_view_by by;
    /* times since the start and lives in microseconds, sizes in bytes */
    struct alqi_view_range alloc, live, freed, size, life;
    /* what `live` asks for; live is valid if it is a range */
    enum alqi_view_live live_kind;
    /* freed=never */
    bool is_never;
    /* allocated in that phase (phase.h .def.name); NULL: in any */
    const char *phase;
    /* bits of enum alqi_view_heap */
    unsigned heap;
    /* bits by enum alqi_view_reach: never freed, and of these; 0: any block */
    unsigned reach;
    /* one of them; none: any */
    struct alqi_view_numbers threads, domains;
    /* all of in, none of notin are on the stack, be it by function, file or
     * module; hide and fold are for shapes */
    struct alqi_view_words in, notin, hide, fold;
    /* all match the function that names the stack, without those of hide */
    struct alqi_view_words site;
    /* the stack's innermost node; valid if has_stack */
    uint64_t stack;
    /* the query has the condition */
    bool has_stack;
    /* how stacks are drawn: calls of itself stay, and each thread has its own
     */
    bool keeps_recursion, splits_threads;
    /* what the query says of samples (.inv.choices) */
    struct alqi_view_choice choices[ALQI_VIEW_PAIRS_MAX];
    uint32_t n_choices;
    /* texts of a copy, owned by it; NULL in the original */
    char *kept;
};

/* Takes the filter's keys from the query, those with the prefix when it is not
 * "": b.alloc, b.live ...; t is below n_traces.  What is wrong is the query's
 * error. */
bool alqi_view_filter_take(struct alqi_view_filter *filter,
                           struct alqi_view_query *query, const char *prefix,
                           uint32_t n_traces);

/* Takes the conditions on time away: alloc, live, freed and life. */
void alqi_view_filter_untime(struct alqi_view_filter *filter);

/* A copy that needs no query; false when there is no memory.  The texts are
 * freed with the copy. */
bool alqi_view_filter_keep(struct alqi_view_filter *copy,
                           const struct alqi_view_filter *filter);
bool alqi_view_words_keep(struct alqi_view_words *copy, char **texts,
                          const struct alqi_view_words *words);

/* The same samples of the same trace pass both: both have the same choices,
 * and hide the same frames if they choose by site.  False also for filters that
 * say the same in other words or another order. */
bool alqi_view_filter_is_same(const struct alqi_view_filter *a,
                              const struct alqi_view_filter *b);
bool alqi_view_words_are_same(const struct alqi_view_words *a,
                              const struct alqi_view_words *b);

#endif
