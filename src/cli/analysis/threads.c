/* threads.c -- sums by thread and by size, and the one thread that is wanted
 *
 * [analysis.h] Each runs once, when the sites have their measures and before
 * sites of one stack are joined: until then a site is of one thread and one
 * class. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/analysis.h"
#include "cli/tool/cli.h"

/* Whether options.thread means this one. */
static bool
is_thread(const struct alqi_cli_analysis *a, uint32_t thread)
{
    const char *wanted = a->options.thread;
    char *end;
    unsigned long index = strtoul(wanted, &end, 10);

    if (end != wanted && *end == '\0')
        return index == thread;
    return strcmp(alqi_cli_names_text(a->names, a->notes.threads[thread].name),
                  wanted) == 0;
}

/* Sums by thread. If one thread is wanted, the sites of all others are
 * cleared. */
void
alqi_cli_threads_sum(struct alqi_cli_analysis *a)
{
    uint32_t n = a->notes.threads_capacity;

    a->by_thread = alqi_cli_realloc(NULL, n, sizeof *a->by_thread);
    memset(a->by_thread, 0, n * sizeof *a->by_thread);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        struct alqi_cli_site *site = &a->sites[i];

        for (int m = 0; site->thread < n && m < ALQI_CLI_N_MEASURES; m++)
            alqi_cli_sum_join(&a->by_thread[site->thread][m], &site->sums[m]);
        if (a->options.thread == NULL ||
            (site->thread < n && is_thread(a, site->thread)))
            continue;
        memset(site->sums, 0, sizeof site->sums);
        memset(&site->moves, 0, sizeof site->moves);
    }
    for (uint32_t i = 0; a->options.thread != NULL && i < n; i++)
        a->n_threads_matched += a->notes.threads[i].is_seen && is_thread(a, i);
}

void
alqi_cli_sizes_sum(struct alqi_cli_analysis *a)
{
    if (!a->options.is_by_size)
        return;
    a->by_size = alqi_cli_zeros(ALQI_CLI_SIZE_CLASSES, sizeof *a->by_size);
    for (uint32_t i = 0; i < a->n_sites; i++)
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            alqi_cli_sum_join(&a->by_size[a->sites[i].size_class][m],
                              &a->sites[i].sums[m]);
}
