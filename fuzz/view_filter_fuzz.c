/* view_filter_fuzz.c -- a query, and the two filters in it */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
take(struct alqi_view_query *query, const char *prefix)
{
    struct alqi_view_filter filter, copy;

    if (!alqi_view_filter_take(&filter, query, prefix, 3))
        return;
    if (filter.trace >= 3 || filter.heap == 0 || filter.heap > 7)
        abort();
    if (alqi_view_filter_keep(&copy, &filter) &&
        !alqi_view_filter_is_same(&copy, &filter))
        abort();
    free(copy.kept);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_view_query query;
    char *text = malloc(size + 1);

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (alqi_view_query_parse(&query, text)) {
        take(&query, "");
        take(&query, "b.");
        alqi_view_query_number(&query, "limit", 1, 10, 5);
        alqi_view_query_choice(&query, "order", "time size life");
        if (alqi_view_query_done(&query) != (query.error[0] == '\0'))
            abort();
    }
    alqi_view_query_free(&query);
    free(text);
    return 0;
}
