/* walk.c -- goes through a forest depth first, however deep it is
 *
 * [walk.h] A counting sort puts the children of each row together. Then a step
 * takes the next child of the present row, or goes up to its parent. */
#include <stdlib.h>
#include <string.h>

#include "view/walk.h"

static uint32_t
parent_of(const struct alqi_view_walk *w, uint32_t row)
{
    uint32_t parent;

    memcpy(&parent, w->rows + row * w->row_bytes, sizeof parent);
    return parent;
}

bool
alqi_view_walk_make(struct alqi_view_walk *w, const void *rows,
                    size_t row_bytes, uint32_t n)
{
    *w = (struct alqi_view_walk){.rows = rows, .row_bytes = row_bytes};
    w->children = malloc(((size_t)n + 1) * sizeof *w->children);
    w->next = malloc(((size_t)n + 1) * sizeof *w->next);
    w->end = calloc((size_t)n + 1, sizeof *w->end);
    if (w->children == NULL || w->next == NULL || w->end == NULL)
        return false;
    for (uint32_t i = 1; i < n; i++)
        w->end[parent_of(w, i)]++;
    for (uint32_t i = 1; i < n; i++)
        w->end[i] += w->end[i - 1];
    w->next[0] = 0;
    for (uint32_t i = 1; i < n; i++)
        w->next[i] = w->end[i - 1];
    for (uint32_t i = 1; i < n; i++)
        w->children[w->next[parent_of(w, i)]++] = i;
    for (uint32_t i = 1; i < n; i++)
        w->next[i] = w->end[i - 1];
    w->next[0] = 0;
    return true;
}

void
alqi_view_walk_free(struct alqi_view_walk *w)
{
    free(w->children);
    free(w->next);
    free(w->end);
}

/* The row that was left last is gone up from first. */
enum alqi_view_step
alqi_view_walk_step(struct alqi_view_walk *w)
{
    if (w->has_left)
        w->row = parent_of(w, w->row);
    w->has_left = false;
    if (w->next[w->row] < w->end[w->row]) {
        w->row = w->children[w->next[w->row]++];
        return ALQI_VIEW_ENTER;
    }
    w->has_left = w->row != 0;
    return w->row != 0 ? ALQI_VIEW_LEAVE : ALQI_VIEW_END;
}
