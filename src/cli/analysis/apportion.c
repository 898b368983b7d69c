/* apportion.c -- rounds parts so that they add up to a whole total
 *
 * [apportion.h] Largest remainders: each part is cut, and what the total has
 * more is handed out by the size of what was cut off. Sums are of 128 bits, so
 * that forged figures near INT64_MAX do not overflow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"

/* Below INT64_MAX, and exact as a double. */
static const double WHOLE_MOST = 9e18;

int64_t
alqi_cli_whole(double x)
{
    return fabs(x) < WHOLE_MOST ? llround(x) : INT64_MAX;
}

/* What cutting the part to a whole number takes away. */
static double
lost(double part)
{
    return part < WHOLE_MOST ? part - floor(part) : 0;
}

/* Order by what was cut off, the earlier first. */
static int
by_loss(const void *left, const void *right, void *arg)
{
    const double *parts = arg;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    double x = lost(parts[a]);
    double y = lost(parts[b]);

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Order by size, the earlier first. */
static int
by_size(const void *left, const void *right, void *arg)
{
    const double *parts = arg;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;

    if (parts[a] != parts[b])
        return parts[a] > parts[b] ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Adds what is over to the parts in this order, or takes it, none below 0. */
static void
make_good(int64_t *whole, const size_t *order, size_t n, __int128 over)
{
    for (size_t i = 0; i < n && over != 0; i++) {
        int64_t *w = &whole[order[i]];
        __int128 least = -(__int128)*w;
        __int128 most = INT64_MAX - (__int128)*w;
        __int128 step = over < least ? least : over > most ? most : over;

        *w += (int64_t)step;
        over -= step;
    }
}

void
alqi_cli_apportion(int64_t *whole, const double *parts, size_t n, int64_t total)
{
    size_t *order = alqi_cli_realloc(NULL, n, sizeof *order);
    __int128 over = total;

    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        whole[i] = alqi_cli_whole(floor(parts[i]));
        over -= whole[i];
    }
    qsort_r(order, n, sizeof *order, by_loss, (void *)parts);
    for (size_t i = 0; i < n && over > 0 && lost(parts[order[i]]) > 0; i++) {
        whole[order[i]]++;
        over--;
    }
    if (over != 0) {
        qsort_r(order, n, sizeof *order, by_size, (void *)parts);
        make_good(whole, order, n, over);
    }
    free(order);
}

int64_t *
alqi_cli_apportioned(const double *parts, size_t each_bytes, size_t n,
                     double total)
{
    double *column = alqi_cli_realloc(NULL, n, sizeof *column);
    int64_t *whole = alqi_cli_realloc(NULL, n, sizeof *whole);

    for (size_t i = 0; i < n; i++)
        memcpy(&column[i], (const char *)parts + i * each_bytes,
               sizeof *column);
    alqi_cli_apportion(whole, column, n, alqi_cli_whole(total));
    free(column);
    return whole;
}
