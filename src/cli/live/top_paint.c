/* top_paint.c -- texts with styles, put on the screen of curses
 *
 * The screen is up from paint_start() to paint_stop(), which also runs at exit.
 * While it is up, paint_at() sets the place of what is printed next, and
 * paint() puts it there: a style becomes curses' attribute. */
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/live/top_paint.h"

enum { PAIR_HOT = 1, PAIR_WARM, PAIR_WARN, ESCAPE_MS = 25 };

static struct {
    /* is_up: from paint_start() to paint_stop() */
    bool is_up, is_utf8, has_color;
    int line, end; /* the next line to draw, and the first not to draw */
    attr_t marked; /* A_REVERSE, or A_NORMAL */
} paint;

/* ---- the screen ---------------------------------------------------------- */

/* Without a locale names are shown as UTF-8, as everywhere in aliquot. */
static void
locale_set(void)
{
    const char *name = setlocale(LC_CTYPE, "");

    if (name == NULL || strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    paint.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* The terminal's own background stays (-1). */
static void
colors_set(void)
{
    const char *no_color = getenv("NO_COLOR");

    paint.has_color =
        (no_color == NULL || no_color[0] == '\0') && has_colors() == TRUE;
    if (!paint.has_color)
        return;
    start_color();
    use_default_colors();
    init_pair(PAIR_HOT, COLOR_RED, -1);
    init_pair(PAIR_WARM, COLOR_YELLOW, -1);
    init_pair(PAIR_WARN, COLOR_MAGENTA, -1);
}

/* newterm, since initscr ends the program where it fails. */
bool
alqi_cli_paint_start(void)
{
    const char *type = getenv("TERM");
    SCREEN *screen;

    locale_set();
    screen = newterm(NULL, stdout, stdin);
    if (screen == NULL)
        return alqi_cli_refuse(
            "top: terminal type '%s' is not known; --batch needs none",
            type != NULL ? type : "");
    set_term(screen);
    paint.is_up = true;
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    curs_set(0);
    colors_set();
    atexit(alqi_cli_paint_stop); /* out of memory, for one, ends the command */
    return true;
}

/* May be called twice: by the screen, and at exit. */
void
alqi_cli_paint_stop(void)
{
    if (!paint.is_up)
        return;
    paint.is_up = false;
    endwin();
}

/* ---- lines --------------------------------------------------------------- */

/* Curses' attribute of a style; without colours the bold ones still stand
 * out. */
static attr_t
attribute(enum alqi_cli_style style)
{
    attr_t color = A_NORMAL;

    if (paint.has_color && style == ALQI_CLI_HOT)
        color = COLOR_PAIR(PAIR_HOT);
    if (paint.has_color && style == ALQI_CLI_WARM)
        color = COLOR_PAIR(PAIR_WARM);
    if (paint.has_color && style == ALQI_CLI_WARN)
        color = COLOR_PAIR(PAIR_WARN);
    switch (style) {
    case ALQI_CLI_DIM:
        return A_DIM;
    case ALQI_CLI_BOLD:
    case ALQI_CLI_HOT:
        return A_BOLD | color;
    default:
        return color;
    }
}

/* Puts text on a terminal that knows ASCII alone: some letters have a likeness,
 * the others become '?'. */
static void
plain_put(const char *text)
{
    static const struct {
        const char *letter;
        char like;
    } likes[] = {{"±", '~'}, {"←", '<'}, {"→", '>'}, {"…", '.'}};

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char like = '?';

        if ((c & 0xC0) == 0x80)
            continue; /* of the letter before */
        for (size_t k = 0; k < ALQI_COUNT_OF(likes); k++)
            if (strncmp(text, likes[k].letter, strlen(likes[k].letter)) == 0)
                like = likes[k].like;
        addch(c < 0x80 ? c : (chtype)like);
    }
}

/* Ends a line. Text that filled the line has moved the cursor below it: nothing
 * is cleared then. */
static void
line_end(void)
{
    attrset(paint.marked);
    if (getcury(stdscr) == paint.line) {
        if (paint.marked == A_REVERSE)
            hline(' ', COLS);
        else
            clrtoeol();
    }
    attrset(A_NORMAL);
    if (++paint.line < paint.end)
        move(paint.line, 0);
}

/* The term's paint function. curses knows UTF-8 by the locale; without it
 * letters are replaced. */
static void
text_paint(enum alqi_cli_style style, const char *text)
{
    if (paint.line == paint.end)
        return;
    if (strcmp(text, "\n") == 0) {
        line_end();
        return;
    }
    attrset(paint.marked | attribute(style));
    if (paint.is_utf8)
        addstr(text);
    else
        plain_put(text);
}

void
alqi_cli_paint_at(struct alqi_cli_term *term, int line, int n_most,
                  bool is_marked)
{
    *term = (struct alqi_cli_term){.paint = text_paint, .width = COLS};
    paint.line = line;
    paint.end = line + n_most;
    paint.marked = is_marked ? A_REVERSE : A_NORMAL;
    move(line, 0);
}
