/* view_index.c -- the rows and tables of an index, made while a trace is read
 *
 * [view_index.h] The indexer is an observer of the analysis (struct
 * alqi_cli_watch). Each call writes into the index at once (view/build.h);
 * names, threads and notes follow when all is read (finish).
 *
 * Rows are numbered as blocks are born, and so are the blocks of most traces:
 * only ids that differ from first_id + row are looked up in a table.
 * A snapshot of an analysis that runs has an index of its own: what was written
 * so far, and a copy of the builder, which is finished in the place of this one
 * (pictured). Names are entered here, in the order of their first use.
 * .inv.numbers  A function or a node has the same number in each snapshot.
 * A trace may be thinned: a block is then taken or not by its id, the same
 * ones each time. A block that is not taken has no row. Where it links a chain
 * of realloc, it has a ghost's number instead, beyond NO_ROW. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/library.h"
#include "cli/tool/cli.h"
#include "cli/convert/codes.h"
#include "cli/analysis/errors.h"
#include "cli/analysis/remarks.h"
#include "cli/analysis/view_index.h"
#include "cli/tool/memory.h"
#include "cli/tool/text.h"
#include "view/build.h"

enum {
    NO_ROW = UINT32_MAX, /* ghosts have numbers beyond */
    LENGTH_BITS = 48     /* lengths beyond share no class */
};

/* Of the hash that decides which blocks a thinned index has. */
static const uint64_t THIN_SEED = 0x7468696E6E656421;
/* The smallest probability that the index may hold (view/index.h). */
static const double P_LEAST = 1e-30;

struct alqi_cli_view_indexer {
    /* the caller's; outlives the indexer */
    struct alqi_cli_analysis *a;
    /* writes the index; owned */
    struct alqi_view_build *build;

    /* of row 0; valid if has_first */
    uint64_t first_id;
    /* a row has been made */
    bool has_first;
    /* id -> row, where it is not id - first_id */
    struct alqi_base_map row_of_id;
    /* row -> row of the block it was made of */
    struct alqi_base_map older_row;
    /* id of the block that died last: no map has it any more */
    uint64_t died_id;
    /* its row, or NO_ROW, or a ghost's number */
    uint64_t died_row;

    /* of blocks that are taken; 1: all */
    double share;
    /* blocks whose hash is below are taken; 0: all are */
    uint64_t taken_below;
    /* blocks born; ghosts' numbers given out */
    uint64_t n_met, n_ghosts;

    /* length and rate -> class */
    struct alqi_base_map class_of;
    /* process, thread, domain, source */
    struct alqi_base_intern origins;
    /* by node of the analysis: stack + 1; 0: none */
    uint32_t *stack_of_node;
    uint32_t n_stack_of_node;
    /* node is the analysis's until the index is finished */
    struct alqi_view_stack *stacks;
    uint32_t n_stacks;
    /* of the last event, to see whether time goes back */
    uint64_t last_us;
    /* it did */
    bool is_out_of_order;
    /* stacks are marked that a rule of the analysis's options takes */
    bool has_suppressed;
    /* records of resident memory only */
    struct alqi_cli_blocks looks;

    /* by name of the analysis: text of the index + 1; 0: none */
    uint32_t *text_of_name;
    uint32_t n_text_of_name;
    /* name, file, module; a row a function */
    struct alqi_base_intern functions;
    /* parent, function, line; row i is node i + 1 */
    struct alqi_base_intern nodes;
    /* by node of the analysis: node of the index; 0: not entered, or the root
     */
    uint32_t *node_of_node;
    uint32_t n_node_of_node;

    /* for the index of a snapshot; else NULL */
    FILE *picture_out;
    /* of the snapshot that is made: shares all but builder and names of texts
     * with this one; NULL: none */
    struct alqi_cli_view_indexer *picture;
    /* it is one: links of chains stay */
    bool is_picture;
    /* given to the analysis; arg is this indexer */
    struct alqi_cli_watch watch;
};

/* ---- rows ---------------------------------------------------------------- */

/* A thinned index has the block. */
static bool
is_taken(const struct alqi_cli_view_indexer *x, uint64_t id)
{
    return x->taken_below == 0 ||
           alqi_base_mix(id + THIN_SEED) < x->taken_below;
}

