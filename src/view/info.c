/* info.c -- the answer `info`: what is known of each trace
 *
 * One object a trace: texts, numbers, threads, domains, notes, and the sum of
 * all blocks. Lists of threads and domains share the room of an answer, an
 * equal part for each trace. */
#include <stdlib.h>

#include "base/base.h"
#include "view/ask.h"
#include "view/phase.h"

/* Writes threads, as many as there is room for, and how many were left out. */
static void
put_threads(struct alqi_view_json *out, const struct alqi_view_index *x,
            size_t room)
{
    size_t end = out->n + room;
    uint32_t i;

    alqi_view_json_key(out, "threads");
    alqi_view_json_open(out, '[');
    for (i = 0; i < x->n_threads && out->n < end; i++) {
        alqi_view_json_open(out, '{');
        alqi_view_json_key_int(out, "index", x->threads[i].index);
        alqi_view_json_key_int(out, "tid", (int64_t)x->threads[i].tid);
        alqi_view_json_key_text(out, "name",
                                alqi_view_text(x, x->threads[i].name));
        alqi_view_json_close(out, '}');
    }
    alqi_view_json_close(out, ']');
    alqi_view_json_key_int(out, "threads_left_out", x->n_threads - i);
}

/* Writes each domain once, in order of appearance, as far as there is room. */
static void
put_domains(struct alqi_view_json *out, const struct alqi_view_index *x,
            size_t room)
{
    uint8_t seen[(UINT16_MAX + 1) / 8] = {0};
    size_t end = out->n + room;

    alqi_view_json_key(out, "domains");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < x->n_origins && out->n < end; i++) {
        uint32_t domain = x->origins[i].domain & UINT16_MAX;

        if ((seen[domain / 8] >> domain % 8 & 1) != 0)
            continue;
        seen[domain / 8] |= (uint8_t)(1 << domain % 8);
        alqi_view_json_int(out, domain);
    }
    alqi_view_json_close(out, ']');
}

/* Writes what must be known before a figure is trusted. */
static void
put_notes(struct alqi_view_json *out, const struct alqi_view_index *x)
{
    alqi_view_json_key(out, "notes");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < x->n_notes; i++)
        alqi_view_json_text(out, alqi_view_text(x, x->notes[i]));
    alqi_view_json_close(out, ']');
}

/* Writes the trace's texts. */
static void
put_texts(struct alqi_view_json *out, const struct alqi_view_index *x)
{
    const struct alqi_view_meta *m = x->meta;

    alqi_view_json_key_text(out, "name", alqi_view_text(x, m->name));
    alqi_view_json_key_text(out, "program", alqi_view_text(x, m->program));
    alqi_view_json_key_text(out, "command", alqi_view_text(x, m->command));
    alqi_view_json_key_int(out, "pid", (int64_t)m->pid);
    alqi_view_json_key_text(out, "host", alqi_view_text(x, m->host));
    alqi_view_json_key_text(out, "context", alqi_view_text(x, m->context));
    alqi_view_json_key_text(out, "ended", alqi_view_text(x, m->ended));
    alqi_view_json_key_text(out, "damage", alqi_view_text(x, m->damage));
}

/* Each colour has a peak of its own (peak.h). */
void
alqi_view_put_peak_us(struct alqi_view_json *out,
                      const struct alqi_view_index *x)
{
    const uint64_t *us = x->meta->peak_us;
    uint64_t first_us = us[0], last_us = us[0];

    for (int k = 1; k < ALQI_VIEW_COLOURS; k++) {
        first_us = us[k] < first_us ? us[k] : first_us;
        last_us = us[k] > last_us ? us[k] : last_us;
    }
    alqi_view_json_key_int(out, "peak_us", (int64_t)first_us);
    alqi_view_json_key_int(out, "peak_last_us", (int64_t)last_us);
}

