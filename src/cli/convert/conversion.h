/* conversion.h -- the state of one conversion, shared by its files
 *
 * [cli/convert/convert.h] convert.c drives a conversion and writes what the
 * sampled streams hold; convert_exact.c writes the exact part. Both write into
 * one trace writer, in one order of time, and through records.c what is not of
 * a block. */
#ifndef ALQI_CLI_CONVERT_CONVERSION_H
#define ALQI_CLI_CONVERT_CONVERSION_H

#include "base/map.h"
#include "cli/convert/codes.h"
#include "cli/convert/exact.h"
#include "cli/convert/jit.h"

struct alqi_cli_convert_result;
struct alqi_cli_exact_writer;

/* One conversion, from open to close. */
struct alqi_cli_conversion {
    /* the recording's; renewed in place when the recording grows */
    const struct alqi_raw_header *header;
    /* the sampled streams and modules, by time; owned */
    struct alqi_cli_merge *merge;
    /* the next event of merge, valid while has_merged */
    struct alqi_cli_merged merged;
    /* merged was taken from merge and is not written yet */
    bool has_merged;
    /* modules and location codes; owned */
    struct alqi_cli_codes *codes;
    /* code that the process made as it ran; owned */
    struct alqi_cli_jit *jit;
    /* the trace; owned; NULL until the conversion is open */
    struct alqi_ctf_writer *writer;
    /* the caller's counts; both files add to them */
    struct alqi_cli_convert_result *result;
    /* stream and ordinal (key_of) -> object id of a sampled block that lives */
    struct alqi_base_map live;
    /* keys of blocks whose free was merged before their allocation */
    struct alqi_base_map early;
    /* object id -> bytes, of blocks that live; while keeps_sizes */
    struct alqi_base_map sizes;
    /* set before the first step (lying.c) */
    bool keeps_sizes;
    /* classes of blocks, to be written at the end; the caller's; NULL: none */
    const struct alqi_cli_reaches *reaches;
    /* bits of a rate -> its index in the trace */
    struct alqi_base_map rates;
    /* index last announced in the trace, or ALQI_CLI_NO_THREAD */
    int64_t thread;
    /* samples per word; the trace's rate, and the largest of any allocation */
    double most_rate;
    /* samples per word, last announced in the trace */
    double rate;
    /* of the last mark; 0: none */
    uint64_t mark_us;
    /* text records written; numbers the next one */
    uint64_t n_texts;
    /* module events written so far while there is no exact part; the exact
     * part, when it appears, passes over as many */
    uint64_t n_modules;
    /* the caller's; outlives the conversion */
    const struct alqi_cli_recording *recording;
    /* the writer's last stack is the exact part's (.inv.stack) */
    bool is_last_exact;
    /* times are rounded down to multiples of it; at least 1 */
    uint64_t time_step_us;
    /* cache of one conversion: monotonic last_ns is trace time last_us */
    uint64_t last_ns, last_us;
    /* CLOCK_MONOTONIC of the event that was taken last */
    uint64_t last_event_ns;
    /* NULL: the recording has no exact part (yet); owned */
    struct alqi_cli_exact_writer *exact;
    /* codes of one sampled allocation, outermost first, and those of a mapping
     * and a pool */
    uint64_t stack[ALQI_RAW_FRAMES_MAX + 2];
};

/* ---- records.c ------------------------------------------------------------
 */

/* The writer of side records at a time of the recording. */
struct alqi_side_writer
alqi_cli_conversion_side(struct alqi_cli_conversion *conversion,
                         uint64_t time_ns);
/* A time of the recording as microseconds of the trace, rounded down. */
uint64_t alqi_cli_conversion_time_us(struct alqi_cli_conversion *conversion,
                                     uint64_t mono_ns);
/* Names a thread in the trace. */
enum alq_status
alqi_cli_conversion_thread(struct alqi_cli_conversion *conversion,
                           uint32_t index, uint32_t tid, const char *name,
                           uint64_t time_ns);
/* The allocations that follow are another thread's, or of another rate. Writes
 * only what changes. */
enum alq_status
alqi_cli_conversion_switch(struct alqi_cli_conversion *conversion,
                           int64_t thread, double rate, uint64_t time_ns);
/* The process had so many resident bytes at that time. */
enum alq_status alqi_cli_conversion_rss(struct alqi_cli_conversion *conversion,
                                        uint64_t bytes, uint64_t time_ns);
