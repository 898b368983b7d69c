/* dump_decode.c -- records of a heap snapshot, but for blocks   [dump_decode.h]
 *
 * A record is read whole before any of it is handed out, so a cut one leaves
 * no half. */
#include "wire/dump_decode.h"

#include <string.h>

enum { MAGIC_BYTES = sizeof ALQI_DUMP_MAGIC - 1 };

void
alqi_dump_fail(struct alqi_dump_decoder *d, const char *error)
{
    if (d->error == NULL) {
        d->error = error;
        d->error_bytes = (uint64_t)(d->at - d->begin);
    }
    d->is_in_run = d->has_edges = false;
}

bool
alqi_dump_decode(struct alqi_dump_decoder *d, const uint8_t *bytes, size_t n)
{
    memset(d, 0, sizeof *d);
    d->begin = d->at = bytes;
    d->end = bytes + n;
    if (n < MAGIC_BYTES || memcmp(bytes, ALQI_DUMP_MAGIC, MAGIC_BYTES) != 0)
        return alqi_dump_refuse(d, "it is not a snapshot of a managed heap");
    d->at += MAGIC_BYTES;
    return true;
}

static bool
text(struct alqi_dump_decoder *d, struct alqi_dump_text *text)
{
    uint64_t n;

    if (!alqi_dump_number(d, &n))
        return false;
    if (n > (uint64_t)(d->end - d->at))
        return alqi_dump_refuse(d, "the file ends within a text");
    text->bytes = (const char *)d->at;
    text->n = n;
    d->at += n;
    return true;
}

static bool
frame(struct alqi_dump_decoder *d, struct alqi_dump_site_frame *f)
{
    return alqi_dump_number(d, &f->address) && text(d, &f->function) &&
           text(d, &f->file) && alqi_dump_number(d, &f->line);
}

static bool
frames(struct alqi_dump_decoder *d, struct alqi_dump_record *r)
{
    struct alqi_dump_site_frame f;

    r->frames = d->at;
    for (uint64_t i = 0; i < r->numbers[1]; i++)
        if (!frame(d, &f))
            return false;
    r->frames_end = d->at;
    return true;
}

/* The frames were read once, so they are there. */
void
alqi_dump_next_frame(struct alqi_dump_record *site,
                     struct alqi_dump_site_frame *f)
{
    struct alqi_dump_decoder d = {.at = site->frames, .end = site->frames_end};

    if (frame(&d, f))
        site->frames = d.at;
}

static bool
run(struct alqi_dump_decoder *d, const struct alqi_dump_record *r)
{
    if (r->numbers[0] % 8 != 0)
        return alqi_dump_refuse(d, "blocks begin at no word's address");
    d->run_end = r->numbers[0];
    d->is_in_run = true;
    return true;
}

/* How many numbers stand in a record before its texts, how many texts, and how
 * many numbers behind them. */
static const struct {
    uint8_t n_first, n_texts, n_last;
} shapes[] = {
    [ALQI_DUMP_PROGRAM] = {2, 1, 0}, [ALQI_DUMP_MODULE] = {3, 2, 0},
    [ALQI_DUMP_KIND] = {1, 1, 0},    [ALQI_DUMP_SITE] = {2, 0, 0},
    [ALQI_DUMP_ROOT] = {3, 1, 1},    [ALQI_DUMP_SAMPLE] = {4, 0, 0},
    [ALQI_DUMP_RUN] = {1, 0, 0},     [ALQI_DUMP_END] = {7, 0, 0},
    [ALQI_DUMP_TRACED] = {3, 0, 0},
};

static bool
fields(struct alqi_dump_decoder *d, struct alqi_dump_record *r)
{
    unsigned n = shapes[r->kind].n_first, n_all = n + shapes[r->kind].n_last;

    for (unsigned i = 0; i < n; i++)
        if (!alqi_dump_number(d, &r->numbers[i]))
            return false;
    for (unsigned i = 0; i < shapes[r->kind].n_texts; i++)
        if (!text(d, &r->texts[i]))
            return false;
    for (unsigned i = n; i < n_all; i++)
        if (!alqi_dump_number(d, &r->numbers[i]))
            return false;
    return true;
}

/* What numbers mean is checked here, once for all readers. */
static bool
record_read(struct alqi_dump_decoder *d, struct alqi_dump_record *r)
{
    uint8_t kind = *d->at;

    if (kind < ALQI_DUMP_PROGRAM || kind > ALQI_DUMP_TRACED)
        return alqi_dump_refuse(d, "a record is of no known kind");
    d->at++;
    memset(r, 0, sizeof *r);
    r->kind = kind;
    if (!fields(d, r))
        return false;
    if (kind == ALQI_DUMP_SITE)
        return frames(d, r);
    if (kind == ALQI_DUMP_RUN)
        return run(d, r);
    if (kind == ALQI_DUMP_ROOT && r->numbers[0] >= ALQI_DUMP_ROOTS)
        return alqi_dump_refuse(d, "a root is of no known kind");
    d->is_over = kind == ALQI_DUMP_END;
    return true;
}

int
alqi_dump_next(struct alqi_dump_decoder *d, struct alqi_dump_record *r)
{
    struct alqi_dump_block_read block;

    while (alqi_dump_next_block(d, &block))
        ;
    if (d->error != NULL)
        return -1;
    if (d->is_over)
        return 0;
    if (d->at == d->end)
        alqi_dump_fail(d, "the file has no end: it was cut");
    return d->error == NULL && record_read(d, r) ? 1 : -1;
}
