/* term.h -- where text for people goes: width, colours, pager */
#ifndef ALQI_CLI_TOOL_TERM_H
#define ALQI_CLI_TOOL_TERM_H

#include <stdbool.h>
#include <stdio.h>

#define ALQI_CLI_COLOR_CHOICES "auto always never"

enum alqi_cli_style {
    ALQI_CLI_BOLD,
    ALQI_CLI_DIM,
    ALQI_CLI_HOT,
    ALQI_CLI_WARM,
    ALQI_CLI_WARN,
    ALQI_CLI_PLAIN
};

struct alqi_cli_term {
    FILE *out; /* stdout, or the pager's input */
    /* draws what is printed; NULL: it is written to out, as text */
    void (*paint)(enum alqi_cli_style style, const char *text);
    bool is_terminal; /* stdout, not the pager */
    /* alqi_cli_style() gives escape sequences */
    bool has_color;
    int width; /* columns */
    /* 0: there is no pager, and out is stdout */
    int pager_pid;
};

/* color: index in ALQI_CLI_COLOR_CHOICES. */
void alqi_cli_term_start(struct alqi_cli_term *term, int color,
                         bool allows_pager);
/* Waits for the pager. */
void alqi_cli_term_stop(struct alqi_cli_term *term);

/* Escape sequence that begins a style; "" without colours. */
const char *alqi_cli_style(const struct alqi_cli_term *term,
                           enum alqi_cli_style style);

/* Prints a text in a style. */
void alqi_cli_print(const struct alqi_cli_term *term, enum alqi_cli_style style,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
