/* symbol_find.h -- which files describe a module
 *
 * Finds the program, its separate debug file and dwz's shared one, by build-id
 * and by the paths that debuggers agree on (.def.order). */
#ifndef ALQI_STACK_SYMBOL_FIND_H
#define ALQI_STACK_SYMBOL_FIND_H

#include "base/arena.h"
#include "stack/symbol_elf.h"
#include "stack/symbol_debuginfod.h"

/* Where debug files are looked for; of a table. */
struct alqi_symbol_search {
    const char *debug_dirs; /* colon-separated; "/usr/lib/debug" is last */
    struct alqi_symbol_debuginfod server;
};

struct alqi_symbol_files {
    struct alqi_symbol_elf *program; /* the module itself, or NULL          */
    struct alqi_symbol_elf *debug;   /* its separate debug file, or NULL    */
    struct alqi_symbol_elf *shared;  /* what dwz moved out of it, or NULL   */
    const char *note;                /* what is missing and what that costs */
};

/* The file that has DWARF, or NULL. */
struct alqi_symbol_elf *
alqi_symbol_files_dwarf(const struct alqi_symbol_files *files);

/* Fills *files for the module recorded at `path` with that build-id, which may
 * be empty.  Never fails: what is missing is NULL, and the note says so. */
void alqi_symbol_files_find(struct alqi_symbol_files *files,
                            struct alqi_symbol_search *search,
                            struct alqi_base_arena *arena, const char *path,
                            const uint8_t *build_id, size_t build_id_bytes);
void alqi_symbol_files_drop(struct alqi_symbol_files *files);

#endif
