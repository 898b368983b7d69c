/* resident.c -- the words on resident memory
 *
 * Two sources: the kernel's own maximum, which the end record has, and looks
 * now and then, which tell when.  A look that is within CLOSE of the maximum
 * tells its time.  Traces of several processes, of other tools, and those of
 * before the end record had it, know looks alone. */
#include <stdio.h>

#include "cli/report/resident.h"
#include "cli/tool/text.h"

/* Of the maximum; CLOSE reads alike, from MET on blocks are compared to it. */
#define CLOSE 0.97
#define MET 0.875

/* The look with the most has met the kernel's maximum to that part. */
static bool
is_met(const struct alqi_cli_analysis *a, double part)
{
    return a->rss.n_told > 0 &&
           a->rss.peak_bytes >= part * (double)a->notes.most_rss_bytes;
}

static void
most_text(const struct alqi_cli_analysis *a, char *text, size_t room)
{
    double most = (double)a->notes.most_rss_bytes;
    struct alqi_cli_text look = alqi_cli_text_bytes(a->rss.peak_bytes);
    struct alqi_cli_text when = alqi_cli_text_duration((double)a->rss.peak_us);

    if (most == 0)
        snprintf(text, room, "%s at the highest look, at %s", look.text,
                 when.text);
    else if (a->rss.n_told == 0)
        snprintf(text, room, "%s at most", alqi_cli_text_bytes(most).text);
    else if (is_met(a, CLOSE))
        snprintf(text, room, "%s at most, at %s",
                 alqi_cli_text_bytes(
                     most > a->rss.peak_bytes ? most : a->rss.peak_bytes)
                     .text,
                 when.text);
    else
        snprintf(text, room, "%s at most; %s at the highest look, at %s",
                 alqi_cli_text_bytes(most).text, look.text, when.text);
}

static void
at_peak_text(const struct alqi_cli_analysis *a, char *text, size_t room)
{
    double heap = a->totals[ALQI_CLI_PEAK].bytes, bytes;
    char times[64] = "";

    if (!alqi_cli_rss_at_peak(&a->rss, &bytes)) {
        snprintf(text, room, "no look near the heap's peak");
        return;
    }
    if (heap > 0)
        snprintf(times, sizeof times, ", %.3g times its bytes", bytes / heap);
    snprintf(text, room, "%s at the heap's peak%s",
             alqi_cli_text_bytes(bytes).text, times);
}

bool
alqi_cli_resident_text(const struct alqi_cli_analysis *a,
                       struct alqi_cli_resident_text *out)
{
    if (a->rss.n_told == 0 && a->notes.most_rss_bytes == 0)
        return false;
    most_text(a, out->most, sizeof out->most);
    at_peak_text(a, out->at_peak, sizeof out->at_peak);
    return true;
}

bool
alqi_cli_resident_is_met(const struct alqi_cli_analysis *a)
{
    double bytes;

    return is_met(a, MET) && alqi_cli_rss_at_peak(&a->rss, &bytes);
}
