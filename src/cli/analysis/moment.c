/* moment.c -- values by call stack, to be compared with a later reading
 *
 * [moment.h] A stack is known by two 64-bit hashes of its codes: the map's
 * key, and check in the row. Keys that meet are told apart by check; the later
 * one takes the next free key, so a search goes on until it meets its check or
 * a key without a row. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/moment.h"

/* Two independent hashes of one stack. */
struct hash {
    uint64_t key, check;
};

/* Goes from the innermost frame outward, as the trie leads. */
static struct hash
hash_of(const struct alqi_cli_analysis *a, const struct alqi_cli_site *site)
{
    const struct alqi_cli_node *nodes = a->stacks.nodes;
    struct hash h = {site->is_mapping, ~(uint64_t)site->is_mapping};

    for (uint32_t node = site->node; node != 0; node = nodes[node].parent) {
        h.key = alqi_base_mix(h.key + nodes[node].code + 1);
        h.check = alqi_base_mix((h.check ^ nodes[node].code) +
                                UINT64_C(0x9E3779B97F4A7C15));
    }
    return h;
}

/* The row of a stack; a new one is all zeros. */
static struct alqi_cli_moment_row *
row_at(struct alqi_cli_moment *m, struct hash h)
{
    uint64_t number;

    /* Two stacks of one key: the second has the next one. */
    for (; alqi_base_map_get(&m->row_of_hash, h.key, &number); h.key++)
        if (m->rows[number].check == h.check)
            return &m->rows[number];
    alqi_cli_map_put(&m->row_of_hash, h.key, m->n_rows);
    m->rows = alqi_cli_grow(m->rows, m->n_rows, sizeof *m->rows);
    m->rows[m->n_rows] = (struct alqi_cli_moment_row){.check = h.check};
    return &m->rows[m->n_rows++];
}

void
alqi_cli_moment_take(struct alqi_cli_moment *m,
                     const struct alqi_cli_analysis *a, uint64_t wall_ns)
{
    alqi_cli_moment_free(m);
    m->wall_ns = wall_ns;
    m->start_us = a->info->start_us;
    m->pid = a->info->pid;
    for (uint32_t i = 0; i < a->n_sites; i++) {
        const struct alqi_cli_site *site = &a->sites[i];
        struct alqi_cli_moment_row *row;

        if (site->sums[ALQI_CLI_ALLOCATED].n_blocks == 0)
            continue;
        row = row_at(m, hash_of(a, site));
        row->values[0] += site->sums[ALQI_CLI_ALLOCATED].objects;
        row->values[1] += site->sums[ALQI_CLI_ALLOCATED].bytes;
        row->values[2] += site->sums[ALQI_CLI_LIVE].objects;
        row->values[3] += site->sums[ALQI_CLI_LIVE].bytes;
    }
}

void
alqi_cli_moment_free(struct alqi_cli_moment *m)
{
    alqi_base_map_clear(&m->row_of_hash);
    free(m->rows);
    memset(m, 0, sizeof *m);
}

void
alqi_cli_moment_fit(struct alqi_cli_moment *m,
                    const struct alqi_cli_analysis *a)
{
    if (m->start_us != a->info->start_us || m->pid != a->info->pid)
        alqi_cli_moment_free(m);
}

const double *
alqi_cli_moment_values(const struct alqi_cli_moment *m,
                       const struct alqi_cli_analysis *a,
                       const struct alqi_cli_site *site)
{
    static const double nothing[ALQI_CLI_MOMENT_VALUES];
    struct hash h = hash_of(a, site);
    uint64_t number;

    for (; alqi_base_map_get(&m->row_of_hash, h.key, &number); h.key++)
        if (m->rows[number].check == h.check)
            return m->rows[number].values;
    return nothing;
}
