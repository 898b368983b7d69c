/* top.c -- aliquot top: where the memory of a running program goes, now
 *
 * In a terminal a screen (top_screen.c); else, and with --batch, pictures one
 * after the other as text or JSON. Phases: options, parts (parts_make), a first
 * look that tells what cannot be watched at all, then batch() or the screen
 * until the end. The command is static: an exit in the middle leaves its memory
 * to the system. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/live/top.h"

enum { ROWS_DEFAULT = 30, UNBOUNDED_US = 1 << 30 };

#define DELAY_US_DEFAULT 2e6
#define DELAY_US_LEAST 1e5
#define DELAY_US_MOST 86400e6
#define WINDOW_US                                                              \
    UINT64_C(10000000) /* what "lately" means, at least a delay                \
                        */

struct command {
    struct alqi_cli_top top;
    struct alqi_cli_control_target target; /* as it was asked for */
    const char *file;                      /* instead             */
    bool is_batch, is_json;                /* is_json implies is_batch */
    uint64_t n_pictures;                   /* 0: until the process ends */
    bool has_n_pictures;
    uint64_t n_rows; /* 0: all */
    /* of printed tables; index in ALQI_CLI_COLOR_CHOICES */
    int color;
};

/* ---- options ------------------------------------------------------------- */

/* A bare number is seconds, as with top(1). */
static bool
delay_take(void *to, const char *verb, const char *value)
{
    char *end;
    double us = strtod(value, &end) * 1e6; /* seconds, as with top(1) */

    if (end == value || *end != '\0')
        us = alqi_cli_parse_duration(value, &us) ? us : 0;
    if (us >= DELAY_US_LEAST && us <= DELAY_US_MOST) {
        *(uint64_t *)to = (uint64_t)us;
        return true;
    }
    alqi_cli_usage(verb, "%s: --delay %s: a time from 100ms to a day", verb,
                   value);
    return false;
}

/* Keeps a cleaned copy: the text is printed with each picture. */
static bool
filter_take(void *to, const char *verb, const char *value)
{
    struct alqi_cli_top *top = to;

    if (strlen(value) < sizeof top->filter) {
        alqi_cli_clean(top->filter, sizeof top->filter, value);
        return true;
    }
    alqi_cli_usage(verb, "%s: --filter: at most %zu bytes", verb,
                   sizeof top->filter - 1);
    return false;
}

const struct alqi_cli_option alqi_cli_top_options[] = {
    {'p', "pid", "PID", NULL, "the process, or its parent",
     ALQI_CLI_TAKEN(alqi_cli_pid_take, offsetof(struct command, target.pid))},
    ALQI_CLI_CONTROL_ROW(struct command, target),
    {'d', "delay", "T", NULL, "time between updates, as 500ms; default 2s",
     ALQI_CLI_TAKEN(delay_take, offsetof(struct command, top.delay_us))},
    {'b', "batch", NULL, NULL, "print updates as text, without a screen",
     ALQI_CLI_FLAG(struct command, is_batch)},
    {'n', "iterations", "N", NULL,
     "updates; default: until it ends, without -b one",
     ALQI_CLI_COUNT(struct command, n_pictures),
     .wants = "a whole number below 2^64",
     ALQI_CLI_ALSO(struct command, has_n_pictures)},
    {0, "json", NULL, NULL, "print each update as one line of JSON",
     ALQI_CLI_FLAG(struct command, is_json)},
    {0, "sort", "KEY", ALQI_CLI_TOP_SORT_CHOICES,
     "column to sort by; default live",
     ALQI_CLI_CHOICE(struct command, top.sort)},
    {0, "group", "BY", ALQI_CLI_GROUPING_CHOICES,
     "grouping of sites; default function",
     ALQI_CLI_CHOICE(struct command, top.grouping)},
    {0, "calls", NULL, NULL, "show the tree of calls instead of sites",
     ALQI_CLI_FIXED(struct command, top.view, ALQI_CLI_TOP_CALLS)},
    {0, "filter", "TEXT", NULL,
     "only stacks with TEXT in a function, file, module",
     ALQI_CLI_TAKEN(filter_take, offsetof(struct command, top))},
    {0, "rows", "N", NULL, "rows of a printed table; default 30, 0: all",
     ALQI_CLI_COUNT(struct command, n_rows),
     .wants = "a whole number below 2^64"},
    {'o', "output", "FILE", NULL,
     "file to record to when the key s starts sampling",
     ALQI_CLI_TEXT(struct command, top.output)},
    {0, "color", "WHEN", ALQI_CLI_COLOR_CHOICES, "colours of printed tables",
     ALQI_CLI_CHOICE(struct command, color)},
    {0},
};

