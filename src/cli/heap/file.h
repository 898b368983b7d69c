/* file.h -- a heap snapshot's bytes, and walks over its blocks
 *                                               [doc/design/heap-snapshot]
 *
 * The bytes are mapped, so that each walk reads them anew instead of keeping
 * anything for each block; a compressed file is unpacked beside it first. */
#ifndef ALQI_CLI_HEAP_FILE_H
#define ALQI_CLI_HEAP_FILE_H

#include "wire/dump_decode.h"

struct alqi_cli_heap_file {
    const char *path; /* as shown in messages */
    uint8_t *bytes;   /* mapped */
    size_t n_bytes;
};

/* -1: go on; else the exit status: why has been said. */
int alqi_cli_heap_file_open(struct alqi_cli_heap_file *file, const char *path);
void alqi_cli_heap_file_close(struct alqi_cli_heap_file *file);

/* Through all blocks, in the order of the file. */
struct alqi_cli_heap_walk {
    const struct alqi_cli_heap_file *file;
    struct alqi_dump_decoder d; /* for the edges of the last block */
    /* pages before it are no longer in memory; beyond `next` more go */
    const uint8_t *kept, *next;
};

void alqi_cli_heap_walk_begin(struct alqi_cli_heap_walk *walk,
                              const struct alqi_cli_heap_file *file);
/* Goes on to the next record that is no RUN, or to a block: 1, and *record is
 * filled (*block is not); 0, and *block is; -1: there is no more. */
int alqi_cli_heap_walk_on(struct alqi_cli_heap_walk *walk,
                          struct alqi_dump_record *record,
                          struct alqi_dump_block_read *block);

/* The next block, whatever lies between. */
static inline bool
alqi_cli_heap_walk_block(struct alqi_cli_heap_walk *walk,
                         struct alqi_dump_block_read *block)
{
    struct alqi_dump_record record;
    int got;

    if (walk->d.at < walk->next && alqi_dump_next_block(&walk->d, block))
        return true;
    do
        got = alqi_cli_heap_walk_on(walk, &record, block);
    while (got > 0);
    return got == 0;
}

#endif
