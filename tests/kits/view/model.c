/* model.c -- see model.h */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "view/build.h"
#include "kits/view/model.h"

/* Number 0 is the empty stack's. */
const char *const model_names[MODEL_FUNCTIONS] = {
    "[no stack]", "main", "run",  "runner", "malloc",
    "0x12",       "a",    "ab+c", "parse",  "x y%z",
};

enum { WRAPPER = 4, NAMELESS = 5, N_CLASSES = 60 };

uint64_t
model_draw(struct model *m, uint64_t below)
{
    m->seed = alqi_base_mix(m->seed + 0x9E3779B97F4A7C15u);
    return m->seed % below;
}

/* Names of marks, evenly over the trace; "a" comes twice. */
static const char *const model_marks[] = {"a", "b#2", "a"};

static uint64_t
mark_us(const struct model *m, uint32_t i)
{
    return m->end_us / 5 * (i + 1);
}

/* Whether the text means the phase of that time. */
static bool
is_phase(const struct model *m, const char *text, uint64_t us)
{
    static const struct {
        const char *text;
        bool is_meant[4]; /* by phase */
    } rows[] = {
        {"start", {true}},     {"start#1", {true}},   {"a", {0, 1, 0, 1}},
        {"a#2", {0, 0, 0, 1}}, {"b#2", {0, 0, 1, 0}}, {"b", {false}},
        {"a#3", {false}},      {"a#", {false}},
    };
    uint32_t k = 0;

    while (k < ALQI_COUNT_OF(model_marks) && us >= mark_us(m, k))
        k++;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++)
        if (strcmp(rows[i].text, text) == 0)
            return rows[i].is_meant[k];
    abort();
}

/* ---- a trace ------------------------------------------------------------- */

static void
stacks_make(struct model *m)
{
    for (uint32_t i = 0; i < MODEL_STACKS; i++) {
        struct model_stack *s = &m->stacks[i];

        s->n = (uint32_t)model_draw(m, MODEL_DEPTH + 1);
        s->is_mapping = model_draw(m, 10) == 0;
        for (uint32_t k = 0; k < s->n; k++)
            s->frames[k] = (struct model_frame){
                1 + (uint32_t)model_draw(m, MODEL_FUNCTIONS - 1),
                (int32_t)model_draw(m, 3)};
    }
}

static void
event_add(struct model *m, char kind, uint32_t number, uint64_t us)
{
    m->events[m->n_events++] = (struct model_event){kind, number, us};
    if (us > m->end_us)
        m->end_us = us;
}

static void
birth(struct model *m, uint64_t us)
{
    struct model_block *b = &m->blocks[m->n_blocks];

    *b = (struct model_block){
        .born = us,
        .promoted = UINT64_MAX,
        .size = model_draw(m, 4) == 0 ? model_draw(m, 100000)
                                      : 8 * model_draw(m, N_CLASSES),
        .samples = 1 + model_draw(m, 300),
        .p = model_draw(m, 3) == 0 ? 1 : 1.0 / (double)(1 + model_draw(m, 9)),
        .colours = 1 + (unsigned)model_draw(m, ALQI_VIEW_ALL_COLOURS),
        .stack = (uint32_t)model_draw(m, MODEL_STACKS),
        .thread = (uint32_t)model_draw(m, 4),
        .domain = (uint32_t)model_draw(m, 2),
        .source = (uint32_t)model_draw(m, 3),
    };
    b->process = b->thread % 2;
    b->stays = true;
    b->reach = (enum alqi_view_reach)model_draw(m, ALQI_VIEW_REACHES);
    event_add(m, 'b', m->n_blocks++, us);
}