/* The row of a block. NO_ROW and beyond: it has none. */
static uint64_t
row_find(const struct alqi_cli_view_indexer *x, uint64_t id)
{
    uint64_t row;

    if (x->row_of_id.n_used > 0 && alqi_base_map_get(&x->row_of_id, id, &row))
        return row;
    return x->taken_below == 0 && id - x->first_id < NO_ROW ? id - x->first_id
                                                            : NO_ROW;
}

/* The row as the builder takes it: ghosts have none. */
static uint32_t
row_built(uint64_t row)
{
    return row < NO_ROW ? (uint32_t)row : NO_ROW;
}

/* Binds an id to a row. An id that is first_id + row needs no entry; one that
 * is left over is removed. */
static void
row_set(struct alqi_cli_view_indexer *x, uint64_t id, uint32_t row)
{
    uint64_t old;

    if (!x->has_first) {
        x->has_first = true;
        x->first_id = id;
    }
    if (id - x->first_id != row || x->taken_below != 0) {
        alqi_cli_map_put(&x->row_of_id, id, row);
    } else if (x->row_of_id.n_used > 0) {
        alqi_base_map_take(&x->row_of_id, id, &old);
    }
}

/* The row of a block that dies; its id is forgotten. */
static uint64_t
row_take(struct alqi_cli_view_indexer *x, uint64_t id)
{
    uint64_t row = row_find(x, id);
    uint64_t old;

    if (x->row_of_id.n_used > 0)
        alqi_base_map_take(&x->row_of_id, id, &old);
    return row;
}

/* Notes whether events come in order of time. */
static void
time_note(struct alqi_cli_view_indexer *x, uint64_t us)
{
    x->is_out_of_order |= us < x->last_us;
    x->last_us = us;
}

/* The class of a length at the present rate. A thinned block stands for as
 * many more, so its probabilities are multiplied by the share. Huge lengths
 * get a class each, without a key. */
static uint32_t
class_find(struct alqi_cli_view_indexer *x, uint64_t length)
{
    struct alqi_cli_estimator *e = &x->a->estimator;
    uint16_t rate = x->a->rate;
    struct alqi_view_class c;
    struct alqi_cli_odds odds;
    uint64_t *number = NULL; /* lengths that no key holds have none */
    bool is_new = true;

    if (length >> LENGTH_BITS == 0) {
        number = alqi_cli_map_at(
            &x->class_of, length | (uint64_t)rate << LENGTH_BITS, &is_new);
        if (!is_new)
            return (uint32_t)*number;
    }
    odds = alqi_cli_odds(e, rate, length);
    c.size_bytes = e->is_bytes ? length : (length + 1) * e->word_bytes;
    if (!e->is_bytes && length >= UINT64_MAX / e->word_bytes)
        c.size_bytes = UINT64_MAX;
    c.words = odds.words;
    c.p = odds.p * x->share;
    c.colour_p = alqi_view_colour_chance(odds.p) * x->share;
    if (c.p < P_LEAST)
        c.p = P_LEAST;
    if (c.colour_p < P_LEAST)
        c.colour_p = P_LEAST;
    if (number == NULL)
        return alqi_view_build_class(x->build, &c);
    *number = alqi_view_build_class(x->build, &c);
    return (uint32_t)*number;
}

/* The number of who allocated: process, thread, domain and source. */
static uint32_t
origin_find(struct alqi_cli_view_indexer *x, const struct alqi_ctf_event *e,
            uint16_t thread)
{
    struct alqi_view_origin o = {
        .thread = thread,
        .process = x->a->notes.n_processes > 0
                       ? alqi_cli_notes_process(&x->a->notes)
                       : 0,
        .domain = e->domain,
        .source = e->source,
    };
    uint32_t key[] = {o.process, o.thread, o.domain, o.source};
    uint32_t n = x->origins.n, number = alqi_cli_intern(&x->origins, key);

    if (number == n)
        alqi_view_build_origin(x->build, &o);
    return number;
}

/* The number of a stack, given out at its first block. */
static uint32_t
stack_find(struct alqi_cli_view_indexer *x, uint32_t node, bool is_mapping)
{
    x->stack_of_node = alqi_cli_widen(x->stack_of_node, &x->n_stack_of_node,
                                      node, sizeof *x->stack_of_node);
    if (x->stack_of_node[node] == 0) {
        x->stacks = alqi_cli_grow(x->stacks, x->n_stacks, sizeof *x->stacks);
        x->stacks[x->n_stacks++] =
            (struct alqi_view_stack){.node = node, .is_mapping = is_mapping};
        x->stack_of_node[node] = x->n_stacks;
    }
    return x->stack_of_node[node] - 1;
}

