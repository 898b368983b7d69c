/* view_index_fuzz.c -- a hostile index, and a question to it
 *
 * The first line is PATH?QUERY, the rest is the index. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/answer.h"

enum { LINE_MAX = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
ask(struct alqi_view_set *set, char *line)
{
    struct alqi_view_json json = {0};
    char *query = strchr(line, '?');
    int status;

    if (query != NULL)
        *query++ = '\0';
    status = alqi_view_answer(set, line, query != NULL ? query : "", &json);
    if (json.n > ALQI_VIEW_ANSWER_MAX || status < 200)
        abort();
    free(json.text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\n', size);
    struct alqi_view_set *set;
    char line[LINE_MAX];
    size_t n;
    void *index;

    if (end == NULL || end - data >= LINE_MAX)
        return 0;
    memcpy(line, data, (size_t)(end - data));
    line[end - data] = '\0';
    n = size - (size_t)(end + 1 - data);
    index = malloc(n + 1); /* aligned, and no byte more is there */
    set = alqi_view_set_new();
    if (index != NULL && set != NULL) {
        memcpy(index, end + 1, n);
        if (alqi_view_set_add(set, index, n) == NULL &&
            alqi_view_set_add(set, index, n) == NULL)
            ask(set, line);
    }
    alqi_view_set_drop(set);
    free(index);
    return 0;
}