/* Of a block that is there: freed, promoted. */
static void
change(struct model *m, uint64_t us, uint32_t gone)
{
    uint32_t number = (uint32_t)model_draw(m, m->n_blocks);
    struct model_block *b = &m->blocks[number];
    uint64_t later_us = us < b->born ? b->born : us;

    if (!b->stays || b->process == gone)
        return;
    if (b->source == 0 && b->promoted == UINT64_MAX && model_draw(m, 2) == 0) {
        b->promoted = later_us;
        event_add(m, 'p', number, later_us);
        return;
    }
    if (b->promoted != UINT64_MAX && later_us < b->promoted)
        later_us = b->promoted;
    b->stays = false;
    b->is_freed = true;
    b->end = later_us;
    event_add(m, 'f', number, later_us);
}

/* All that the process held goes. */
static void
process_end(struct model *m, uint32_t process, uint64_t us)
{
    event_add(m, 'g', process, us);
    for (uint32_t i = 0; i < m->n_blocks; i++) {
        struct model_block *b = &m->blocks[i];

        if (!b->stays || b->process != process)
            continue;
        b->stays = false;
        b->end = us < b->born ? b->born : us;
        if (b->promoted != UINT64_MAX && b->end < b->promoted)
            b->end = b->promoted;
    }
}

/* Where the moments are does not matter here: some event is drawn for each
 * colour, and what is there before it counts.  How they are chosen is asked in
 * peak_test.c. */
static void
moments_make(struct model *m)
{
    bool there[MODEL_BLOCKS] = {false};

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        m->moments[k] =
            m->n_events / 4 + (uint32_t)model_draw(m, m->n_events / 2 + 1);
    for (uint32_t i = 0; i < m->n_events; i++) {
        const struct model_event *e = &m->events[i];

        for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
            if (m->moments[k] != i)
                continue;
            m->peak_us[k] = i > 0 ? m->events[i - 1].us : 0;
            for (uint32_t j = 0; j < m->n_blocks; j++)
                if (there[j])
                    m->blocks[j].at_peak |= m->blocks[j].colours & 1u << k;
        }
        for (uint32_t k = 0; e->kind == 'g' && k < m->n_blocks; k++)
            if (m->blocks[k].process == e->number)
                there[k] = false;
        if (e->kind == 'b' || e->kind == 'f')
            there[e->number] = e->kind == 'b';
    }
}

static void
lives_set(struct model *m)
{
    for (uint32_t i = 0; i < m->n_blocks; i++) {
        struct model_block *b = &m->blocks[i];

        b->life = (b->stays ? m->end_us : b->end) - b->born;
        if (b->source == 2 && model_draw(m, 5) == 0)
            b->life += 1 + model_draw(m, 100); /* of a chain */
    }
}

void
model_make(struct model *m, uint64_t seed, uint32_t n_blocks)
{
    uint64_t us = 0;
    uint32_t gone = UINT32_MAX;
    bool ends = seed % 3 == 0, goes_back = seed % 3 == 1 && seed % 2 == 0;

    memset(m, 0, sizeof *m);
    m->seed = seed;
    m->is_in_order = true;
    stacks_make(m);
    while (m->n_blocks < n_blocks) {
        us += model_draw(m, 3) == 0 ? model_draw(m, 50) : 0;
        if (goes_back && model_draw(m, 20) == 0) {
            us -= us < 30 ? us : 30;
            m->is_in_order = false;
        }
        if (ends && gone == UINT32_MAX && m->n_blocks > n_blocks / 2)
            process_end(m, gone = 1, us);
        birth(m, us);
        if (m->blocks[m->n_blocks - 1].process == gone) {
            m->blocks[m->n_blocks - 1].process = 0;
            m->blocks[m->n_blocks - 1].thread &= ~1u;
        }
        for (uint64_t k = model_draw(m, 4); k > 0; k--)
            change(m, us, gone);
    }
    if (n_blocks > 0)
        m->end_us += 7; /* the trace goes on */
    moments_make(m);
    lives_set(m);
}

/* ---- its index ----------------------------------------------------------- */

struct bytes {
    char *at;
    size_t n;
};

static bool
put(void *arg, const void *bytes, size_t n)
{
    struct bytes *b = arg;

    b->at = realloc(b->at, b->n + n);
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
    return true;
}

