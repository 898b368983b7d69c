/* trace_read.c -- see trace_read.h */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "trace_read.h"
#include "wire/side.h"

static ptrdiff_t
read_bytes(void *arg, void *bytes, size_t n)
{
    size_t k = fread(bytes, 1, n, arg);

    return k == 0 && ferror((FILE *)arg) ? -1 : (ptrdiff_t)k;
}

static bool is_warning_fine;

static void
warned(void *arg, uint64_t offset_bytes, const char *text)
{
    struct read_trace *t = arg;

    t->n_warnings++;
    if (!is_warning_fine)
        fail_msg("warning at byte %llu: %s", (unsigned long long)offset_bytes,
                 text);
}

/* ---- rules -------------------------------------------------------------- */

enum { IS_MINOR = 1, IS_PROMOTED = 2, IS_COLLECTED = 4, IS_THERE = 8 };

struct judge {
    uint8_t *objects; /* by id */
    size_t capacity;
    uint64_t last_us[READ_STREAMS];
    uint64_t latest_us;
    bool is_latest_last;
    int64_t thread[READ_STREAMS];
};

static uint8_t *
object_at(struct judge *j, uint64_t id)
{
    if (id >= j->capacity) {
        size_t more = (size_t)id * 2 + 1024;

        j->objects = realloc(j->objects, more);
        assert_non_null(j->objects);
        memset(j->objects + j->capacity, 0, more - j->capacity);
        j->capacity = more;
    }
    return &j->objects[id];
}

static void
judge_time(struct judge *j, const struct alqi_ctf_event *e)
{
    assert_in_range(e->domain, 0, READ_STREAMS - 1);
    assert_true(e->time_us >= j->last_us[e->domain]);
    j->last_us[e->domain] = e->time_us;
    j->is_latest_last = e->time_us >= j->latest_us;
    if (j->is_latest_last)
        j->latest_us = e->time_us;
}

static void
judge_alloc(struct judge *j, const struct read_trace *t,
            const struct alqi_ctf_event *e)
{
    uint8_t *object = object_at(j, e->id);

    if (t->version < 3)
        assert_true(e->id == t->n_allocs);
    assert_int_equal(*object, 0);
    *object = IS_THERE | (e->source == ALQI_CTF_MINOR ? IS_MINOR : 0);
    assert_true(e->n_samples >= 1 && e->length >= 0);
    assert_true(e->n_codes >= 1);
    for (uint32_t i = 0; i < e->n_codes; i++)
        if (alqi_ctf_reader_location(t->reader, e->codes[i]) == NULL)
            fail_msg("code %llx has no record",
                     (unsigned long long)e->codes[i]);
}

static void
judge_later(struct judge *j, const struct alqi_ctf_event *e)
{
    uint8_t *object = object_at(j, e->id);

    assert_true(*object & IS_THERE);
    assert_false(*object & IS_COLLECTED);
    if (e->kind == ALQI_CTF_COLLECT) {
        *object |= IS_COLLECTED;
        return;
    }
    assert_true(*object & IS_MINOR);
    assert_false(*object & IS_PROMOTED);
    *object |= IS_PROMOTED;
}

/* ---- reading ------------------------------------------------------------ */

static void
take_side(struct read_trace *t, struct judge *j, const struct alqi_ctf_event *e)
{
    uint64_t code = e->location.code;

    if (!alqi_side_is(code))
        return;
    if ((code & ALQI_SIDE_KIND_MASK) == ALQI_SIDE_THREAD)
        j->thread[e->domain] = (int64_t)(code & ALQI_SIDE_NUMBER_MASK);
    if ((code & ALQI_SIDE_KIND_MASK) != ALQI_SIDE_TEXT)
        return;
    assert_in_range(t->n_texts, 0, READ_TEXTS_MAX - 1);
    t->texts[t->n_texts] = strdup(e->location.entries[0].function);
    assert_non_null(t->texts[t->n_texts]);
    t->texts_us[t->n_texts] = e->time_us;
    t->n_texts++;
}

