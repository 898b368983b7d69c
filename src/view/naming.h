/* naming.h -- which frame of a stack names it: its site
 *
 * .def.naming  The innermost frame that is no wrapper of the allocator, and
 *              not hidden.  Frames without a name count as wrappers when the
 *              next one outward that has a name is one: in a stripped library a
 *              wrapper's inner half has no names. */
#ifndef ALQI_VIEW_NAMING_H
#define ALQI_VIEW_NAMING_H

#include "view/filter.h"
#include "view/index.h"

/* Marks the functions that some of the words match; functions[n_functions].
 * False: no memory. */
bool alqi_view_words_mark(const struct alqi_view_words *words,
                          const struct alqi_view_index *index,
                          uint8_t *functions);

/* The node that names the stack whose innermost node is given; 0: none.
 * is_hidden[n_functions]. */
uint32_t alqi_view_naming(const struct alqi_view_index *index,
                          const uint8_t *is_hidden, uint32_t node);

#endif
