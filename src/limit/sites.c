/* sites.c -- the table of sites.h: open addressing, a power of two of slots
 *
 *     empty, no slots --first sample--> 32 slots --3/4 full--> ... 2048 slots
 *     2048 slots --3/4 full--> the half of the sites with more words is kept
 *
 * A site is found by its hash and frames; without memory only the totals
 * grow. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "limit/sites.h"

struct alqi_limit_site {
    uint64_t samples; /* 0: the slot is free */
    double words;
    uint64_t hash;
    uint32_t n_frames;
    uintptr_t frames[ALQ_LIMIT_SITE_FRAMES];
};

enum { SIZE_MIN = 32, SIZE_MAX_SLOTS = 2048 };

_Static_assert(ALQI_LIMIT_SITES_MAX == SIZE_MAX_SLOTS / 4 * 3, "the most");

static uint64_t
hash_of(const uintptr_t *frames, size_t n)
{
    uint64_t hash = n;

    for (size_t i = 0; i < n; i++)
        hash = alqi_base_mix(hash + frames[i]);
    return hash;
}

/* Returns the site's slot, or the free slot for it. */
static struct alqi_limit_site *
find(const struct alqi_limit_sites *s, const uintptr_t *frames, size_t n,
     uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (s->size - 1);

    for (;; i = (i + 1) & (s->size - 1)) {
        struct alqi_limit_site *site = &s->slots[i];

        if (site->samples == 0 ||
            (site->hash == hash && site->n_frames == n &&
             (n == 0 || memcmp(site->frames, frames, n * sizeof *frames) == 0)))
            return site;
    }
}

static void
copy(struct alqi_limit_sites *s, const struct alqi_limit_site *site)
{
    *find(s, site->frames, site->n_frames, site->hash) = *site;
    s->n++;
}

/* Moves the sites of more than `least` words into a new table; false: no
 * memory. */
static bool
rebuild(struct alqi_limit_sites *s, uint32_t size, double least)
{
    struct alqi_limit_sites now = {s->samples, s->words, NULL, 0, size};

    now.slots = calloc(size, sizeof *now.slots);
    if (now.slots == NULL)
        return false;
    for (uint32_t i = 0; i < s->size; i++)
        if (s->slots[i].samples != 0 && s->slots[i].words > least)
            copy(&now, &s->slots[i]);
    free(s->slots);
    *s = now;
    return true;
}

static int
by_words(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the median of the sites' words.  The table has a site at least, and
 * no more than ALQI_LIMIT_SITES_MAX. */
static double
median_words(const struct alqi_limit_sites *s)
{
    double words[ALQI_LIMIT_SITES_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->size; i++)
        if (s->slots[i].samples != 0)
            words[n++] = s->slots[i].words;
    qsort(words, n, sizeof *words, by_words);
    return words[n / 2];
}

static bool
make_room(struct alqi_limit_sites *s)
{
    if (s->n < s->size / 4 * 3)
        return true;
    if (s->size < SIZE_MAX_SLOTS)
        return rebuild(s, s->size == 0 ? SIZE_MIN : 2 * s->size, 0);
    return rebuild(s, s->size, median_words(s));
}

/* Adds to the site, which is made if need be.  Without memory for a larger
 * table only the totals have the samples. */
static void
put(struct alqi_limit_sites *s, const uintptr_t *frames, size_t n,
    uint64_t samples, double words)
{
    uint64_t hash = hash_of(frames, n);
    struct alqi_limit_site *site;

    if (!make_room(s))
        return;
    site = find(s, frames, n, hash);
    if (site->samples == 0) {
        *site = (struct alqi_limit_site){.hash = hash, .n_frames = (uint32_t)n};
        if (n > 0)
            memcpy(site->frames, frames, n * sizeof *frames);
        s->n++;
    }
    site->samples += samples;
    site->words += words;
}

void
alqi_limit_sites_add(struct alqi_limit_sites *s, const uintptr_t *frames,
                     size_t n_frames, uint64_t samples, double words)
{
    s->samples += samples;
    s->words += words;
    put(s, frames,
        n_frames < ALQ_LIMIT_SITE_FRAMES ? n_frames : ALQ_LIMIT_SITE_FRAMES,
        samples, words);
}

void
alqi_limit_sites_move(struct alqi_limit_sites *to,
                      struct alqi_limit_sites *from)
{
    to->samples += from->samples;
    to->words += from->words;
    for (uint32_t i = 0; i < from->size; i++) {
        const struct alqi_limit_site *site = &from->slots[i];

        if (site->samples != 0)
            put(to, site->frames, site->n_frames, site->samples, site->words);
    }
    alqi_limit_sites_drop(from);
}

void
alqi_limit_sites_drop(struct alqi_limit_sites *s)
{
    free(s->slots);
    *s = (struct alqi_limit_sites){0};
}

/* ---- outcomes ----------------------------------------------------------- */

/* A site as the outcome has it; words were summed as fractions. */
static struct alq_limit_site
outcome_site(const struct alqi_limit_site *site)
{
    struct alq_limit_site out = {.n_frames = site->n_frames,
                                 .samples = site->samples,
                                 .words = (uint64_t)(site->words + 0.5)};

    memcpy(out.frames, site->frames, sizeof out.frames);
    return out;
}

/* Inserts the site into the outcome's list, which is ordered by words. */
static void
insert(struct alq_outcome *out, const struct alqi_limit_site *site)
{
    struct alq_limit_site now = outcome_site(site);
    unsigned at = out->n_sites;

    if (at == ALQ_LIMIT_SITES_MAX) {
        if (out->sites[at - 1].words >= now.words)
            return;
        at--;
    } else {
        out->n_sites++;
    }
    for (; at > 0 && out->sites[at - 1].words < now.words; at--)
        out->sites[at] = out->sites[at - 1];
    out->sites[at] = now;
}

void
alqi_limit_sites_report(const struct alqi_limit_sites *s,
                        struct alq_outcome *out)
{
    out->site_samples = s->samples;
    out->site_words = (uint64_t)(s->words + 0.5);
    out->n_sites = 0;
    for (uint32_t i = 0; i < s->size; i++)
        if (s->slots[i].samples != 0)
            insert(out, &s->slots[i]);
}
