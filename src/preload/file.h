/* file.h -- the recording's file: a shared mapping, grown window by window
 *
 * .inv.blocks  Each page of a chunk is written to by the kernel before the
 *              recorder does (page_touch): a full disk is an error code here,
 *              never a SIGBUS later.
 * .inv.mine    No descriptor outlives the call that made it.  A file that is
 *              opened by name is changed only after its device and inode are
 *              seen to be the recording's.
 * .inv.few     Where the process is confined (plat.h), or memory is reserved,
 *              a chunk takes no system call but futex; where there may be none
 *              at all, there is no new chunk.
 * .pair.commit  alqi_preload_file_commit(), alqi_preload_file_chunk_new()
 *              (release) -> a reader of the recording, in another process
 *              (acquire): the bytes, the chunk's header. */
#ifndef ALQI_PRELOAD_FILE_H
#define ALQI_PRELOAD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/raw.h"

/* Creates the recording for this process image; false: it failed, which is
 * logged once.  The caller holds the lock of streams. */
bool alqi_preload_file_create(uint32_t flags);

/* The header, or a page of nobody's when there is no file. */
struct alqi_raw_header *alqi_preload_file_header(void);

/* Absolute path of the recording; "" when there is no file. */
const char *alqi_preload_file_path(void);

/* Why the last attempt to make or grow one failed. */
const char *alqi_preload_file_error(void);

/* Expands the letters of ALQI_PRELOAD_LETTERS (%n: 0); false when it does not
 * fit. */
bool alqi_preload_file_name(char *out, size_t capacity, const char *pattern);
/* The name of a file that does not exist, for the trace of a managed heap;
 * false when it does not fit. */
bool alqi_preload_heap_name(char *out, size_t capacity);

/* Maps so many bytes of the recording, for chunks to come; false: no room. */
bool alqi_preload_file_reserve(size_t bytes);

/* A fresh chunk, or NULL: no space, or asked again too soon after that. */
struct alqi_raw_chunk_header *
alqi_preload_file_chunk_new(enum alqi_raw_chunk_kind kind, uint32_t stream,
                            uint32_t sequence, uint64_t now_ns,
                            uint64_t first_ordinal);
void alqi_preload_file_chunk_done(struct alqi_raw_chunk_header *chunk);

/* All before `end` is there for readers (wire/raw.h .inv.commit,
 * .pair.commit). */
static inline void
alqi_preload_file_commit(struct alqi_raw_chunk_header *chunk,
                         const uint8_t *end)
{
    atomic_store_explicit(&chunk->used,
                          (uint32_t)(end - (uint8_t *)(chunk + 1)),
                          memory_order_release);
}

/* Nobody writes into the recording any more: unmaps it, and leaves a page of
 * nobody's where the header was, to which a counter may yet be added. */
void alqi_preload_file_close(void);

/* Removes the file that was closed last, if its name leads to it; path receives
 * the name. */
void alqi_preload_file_remove(char *path, size_t capacity);

/* In a forked child: the file is the parent's. */
void alqi_preload_file_leave(void);

#endif
