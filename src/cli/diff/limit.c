/* limit.c -- did it grow by more than allowed, and not by chance?
 *
 * .def.limit  Bytes, or a share of A's total; sites are held to the same
 *             bytes as the total, since a small site may well double.
 * .def.beyond For a site of a and b bytes and a limit of s times the total T
 *             of A, what counts is b - a - s T.  Its variance is
 *             var b + (1 + 2 s) var a + s^2 var T, a being a part of T; for
 *             the total, a is T.  A limit in bytes has no variance. */
#include <math.h>
#include <stdlib.h>

#include "cli/tool/cli.h"
#include "cli/diff/diff.h"
#include "cli/report/draw.h"
#include "view/significance.h"
#include "cli/tool/text.h"

enum { NAME_BYTES = 512 };

/* .def.limit */
double
alqi_cli_limit_bytes(const struct alqi_cli_diff *d)
{
    double total = d->comparison.totals[d->measure].a.bytes;

    return d->limit.share > 0 ? d->limit.share * total : d->limit.bytes;
}

/* .def.beyond; 1 when the change stays within the limit. */
static double
beyond_chance(const struct alqi_cli_diff *d, const struct alqi_cli_change *c)
{
    const struct alqi_cli_sum *total = &d->comparison.totals[d->measure].a;
    double s = d->limit.share;
    double beyond = c->bytes - alqi_cli_limit_bytes(d);
    double variance =
        c->variance + 2 * s * c->a.bytes_var + s * s * total->bytes_var;
    double largest = c->a.largest_bytes > c->b.largest_bytes
                         ? c->a.largest_bytes
                         : c->b.largest_bytes;

    if (beyond <= 0)
        return 1;
    return alqi_view_chance(alqi_view_sigmas(beyond, variance, largest));
}

/* The chance of each site, corrected for their number (Holm): among thousands
 * of sites some seem to grow by chance. To be freed. */
static double *
site_chances(const struct alqi_cli_diff *d)
{
    const struct alqi_cli_comparison *c = &d->comparison;
    double *p = alqi_cli_realloc(NULL, c->n_pairs, sizeof *p);

    for (uint32_t i = 0; i < c->n_pairs; i++)
        p[i] = beyond_chance(d, &c->pairs[i].change);
    if (!alqi_view_holm(p, c->n_pairs))
        alqi_cli_die("out of memory for %u sites", c->n_pairs);
    return p;
}

/* The total is one test that was planned, so its chance is not corrected. */
uint32_t
alqi_cli_limit_check(const struct alqi_cli_diff *d,
                     struct alqi_cli_growth **out)
{
    const struct alqi_cli_comparison *c = &d->comparison;
    const struct alqi_cli_change *total = &c->totals[d->measure];
    double limit = alqi_cli_limit_bytes(d);
    double *chances = site_chances(d);
    uint32_t n = 0;

    *out = alqi_cli_realloc(NULL, (size_t)c->n_pairs + 1, sizeof **out);
    if (total->bytes > limit)
        (*out)[n++] = (struct alqi_cli_growth){NULL, total->bytes,
                                               beyond_chance(d, total)};
    for (uint32_t i = 0; i < c->n_pairs; i++)
        if (c->pairs[i].change.bytes > limit)
            (*out)[n++] = (struct alqi_cli_growth){
                &c->pairs[i], c->pairs[i].change.bytes, chances[i]};
    free(chances);
    return n;
}

/* One message for one growth; a growth that may be chance says so. */
static void
growth_say(const struct alqi_cli_diff *d, const struct alqi_cli_growth *g,
           bool is_sure)
{
    double total = d->comparison.totals[d->measure].a.bytes;
    char name[NAME_BYTES] = "the total", place[NAME_BYTES] = "";
    char share[64] = "", chance[64] = "";

    if (g->pair != NULL)
        alqi_cli_diff_name(d, g->pair, name, place, sizeof name);
    if (total > 0)
        snprintf(share, sizeof share, ", %s of A's total",
                 alqi_cli_text_percent(g->bytes / total).text);
    if (!is_sure)
        snprintf(chance, sizeof chance,
                 "; by chance with p = %.2g: that does not count", g->chance);
    alqi_cli_say("%s: %s%s%s grew by %s%s; the limit is %s (%s)%s",
                 alqi_cli_diff_is_one_run(d)
                     ? "live"
                     : alqi_cli_measure_name(d->measure),
                 name, place[0] != '\0' ? " " : "", place,
                 alqi_cli_text_bytes(g->bytes).text, share, d->limit.text,
                 alqi_cli_text_bytes(alqi_cli_limit_bytes(d)).text, chance);
}

/* FINDING only for a growth beyond chance: a limit in a test suite must not
 * fail by sampling. */
int
alqi_cli_limit_say(const struct alqi_cli_diff *d)
{
    struct alqi_cli_growth *growths;
    double level = alqi_cli_diff_level(d);
    int rc = ALQI_CLI_OK;
    uint32_t n;

    if (d->limit.text == NULL)
        return ALQI_CLI_OK;
    n = alqi_cli_limit_check(d, &growths);
    for (uint32_t i = 0; i < n; i++) {
        bool is_sure = growths[i].chance <= level;

        growth_say(d, &growths[i], is_sure);
        if (is_sure)
            rc = ALQI_CLI_FINDING;
    }
    if (n > 0 && rc == ALQI_CLI_OK)
        alqi_cli_say("record with a smaller --interval to be sure");
    free(growths);
    return rc;
}
