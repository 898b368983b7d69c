/* observe.c -- <aliquot/observe.h>: listeners, pauses, a census of the heap
 *
 * Listeners and pauses are the heap's: arguments are checked, then down. The
 * census is printed here: rows of heap/stat_census.h are summed up by tag and
 * name, sorted, printed. Sums live during the call. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/observe.h>

#include "heap/stat_census.h"
#include "heap/event.h"
#include "heap/domain_thread.h"

/* A forked child, where a thread that is not there may hold the lock. */
static bool
is_lost(const struct alq_domain *d)
{
    return ((const struct alqi_domain *)d)->heap->life.is_lost;
}

/* ---- listeners ---------------------------------------------------------- */

enum alq_status
alq_listener_add(struct alq_domain *d, const struct alq_listener *listener)
{
    if (d == NULL || listener == NULL || listener->event == NULL)
        return ALQ_EINVAL;
    return is_lost(d)
               ? ALQ_ESTATE
               : alqi_heap_listener_add(alqi_heap_domain(d)->heap, listener);
}

enum alq_status
alq_listener_remove(struct alq_domain *d, const struct alq_listener *listener)
{
    if (d == NULL || listener == NULL)
        return ALQ_EINVAL;
    return is_lost(d)
               ? ALQ_ESTATE
               : alqi_heap_listener_remove(alqi_heap_domain(d)->heap, listener);
}

/* ---- pauses ------------------------------------------------------------- */

enum alq_status
alq_pauses_get(const struct alq_domain *d, struct alq_pauses *out)
{
    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    alqi_heap_pauses_get((const struct alqi_domain *)d, out);
    return ALQ_OK;
}

enum alq_status
alq_pauses_get_all(const struct alq_domain *d, struct alq_pauses *out)
{
    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    if (is_lost(d))
        return ALQ_ESTATE;
    alqi_heap_pauses_get_all(((const struct alqi_domain *)d)->heap, out);
    return ALQ_OK;
}

/* A pause under way counts when it ends. */
enum alq_status
alq_pauses_reset(struct alq_domain *d)
{
    if (d == NULL)
        return ALQ_EINVAL;
    if (is_lost(d))
        return ALQ_ESTATE;
    alqi_heap_pauses_reset(alqi_heap_domain(d)->heap);
    return ALQ_OK;
}

/* ---- census ------------------------------------------------------------- */

/* Stops the world: the calling thread must run the domain and be in no callback
 * of the collector. */
enum alq_status
alq_census_take(struct alq_domain *d,
                int (*row)(void *arg, const struct alq_census_row *row),
                void *arg)
{
    if (d == NULL || row == NULL)
        return ALQ_EINVAL;
    if (!alqi_heap_thread_runs(d) || is_lost(d) ||
        alqi_heap_event_is_inside(alqi_heap_domain(d)))
        return ALQ_ESTATE;
    return alqi_heap_census_take(alqi_heap_domain(d), row, arg) ? ALQ_OK
                                                                : ALQ_ENOMEM;
}

/* A tag, or the custom blocks of one name. */
struct kind {
    unsigned tag;
    /* the operations' or a constant: never freed */
    const char *name;
    uint64_t blocks;
    uint64_t words;
    /* words, by place */
    uint64_t in_place[ALQ_CENSUS_LARGE + 1];
};

struct kinds {
    struct kind *all;
    size_t n;
    size_t size;
    bool is_short; /* of memory */
};

/* The kind of a row, made if it is new; NULL: no memory. The name is not
 * copied: it outlives the call. */
static struct kind *
kind_of(struct kinds *k, const struct alq_census_row *row)
{
    struct kind *all;
    size_t i;

    for (i = 0; i < k->n; i++)
        if (k->all[i].tag == row->tag && strcmp(k->all[i].name, row->name) == 0)
            return &k->all[i];
    if (k->n == k->size) {
        all = realloc(k->all, (k->size * 2 + 16) * sizeof *all);
        if (all == NULL)
            return NULL;
        k->all = all;
        k->size = k->size * 2 + 16;
    }
    k->all[k->n] = (struct kind){.tag = row->tag, .name = row->name};
    return &k->all[k->n++];
}

/* A row of the census; 1 ends it. */
static int
collect(void *arg, const struct alq_census_row *row)
{
    struct kinds *kinds = arg;
    struct kind *kind = kind_of(kinds, row);

    if (kind == NULL) {
        kinds->is_short = true;
        return 1;
    }
    kind->blocks += row->blocks;
    kind->words += row->words;
    kind->in_place[row->place] += row->words;
    return 0;
}

/* The kind with most words first. */
static int
by_words(const void *left, const void *right)
{
    const struct kind *a = left, *b = right;

    if (a->words != b->words)
        return a->words < b->words ? 1 : -1;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* The figures of a line, without its end. */
static void
print_kind(FILE *out, const struct kind *k, uint64_t all_words)
{
    fprintf(out,
            "%12" PRIu64 " %14" PRIu64 " %5.1f%% %14" PRIu64 " %14" PRIu64
            " %14" PRIu64,
            k->blocks, k->words,
            all_words == 0 ? 0.0 : 100.0 * (double)k->words / (double)all_words,
            k->in_place[ALQ_CENSUS_YOUNG], k->in_place[ALQ_CENSUS_OLD],
            k->in_place[ALQ_CENSUS_LARGE]);
}

/* A line for each kind, and one for all. */
static void
print_kinds(FILE *out, const struct kinds *kinds)
{
    struct kind all = {0};
    size_t i, p;

    for (i = 0; i < kinds->n; i++) {
        all.blocks += kinds->all[i].blocks;
        all.words += kinds->all[i].words;
        for (p = 0; p <= ALQ_CENSUS_LARGE; p++)
            all.in_place[p] += kinds->all[i].in_place[p];
    }
    fprintf(out, "%12s %14s %6s %14s %14s %14s  %3s  %s\n", "blocks", "words",
            "share", "young words", "old words", "large words", "tag", "kind");
    for (i = 0; i < kinds->n; i++) {
        print_kind(out, &kinds->all[i], all.words);
        fprintf(out, "  %3u  %s\n", kinds->all[i].tag, kinds->all[i].name);
    }
    print_kind(out, &all, all.words);
    fprintf(out, "       all\n");
}

/* Nothing is printed if the census or its sums lacked memory. */
enum alq_status
alq_census_print(struct alq_domain *d, FILE *out)
{
    struct kinds kinds = {0};
    enum alq_status status;

    if (out == NULL)
        return ALQ_EINVAL;
    status = alq_census_take(d, collect, &kinds);
    if (status == ALQ_OK && kinds.is_short)
        status = ALQ_ENOMEM;
    if (status == ALQ_OK) {
        if (kinds.n > 0)
            qsort(kinds.all, kinds.n, sizeof *kinds.all, by_words);
        print_kinds(out, &kinds);
        if (ferror(out))
            status = ALQ_EIO;
    }
    free(kinds.all);
    return status;
}
