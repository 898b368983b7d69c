/* symbol.h -- addresses to functions and lines, outside the profiled process
 *
 * Built on libdw; linked into the command only, never into the preload.  Not
 * thread-safe.  The contract: opening a module never fails, an address always
 * has a frame, and one line of text says what is missing and what that
 * costs. */
#ifndef ALQI_STACK_SYMBOL_H
#define ALQI_STACK_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/symbol_frame.h"

struct alqi_symbol_table;  /* all modules known so far */
struct alqi_symbol_module; /* one file                 */

/* Of a command of the user's (`is_command`) debuginfod is asked when
 * DEBUGINFOD_URLS says so, and the user's cache of symbols is used, if there is
 * one; else neither. */
struct alqi_symbol_table *alqi_symbol_table_new(bool is_command);
/* Puts new answers into the cache, too. */
void alqi_symbol_table_drop(struct alqi_symbol_table *table);

/* Opens a module by path, or by build-id when the file at the path is gone or
 * has another one (then *note says so).  Never fails: a module that cannot be
 * read gives "name+0xoffset" frames.  Equal (path, build id) give the same
 * module. */
struct alqi_symbol_module *
alqi_symbol_module_open(struct alqi_symbol_table *table, const char *path,
                        const uint8_t *build_id, size_t build_id_bytes);

/* NULL, or one line that says what is missing and what that costs; damage
 * inside debug sections is only known after the first resolve. */
const char *alqi_symbol_module_note(const struct alqi_symbol_module *module);

/* Whether its symbols and DWARF had to be read: an address was resolved that
 * the cache did not have. */
bool alqi_symbol_module_is_loaded(const struct alqi_symbol_module *module);

/* Resolves a file-relative address (run-time address - bias).  Callers pass a
 * return address minus 1.  Returns the number of frames, outermost first,
 * inlined ones last; >= 1.  *frames stays valid until the table is dropped. */
size_t alqi_symbol_resolve(struct alqi_symbol_module *module, uint64_t address,
                           const struct alqi_symbol_frame **frames);

#endif