/* ---- the tree ------------------------------------------------------------ */

struct alqi_cli_top_part *
alqi_cli_top_now(const struct alqi_cli_top *top)
{
    return &top->parts[top->at];
}

/* The tree's nodes refer to names of the part's picture, so another part needs
 * another tree. */
void
alqi_cli_top_tree_forget(struct alqi_cli_top *top)
{
    if (top->has_tree)
        alqi_cli_top_tree_free(&top->tree);
    top->has_tree = false;
}

/* A tree is kept over pictures, so that what is open stays open; another view,
 * grouping or file needs another one. */
void
alqi_cli_top_tree_renew(struct alqi_cli_top *top)
{
    struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    struct alqi_cli_top_recent recent = {p->recent, p->n_recent};

    if (top->has_tree &&
        (top->tree.view != top->view || top->tree.grouping != top->grouping ||
         top->tree_generation != p->generation))
        alqi_cli_top_tree_forget(top);
    if (!top->has_tree)
        alqi_cli_top_tree_init(&top->tree, top->view, top->grouping);
    top->has_tree = true;
    top->tree_generation = p->generation;
    if (p->has_picture)
        alqi_cli_top_tree_take(&top->tree, &p->picture, &recent, top->filter);
}

/* ---- printed pictures ---------------------------------------------------- */

/* A picture as a table for people. */
static void
text_print(const struct command *c, const struct alqi_cli_top_row *rows,
           uint32_t n_shown, uint32_t n_rows)
{
    alqi_cli_top_draw_head(&c->top);
    fputc('\n', c->top.term.out);
    if (n_rows > 0)
        alqi_cli_top_draw_titles(&c->top);
    else
        alqi_cli_top_draw_nothing(&c->top);
    for (uint32_t i = 0; i < n_shown; i++)
        alqi_cli_top_draw_row(&c->top, &rows[i]);
    if (n_shown < n_rows) {
        alqi_cli_print(&c->top.term, ALQI_CLI_DIM,
                       "  %u more (--rows=0 shows all)", n_rows - n_shown);
        fputc('\n', c->top.term.out);
    }
    fputc('\n', c->top.term.out);
}

/* Prints the part that is looked at. */
static void
part_print(struct command *c)
{
    struct alqi_cli_top *top = &c->top;
    struct alqi_cli_top_row *rows = NULL;
    uint32_t capacity = 0, n, n_shown;

    alqi_cli_top_tree_forget(top); /* parts take turns */
    alqi_cli_top_tree_renew(top);
    n = alqi_cli_top_rows(&top->tree, top->sort, &rows, &capacity);
    n_shown = c->n_rows > 0 && n > c->n_rows ? (uint32_t)c->n_rows : n;
    if (c->is_json)
        alqi_cli_top_json(top, rows, n_shown);
    else
        text_print(c, rows, n_shown, n);
    free(rows);
}

