/* memory.h -- a core's memory, read piece by piece   [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_MEMORY_H
#define ALQI_CLI_LEAKS_MEMORY_H

#include "cli/attach/core.h"

/* A page that was read. */
struct alqi_cli_leak_page;

struct alqi_cli_leak_memory {
    const struct alqi_cli_core *core; /* the caller's */
    /* /proc's tables of pages: of the copy, and of the process, whose shared
     * pages a fork does not enter into the copy's; -1: everything is read */
    int pages, shared_pages;
    uint64_t *buffer; /* owned */
    /* words read; bytes that could not be */
    uint64_t n_words, unread_bytes;
    /* pages that _peek has read last, by their addresses; owned */
    struct alqi_cli_leak_page *kept;
};

void alqi_cli_leak_memory_open(struct alqi_cli_leak_memory *memory,
                               const struct alqi_cli_core *core);
void alqi_cli_leak_memory_close(struct alqi_cli_leak_memory *memory);

/* Words of the memory, in the order of their addresses. */
typedef void alqi_cli_leak_words_fn(void *arg, uint64_t address,
                                    const uint64_t *words, size_t n);

/* Reads all words from `from` to `to`, which are rounded to whole words, but
 * for pages that were never touched. */
void alqi_cli_leak_memory_each(struct alqi_cli_leak_memory *memory,
                               uint64_t from, uint64_t to, bool is_shared,
                               alqi_cli_leak_words_fn *words, void *arg);

/* The word there; false: it cannot be read. */
bool alqi_cli_leak_memory_word(const struct alqi_cli_leak_memory *memory,
                               uint64_t address, uint64_t *word);

/* Up to n words from there on: as many as can be read; 0 if the address is no
 * multiple of 8 bytes. */
size_t alqi_cli_leak_memory_peek(struct alqi_cli_leak_memory *memory,
                                 uint64_t address, uint64_t *words, size_t n);

#endif
