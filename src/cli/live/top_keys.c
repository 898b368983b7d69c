/* top_keys.c -- what the keys of `aliquot top` do
 *
 * A key goes to the screen's mode (top_screen.c has the states): the prompt,
 * the list, the help, or the table. A key of the table is a command to the
 * process, or changes what is seen; the latter renews picture, tree and rows at
 * once. A message stays until the next key. */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/live/top_screen.h"

enum { KEY_ESCAPE = 27, KEY_TAB = '\t' };

#define RATE_STEP 2.0
#define RATE_LEAST 0x1p-57 /* one in 2^60 bytes */

static const char help_text[] =
    "aliquot top: where the memory of a running program goes\n"
    "\n"
    "  s          start sampling, or stop; frees go on being recorded\n"
    "  + -        sample twice as finely, or half\n"
    "  w          write a snapshot: a trace of what is recorded so far\n"
    "  p          pause the picture; the program goes on\n"
    "  l r a k c  first by live bytes, rate, bytes allocated, peak, count\n"
    "  < >        first by the column to the left, to the right\n"
    "  Up Down PgUp PgDn Home End    move the mark\n"
    "  Enter      open or close: callers of a site, calls of a function\n"
    "  t          sites and their callers, or calls from the program down\n"
    "  g          sites are functions, lines, files, modules\n"
    "  /          only stacks with a text in a function, file or module\n"
    "  Tab        the next heap or process;  L: the list of them\n"
    "  h ?        this text          q  quit\n"
    "\n"
    "LIVE is what is allocated and not freed now, RATE what was allocated a\n"
    "second lately, PEAK what was live when the most was.  ± is one standard\n"
    "error: figures are estimates from samples, of which SAMPLES tells how\n"
    "many there are.  Names: + can be opened, - is open.\n"
    "\n"
    "Any key goes back.\n";

/* The text that the key h shows. */
void
alqi_cli_screen_help(const struct alqi_cli_term *term)
{
    for (const char *line = help_text; *line != '\0';) {
        int n = (int)strcspn(line, "\n");

        alqi_cli_print(term, ALQI_CLI_PLAIN, "%.*s", n, line);
        alqi_cli_print(term, ALQI_CLI_PLAIN, "\n");
        line += n + 1;
    }
}

/* The message of the bottom line, until the next key. */
static void
say(struct alqi_cli_screen *s, const char *text)
{
    snprintf(s->message, sizeof s->message, "%s", text);
}

/* ---- commands ------------------------------------------------------------ */

/* Sends a command to the part's process and leaves what it says as the message.
 * A refusal is told once and is no trouble of the process. */
static void
command(struct alqi_cli_screen *s, const char *word, double rate)
{
    struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);
    bool is_start = strcmp(word, "start") == 0;
    char trouble[ALQI_CLI_TOP_TEXT_BYTES];

    if (!p->has_control || p->is_gone) {
        say(s, p->is_gone ? "the process has ended"
                          : "this is a file: there is nobody to tell");
        return;
    }
    if (!alqi_cli_top_part_command(
            p, word, rate,
            is_start && p->path[0] == '\0' ? s->top->output : NULL)) {
        snprintf(trouble, sizeof trouble, "%s", p->trouble);
        p->trouble[0] = '\0'; /* of the command, not of the process */
        p->is_answering = true;
        say(s, trouble);
        return;
    }
    if (rate > 0)
        snprintf(s->message, sizeof s->message, "one in %s from now on",
                 alqi_cli_text_bytes(ALQI_WORD_BYTES / p->rate).text);
    else
        snprintf(s->message, sizeof s->message, "%s", p->state);
    s->next_us = 0;
}

/* Starts or stops, by the state that was told last. */
static void
toggle(struct alqi_cli_screen *s)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);

    bool is_on =
        strcmp(p->state, "sampling") == 0 || strcmp(p->state, "starting") == 0;

    command(s, is_on ? "stop" : "start", 0);
}

/* Asks for another rate; a step beyond 1 stops at 1. */
static void
rate_change(struct alqi_cli_screen *s, double factor)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);
    double rate = p->rate * factor;

    if (p->has_control && !p->is_gone && p->rate <= 0) {
        say(s, "its rate is not known: start it first");
        return;
    }
    if (rate > 1 && p->rate < 1)
        rate = 1;
    if (rate > 1 || rate < RATE_LEAST) {
        say(s, "there is no such rate");
        return;
    }
    command(s, "rate", rate);
}

/* ---- the view ------------------------------------------------------------ */

