/* order.c -- the order of a table's rows
 *
 * [order.h] Rows that compare as equal are told apart by their tables. */
#include <string.h>

#include "view/order.h"

/* The position of the word in "a b c"; -1: it is not there. */
static int
position(const char *word, const char *list)
{
    size_t n = strlen(word);

    for (int i = 0; n > 0; i++) {
        size_t length = strcspn(list, " ");

        if (length == n && memcmp(list, word, n) == 0)
            return i;
        if (list[length] == '\0')
            break;
        list += length + 1;
    }
    return -1;
}

void
alqi_view_order_take(struct alqi_view_order *o, struct alqi_view_ask *ask,
                     const char *key, const char *columns)
{
    const char *text = alqi_view_query_get(&ask->query, key);
    int column = 0;

    *o = (struct alqi_view_order){0};
    if (text == NULL)
        return;
    o->is_reversed = text[0] == '-';
    column = position(text + o->is_reversed, columns);
    if (column < 0)
        alqi_view_query_fail(&ask->query,
                             "%s=%.40s: one of: %s; - before it: the other "
                             "way round",
                             key, text, columns);
    else
        o->column = (unsigned)column;
}

double
alqi_view_order_figure(const struct alqi_view_order *o,
                       const struct alqi_view_sum *sum, double own)
{
    switch (o->column) {
    case ALQI_VIEW_COLUMN_VALUE:
        return alqi_view_sum_value(sum, o->by);
    case ALQI_VIEW_COLUMN_ERROR:
        return alqi_view_sum_stderr(sum, o->by);
    case ALQI_VIEW_COLUMN_BYTES:
        return sum->bytes;
    case ALQI_VIEW_COLUMN_BLOCKS:
        return sum->objects;
    case ALQI_VIEW_COLUMN_SAMPLED:
        return (double)sum->n;
    default:
        return own;
    }
}

int
alqi_view_order_compare(const struct alqi_view_order *o, double left,
                        double right, const char *left_name,
                        const char *right_name)
{
    int c = o->column == ALQI_VIEW_COLUMN_NAME
                ? strcmp(left_name, right_name)
                : (left < right) - (left > right);

    return o->is_reversed ? -c : c;
}
