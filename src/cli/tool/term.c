/* term.c -- the terminal or pipe that text for people goes to
 *
 * term_start() finds the width, decides on colours and may start a pager, whose
 * input is then term->out; term_stop() waits for it.  Without colours every
 * style is "", so that callers print styles without asking. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/term.h"

enum { WIDTH_DEFAULT = 100, WIDTH_LEAST = 40, WIDTH_MOST = 400 };

/* Columns to fill: COLUMNS if it is set, else what the terminal says, else
 * WIDTH_DEFAULT; within what the tables can be laid out in. */
static int
width_find(bool is_terminal)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int width = WIDTH_DEFAULT;

    if (columns != NULL && atoi(columns) > 0)
        width = atoi(columns);
    else if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
             size.ws_col > 0)
        width = size.ws_col;
    if (width < WIDTH_LEAST)
        return WIDTH_LEAST;
    return width > WIDTH_MOST ? WIDTH_MOST : width;
}

/* Whether to write colours. `color` is the option's choice: 1 and 2 decide; 0
 * leaves it to NO_COLOR, TERM and whether stdout is a terminal. */
static bool
color_wanted(int color, bool is_terminal)
{
    const char *no_color = getenv("NO_COLOR");
    const char *type = getenv("TERM");

    if (color != 0)
        return color == 1;
    if (no_color != NULL && no_color[0] != '\0')
        return false;
    return is_terminal && type != NULL && strcmp(type, "dumb") != 0;
}

/* Makes the pager's input term->out. If no pager is wanted or none can be
 * started, term->out stays stdout and pager_pid 0. */
static void
pager_start(struct alqi_cli_term *term)
{
    const char *pager = getenv("PAGER");
    int ends[2];
    pid_t pid;

    if (pager == NULL)
        pager = "less";
    if (pager[0] == '\0' || strcmp(pager, "cat") == 0 || pipe(ends) != 0)
        return;
    pid = fork();
    if (pid == 0) {
        setenv("LESS", "FRX", 0);
        setenv("LESSCHARSET", "utf-8", 0);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        /* When the pager is missing the text must still appear. */
        execl("/bin/sh", "sh", "-c", "$0 || cat", pager, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    /* A pager that is left early is no reason to die before it has put the
     * terminal back. */
    signal(SIGPIPE, SIG_IGN);
    if (pid > 0)
        term->out = fdopen(ends[1], "w");
    if (pid > 0 && term->out != NULL) {
        term->pager_pid = pid;
        return;
    }
    close(ends[1]);
    term->out = stdout;
}

/* Requires that nothing was printed yet: a pager gets what comes from now
 * on. */
void
alqi_cli_term_start(struct alqi_cli_term *term, int color, bool allows_pager)
{
    term->out = stdout;
    term->paint = NULL;
    term->pager_pid = 0;
    term->is_terminal = isatty(STDOUT_FILENO) != 0;
    term->has_color = color_wanted(color, term->is_terminal);
    term->width = width_find(term->is_terminal);
    if (allows_pager && term->is_terminal)
        pager_start(term);
}

/* fclose() comes first: the pager sees the end of its input only then, and it
 * would never be left otherwise. */
void
alqi_cli_term_stop(struct alqi_cli_term *term)
{
    if (term->pager_pid == 0)
        return;
    fclose(term->out);
    while (waitpid(term->pager_pid, NULL, 0) < 0 && errno == EINTR)
        ;
    term->out = stdout;
}

/* Sequences of ECMA-48, which every terminal with colours knows. */
const char *
alqi_cli_style(const struct alqi_cli_term *term, enum alqi_cli_style style)
{
    static const char *const sequences[] = {
        [ALQI_CLI_BOLD] = "\033[1m",   [ALQI_CLI_DIM] = "\033[2m",
        [ALQI_CLI_HOT] = "\033[1;31m", [ALQI_CLI_WARM] = "\033[33m",
        [ALQI_CLI_WARN] = "\033[35m",  [ALQI_CLI_PLAIN] = "\033[0m",
    };

    return term->has_color ? sequences[style] : "";
}

/* A plain text has no sequences around it. */
void
alqi_cli_print(const struct alqi_cli_term *term, enum alqi_cli_style style,
               const char *format, ...)
{
    const bool is_plain = style == ALQI_CLI_PLAIN;
    va_list args;
    char *text;

    va_start(args, format);
    if (term->paint == NULL) {
        fputs(is_plain ? "" : alqi_cli_style(term, style), term->out);
        vfprintf(term->out, format, args);
        fputs(is_plain ? "" : alqi_cli_style(term, ALQI_CLI_PLAIN), term->out);
    } else if (vasprintf(&text, format, args) >= 0) {
        term->paint(style, text);
        free(text);
    }
    va_end(args);
}
