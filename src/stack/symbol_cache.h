/* symbol_cache.h -- answers of earlier commands, kept on disk by build-id
 *
 * A file of the cache has the frames of the addresses of one module that were
 * asked for so far, under a key that names all they rest upon.  The cache never
 * fails: what cannot be read, written or trusted is as if it were not there. */
#ifndef ALQI_STACK_SYMBOL_CACHE_H
#define ALQI_STACK_SYMBOL_CACHE_H

#include "stack/symbol_elf.h"
#include "stack/symbol_frame.h"

enum { ALQI_SYMBOL_CACHE_NAME_BYTES = 256 };

/* The cache of a table.  All zeros but dir, which is -1: not open yet. */
struct alqi_symbol_cache {
    int dir;          /* its directory; -1: none, or not open yet         */
    bool is_allowed;  /* by the table's owner; the environment may refuse */
    bool is_asked;    /* the directory was looked for                     */
    bool has_written; /* a file of it is new: its size is to be looked at */
    /* what resolves: this program, its libdw */
    struct alqi_symbol_identity resolver[2];
};

/* All that a module's answers rest upon.  Compared and hashed as bytes, so it
 * is filled from zeros. */
struct alqi_symbol_cache_key {
    struct alqi_symbol_identity resolver[2]; /* filled by the cache */
    struct alqi_symbol_identity program, debug, shared;
    uint64_t build_id_bytes;
    uint8_t build_id[ALQI_SYMBOL_ID_BYTES_MAX];
    char name[ALQI_SYMBOL_CACHE_NAME_BYTES]; /* shown where a frame has none */
};

/* The answers of a module that a file had.  All zeros: none. */
struct alqi_symbol_kept {
    uint8_t *bytes;            /* the file; owned                         */
    const uint64_t *addresses; /* in `bytes`, ascending                   */
    const uint32_t *firsts;    /* in `bytes`; n_addresses + 1 of `frames` */
    struct alqi_symbol_frame *frames; /* texts in `bytes`; owned          */
    uint32_t n_addresses;
};

/* An answer to keep. */
struct alqi_symbol_cache_entry {
    uint64_t address;
    const struct alqi_symbol_frame *frames;
    uint32_t count;
};

void alqi_symbol_cache_init(struct alqi_symbol_cache *cache, bool is_allowed);
/* Removes what has not been used for longest, if the cache is too large. */
void alqi_symbol_cache_drop(struct alqi_symbol_cache *cache);

/* Fills *kept, which is all zeros, from the file of the key; leaves it when
 * there is none that is whole. */
void alqi_symbol_cache_read(struct alqi_symbol_cache *cache,
                            struct alqi_symbol_cache_key *key,
                            struct alqi_symbol_kept *kept);
/* The frames of the address, valid until kept is dropped, and how many; 0: it
 * is not there. */
size_t alqi_symbol_kept_find(const struct alqi_symbol_kept *kept,
                             uint64_t address,
                             const struct alqi_symbol_frame **frames);
void alqi_symbol_kept_drop(struct alqi_symbol_kept *kept);

/* Puts a file with these answers, each address once, in the place of the one
 * that was there; sorts them.  False: it is as it was. */
bool alqi_symbol_cache_write(struct alqi_symbol_cache *cache,
                             struct alqi_symbol_cache_key *key,
                             struct alqi_symbol_cache_entry *entries, size_t n);

#endif