/* ---- looking on ---------------------------------------------------------- */

/* Calls of the watch, from here on: a block is born and becomes a row. */
static void
born(void *arg, const struct alqi_ctf_event *e, uint64_t us, uint32_t node,
     uint16_t thread)
{
    struct alqi_cli_view_indexer *x = arg;
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    struct alqi_view_row row;

    time_note(x, us);
    x->n_met++;
    if (!is_taken(x, e->id))
        return;
    row = (struct alqi_view_row){
        .born_us = us,
        .n_samples = e->n_samples > 0 ? (uint64_t)e->n_samples : 0,
        .class_ = class_find(x, length),
        .stack = stack_find(
            x, node, x->a->estimator.is_bytes && e->source == ALQI_CTF_MAJOR),
        .origin = origin_find(x, e, thread),
        .colours =
            alqi_cli_colours(&x->a->estimator, x->a->rate, length, e->id),
    };
    row_set(x, e->id, alqi_view_build_birth(x->build, &row));
}

static void
promoted(void *arg, uint64_t id, uint64_t us, uint64_t born_us)
{
    struct alqi_cli_view_indexer *x = arg;

    time_note(x, us);
    alqi_view_build_promote(x->build, row_built(row_find(x, id)),
                            us > born_us ? us - born_us : 0);
}

/* The row is kept until the next death: moved and chain come after this
 * call. */
static void
died(void *arg, uint64_t id, uint64_t us, uint64_t born_us)
{
    struct alqi_cli_view_indexer *x = arg;

    time_note(x, us);
    x->died_id = id;
    x->died_row = row_take(x, id);
    alqi_view_build_free(x->build, row_built(x->died_row),
                         us > born_us ? us - born_us : 0);
}

/* The block that died last lives on in `to`. If `to` is not taken, it becomes
 * a ghost, so that the chain is not cut. */
static void
moved(void *arg, uint64_t to)
{
    struct alqi_cli_view_indexer *x = arg;
    uint64_t row = row_find(x, to);

    if (x->died_row == NO_ROW)
        return;
    if (row == NO_ROW) {
        row = NO_ROW + ++x->n_ghosts;
        alqi_cli_map_put(&x->row_of_id, to, row);
    }
    alqi_cli_map_put(&x->older_row, row, x->died_row);
}

/* Sets the whole chain's life and each block's place, from the last one back.
 * Links are forgotten on the way, but for a snapshot's. */
static void
chain(void *arg, uint64_t id, double life_us)
{
    struct alqi_cli_view_indexer *x = arg;
    uint64_t row = id == x->died_id ? x->died_row : row_find(x, id);
    uint64_t older = row, place = 1;
    bool has_older = true;

    while (alqi_base_map_get(&x->older_row, older, &older))
        place++;
    for (; has_older; row = older) {
        has_older = x->is_picture
                        ? alqi_base_map_get(&x->older_row, row, &older)
                        : alqi_base_map_take(&x->older_row, row, &older);
        alqi_view_build_chain(x->build, row_built(row), (uint32_t)place--,
                              (uint64_t)life_us);
    }
}

/* A block was never freed; chain may follow. */
static void
left(void *arg, uint64_t id, double life_us, struct alqi_cli_left how)
{
    struct alqi_cli_view_indexer *x = arg;

    x->died_id = id; /* for its chain */
    x->died_row = row_find(x, id);
    alqi_view_build_left(x->build, row_built(x->died_row), (uint64_t)life_us,
                         how.stays, how.at_peak, how.reach, how.is_old);
    if (how.holder != ALQI_CLI_NO_STEP)
        alqi_view_build_held(x->build, row_built(x->died_row), how.holder);
}

static void
gone(void *arg, uint32_t process, uint64_t us)
{
    struct alqi_cli_view_indexer *x = arg;

    time_note(x, us);
    alqi_view_build_gone(x->build, process, us);
}

static void
resident(void *arg, uint64_t us, uint64_t bytes)
{
    struct alqi_cli_view_indexer *x = arg;

    alqi_cli_blocks_take_resident(&x->looks, us, bytes);
}

static void
peak(void *arg, unsigned colours)
{
    struct alqi_cli_view_indexer *x = arg;

    alqi_view_build_peak(x->build, colours);
}

