#include <stdlib.h>

#include "heap/ephe_wait.h"

void
alqi_heap_ephe_wait(struct alqi_heap_ephe_waits *w, alq_value ephe,
                    alq_value block)
{
    size_t size = w->size == 0 ? 1024 : w->size * 2;
    struct alqi_heap_ephe_link *links;
    uint64_t *first;
    bool is_new;

    if (w->n == w->size) {
        links = realloc(w->links, size * sizeof *links);
        if (links == NULL)
            return;
        w->links = links;
        w->size = size;
    }
    first = alqi_base_map_at(&w->first, block, &is_new);
    if (first == NULL)
        return;
    w->links[w->n] = (struct alqi_heap_ephe_link){ephe, *first};
    *first = ++w->n; /* 0: the end */
}

alq_value
alqi_heap_ephe_wait_take(struct alqi_heap_ephe_waits *w, alq_value block)
{
    uint64_t at;

    if (w->n == 0 || !alqi_base_map_take(&w->first, block, &at))
        return ALQ_NULL;
    if (w->links[at - 1].next != 0)
        alqi_base_map_put(&w->first, block, w->links[at - 1].next);
    return w->links[at - 1].ephe;
}

void
alqi_heap_ephe_wait_push(struct alqi_heap_ephe_waits *w, alq_value data)
{
    size_t size = w->data_size == 0 ? 64 : w->data_size * 2;
    alq_value *grown;

    if (w->n_data == w->data_size) {
        grown = realloc(w->data, size * sizeof *grown);
        if (grown == NULL)
            return;
        w->data = grown;
        w->data_size = size;
    }
    w->data[w->n_data++] = data;
}

alq_value
alqi_heap_ephe_wait_pop(struct alqi_heap_ephe_waits *w)
{
    return w->n_data == 0 ? ALQ_NULL : w->data[--w->n_data];
}

void
alqi_heap_ephe_wait_drop(struct alqi_heap_ephe_waits *w)
{
    alqi_base_map_clear(&w->first);
    free(w->links);
    free(w->data);
    *w = (struct alqi_heap_ephe_waits){0};
}
