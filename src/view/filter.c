/* filter.c -- the filter of a query: taken, copied, compared
 *
 * [filter.h] The table `keys` has one function for each key. A key may stand
 * once, unless the table says otherwise. An error names the key as it stands
 * in the query, with its prefix. Copies own their texts, because scans outlive
 * the query that asked for them.
 *
 * Two filters are compared by their choices, key by key as the query had them
 * (.inv.choices), so a key that is added to the table is compared at once.
 * Only a key that leaves the samples as they are may be marked
 * CHOOSES_NOTHING. What is hidden has a say in what a stack's site is, so it is
 * compared where a filter has the key `site`. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "view/filter.h"

enum {
    SHOWN = 60, /* bytes of a value that a message quotes */
    MAY_REPEAT = 1,
    CHOOSES_NOTHING = 2, /* the same samples pass, whatever the key says */
    IS_OF_TIME = 4
};

/* One run over the query. */
struct reader {
    struct alqi_view_filter *filter;
    struct alqi_view_query *query;
    const char *key; /* with its prefix, as it stands in the query */
};

/* Sets the query's error; returns false. */
static bool
fail(struct reader *r, const char *value, const char *wants)
{
    alqi_view_query_fail(r->query, "%s=%.*s: %s", r->key, SHOWN, value, wants);
    return false;
}

/* Reads A..B, A.., ..B or .., and A alone where that is allowed. False: an
 * error. */
static bool
take_range(struct reader *r, const char *value, bool may_be_one,
           struct alqi_view_range *range)
{
    const char *at = value;
    bool has_most;

    *range = (struct alqi_view_range){true, false, 0, UINT64_MAX};
    range->has_least = alqi_view_number_parse(&at, &range->least);
    if (may_be_one && range->has_least && *at == '\0') {
        range->most = range->least;
        return true;
    }
    if (at[0] != '.' || at[1] != '.')
        return fail(r, value, "write a range, as 10..20, 10.. or ..20");
    at += 2;
    has_most = alqi_view_number_parse(&at, &range->most);
    if (*at != '\0')
        return fail(r, value, "write a range, as 10..20, 10.. or ..20");
    if (has_most && range->most < range->least)
        return fail(r, value, "the range is upside down");
    return true;
}

/* Reads a whole number up to most. False: an error. */
static bool
take_number(struct reader *r, const char *value, uint64_t most, uint64_t *out)
{
    const char *at = value;

    if (!alqi_view_number_parse(&at, out) || *at != '\0')
        return fail(r, value, "write a whole number");
    return *out <= most ? true : fail(r, value, "there is none of that number");
}

/* One function for each key, from here on. */
static bool
take_alloc(struct reader *r, const char *value)
{
    return take_range(r, value, false, &r->filter->alloc);
}

static bool
take_size(struct reader *r, const char *value)
{
    return take_range(r, value, false, &r->filter->size);
}

static bool
take_life(struct reader *r, const char *value)
{
    return take_range(r, value, false, &r->filter->life);
}

/* peak, end, or a range that may be one time. */
static bool
take_live(struct reader *r, const char *value)
{
    r->filter->live_kind = ALQI_VIEW_LIVE_RANGE;
    if (strcmp(value, "peak") == 0)
        r->filter->live_kind = ALQI_VIEW_LIVE_PEAK;
    else if (strcmp(value, "end") == 0)
        r->filter->live_kind = ALQI_VIEW_LIVE_END;
    else
        return take_range(r, value, true, &r->filter->live);
    return true;
}

static bool
take_freed(struct reader *r, const char *value)
{
    r->filter->is_never = strcmp(value, "never") == 0;
    return r->filter->is_never ||
           take_range(r, value, false, &r->filter->freed);
}

static bool
take_phase(struct reader *r, const char *value)
{
    r->filter->phase = value;
    return *value != '\0' || fail(r, value, "write the name of a phase");
}

