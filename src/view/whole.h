/* whole.h -- functions that stand for many: a module, a directory, a thread
 *
 * A picture folds frames of a library to one, and puts a thread above its
 * stacks. Such a frame is a function like others, with a name, so that all
 * that is said of functions can be said of it.
 *
 * .inv.whole   Wholes stand behind the functions of the file, at x->n_named and
 *              up. No node of the file has one. An answer numbers them by their
 *              kind (the enum below), so that functions and threads that come
 *              later, in a trace that grows, leave the numbers as they are. */
#ifndef ALQI_VIEW_WHOLE_H
#define ALQI_VIEW_WHOLE_H

#include "view/index.h"

/* Gives an open index its wholes; without, it has none. False: no memory; to be
 * freed in any case, before the index is closed. */
bool alqi_view_wholes_make(struct alqi_view_index *index);
void alqi_view_wholes_free(struct alqi_view_index *index);

/* The whole of a function's module. */
static inline uint32_t
alqi_view_module_of(const struct alqi_view_index *x, uint32_t function)
{
    return x->wholes.of_function[function].module;
}

/* The whole of the directory of its source file; of its module, where the file
 * is unknown or has no directory. */
static inline uint32_t
alqi_view_directory_of(const struct alqi_view_index *x, uint32_t function)
{
    return x->wholes.of_function[function].directory;
}

/* The whole of the thread of an origin. */
static inline uint32_t
alqi_view_thread_of(const struct alqi_view_index *x, uint32_t origin)
{
    return x->wholes.of_origin[origin];
}

/* What kind of whole a function is: "module", "directory", "thread". NULL: it
 * is none. */
const char *alqi_view_whole_kind(const struct alqi_view_index *index,
                                 uint32_t function);

/* The number by which answers name a function, and back; UINT32_MAX: there is
 * none of that number. */
uint32_t alqi_view_id_of(const struct alqi_view_index *index,
                         uint32_t function);
uint32_t alqi_view_function_of(const struct alqi_view_index *index,
                               uint64_t id);

#endif