/* Another column to sort by; the mark goes to the top. */
static void
sort_set(struct alqi_cli_screen *s, enum alqi_cli_top_sort sort)
{
    s->top->sort = sort;
    s->cursor = s->first = 0;
    alqi_cli_screen_renew(s);
}

/* Sorts by the next column to the left or right, in the order of the
 * columns. */
static void
sort_step(struct alqi_cli_screen *s, int step)
{
    static const enum alqi_cli_top_sort order[] = {
        ALQI_CLI_TOP_BY_LIVE, ALQI_CLI_TOP_BY_COUNT, ALQI_CLI_TOP_BY_RATE,
        ALQI_CLI_TOP_BY_PEAK, ALQI_CLI_TOP_BY_ALLOCATED};
    int n = ALQI_COUNT_OF(order), at = 0;

    while (order[at] != s->top->sort)
        at++;
    sort_set(s, order[(at + step + n) % n]);
}

/* Looks at another part: its tree and rows are made anew with the next
 * picture. */
static void
part_set(struct alqi_cli_screen *s, uint32_t at)
{
    s->top->at = at;
    alqi_cli_top_tree_forget(s->top);
    s->top->is_paused = false;
    s->cursor = s->first = s->n_rows = 0;
    s->next_us = 0;
    s->is_reading = false;
}

/* Whether the list has that heap of that process already. */
static bool
has_part(const struct alqi_cli_top *top, const struct alqi_cli_top_found *f)
{
    for (uint32_t i = 0; i < top->n_parts; i++)
        if (top->parts[i].pid == f->pid && top->parts[i].has_control &&
            top->parts[i].is_heap == f->is_heap)
            return true;
    return false;
}

/* Shows the list of parts; processes that have begun since the last time are
 * added. */
static void
list_open(struct alqi_cli_screen *s)
{
    static const struct alqi_cli_control_target by_pid = {.verb = "top"};
    struct alqi_cli_top *top = s->top;
    struct alqi_cli_top_found *found;
    uint32_t n = alqi_cli_top_list(0, &found);

    for (uint32_t i = 0; i < n; i++) {
        if (has_part(top, &found[i]))
            continue;
        alqi_cli_top_part_init(alqi_cli_top_part_add(top), &by_pid,
                               found[i].pid, found[i].is_heap);
    }
    free(found);
    s->choice = top->at;
    s->mode = ALQI_CLI_SCREEN_LIST;
}

/* Moves the mark, within the rows that there are. */
static void
cursor_move(struct alqi_cli_screen *s, int64_t by)
{
    int64_t at = (int64_t)s->cursor + by;

    if (at >= (int64_t)s->n_rows)
        at = (int64_t)s->n_rows - 1;
    s->cursor = at > 0 ? (uint32_t)at : 0;
}

/* Opens or closes the marked row. */
static void
row_toggle(struct alqi_cli_screen *s)
{
    if (s->cursor >= s->n_rows)
        return;
    alqi_cli_top_toggle(&s->top->tree, s->rows[s->cursor].node, s->top->sort);
    alqi_cli_screen_renew(s);
}

/* ---- keys ---------------------------------------------------------------- */

/* The prompt begins with the filter that holds now. */
static void
prompt_open(struct alqi_cli_screen *s)
{
    snprintf(s->typed, sizeof s->typed, "%s", s->top->filter);
    s->mode = ALQI_CLI_SCREEN_PROMPT;
}

/* A key while a filter is typed; it counts only from Enter on. */
static void
prompt_key(struct alqi_cli_screen *s, int key)
{
    size_t n = strlen(s->typed);

    if (key == KEY_ESCAPE) {
        s->mode = ALQI_CLI_SCREEN_TABLE;
    } else if (key == '\r' || key == '\n' || key == KEY_ENTER) {
        alqi_cli_clean(s->top->filter, sizeof s->top->filter, s->typed);
        s->mode = ALQI_CLI_SCREEN_TABLE;
        s->cursor = s->first = 0;
        alqi_cli_screen_renew(s);
    } else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
        while (n > 0 && ((unsigned char)s->typed[--n] & 0xC0) == 0x80)
            continue; /* a letter's further bytes */
        s->typed[n] = '\0';
    } else if (key >= ' ' && key <= 0xFF && n + 1 < sizeof s->typed) {
        s->typed[n] = (char)key;
        s->typed[n + 1] = '\0';
    }
}

