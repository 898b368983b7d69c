/* symbol_elf_names.h -- ELF symbols by address, and names people can read */
#ifndef ALQI_STACK_SYMBOL_ELF_NAMES_H
#define ALQI_STACK_SYMBOL_ELF_NAMES_H

#include "base/arena.h"
#include "base/map.h"
#include "stack/symbol_elf.h"
#include "stack/symbol_find.h"
#include "stack/symbol_ranges.h"

struct alqi_symbol_names {
    struct alqi_symbol_map map; /* address to index of `name`           */
    const char **name;          /* as in the file, or "function@plt"    */
    size_t count;
    struct alqi_symbol_elf *mini; /* unpacked .gnu_debugdata, or NULL     */
};

/* Never fails; what cannot be read is left out. */
void alqi_symbol_names_load(struct alqi_symbol_names *names,
                            const struct alqi_symbol_files *files,
                            struct alqi_base_arena *arena);
const char *alqi_symbol_names_find(const struct alqi_symbol_names *names,
                                   uint64_t address);
void alqi_symbol_names_drop(struct alqi_symbol_names *names);

/* Raw names to demangled ones, each demangled once. */
struct alqi_symbol_demangler {
    struct alqi_base_map by_raw; /* address of the raw text, which must stay
                                    where it is, to the demangled text */
};

/* The name itself when it is not mangled, or not understood. */
const char *alqi_symbol_demangle(struct alqi_symbol_demangler *demangler,
                                 struct alqi_base_arena *arena,
                                 const char *raw);
void alqi_symbol_demangler_drop(struct alqi_symbol_demangler *demangler);

#endif
