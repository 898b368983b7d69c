/* instruction.h -- the length of an x86-64 instruction, and where it branches
 *                                                     [doc/design/patch.md] */
#ifndef ALQI_PLAT_INSTRUCTION_H
#define ALQI_PLAT_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ALQI_PLAT_INSTRUCTION_BYTES = 15 /* the most that there are */ };

struct alqi_plat_instruction {
    size_t n_bytes;
    size_t opcode_at;   /* from its start; of the last opcode byte */
    size_t relative_at; /* of 4 bytes relative to its end; 0: none */
    int64_t short_far;  /* a short branch's distance               */
    bool is_short;      /* a branch of 8 bits                      */
    bool is_branch;     /* relative_at is where it goes            */
    bool is_end;        /* nothing behind it is run                */
    bool is_copied;     /* of those that a copy may have           */
};

/* Reads the instruction at `code`, of which INSTRUCTION_BYTES are there. False:
 * it is not known. */
bool alqi_plat_instruction_read(const uint8_t *code,
                                struct alqi_plat_instruction *i);

#endif
