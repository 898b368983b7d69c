/* firefox_threads.c -- threads with their events and tables */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/export/firefox.h"
#include "cli/tool/json.h"

enum { N_THREADS_MAX = 65536, RESOURCE_LIBRARY = 1 };

/* ---- numbers of one thread's own tables ------------------------------- */

/* Things of the whole file in the order in which a thread first uses them. */
struct numbering {
    uint32_t *local; /* + 1; 0: not used */
    uint32_t *list;  /* by local number */
    uint32_t n;
};

static void
numbering_make(struct numbering *n, uint32_t n_things)
{
    n->local = alqi_cli_realloc(NULL, n_things, sizeof *n->local);
    n->list = alqi_cli_realloc(NULL, n_things, sizeof *n->list);
    memset(n->local, 0, n_things * sizeof *n->local);
    n->n = 0;
}

static void
numbering_free(struct numbering *n)
{
    free(n->local);
    free(n->list);
}

static void
numbering_clear(struct numbering *n)
{
    while (n->n > 0)
        n->local[n->list[--n->n]] = 0;
}

static uint32_t
number(struct numbering *n, uint32_t thing)
{
    if (n->local[thing] == 0) {
        n->list[n->n++] = thing;
        n->local[thing] = n->n;
    }
    return n->local[thing] - 1;
}

struct writer {
    const struct alqi_cli_firefox *firefox;
    const struct alqi_cli_analysis *analysis;
    FILE *out;
    uint32_t *order; /* events, by thread, then time */
    struct numbering nodes, frames, functions, texts, libs;
};

/* The events of one thread in order. */
struct range {
    uint32_t first, n;
    uint32_t thread;
};

/* ---- columns ---------------------------------------------------------- */

/* One number of row i; false: null. */
typedef bool cell_fn(struct writer *w, uint32_t i, int64_t *value);

static void
column_put(struct writer *w, const char *name, uint32_t n, cell_fn *cell)
{
    fprintf(w->out, "\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++) {
        int64_t value;

        if (i > 0)
            fputc(',', w->out);
        if (cell(w, i, &value))
            fprintf(w->out, "%" PRId64, value);
        else
            fputs("null", w->out);
    }
    fputs("],\n", w->out);
}

static bool
none(struct writer *w, uint32_t i, int64_t *value)
{
    (void)w;
    (void)i;
    (void)value;
    return false;
}

static bool
zero(struct writer *w, uint32_t i, int64_t *value)
{
    (void)w;
    (void)i;
    *value = 0;
    return true;
}

/* ---- stacks, frames, functions ---------------------------------------- */

static bool
stack_frame(struct writer *w, uint32_t i, int64_t *value)
{
    const struct alqi_cli_stacks *trie = &w->firefox->stacks.trie;
    uint64_t code = trie->nodes[w->nodes.list[i]].code;

    *value = number(&w->frames, (uint32_t)code - 1);
    return true;
}

static bool
stack_prefix(struct writer *w, uint32_t i, int64_t *value)
{
    const struct alqi_cli_stacks *trie = &w->firefox->stacks.trie;
    uint32_t parent = trie->nodes[w->nodes.list[i]].parent;

    if (parent == 0)
        return false;
    *value = number(&w->nodes, parent);
    return true;
}

static void
stacks_put(struct writer *w)
{
    fputs("\"stackTable\":{", w->out);
    column_put(w, "frame", w->nodes.n, stack_frame);
    column_put(w, "prefix", w->nodes.n, stack_prefix);
    column_put(w, "category", w->nodes.n, zero);
    column_put(w, "subcategory", w->nodes.n, zero);
    fprintf(w->out, "\"length\":%" PRIu32 "},\n", w->nodes.n);
}

static bool
frame_function(struct writer *w, uint32_t i, int64_t *value)
{
    *value = number(&w->functions,
                    w->firefox->stacks.function_of_frame[w->frames.list[i]]);
    return true;
}

static bool
frame_line(struct writer *w, uint32_t i, int64_t *value)
{
    *value = w->firefox->stacks.frames[w->frames.list[i]].frame.line;
    return *value > 0;
}

/* Relative to the module, of the instruction that calls; -1: not known. */
static bool
frame_address(struct writer *w, uint32_t i, int64_t *value)
{
    const struct alqi_cli_export_frame *x =
        &w->firefox->stacks.frames[w->frames.list[i]];
    int64_t lib = alqi_cli_firefox_lib(w->firefox, &x->frame);
    const struct alqi_cli_module_note *m;
    uint64_t address = alqi_cli_export_address(x);

    *value = -1;
    if (lib < 0)
        return true;
    m = &w->analysis->notes.modules[w->firefox->module_of_lib[lib]];
    if (address > m->start && address <= m->end && address > m->bias)
        *value = (int64_t)(address - m->bias - 1);
    return true;
}