static void
names_put(struct alqi_view_build *build)
{
    alqi_view_build_text(build, "");
    for (uint32_t i = 0; i < MODEL_FUNCTIONS; i++) {
        struct alqi_view_function f = {
            .name = alqi_view_build_text(build, model_names[i]),
            .flags = (i == WRAPPER ? ALQI_VIEW_WRAPPER : 0u) |
                     (i == NAMELESS ? ALQI_VIEW_NAMELESS : 0u),
        };

        f.file = alqi_view_build_text(build, i % 2 ? "dir/f.c" : "");
        f.module = alqi_view_build_text(build, i % 3 ? "prog" : "lib.so.1");
        alqi_view_build_function(build, &f);
    }
}

/* One node for each beginning of a stack; found by trying all. */
static void
stacks_put(struct alqi_view_build *build, const struct model *m)
{
    struct alqi_view_node nodes[1 + MODEL_STACKS * MODEL_DEPTH] = {{0, 0, 0}};
    uint32_t n = 1;

    for (uint32_t i = 0; i < MODEL_STACKS; i++) {
        uint32_t at = 0;

        for (uint32_t k = 0; k < m->stacks[i].n; k++) {
            struct alqi_view_node node = {at, m->stacks[i].frames[k].function,
                                          m->stacks[i].frames[k].line};
            uint32_t found = 1;

            while (found < n && memcmp(&nodes[found], &node, sizeof node) != 0)
                found++;
            if (found == n) {
                nodes[n++] = node;
                alqi_view_build_node(build, &node);
            }
            at = found;
        }
        alqi_view_build_stack(
            build, &(struct alqi_view_stack){at, m->stacks[i].is_mapping});
    }
}

static void
birth_put(struct alqi_view_build *build, const struct model_block *b)
{
    struct alqi_view_class c = {b->size, b->size / 8 + 1, b->p,
                                1 - cbrt(1 - b->p)};
    struct alqi_view_origin o = {b->thread, b->process, b->domain, b->source};
    struct alqi_view_row row = {
        .born_us = b->born,
        .n_samples = b->samples,
        .class_ = alqi_view_build_class(build, &c),
        .stack = b->stack,
        .origin = alqi_view_build_origin(build, &o),
        .colours = b->colours,
    };

    alqi_view_build_birth(build, &row);
}

static void
events_put(struct alqi_view_build *build, const struct model *m)
{
    for (uint32_t i = 0; i < m->n_events; i++) {
        const struct model_event *e = &m->events[i];
        const struct model_block *b = &m->blocks[e->number];

        for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
            if (m->moments[k] == i)
                alqi_view_build_peak(build, 1u << k);
        if (e->kind == 'b') {
            birth_put(build, b);
        } else if (e->kind == 'f') {
            alqi_view_build_free(build, e->number, b->end - b->born);
        } else if (e->kind == 'p') {
            alqi_view_build_promote(build, e->number, b->promoted - b->born);
        } else {
            alqi_view_build_gone(build, e->number, e->us);
        }
    }
}

static void
ends_put(struct alqi_view_build *build, const struct model *m)
{
    for (uint32_t i = 0; i < m->n_blocks; i++) {
        const struct model_block *b = &m->blocks[i];
        uint64_t own = (b->stays ? m->end_us : b->end) - b->born;

        if (!b->is_freed)
            alqi_view_build_left(build, i, own, b->stays, b->at_peak, b->reach,
                                 false);
        if (b->life != own)
            alqi_view_build_chain(build, i, 1, b->life);
    }
}

