/* whole.c -- functions that stand for many: a module, a directory, a thread
 *
 * [whole.h] Made in three passes over the tables of an index: modules and
 * directories in the order of the functions that first have them, threads in
 * that of the origins. Then they are put behind the functions of the file.
 * Their texts lie in one piece, numbered behind those of the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "view/whole.h"

enum { THREAD_BYTES = 32 /* of a name that is made of a number */ };

/* Answers number wholes of a kind from here on, kind by kind. */
static const uint32_t ID_STEP = UINT32_C(1) << 30;

static const char *const kinds[] = {[ALQI_VIEW_WHOLE_MODULE] = "module",
                                    [ALQI_VIEW_WHOLE_DIRECTORY] = "directory",
                                    [ALQI_VIEW_WHOLE_THREAD] = "thread"};

/* One kind while it is made. */
struct maker {
    struct alqi_view_index *x;
    /* what tells wholes apart -> number of the whole */
    struct alqi_base_map map;
    /* room for one of each function and of each origin; owned */
    struct alqi_view_function *wholes;
    uint32_t n;
};

/* Appends a text; returns its number. 0 after a failure, which is the text of
 * nothing. */
static uint32_t
text_add(struct alqi_view_index *x, const char *before, const char *text,
         size_t n, const char *after)
{
    struct alqi_view_wholes *w = &x->wholes;
    size_t bytes = strlen(before) + n + strlen(after) + 1;
    void *texts = realloc(w->texts, (w->n_texts + 1) * sizeof *w->texts);
    char *to = malloc(bytes);

    if (texts != NULL)
        w->texts = texts;
    if (texts == NULL || to == NULL) {
        free(to);
        return 0;
    }
    snprintf(to, bytes, "%s%.*s%s", before, (int)n, text, after);
    w->texts[w->n_texts] = to;
    return x->n_texts + w->n_texts++;
}

/* The whole of that key, if it is there. Otherwise a new one, whose texts are
 * to be set; NULL: no memory. */
static struct alqi_view_function *
whole_at(struct maker *m, uint64_t key, uint32_t *number, bool *is_new)
{
    uint64_t *at = alqi_base_map_at(&m->map, key, is_new);

    if (at == NULL)
        return NULL;
    if (*is_new) {
        *at = m->n++;
        memset(&m->wholes[*at], 0, sizeof *m->wholes);
    }
    *number = m->x->n_named + (uint32_t)*at;
    return &m->wholes[*at];
}

/* Begins the next kind. */
static void
kind_begin(struct maker *m, enum alqi_view_whole_kind kind)
{
    alqi_base_map_clear(&m->map);
    m->x->wholes.from[kind] = m->x->n_named + m->n;
}

/* A whole is a library if all its functions are: a program has some of a
 * library's headers within. */
static void
flag_join(struct alqi_view_function *whole,
          const struct alqi_view_function *function, bool is_first)
{
    uint32_t flag = function->flags & ALQI_VIEW_LIBRARY;

    whole->flags = is_first ? flag : whole->flags & flag;
}

/* False: no memory. */
static bool
modules_make(struct maker *m)
{
    struct alqi_view_index *x = m->x;

    for (uint32_t i = 0; i < x->n_named; i++) {
        uint32_t text = x->functions[i].module;
        const char *name = alqi_view_text(x, text);
        struct alqi_view_function *whole;
        bool is_new;

        whole = whole_at(m, text, &x->wholes.of_function[i].module, &is_new);
        if (whole == NULL)
            return false;
        x->wholes.of_function[i].directory = x->wholes.of_function[i].module;
        flag_join(whole, &x->functions[i], is_new);
        if (!is_new)
            continue;
        whole->name = name[0] != '\0'
                          ? text_add(x, "[", name, strlen(name), "]")
                          : text_add(x, "[unknown module]", "", 0, "");
        whole->module = text;
        if (whole->name == 0)
            return false;
    }
    return true;
}

/* A number of the text's first n bytes: two directories with the same one
 * would be taken for each other. */
static uint64_t
digest(const char *text, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = alqi_base_mix(h ^ (unsigned char)text[i]);
    return h;
}

/* False: no memory. */
static bool
directories_make(struct maker *m)
{
    struct alqi_view_index *x = m->x;

    for (uint32_t i = 0; i < x->n_named; i++) {
        const char *path = alqi_view_text(x, x->functions[i].file);
        const char *end = strrchr(path, '/');
        size_t n = end != NULL ? (size_t)(end - path) : 0;
        struct alqi_view_function *whole;
        bool is_new;

        if (n == 0)
            continue;
        whole = whole_at(m, digest(path, n),
                         &x->wholes.of_function[i].directory, &is_new);
        if (whole == NULL)
            return false;
        flag_join(whole, &x->functions[i], is_new);
        if (!is_new)
            continue;
        whole->name = text_add(x, "[", path, n, "]");
        whole->file = text_add(x, "", path, n, "");
        if (whole->name == 0 || whole->file == 0)
            return false;
    }
    return true;
}

/* Another thread has the same name. */
static bool
is_namesake(const struct alqi_view_index *x, uint32_t thread)
{
    const char *name = alqi_view_text(x, x->threads[thread].name);

    for (uint32_t i = 0; i < x->n_threads; i++)
        if (i != thread &&
            strcmp(alqi_view_text(x, x->threads[i].name), name) == 0)
            return true;
    return false;
}

