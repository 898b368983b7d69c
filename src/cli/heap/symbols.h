/* symbols.h -- names of addresses in the program that wrote a snapshot
 *
 * By the modules that the file lists, as they are on this machine; a module
 * that is not, or is another one by its build-id, gives offsets. */
#ifndef ALQI_CLI_HEAP_SYMBOLS_H
#define ALQI_CLI_HEAP_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_cli_heap_symbols;

struct alqi_cli_heap_module {
    uint64_t start, end, bias;
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
};

/* Ends the command without memory. */
struct alqi_cli_heap_symbols *alqi_cli_heap_symbols_new(void);
void alqi_cli_heap_symbols_drop(struct alqi_cli_heap_symbols *symbols);
void alqi_cli_heap_symbols_add(struct alqi_cli_heap_symbols *symbols,
                               const struct alqi_cli_heap_module *module);

/* The symbol before an address in data, which has `size` bytes, 0: unknown, and
 * begins `offset` bytes before it.  NULL: none.  Valid until another call. */
const char *alqi_cli_heap_symbols_data(struct alqi_cli_heap_symbols *symbols,
                                       uint64_t address, uint64_t *offset,
                                       uint64_t *size);
/* A variable: "cache (libfoo.so)", whatever part of it the address is of, or
 * "libfoo.so+0x1040".  False: no module has the address. */
bool alqi_cli_heap_symbols_variable(struct alqi_cli_heap_symbols *symbols,
                                    uint64_t address, char *out,
                                    size_t capacity);

/* A function's first instruction, or a return address less 1. */
struct alqi_cli_heap_place_of_code {
    const char *function, *file;
    uint64_t line;
};
bool alqi_cli_heap_symbols_code(struct alqi_cli_heap_symbols *symbols,
                                uint64_t address,
                                struct alqi_cli_heap_place_of_code *place);

#endif