void *
model_index(const struct model *m, size_t *n_bytes)
{
    static const unsigned char key[ALQI_VIEW_KEY_BYTES];
    struct bytes bytes = {0};
    struct alqi_view_build *build = alqi_view_build_new(put, &bytes);
    struct alqi_view_meta meta = {
        .end_us = m->end_us,
        .peak_us = {m->peak_us[0], m->peak_us[1], m->peak_us[2]},
        .share = 1,
        .lambda = 0.1,
        .is_in_order = m->is_in_order,
    };
    const char *error;

    names_put(build);
    stacks_put(build, m);
    events_put(build, m);
    ends_put(build, m);
    for (uint32_t i = 0; i < ALQI_COUNT_OF(model_marks); i++)
        alqi_view_build_mark(build, mark_us(m, i),
                             alqi_view_build_text(build, model_marks[i]));
    error = alqi_view_build_finish(build, &meta, key);
    alqi_view_build_drop(build);
    if (error != NULL)
        abort();
    *n_bytes = bytes.n;
    return bytes.at;
}

/* ---- filters ------------------------------------------------------------- */

static struct model_range
range_make(struct model *m, uint64_t most)
{
    struct model_range r = {true, model_draw(m, 3) != 0, 0, UINT64_MAX};

    if (r.has_least)
        r.least = model_draw(m, most + 1);
    if (model_draw(m, 3) != 0)
        r.most = r.least + model_draw(m, most / 2 + 1);
    return r;
}

static uint32_t
words_make(struct model *m, const char **words)
{
    static const char *const texts[] = {
        "a",     "=a",   "run",   "=run", "ab+c",          "0",
        "x y%z", "none", "=main", "~^a$", "~^(run|x y%z)$"};
    uint32_t n = 1 + (uint32_t)model_draw(m, 2);

    for (uint32_t i = 0; i < n; i++)
        words[i] = texts[model_draw(m, ALQI_COUNT_OF(texts))];
    return n;
}

void
model_filter_make(struct model *m, struct model_filter *f)
{
    memset(f, 0, sizeof *f);
    f->heap = model_draw(m, 3) == 0 ? 1 + (unsigned)model_draw(m, 7) : 7;
    if (model_draw(m, 4) == 0)
        f->alloc = range_make(m, m->end_us);
    if (model_draw(m, 3) == 0) {
        uint64_t kind = model_draw(m, 4);

        f->live_peak = kind == 0;
        f->live_end = kind == 1;
        if (kind > 1)
            f->live = range_make(m, m->end_us);
    }
    if (model_draw(m, 4) == 0) {
        f->never = model_draw(m, 3) == 0;
        if (!f->never)
            f->freed = range_make(m, m->end_us);
    }
    if (model_draw(m, 5) == 0)
        f->size = range_make(m, 600);
    if (model_draw(m, 5) == 0)
        f->life = range_make(m, m->end_us / 2);
    if (model_draw(m, 5) == 0)
        f->reach = 1 + (unsigned)model_draw(m, (1 << ALQI_VIEW_REACHES) - 1);
    for (uint32_t i = 0; i < 3; i++) {
        if (model_draw(m, 12) == 0)
            f->threads[f->n_threads++] = (uint32_t)model_draw(m, 5);
        if (model_draw(m, 12) == 0)
            f->domains[f->n_domains++] = (uint32_t)model_draw(m, 3);
    }
    if (model_draw(m, 5) == 0) {
        static const char *const phases[] = {"start", "start#1", "a",   "a#2",
                                             "b#2",   "b",       "a#3", "a#"};

        f->phase = phases[model_draw(m, ALQI_COUNT_OF(phases))];
    }
    if (model_draw(m, 5) == 0)
        f->n_in = words_make(m, f->in);
    if (model_draw(m, 5) == 0)
        f->n_notin = words_make(m, f->notin);
    if (model_draw(m, 4) == 0)
        f->n_hide = words_make(m, f->hide);
    if (model_draw(m, 6) == 0)
        f->n_site = words_make(m, f->site);
}

struct text {
    char *at;
    size_t n, capacity;
    const char *prefix;
};

static void
key_put(struct text *t, const char *key)
{
    t->n += (size_t)snprintf(t->at + t->n, t->capacity - t->n,
                             "%s%s%s=", t->n > 0 ? "&" : "", t->prefix, key);
}

