/* draw.h -- lines of fixed width, and names short enough to read */
#ifndef ALQI_CLI_REPORT_DRAW_H
#define ALQI_CLI_REPORT_DRAW_H

#include <stddef.h>

#include "cli/analysis/groups.h"
#include "cli/read/names.h"
#include "cli/tool/term.h"

/* Right-aligned in `columns` columns; plain, or in a style. */
void alqi_cli_draw_cell(const struct alqi_cli_term *term,
                        enum alqi_cli_style style, const char *text,
                        int columns);
void alqi_cli_draw_right(const struct alqi_cli_term *term, const char *text,
                         int columns);

/* Prints text, or what is formatted, in at most *left columns, with an ellipsis
 * when it is cut, and takes them from *left. */
void alqi_cli_draw_fit(const struct alqi_cli_term *term,
                       enum alqi_cli_style style, const char *text, int *left);

/* The same of a name: it loses its middle. */
void alqi_cli_draw_fit_name(const struct alqi_cli_term *term,
                            enum alqi_cli_style style, const char *name,
                            int *left);

void alqi_cli_draw_text(const struct alqi_cli_term *term,
                        enum alqi_cli_style style, int *left,
                        const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "live", "peak" ... as in the options and in JSON keys. */
const char *alqi_cli_measure_name(enum alqi_cli_measure measure);

/* "function", "line" ... as in the options. */
const char *alqi_cli_grouping_name(enum alqi_cli_grouping grouping);

/* A function's name without return type and parameters; template arguments of
 * long names are shortened to <...>. */
void alqi_cli_draw_name(char *out, size_t capacity, const char *function);

/* The words by which a group is known. */
void alqi_cli_draw_group(char *out, size_t capacity,
                         const struct alqi_cli_names *names,
                         const struct alqi_cli_frame *frame,
                         enum alqi_cli_grouping grouping);

/* The frame with its module and what else the grouping tells of it. */
struct alqi_cli_frame alqi_cli_frame_grouped(const struct alqi_cli_frame *frame,
                                             enum alqi_cli_grouping grouping);

/* "file.c:12", "file.c", or "" when it would tell nothing new. */
void alqi_cli_draw_place(char *out, size_t capacity,
                         const struct alqi_cli_names *names,
                         const struct alqi_cli_frame *frame);

/* Eight heights of blocks; values[i] / highest. */
void alqi_cli_draw_spark(const struct alqi_cli_term *term, const double *values,
                         unsigned n, double highest);

#endif
