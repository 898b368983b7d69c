/* term.h -- where text for people goes: width, colours, pager */
#ifndef ALQI_CLI_TOOL_TERM_H
#define ALQI_CLI_TOOL_TERM_H

#include <stdbool.h>
#include <stdio.h>

#define ALQI_CLI_COLOR_CHOICES "auto always never"

struct alqi_cli_term {
    FILE *out;        /* stdout, or the pager's input */
    bool is_terminal; /* stdout, not the pager */
    /* alqi_cli_style() gives escape sequences */
    bool has_color;
    int width; /* columns */
    /* 0: there is no pager, and out is stdout */
    int pager_pid;
};

enum alqi_cli_style {
    ALQI_CLI_BOLD,
    ALQI_CLI_DIM,
    ALQI_CLI_HOT,
    ALQI_CLI_WARM,
    ALQI_CLI_WARN,
    ALQI_CLI_PLAIN
};

/* color: index in ALQI_CLI_COLOR_CHOICES. */
void alqi_cli_term_start(struct alqi_cli_term *term, int color,
                         bool allows_pager);
/* Waits for the pager. */
void alqi_cli_term_stop(struct alqi_cli_term *term);

/* Escape sequence that begins a style; "" without colours. */
const char *alqi_cli_style(const struct alqi_cli_term *term,
                           enum alqi_cli_style style);

#endif