static void
frames_put(struct writer *w)
{
    fputs("\"frameTable\":{", w->out);
    column_put(w, "func", w->frames.n, frame_function);
    column_put(w, "line", w->frames.n, frame_line);
    column_put(w, "address", w->frames.n, frame_address);
    column_put(w, "inlineDepth", w->frames.n, zero);
    column_put(w, "category", w->frames.n, zero);
    column_put(w, "subcategory", w->frames.n, zero);
    column_put(w, "nativeSymbol", w->frames.n, none);
    column_put(w, "innerWindowID", w->frames.n, none);
    column_put(w, "implementation", w->frames.n, none);
    column_put(w, "column", w->frames.n, none);
    fprintf(w->out, "\"length\":%" PRIu32 "},\n", w->frames.n);
}

static const struct alqi_cli_frame *
function_frame(const struct writer *w, uint32_t i)
{
    const struct alqi_cli_export_stacks *s = &w->firefox->stacks;

    return &s->frames[s->frame_of_function[w->functions.list[i]]].frame;
}

static bool
function_name(struct writer *w, uint32_t i, int64_t *value)
{
    *value = number(&w->texts, function_frame(w, i)->function);
    return true;
}

static bool
function_file(struct writer *w, uint32_t i, int64_t *value)
{
    uint32_t file = alqi_cli_export_source(function_frame(w, i));

    *value = file != ALQI_CLI_NO_NAME ? number(&w->texts, file) : 0;
    return file != ALQI_CLI_NO_NAME;
}

static bool
function_resource(struct writer *w, uint32_t i, int64_t *value)
{
    int64_t lib = alqi_cli_firefox_lib(w->firefox, function_frame(w, i));

    *value = lib < 0 ? -1 : (int64_t)number(&w->libs, (uint32_t)lib);
    return true;
}

/* isJS and relevantForJS are booleans. */
static void
falses_put(struct writer *w, const char *name, uint32_t n)
{
    fprintf(w->out, "\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++)
        fputs(i > 0 ? ",false" : "false", w->out);
    fputs("],\n", w->out);
}

static void
functions_put(struct writer *w)
{
    fputs("\"funcTable\":{", w->out);
    column_put(w, "name", w->functions.n, function_name);
    column_put(w, "fileName", w->functions.n, function_file);
    column_put(w, "resource", w->functions.n, function_resource);
    column_put(w, "lineNumber", w->functions.n, none);
    column_put(w, "columnNumber", w->functions.n, none);
    falses_put(w, "isJS", w->functions.n);
    falses_put(w, "relevantForJS", w->functions.n);
    fprintf(w->out, "\"length\":%" PRIu32 "},\n", w->functions.n);
}

static bool
resource_lib(struct writer *w, uint32_t i, int64_t *value)
{
    *value = w->libs.list[i];
    return true;
}

/* A frame's module is the lib's base name. */
static bool
resource_name(struct writer *w, uint32_t i, int64_t *value)
{
    const struct alqi_cli_export_stacks *s = &w->firefox->stacks;
    uint32_t k = 0;

    while (alqi_cli_firefox_lib(w->firefox, &s->frames[k].frame) !=
           w->libs.list[i])
        k++;
    *value = number(&w->texts, s->frames[k].frame.module);
    return true;
}

static bool
resource_type(struct writer *w, uint32_t i, int64_t *value)
{
    (void)w;
    (void)i;
    *value = RESOURCE_LIBRARY;
    return true;
}

static void
resources_put(struct writer *w)
{
    fputs("\"resourceTable\":{", w->out);
    column_put(w, "lib", w->libs.n, resource_lib);
    column_put(w, "name", w->libs.n, resource_name);
    column_put(w, "host", w->libs.n, none);
    column_put(w, "type", w->libs.n, resource_type);
    fprintf(w->out, "\"length\":%" PRIu32 "},\n", w->libs.n);
    fputs("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
          "\"functionSize\":[],\"length\":0},\n",
          w->out);
}

static void
texts_put(struct writer *w)
{
    fputs("\"stringArray\":[", w->out);
    for (uint32_t i = 0; i < w->texts.n; i++) {
        fputs(i > 0 ? ",\n" : "", w->out);
        alqi_cli_json_text(
            w->out, alqi_cli_names_text(w->analysis->names, w->texts.list[i]));
    }
    fputs("]}", w->out);
}

/* ---- allocations ------------------------------------------------------ */

/* Numbers the stacks of the thread's blocks so that parents come first, as
 * they do in the trie. */
static void
nodes_number(struct writer *w, const struct range *r)
{
    const struct alqi_cli_firefox *f = w->firefox;
    const struct alqi_cli_stacks *trie = &f->stacks.trie;
    bool *is_used = alqi_cli_realloc(NULL, trie->n_nodes, sizeof *is_used);

    memset(is_used, 0, trie->n_nodes * sizeof *is_used);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t block = f->events[w->order[r->first + i]].block;
        uint32_t stack = f->stacks.stack_of_site[f->whole.blocks[block].site];
        uint32_t node = f->stacks.stacks[stack].node;

        for (; node != 0 && !is_used[node]; node = trie->nodes[node].parent)
            is_used[node] = true;
    }
    for (uint32_t i = 1; i < trie->n_nodes; i++)
        if (is_used[i])
            number(&w->nodes, i);
    free(is_used);
}

