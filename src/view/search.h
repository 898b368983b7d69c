/* search.h -- the functions that a search of a query means
 *
 * "file:" or "module:" before a word (word.h) asks for the function's source
 * file or its module, "function:" for its own name; nothing: for any of them.
 */
#ifndef ALQI_VIEW_SEARCH_H
#define ALQI_VIEW_SEARCH_H

#include "view/ask.h"
#include "view/word.h"

/* The key `q` of a query. */
struct alqi_view_search {
    /* of the query's text */
    struct alqi_view_word word;
    /* valid if something is searched for */
    struct alqi_view_matcher matcher;
    bool is_on;
};

/* Takes it from the query. False after a refusal; to be freed in any case. */
bool alqi_view_search_take(struct alqi_view_search *search,
                           struct alqi_view_ask *ask);
void alqi_view_search_free(struct alqi_view_search *search);
/* Whether it means the function; it means all where nothing is asked for. */
bool alqi_view_search_takes(struct alqi_view_search *search,
                            const struct alqi_view_index *index,
                            uint32_t function);
/* The same of what is no function and has a name alone. */
bool alqi_view_search_takes_name(struct alqi_view_search *search,
                                 const char *name);
/* False after a refusal: there was no memory to look at all of them. */
bool alqi_view_search_done(const struct alqi_view_search *search,
                           struct alqi_view_ask *ask);

#endif
