/* draw.c -- see draw.h */
#include <stdbool.h>
#include <string.h>

#include "cli/draw.h"
#include "cli/text.h"

enum { LONG_NAME_COLUMNS = 40 };

void
alqi_cli_draw_right(const struct alqi_cli_term *term, const char *text,
                    int columns)
{
    int n = (int)alqi_cli_columns(text);

    fprintf(term->out, "%*s%s", n < columns ? columns - n : 0, "", text);
}

void
alqi_cli_draw_fit(const struct alqi_cli_term *term, enum alqi_cli_style style,
                  const char *text, int *left)
{
    int n = (int)alqi_cli_columns(text);
    const char *begin =
        style == ALQI_CLI_PLAIN ? "" : alqi_cli_style(term, style);
    const char *end =
        begin[0] != '\0' ? alqi_cli_style(term, ALQI_CLI_PLAIN) : "";

    if (*left <= 0)
        return;
    if (n <= *left) {
        fprintf(term->out, "%s%s%s", begin, text, end);
        *left -= n;
        return;
    }
    fprintf(term->out, "%s%.*s…%s", begin,
            (int)alqi_cli_prefix_bytes(text, (size_t)*left - 1), text, end);
    *left = 0;
}

static bool
ends_with(const char *text, size_t n, const char *tail)
{
    size_t k = strlen(tail);

    return n >= k && memcmp(text + n - k, tail, k) == 0;
}

/* Length of a function's name without its parameter list.  "f.(fun)" of OCaml
 * and "operator()" have none. */
static size_t
bare_length(const char *function)
{
    size_t n = strlen(function);
    size_t end = n;
    int depth = 0;

    if (ends_with(function, end, " const"))
        end -= 6;
    if (end == 0 || function[end - 1] != ')')
        return n;
    while (end-- > 0) {
        if (function[end] == ')')
            depth++;
        else if (function[end] == '(' && --depth == 0)
            break;
    }
    if (end == 0 || end == (size_t)-1 || function[end - 1] == '.' ||
        ends_with(function, end, "operator"))
        return n;
    return end;
}

/* Position after the '>' that closes the '<' at i; 0 if none does. */
static size_t
angle_end(const char *s, size_t i, size_t n)
{
    int depth = 0;

    for (; i < n; i++) {
        if (s[i] == '<')
            depth++;
        else if (s[i] == '>' && s[i - 1] != '-' && --depth == 0)
            return i + 1;
    }
    return 0;
}

static bool
opens_arguments(const char *s, size_t i)
{
    return s[i] == '<' && i > 0 && !ends_with(s, i, "operator") &&
           !ends_with(s, i, "operator<");
}

void
alqi_cli_draw_name(char *out, size_t capacity, const char *function)
{
    size_t n = bare_length(function);
    bool is_long = alqi_cli_prefix_bytes(function, LONG_NAME_COLUMNS) < n;
    size_t used = 0;

    for (size_t i = 0; i < n && used + 8 < capacity;) {
        size_t end = is_long && opens_arguments(function, i)
                         ? angle_end(function, i, n)
                         : 0;

        if (end == 0) {
            out[used++] = function[i++];
            continue;
        }
        memcpy(out + used, "<…>", sizeof "<…>" - 1);
        used += sizeof "<…>" - 1;
        i = end;
    }
    out[used] = '\0';
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void
alqi_cli_draw_place(char *out, size_t capacity,
                    const struct alqi_cli_names *names,
                    const struct alqi_cli_frame *frame)
{
    const char *file = base_name(alqi_cli_names_text(names, frame->file));
    const char *function = alqi_cli_names_text(names, frame->function);

    out[0] = '\0';
    if (file[0] == '\0')
        return;
    if (frame->line > 0)
        snprintf(out, capacity, "%s:%d", file, frame->line);
    else if (strncmp(function, file, strlen(file)) != 0)
        snprintf(out, capacity, "%s", file);
}

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