/* ---- names --------------------------------------------------------------- */

/* The index's text of a name. */
static uint32_t
text_of(struct alqi_cli_view_indexer *x, uint32_t name)
{
    x->text_of_name = alqi_cli_widen(x->text_of_name, &x->n_text_of_name, name,
                                     sizeof *x->text_of_name);
    if (x->text_of_name[name] == 0)
        x->text_of_name[name] =
            alqi_view_build_text(x->build,
                                 alqi_cli_names_text(x->a->names, name)) +
            1;
    return x->text_of_name[name] - 1;
}

/* The index's text of a string. */
static uint32_t
text_new(struct alqi_cli_view_indexer *x, const char *text)
{
    return text_of(x, alqi_cli_names_intern(x->a->names, text));
}

/* The function of a frame, entered at its first use. */
static uint32_t
function_find(struct alqi_cli_view_indexer *x, const struct alqi_cli_frame *f)
{
    uint32_t key[] = {f->function, f->file, f->module};
    uint32_t n = x->functions.n, number = alqi_cli_intern(&x->functions, key);
    struct alqi_view_function function;

    if (number < n)
        return number;
    function = (struct alqi_view_function){
        .name = text_of(x, f->function),
        .file = text_of(x, f->file),
        .module = text_of(x, f->module),
        .flags = (f->is_wrapper ? ALQI_VIEW_WRAPPER : 0u) |
                 (f->is_nameless ? ALQI_VIEW_NAMELESS : 0u) |
                 (alqi_cli_is_library(x->a, f) ? ALQI_VIEW_LIBRARY : 0u),
    };
    return alqi_view_build_function(x->build, &function);
}

/* The node below parent for a frame. Two addresses of one line are one node. */
static uint32_t
node_find(struct alqi_cli_view_indexer *x, uint32_t parent,
          const struct alqi_cli_frame *f)
{
    struct alqi_view_node node = {parent, function_find(x, f), f->line};
    uint32_t key[] = {parent, node.function, (uint32_t)node.line};
    uint32_t n = x->nodes.n, number = alqi_cli_intern(&x->nodes, key);

    if (number < n)
        return number + 1;
    return alqi_view_build_node(x->build, &node);
}

/* Which nodes of the analysis some stack of the index has on its path; freed
 * by the caller. Parents have smaller numbers, so one pass from the end is
 * enough. */
static bool *
nodes_used(const struct alqi_cli_view_indexer *x, uint32_t n)
{
    bool *is_used = alqi_cli_realloc(NULL, (size_t)n + 1, sizeof *is_used);

    memset(is_used, 0, n * sizeof *is_used);
    for (uint32_t i = 0; i < x->n_stacks; i++)
        is_used[x->stacks[i].node] = true;
    for (uint32_t i = n; i-- > 1;)
        if (is_used[i])
            is_used[x->a->stacks.nodes[i].parent] = true;
    return is_used;
}

/* A rule takes what the analysis's node has never freed. */
static bool
is_suppressed(struct alqi_cli_view_indexer *x, uint32_t node)
{
    uint32_t site = x->has_suppressed ? x->a->site_of_node[node] : 0;

    return site != 0 &&
           alqi_cli_suppress_of(x->a, &x->a->sites[site - 1]) != NULL;
}

/* The index's node of an analysis's: that of the last of its frames, whose
 * parent's is known. */
static uint32_t
node_enter(struct alqi_cli_view_indexer *x, const struct alqi_cli_node *node)
{
    uint32_t at = x->node_of_node[node->parent], n;
    const struct alqi_cli_frame *frames =
        alqi_cli_names_frames(x->a->names, x->a->reader, node->code, &n);

    for (uint32_t i = 0; i < n; i++)
        at = node_find(x, at, &frames[i]);
    return at;
}

/* Enters the functions and nodes of the stacks so far, those that are there
 * before keep their numbers (.inv.numbers). The analysis has a node for each
 * address, the index one for each frame, inlined ones included. Text 0 is the
 * empty one, function 0 that of the empty stack. */
