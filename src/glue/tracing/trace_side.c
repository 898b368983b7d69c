/* trace_side.c -- what the library's trace tells beside its events, as it
 * stands in the process
 *
 * wire/side_write.h makes the records.  No state. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "glue/tracing/trace_side.h"
#include "wire/side.h"

size_t
alqi_glue_trace_cmdline_read(char words[ALQI_GLUE_CMDLINE_BYTES])
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, words, ALQI_GLUE_CMDLINE_BYTES - 1);
        close(fd);
    }
    words[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

enum alq_status
alqi_glue_trace_side_cmdline(const struct alqi_side_writer *side)
{
    char words[ALQI_GLUE_CMDLINE_BYTES];
    size_t n = alqi_glue_trace_cmdline_read(words);

    return alqi_side_write_cmdline(side, words, n);
}

/* What a reader needs to find the module's file and the place of an address in
 * it. */
enum alq_status
alqi_glue_trace_side_module(const struct alqi_side_writer *side,
                            const struct alqi_glue_module *m)
{
    char id[2 * 64 + 1] = "";
    struct alqi_side_module record = {.id = m->number,
                                      .start = m->start,
                                      .end = m->end,
                                      .bias = m->bias,
                                      .build_id = id,
                                      .path = m->path};

    for (size_t i = 0; i < m->build_id_bytes && i < 64; i++)
        snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
    return alqi_side_write_module(side, &record);
}

void
alqi_glue_trace_side_snapshot(struct alqi_side_line *line, const char *name,
                              uint64_t wall_us)
{
    alqi_side_text(line, NULL, "snapshot");
    alqi_side_text(line, "file", name);
    alqi_side_number(line, "us", wall_us);
}

/* The counts of the recording; its readers know by it that the trace is
 * whole. */
enum alq_status
alqi_glue_trace_side_end(const struct alqi_side_writer *side,
                         const struct alq_trace_counts *c,
                         const struct alq_memprof_counts *sampled,
                         uint64_t dropped_marks)
{
    const struct {
        const char *key;
        uint64_t value;
    } fields[] = {
        {"samples", c->allocations},
        {"frees", c->collections},
        {"promotions", c->promotions},
        {"dropped_nested", sampled->dropped_nested},
        {"dropped_nomem", sampled->dropped_nomem},
        {"dropped_space", c->dropped},
        {"dropped_cap", sampled->dropped_cap},
        {"dropped_marks", dropped_marks},
    };
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "end");
    for (size_t i = 0; i < ALQI_COUNT_OF(fields); i++)
        alqi_side_number(&line, fields[i].key, fields[i].value);
    alqi_side_text(&line, "ended", "exit");
    return alqi_side_write_line(side, text);
}