static void
range_put(struct text *t, const char *key, const struct model_range *r)
{
    if (!r->is_there)
        return;
    key_put(t, key);
    if (r->has_least)
        t->n += (size_t)snprintf(t->at + t->n, t->capacity - t->n, "%llu",
                                 (unsigned long long)r->least);
    t->n += (size_t)snprintf(t->at + t->n, t->capacity - t->n, "..");
    if (r->most != UINT64_MAX)
        t->n += (size_t)snprintf(t->at + t->n, t->capacity - t->n, "%llu",
                                 (unsigned long long)r->most);
}

static void
word_put(struct text *t, const char *key, const char *const *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        key_put(t, key);
        for (const char *c = words[i]; *c != '\0'; c++)
            t->n += (size_t)snprintf(
                t->at + t->n, t->capacity - t->n,
                strchr("+%&= ", *c) != NULL && c > words[i] ? "%%%02X" : "%c",
                (unsigned char)*c);
    }
}

static void
one_put(struct text *t, const char *key, const char *value)
{
    key_put(t, key);
    t->n += (size_t)snprintf(t->at + t->n, t->capacity - t->n, "%s", value);
}

static void
reach_put(struct text *t, unsigned bits)
{
    char list[80] = "";

    for (int i = 0; i < ALQI_VIEW_REACHES; i++)
        if ((bits >> i & 1) != 0)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                     list[0] != '\0' ? "," : "",
                     alqi_view_reach_name((enum alqi_view_reach)i));
    if (bits != 0)
        one_put(t, "reach", list);
}

void
model_filter_text(const struct model_filter *f, const char *prefix, char *out,
                  size_t capacity)
{
    static const char *const heaps[] = {
        "",       "minor",        "major",        "minor,major",
        "malloc", "malloc,minor", "malloc,major", ""};
    struct text t = {out, 0, capacity, prefix};
    char number[16];

    out[0] = '\0';
    range_put(&t, "alloc", &f->alloc);
    range_put(&t, "live", &f->live);
    range_put(&t, "freed", &f->freed);
    range_put(&t, "size", &f->size);
    range_put(&t, "life", &f->life);
    if (f->live_peak || f->live_end)
        one_put(&t, "live", f->live_peak ? "peak" : "end");
    if (f->never)
        one_put(&t, "freed", "never");
    if (f->heap != 7)
        one_put(&t, "heap", heaps[f->heap]);
    reach_put(&t, f->reach);
    for (uint32_t i = 0; i < f->n_threads; i++) {
        snprintf(number, sizeof number, "%u", f->threads[i]);
        one_put(&t, "thread", number);
    }
    for (uint32_t i = 0; i < f->n_domains; i++) {
        snprintf(number, sizeof number, "%u", f->domains[i]);
        one_put(&t, "domain", number);
    }
    if (f->phase != NULL)
        word_put(&t, "phase", &f->phase, 1);
    word_put(&t, "in", f->in, f->n_in);
    word_put(&t, "notin", f->notin, f->n_notin);
    word_put(&t, "hide", f->hide, f->n_hide);
    word_put(&t, "site", f->site, f->n_site);
}

/* ---- who passes ---------------------------------------------------------- */

static bool
is_match(const char *word, uint32_t function)
{
    const char *name = model_names[function];

    if (strcmp(word, "~^a$") == 0)
        return strcmp(name, "a") == 0;
    if (word[0] == '~') /* ^(run|x y%z)$ */
        return strcmp(name, "run") == 0 || strcmp(name, "x y%z") == 0;
    return word[0] == '=' ? strcmp(name, word + 1) == 0
                          : strstr(name, word) != NULL;
}

static bool
is_on_stack(const struct model *m, uint32_t stack, const char *word)
{
    for (uint32_t i = 0; i < m->stacks[stack].n; i++)
        if (is_match(word, m->stacks[stack].frames[i].function))
            return true;
    return false;
}

