/* cxxname.h -- names of C++ and Rust, short enough to read
 *
 * Every output shortens names here, the viewer's page too.
 * Names of other languages, and what only looks like C++, come out whole. */
#ifndef ALQI_VIEW_CXXNAME_H
#define ALQI_VIEW_CXXNAME_H

#include <stdbool.h>
#include <stddef.h>

/* What is shown has no more columns, if that can be had without template
 * arguments. */
enum { ALQI_VIEW_NAME_COLUMNS = 40 };

/* Without return type, parameters, inline namespaces, std's default arguments
 * and hashes. Of a name with more columns template arguments are shortened to
 * <…>, the inner ones first. What does not fit in out loses its middle. */
void alqi_view_cxxname_shorten(char *out, size_t capacity, const char *function,
                               size_t columns);

/* The name without return type and parameters, cut at the end. */
void alqi_view_cxxname_bare(char *out, size_t capacity, const char *function);

/* True for the parts of libstdc++ that its users never call: allocators and
 * the members and base classes with reserved names. */
bool alqi_view_cxxname_is_internal(const char *function);

#endif
