/* top_screen.c -- the screen of `aliquot top`: pictures, keys, messages
 *
 *            h                   L, several processes at the start
 *   TABLE <-----> HELP     TABLE <-----> LIST          TABLE --q--> over
 *     |  / and the end of a text
 *     +--> PROMPT
 *
 * Line 0 to 3 the head, then titles, rows, and at the bottom keys, a message
 * or the text that is typed.
 *
 * Keeps .inv.turn (doc/design/top.md): Reading and drawing take turns in slices
 *   of SLICE_US. */
#include <curses.h>
#include <stdlib.h>

#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/live/top.h"
#include "cli/live/top_paint.h"
#include "cli/live/top_screen.h"

enum {
    SLICE_US = 100000,
    IDLE_MS = 200, /* a snapshot may have become ready */
    LINE_TITLES = ALQI_CLI_TOP_HEAD_LINES,
    LINE_ROWS,
    LINES_LEAST = LINE_ROWS + 2
};

#define WINDOW_US UINT64_C(10000000)

/* At least 1, whatever the terminal says. */
int
alqi_cli_screen_room(void)
{
    int room = LINES - LINE_ROWS - 1;

    return room > 0 ? room : 1;
}

/* ---- pictures ------------------------------------------------------------ */

/* Rows anew from the tree, with the mark where it was. */
static void
rows_renew(struct alqi_cli_screen *s)
{
    uint32_t node = 0, depth = 0;

    if (s->cursor < s->n_rows) {
        node = s->rows[s->cursor].node;
        depth = s->rows[s->cursor].depth;
    }
    s->n_rows = alqi_cli_top_rows(&s->top->tree, s->top->sort, &s->rows,
                                  &s->rows_capacity);
    /* The cursor goes with what it stood on, unless it stood at the top. */
    for (uint32_t i = 0; s->cursor > 0 && i < s->n_rows; i++)
        if (s->rows[i].node == node && s->rows[i].depth == depth)
            s->cursor = i;
    if (s->cursor >= s->n_rows)
        s->cursor = s->n_rows > 0 ? s->n_rows - 1 : 0;
}

/* A paused screen keeps its picture, but view and filter may change. */
void
alqi_cli_screen_renew(struct alqi_cli_screen *s)
{
    struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);
    uint64_t delay_us = s->top->delay_us;

    if (!s->top->is_paused)
        alqi_cli_top_part_look(p, delay_us > WINDOW_US ? delay_us : WINDOW_US);
    alqi_cli_top_tree_renew(s->top);
    rows_renew(s);
}

/* Asks at the first slice of a round only; .inv.turn. */
static bool
look(struct alqi_cli_screen *s)
{
    struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);
    bool was_gone = p->is_gone;

    if (!s->is_reading) {
        alqi_cli_top_part_ask(p);
        if (p->is_gone && !was_gone)
            s->message[0] = '\0'; /* that it has ended is more to be told */
        s->is_reading = true;
    }
    if (alqi_cli_top_part_read(p, SLICE_US))
        return true;
    s->is_reading = false;
    alqi_cli_screen_renew(s);
    return false;
}

/* ---- drawing ------------------------------------------------------------- */

/* The last line: the prompt, the progress, a message, or the keys. */
static void
bottom_draw(const struct alqi_cli_screen *s)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);
    struct alqi_cli_term term;
    int left;

    alqi_cli_paint_at(&term, LINES - 1, 1, false);
    left = term.width - 1; /* the last place of all would scroll */
    if (s->mode == ALQI_CLI_SCREEN_PROMPT)
        alqi_cli_print(&term, ALQI_CLI_PLAIN,
                       "/%s_  (Enter: filter, Esc: as before)", s->typed);
    else if (s->is_reading && p->follow != NULL)
        alqi_cli_print(&term, ALQI_CLI_PLAIN, "reading the recording: %.0f %%",
                       100 * alqi_cli_follow_progress(p->follow));
    else if (s->message[0] != '\0')
        alqi_cli_draw_fit(&term, ALQI_CLI_BOLD, s->message, &left);
    else if (p->is_gone)
        alqi_cli_draw_fit(&term, ALQI_CLI_WARN,
                          "the process has ended; this is its last picture   "
                          "q quit  w snapshot  h help",
                          &left);
    else
        alqi_cli_draw_fit(&term, ALQI_CLI_DIM,
                          "q quit  h help  s start/stop  + - rate  w snapshot  "
                          "/ filter  Enter callers  t view  p pause",
                          &left);
    alqi_cli_print(&term, ALQI_CLI_PLAIN, "\n");
}

/* Each line of the table, as empty ones must be cleared, too. */
static void
rows_draw(const struct alqi_cli_screen *s)
{
    struct alqi_cli_top *top = s->top;
    int room = alqi_cli_screen_room();

    for (int i = 0; i < room; i++) {
        uint32_t row = s->first + (uint32_t)i;

        alqi_cli_paint_at(&top->term, LINE_ROWS + i, 1,
                          row < s->n_rows && row == s->cursor);
        if (row < s->n_rows)
            alqi_cli_top_draw_row(top, &s->rows[row]);
        else if (i == 0)
            alqi_cli_top_draw_nothing(top);
        else
            alqi_cli_print(&top->term, ALQI_CLI_PLAIN, "\n");
    }
}

