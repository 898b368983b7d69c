/* pprof_out.h -- bytes to a descriptor, as gzip's format without compression
 *
 * Readers of profiles want gzip; a program that embeds us need not link zlib.
 * Stored blocks cost five bytes in 65535. */
#ifndef ALQI_GLUE_TRACING_PPROF_OUT_H
#define ALQI_GLUE_TRACING_PPROF_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALQI_PPROF_BLOCK_BYTES = 65535, ALQI_PPROF_BLOCK_HEAD = 5 };

struct alqi_pprof_out {
    int fd;
    int error; /* errno of the first failure: nothing is written after it */
    /* send() has said so: write() from then on */
    bool is_no_socket;
    uint32_t crc;     /* of all bytes so far */
    uint32_t n_bytes; /* modulo 2^32, as the trailer has it */
    size_t n;         /* bytes in block, behind its head    */
    uint8_t block[ALQI_PPROF_BLOCK_HEAD + ALQI_PPROF_BLOCK_BYTES];
};

void alqi_pprof_out_begin(struct alqi_pprof_out *out, int fd);
void alqi_pprof_out_put(struct alqi_pprof_out *out, const void *bytes,
                        size_t n);
/* Returns the errno of the first failure, 0 of none. */
int alqi_pprof_out_end(struct alqi_pprof_out *out);

#endif
