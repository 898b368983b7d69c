/* list.h -- lists of structures that others own: each has next, and link, the
 * pointer that leads to it */
#ifndef ALQI_HEAP_LIST_H
#define ALQI_HEAP_LIST_H

#include <stddef.h>

#define ALQI_HEAP_LIST_ADD(list, item)                                         \
    do {                                                                       \
        (item)->next = (list);                                                 \
        (item)->link = &(list);                                                \
        if ((list) != NULL)                                                    \
            (list)->link = &(item)->next;                                      \
        (list) = (item);                                                       \
    } while (0)

#define ALQI_HEAP_LIST_REMOVE(item)                                            \
    do {                                                                       \
        *(item)->link = (item)->next;                                          \
        if ((item)->next != NULL)                                              \
            (item)->next->link = (item)->link;                                 \
    } while (0)

#endif
