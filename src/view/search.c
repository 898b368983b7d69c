/* search.c -- the functions that a search of a query means
 *
 * [search.h] A name of C++ may begin like a wish for a file, as "file::open":
 * two colons are no wish. */
#include <string.h>

#include "view/search.h"

/* What stands before the word; it is stepped over. */
static bool
names_one(const char **text, enum alqi_view_word_of *of)
{
    static const char *const names[] = {[ALQI_VIEW_OF_FUNCTION] = "function:",
                                        [ALQI_VIEW_OF_FILE] = "file:",
                                        [ALQI_VIEW_OF_MODULE] = "module:"};

    for (int i = ALQI_VIEW_OF_FUNCTION; i <= ALQI_VIEW_OF_MODULE; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(*text, names[i], n) == 0 && (*text)[n] != ':') {
            *text += n;
            *of = (enum alqi_view_word_of)i;
            return true;
        }
    }
    return false;
}

bool
alqi_view_search_take(struct alqi_view_search *s, struct alqi_view_ask *ask)
{
    const char *text = alqi_view_query_get(&ask->query, "q");
    char error[ALQI_VIEW_WORD_ERROR_BYTES];

    *s = (struct alqi_view_search){0};
    if (text == NULL || *text == '\0')
        return true;
    s->is_any = !names_one(&text, &s->word.of);
    if (!alqi_view_word_take(&s->word, text, error))
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
    const struct alqi_view_function *f = &x->functions[function];
    const uint32_t names[] = {[ALQI_VIEW_OF_FUNCTION] = f->name,
                              [ALQI_VIEW_OF_FILE] = f->file,
                              [ALQI_VIEW_OF_MODULE] = f->module};
    bool is_taken = !s->is_on;

    for (int i = ALQI_VIEW_OF_FUNCTION; i <= ALQI_VIEW_OF_MODULE && !is_taken;
         i++)
        is_taken =
            (s->is_any || i == (int)s->word.of) &&
            alqi_view_matcher_takes(&s->matcher, alqi_view_text(x, names[i]));
    return is_taken;
}

bool
alqi_view_search_done(const struct alqi_view_search *s,
                      struct alqi_view_ask *ask)
{
    return !s->is_on || !s->matcher.is_starved || alqi_view_give_up(ask);
}
