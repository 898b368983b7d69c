/* summary_timeline.c -- live bytes over time, drawn
 *
 * The drawing stretches to any width, so it has no text in it: labels stand
 * beside it as text. The area is that of the analysis's timeline, one step of
 * it after the other; the axis ends at a round number above the highest one. */
#include <inttypes.h>

#include "cli/export/summary.h"
#include "cli/tool/text.h"

enum { WIDTH = 1000, HEIGHT = 200, STEPS = 4 };

/* The least of 1, 2, 4, 8 ... KiB-like steps of which STEPS reach the top. */
static double
axis_top(double highest)
{
    double step = 1;

    while (step * STEPS < highest)
        step *= 2;
    if (step > 1 && step * 0.75 * STEPS >= highest)
        step *= 0.75;
    return step * STEPS;
}

/* Where a time lies across; the last step may reach beyond the end. */
static double
x_of(const struct alqi_cli_analysis *a, double us)
{
    double x = us / (double)a->end_us * WIDTH;

    return x > WIDTH ? WIDTH : x;
}

/* The area below the curve, as one path of steps. */
static void
area(const struct alqi_cli_analysis *a, double top, FILE *out)
{
    const struct alqi_cli_timeline *t = &a->timeline;

    fprintf(out, "<path class=area d=\"M0 %d", HEIGHT);
    for (uint32_t i = 0; i < t->n; i++)
        fprintf(out, "V%.1fH%.1f", HEIGHT * (1 - t->live[i] / top),
                x_of(a, (double)(i + 1) * (double)t->step_us));
    fprintf(out, "V%dZ\"/>\n", HEIGHT);
}

/* Area, grid and the line of the peak, in this order, so that lines stay
 * seen. */
static void
drawing(const struct alqi_cli_analysis *a, double top, FILE *out)
{
    double x = x_of(a, (double)alqi_cli_peak_us(a));

    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=none role=img "
            "aria-labelledby=over-time>\n",
            WIDTH, HEIGHT);
    area(a, top, out);
    for (int i = 0; i <= STEPS; i++)
        fprintf(out,
                "<path class=grid vector-effect=non-scaling-stroke "
                "d=\"M0 %dH%d\"/>",
                i * HEIGHT / STEPS, WIDTH);
    fprintf(out,
            "\n<path class=peak vector-effect=non-scaling-stroke "
            "d=\"M%.1f 0V%d\"/></svg>\n",
            x, HEIGHT);
}

/* The grid of labels around the drawing: sizes at the left, times below. */
static void
labels(const struct alqi_cli_analysis *a, double top, FILE *out)
{
    fputs("<div class=y aria-hidden=true>", out);
    for (int i = STEPS; i >= 0; i--)
        fprintf(out, "<span>%s</span>",
                alqi_cli_text_bytes(top * i / STEPS).text);
    fputs("</div>\n", out);
    drawing(a, top, out);
    fputs("<div class=x aria-hidden=true>", out);
    for (int i = 0; i <= STEPS; i++)
        fprintf(out, "<span>%s</span>",
                alqi_cli_text_duration((double)a->end_us * i / STEPS).text);
    fputs("</div>", out);
}

/* A program that ended within the first step has no curve: a sentence says
 * so. */
void
alqi_cli_summary_timeline(const struct alqi_cli_summary *s)
{
    const struct alqi_cli_analysis *a = &s->export->analysis;
    FILE *out = s->out;

    fputs("<section id=time><h2 id=over-time>Live bytes over time</h2>\n", out);
    if (a->timeline.n < 2 || a->most_bytes <= 0 || a->end_us == 0) {
        fputs("<p>Too short to draw.</p></section>\n", out);
        return;
    }
    fprintf(out,
            "<figure><figcaption class=dim>Of all blocks. Peak: %s after %s "
            "(the upright line).</figcaption>\n<div class=plot>",
            alqi_cli_text_bytes(a->totals[ALQI_CLI_PEAK].bytes).text,
            alqi_cli_text_duration((double)alqi_cli_peak_us(a)).text);
    labels(a, axis_top(a->most_bytes), out);
    fputs("</div></figure></section>\n", out);
}
