/* elf_module.h -- the modules of the process and their unwind sections
 *
 * Two steps: the dynamic linker says which module holds an address (no lock, a
 * few ns); the module's program headers, read where they are mapped, say the
 * rest.  What was read is kept in a table that its user locks
 * (unwind_rules.c). */
#ifndef ALQI_STACK_ELF_MODULE_H
#define ALQI_STACK_ELF_MODULE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack/capture.h"
#include "stack/dwarf_ehframe.h"

/* Where a module is mapped, as the linker says: of a module in one piece its
 * extent, of a main program with holes between its segments that of one
 * segment. */
struct alqi_stack_mapping {
    uintptr_t start; /* [start, end) */
    uintptr_t end;
    uintptr_t bias;          /* address in memory - address in the file */
    const char *path;        /* the linker's; "" for the main program */
    const uint8_t *hdr;      /* .eh_frame_hdr or NULL */
    const ElfW(Phdr) * phdr; /* of the program itself; else NULL */
    uint32_t n_phdr;
};

/* An entry of the table. */
struct alqi_stack_module_entry {
    struct alqi_stack_mapping mapping;
    struct alqi_stack_sections sections;
    bool has_sections; /* sections are valid */
};

/* The module at `address`, as the linker says. */
bool alqi_stack_module_find(uintptr_t address, struct alqi_stack_mapping *out);

/* Whether the kernel enters the process by the code there, the linker's or the
 * program's: nothing calls it. */
bool alqi_stack_module_is_entry(uintptr_t address);

/* Reads a module's unwind sections; false: none that can be used. */
bool alqi_stack_module_sections(const struct alqi_stack_mapping *mapping,
                                struct alqi_stack_sections *out);

/* The table's entry for a mapping; a new one is added, in the place of those
 * it overlaps, and reported to the callback.  NULL: the table is full. */
const struct alqi_stack_module_entry *
alqi_stack_module_add_locked(const struct alqi_stack_mapping *mapping);

void alqi_stack_module_callback_locked(alqi_stack_module_fn *fn, void *arg);
void alqi_stack_modules_forget_locked(void);

/* Calls fn for each module of the linker's list. */
void
alqi_stack_modules_each(void (*fn)(const struct alqi_stack_mapping *mapping));

#endif
