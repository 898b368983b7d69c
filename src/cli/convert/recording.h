/* recording.h -- a raw recording, read: its header, its events in one order
 *
 * A recording is opened, read through a merge (or exact.h for its exact part),
 * and dropped after its readers. alqi_cli_recording_grow takes up what a live
 * one has got since; each reader then has a _more call. */
#ifndef ALQI_CLI_CONVERT_RECORDING_H
#define ALQI_CLI_CONVERT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/raw.h"

struct alqi_cli_recording; /* an open raw file */

/* NULL when path is not a readable recording; then error says why. */
struct alqi_cli_recording *
alqi_cli_recording_open(const char *path, char *error, size_t error_bytes);
/* The same of one whose process stands still during the call: what it adds
 * later does not show. */
struct alqi_cli_recording *alqi_cli_recording_open_still(const char *path,
                                                         char *error,
                                                         size_t error_bytes);
/* The same of one that is converted while its process writes it: what is newer
 * than a moment before each call of grow is left out, so that the streams are
 * whole up to there. */
struct alqi_cli_recording *alqi_cli_recording_open_behind(const char *path,
                                                          char *error,
                                                          size_t error_bytes);
/* A file whose header was never finished: its process ended, or was killed, as
 * it began it, or is beginning it now. */
bool alqi_cli_recording_is_unbegun(const char *path);
/* Recordings that are opened from now on are read up to that time of
 * CLOCK_MONOTONIC. */
void alqi_cli_recordings_until(uint64_t ns);
void alqi_cli_recording_drop(struct alqi_cli_recording *recording);
/* Takes up what a live recording has got since it was opened or grown: header
 * and bytes. The bytes may lie elsewhere afterwards. pid is the writer's, as
 * it is known here. False: errno. */
bool alqi_cli_recording_grow(struct alqi_cli_recording *recording, pid_t pid);
const struct alqi_raw_header *
alqi_cli_recording_header(const struct alqi_cli_recording *recording);
/* The largest rate of any allocation in it, samples per word. */
double alqi_cli_recording_most_rate(const struct alqi_cli_recording *recording);
/* The user whose process wrote it: the file's owner. */
uid_t alqi_cli_recording_owner(const struct alqi_cli_recording *recording);
/* The writer's number, as it is known here; 0: it did not run when the
 * recording was opened, and grow has been told none. */
pid_t alqi_cli_recording_pid(const struct alqi_cli_recording *recording);
/* Whether the process that writes it is there still, and is no other program
 * by exec. */
bool alqi_cli_recording_is_live(const struct alqi_cli_recording *recording);
/* How it ended, for the end record: running, exit, exec or killed. */
const char *
alqi_cli_recording_ended(const struct alqi_cli_recording *recording);
/* It has ended, was to be looked at before (--leaks), and was not. */
bool alqi_cli_recording_is_unlooked(const struct alqi_cli_recording *recording);
/* When it ended, on CLOCK_MONOTONIC: as its process told, or the one that
 * waited for it; now, where it goes on.  0: nobody knows. */
uint64_t
alqi_cli_recording_ended_ns(const struct alqi_cli_recording *recording);
/* The most resident memory of its process, as the kernel has it; 0: unknown. */
uint64_t
alqi_cli_recording_most_rss(const struct alqi_cli_recording *recording);

/* What the one who waited for the process knows of its end. */
struct alqi_cli_waited {
    /* a signal ended it, this one */
    bool is_signal;
    int signal;
    uint64_t ended_ns;
    uint64_t most_rss_bytes;
};

/* The writer was waited for.  What it told itself stands. */
void alqi_cli_recording_waited(struct alqi_cli_recording *recording,
                               const struct alqi_cli_waited *waited);
/* The signal that ended it; 0: none did, or it is not known. */
int alqi_cli_recording_signal(const struct alqi_cli_recording *recording);
/* As alqi_cli_recording_is_live, where the process has another number here
 * (containers). */
bool alqi_cli_recording_is_live_as(const struct alqi_cli_recording *recording,
                                   pid_t pid);

/* Whether a block may have so many bytes; else its record is damage. */
static inline bool
alqi_cli_recording_is_size(uint64_t size_bytes)
{
    return size_bytes < (uint64_t)1 << 60;
}

/* The places of chunks in the file as it is mapped, and how many there are. */
const uint8_t *
alqi_cli_recording_chunks(const struct alqi_cli_recording *recording,
                          size_t *n_places);

/* What comes after that time, on CLOCK_MONOTONIC, is left out: of one that goes
 * on and is exact, or read behind its writer, because its streams are whole up
 * to then, and see _until.  UINT64_MAX: nothing is. */
uint64_t
alqi_cli_recording_moment_ns(const struct alqi_cli_recording *recording);

/* For readers: makes room for one more element behind n; array points to the
 * pointer.  False: there is no memory. */
bool alqi_cli_recording_room(void *array, size_t n, size_t *capacity,
                             size_t each_bytes);

/* For readers: a chunk of the file. */
struct alqi_cli_chunk_ref {
    /* as enum alqi_raw_chunk_kind */
    uint32_t kind;
    /* the writer's number, not an index */
    uint32_t stream;
    /* its place among the chunks of its stream */
    uint32_t sequence;
    /* its header; valid until the recording grows */
    const uint8_t *bytes;
};
/* Order of such chunks, for qsort: by stream, then by sequence. */
int alqi_cli_chunk_order(const void *a, const void *b);

enum { ALQI_CLI_NO_THREAD = -1 };

/* One event; everything stays valid until the next one is asked for. */
struct alqi_cli_merged {
    /* decoded; prefixes have been joined with their allocation */
    const struct alqi_raw_event *event;
    /* of an allocation: return addresses, outermost first */
    const uint64_t *frames;
    uint32_t n_frames;
    /* index of the thread of the stream, or ALQI_CLI_NO_THREAD */
    int64_t thread;
};

/* All streams, merged by time; at one time, modules first. */
struct alqi_cli_merge;

/* NULL when there is no memory. */
struct alqi_cli_merge *
alqi_cli_merge_open(const struct alqi_cli_recording *recording);
void alqi_cli_merge_drop(struct alqi_cli_merge *merge);
/* The next event; false at the end, or at the recording's moment. */
bool alqi_cli_merge_next(struct alqi_cli_merge *merge,
                         struct alqi_cli_merged *out);
/* After the end, or at the moment: goes on with what the recording has got
 * since.  False when there is no memory. */
bool alqi_cli_merge_more(struct alqi_cli_merge *merge);
/* Chunks that were damaged, so far: what came before the damage was read. */
uint64_t alqi_cli_merge_n_damaged(const struct alqi_cli_merge *merge);
/* How much of what is known of it has been merged: 0 to 1, about. */
double alqi_cli_merge_progress(const struct alqi_cli_merge *merge);

#endif
