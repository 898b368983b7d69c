/* cxxname.h -- the parts of a demangled name of C++ or Rust
 *
 * Names of other languages, and what only looks like C++, come out whole. */
#ifndef ALQI_CLI_TOOL_CXXNAME_H
#define ALQI_CLI_TOOL_CXXNAME_H

#include <stdbool.h>
#include <stddef.h>

/* The qualified name; with <...> for template arguments when it would have
 * more than that many columns. */
void alqi_cli_cxxname_shorten(char *out, size_t capacity, const char *function,
                              size_t columns);

/* True for the parts of libstdc++ that its users never call: allocators and
 * the members and base classes with reserved names. */
bool alqi_cli_cxxname_is_internal(const char *function);

#endif
