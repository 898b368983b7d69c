/* print.c -- the four classes as text: totals, then sites, each with the way
 * to its largest block */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/analysis/errors.h"
#include "cli/leaks/leaks.h"
#include "cli/report/draw.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

enum { BYTES = 10, BLOCKS = 10, ERROR = 10, NAME_BYTES = 512, STEPS_SHOWN = 4 };

static const struct {
    const char *title, *meaning;
} texts[ALQI_CLI_LEAK_CLASSES] = {
    [ALQI_CLI_LEAK_LOST] = {"LOST", "no pointer leads to them"},
    [ALQI_CLI_LEAK_INDIRECT] = {"INDIRECT", "lost with these: only they lead "
                                            "to them"},
    [ALQI_CLI_LEAK_POSSIBLE] = {"POSSIBLE", "held by pointers into the middle "
                                            "of a block, or by old memory"},
    [ALQI_CLI_LEAK_HELD] = {"HELD", "variables, stacks and registers lead to "
                                    "them"},
};

static bool
is_sampled(const struct alqi_cli_leaks_run *r)
{
    return alqi_cli_is_sampled(&r->found.analysis.estimator);
}

/* Bytes, their error if there is one, and blocks. */
static void
figures(const struct alqi_cli_leaks_run *r, const struct alqi_cli_sum *sum)
{
    const struct alqi_cli_term *t = &r->term;

    alqi_cli_draw_right(t, alqi_cli_text_bytes(sum->bytes).text, BYTES);
    if (is_sampled(r))
        alqi_cli_draw_right(
            t, alqi_cli_error_percent(&r->found.analysis.estimator, sum).text,
            ERROR);
    alqi_cli_draw_right(t, alqi_cli_text_count(sum->objects).text, BLOCKS);
}

static void
heads(const struct alqi_cli_leaks_run *r, const char *last)
{
    const struct alqi_cli_term *t = &r->term;

    fputs(alqi_cli_style(t, ALQI_CLI_DIM), t->out);
    alqi_cli_draw_right(t, "bytes", BYTES);
    if (is_sampled(r))
        alqi_cli_draw_right(t, "±", ERROR);
    alqi_cli_draw_right(t, "blocks", BLOCKS);
    fprintf(t->out, "  %s%s\n", last, alqi_cli_style(t, ALQI_CLI_PLAIN));
}

/* Of no sample the error is an upper end, for which its column is too narrow.
 */
static void
totals(const struct alqi_cli_leaks_run *r)
{
    const struct alqi_cli_estimator *e = &r->found.analysis.estimator;
    const struct alqi_cli_term *t = &r->term;

    heads(r, "");
    for (int c = 0; c < ALQI_CLI_LEAK_CLASSES; c++) {
        const struct alqi_cli_sum *sum = &r->found.totals[c];

        figures(r, sum);
        fprintf(t->out, "  %s%-9s%s %s", alqi_cli_style(t, ALQI_CLI_BOLD),
                texts[c].title, alqi_cli_style(t, ALQI_CLI_PLAIN),
                texts[c].meaning);
        if (sum->n_blocks == 0 && is_sampled(r))
            fprintf(t->out, "; %s", alqi_cli_error_of_bytes(e, sum).text);
        fputc('\n', t->out);
    }
    fputc('\n', t->out);
}

/* Of n rows. */
static void
more_say(const struct alqi_cli_leaks_run *r, uint64_t n)
{
    if (r->top > 0 && n > r->top)
        fprintf(r->term.out, "   %" PRIu64 " more (--top=0 shows all)\n",
                n - r->top);
}

/* ---- ways ---------------------------------------------------------------- */

/* "1.2 KiB of table_new" */
static void
step_draw(struct alqi_cli_leaks_run *r, uint32_t block, int *left)
{
    const struct alqi_cli_leak_block *b = &r->scan.table.blocks[block];
    uint32_t node = r->found.nodes[block];
    struct alqi_cli_frame site = {0};
    char name[NAME_BYTES] = "memory that is not recorded";

    if (node > 0)
        site = alqi_cli_leak_site(&r->found, node - 1);
    if (site.function != ALQI_CLI_NO_NAME)
        alqi_cli_draw_name(
            name, sizeof name,
            alqi_cli_names_text(r->found.analysis.names, site.function));
    alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, "%s of ",
                       alqi_cli_text_bytes((double)b->bytes).text);
    alqi_cli_draw_fit_name(&r->term, ALQI_CLI_DIM, name, left);
}

