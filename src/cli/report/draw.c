/* draw.c -- columns, names and bars of the tables that people read
 *
 * Widths are counted in columns of UTF-8, never in bytes.  draw_fit() prints at
 * most *left columns and takes what it used from *left, so that a row never
 * wraps.  Nothing is kept between two calls. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "view/cxxname.h"
#include "cli/report/draw.h"
#include "cli/tool/text.h"

void
alqi_cli_draw_cell(const struct alqi_cli_term *term, enum alqi_cli_style style,
                   const char *text, int columns)
{
    int n = (int)alqi_cli_columns(text);

    alqi_cli_print(term, style, "%*s%s", n < columns ? columns - n : 0, "",
                   text);
}

void
alqi_cli_draw_right(const struct alqi_cli_term *term, const char *text,
                    int columns)
{
    alqi_cli_draw_cell(term, ALQI_CLI_PLAIN, text, columns);
}

/* Takes nothing when *left is 0 or less, so callers need not check. */
void
alqi_cli_draw_fit(const struct alqi_cli_term *term, enum alqi_cli_style style,
                  const char *text, int *left)
{
    int n = (int)alqi_cli_columns(text);

    if (*left <= 0)
        return;
    if (n <= *left)
        alqi_cli_print(term, style, "%s", text);
    else
        alqi_cli_print(term, style, "%.*s…",
                       (int)alqi_cli_prefix_bytes(text, (size_t)*left - 1),
                       text);
    *left = n <= *left ? *left - n : 0;
}

void
alqi_cli_draw_fit_name(const struct alqi_cli_term *term,
                       enum alqi_cli_style style, const char *name, int *left)
{
    size_t n = alqi_cli_columns(name), tail;

    if (*left < 5 || n <= (size_t)*left) {
        alqi_cli_draw_fit(term, style, name, left);
        return;
    }
    tail = (size_t)*left / 2;
    alqi_cli_print(term, style, "%.*s…%s",
                   (int)alqi_cli_prefix_bytes(name, (size_t)*left - 1 - tail),
                   name, name + alqi_cli_prefix_bytes(name, n - tail));
    *left = 0;
}

/* Without memory nothing is printed. */
void
alqi_cli_draw_text(const struct alqi_cli_term *term, enum alqi_cli_style style,
                   int *left, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0) {
        alqi_cli_draw_fit(term, style, text, left);
        free(text);
    }
    va_end(args);
}

const char *
alqi_cli_measure_name(enum alqi_cli_measure measure)
{
    static const char *const names[] = {"allocated", "live", "peak",
                                        "temporary"};

    return names[measure];
}

const char *
alqi_cli_grouping_name(enum alqi_cli_grouping grouping)
{
    static const char *const names[] = {"function", "line", "file", "module"};

    return names[grouping];
}

void
alqi_cli_draw_name(char *out, size_t capacity, const char *function)
{
    alqi_view_cxxname_shorten(out, capacity, function, ALQI_VIEW_NAME_COLUMNS);
}

/* By function and by line a group is its function; by file its file, or the
 * module if no file is known. */
void
alqi_cli_draw_group(char *out, size_t capacity,
                    const struct alqi_cli_names *names,
                    const struct alqi_cli_frame *f,
                    enum alqi_cli_grouping grouping)
{
    uint32_t text = f->module;

    if (grouping <= ALQI_CLI_BY_LINE) {
        alqi_cli_draw_name(out, capacity,
                           alqi_cli_names_text(names, f->function));
        return;
    }
    if (grouping == ALQI_CLI_BY_FILE && f->file != ALQI_CLI_NO_NAME)
        text = f->file;
    snprintf(out, capacity, "%s", alqi_cli_names_text(names, text));
}

/* The part of path behind its last slash; path itself if nothing stands
 * there. */
struct alqi_cli_frame
alqi_cli_frame_grouped(const struct alqi_cli_frame *frame,
                       enum alqi_cli_grouping grouping)
{
    struct alqi_cli_frame f = alqi_cli_frame_masked(frame, grouping);

    f.module = frame->module;
    return f;
}

/* A function that begins with its file's name tells the place already, as those
 * without symbols do. */
void
alqi_cli_draw_place(char *out, size_t capacity,
                    const struct alqi_cli_names *names,
                    const struct alqi_cli_frame *frame)
{
    const char *file =
        alqi_base_file_name(alqi_cli_names_text(names, frame->file));
    const char *function = alqi_cli_names_text(names, frame->function);

    out[0] = '\0';
    if (file[0] == '\0')
        return;
    if (frame->line > 0)
        snprintf(out, capacity, "%s:%d", file, frame->line);
    else if (strncmp(function, file, strlen(file)) != 0)
        snprintf(out, capacity, "%s", file);
}

/* A value above 0 has a bar of at least one eighth; 0 is a blank. */
void
alqi_cli_draw_spark(const struct alqi_cli_term *term, const double *values,
                    unsigned n, double highest)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

    for (unsigned i = 0; i < n; i++) {
        double share = highest > 0 ? values[i] / highest : 0;
        int k = (int)(share * 8);

        if (k > 7)
            k = 7;
        fputs(share > 0 ? bars[k < 0 ? 0 : k] : " ", term->out);
    }
}