static bool
is_in(const struct model_range *r, uint64_t v)
{
    return !r->is_there || (v >= r->least && v <= r->most);
}

static bool
is_listed(const uint32_t *list, uint32_t n, uint32_t v)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return n == 0;
}

/* The block as a filter with only some heaps sees it; false: not at all. */
static bool
seen(const struct model *m, const struct model_filter *f,
     const struct model_block *block, struct model_block *out)
{
    bool has_minor = (f->heap & 1) != 0, has_major = (f->heap & 2) != 0;

    *out = *block;
    if (block->source == 2)
        return (f->heap & 4) != 0;
    if (block->source == 1)
        return has_major;
    if (block->promoted == UINT64_MAX)
        return has_minor;
    if (has_minor && has_major)
        return true;
    if (!has_minor && !has_major)
        return false;
    if (has_minor) {
        out->end = block->promoted;
        out->stays = false;
        out->is_freed = true;
    } else {
        out->born = block->promoted;
    }
    out->life = (out->stays ? m->end_us : out->end) - out->born;
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (out->born > m->peak_us[k] ||
            (!out->stays && out->end <= m->peak_us[k]))
            out->at_peak &= ~(1u << k);
    return true;
}

bool
model_passes(const struct model *m, const struct model_filter *f,
             const struct model_block *block)
{
    struct model_block b;
    uint64_t ended;

    if (!seen(m, f, block, &b))
        return false;
    ended = b.stays ? m->end_us : b.end;
    for (uint32_t i = 0; i < f->n_in; i++)
        if (!is_on_stack(m, b.stack, f->in[i]))
            return false;
    for (uint32_t i = 0; i < f->n_notin; i++)
        if (is_on_stack(m, b.stack, f->notin[i]))
            return false;
    for (uint32_t i = 0; i < f->n_site; i++)
        if (!is_match(f->site[i], model_site(m, f, b.stack).function))
            return false;
    if (f->live.is_there &&
        (b.born > f->live.most ||
         (f->live.has_least && !b.stays && b.end <= f->live.least)))
        return false;
    if (f->freed.is_there &&
        (!is_in(&f->freed, ended) || (!f->freed.has_least && !b.is_freed)))
        return false;
    if (f->phase != NULL && !is_phase(m, f->phase, b.born))
        return false;
    return is_in(&f->alloc, b.born) && is_in(&f->size, b.size) &&
           is_in(&f->life, b.life) && (!f->live_peak || b.at_peak != 0) &&
           (!f->live_end || !b.is_freed) && (!f->never || !b.is_freed) &&
           (f->reach == 0 || (!b.is_freed && (f->reach >> b.reach & 1) != 0)) &&
           is_listed(f->threads, f->n_threads, b.thread) &&
           is_listed(f->domains, f->n_domains, b.domain);
}

void
model_add(struct model_sum *s, const struct model_block *block,
          const struct model *m, const struct model_filter *f)
{
    struct model_block b;
    double size = (double)block->size, p = block->p;
    double n = 1, of = 1;
    bool is_one = true;

    seen(m, f, block, &b);
    if (f->live_peak) {
        n = __builtin_popcount(b.at_peak);
        of = ALQI_VIEW_COLOURS;
        p = 1 - cbrt(1 - p);
        is_one = (b.at_peak & alqi_view_first_colour(b.colours)) != 0;
    }
    s->bytes += n * size / p / of;
    s->bytes_var += n * size * size * (1 - p) / p / p / of / of;
    s->blocks += n / p / of;
    s->blocks_var += n * (1 - p) / p / p / of / of;
    s->life += n * (double)b.life / p / of;
    s->n += is_one;
    s->samples += is_one ? block->samples : 0;
}

struct model_sum
model_total(const struct model *m, const struct model_filter *f)
{
    struct model_sum s = {0};

    for (uint32_t i = 0; i < m->n_blocks; i++)
        if (model_passes(m, f, &m->blocks[i]))
            model_add(&s, &m->blocks[i], m, f);
    return s;
}