/* The way to the row's largest block, the block itself left out. */
static void
way_draw(struct alqi_cli_leaks_run *r, const struct alqi_cli_leak_row *row,
         int indent)
{
    struct alqi_cli_leak_way way = alqi_cli_leak_way_of(&r->scan, row->largest);
    int left = r->term.width - indent;
    uint32_t n = way.n_blocks - 1,
             first = n > STEPS_SHOWN ? n - STEPS_SHOWN : 0;
    char place[NAME_BYTES];

    if (way.root == ALQI_CLI_LEAK_BY_NONE && n == 0)
        return;
    fprintf(r->term.out, "%*s", indent, "");
    if (way.root == ALQI_CLI_LEAK_BY_NONE) {
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, &left, "with ");
        step_draw(r, way.blocks[0], &left);
        fputc('\n', r->term.out);
        return;
    }
    alqi_cli_leak_place(r->places, r->scan.roots[way.root].at, place,
                        sizeof place);
    alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, &left, "← ");
    alqi_cli_draw_fit_name(&r->term, ALQI_CLI_PLAIN, place, &left);
    if (first + way.n_left_out > 0)
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, &left, " → %u blocks",
                           first + way.n_left_out);
    for (uint32_t i = first; i < n; i++) {
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, &left, " → ");
        step_draw(r, way.blocks[i], &left);
    }
    fputc('\n', r->term.out);
}

/* ---- sites --------------------------------------------------------------- */

static void
row_draw(struct alqi_cli_leaks_run *r, const struct alqi_cli_leak_row *row)
{
    const struct alqi_cli_names *names = r->found.analysis.names;
    int used = BYTES + BLOCKS + (is_sampled(r) ? ERROR : 0) + 2;
    int left = r->term.width - used;
    char text[NAME_BYTES];

    figures(r, &row->sum);
    fputs("  ", r->term.out);
    alqi_cli_draw_group(text, sizeof text, names, &row->frame,
                        ALQI_CLI_BY_FUNCTION);
    alqi_cli_draw_fit_name(&r->term, ALQI_CLI_BOLD, text, &left);
    alqi_cli_draw_place(text, sizeof text, names, &row->frame);
    if (text[0] != '\0' && left > 4) {
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, "  ", &left);
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, text, &left);
    }
    fputc('\n', r->term.out);
    way_draw(r, row, used + 2);
}

static void
class_draw(struct alqi_cli_leaks_run *r, enum alqi_cli_leak_class class)
{
    const struct alqi_cli_term *t = &r->term;
    uint64_t n = 0;

    if (r->found.totals[class].n_blocks == 0)
        return;
    fprintf(t->out, "%s%s%s by function\n", alqi_cli_style(t, ALQI_CLI_BOLD),
            texts[class].title, alqi_cli_style(t, ALQI_CLI_PLAIN));
    heads(r, "site, and what leads to its largest block");
    for (uint32_t i = 0; i < r->found.n_rows; i++) {
        if (r->found.rows[i].class != class)
            continue;
        if (r->top == 0 || n < r->top)
            row_draw(r, &r->found.rows[i]);
        n++;
    }
    more_say(r, n);
    fputc('\n', t->out);
}

/* ---- holders ------------------------------------------------------------- */

/* "table_new ×3": its name, and how many follow each other. */
static void
site_draw(struct alqi_cli_leaks_run *r, enum alqi_cli_style style,
          const struct alqi_cli_leak_step *step, int *left)
{
    char name[NAME_BYTES] = "memory that is not recorded";

    if (step->site.function != ALQI_CLI_NO_NAME)
        alqi_cli_draw_group(name, sizeof name, r->found.analysis.names,
                            &step->site, ALQI_CLI_BY_FUNCTION);
    alqi_cli_draw_fit_name(&r->term, style, name, left);
    if (step->most > 1)
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, " ×%u", step->most);
}

/* "← cache (server) → table_new", of what is before the step. */
static void
holder_draw(struct alqi_cli_leaks_run *r, uint32_t step, int *left)
{
    const struct alqi_cli_leak_step *s = &r->holders.steps[step];

    if (s->parent != ALQI_CLI_LEAK_NO_STEP) {
        holder_draw(r, s->parent, left);
        alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, " → ");
        site_draw(r, ALQI_CLI_DIM, s, left);
        return;
    }
    alqi_cli_draw_text(&r->term, ALQI_CLI_DIM, left, "← ");
    alqi_cli_draw_fit_name(
        &r->term, ALQI_CLI_PLAIN,
        alqi_cli_names_text(r->found.analysis.names, s->root), left);
}

static void
holding_draw(struct alqi_cli_leaks_run *r,
             const struct alqi_cli_leak_holding *row)
{
    const struct alqi_cli_leak_step *s = &r->holders.steps[row->step];
    int used = BYTES + BLOCKS + (is_sampled(r) ? ERROR : 0) + 2;
    int left = r->term.width - used;
    char text[NAME_BYTES];

    figures(r, &row->sum);
    fputs("  ", r->term.out);
    site_draw(r, ALQI_CLI_BOLD, s, &left);
    alqi_cli_draw_place(text, sizeof text, r->found.analysis.names, &s->site);
    if (text[0] != '\0' && left > 4) {
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, "  ", &left);
        alqi_cli_draw_fit(&r->term, ALQI_CLI_PLAIN, text, &left);
    }
    fprintf(r->term.out, "\n%*s", used + 2, "");
    left = r->term.width - used - 2;
    holder_draw(r, s->parent, &left);
    fputc('\n', r->term.out);
}

