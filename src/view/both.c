/* both.c -- see both.h
 *
 * Both sides' names are sorted, each time those that are not matched yet, and
 * gone through together. */
#include <stdlib.h>
#include <string.h>

#include "view/both.h"
#include "view/sort.h"

/* What a function is known by; parts of texts of the index. */
struct part {
    const char *text;
    size_t n;
};

struct named {
    struct part name, file, module;
    uint32_t function;
};

static struct part
whole(const char *text)
{
    return (struct part){text, strlen(text)};
}

static struct part
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return whole(slash != NULL && slash[1] != '\0' ? slash + 1 : path);
}

static int
compare_parts(const struct part *a, const struct part *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int order = memcmp(a->text, b->text, n);

    if (order != 0)
        return order;
    return a->n < b->n ? -1 : a->n > b->n;
}

static int
compare(const struct named *a, const struct named *b)
{
    int order = compare_parts(&a->name, &b->name);

    if (order == 0)
        order = compare_parts(&a->file, &b->file);
    return order != 0 ? order : compare_parts(&a->module, &b->module);
}

static int
by_names(const void *left, const void *right, void *arg)
{
    const struct named *a = left, *b = right;
    int order = compare(a, b);

    (void)arg;
    if (order != 0)
        return order;
    return a->function < b->function ? -1 : a->function > b->function;
}

/* A module without what a new build changes. */
static struct part
module_loose(const struct alqi_view_index *x, const char *module)
{
    struct part program = base_name(alqi_view_text(x, x->meta->program));
    struct part m = whole(module);
    const char *so = strstr(module, ".so");

    if (m.n > 0 && compare_parts(&m, &program) == 0)
        return whole("");
    if (so != NULL)
        m.n = (size_t)(so - module) + 3;
    return m;
}

/* Those that are not matched, sorted; returns their number. */
static uint32_t
names_make(const struct alqi_view_index *x, const uint8_t *is_matched,
           bool is_loose, struct named *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->n_functions; i++) {
        const struct alqi_view_function *f = &x->functions[i];
        const char *file = alqi_view_text(x, f->file);
        const char *module = alqi_view_text(x, f->module);

        if (is_matched[i])
            continue;
        out[n].name = whole(alqi_view_text(x, f->name));
        out[n].file = is_loose ? base_name(file) : whole(file);
        out[n].module = is_loose ? module_loose(x, module) : whole(module);
        out[n++].function = i;
    }
    alqi_view_sort(out, n, sizeof *out, by_names, NULL);
    return n;
}

static uint32_t
run_length(const struct named *names, uint32_t from, uint32_t n)
{
    uint32_t i = from + 1;

    while (i < n && compare(&names[i], &names[from]) == 0)
        i++;
    return i - from;
}

struct matcher {
    struct alqi_view_both *both;
    uint8_t *a_matched, *b_matched;
    struct named *a_names, *b_names;
};

static void
match(struct matcher *m, bool is_loose)
{
    uint32_t n_a = names_make(m->both->a, m->a_matched, is_loose, m->a_names);
    uint32_t n_b = names_make(m->both->b, m->b_matched, is_loose, m->b_names);
    uint32_t i = 0, k = 0;

    while (i < n_a && k < n_b) {
        int order = compare(&m->a_names[i], &m->b_names[k]);
        uint32_t run_a = run_length(m->a_names, i, n_a);
        uint32_t run_b = run_length(m->b_names, k, n_b);

        if (order == 0 && run_a == 1 && run_b == 1) {
            uint32_t a = m->a_names[i].function, b = m->b_names[k].function;

            m->both->of_b[b] = a;
            m->both->b_of[a] = b;
            m->a_matched[a] = m->b_matched[b] = 1;
        }
        i += order <= 0 ? run_a : 0;
        k += order >= 0 ? run_b : 0;
    }
}

static void
match_all(struct matcher *m)
{
    struct alqi_view_both *both = m->both;

    both->n = both->a->n_functions;
    for (uint32_t i = 0; i < both->n; i++)
        both->b_of[i] = ALQI_VIEW_NO_FUNCTION;
    match(m, false);
    match(m, true);
    for (uint32_t i = 0; i < both->b->n_functions; i++)
        if (!m->b_matched[i]) {
            both->of_b[i] = both->n;
            both->b_of[both->n++] = i;
        }
}

static void
match_itself(struct alqi_view_both *both)
{
    both->n = both->a->n_functions;
    for (uint32_t i = 0; i < both->n; i++)
        both->of_b[i] = both->b_of[i] = i;
}

bool
alqi_view_both_make(struct alqi_view_both *both,
                    const struct alqi_view_index *a,
                    const struct alqi_view_index *b)
{
    size_t n_a = a->n_functions, n_b = b->n_functions;
    struct matcher m = {.both = both};
    bool is_made;

    both->a = a;
    both->b = b;
    both->of_b = malloc(n_b * sizeof *both->of_b);
    both->b_of = malloc((n_a + n_b) * sizeof *both->b_of);
    m.a_matched = calloc(n_a, 1);
    m.b_matched = calloc(n_b, 1);
    m.a_names = malloc(n_a * sizeof *m.a_names);
    m.b_names = malloc(n_b * sizeof *m.b_names);
    is_made = both->of_b != NULL && both->b_of != NULL && m.a_matched != NULL &&
              m.b_matched != NULL && m.a_names != NULL && m.b_names != NULL;
    if (is_made && a == b)
        match_itself(both);
    else if (is_made)
        match_all(&m);
    free(m.a_matched);
    free(m.b_matched);
    free(m.a_names);
    free(m.b_names);
    return is_made;
}

void
alqi_view_both_free(struct alqi_view_both *both)
{
    free(both->of_b);
    free(both->b_of);
}

const struct alqi_view_index *
alqi_view_both_names(const struct alqi_view_both *both, uint32_t *function)
{
    if (*function < both->a->n_functions)
        return both->a;
    *function = both->b_of[*function];
    return both->b;
}
