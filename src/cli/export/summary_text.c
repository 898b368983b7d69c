/* summary_text.c -- texts and figures of the summary, as HTML
 *
 * .inv.escaped  What comes from a trace reaches the page through
 *               alqi_cli_summary_text() alone, which leaves no character that
 *               HTML takes for markup. */
#include <inttypes.h>

#include "cli/export/summary.h"
#include "cli/tool/text.h"

/* Requires cleaned text. The ellipsis takes one of the columns. */
void
alqi_cli_summary_text(FILE *out, const char *text, size_t columns)
{
    bool is_cut = alqi_cli_columns(text) > columns;
    size_t n = alqi_cli_prefix_bytes(text, is_cut ? columns - 1 : columns);

    for (size_t i = 0; i < n; i++)
        switch (text[i]) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(text[i], out);
        }
    fputs(is_cut ? "…" : "", out);
}

void
alqi_cli_summary_bytes(FILE *out, int64_t whole)
{
    fprintf(out,
            "<td class=n><data class=bytes value=\"%" PRId64 "\">%s</data>",
            whole, alqi_cli_text_bytes((double)whole).text);
}

void
alqi_cli_summary_objects(FILE *out, int64_t whole)
{
    fprintf(out,
            "<td class=n><data class=objects value=\"%" PRId64 "\">%s</data>",
            whole, alqi_cli_text_count((double)whole).text);
}