/* ---- stacks -------------------------------------------------------------- */

static bool
is_hidden(const struct model_filter *f, uint32_t function)
{
    for (uint32_t i = 0; i < f->n_hide; i++)
        if (is_match(f->hide[i], function))
            return true;
    return false;
}

uint32_t
model_fold(const struct model *m, const struct model_filter *f, uint32_t stack,
           struct model_frame *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->stacks[stack].n; i++) {
        struct model_frame frame = m->stacks[stack].frames[i];
        bool is_there = is_hidden(f, frame.function);

        for (uint32_t k = 0; k < n; k++)
            is_there = is_there || out[k].function == frame.function;
        if (!is_there)
            out[n++] = frame;
    }
    return n;
}

struct model_frame
model_site(const struct model *m, const struct model_filter *f, uint32_t stack)
{
    struct model_frame frames[MODEL_DEPTH];
    uint32_t n = 0, naming, i;

    for (uint32_t k = 0; k < m->stacks[stack].n; k++)
        if (!is_hidden(f, m->stacks[stack].frames[k].function))
            frames[n++] = m->stacks[stack].frames[k];
    if (n == 0)
        return (struct model_frame){0, 0};
    naming = i = n;
    while (i > 0 && (frames[i - 1].function == WRAPPER ||
                     frames[i - 1].function == NAMELESS))
        if (frames[--i].function == WRAPPER)
            naming = i;
    return frames[naming > 0 ? naming - 1 : n - 1];
}

/* ---- time ---------------------------------------------------------------- */

/* Whether the block counts now, when it was born, promoted and ended so. */
static bool
is_counted(const struct model_filter *f, const struct model_block *b,
           bool is_promoted)
{
    if (b->source != 0 || (f->heap & 3) == 3)
        return true;
    return is_promoted ? (f->heap & 2) != 0 : (f->heap & 1) != 0;
}

/* It changes the level, if only by a block of no bytes. */
static bool
is_event_of(const struct model *m, const struct model_filter *f,
            const struct model_event *e, const bool *passes,
            const bool *promoted)
{
    const struct model_block *b = &m->blocks[e->number];

    if (e->kind == 'g')
        return true;
    if (e->kind == 'p')
        return passes[e->number] && b->source == 0 && (f->heap & 3) != 3;
    return passes[e->number] && is_counted(f, b, promoted[e->number]);
}

void
model_levels(const struct model *m, const struct model_filter *f,
             uint64_t step_us, uint32_t n, double *out)
{
    bool passes[MODEL_BLOCKS], there[MODEL_BLOCKS] = {false};
    bool promoted[MODEL_BLOCKS] = {false};
    double level = 0;
    uint32_t n_steps = 0;

    for (uint32_t i = 0; i < m->n_blocks; i++)
        passes[i] = model_passes(m, f, &m->blocks[i]);
    for (uint32_t i = 0; i < m->n_events; i++) {
        const struct model_event *e = &m->events[i];
        uint32_t step = (uint32_t)(e->us / step_us);
        double before = level;

        if (e->kind == 'b')
            there[e->number] = true;
        else if (e->kind == 'f')
            there[e->number] = false;
        else if (e->kind == 'p')
            promoted[e->number] = true;
        for (uint32_t k = 0; e->kind == 'g' && k < m->n_blocks; k++)
            if (m->blocks[k].process == e->number)
                there[k] = false;
        level = 0;
        for (uint32_t k = 0; k < m->n_blocks; k++)
            if (there[k] && passes[k] &&
                is_counted(f, &m->blocks[k], promoted[k]))
                level += (double)m->blocks[k].size / m->blocks[k].p;
        if (!is_event_of(m, f, e, passes, promoted))
            continue; /* where time goes back, its step does not matter */
        while (n_steps <= step)
            out[n_steps++] = before;
        if (level > out[step])
            out[step] = level;
    }
    while (n_steps < n)
        out[n_steps++] = level;
}
