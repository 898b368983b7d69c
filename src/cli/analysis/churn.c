/* churn.c -- by how much the peak may lie above what was found of it
 *
 * [churn.h] Blocks enter when they are gone, by the set of colours at whose
 * last moments they were live. A later moment of a colour takes that colour out
 * of all sets. */
#include <math.h>

#include "cli/analysis/churn.h"

/* Of the height that churn does not explain, where blocks stay (.def.grow). */
static const double GROWTH = 0.5;

static void
sum_join(struct alqi_cli_churn_sum *to, const struct alqi_cli_churn_sum *from)
{
    to->own += from->own;
    to->sampled += from->sampled;
    to->colour += from->colour;
}

void
alqi_cli_churn_moment(struct alqi_cli_churn *c, unsigned colours)
{
    for (unsigned m = 1; m <= ALQI_VIEW_ALL_COLOURS; m++) {
        if ((m & colours) == 0)
            continue;
        sum_join(&c->sums[m & ~colours], &c->sums[m]);
        c->sums[m] = (struct alqi_cli_churn_sum){0};
    }
}

/* The sample's square of bytes over p^2, less (1 - p) of it, stands for
 * bytes^2. */
void
alqi_cli_churn_gone(struct alqi_cli_churn *c, unsigned colours,
                    const struct alqi_cli_weight *w,
                    const struct alqi_cli_weight *in_colour)
{
    struct alqi_cli_churn_sum sum = {
        .own = w->bytes * w->bytes - w->bytes_var,
        .sampled = w->bytes_var,
        .colour = in_colour->bytes_var * w->objects / in_colour->objects,
    };

    sum_join(&c->sums[colours], &sum);
}

/* The share f of .def.lack, of the blocks that come and go. */
static double
churn_share(const struct alqi_cli_churn_sum *sum)
{
    double found = sum->own / sqrt(sum->own + sum->colour);

    if (!(sum->own > 0 && sum->sampled > 0))
        return 0;
    return (sqrt(sum->own) - found) / (sqrt(sum->own + sum->sampled) - found);
}

/* What comes and goes is summed over the pairs of colours, what the one has and
 * the other has not; the number of pairs goes out of the quotients. */
double
alqi_cli_churn_lack(const struct alqi_cli_churn *c, double above)
{
    struct alqi_cli_churn_sum sum = {0};
    double all = 0, share;

    for (unsigned m = 1; m <= ALQI_VIEW_ALL_COLOURS; m++) {
        unsigned n_in = (unsigned)__builtin_popcount(m);

        for (unsigned i = 0; i < n_in * (ALQI_VIEW_COLOURS - n_in); i++)
            sum_join(&sum, &c->sums[m]);
        all += (ALQI_VIEW_COLOURS - 1) * n_in * c->sums[m].sampled;
    }
    if (!(all > 0 && above > 0))
        return 0;
    share = churn_share(&sum);
    return above * (share + (1 - share) * GROWTH * (1 - sum.sampled / all));
}
