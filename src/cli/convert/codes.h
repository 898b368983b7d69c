/* codes.h -- addresses to location codes, and codes to names [wire/code.h] */
#ifndef ALQI_CLI_CONVERT_CODES_H
#define ALQI_CLI_CONVERT_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/convert/jit.h"
#include "stack/symbol.h"
#include "wire/code.h"
#include "wire/ctf.h"
#include "wire/raw.h"

/* A module as it was loaded: read-only for all but codes.c. */
struct alqi_cli_module {
    /* addresses [start, end) in the process; bias: address minus the address
     * in the module's file */
    uint64_t start, end, bias;
    /* modules that lay over these addresses before this one */
    uint32_t reuse;
    /* order of first arrival, from 0; the trace's side records use it */
    uint32_t id;
    /* of the file, as the process saw it; owned */
    char *path;
    char build_id[2 * 64 + 1]; /* hexadecimal */
    /* the build id; n_id_bytes is 0 when the module has none */
    uint8_t id_bytes[64];
    uint32_t n_id_bytes;
    /* never NULL; the symbol table owns it */
    struct alqi_symbol_module *symbols;
};

struct alqi_cli_codes;

/* The innermost frame of a mapping's stack, "[mmap]": no address is this. */
#define ALQI_CLI_CODE_MAPPING ((uint64_t)2)
#define ALQI_CLI_MAPPING_NAME "[mmap]"

/* The innermost frame of a block of a pool that has that number in the
 * recording. */
static inline uint64_t
alqi_cli_code_of_pool(uint32_t number)
{
    return ALQI_CODE_NUMBERED | (uint64_t)number << ALQI_RAW_PYTHON_LINE_BITS;
}

/* NULL when there is no memory.  `executable` names the main program. */
struct alqi_cli_codes *alqi_cli_codes_new(struct alqi_symbol_table *symbols,
                                          const char *executable);
void alqi_cli_codes_drop(struct alqi_cli_codes *codes);

/* Addresses in no module may be of this code from now on; it outlives the
 * codes. */
void alqi_cli_codes_use_jit(struct alqi_cli_codes *codes,
                            struct alqi_cli_jit *jit);

/* A module is there from now on.  *out is the new one, or NULL when it has been
 * at its place before; false when there is no memory. */
bool alqi_cli_codes_module(struct alqi_cli_codes *codes,
                           const struct alqi_raw_event *event,
                           const struct alqi_cli_module **out);

/* The module with this id, in order of first arrival; NULL behind the last. */
const struct alqi_cli_module *
alqi_cli_codes_module_at(const struct alqi_cli_codes *codes, uint32_t id);

/* A number has the event's name, for frames of Python functions and of pools;
 * false when there is no memory. */
bool alqi_cli_codes_python(struct alqi_cli_codes *codes,
                           const struct alqi_raw_event *event);

/* The code of a return address by the modules of now, and by the code that the
 * process had made by that time (CLOCK_MONOTONIC), or of a Python frame
 * (wire/raw.h); 0 when there is no memory.  Of an address that codes have no
 * room for it is ALQI_CODE_BEYOND. */
uint64_t alqi_cli_codes_from(struct alqi_cli_codes *codes, uint64_t pc,
                             uint64_t time_ns);

/* Reads the symbols of the codes given out so far, of modules, so that a lookup
 * finds them read. */
void alqi_cli_codes_read_ahead(struct alqi_cli_codes *codes);

/* As alqi_ctf_lookup_fn; arg is the codes. */
void alqi_cli_codes_lookup(void *arg, uint64_t code,
                           struct alqi_ctf_location *out);

#endif
