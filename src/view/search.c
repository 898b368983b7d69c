/* search.c -- the functions that a search of a query means
 *
 * [search.h] Nothing is searched for where the key is missing or empty. */
#include "view/search.h"

bool
alqi_view_search_take(struct alqi_view_search *s, struct alqi_view_ask *ask)
{
    const char *text = alqi_view_query_get(&ask->query, "q");
    char error[ALQI_VIEW_WORD_ERROR_BYTES];

    *s = (struct alqi_view_search){0};
    if (text == NULL || *text == '\0')
        return true;
    if (!alqi_view_word_take_any(&s->word, text, error))
        return alqi_view_refuse(ask, 400, "q: %s", error);
    s->is_on = alqi_view_matcher_make(&s->matcher, &s->word);
    return s->is_on || alqi_view_give_up(ask);
}

void
alqi_view_search_free(struct alqi_view_search *s)
{
    if (s->is_on)
        alqi_view_matcher_free(&s->matcher);
    s->is_on = false;
}

bool
alqi_view_search_takes(struct alqi_view_search *s,
                       const struct alqi_view_index *x, uint32_t function)
{
    return !s->is_on ||
           alqi_view_matcher_takes_function(&s->matcher, x, function);
}

bool
alqi_view_search_takes_name(struct alqi_view_search *s, const char *name)
{
    return !s->is_on || ((s->word.of == ALQI_VIEW_OF_FUNCTION ||
                          s->word.of == ALQI_VIEW_OF_ANY) &&
                         alqi_view_matcher_takes(&s->matcher, name));
}

bool
alqi_view_search_done(const struct alqi_view_search *s,
                      struct alqi_view_ask *ask)
{
    return !s->is_on || !s->matcher.is_starved || alqi_view_give_up(ask);
}
