/* limits_plot.c -- how accurate limits are, drawn
 *
 * Across: the limit, k = 1, 2, ... samples of it, both scales logarithmic. Up:
 * (limit - safe) / safe, a curve for each probability. One file without
 * references; colours are told apart by the curves' names at their ends. The
 * file is written from back to front: grid, curves, mark. */
#include <math.h>

#include "base/base.h"
#include "cli/report/limits.h"
#include "cli/tool/text.h"
#include "limit/plan.h"

enum {
    WIDTH = 760,
    HEIGHT = 460,
    LEFT = 74,
    RIGHT = 84,
    TOP = 56,
    BOTTOM = 58,
    LINE = 16,
    DECADES_X = 4, /* k from 1 to 10,000                   */
    POINTS = 160   /* a curve; each is a k of its own */
};

static const double ERROR_LOW = 0.01, ERROR_HIGH = 1e4;
static const char *const colours[] = {"#b35806", "#1b7a4b", "#3659b5"};

/* Where the k-th sample lies across, in the drawing's units. */
static double
x_of(double k)
{
    return LEFT + log10(k) / DECADES_X * (WIDTH - LEFT - RIGHT);
}

/* Where a relative error lies; SVG counts from the top. */
static double
y_of(double error)
{
    double up = log10(error / ERROR_LOW) / log10(ERROR_HIGH / ERROR_LOW);

    return HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM);
}

/* How far a limit of k samples lies above what is safe under it. */
static double
error_of(uint64_t k, uint64_t interval_words, double probability)
{
    double limit = (double)k * (double)interval_words;

    return limit / (double)alqi_limit_safe_words(k * interval_words,
                                                 interval_words, probability) -
           1;
}

/* ---- the frame ---------------------------------------------------------- */

/* Lines of the grid at powers of ten, named by the limit that they mean. */
static void
across(const struct alqi_cli_limits *l, FILE *out)
{
    for (int i = 0; i <= DECADES_X; i++) {
        double k = pow(10, i);

        fprintf(out,
                "<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x_of(k), TOP, HEIGHT - BOTTOM, x_of(k), HEIGHT - BOTTOM + 20,
                alqi_cli_text_words(k * (double)l->interval_words).text);
    }
    fprintf(out,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">limit</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
}

/* Lines of the grid for errors, with their names at the left. */
static void
upwards(FILE *out)
{
    static const struct {
        double error;
        const char *text;
    } marks[] = {{0.01, "1 %"},    {0.1, "10 %"},  {1, "100 %"},
                 {10, "10 x"},     {100, "100 x"}, {1000, "1,000 x"},
                 {1e4, "10,000 x"}};

    for (size_t i = 0; i < ALQI_COUNT_OF(marks); i++)
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, y_of(marks[i].error), WIDTH - RIGHT, LEFT - 8,
                y_of(marks[i].error) + 4, marks[i].text);
}

/* ---- what is in it ------------------------------------------------------ */

/* Returns where it ends, or 0: it has no point on the paper. */
static double
curve(const struct alqi_cli_limits *l, int which, FILE *out)
{
    double probability = alqi_cli_limits_targets[which];
    double end = 0;
    uint64_t last = 0;

    fprintf(out, "<path class=\"curve\" stroke=\"%s\" d=\"", colours[which]);
    for (int i = 0; i <= POINTS; i++) {
        uint64_t k = (uint64_t)(pow(10, (double)i / POINTS * DECADES_X) + 0.5);
        double error;

        if (k == last)
            continue;
        last = k;
        error = error_of(k, l->interval_words, probability);
        if (!(error > 0 && error <= ERROR_HIGH))
            continue; /* nothing is safe, or off the paper */
        fprintf(out, "%c%.1f %.1f", end == 0 ? 'M' : 'L', x_of((double)k),
                y_of(error > ERROR_LOW ? error : ERROR_LOW));
        end = y_of(error > ERROR_LOW ? error : ERROR_LOW);
    }
    fputs("\"/>\n", out);
    return end;
}

/* Names beside the ends, the lowest first, a line apart. */
static void
curves(const struct alqi_cli_limits *l, FILE *out)
{
    double below = HEIGHT;

    for (int i = 0; i < ALQI_CLI_LIMITS_TARGETS; i++) {
        double y = curve(l, i, out);

        if (y == 0)
            continue;
        if (y > below - LINE)
            y = below - LINE;
        below = y;
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" fill=\"%s\">%s</text>\n",
                WIDTH - RIGHT + 6, y + 4, colours[i],
                alqi_cli_limits_chances[i]);
    }
}

/* The limit that was asked for. */
static void
mark(const struct alqi_cli_limits *l, FILE *out)
{
    double k = (double)alqi_limit_samples(l->limit_words, l->interval_words);

    if (!(l->has_task || l->has_limit) || k > pow(10, DECADES_X))
        return;
    fprintf(out,
            "<path class=\"mark\" d=\"M%.1f %dV%d\"/>"
            "<text x=\"%.1f\" y=\"%d\">%s</text>\n",
            x_of(k), TOP, HEIGHT - BOTTOM, x_of(k) + 5, TOP + 14,
            alqi_cli_text_words((double)l->limit_words).text);
}

/* The style sheet is in the file: it stands alone. */
void
alqi_cli_limits_plot(const struct alqi_cli_limits *l, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "role=\"img\">\n<title>How accurate limits are</title>\n"
            "<style>svg{background:#fff;fill:#333}"
            "text{font:13px sans-serif}.grid{stroke:#ddd}"
            ".curve{fill:none;stroke-width:2}"
            ".mark{stroke:#333;stroke-dasharray:4 3}"
            ".head{font-size:16px}</style>\n"
            "<text class=\"head\" x=\"%d\" y=\"24\">How far a limit lies above "
            "what is safe under it</text>\n"
            "<text x=\"%d\" y=\"44\">(limit - safe) / safe, for three chances "
            "to be stopped all the same; one sample in %s</text>\n",
            WIDTH, HEIGHT, LEFT, LEFT,
            alqi_cli_text_words((double)l->interval_words).text);
    across(l, out);
    upwards(out);
    curves(l, out);
    mark(l, out);
    fputs("</svg>\n", out);
}
