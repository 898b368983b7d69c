/* side_write.c -- see side_write.h
 *
 * No state but the caller's number of texts: a line is made on the stack and
 * put into the writer's packet as events are, in order. */
#include <stdio.h>
#include <string.h>

#include "wire/side.h"
#include "wire/side_write.h"

enum alq_status
alqi_side_write_line(const struct alqi_side_writer *w, const char *line)
{
    struct alqi_ctf_entry entry = {.file = "aliquot", .function = line};
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | ALQI_SIDE_TEXT | (*w->n_texts)++,
        .n_entries = 1,
        .entries = &entry,
    };

    return alqi_ctf_write_side(w->writer, w->time_us, &location);
}

enum alq_status
alqi_side_write_mark(const struct alqi_side_writer *w, uint64_t kind,
                     uint64_t number)
{
    struct alqi_ctf_location location = {
        .code = ALQI_SIDE_PREFIX | kind | number,
    };

    return alqi_ctf_write_side(w->writer, w->time_us, &location);
}

enum alq_status
alqi_side_write_cmdline(const struct alqi_side_writer *w, const char *words,
                        size_t n_bytes)
{
    char text[ALQI_SIDE_LINE_BYTES], word[ALQI_SIDE_LINE_BYTES], key[24];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);
    size_t n;

    alqi_side_text(&line, NULL, "cmdline");
    for (unsigned i = 0; n_bytes > 0; i++) {
        n = strnlen(words, n_bytes);
        snprintf(key, sizeof key, "arg%u", i);
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        alqi_side_text(&line, key, word);
        n += n < n_bytes;
        words += n;
        n_bytes -= n;
    }
    return alqi_side_write_line(w, text);
}

enum alq_status
alqi_side_write_thread(const struct alqi_side_writer *w, uint64_t index,
                       uint64_t tid, int64_t process, const char *name)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "thread");
    alqi_side_number(&line, "index", index);
    alqi_side_number(&line, "tid", tid);
    if (process >= 0)
        alqi_side_number(&line, "process", (uint64_t)process);
    alqi_side_text(&line, "name", name);
    return alqi_side_write_line(w, text);
}

enum alq_status
alqi_side_write_module(const struct alqi_side_writer *w,
                       const struct alqi_side_module *m)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "module");
    alqi_side_number(&line, "id", m->id);
    alqi_side_hex(&line, "start", m->start);
    alqi_side_hex(&line, "end", m->end);
    alqi_side_hex(&line, "bias", m->bias);
    alqi_side_number(&line, "reuse", m->reuse);
    alqi_side_text(&line, "build_id", m->build_id);
    alqi_side_text(&line, "path", m->path);
    return alqi_side_write_line(w, text);
}

enum alq_status
alqi_side_write_symbols(const struct alqi_side_writer *w, uint64_t id,
                        const char *note)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "symbols");
    alqi_side_number(&line, "id", id);
    alqi_side_text(&line, "note", note);
    return alqi_side_write_line(w, text);
}

enum alq_status
alqi_side_write_rate(const struct alqi_side_writer *w, uint64_t index,
                     double per_word)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "rate");
    alqi_side_number(&line, "index", index);
    alqi_side_real(&line, "per_word", per_word);
    return alqi_side_write_line(w, text);
}

enum alq_status
alqi_side_write_phase(const struct alqi_side_writer *w, const char *name)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "mark");
    alqi_side_text(&line, "name", name);
    return alqi_side_write_line(w, text);
}