/* The name of a thread; its number in the kernel where that tells it from
 * others, or where it has no name. */
static uint32_t
thread_name(struct alqi_view_index *x, uint32_t index)
{
    char text[THREAD_BYTES];

    snprintf(text, sizeof text, "thread %u", (unsigned)index);
    for (uint32_t i = 0; i < x->n_threads; i++) {
        const char *name = alqi_view_text(x, x->threads[i].name);
        unsigned long long tid = x->threads[i].tid;

        if (x->threads[i].index != index)
            continue;
        snprintf(text, sizeof text, "thread %llu", tid);
        if (name[0] == '\0')
            break;
        snprintf(text, sizeof text, " (%llu)", tid);
        return text_add(x, "thread ", name, strlen(name),
                        is_namesake(x, i) ? text : "");
    }
    return text_add(x, text, "", 0, "");
}

/* False: no memory. */
static bool
threads_make(struct maker *m)
{
    struct alqi_view_index *x = m->x;

    for (uint32_t i = 0; i < x->n_origins; i++) {
        struct alqi_view_function *whole;
        bool is_new;

        whole =
            whole_at(m, x->origins[i].thread, &x->wholes.of_origin[i], &is_new);
        if (whole == NULL)
            return false;
        if (is_new)
            whole->name = thread_name(x, x->origins[i].thread);
        if (whole->name == 0)
            return false;
    }
    return true;
}

/* Puts the wholes behind the functions of the file (.inv.whole). */
static bool
append(struct maker *m)
{
    struct alqi_view_index *x = m->x;
    struct alqi_view_function *all =
        malloc(((size_t)x->n_named + m->n) * sizeof *all);

    if (all == NULL)
        return false;
    memcpy(all, x->functions, x->n_named * sizeof *all);
    memcpy(all + x->n_named, m->wholes, m->n * sizeof *all);
    x->wholes.functions = all;
    x->functions = all;
    x->n_functions = x->n_named + m->n;
    return true;
}

bool
alqi_view_wholes_make(struct alqi_view_index *x)
{
    struct maker m = {.x = x};
    size_t most = 2 * (size_t)x->n_functions + x->n_origins + 1;
    bool is_made;

    m.wholes = malloc(most * sizeof *m.wholes);
    x->wholes.of_function = calloc(x->n_named, sizeof *x->wholes.of_function);
    x->wholes.of_origin =
        calloc((size_t)x->n_origins + 1, sizeof *x->wholes.of_origin);
    is_made = m.wholes != NULL && x->wholes.of_function != NULL &&
              x->wholes.of_origin != NULL;
    kind_begin(&m, ALQI_VIEW_WHOLE_MODULE);
    is_made = is_made && modules_make(&m);
    kind_begin(&m, ALQI_VIEW_WHOLE_DIRECTORY);
    is_made = is_made && directories_make(&m);
    kind_begin(&m, ALQI_VIEW_WHOLE_THREAD);
    is_made = is_made && threads_make(&m) && append(&m);
    x->wholes.from[ALQI_VIEW_N_WHOLES] = x->n_functions;
    alqi_base_map_clear(&m.map);
    free(m.wholes);
    return is_made;
}

void
alqi_view_wholes_free(struct alqi_view_index *x)
{
    for (uint32_t i = 0; i < x->wholes.n_texts; i++)
        free(x->wholes.texts[i]);
    free(x->wholes.texts);
    free(x->wholes.functions);
    free(x->wholes.of_function);
    free(x->wholes.of_origin);
    memset(&x->wholes, 0, sizeof x->wholes);
}

/* ---- numbers ------------------------------------------------------------- */

/* The kind of a function; ALQI_VIEW_N_WHOLES: it is no whole. */
static int
kind_of(const struct alqi_view_index *x, uint32_t function)
{
    for (int kind = 0; kind < ALQI_VIEW_N_WHOLES; kind++)
        if (function >= x->wholes.from[kind] &&
            function < x->wholes.from[kind + 1])
            return kind;
    return ALQI_VIEW_N_WHOLES;
}

const char *
alqi_view_whole_kind(const struct alqi_view_index *x, uint32_t function)
{
    int kind = kind_of(x, function);

    return kind < ALQI_VIEW_N_WHOLES ? kinds[kind] : NULL;
}

uint32_t
alqi_view_id_of(const struct alqi_view_index *x, uint32_t function)
{
    int kind = kind_of(x, function);

    return kind == ALQI_VIEW_N_WHOLES ? function
                                      : (uint32_t)(kind + 1) * ID_STEP +
                                            (function - x->wholes.from[kind]);
}

uint32_t
alqi_view_function_of(const struct alqi_view_index *x, uint64_t id)
{
    uint64_t kind = id / ID_STEP, at = id % ID_STEP;

    if (kind == 0)
        return at < x->n_named ? (uint32_t)at : UINT32_MAX;
    if (kind > ALQI_VIEW_N_WHOLES ||
        at >= x->wholes.from[kind] - x->wholes.from[kind - 1])
        return UINT32_MAX;
    return x->wholes.from[kind - 1] + (uint32_t)at;
}