/* *bits becomes those of the names that the value lists. */
static bool
take_bits(struct reader *r, const char *value, const char *const *names,
          size_t n_names, unsigned *bits, const char *why)
{
    const char *at = value;

    *bits = 0;
    for (;;) {
        size_t n = strcspn(at, ","), i = 0;

        while (i < n_names &&
               (strlen(names[i]) != n || memcmp(names[i], at, n) != 0))
            i++;
        if (i == n_names)
            return fail(r, value, why);
        *bits |= 1u << i;
        if (at[n] == '\0')
            return true;
        at += n + 1;
    }
}

/* Replaces the default, all heaps, by the listed ones. */
static bool
take_heap(struct reader *r, const char *value)
{
    static const char *const names[] = {"minor", "major", "malloc"};

    return take_bits(r, value, names, ALQI_COUNT_OF(names), &r->filter->heap,
                     "a list of minor, major, malloc");
}

static bool
take_reach(struct reader *r, const char *value)
{
    const char *names[ALQI_VIEW_REACHES];

    for (int i = 0; i < ALQI_VIEW_REACHES; i++)
        names[i] = alqi_view_reach_name((enum alqi_view_reach)i);
    return take_bits(r, value, names, ALQI_VIEW_REACHES, &r->filter->reach,
                     "a list of lost, indirect, possible, held, unknown");
}

/* A list has no room for one more; that is an error. */
static bool
is_full(struct reader *r, const char *value, uint32_t n)
{
    return n == ALQI_VIEW_LIST_MAX && !fail(r, value, "there are too many");
}

static bool
number_add(struct reader *r, const char *value, struct alqi_view_numbers *n)
{
    return !is_full(r, value, n->n) &&
           take_number(r, value, UINT32_MAX, &n->numbers[n->n++]);
}

static bool
take_thread(struct reader *r, const char *value)
{
    return number_add(r, value, &r->filter->threads);
}

static bool
take_domain(struct reader *r, const char *value)
{
    return number_add(r, value, &r->filter->domains);
}

/* Adds a text. */
static bool
word_add(struct reader *r, const char *value, struct alqi_view_words *words,
         enum alqi_view_word_of of)
{
    char error[ALQI_VIEW_WORD_ERROR_BYTES];
    struct alqi_view_word *word;

    if (is_full(r, value, words->n))
        return false;
    word = &words->words[words->n++];
    word->of = of;
    return alqi_view_word_take(word, value, error) || fail(r, value, error);
}

static bool
take_in(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->in, ALQI_VIEW_OF_FUNCTION);
}

static bool
take_infile(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->in, ALQI_VIEW_OF_FILE);
}

static bool
take_inmodule(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->in, ALQI_VIEW_OF_MODULE);
}

static bool
take_notin(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->notin, ALQI_VIEW_OF_FUNCTION);
}

static bool
take_notinfile(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->notin, ALQI_VIEW_OF_FILE);
}

static bool
take_notinmodule(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->notin, ALQI_VIEW_OF_MODULE);
}

static bool
take_hide(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->hide, ALQI_VIEW_OF_FUNCTION);
}

static bool
take_site(struct reader *r, const char *value)
{
    return word_add(r, value, &r->filter->site, ALQI_VIEW_OF_FUNCTION);
}

static bool
take_node(struct reader *r, const char *value)
{
    r->filter->has_stack = true;
    return take_number(r, value, UINT32_MAX, &r->filter->stack);
}

static bool
take_fold(struct reader *r, const char *value)
{
    char error[ALQI_VIEW_WORD_ERROR_BYTES];
    struct alqi_view_words *fold = &r->filter->fold;

    return !is_full(r, value, fold->n) &&
           (alqi_view_word_take_any(&fold->words[fold->n++], value, error) ||
            fail(r, value, error));
}

