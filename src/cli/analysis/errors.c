/* errors.c -- an estimate's error as a text of one of two forms
 *
 * [errors.h] The choice between the two forms is alqi_view_is_few of the
 * figure's own interval: a count of blocks may have few effective samples
 * where the bytes of the same blocks have many. Where every block is recorded
 * all texts are empty. */
#include <math.h>
#include <stdio.h>

#include "cli/analysis/errors.h"
#include "cli/tool/text.h"

/* The widest that a column of percents takes. */
static const double PERCENT_MOST = 9999;

/* Without a sample there is still an upper end: blocks that nobody saw. */
struct alqi_cli_error_text
alqi_cli_error_of_bytes(const struct alqi_cli_estimator *e,
                        const struct alqi_cli_sum *s)
{
    struct alqi_view_interval x = alqi_cli_bytes_interval(e, s);
    struct alqi_cli_error_text out = {""};

    if (!alqi_cli_is_sampled(e))
        return out;
    if (s->objects == 0)
        snprintf(out.text, sizeof out.text, "at most %s",
                 alqi_cli_text_bytes(x.high).text);
    else if (alqi_view_is_few(&x))
        snprintf(out.text, sizeof out.text, "[%s, %s]",
                 alqi_cli_text_bytes(x.low).text,
                 alqi_cli_text_bytes(x.high).text);
    else
        snprintf(out.text, sizeof out.text, "± %s",
                 alqi_cli_text_bytes(alqi_cli_stderr(s->bytes_var)).text);
    return out;
}

struct alqi_cli_error_text
alqi_cli_error_of_objects(const struct alqi_cli_estimator *e,
                          const struct alqi_cli_sum *s)
{
    struct alqi_view_interval x = alqi_cli_objects_interval(e, s);
    struct alqi_cli_error_text out = {""};

    if (!alqi_cli_is_sampled(e) || s->objects == 0)
        return out;
    if (alqi_view_is_few(&x))
        snprintf(out.text, sizeof out.text, "[%s, %s]",
                 alqi_cli_text_count(x.low).text,
                 alqi_cli_text_count(x.high).text);
    else
        snprintf(
            out.text, sizeof out.text, "±%s",
            alqi_cli_text_percent(alqi_cli_stderr(s->objects_var) / s->objects)
                .text);
    return out;
}

/* The interval's form has two numbers, for it is not symmetric. */
struct alqi_cli_error_text
alqi_cli_error_percent(const struct alqi_cli_estimator *e,
                       const struct alqi_cli_sum *s)
{
    struct alqi_view_interval x = alqi_cli_bytes_interval(e, s);
    struct alqi_cli_error_text out = {""};
    double percent = s->bytes > 0 ? 100 / s->bytes : 0;

    if (!alqi_cli_is_sampled(e))
        return out;
    if (alqi_view_is_few(&x))
        snprintf(out.text, sizeof out.text, "-%.0f+%.0f%%",
                 percent * (s->bytes - x.low),
                 fmin(percent * (x.high - s->bytes), PERCENT_MOST));
    else
        snprintf(out.text, sizeof out.text, "%.0f%%",
                 percent * alqi_cli_stderr(s->bytes_var));
    return out;
}