static void
names_put(struct alqi_cli_view_indexer *x)
{
    struct alqi_cli_frame none = {0};
    uint32_t n = x->a->stacks.n_nodes;
    bool *is_used = nodes_used(x, n);

    text_of(x, ALQI_CLI_NO_NAME);
    none.function = alqi_cli_names_intern(x->a->names, "[no stack]");
    none.module = none.function;
    function_find(x, &none);
    x->node_of_node = alqi_cli_widen(x->node_of_node, &x->n_node_of_node, n,
                                     sizeof *x->node_of_node);
    for (uint32_t i = 1; i < n; i++)
        if (is_used[i] && x->node_of_node[i] == 0)
            x->node_of_node[i] = node_enter(x, &x->a->stacks.nodes[i]);
    free(is_used);
}

static void
stacks_put(struct alqi_cli_view_indexer *x)
{
    for (uint32_t i = 0; i < x->n_stacks; i++) {
        struct alqi_view_stack stack = x->stacks[i];

        stack.is_suppressed = is_suppressed(x, stack.node);
        stack.node = x->node_of_node[stack.node];
        alqi_view_build_stack(x->build, &stack);
    }
}

/* Writes the threads that the trace has mentioned. */
static void
threads_put(struct alqi_cli_view_indexer *x)
{
    const struct alqi_cli_notes *notes = &x->a->notes;

    for (uint32_t i = 0; i < notes->threads_capacity; i++)
        if (notes->threads[i].is_seen)
            alqi_view_build_thread(
                x->build, &(struct alqi_view_thread){
                              .index = i,
                              .name = text_of(x, notes->threads[i].name),
                              .tid = notes->threads[i].tid,
                          });
}

/* Numbers are those of the analysis; a step's `in` is before it. */
static void
steps_put(struct alqi_cli_view_indexer *x)
{
    const struct alqi_cli_holders *h = &x->a->holders;

    for (uint32_t i = 0; i < h->n_steps; i++)
        alqi_view_build_step(x->build, &(struct alqi_view_holder_step){
                                           .in = h->steps[i].in,
                                           .name = text_of(x, h->steps[i].name),
                                           .most = h->steps[i].most,
                                       });
}

/* Writes a remark (alqi_cli_remark_fn). */
static void
note_put(void *arg, const char *text)
{
    struct alqi_cli_view_indexer *x = arg;

    alqi_view_build_note(x->build, text_new(x, text));
}

/* Notes how many warnings there were: they were printed when the index was
 * made, perhaps long ago. */
static void
warnings_put(struct alqi_cli_view_indexer *x, uint64_t n)
{
    char text[128];

    if (n == 0)
        return;
    snprintf(text, sizeof text,
             "%" PRIu64 " %s of the reader; 'aliquot check' tells more", n,
             n == 1 ? "warning" : "warnings");
    note_put(x, text);
}

/* Notes what is missing of an exact recording. */
static void
flaw_put(struct alqi_cli_view_indexer *x)
{
    char why[512], text[600];

    if (!alqi_cli_flaw(x->a, why, sizeof why))
        return;
    snprintf(text, sizeof text, "every block but those missing: %s", why);
    note_put(x, text);
}

/* Notes what the rules took of this trace. */
static void
suppressed_put(struct alqi_cli_view_indexer *x)
{
    const struct alqi_cli_suppress *s = x->a->options.suppress;
    char text[2048];

    for (uint32_t i = 0; x->has_suppressed && i < s->n_rules; i++) {
        const struct alqi_cli_suppress_rule *rule = &s->rules[i];
        struct alqi_cli_error_text error =
            alqi_cli_error_of_bytes(&x->a->estimator, &rule->sum);

        if (rule->sum.n_blocks == 0)
            continue;
        snprintf(text, sizeof text,
                 "suppressed: %s%s%s never freed, in %s blocks, by %s (%s:%u)",
                 alqi_cli_text_bytes(rule->sum.bytes).text,
                 error.text[0] != '\0' ? " " : "", error.text,
                 alqi_cli_text_count(rule->sum.objects).text, rule->name,
                 rule->file, rule->line);
        note_put(x, text);
    }
}

static void
looks_put(struct alqi_cli_view_indexer *x)
{
    for (uint32_t i = 0; i < x->looks.n_resident; i++)
        alqi_view_build_resident(x->build, x->looks.resident[i].us,
                                 x->looks.resident[i].bytes);
    for (uint32_t i = 0; i < x->a->marks.n; i++)
        alqi_view_build_mark(x->build, x->a->marks.at[i].us,
                             text_of(x, x->a->marks.at[i].name));
}