/* The position of the value among n names; n, and an error: it is none. */
static size_t
choice_of(struct reader *r, const char *value, const char *const *names,
          size_t n, const char *wants)
{
    size_t i = 0;

    while (i < n && strcmp(names[i], value) != 0)
        i++;
    if (i == n)
        fail(r, value, wants);
    return i;
}

static bool
take_recursion(struct reader *r, const char *value)
{
    static const char *const names[] = {"fold", "keep"};
    size_t i = choice_of(r, value, names, 2, "one of: fold keep");

    r->filter->keeps_recursion = i == 1;
    return i < 2;
}

static bool
take_threads(struct reader *r, const char *value)
{
    static const char *const names[] = {"merge", "split"};
    size_t i = choice_of(r, value, names, 2, "one of: merge split");

    r->filter->splits_threads = i == 1;
    return i < 2;
}

/* The names are in the order of enum alqi_view_by. */
static bool
take_by(struct reader *r, const char *value)
{
    static const char *const names[] = {"bytes", "blocks", "samples"};
    size_t i = choice_of(r, value, names, 3, "one of: bytes blocks samples");

    if (i < 3)
        r->filter->by = (enum alqi_view_by)i;
    return i < 3;
}

static const struct {
    const char *key;
    bool (*take)(struct reader *r, const char *value);
    unsigned flags;
} keys[] = {
    {"alloc", take_alloc, IS_OF_TIME},
    {"live", take_live, IS_OF_TIME},
    {"freed", take_freed, IS_OF_TIME},
    {"phase", take_phase, IS_OF_TIME},
    {"size", take_size, 0},
    {"life", take_life, IS_OF_TIME},
    {"heap", take_heap, 0},
    {"reach", take_reach, 0},
    {"thread", take_thread, MAY_REPEAT},
    {"domain", take_domain, MAY_REPEAT},
    {"in", take_in, MAY_REPEAT},
    {"infile", take_infile, MAY_REPEAT},
    {"inmodule", take_inmodule, MAY_REPEAT},
    {"notin", take_notin, MAY_REPEAT},
    {"notinfile", take_notinfile, MAY_REPEAT},
    {"notinmodule", take_notinmodule, MAY_REPEAT},
    {"site", take_site, MAY_REPEAT},
    {"node", take_node, 0},
    {"hide", take_hide, MAY_REPEAT | CHOOSES_NOTHING},
    {"fold", take_fold, MAY_REPEAT | CHOOSES_NOTHING},
    {"recursion", take_recursion, CHOOSES_NOTHING},
    {"threads", take_threads, CHOOSES_NOTHING},
    {"by", take_by, CHOOSES_NOTHING},
};

/* The same key stands before pair number i. */
static bool
is_repeated(const struct alqi_view_query *q, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(q->pairs[k].key, q->pairs[i].key) == 0)
            return true;
    return false;
}

/* Takes pair i if its key is one of a filter's; others are left for the
 * answer. */
static bool
take_pair(struct reader *r, uint32_t i, size_t n_prefix, uint32_t n_traces)
{
    struct alqi_view_pair *pair = &r->query->pairs[i];
    const char *key = pair->key + n_prefix;
    uint64_t trace;

    r->key = pair->key;
    for (size_t k = 0; k < ALQI_COUNT_OF(keys); k++) {
        if (strcmp(keys[k].key, key) != 0)
            continue;
        pair->is_used = true;
        if (!(keys[k].flags & MAY_REPEAT) && is_repeated(r->query, i))
            return fail(r, pair->value, "it stands twice");
        if (!(keys[k].flags & CHOOSES_NOTHING)) /* .inv.choices */
            r->filter->choices[r->filter->n_choices++] =
                (struct alqi_view_choice){(uint32_t)k, pair->value};
        return keys[k].take(r, pair->value);
    }
    if (strcmp(key, "t") != 0)
        return true;
    pair->is_used = true;
    if (!take_number(r, pair->value, n_traces - 1, &trace))
        return false;
    r->filter->trace = (uint32_t)trace;
    return true;
}