enum event_column { TIME, WEIGHT, STACK, ADDRESS, N_EVENT_COLUMNS };

static void
event_put(struct writer *w, const struct alqi_cli_block_event *e,
          enum event_column column)
{
    const struct alqi_cli_firefox *f = w->firefox;
    const struct alqi_cli_block *b = &f->whole.blocks[e->block];
    uint32_t stack = f->stacks.stack_of_site[b->site];
    int64_t bytes = f->whole.bytes[e->block];

    switch (column) {
    case TIME:
        alqi_cli_json_ms(w->out, e->us);
        break;
    case WEIGHT:
        fprintf(w->out, "%" PRId64, ALQI_CLI_IS_BIRTH(e) ? bytes : -bytes);
        break;
    case STACK:
        fprintf(w->out, "%" PRIu32,
                number(&w->nodes, f->stacks.stacks[stack].node));
        break;
    case ADDRESS:
        fprintf(w->out, "%" PRIu32, e->block + 1);
        break;
    case N_EVENT_COLUMNS:
        break;
    }
}

static void
allocations_put(struct writer *w, const struct range *r, uint64_t tid)
{
    static const char *const names[N_EVENT_COLUMNS] = {
        "time", "weight", "stack", "memoryAddress"};

    fputs("\"nativeAllocations\":{\"weightType\":\"bytes\",\n", w->out);
    for (int c = 0; c < N_EVENT_COLUMNS; c++) {
        fprintf(w->out, "\"%s\":[", names[c]);
        for (uint32_t i = 0; i < r->n; i++) {
            if (i > 0)
                fputc(',', w->out);
            event_put(w, &w->firefox->events[w->order[r->first + i]],
                      (enum event_column)c);
        }
        fputs("],\n", w->out);
    }
    fputs("\"threadId\":[", w->out);
    for (uint32_t i = 0; i < r->n; i++)
        fprintf(w->out, "%s%" PRIu64, i > 0 ? "," : "", tid);
    fprintf(w->out, "],\n\"length\":%" PRIu32 "},\n", r->n);
}

/* ---- threads ---------------------------------------------------------- */

/* What the viewer is told of a thread. */
struct label {
    uint64_t pid, tid;
    const char *process, *thread;
    char text[64];
};

static void
label_make(const struct writer *w, uint32_t thread, struct label *l)
{
    const struct alqi_cli_notes *notes = &w->analysis->notes;
    const struct alqi_cli_names *names = w->analysis->names;
    const struct alqi_cli_thread *t = NULL;

    l->pid = w->analysis->info->pid;
    l->tid = l->pid + thread;
    l->process = w->firefox->export->program;
    l->thread = l->text;
    if (thread < notes->threads_capacity && notes->threads[thread].is_seen)
        t = &notes->threads[thread];
    snprintf(l->text, sizeof l->text, "%s %" PRIu32,
             t != NULL ? "thread" : "domain", thread);
    if (t == NULL)
        return;
    l->tid = t->tid;
    if (t->name != ALQI_CLI_NO_NAME)
        l->thread = alqi_cli_names_text(names, t->name);
    if (t->process < notes->n_processes) {
        l->pid = notes->processes[t->process].pid;
        l->process =
            alqi_cli_names_text(names, notes->processes[t->process].program);
    }
}