/* A phase of that name began at that time. */
enum alq_status alqi_cli_conversion_mark(struct alqi_cli_conversion *conversion,
                                         const char *name, uint64_t time_ns);
/* The next allocation continues the block with that object id, or with
 * ALQI_SIDE_REBORN one that was not sampled. */
enum alq_status
alqi_cli_conversion_moved(struct alqi_cli_conversion *conversion, uint64_t id,
                          uint64_t time_ns);
/* Takes a module event: a module that is new gets a record in the trace. */
enum alq_status
alqi_cli_conversion_module(struct alqi_cli_conversion *conversion,
                           const struct alqi_raw_event *event);

/* The command line, word by word. */
enum alq_status
alqi_cli_conversion_cmdline(struct alqi_cli_conversion *conversion);
/* One record for each module whose symbols lack something, and for each file
 * of code made at run time that does. */
enum alq_status
alqi_cli_conversion_symbols(struct alqi_cli_conversion *conversion,
                            uint64_t time_ns);
/* The classes of blocks that are alive (reach.c). */
enum alq_status
alqi_cli_conversion_reach(struct alqi_cli_conversion *conversion,
                          uint64_t time_ns);
/* The last record: how the process ended, and what the recorder dropped. */
enum alq_status
alqi_cli_conversion_ended(struct alqi_cli_conversion *conversion,
                          uint64_t time_ns, uint64_t n_damaged,
                          const char *ended);

/* ---- lying.c --------------------------------------------------------------
 */

/* A block begins, or ends. */
static inline bool
alqi_cli_conversion_size_put(struct alqi_cli_conversion *conversion,
                             uint64_t id, uint64_t bytes)
{
    return ALQI_LIKELY(!conversion->keeps_sizes) ||
           alqi_base_map_put(&conversion->sizes, id, bytes);
}

static inline void
alqi_cli_conversion_size_drop(struct alqi_cli_conversion *conversion,
                              uint64_t id)
{
    uint64_t bytes;

    if (ALQI_UNLIKELY(conversion->keeps_sizes))
        alqi_base_map_take(&conversion->sizes, id, &bytes);
}

/* A sampled block's key in `live` and `early`.  The two parts do not meet as
 * long as a stream makes fewer than 2^40 samples. */
static inline uint64_t
alqi_cli_conversion_key(uint32_t stream, uint64_t ordinal)
{
    return (uint64_t)stream << 40 ^ ordinal;
}

/* ---- convert_exact.c ------------------------------------------------------
 */

/* Makes conversion->exact, or leaves it NULL when the recording has no such
 * part. Requires that the modules met so far are counted in n_modules. After
 * an error conversion->exact may be half made; closing the conversion drops
 * it. */
enum alq_status
alqi_cli_exact_writer_open(struct alqi_cli_conversion *conversion,
                           const struct alqi_cli_recording *recording);
void alqi_cli_exact_writer_drop(struct alqi_cli_exact_writer *writer);
/* Chunks passed over so far; writer may be NULL. */
/* Address -> object id of the blocks that live; NULL: there is no such part. */
const struct alqi_base_map *
alqi_cli_exact_live(const struct alqi_cli_exact_writer *writer);
/* As alqi_cli_conversion_has_times; writer may be NULL. */
bool
alqi_cli_exact_writer_has_clock(const struct alqi_cli_exact_writer *writer);
uint64_t
alqi_cli_exact_writer_n_damaged(const struct alqi_cli_exact_writer *writer);
/* Writes the events up to that time (UINT64_MAX: all there are), but at most
 * *n_left of them, and lowers *n_left by the number written. *last_ns becomes
 * the time of the last one written, if there was one. */
enum alq_status alqi_cli_exact_write(struct alqi_cli_conversion *conversion,
                                     uint64_t until_ns, uint64_t *n_left,
                                     uint64_t *last_ns);
/* The recording has grown: reads its new chunks, nodes and modules. */
enum alq_status
alqi_cli_exact_writer_more(struct alqi_cli_conversion *conversion);
/* No more events will come: writes what still waits for its successor. */
enum alq_status alqi_cli_exact_end(struct alqi_cli_conversion *conversion,
                                   uint64_t time_ns);
/* Called once for each module event of the sampled streams. True: the exact
 * part has announced that module already, ahead of its time. */
bool alqi_cli_exact_knows_module(struct alqi_cli_exact_writer *writer);

#endif