static void
take_event(struct read_trace *t, const struct judge *j,
           const struct alqi_ctf_event *e)
{
    struct read_event *r = &t->events[t->n_events++];

    assert_true(t->n_events < READ_EVENTS_MAX);
    *r = (struct read_event){.kind = e->kind,
                             .domain = e->domain,
                             .id = e->id,
                             .time_us = e->time_us};
    if (e->kind != ALQI_CTF_ALLOC)
        return;
    r->length = e->length;
    r->n_samples = e->n_samples;
    r->source = e->source;
    r->n_codes = e->n_codes;
    r->leaf = e->codes[e->n_codes - 1];
    r->thread = j->thread[e->domain];
}

static void
take(struct read_trace *t, struct judge *j, const struct alqi_ctf_event *e)
{
    judge_time(j, e);
    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        take_side(t, j, e);
        return;
    case ALQI_CTF_ALLOC:
        judge_alloc(j, t, e);
        t->n_allocs++;
        t->n_samples += (uint64_t)e->n_samples;
        break;
    case ALQI_CTF_PROMOTE:
        judge_later(j, e);
        t->n_promotes++;
        break;
    case ALQI_CTF_COLLECT:
        judge_later(j, e);
        t->n_collects++;
        break;
    }
    take_event(t, j, e);
}

void
read_trace(struct read_trace *t, const char *path, bool is_cut)
{
    struct judge j = {0};
    struct alqi_ctf_event e;
    const struct alqi_ctf_info *info;
    int got;

    memset(t, 0, sizeof *t);
    memset(j.thread, 0xFF, sizeof j.thread);
    is_warning_fine = is_cut;
    t->file = fopen(path, "rb");
    assert_non_null(t->file);
    t->events = malloc(READ_EVENTS_MAX * sizeof *t->events);
    assert_non_null(t->events);
    assert_int_equal(
        alqi_ctf_reader_open(read_bytes, t->file, warned, t, &t->reader),
        ALQ_OK);
    info = alqi_ctf_reader_info(t->reader);
    t->version = info->version;
    t->word_bits = info->word_bits;
    t->rate = info->rate;
    t->pid = info->pid;
    snprintf(t->executable, sizeof t->executable, "%s", info->executable);
    snprintf(t->context, sizeof t->context, "%s", info->context);
    while ((got = alqi_ctf_reader_next(t->reader, &e)) > 0)
        take(t, &j, &e);
    if (!is_cut) {
        assert_string_equal(alqi_ctf_reader_error(t->reader), "");
        assert_int_equal(got, 0);
        assert_true(j.is_latest_last);
    }
    free(j.objects);
}

void
read_drop(struct read_trace *t)
{
    alqi_ctf_reader_drop(t->reader);
    fclose(t->file);
    for (size_t i = 0; i < t->n_texts; i++)
        free(t->texts[i]);
    free(t->events);
}

const struct alqi_ctf_entry *
read_entry(const struct read_trace *t, uint64_t code)
{
    const struct alqi_ctf_location *l =
        alqi_ctf_reader_location(t->reader, code);

    assert_non_null(l);
    assert_true(l->n_entries > 0);
    return &l->entries[l->n_entries - 1];
}

const char *
read_name(const struct read_trace *t, uint64_t code)
{
    return read_entry(t, code)->function;
}

const char *
read_text(const struct read_trace *t, const char *start)
{
    for (size_t i = 0; i < t->n_texts; i++)
        if (strncmp(t->texts[i], start, strlen(start)) == 0)
            return t->texts[i];
    return NULL;
}

uint64_t
read_number(const char *text, const char *key)
{
    char value[64];

    assert_non_null(text);
    if (!alqi_side_get(text, key, value, sizeof value))
        fail_msg("no %s in: %s", key, text);
    return strtoull(value, NULL, 10);
}
