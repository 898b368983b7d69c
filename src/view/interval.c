/* interval.c -- 95 % intervals of weighted Poisson sums
 *
 * [interval.h] An interval's ends are gamma quantiles, moved and scaled to the
 * sum's cumulants (end_of). A quantile is found by bisection of the incomplete
 * gamma function, or for large shapes by the cube root of Wilson and Hilferty.
 * With every block recorded the interval is the estimate. */
#include "view/interval.h"

/* Bounds of the loops: bisection, series and continued fraction. */
enum { STEPS = 100, TERMS = 3000 };

/* Share beyond each end. */
static const double TAIL = 0.025;
static const double LESS = 0.2;        /* .def.fifth */
static const double UNSEEN = 0.02;     /* .def.unseen */
static const double PEAK = 0.5;        /* .def.peak */
static const double LIFT = 0.5;        /* .def.peak */
static const double PART_ABOVE = 0.75; /* .def.part */
static const double PART_BELOW = 0.4;  /* .def.part */
/* Of a peak's lack, in standard errors, from where on it is told. */
static const double LOPSIDED = 0.25;
/* From here on the cube root is exact enough. */
static const double SHAPE_LARGE = 400;

/* log(gamma(x)) by Stirling's series, shifted to x >= 12. lgamma is not used:
 * it writes to the global signgam, also in the page's WebAssembly. */
static double
log_gamma(double x)
{
    static const double c[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188};
    double shift = 0, sum = 0, power;

    for (; x < 12; x++)
        shift += log(x);
    power = 1 / x;
    for (int i = 0; i < 5; i++, power /= x * x)
        sum += c[i] * power;
    return (x - 0.5) * log(x) - x + 0.918938533204672742 + sum - shift;
}

/* The share below x of a gamma distribution with shape a: by the series, or by
 * the continued fraction of the rest (Lentz). */
static double
gamma_below(double a, double x)
{
    double front = exp(a * log(x) - x - log_gamma(a));

    if (x < a + 1) {
        double term = 1 / a, sum = term;

        for (int i = 1; i < TERMS && term > sum * 1e-16; i++) {
            term *= x / (a + i);
            sum += term;
        }
        return front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;

    for (int i = 1; i < TERMS; i++) {
        double an = -i * (i - a), step;

        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        step = c * d;
        h *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return 1 - front * h;
}

/* Wilson and Hilferty: the cube root is almost normal. p is TAIL or 1 -
 * TAIL. */
static double
by_cube_root(double shape, double p)
{
    double z = p < 0.5 ? -1.959963984540054 : 1.959963984540054;
    double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));

    return root > 0 ? shape * root * root * root : 0;
}

double
alqi_view_gamma_quantile(double shape, double p)
{
    double low = 0, high = 2 * shape + 40;

    if (!(shape > 0))
        return 0;
    if (shape > SHAPE_LARGE && (p == TAIL || p == 1 - TAIL))
        return by_cube_root(shape, p);
    high = shape + 40 * sqrt(shape) + 40;
    for (int i = 0; i < STEPS && high - low > 1e-14 * high; i++) {
        double middle = low + (high - low) / 2;

        if (gamma_below(shape, middle) < p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The end of a sum with these cumulants, .def.gamma. */
static double
end_of(double mean, double variance, double third, double more, double p)
{
    double weight = third / variance, k = variance / weight / weight;

    return mean + weight * (alqi_view_gamma_quantile(k + more, p) - k);
}

/* .def.peak, .def.part: by how much an interval's ends move. */
static void
peak_move(const struct alqi_view_moments *m, struct alqi_view_interval *out)
{
    double lack = (m->peak - 1) * m->estimate, part = fmin(m->part, 1);

    out->low += lack * (LIFT * part - PART_BELOW * (1 - part));
    out->low = fmin(fmax(out->low, m->seen), m->estimate);
    out->high +=
        lack * (part + PART_ABOVE * (1 - part)) + PEAK * m->third / m->variance;
    out->is_lopsided = lack > LOPSIDED * sqrt(m->variance);
}

/* The certain part has no error. If what was not seen is no more than
 * rounding, only the unseen sample is left. */
struct alqi_view_interval
alqi_view_interval(const struct alqi_view_moments *m)
{
    struct alqi_view_interval out = {m->estimate, m->estimate, HUGE_VAL};
    double unseen = m->estimate - m->seen;
    double variance = m->variance, third = m->third, low = 0;

    if (!(m->most > 0))
        return out;
    if (!(unseen > 0 && variance > 0 && third > 0)) /* rounding */
        unseen = variance = third = 0;
    else
        low = end_of(unseen, variance, third, LESS, TAIL);
    variance += UNSEEN * m->most * m->most;
    third += UNSEEN * m->most * m->most * m->most;
    out.low = m->estimate - unseen + fmin(fmax(low, 0), unseen);
    out.high = m->estimate - unseen +
               end_of(unseen, variance, third, 1 - LESS, 1 - TAIL);
    if (m->peak > 0 && unseen > 0)
        peak_move(m, &out);
    out.effective = variance * variance * variance / (third * third);
    return out;
}

struct alqi_view_interval
alqi_view_interval_between(double a_estimate,
                           const struct alqi_view_interval *a,
                           double b_estimate,
                           const struct alqi_view_interval *b)
{
    double change = b_estimate - a_estimate;

    return (struct alqi_view_interval){
        .low = change - hypot(b_estimate - b->low, a->high - a_estimate),
        .high = change + hypot(b->high - b_estimate, a_estimate - a->low),
        .effective = fmin(a->effective, b->effective),
        .is_lopsided = a->is_lopsided || b->is_lopsided,
    };
}