bool
alqi_view_filter_take(struct alqi_view_filter *f, struct alqi_view_query *q,
                      const char *prefix, uint32_t n_traces)
{
    struct reader r = {f, q, NULL};
    size_t n_prefix = strlen(prefix);

    memset(f, 0, sizeof *f);
    f->heap = ALQI_VIEW_HEAP_ALL;
    for (uint32_t i = 0; i < q->n_pairs; i++)
        if (strncmp(q->pairs[i].key, prefix, n_prefix) == 0 &&
            !take_pair(&r, i, n_prefix, n_traces))
            return false;
    return true;
}

/* The other choices keep their order (.inv.choices). */
void
alqi_view_filter_untime(struct alqi_view_filter *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_choices; i++)
        if (!(keys[f->choices[i].key].flags & IS_OF_TIME))
            f->choices[n++] = f->choices[i];
    f->n_choices = n;
    f->alloc.is_there = f->freed.is_there = f->life.is_there = false;
    f->live_kind = ALQI_VIEW_LIVE_ANY;
    f->is_never = false;
    f->phase = NULL;
}

/* ---- copies -------------------------------------------------------------- */

/* Bytes that a copy of the text takes. Unless `to` is NULL the copy is made
 * there, and takes the text's place. */
static size_t
text_move(const char **text, char *to)
{
    size_t n = strlen(*text) + 1;

    if (to != NULL)
        *text = memcpy(to, *text, n);
    return n;
}

/* The same of all words. */
static size_t
words_move(struct alqi_view_words *words, char *to)
{
    size_t n = 0;

    for (uint32_t i = 0; i < words->n; i++)
        n += text_move(&words->words[i].text, to != NULL ? to + n : NULL);
    return n;
}

/* The same of all that a filter points to. */
static size_t
filter_move(struct alqi_view_filter *f, char *to)
{
    struct alqi_view_words *const lists[] = {&f->in, &f->notin, &f->hide,
                                             &f->site, &f->fold};
    size_t n = 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(lists); i++)
        n += words_move(lists[i], to != NULL ? to + n : NULL);
    for (uint32_t i = 0; i < f->n_choices; i++)
        n += text_move(&f->choices[i].value, to != NULL ? to + n : NULL);
    if (f->phase != NULL)
        n += text_move(&f->phase, to != NULL ? to + n : NULL);
    return n;
}

bool
alqi_view_words_keep(struct alqi_view_words *copy, char **texts,
                     const struct alqi_view_words *words)
{
    *copy = *words;
    *texts = malloc(words_move(copy, NULL) + 1);
    if (*texts == NULL)
        return false;
    words_move(copy, *texts);
    return true;
}

bool
alqi_view_filter_keep(struct alqi_view_filter *copy,
                      const struct alqi_view_filter *f)
{
    *copy = *f;
    copy->kept = malloc(filter_move(copy, NULL) + 1);
    if (copy->kept == NULL)
        return false;
    filter_move(copy, copy->kept);
    return true;
}

/* ---- comparing ----------------------------------------------------------- */

bool
alqi_view_words_are_same(const struct alqi_view_words *a,
                         const struct alqi_view_words *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->words[i].kind != b->words[i].kind ||
            a->words[i].of != b->words[i].of ||
            strcmp(a->words[i].text, b->words[i].text) != 0)
            return false;
    return true;
}

bool
alqi_view_filter_is_same(const struct alqi_view_filter *a,
                         const struct alqi_view_filter *b)
{
    if (a->trace != b->trace || a->n_choices != b->n_choices)
        return false;
    for (uint32_t i = 0; i < a->n_choices; i++)
        if (a->choices[i].key != b->choices[i].key ||
            strcmp(a->choices[i].value, b->choices[i].value) != 0)
            return false;
    return a->site.n == 0 || alqi_view_words_are_same(&a->hide, &b->hide);
}