static void
label_put(struct writer *w, const struct label *l, bool is_first)
{
    fputs("{\"name\":", w->out);
    alqi_cli_json_text(w->out, l->thread);
    fprintf(w->out,
            ",\"isMainThread\":%s,\"pid\":\"%" PRIu64 "\",\"tid\":%" PRIu64
            ",\"processType\":\"default\",\"processName\":",
            is_first || l->tid == l->pid ? "true" : "false", l->pid, l->tid);
    alqi_cli_json_text(w->out, l->process);
}

static void
thread_put(struct writer *w, const struct range *r, bool is_first)
{
    struct label l;

    nodes_number(w, r);
    label_make(w, r->thread, &l);
    label_put(w, &l, is_first);
    fputs(",\"processStartupTime\":0,\"processShutdownTime\":null,"
          "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n"
          "\"samples\":{\"stack\":[],\"time\":[],\"weight\":null,"
          "\"weightType\":\"samples\",\"length\":0},\n"
          "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],"
          "\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0},\n",
          w->out);
    allocations_put(w, r, l.tid);
    stacks_put(w);
    frames_put(w);
    functions_put(w);
    resources_put(w);
    texts_put(w);
    numbering_clear(&w->nodes);
    numbering_clear(&w->frames);
    numbering_clear(&w->functions);
    numbering_clear(&w->texts);
    numbering_clear(&w->libs);
}

/* Left out are events of no bytes, as the viewer cannot tell which of them are
 * deaths, and the ends of processes, which free nothing. */
static bool
is_put(const struct alqi_cli_firefox *f, const struct alqi_cli_block_event *e)
{
    return f->whole.bytes[e->block] > 0 &&
           (ALQI_CLI_IS_BIRTH(e) || !f->whole.blocks[e->block].is_left);
}

/* Events by thread; returns how many of each there are, by thread. */
static uint32_t *
order_make(struct writer *w)
{
    const struct alqi_cli_firefox *f = w->firefox;
    uint32_t *n = alqi_cli_realloc(NULL, N_THREADS_MAX, sizeof *n);
    uint32_t *end = alqi_cli_realloc(NULL, N_THREADS_MAX, sizeof *end);
    uint32_t sum = 0;

    memset(n, 0, N_THREADS_MAX * sizeof *n);
    for (uint32_t i = 0; i < f->n_events; i++)
        if (is_put(f, &f->events[i]))
            n[f->whole.blocks[f->events[i].block].thread]++;
    for (uint32_t t = 0; t < N_THREADS_MAX; t++) {
        end[t] = sum;
        sum += n[t];
    }
    w->order = alqi_cli_realloc(NULL, sum, sizeof *w->order);
    for (uint32_t i = 0; i < f->n_events; i++)
        if (is_put(f, &f->events[i]))
            w->order[end[f->whole.blocks[f->events[i].block].thread]++] = i;
    free(end);
    return n;
}

/* Threads that allocated; the first one also when none did, for the viewer
 * wants one. */
static void
each_thread_put(struct writer *w, const uint32_t *n)
{
    struct range r = {0, 0, 0};
    uint64_t n_put = 0;

    for (; r.thread < N_THREADS_MAX; r.thread++) {
        r.n = n[r.thread];
        if (r.n > 0) {
            fputs(n_put > 0 ? ",\n" : "", w->out);
            thread_put(w, &r, n_put++ == 0);
        }
        r.first += r.n;
    }
    r = (struct range){0, 0, 0};
    if (n_put == 0)
        thread_put(w, &r, true);
}

void
alqi_cli_firefox_threads_put(const struct alqi_cli_firefox *f)
{
    struct writer w = {
        .firefox = f, .analysis = &f->export->analysis, .out = f->out};
    const struct alqi_cli_export_stacks *s = &f->stacks;
    uint32_t *n = order_make(&w);

    numbering_make(&w.nodes, s->trie.n_nodes);
    numbering_make(&w.frames, s->n_frames);
    numbering_make(&w.functions, s->n_functions);
    numbering_make(&w.texts, s->n_texts);
    numbering_make(&w.libs, f->n_libs);
    fputs("\"threads\":[", w.out);
    each_thread_put(&w, n);
    fputc(']', w.out);
    numbering_free(&w.nodes);
    numbering_free(&w.frames);
    numbering_free(&w.functions);
    numbering_free(&w.texts);
    numbering_free(&w.libs);
    free(w.order);
    free(n);
}
