/* top_paint.c -- lines of text with styles, put on the screen of curses
 *
 * The screen is up from paint_start() to paint_stop(), which also runs at exit.
 * While it is up, paint_open() lends a stream for lines, and paint_take() puts
 * these on the screen: one stream at a time.  A style's escape sequence in the
 * text becomes curses' attribute; of any other its first byte is dropped. */
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/live/top_paint.h"
#include "cli/tool/memory.h"

enum { PAIR_HOT = 1, PAIR_WARM, PAIR_WARN, ESCAPE_MS = 25 };

static struct {
    /* is_up: from paint_start() to paint_stop() */
    bool is_up, is_utf8, has_color;
    char *text; /* of the lines that are open */
    size_t n_text;
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
    if (screen == NULL) {
        alqi_cli_say("top: terminal type '%s' is not known; --batch needs none",
                     type != NULL ? type : "");
        return false;
    }
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

/* The style that begins here, or -1; *n its bytes. */
static int
style_find(const struct alqi_cli_term *term, const char *at, size_t *n)
{
    for (int s = ALQI_CLI_BOLD; s <= ALQI_CLI_PLAIN; s++) {
        const char *begin = alqi_cli_style(term, (enum alqi_cli_style)s);

        *n = strlen(begin);
        if (strncmp(at, begin, *n) == 0)
            return s;
    }
    return -1;
}

/* Puts text on a terminal that knows ASCII alone: some letters have a likeness,
 * the others become '?'. */
static void
plain_put(const char *text, size_t n)
{
    static const struct {
        const char *letter;
        char like;
    } likes[] = {{"±", '~'}, {"←", '<'}, {"→", '>'}, {"…", '.'}};

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        char like = '?';

        if ((c & 0xC0) == 0x80)
            continue; /* of the letter before */
        for (size_t k = 0; k < ALQI_COUNT_OF(likes); k++)
            if (strncmp(text + i, likes[k].letter, strlen(likes[k].letter)) ==
                0)
                like = likes[k].like;
        addch(c < 0x80 ? c : (chtype)like);
    }
}

/* curses knows UTF-8 by the locale; without it letters are replaced. */
static void
text_put(const char *text, size_t n)
{
    if (paint.is_utf8)
        addnstr(text, (int)n);
    else
        plain_put(text, n);
}

/* Puts one line on the screen. Text that filled the line has moved the cursor
 * below it: nothing is cleared then. */
static void
line_put(const struct alqi_cli_term *term, int line, const char *text,
         const char *end, bool is_marked)
{
    attr_t marked = is_marked ? A_REVERSE : A_NORMAL;
    size_t n;

    move(line, 0);
    attrset(marked);
    while (text < end) {
        const char *escape = memchr(text, '\033', (size_t)(end - text));
        int style;

        text_put(text, (size_t)((escape != NULL ? escape : end) - text));
        if (escape == NULL)
            break;
        style = style_find(term, escape, &n);
        attrset(marked | attribute(style < 0 ? ALQI_CLI_PLAIN
                                             : (enum alqi_cli_style)style));
        text = escape + (style < 0 ? 1 : n);
    }
    attrset(marked);
    if (getcury(stdscr) == line) {
        if (is_marked)
            hline(' ', COLS);
        else
            clrtoeol();
    }
    attrset(A_NORMAL);
}

/* Colours are always asked for: the sequences carry the styles to
 * line_put(). */
void
alqi_cli_paint_open(struct alqi_cli_term *term)
{
    memset(term, 0, sizeof *term);
    term->has_color = true; /* attribute() knows better */
    term->width = COLS;
    term->out = alqi_cli_memory_open(&paint.text, &paint.n_text);
    if (term->out == NULL) {
        alqi_cli_say("top: no memory for the screen");
        exit(ALQI_CLI_UNREADABLE);
    }
}

/* Ends the stream that paint_open() lent and frees its text. */
int
alqi_cli_paint_take(struct alqi_cli_term *term, int line, int n_most,
                    bool is_marked)
{
    const char *at, *end;
    int n = 0;

    alqi_cli_memory_close(term->out, "the screen");
    term->out = NULL;
    end = paint.text + paint.n_text;
    for (at = paint.text; at < end && n < n_most; n++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        line_put(term, line + n, at, stop != NULL ? stop : end, is_marked);
        at = stop != NULL ? stop + 1 : end;
    }
    free(paint.text);
    paint.text = NULL;
    return n;
}
