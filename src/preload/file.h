/* file.h -- the recording's file: one shared mapping, grown chunk by chunk
 *
 * .inv.blocks  A chunk's blocks are allocated on disk before it is mapped: a
 *              full disk is an error code here, never a SIGBUS later.
 * .inv.mine    The descriptor is used only after its device and inode are seen
 *              to be the recording's: a program may close or replace any. */
#ifndef ALQI_PRELOAD_FILE_H
#define ALQI_PRELOAD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/raw.h"

/* Creates the recording for this process image; false when that failed (said
 * once on stderr).  Caller holds no lock of ours. */
bool alqi_preload_file_create(uint32_t flags);

/* The header, or a page of nobody's when there is no file. */
struct alqi_raw_header *alqi_preload_file_header(void);

/* Absolute path of the recording; "" when there is no file. */
const char *alqi_preload_file_path(void);

/* Why the last attempt to make or grow one failed. */
const char *alqi_preload_file_error(void);

/* Expands %e, %p and %n (0); false when it does not fit. */
bool alqi_preload_file_name(char *out, size_t capacity, const char *pattern);
/* The name of a file that does not exist, for the trace of a managed heap;
 * false when it does not fit. */
bool alqi_preload_heap_name(char *out, size_t capacity);

/* The same file at a number out of the program's way. */
int alqi_preload_fd_move_up(int fd);

/* A fresh chunk, or NULL: no space, or asked again too soon after that. */
struct alqi_raw_chunk_header *
alqi_preload_file_chunk_new(enum alqi_raw_chunk_kind kind, uint32_t stream,
                            uint32_t sequence, uint64_t now_ns,
                            uint64_t first_ordinal);
/* Copies a full chunk to a place of its own in the file, so that it may begin
 * anew where it is; false: no space, as above.  A reader that finds a chunk
 * twice, by stream and sequence, takes one. */
bool alqi_preload_file_chunk_copy(const struct alqi_raw_chunk_header *chunk,
                                  uint64_t now_ns);
void alqi_preload_file_chunk_done(struct alqi_raw_chunk_header *chunk);

/* In a forked child: the file is the parent's. */
void alqi_preload_file_leave(void);

#endif
