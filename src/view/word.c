/* word.c -- a text of a filter, and which functions it matches
 *
 * [word.h] A regular expression is compiled twice: when it is taken, to see
 * whether it is one, and for each table of functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/word.h"

enum {
    REGEX_BYTES_MOST = 500,
    COPIES_MOST = 1000 /* of a part, by all repetitions in braces together */
};

/* What a backslash may stand before in POSIX, and in brackets. */
#define ESCAPABLE "^.[]$()|*+?{}\\-/"

/* The copies that the braces at `at` ask for; 0: none. */
static unsigned long
copies_of(const char *at)
{
    char *end;
    unsigned long n = strtoul(at + 1, &end, 10);

    if (*end == ',' && end[1] >= '0' && end[1] <= '9')
        n = strtoul(end + 1, &end, 10);
    return n;
}

/* What .inv.regex refuses in the text; NULL: nothing. */
static const char *
refusal(const char *text)
{
    unsigned long n_copies = 1;

    if (strlen(text) > REGEX_BYTES_MOST)
        return "the regular expression is too long";
    for (const char *at = text; *at != '\0'; at++) {
        unsigned long n = *at == '{' ? copies_of(at) : 0;

        if (n > COPIES_MOST || (n > 0 && (n_copies *= n) > COPIES_MOST))
            return "there are too many repetitions";
        if (*at != '\\')
            continue;
        at++;
        if (*at == '\0' || strchr(ESCAPABLE, *at) == NULL)
            return "a backslash stands before a sign of regular expressions";
    }
    return NULL;
}

static int
compile(regex_t *regex, const char *text)
{
    return regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
}

/* False: the text is no regular expression, for that reason. */
static bool
regex_check(const char *text, char error[ALQI_VIEW_WORD_ERROR_BYTES])
{
    const char *why = refusal(text);
    regex_t regex;
    int status;

    if (why != NULL) {
        snprintf(error, ALQI_VIEW_WORD_ERROR_BYTES, "%s", why);
        return false;
    }
    status = compile(&regex, text);
    if (status == 0)
        regfree(&regex);
    else
        regerror(status, &regex, error, ALQI_VIEW_WORD_ERROR_BYTES);
    return status == 0;
}

/* Classes of case are capitals, too. */
static bool
has_capital(const char *text)
{
    if (strstr(text, "[:upper:]") != NULL || strstr(text, "[:lower:]") != NULL)
        return true;
    for (; *text != '\0'; text++)
        if (*text >= 'A' && *text <= 'Z')
            return true;
    return false;
}

bool
alqi_view_word_take(struct alqi_view_word *word, const char *value,
                    char error[ALQI_VIEW_WORD_ERROR_BYTES])
{
    word->kind = value[0] == '='   ? ALQI_VIEW_WORD_WHOLE
                 : value[0] == '~' ? ALQI_VIEW_WORD_REGEX
                                   : ALQI_VIEW_WORD_PART;
    word->text = value + (word->kind != ALQI_VIEW_WORD_PART);
    word->ignores_case =
        word->kind != ALQI_VIEW_WORD_WHOLE && !has_capital(word->text);
    snprintf(error, ALQI_VIEW_WORD_ERROR_BYTES, "write a name or a part");
    return word->text[0] != '\0' && (word->kind != ALQI_VIEW_WORD_REGEX ||
                                     regex_check(word->text, error));
}

/* Which name the text asks for; what says so is stepped over. A name of C++ may
 * begin like a wish for a file, as "file::open": two colons are no wish. */
static enum alqi_view_word_of
asked_of(const char **text)
{
    static const char *const names[] = {[ALQI_VIEW_OF_FUNCTION] = "function:",
                                        [ALQI_VIEW_OF_FILE] = "file:",
                                        [ALQI_VIEW_OF_MODULE] = "module:"};

    for (int i = ALQI_VIEW_OF_FUNCTION; i <= ALQI_VIEW_OF_MODULE; i++) {
        size_t n = strlen(names[i]);

        if (strncmp(*text, names[i], n) == 0 && (*text)[n] != ':') {
            *text += n;
            return (enum alqi_view_word_of)i;
        }
    }
    return ALQI_VIEW_OF_ANY;
}

