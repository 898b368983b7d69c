/* code.h -- location codes of addresses, in traces of native programs
 *
 *      63 62   61     60     59      48 47                       0
 *      0  0   bare    0    |   reuse   |         address          |
 *
 * .inv.code   A location code means one address of one loaded module for the
 *             whole trace.  reuse counts the modules that lay over that address
 *             before; those beyond REUSE_MAX have bare codes, and no names.  A
 *             bare address lay in no known module.
 * .inv.made   The reuse of a bare code is 0, or 1 (BEYOND), or from MADE on the
 *             number of a piece of code that the program made as it ran: it
 *             tells those that were over the address one after the other apart.
 *
 * User addresses have 47 bits on x86-64 and 48 on aarch64; a system gives more
 * only to a program that asks for them.  Such an address has the code
 * ALQI_CODE_BEYOND: it is no address of any module.
 *
 * Bit 60 marks codes that are numbers (glue/tracing/trace_names.c,
 * cli/merge/recode.c; of Python functions, cli/convert/codes.c); side records
 * have bit 63 set (side.h). */
#ifndef ALQI_WIRE_CODE_H
#define ALQI_WIRE_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ALQI_CODE_ADDRESS_BITS = 48,
    ALQI_CODE_REUSE_MAX = (1 << 12) - 1,
    ALQI_CODE_MADE = 2
};

#define ALQI_CODE_ADDRESS_END (UINT64_C(1) << ALQI_CODE_ADDRESS_BITS)
#define ALQI_CODE_NUMBERED (UINT64_C(1) << 60)
#define ALQI_CODE_BARE (UINT64_C(1) << 61)
#define ALQI_CODE_BEYOND (ALQI_CODE_BARE | ALQI_CODE_ADDRESS_END)

/* Whether a code has room for the address. */
static inline bool
alqi_code_has_room(uint64_t address)
{
    return address < ALQI_CODE_ADDRESS_END;
}

/* The address of a code that has one. */
static inline uint64_t
alqi_code_address(uint64_t code)
{
    return code & (ALQI_CODE_ADDRESS_END - 1);
}

/* The code of an address of a module that is the reuse-th over its place. */
static inline uint64_t
alqi_code_of(uint64_t address, uint64_t reuse)
{
    return address | reuse << ALQI_CODE_ADDRESS_BITS;
}

/* The module of code made at run time. */
#define ALQI_CODE_MADE_MODULE "[jit]"

/* Whether the code is of an address in code made at run time. */
static inline bool
alqi_code_is_made(uint64_t code)
{
    return code >> 60 == ALQI_CODE_BARE >> 60 &&
           code >= (ALQI_CODE_BARE | (uint64_t)ALQI_CODE_MADE
                                         << ALQI_CODE_ADDRESS_BITS);
}

/* Whether the code is of an address that lay in no known module. */
static inline bool
alqi_code_is_bare(uint64_t code)
{
    return (code & ~(ALQI_CODE_ADDRESS_END - 1)) == ALQI_CODE_BARE ||
           alqi_code_is_made(code);
}

#endif
