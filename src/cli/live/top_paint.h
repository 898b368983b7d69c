/* top_paint.h -- lines with styles on the screen
 *
 * What the other parts draw is text with escape sequences (term.h): here it is
 * taken apart again for the screen, which knows what the terminal can show. */
#ifndef ALQI_CLI_LIVE_TOP_PAINT_H
#define ALQI_CLI_LIVE_TOP_PAINT_H

#include <stdbool.h>

#include "cli/tool/term.h"

/* The screen begins.  False: the terminal is none that it could use; said. */
bool alqi_cli_paint_start(void);
void alqi_cli_paint_stop(void);

/* From here on what is printed to term->out becomes lines; take() puts them on
 * the screen from `line` on, at most n_most, and returns how many there were.
 * A line that is marked is shown the other way round. */
void alqi_cli_paint_open(struct alqi_cli_term *term);
int alqi_cli_paint_take(struct alqi_cli_term *term, int line, int n_most,
                        bool is_marked);

#endif
