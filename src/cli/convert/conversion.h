/* conversion.h -- what the files of the conversion share
 * [cli/convert/convert.h] */
#ifndef ALQI_CLI_CONVERT_CONVERSION_H
#define ALQI_CLI_CONVERT_CONVERSION_H

#include "base/map.h"
#include "cli/convert/codes.h"
#include "cli/convert/exact.h"

struct alqi_cli_convert_result;
struct alqi_cli_exact_writer;

struct alqi_cli_conversion {
    const struct alqi_raw_header *header;
    struct alqi_cli_merge *merge;
    struct alqi_cli_merged merged; /* the next event of it ... */
    bool has_merged;               /* ... if there is one that waits */
    struct alqi_cli_codes *codes;
    struct alqi_ctf_writer *writer;
    struct alqi_cli_convert_result *result;
    struct alqi_base_map live;  /* stream, ordinal -> object id */
    struct alqi_base_map early; /* freed before it was seen     */
    struct alqi_base_map rates; /* bits of a rate -> its index  */
    int64_t thread;             /* of the trace, last announced */
    double most_rate;           /* the trace's                  */
    double rate;                /* last announced               */
    uint64_t n_texts;
    uint64_t n_modules; /* told of so far, while there is no exact part */
    const struct alqi_cli_recording *recording;
    bool is_last_exact; /* the last allocation was of the exact part */
    uint64_t time_step_us;
    uint64_t last_ns, last_us; /* a time and what it is in the trace */
    uint64_t last_event_ns;
    struct alqi_cli_exact_writer *exact; /* NULL: a recording of samples */
    uint64_t stack[ALQI_RAW_FRAMES_MAX + 1];
};

uint64_t alqi_cli_conversion_time_us(struct alqi_cli_conversion *conversion,
                                     uint64_t mono_ns);
enum alq_status
alqi_cli_conversion_thread(struct alqi_cli_conversion *conversion,
                           uint32_t index, uint32_t tid, const char *name,
                           uint64_t time_ns);
/* The allocations that follow are another thread's, or of another rate. */
enum alq_status
alqi_cli_conversion_switch(struct alqi_cli_conversion *conversion,
                           int64_t thread, double rate, uint64_t time_ns);
/* Its resident memory was so much. */
enum alq_status alqi_cli_conversion_rss(struct alqi_cli_conversion *conversion,
                                        uint64_t bytes, uint64_t time_ns);
/* The next allocation continues the block. */
enum alq_status
alqi_cli_conversion_moved(struct alqi_cli_conversion *conversion, uint64_t id,
                          uint64_t time_ns);
enum alq_status
alqi_cli_conversion_module(struct alqi_cli_conversion *conversion,
                           const struct alqi_raw_event *event);

/* ---- convert_exact.c ------------------------------------------------------
 */

/* Leaves conversion->exact NULL when the recording has no such part. */
enum alq_status
alqi_cli_exact_writer_open(struct alqi_cli_conversion *conversion,
                           const struct alqi_cli_recording *recording);
void alqi_cli_exact_writer_drop(struct alqi_cli_exact_writer *writer);
/* So far; writer may be NULL. */
uint64_t
alqi_cli_exact_writer_n_damaged(const struct alqi_cli_exact_writer *writer);
/* Writes what happened up to that time (UINT64_MAX: all there is), but so many
 * events at most, which are taken from *n_left; *last_ns: when the last of it
 * was, if anything was. */
enum alq_status alqi_cli_exact_write(struct alqi_cli_conversion *conversion,
                                     uint64_t until_ns, uint64_t *n_left,
                                     uint64_t *last_ns);
/* The recording has grown. */
enum alq_status
alqi_cli_exact_writer_more(struct alqi_cli_conversion *conversion);
/* There is no more, and never will be. */
enum alq_status alqi_cli_exact_end(struct alqi_cli_conversion *conversion,
                                   uint64_t time_ns);
/* A module event: in an exact recording it may have been applied already. */
bool alqi_cli_exact_knows_module(struct alqi_cli_exact_writer *writer);

#endif
