/* phase.c -- which phase a time is in, and which phases a text means
 *
 * [phase.h] Nothing is kept: a search by time is binary, one by name goes
 * through all marks. */
#include <stdlib.h>
#include <string.h>

#include "view/phase.h"

uint32_t
alqi_view_phase_at(const struct alqi_view_index *x, uint64_t us)
{
    uint32_t low = 0, high = x->n_marks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (x->marks[middle].us <= us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *
alqi_view_phase_name(const struct alqi_view_index *x, uint32_t phase)
{
    return phase == 0 ? ALQI_VIEW_PHASE_FIRST
                      : alqi_view_text(x, x->marks[phase - 1].text);
}

uint32_t
alqi_view_phase_number(const struct alqi_view_index *x, uint32_t phase,
                       uint32_t *n_same)
{
    const char *name = alqi_view_phase_name(x, phase);
    uint32_t number = 0;

    *n_same = 0;
    for (uint32_t k = 0; k < alqi_view_phases(x); k++) {
        if (strcmp(alqi_view_phase_name(x, k), name) != 0)
            continue;
        ++*n_same;
        number += k <= phase;
    }
    return number;
}

/* Marks the phases of the name text[0 .. n), or, from 1 on, its wanted one. */
static uint32_t
find(const struct alqi_view_index *x, const char *text, size_t n,
     uint64_t wanted, uint8_t *is_meant)
{
    uint32_t n_meant = 0;
    uint64_t number = 0;

    for (uint32_t k = 0; k < alqi_view_phases(x); k++) {
        const char *name = alqi_view_phase_name(x, k);
        bool is_named = strlen(name) == n && memcmp(name, text, n) == 0;

        number += is_named;
        is_meant[k] = is_named && (wanted == 0 || number == wanted);
        n_meant += is_meant[k];
    }
    return n_meant;
}

uint32_t
alqi_view_phase_find(const struct alqi_view_index *x, const char *text,
                     uint8_t *is_meant)
{
    uint32_t n_meant = find(x, text, strlen(text), 0, is_meant);
    const char *hash = strrchr(text, '#');
    uint64_t wanted;
    char *end;

    if (n_meant > 0 || hash == NULL || hash[1] < '1' || hash[1] > '9')
        return n_meant;
    wanted = strtoull(hash + 1, &end, 10);
    return *end == '\0' ? find(x, text, (size_t)(hash - text), wanted, is_meant)
                        : 0;
}