/* Writes when the process was looked through, "" where it was not. */
static void
put_looked(struct alqi_view_json *out, const struct alqi_view_index *x)
{
    static const char *const moments[] = {
        [ALQI_VIEW_LOOKED_NEVER] = "",
        [ALQI_VIEW_LOOKED_AT_END] = "end",
        [ALQI_VIEW_LOOKED_EARLY] = "exit",
    };
    uint32_t looked = x->meta->looked;

    alqi_view_json_key_text(
        out, "looked", moments[looked < ALQI_COUNT_OF(moments) ? looked : 0]);
}

/* Writes the trace's numbers. */
static void
put_numbers(struct alqi_view_json *out, const struct alqi_view_index *x)
{
    const struct alqi_view_meta *m = x->meta;

    alqi_view_json_key_int(out, "start_us", (int64_t)m->start_us);
    alqi_view_json_key_int(out, "end_us", (int64_t)m->end_us);
    alqi_view_json_key_int(out, "word_bits", m->word_bits);
    alqi_view_json_key(out, "rate");
    alqi_view_json_real(out, m->rate);
    alqi_view_json_key(out, "interval_bytes");
    alqi_view_json_whole(out, m->interval_bytes);
    alqi_view_json_key(out, "is_exact");
    alqi_view_json_bool(out, m->is_exact != 0);
    alqi_view_put_peak_us(out, x);
    alqi_view_json_key(out, "peak_bytes");
    alqi_view_json_whole(out, m->peak_bytes);
    alqi_view_json_key_int(out, "n_rows", x->n_rows);
    alqi_view_json_key_int(out, "n_left_out", (int64_t)m->n_left_out);
    alqi_view_json_key(out, "has_rss");
    alqi_view_json_bool(out, x->n_resident > 0);
    put_looked(out, x);
}

/* Writes the marks, as many as there is room for, and how many were left
 * out. */
static void
put_marks(struct alqi_view_json *out, const struct alqi_view_index *x,
          size_t room)
{
    size_t end = out->n + room;
    uint32_t i;

    alqi_view_json_key(out, "marks");
    alqi_view_json_open(out, '[');
    for (i = 0; i < x->n_marks && out->n < end; i++) {
        alqi_view_json_open(out, '{');
        alqi_view_json_key_int(out, "us",
                               (int64_t)(x->marks[i].us & INT64_MAX));
        alqi_view_json_key_text(out, "name", alqi_view_phase_name(x, i + 1));
        alqi_view_json_close(out, '}');
    }
    alqi_view_json_close(out, ']');
    alqi_view_json_key_int(out, "marks_left_out", x->n_marks - i);
}

/* Writes one trace. False after a refusal. */
static bool
put_trace(struct alqi_view_ask *ask, uint32_t number)
{
    struct alqi_view_trace *t = &ask->set->traces[number];
    const struct alqi_view_filter all = {.trace = number,
                                         .heap = ALQI_VIEW_HEAP_ALL};
    const struct alqi_view_scan *scan = alqi_view_scan_of(t, &all);
    struct alqi_view_json *out = ask->out;
    size_t room = ALQI_VIEW_ROWS_BYTES / 4 / ask->set->n_traces;

    if (scan == NULL)
        return alqi_view_give_up(ask);
    alqi_view_json_open(out, '{');
    put_texts(out, &t->index);
    put_numbers(out, &t->index);
    put_threads(out, &t->index, room);
    put_domains(out, &t->index, room);
    put_marks(out, &t->index, room);
    put_notes(out, &t->index);
    alqi_view_put_sum(out, "total", &scan->total);
    alqi_view_json_close(out, '}');
    return true;
}

/* The sum of a trace needs a scan of all its rows, which is kept like any
 * other. */
bool
alqi_view_info(struct alqi_view_ask *ask)
{
    if (!alqi_view_ready(ask))
        return false;
    alqi_view_json_key(ask->out, "traces");
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0; i < ask->set->n_traces; i++)
        if (!put_trace(ask, i))
            return false;
    alqi_view_json_close(ask->out, ']');
    alqi_view_json_key_text(ask->out, "version", ALQI_VERSION);
    return true;
}