/* A key of the list; any other than these does nothing. */
static void
list_key(struct alqi_cli_screen *s, int key)
{
    switch (key) {
    case KEY_UP:
        s->choice -= s->choice > 0;
        break;
    case KEY_DOWN:
        s->choice += s->choice + 1 < s->top->n_parts;
        break;
    case '\r':
    case '\n':
    case KEY_ENTER:
        s->mode = ALQI_CLI_SCREEN_TABLE;
        part_set(s, s->choice);
        break;
    case 'q':
        s->is_over = true;
        break;
    }
}

/* False: it is none of these. A page is what the screen has room for. */
static bool
move_key(struct alqi_cli_screen *s, int key)
{
    int room = alqi_cli_screen_room();

    switch (key) {
    case KEY_UP:
        cursor_move(s, -1);
        return true;
    case KEY_DOWN:
        cursor_move(s, 1);
        return true;
    case KEY_PPAGE:
        cursor_move(s, -room);
        return true;
    case KEY_NPAGE:
        cursor_move(s, room);
        return true;
    case KEY_HOME:
        s->cursor = 0;
        return true;
    case KEY_END:
        cursor_move(s, s->n_rows);
        return true;
    default:
        return false;
    }
}

/* False: it is none of these. Each column has the letter that the help
 * tells. */
static bool
sort_key(struct alqi_cli_screen *s, int key)
{
    switch (key) {
    case 'l':
        sort_set(s, ALQI_CLI_TOP_BY_LIVE);
        return true;
    case 'r':
        sort_set(s, ALQI_CLI_TOP_BY_RATE);
        return true;
    case 'a':
        sort_set(s, ALQI_CLI_TOP_BY_ALLOCATED);
        return true;
    case 'k':
        sort_set(s, ALQI_CLI_TOP_BY_PEAK);
        return true;
    case 'c':
        sort_set(s, ALQI_CLI_TOP_BY_COUNT);
        return true;
    case '<':
        sort_step(s, -1);
        return true;
    case '>':
        sort_step(s, 1);
        return true;
    default:
        return false;
    }
}

/* False: it is none of these. A change of the view puts the mark on top. */
static bool
view_key(struct alqi_cli_screen *s, int key)
{
    struct alqi_cli_top *top = s->top;

    switch (key) {
    case '\r':
    case '\n':
    case KEY_ENTER:
    case ' ':
        row_toggle(s);
        return true;
    case 't':
        top->view = top->view == ALQI_CLI_TOP_SITES ? ALQI_CLI_TOP_CALLS
                                                    : ALQI_CLI_TOP_SITES;
        break;
    case 'g':
        top->grouping = (enum alqi_cli_grouping)((top->grouping + 1) %
                                                 (ALQI_CLI_BY_MODULE + 1));
        break;
    case KEY_TAB:
        part_set(s, (top->at + 1) % top->n_parts);
        return true;
    case '/':
        prompt_open(s);
        return true;
    default:
        return false;
    }
    s->cursor = s->first = 0;
    alqi_cli_screen_renew(s);
    return true;
}

/* A key of the table: commands first, then moves, sorting and view. */
static void
table_key(struct alqi_cli_screen *s, int key)
{
    switch (key) {
    case 'q':
        s->is_over = true;
        break;
    case 'h':
    case '?':
        s->mode = ALQI_CLI_SCREEN_HELP;
        break;
    case 'L':
        list_open(s);
        break;
    case 's':
        toggle(s);
        break;
    case '+':
    case '=':
        rate_change(s, RATE_STEP);
        break;
    case '-':
        rate_change(s, 1 / RATE_STEP);
        break;
    case 'w':
        alqi_cli_screen_snapshot(s);
        break;
    case 'p':
        s->top->is_paused = !s->top->is_paused;
        s->next_us = 0;
        break;
    case KEY_RESIZE:
        break;
    default:
        if (!move_key(s, key) && !sort_key(s, key))
            (void)view_key(s, key);
    }
}

/* A change of the terminal's size is a key to curses: the screen is drawn anew,
 * and the message stays. */
void
alqi_cli_screen_key(struct alqi_cli_screen *s, int key)
{
    if (key != KEY_RESIZE)
        s->message[0] = '\0';
    if (key == KEY_RESIZE)
        return;
    switch (s->mode) {
    case ALQI_CLI_SCREEN_PROMPT:
        prompt_key(s, key);
        break;
    case ALQI_CLI_SCREEN_LIST:
        list_key(s, key);
        break;
    case ALQI_CLI_SCREEN_HELP:
        s->mode = ALQI_CLI_SCREEN_TABLE;
        clear();
        break;
    default:
        table_key(s, key);
    }
}
