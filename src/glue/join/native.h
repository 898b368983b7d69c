/* native.h -- the names of the machine's frames, found in the process
 *
 * From the symbol table of the module's file, or what is left of it: functions
 * only, no lines, no inlining.  Debug information is for aliquot(1), which
 * finds a trace's modules in its side records (wire/side.h).
 *
 * Keeps .inv.kept (doc/design/trace.md): What is read of a module stays until
 *   the process ends, and so do the texts. */
#ifndef ALQI_GLUE_JOIN_NATIVE_H
#define ALQI_GLUE_JOIN_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_glue_module {
    uintptr_t start; /* [start, end) */
    uintptr_t end;
    uintptr_t bias;       /* address in memory - address in the file */
    uintptr_t text_start; /* of what is executable; text_end 0: nothing is */
    uintptr_t text_end;
    uint64_t text_offset; /* of text_start in the file */
    const char *path;     /* absolute, where it has a file */
    const char *name;     /* its last part */
    /* of build_id_bytes, which may be 0 */
    const uint8_t *build_id;
    size_t build_id_bytes;
    unsigned number; /* of the order in which they were met, from 0 */
};

/* The module with this number; NULL behind the last one met. */
const struct alqi_glue_module *alqi_glue_native_module(unsigned number);

/* Meets the modules that are mapped now. */
void alqi_glue_native_meet(void);

/* The latest one met that has a return address in it, or NULL. */
const struct alqi_glue_module *alqi_glue_native_module_at(uintptr_t pc);

/* What a return address is called: the function's name, or NULL; *module and
 * the address's offset in its file, or NULL where it is in none. */
const char *alqi_glue_native_name(uintptr_t pc,
                                  const struct alqi_glue_module **module,
                                  uintptr_t *offset);

#endif