/* Reads all there is of the part and prints it. */
static bool
part_picture(struct command *c)
{
    struct alqi_cli_top *top = &c->top;
    struct alqi_cli_top_part *p = alqi_cli_top_now(top);

    alqi_cli_top_part_ask(p);
    while (alqi_cli_top_part_read(p, UNBOUNDED_US))
        continue;
    alqi_cli_top_part_look(p, top->delay_us > WINDOW_US ? top->delay_us
                                                        : WINDOW_US);
    if (p->is_gone && p->reading != ALQI_CLI_FOLLOW_OVER && p->follow != NULL)
        return true; /* it ended while it was looked at: once more */
    part_print(c);
    if (p->has_control) /* it may begin another trace */
        return !p->is_gone;
    return p->reading != ALQI_CLI_FOLLOW_OVER;
}

/* A picture of each part, then a pause. Ends when all parts have ended or the
 * output is closed. */
static int
batch(struct command *c)
{
    struct alqi_cli_top *top = &c->top;

    alqi_cli_term_start(&top->term, c->color, false);
    for (uint64_t i = 0; c->n_pictures == 0 || i < c->n_pictures; i++) {
        bool goes_on = false;

        if (i > 0)
            usleep((useconds_t)top->delay_us);
        for (top->at = 0; top->at < top->n_parts; top->at++)
            goes_on |= part_picture(c);
        fflush(top->term.out);
        if (!goes_on || ferror(top->term.out))
            break;
    }
    alqi_cli_term_stop(&top->term);
    return ALQI_CLI_OK;
}

/* ---- what is watched ----------------------------------------------------- */

/* A file, a socket by name, or what is found of a process. -1, or the
 * status. */
static int
parts_make(struct command *c)
{
    if (c->file == NULL)
        return alqi_cli_top_watch(&c->top, &c->target, c->is_batch);
    alqi_cli_top_part_init_file(alqi_cli_top_part_add(&c->top), c->file);
    return -1;
}

/* Asks the part that is looked at once. -1, or the status to exit with, after
 * saying why the part cannot be watched at all. */
static int
first_look(struct command *c)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(&c->top);

    alqi_cli_top_part_ask(alqi_cli_top_now(&c->top));
    if (p->follow != NULL || p->is_answering)
        return -1;
    if (p->trouble[0] != '\0')
        alqi_cli_say("top: %s", p->trouble);
    else
        alqi_cli_say("top: there is no process %d", (int)p->pid);
    return c->file != NULL ? ALQI_CLI_UNREADABLE : ALQI_CLI_FINDING;
}

/* Decides between screen and batch. Without a terminal one picture is printed,
 * unless -n says otherwise. */
static int
operands_take(struct command *c, int argc, char **argv, int first)
{
    bool has_target = c->target.pid != 0 || c->target.control != NULL;

    if (argc - first > 1 || (argc > first && has_target))
        return alqi_cli_usage("top", "top: one process, or one recording");
    c->file = argc > first ? argv[first] : NULL;
    if (!c->is_batch && (c->is_json || isatty(STDOUT_FILENO) == 0 ||
                         isatty(STDIN_FILENO) == 0)) {
        c->is_batch = true;
        if (!c->has_n_pictures)
            c->n_pictures = 1;
    }
    if (c->has_n_pictures)
        c->is_batch = true;
    return -1;
}

/* Parts are freed on every way out. */
int
alqi_cli_top(int argc, char **argv)
{
    static struct command c = {
        .target = {.verb = "top"},
        .n_rows = ROWS_DEFAULT,
        .top = {.delay_us = (uint64_t)DELAY_US_DEFAULT},
    };
    int first, rc = alqi_cli_parse("top", argc, argv, &c, &first);

    if (rc >= 0)
        return rc;
    rc = operands_take(&c, argc, argv, first);
    if (rc < 0)
        rc = parts_make(&c);
    if (rc < 0)
        rc = first_look(&c);
    if (rc < 0)
        rc = c.is_batch ? batch(&c) : alqi_cli_top_screen(&c.top);
    alqi_cli_top_tree_forget(&c.top);
    alqi_cli_top_unwatch(&c.top);
    return rc;
}