/* The index's header. */
static struct alqi_view_meta
meta_of(struct alqi_cli_view_indexer *x,
        const struct alqi_cli_view_label *label)
{
    const struct alqi_cli_analysis *a = x->a;

    return (struct alqi_view_meta){
        .name = text_new(x, label->name),
        .program = text_new(x, a->info->executable),
        .command = text_of(x, a->notes.cmdline),
        .host = text_new(x, a->info->host),
        .context = text_new(x, a->info->context),
        .ended = text_of(x, a->notes.ended),
        .damage = text_new(x, label->damage),
        .pid = a->info->pid,
        .start_us = a->info->start_us,
        .end_us = a->end_us,
        .peak_us = {alqi_view_peak_path(&a->peak, 0)->us,
                    alqi_view_peak_path(&a->peak, 1)->us,
                    alqi_view_peak_path(&a->peak, 2)->us},
        .peak_bytes = a->totals[ALQI_CLI_PEAK].bytes,
        .peak_lack = a->estimator.peak_lack,
        .rate = a->info->rate,
        .lambda = a->estimator.lambda,
        .least_lambda = a->estimator.least_lambda,
        .interval_bytes = a->estimator.interval_bytes,
        .share = x->share,
        .word_bits = a->info->word_bits,
        .is_exact = alqi_cli_is_exact(a) && x->share >= 1,
        .n_left_out = x->n_met - alqi_view_build_rows(x->build),
        .is_in_order = !x->is_out_of_order,
        .looked = alqi_cli_reach_looked(a),
    };
}

/* ---- the whole ----------------------------------------------------------- */

