/* heapgraph_file.c -- a heap snapshot of a given shape, for bench/heapgraph and
 * bench/heap_held
 *
 *   heapgraph_file SHAPE N OUT [EVERY]   one of EVERY blocks is a trace's
 *
 * mixed   tables of buckets, chains of pairs, records of two pairs, a string
 *         and a number; one record in eight leads to any other
 * pairs   one list of pairs: no leaves, and as deep as there are blocks
 * random  blocks of three pointers to anywhere: no locality */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/dump.h"

enum { TABLE = 1024, GROUP = 5, BASE = 1 << 20, WORD = 8 };

static struct alqi_dump_encoder e;
static uint64_t state = 1;

static uint64_t
below(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 24) % n;
}

static bool
put(void *file, const uint8_t *bytes, size_t n)
{
    return fwrite(bytes, 1, n, file) == n;
}

/* Addresses of blocks that a trace has; so many of all blocks are none. */
static uint64_t *traced, n_traced, every, left;

static void
block(uint64_t address, uint64_t words, unsigned tag)
{
    alqi_dump_block(&e, address, words, tag, 0);
    if (every > 0 && left-- == 0) {
        traced[n_traced++] = address;
        left = every - 1;
    }
}

static void
traced_write(void)
{
    for (uint64_t i = 0; i < n_traced; i++)
        alqi_dump_traced(&e, traced[i], 0, i);
    free(traced);
}

/* ---- mixed --------------------------------------------------------------- */

/* A group of blocks takes so many words, headers included. */
enum { PAIR = 3, RECORD = 5, STRING = 5, NUMBER = 2 };
enum { GROUP_WORDS = PAIR + RECORD + STRING + NUMBER + PAIR };

static uint64_t
group_at(uint64_t tables, uint64_t i)
{
    return BASE + WORD * (tables * (TABLE + 1) + i * GROUP_WORDS + 1);
}

/* A pair of the chain, its record, the record's string, number and pair. */
static void
group(uint64_t tables, uint64_t i, uint64_t n)
{
    uint64_t pair = group_at(tables, i), record = pair + PAIR * WORD;
    uint64_t string = record + RECORD * WORD, number = string + STRING * WORD;
    uint64_t last = number + NUMBER * WORD;

    block(pair, PAIR - 1, 0);
    alqi_dump_edge(&e, record);
    if ((i + 1) % 8 != 0 && i + 1 < n)
        alqi_dump_edge(&e, group_at(tables, i + 1));
    block(record, RECORD - 1, 1);
    alqi_dump_edge(&e, string);
    alqi_dump_edge(&e, number);
    alqi_dump_edge(&e, last);
    if (i % 8 == 3)
        alqi_dump_edge(&e, group_at(tables, below(n)) + PAIR * WORD);
    block(string, STRING - 1, 252);
    block(number, NUMBER - 1, 253);
    block(last, PAIR - 1, 0);
    alqi_dump_edge(&e, number);
    alqi_dump_edge(&e, record);
}

/* Tables first, each a root; a bucket has a chain of eight groups. */
static void
mixed(uint64_t n_blocks)
{
    uint64_t n = n_blocks / GROUP, tables = (n / 8 + TABLE - 1) / TABLE;

    for (uint64_t t = 0; t < tables; t++) {
        uint64_t at = BASE + WORD * (t * (TABLE + 1) + 1);

        block(at, TABLE, 2);
        for (uint64_t i = t * TABLE; i < (t + 1) * TABLE && i * 8 < n; i++)
            alqi_dump_edge(&e, group_at(tables, i * 8));
    }
    for (uint64_t i = 0; i < n; i++)
        group(tables, i, n);
    for (uint64_t t = 0; t < tables; t++) {
        char name[32];

        snprintf(name, sizeof name, "table %u", (unsigned)t);
        alqi_dump_root(&e, ALQI_DUMP_ROOT_GLOBAL, 0, 0x1000 + t * WORD, name,
                       BASE + WORD * (t * (TABLE + 1) + 1));
    }
}

/* ---- pairs, random ------------------------------------------------------- */

static uint64_t
nth(uint64_t i, uint64_t words)
{
    return BASE + WORD * (i * (words + 1) + 1);
}

static void
pairs(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        block(nth(i, 2), 2, 0);
        if (i + 1 < n)
            alqi_dump_edge(&e, nth(i + 1, 2));
    }
    alqi_dump_root(&e, ALQI_DUMP_ROOT_GLOBAL, 0, 0x1000, "list", nth(0, 2));
}

static void
anywhere(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        block(nth(i, 3), 3, 0);
        for (unsigned k = 0; k < 3; k++)
            alqi_dump_edge(&e, nth(below(n), 3));
    }
    for (unsigned k = 0; k < 10; k++)
        alqi_dump_root(&e, ALQI_DUMP_ROOT_GLOBAL, 0, 0x1000 + k * WORD, "",
                       nth(below(n), 3));
}

int
main(int argc, char **argv)
{
    FILE *file = argc >= 4 ? fopen(argv[3], "wb") : NULL;
    uint64_t n = argc >= 4 ? strtoull(argv[2], NULL, 10) : 0;

    every = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    if (file == NULL || n == 0) {
        fprintf(stderr, "heapgraph_file mixed|pairs|random N OUT [EVERY]\n");
        return 2;
    }
    /* tables are blocks, too */
    traced = every > 0 ? malloc((2 * n / every + 2) * sizeof *traced) : NULL;
    if (every > 0 && traced == NULL)
        return 1;
    alqi_dump_begin(&e, put, file);
    alqi_dump_program(&e, 1, 1790000000000000, argv[1], strlen(argv[1]));
    if (strcmp(argv[1], "mixed") == 0)
        mixed(n);
    else if (strcmp(argv[1], "pairs") == 0)
        pairs(n);
    else
        anywhere(n);
    traced_write();
    return alqi_dump_end(&e, 0, true) && fclose(file) == 0 ? 0 : 1;
}
