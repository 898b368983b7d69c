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

/* Bytes divided by `by`, in the unit that is left. Without a sample there is
 * still an upper end: blocks that nobody saw. */
static struct alqi_cli_error_text
of_bytes(const struct alqi_cli_estimator *e, const struct alqi_cli_sum *s,
         double by, const char *unit)
{
    struct alqi_view_interval x = alqi_cli_bytes_interval(e, s);
    struct alqi_cli_error_text out = {""};

    if (!alqi_cli_is_sampled(e))
        return out;
    if (s->objects == 0)
        snprintf(out.text, sizeof out.text, "at most %s%s",
                 alqi_cli_text_bytes(x.high / by).text, unit);
    else if (alqi_view_is_few(&x))
        snprintf(out.text, sizeof out.text, "[%s%s, %s%s]",
                 alqi_cli_text_bytes(x.low / by).text, unit,
                 alqi_cli_text_bytes(x.high / by).text, unit);
    else
        snprintf(out.text, sizeof out.text, "± %s%s",
                 alqi_cli_text_bytes(alqi_cli_stderr(s->bytes_var) / by).text,
                 unit);
    return out;
}

struct alqi_cli_error_text
alqi_cli_error_of_bytes(const struct alqi_cli_estimator *e,
                        const struct alqi_cli_sum *s)
{
    return of_bytes(e, s, 1, "");
}

struct alqi_cli_error_text
alqi_cli_error_of_rate(const struct alqi_cli_estimator *e,
                       const struct alqi_cli_sum *s, double seconds)
{
    return of_bytes(e, s, seconds, "/s");
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
struct alqi_cli_text
alqi_cli_error_percent(const struct alqi_cli_estimator *e,
                       const struct alqi_cli_sum *s)
{
    struct alqi_view_interval x = alqi_cli_bytes_interval(e, s);
    struct alqi_cli_text out = {""};
    double percent = 100 / s->bytes;

    if (!alqi_cli_is_sampled(e) || !(s->bytes > 0))
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