bool
alqi_view_word_take_any(struct alqi_view_word *word, const char *value,
                        char error[ALQI_VIEW_WORD_ERROR_BYTES])
{
    if (strcmp(value, "library:") == 0) {
        *word = (struct alqi_view_word){.text = value,
                                        .kind = ALQI_VIEW_WORD_WHOLE,
                                        .of = ALQI_VIEW_OF_LIBRARIES};
        return true;
    }
    word->of = asked_of(&value);
    return alqi_view_word_take(word, value, error);
}

bool
alqi_view_matcher_make(struct alqi_view_matcher *m,
                       const struct alqi_view_word *word)
{
    *m = (struct alqi_view_matcher){.word = word};
    return word->kind != ALQI_VIEW_WORD_REGEX ||
           compile(&m->regex, word->text) == 0;
}

void
alqi_view_matcher_free(struct alqi_view_matcher *m)
{
    if (m->word->kind == ALQI_VIEW_WORD_REGEX)
        regfree(&m->regex);
    free(m->folded);
}

/* The name without capitals; NULL: no memory. */
static const char *
fold(struct alqi_view_matcher *m, const char *name)
{
    size_t n = strlen(name) + 1;

    if (n > m->folded_bytes) {
        free(m->folded);
        m->folded_bytes = 2 * n;
        m->folded = malloc(m->folded_bytes);
        if (m->folded == NULL) {
            m->folded_bytes = 0;
            return NULL;
        }
    }
    for (size_t i = 0; i < n; i++)
        m->folded[i] = name[i] >= 'A' && name[i] <= 'Z'
                           ? (char)(name[i] - 'A' + 'a')
                           : name[i];
    return m->folded;
}

bool
alqi_view_matcher_takes(struct alqi_view_matcher *m, const char *name)
{
    if (m->word->ignores_case && (name = fold(m, name)) == NULL) {
        m->is_starved = true;
        return false;
    }
    switch (m->word->kind) {
    case ALQI_VIEW_WORD_WHOLE:
        return strcmp(name, m->word->text) == 0;
    case ALQI_VIEW_WORD_REGEX:
        return regexec(&m->regex, name, 0, NULL, 0) == 0;
    default:
        return strstr(name, m->word->text) != NULL;
    }
}

bool
alqi_view_matcher_takes_function(struct alqi_view_matcher *m,
                                 const struct alqi_view_index *x,
                                 uint32_t function)
{
    const struct alqi_view_function *f = &x->functions[function];
    const uint32_t names[] = {[ALQI_VIEW_OF_FUNCTION] = f->name,
                              [ALQI_VIEW_OF_FILE] = f->file,
                              [ALQI_VIEW_OF_MODULE] = f->module};
    bool is_taken = m->word->of == ALQI_VIEW_OF_LIBRARIES &&
                    (f->flags & ALQI_VIEW_LIBRARY) != 0;

    for (int i = ALQI_VIEW_OF_FUNCTION; i <= ALQI_VIEW_OF_MODULE && !is_taken;
         i++)
        is_taken = (m->word->of == ALQI_VIEW_OF_ANY || i == (int)m->word->of) &&
                   alqi_view_matcher_takes(m, alqi_view_text(x, names[i]));
    return is_taken;
}

bool
alqi_view_word_mark(const struct alqi_view_word *word,
                    const struct alqi_view_index *x, uint8_t *flags)
{
    struct alqi_view_matcher m;
    bool is_marked;

    if (!alqi_view_matcher_make(&m, word))
        return false;
    for (uint32_t i = 0; i < x->n_functions; i++)
        flags[i] |= alqi_view_matcher_takes_function(&m, x, i);
    is_marked = !m.is_starved;
    alqi_view_matcher_free(&m);
    return is_marked;
}
