/* top_paint.h -- what top draws, on the screen of curses */
#ifndef ALQI_CLI_LIVE_TOP_PAINT_H
#define ALQI_CLI_LIVE_TOP_PAINT_H

#include <stdbool.h>

#include "cli/tool/term.h"

/* The screen begins.  False: the terminal is none that it could use; said. */
bool alqi_cli_paint_start(void);
void alqi_cli_paint_stop(void);

/* From here on what is printed to term is drawn on the screen, from `line` on,
 * at most n_most lines; lines that are marked are shown the other way round.
 * Each ends with its "\n", printed by itself. */
void alqi_cli_paint_at(struct alqi_cli_term *term, int line, int n_most,
                       bool is_marked);

#endif