static void
holders_draw(struct alqi_cli_leaks_run *r, enum alqi_cli_leak_class class)
{
    const struct alqi_cli_term *t = &r->term;
    uint64_t n = 0;

    if (r->found.totals[class].n_blocks == 0)
        return;
    fprintf(t->out, "%s%s%s by holder\n", alqi_cli_style(t, ALQI_CLI_BOLD),
            texts[class].title, alqi_cli_style(t, ALQI_CLI_PLAIN));
    heads(r, "site, and what holds its blocks");
    for (uint32_t i = 0; i < r->holders.n_rows; i++) {
        if (r->holders.rows[i].class != class)
            continue;
        if (r->top == 0 || n < r->top)
            holding_draw(r, &r->holders.rows[i]);
        n++;
    }
    more_say(r, n);
    fputc('\n', t->out);
}

/* How to know more of an allocator's memory. */
static const char *
old_advice(const struct alqi_cli_leaks_run *r)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(r->recording);

    if (atomic_load(&h->counters[ALQI_RAW_PYTHON_SMALL]) > 0)
        return "with PYTHONMALLOC=malloc Python's are known";
    return r->is_whole ? "those of the C library's malloc are known"
                       : "'aliquot record --exact' knows them";
}

/* What is possible because of an allocator alone. */
static void
old_say(const struct alqi_cli_leaks_run *r)
{
    const struct alqi_cli_sum *sum = &r->found.may_be_old;
    const struct alqi_cli_error_text error =
        alqi_cli_error_of_bytes(&r->found.analysis.estimator, sum);
    double weak_bytes = (double)r->scan.weak_bytes,
           all_bytes = (double)r->scan.memory.n_words * 8;

    if (sum->n_blocks == 0)
        return;
    fprintf(r->term.out,
            "%s%s%s of POSSIBLE is not HELD because what leads there may be "
            "old: %s, %s of what was looked through, is memory of an allocator "
            "whose free blocks are not known; %s\n",
            alqi_cli_text_bytes(sum->bytes).text, is_sampled(r) ? " " : "",
            error.text, alqi_cli_text_bytes(weak_bytes).text,
            alqi_cli_text_percent(weak_bytes / all_bytes).text, old_advice(r));
}

/* What of Python is in no class. */
static void
python_say(const struct alqi_cli_leaks_run *r)
{
    const char *path = alqi_cli_leaks_python(r);

    if (path != NULL)
        fprintf(r->term.out,
                "Python's small objects (%s), of up to 512 bytes, are in no "
                "class and hold what they lead to: they are not malloc's; "
                "start the program with PYTHONMALLOC=malloc, and they are\n",
                alqi_cli_shown(alqi_base_file_name(path)).text);
}

/* What the classes cannot know. */
static void
limits_say(const struct alqi_cli_leaks_run *r)
{
    const struct alqi_cli_leak_scan *s = &r->scan;
    FILE *out = r->term.out;

    old_say(r);
    python_say(r);
    if (r->found.n_elsewhere > 0)
        fprintf(out,
                "%s recorded blocks are in no class: the process was about to "
                "make or to free them\n",
                alqi_cli_text_count((double)r->found.n_elsewhere).text);
    if (!r->is_whole && s->heap.n_found > 0)
        fprintf(out,
                "%s blocks that are not recorded were found by malloc's "
                "headers; pointers were followed through them\n",
                alqi_cli_text_count((double)s->heap.n_found).text);
    if (r->core.n_unknown > 0)
        fprintf(out,
                "%u threads did not come to stand still: held may be too many, "
                "for all of their stacks counts, and what their registers "
                "alone hold looks lost\n",
                r->core.n_unknown);
    if (s->memory.unread_bytes > 0)
        fprintf(out,
                "%s of memory could not be read: what it holds looks "
                "lost\n",
                alqi_cli_text_bytes((double)s->memory.unread_bytes).text);
    if (s->device_bytes > 0)
        fprintf(out, "%s of devices' memory were not looked at\n",
                alqi_cli_text_bytes((double)s->device_bytes).text);
}

void
alqi_cli_leaks_print(struct alqi_cli_leaks_run *r)
{
    char when[80];

    snprintf(when, sizeof when, "copied%s in %.1f ms",
             r->core.sent != NULL ? " by itself" : "",
             (double)r->core.stopped_ns / 1e6);
    if (r->core.is_end)
        strcpy(when, "at its end");
    else if (r->watch != NULL)
        strcpy(when, "when exit handlers had run (libraries may free more)");
    fprintf(r->term.out, "process %d, %s, %s looked through in %s; %s\n\n",
            (int)r->core.target.pid, when,
            alqi_cli_text_bytes((double)r->scan.memory.n_words * 8).text,
            alqi_cli_text_duration((double)r->scan_us).text,
            r->is_whole     ? "every block is recorded"
            : is_sampled(r) ? "a sample of its blocks is recorded"
                            : "what was allocated before the recording "
                              "began is not known");
    totals(r);
    for (int c = 0; c < ALQI_CLI_LEAK_CLASSES; c++)
        class_draw(r, (enum alqi_cli_leak_class)c);
    holders_draw(r, ALQI_CLI_LEAK_POSSIBLE);
    holders_draw(r, ALQI_CLI_LEAK_HELD);
    limits_say(r);
}