static bool /* view/build.h */
put(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static const struct alqi_cli_watch *pictured(void *arg);

struct alqi_cli_view_indexer *
alqi_cli_view_indexer_new(struct alqi_cli_analysis *analysis, FILE *out,
                          struct alqi_cli_watch *watch)
{
    struct alqi_cli_view_indexer *x = alqi_cli_zeros(1, sizeof *x);

    x->a = analysis;
    x->share = 1;
    x->origins.n_words = 4;
    x->functions.n_words = x->nodes.n_words = 3;
    alqi_cli_blocks_init(&x->looks, 0);
    x->build = alqi_view_build_new(put, out);
    if (x->build == NULL)
        alqi_cli_die("out of memory for the index");
    x->watch = (struct alqi_cli_watch){
        .arg = x,
        .born = born,
        .promoted = promoted,
        .died = died,
        .moved = moved,
        .chain = chain,
        .left = left,
        .gone = gone,
        .peak = peak,
        .resident = resident,
        .pictured = pictured,
    };
    *watch = x->watch;
    return x;
}

void
alqi_cli_view_indexer_thin(struct alqi_cli_view_indexer *x, double share)
{
    if (share >= 1)
        return;
    x->share = share;
    x->taken_below = (uint64_t)ldexp(share, 64);
}

uint64_t
alqi_cli_view_indexer_met(const struct alqi_cli_view_indexer *x)
{
    return x->n_met;
}

void
alqi_cli_view_indexer_drop(struct alqi_cli_view_indexer *x)
{
    alqi_view_build_drop(x->build);
    alqi_cli_blocks_free(&x->looks);
    alqi_base_map_clear(&x->row_of_id);
    alqi_base_map_clear(&x->older_row);
    alqi_base_map_clear(&x->class_of);
    alqi_base_intern_clear(&x->origins);
    alqi_base_intern_clear(&x->functions);
    alqi_base_intern_clear(&x->nodes);
    free(x->stack_of_node);
    free(x->stacks);
    free(x->node_of_node);
    free(x->text_of_name);
    free(x);
}

/* All that is not entered while the trace is read. */
static const char *
tables_put(struct alqi_cli_view_indexer *x,
           const struct alqi_cli_view_label *label)
{
    struct alqi_view_meta meta;

    stacks_put(x);
    threads_put(x);
    steps_put(x);
    looks_put(x);
    alqi_cli_remarks(x->a, label->damage, note_put, x);
    flaw_put(x);
    suppressed_put(x);
    warnings_put(x, label->n_warnings);
    meta = meta_of(x, label);
    return alqi_view_build_finish(x->build, &meta, label->key);
}

const char *
alqi_cli_view_indexer_finish(struct alqi_cli_view_indexer *x,
                             const struct alqi_cli_view_label *label)
{
    names_put(x);
    return tables_put(x, label);
}

uint32_t
alqi_cli_view_indexer_node(const struct alqi_cli_view_indexer *x,
                           uint32_t stack)
{
    return x->stacks[stack].node;
}

void
alqi_cli_view_label_take(struct alqi_cli_view_label *label,
                         struct alqi_cli_input *input)
{
    label->damage = alqi_cli_input_damage(input);
    label->n_warnings = alqi_cli_input_n_warnings(input);
}

const char *
alqi_cli_view_index_write(struct alqi_cli_input *input, const char *name,
                          const unsigned char *key,
                          struct alqi_cli_suppress *suppress, FILE *out)
{
    struct alqi_cli_analysis *a = alqi_cli_realloc(NULL, 1, sizeof *a);
    struct alqi_cli_watch watch;
    struct alqi_cli_view_indexer *x = alqi_cli_view_indexer_new(a, out, &watch);
    struct alqi_cli_analysis_options options = {
        .watch = &watch, .suppress = suppress, .is_held_wanted = true};
    struct alqi_cli_view_label label = {.name = name, .key = key};
    const char *error;

    x->has_suppressed = suppress != NULL;
    alqi_cli_analysis_run(a, input, &options);
    alqi_cli_view_label_take(&label, input);
    error = alqi_cli_view_indexer_finish(x, &label);
    if (suppress != NULL)
        alqi_cli_suppress_forget(suppress);
    alqi_cli_view_indexer_drop(x);
    alqi_cli_analysis_free(a);
    free(a);
    if (error == NULL && fflush(out) != 0)
        error = "the index cannot be written";
    return error;
}

/* ---- snapshots ----------------------------------------------------------- */

static void
picture_drop(struct alqi_cli_view_indexer *x)
{
    if (x->picture == NULL)
        return;
    alqi_view_build_drop(x->picture->build);
    free(x->picture->text_of_name);
    free(x->picture);
    x->picture = NULL;
}

/* Call of the watch: the analysis is about to end what it has, in a copy of
 * itself. Nobody observes that unless an index is wanted. */
static const struct alqi_cli_watch *
pictured(void *arg)
{
    struct alqi_cli_view_indexer *x = arg, *y;

    if (x->picture_out == NULL)
        return NULL;
    names_put(x);
    y = x->picture = alqi_cli_duplicate(x, 1, sizeof *x);
    y->is_picture = true;
    y->picture = NULL;
    y->watch.arg = y;
    y->text_of_name = alqi_cli_duplicate(x->text_of_name, x->n_text_of_name,
                                         sizeof *x->text_of_name);
    y->build = alqi_view_build_copy(x->build, put, x->picture_out);
    if (y->build == NULL)
        alqi_cli_die("out of memory for the index");
    return &y->watch;
}

/* Finishes the copy. A trace that goes on has no end yet, which is no flaw: the
 * label has the word. */
static const char *
picture_put(struct alqi_cli_view_indexer *x, struct alqi_cli_analysis *picture,
            const struct alqi_cli_view_label *label)
{
    if (!picture->notes.has_end) {
        picture->notes.has_end = true;
        picture->notes.ended =
            alqi_cli_names_intern(picture->names, label->ended);
    }
    x->picture->a = picture;
    return tables_put(x->picture, label);
}

const char *
alqi_cli_rows_picture(struct alqi_cli_rows *r,
                      const struct alqi_cli_view_label *label, char **bytes,
                      size_t *n_bytes)
{
    struct alqi_cli_view_label keyless = *label;
    struct alqi_cli_analysis *picture =
        alqi_cli_realloc(NULL, 1, sizeof *picture);
    struct alqi_cli_view_indexer *x = r->indexer;
    const char *error = "there is no memory for the index";

    keyless.key = alqi_cli_rows_key;
    x->picture_out = alqi_cli_memory_open(bytes, n_bytes);
    if (x->picture_out == NULL)
        alqi_cli_die("out of memory for the index");
    alqi_cli_analysis_picture(x->a, picture);
    if (fflush(r->out) == 0 && put(x->picture_out, r->bytes, r->n_bytes))
        error = picture_put(x, picture, &keyless);
    picture_drop(x);
    alqi_cli_analysis_picture_free(picture);
    free(picture);
    if (fclose(x->picture_out) != 0 && error == NULL)
        error = "there is no memory for the index";
    x->picture_out = NULL;
    if (error != NULL)
        free(*bytes);
    return error;
}
