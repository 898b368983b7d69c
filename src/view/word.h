/* word.h -- a text of a filter, and which functions it matches
 *
 * Of a name "text" is a part, "=text" the whole; "~text" is a regular
 * expression, an extended one of POSIX, that matches somewhere in it.
 *
 * .inv.case  A part or an expression without a capital letter of ASCII ignores
 *            their case, whatever the locale; the whole of a name never does.
 *
 * .inv.regex  The server and the page have regular expressions of two C
 *             libraries. What POSIX leaves open is refused, so that both match
 *             the same, and so is what takes more memory than its length
 *             says. */
#ifndef ALQI_VIEW_WORD_H
#define ALQI_VIEW_WORD_H

#include <regex.h>

#include "view/index.h"

/* What a text says of a name. */
enum alqi_view_word_kind {
    ALQI_VIEW_WORD_PART,
    ALQI_VIEW_WORD_WHOLE,
    ALQI_VIEW_WORD_REGEX
};

/* Which name of a function is asked for. */
enum alqi_view_word_of {
    ALQI_VIEW_OF_FUNCTION,
    /* the path of its source file */
    ALQI_VIEW_OF_FILE,
    ALQI_VIEW_OF_MODULE,
    /* one of the three has it */
    ALQI_VIEW_OF_ANY,
    /* none: libraries are asked for, whatever their names */
    ALQI_VIEW_OF_LIBRARIES
};

/* A text of a filter. */
struct alqi_view_word {
    /* behind what says the kind; the query's, or a copy's */
    const char *text;
    enum alqi_view_word_kind kind;
    enum alqi_view_word_of of;
    /* of the name, not of the text: that has no capitals */
    bool ignores_case;
};

/* A word, compiled. */
struct alqi_view_matcher {
    const struct alqi_view_word *word;
    /* valid if the word is one */
    regex_t regex;
    /* the last name without capitals, if the word ignores them; owned */
    char *folded;
    size_t folded_bytes;
    /* some name was not looked at, because there was no memory */
    bool is_starved;
};

enum { ALQI_VIEW_WORD_ERROR_BYTES = 100 };

/* Sets kind and text from a value. False: error says what is wrong with it. */
bool alqi_view_word_take(struct alqi_view_word *word, const char *value,
                         char error[ALQI_VIEW_WORD_ERROR_BYTES]);

/* The same of a text that may begin with "function:", "file:" or "module:";
 * without it, any of the names may have the word. "library:" alone asks for
 * functions of libraries (index.h, ALQI_VIEW_LIBRARY). */
bool alqi_view_word_take_any(struct alqi_view_word *word, const char *value,
                             char error[ALQI_VIEW_WORD_ERROR_BYTES]);

/* False: no memory, and nothing is to be freed. */
bool alqi_view_matcher_make(struct alqi_view_matcher *matcher,
                            const struct alqi_view_word *word);
void alqi_view_matcher_free(struct alqi_view_matcher *matcher);
bool alqi_view_matcher_takes(struct alqi_view_matcher *matcher,
                             const char *name);
/* Whether it takes the function by the name that the word asks for. */
bool alqi_view_matcher_takes_function(struct alqi_view_matcher *matcher,
                                      const struct alqi_view_index *index,
                                      uint32_t function);
/* Sets the flags of the functions that the word matches. False: no memory. */
bool alqi_view_word_mark(const struct alqi_view_word *word,
                         const struct alqi_view_index *index, uint8_t *flags);

#endif