/* Scrolls so that the mark is seen, then draws. */
static void
table_draw(struct alqi_cli_screen *s)
{
    struct alqi_cli_top *top = s->top;
    uint32_t room = (uint32_t)alqi_cli_screen_room();

    if (s->cursor < s->first)
        s->first = s->cursor;
    if (s->cursor >= s->first + room)
        s->first = s->cursor - room + 1;
    alqi_cli_paint_at(&top->term, 0, LINE_ROWS, false);
    alqi_cli_top_draw_head(top);
    alqi_cli_top_draw_titles(top);
    rows_draw(s);
}

/* The screen is cleared first: the help has fewer lines than the table may
 * have. */
static void
help_draw(void)
{
    struct alqi_cli_term term;

    erase();
    alqi_cli_paint_at(&term, 0, LINES - 1, false);
    alqi_cli_screen_help(&term);
}

/* One part of the list; its process may have ended since it was found. */
static void
list_line(const struct alqi_cli_term *term, const struct alqi_cli_top_part *p)
{
    struct alqi_cli_proc proc = {0};
    char state[64] = "";
    int left = term->width;

    if (p->pid != 0 && !alqi_cli_proc_read(p->pid, &proc))
        snprintf(state, sizeof state, "ended");
    else if (p->state[0] != '\0')
        snprintf(state, sizeof state, "%s", p->state);
    alqi_cli_draw_text(term, ALQI_CLI_PLAIN, &left,
                       "%10d  %-7s  %-16s  %-9s  RSS %s", (int)p->pid,
                       p->is_heap ? "managed" : "malloc",
                       p->command[0] != '\0' ? p->command : proc.command, state,
                       alqi_cli_text_bytes((double)proc.rss_bytes).text);
    alqi_cli_print(term, ALQI_CLI_PLAIN, "\n");
}

/* The list scrolls so that the choice is seen. */
static void
list_draw(const struct alqi_cli_screen *s)
{
    struct alqi_cli_term term;
    uint32_t room = (uint32_t)(LINES > 4 ? LINES - 4 : 1);
    uint32_t first = s->choice >= room ? s->choice - room + 1 : 0;

    erase();
    alqi_cli_paint_at(&term, 0, 2, false);
    alqi_cli_print(&term, ALQI_CLI_BOLD, "WHAT CAN BE WATCHED");
    alqi_cli_print(&term, ALQI_CLI_PLAIN, "\n");
    alqi_cli_print(&term, ALQI_CLI_DIM,
                   "       pid  heap     program           state");
    alqi_cli_print(&term, ALQI_CLI_PLAIN, "\n");
    for (uint32_t i = first; i < s->top->n_parts && i < first + room; i++) {
        alqi_cli_paint_at(&term, 2 + (int)(i - first), 1, i == s->choice);
        list_line(&term, &s->top->parts[i]);
    }
    alqi_cli_paint_at(&term, LINES - 1, 1, false);
    alqi_cli_print(&term, ALQI_CLI_PLAIN, "Enter: watch it   q: quit");
    alqi_cli_print(&term, ALQI_CLI_PLAIN, "\n");
}

/* One of the modes; a terminal that is too low shows none of them. */
static void
draw(struct alqi_cli_screen *s)
{
    if (LINES < LINES_LEAST) {
        erase();
        mvaddnstr(0, 0, "too few lines", COLS);
    } else if (s->mode == ALQI_CLI_SCREEN_HELP) {
        help_draw();
    } else if (s->mode == ALQI_CLI_SCREEN_LIST) {
        list_draw(s);
    } else {
        table_draw(s);
        bottom_draw(s);
    }
    refresh();
}

/* ---- the loop ------------------------------------------------------------ */

/* Whether a new picture is to be made. */
static bool
is_due(const struct alqi_cli_screen *s)
{
    return s->mode != ALQI_CLI_SCREEN_LIST && !s->top->is_paused &&
           alqi_cli_mono_us() >= s->next_us;
}

/* How long to wait for a key: 0 while there is more to read. */
static int
wait_ms(const struct alqi_cli_screen *s, bool is_behind)
{
    uint64_t now = alqi_cli_mono_us();

    if (is_behind)
        return 0;
    if (s->mode == ALQI_CLI_SCREEN_LIST || s->top->is_paused)
        return IDLE_MS;
    if (now >= s->next_us)
        return 0;
    return s->next_us - now < IDLE_MS * 1000
               ? (int)((s->next_us - now) / 1000) + 1
               : IDLE_MS;
}

/* Reads, draws what has changed, waits for a key. */
static void
loop(struct alqi_cli_screen *s)
{
    bool is_behind = false;

    while (!s->is_over) {
        int key;

        if (is_behind || is_due(s)) {
            is_behind = look(s);
            s->next_us = alqi_cli_mono_us() + s->top->delay_us;
            s->is_stale = true;
        }
        alqi_cli_screen_snapshot_wait(s);
        if (s->is_stale)
            draw(s);
        s->is_stale = false;
        timeout(wait_ms(s, is_behind));
        key = getch();
        if (key != ERR) {
            alqi_cli_screen_key(s, key);
            s->is_stale = true;
        }
    }
}

/* The list comes first when several processes can be watched. */
int
alqi_cli_top_screen(struct alqi_cli_top *top)
{
    struct alqi_cli_screen s = {.top = top, .snapshot_fd = -1};

    if (!alqi_cli_paint_start())
        return ALQI_CLI_FINDING;
    if (top->n_parts > 1 && top->parts[0].pid != top->parts[1].pid)
        s.mode = ALQI_CLI_SCREEN_LIST;
    s.is_stale = true;
    loop(&s);
    alqi_cli_paint_stop();
    alqi_cli_screen_snapshot_end(&s);
    free(s.rows);
    return ALQI_CLI_OK;
}
