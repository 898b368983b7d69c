/* sizes.h -- sums by the sizes of blocks, in classes of powers of two
 *
 * A class has the sizes above half of its largest one. */
#ifndef ALQI_CLI_ANALYSIS_SIZES_H
#define ALQI_CLI_ANALYSIS_SIZES_H

#include <stdint.h>

enum { ALQI_CLI_SIZE_CLASSES = 65 };

/* The class of blocks of so many bytes; 0: of one byte, or none. */
static inline unsigned
alqi_cli_size_class(uint64_t bytes)
{
    return bytes <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(bytes - 1);
}

/* The largest size of a class. */
static inline double
alqi_cli_size_class_bytes(unsigned size_class)
{
    return (double)((__uint128_t)1 << size_class);
}

#endif
