/* heaptrack.c -- a data file of heaptrack into a trace, line by line
 *
 * [doc/design/heaptrack.md] A line begins with the letter of its kind:
 *
 *   v version, format     X command line    I page size, pages   A attached
 *   s text  i place  t stack  a kind of block   (heaptrack_places.h; struct
 *   kind here)
 *   + a block of that kind comes   - one goes    c milliseconds  R pages
 *   S suppression, # comment: passed over
 *
 * A command line may have line ends in it: until the line I, which follows it
 * in every file, all is the command line's (is_in_command).
 *
 * Phases: begin (the trace has its header) -> lines -> end, if the file has
 * its own -> close. A line that makes no sense ends the lines.
 *
 * .inv.youngest  The file says of which kind the block is that goes, not which
 *                one: the youngest, taken from a list of its kind. So the block
 *                that came last goes if its kind does, as heaptrack counts it.
 * .inv.life      A block's life is 0 exactly if its end is the event behind its
 *                birth: the clock waits there, and moves on for any other end
 *                at the time of the birth. It is at or before heaptrack's next
 *                time, but for programs that allocate more than that often. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/convert/heaptrack.h"
#include "cli/convert/heaptrack_places.h"
#include "cli/convert/lines.h"
#include "cli/tool/cli.h"
#include "wire/side.h"

enum {
    FORMAT_LEAST = 1, /* 0, before heaptrack 1.0, has addresses */
    FORMAT_SIZED = 3, /* texts have their size in front */
    FORMAT_MOST = 3,
    HEAD_BYTES_MAX = 64 /* of the first line */
};

/* No index. */
static const uint32_t NONE = UINT32_MAX;

/* Blocks of one size and stack. */
struct kind {
    uint64_t size_bytes;
    uint32_t stack;
    /* of those alive; 0: none */
    uint32_t youngest;
};

/* A block that is alive, or a free place for one. */
struct block {
    uint64_t id;
    uint64_t born_us;
    /* the next younger of its kind, or the next free place; 0: none */
    uint32_t older;
};

struct heaptrack {
    struct alqi_cli_lines lines;
    struct alqi_cli_heaptrack_places places;
    struct alqi_cli_heaptrack_result *result;
    /* NULL until the first line has been taken; owned */
    struct alqi_ctf_writer *writer;
    alqi_ctf_packet_fn *packet;
    void *packet_arg;
    /* of the file; 0 before its first line */
    uint64_t format;
    /* by number; owned */
    struct kind *kinds;
    uint32_t n_kinds;
    /* blocks[0] is none; owned */
    struct block *blocks;
    uint32_t n_blocks;
    /* the first free place in blocks; 0: none */
    uint32_t free_block;
    /* of the block that came with the last event, or NONE */
    uint32_t last_kind;
    /* stacks of the writer's last stack, outermost first */
    uint32_t path[ALQI_CLI_HEAPTRACK_DEPTH_MAX];
    uint32_t depth;
    /* the trace's time, and heaptrack's, which it takes over (.inv.life) */
    uint64_t now_us, stamp_us;
    uint64_t page_bytes;
    /* resident bytes that are not written yet; 0: none */
    uint64_t rss_bytes;
    /* of the side records */
    uint64_t n_texts;
    uint64_t n_frees, n_unknown_frees;
    bool is_attached;
    /* the lines that follow are of the command line */
    bool is_in_command;
    /* the file's own end has come */
    bool has_end;
};

/* ---- the trace ----------------------------------------------------------- */

static struct alqi_side_writer
side_now(struct heaptrack *h)
{
    return (struct alqi_side_writer){h->writer, &h->n_texts, h->now_us};
}

/* Takes over heaptrack's time, with what was resident then. */
static enum alq_status
clock_move(struct heaptrack *h)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);
    struct alqi_side_writer side;

    if (h->now_us < h->stamp_us)
        h->now_us = h->stamp_us;
    if (h->rss_bytes == 0)
        return ALQ_OK;
    alqi_side_text(&line, NULL, "rss");
    alqi_side_number(&line, "bytes", h->rss_bytes);
    h->rss_bytes = 0;
    side = side_now(h);
    return alqi_side_write_line(&side, text);
}

/* The writer's stack becomes that of the file; *n_same as in ctf.h. */
static enum alq_status
stack_fill(struct heaptrack *h, uint32_t stack, uint32_t *n_same)
{
    const struct alqi_cli_heaptrack_stack *stacks = h->places.stacks;
    uint32_t depth = stacks[stack].depth, n_last;
    uint64_t *codes = alqi_ctf_writer_stack(h->writer, depth, &n_last);

    if (codes == NULL)
        return ALQ_ENOMEM;
    *n_same = depth < n_last ? depth : n_last;
    for (uint32_t i = depth; i-- > 0; stack = stacks[stack].parent) {
        uint64_t code = h->places.places[stacks[stack].place].code;

        if (i < h->depth && h->path[i] == stack)
            break;
        h->path[i] = stack;
        if (i < n_last && codes[i] == code)
            continue;
        codes[i] = code;
        if (i < *n_same)
            *n_same = i;
    }
    h->depth = depth;
    return ALQ_OK;
}

/* ---- blocks -------------------------------------------------------------- */

/* A place in blocks. */
static uint32_t
block_place(struct heaptrack *h)
{
    uint32_t place = h->free_block;

    if (place != 0) {
        h->free_block = h->blocks[place].older;
        return place;
    }
    if (h->n_blocks == NONE)
        alqi_cli_die("out of numbers for blocks");
    h->blocks = alqi_cli_grow(h->blocks, h->n_blocks, sizeof *h->blocks);
    return h->n_blocks++;
}

static enum alq_status
take_alloc(struct heaptrack *h, struct alqi_cli_line *line)
{
    uint64_t number, id;
    uint32_t n_same, place;
    enum alq_status status;
    struct kind *kind;

    if (!alqi_cli_line_hex(line, &number) || number >= h->n_kinds)
        return ALQ_EFORMAT;
    kind = &h->kinds[number];
    status = clock_move(h);
    if (status == ALQ_OK)
        status = stack_fill(h, kind->stack, &n_same);
    if (status == ALQ_OK)
        status = alqi_ctf_write_alloc_in_place(
            h->writer, h->now_us, kind->size_bytes,
            alqi_base_malloc_words(kind->size_bytes), ALQI_CTF_EXTERNAL,
            h->depth, n_same, &id);
    if (status != ALQ_OK)
        return status;
    place = block_place(h);
    h->blocks[place] = (struct block){id, h->now_us, kind->youngest};
    kind->youngest = place;
    h->last_kind = (uint32_t)number;
    h->result->n_allocs++;
    return ALQ_OK;
}

/* .inv.youngest, .inv.life */
static enum alq_status
take_free(struct heaptrack *h, struct alqi_cli_line *line)
{
    uint32_t last_kind = h->last_kind, place;
    enum alq_status status = ALQ_OK;
    uint64_t number;
    struct block *b;

    if (!alqi_cli_line_hex(line, &number) || number >= h->n_kinds)
        return ALQ_EFORMAT;
    place = h->kinds[number].youngest;
    h->last_kind = NONE;
    if (place == 0) {
        h->n_unknown_frees++;
        return ALQ_OK;
    }
    b = &h->blocks[place];
    if (last_kind != number)
        status = clock_move(h);
    if (last_kind != number && h->now_us == b->born_us)
        h->now_us++;
    if (status == ALQ_OK)
        status = alqi_ctf_write_collect(h->writer, h->now_us, b->id);
    h->kinds[number].youngest = b->older;
    b->older = h->free_block;
    h->free_block = place;
    h->n_frees++;
    return status;
}

static enum alq_status
take_kind(struct heaptrack *h, struct alqi_cli_line *line)
{
    struct kind kind = {0};
    uint64_t stack;

    if (!alqi_cli_line_hex(line, &kind.size_bytes) ||
        kind.size_bytes >= (uint64_t)1 << 60 ||
        !alqi_cli_line_hex(line, &stack) || stack >= h->places.n_stacks ||
        h->n_kinds == NONE)
        return ALQ_EFORMAT;
    kind.stack = (uint32_t)stack;
    h->kinds = alqi_cli_grow(h->kinds, h->n_kinds, sizeof *h->kinds);
    h->kinds[h->n_kinds++] = kind;
    return ALQ_OK;
}

/* ---- lines --------------------------------------------------------------- */

/* Says what is wrong with the line that was read last. */
static enum alq_status
refuse(struct heaptrack *h, const char *why)
{
    struct alqi_cli_heaptrack_result *r = h->result;

    snprintf(r->damage, sizeof r->damage, "line %llu: %s",
             (unsigned long long)h->lines.number, why);
    return ALQ_EFORMAT;
}

static enum alq_status
take_place(struct heaptrack *h, struct alqi_cli_line *line)
{
    struct alqi_side_module module;
    struct alqi_side_writer side = side_now(h);

    if (!alqi_cli_heaptrack_place_take(&h->places, *line, &module))
        return ALQ_EFORMAT;
    return module.path != NULL ? alqi_side_write_module(&side, &module)
                               : ALQ_OK;
}

/* The words of the line are not told apart from blanks within them. */
static enum alq_status
take_command(struct heaptrack *h, struct alqi_cli_line *line)
{
    struct alqi_side_writer side = side_now(h);
    size_t n = (size_t)(line->end - line->at);
    char *words = alqi_cli_realloc(NULL, n + 1, 1);
    enum alq_status status;

    memcpy(words, line->at, n);
    for (size_t i = 0; i < n; i++)
        if (words[i] == ' ')
            words[i] = '\0';
    status = alqi_side_write_cmdline(&side, words, n);
    free(words);
    h->is_in_command = true;
    return status;
}

/* Times that go back are damage that does no harm. */
static enum alq_status
take_time(struct heaptrack *h, struct alqi_cli_line *line)
{
    uint64_t ms;

    if (!alqi_cli_line_hex(line, &ms) || ms >= UINT64_MAX / 1000000)
        return ALQ_EFORMAT;
    if (h->stamp_us < ms * 1000)
        h->stamp_us = ms * 1000;
    return ALQ_OK;
}

static enum alq_status
take_resident(struct heaptrack *h, struct alqi_cli_line *line)
{
    uint64_t pages;

    if (!alqi_cli_line_hex(line, &pages) || pages >= (uint64_t)1 << 44)
        return ALQ_EFORMAT;
    h->rss_bytes = pages * h->page_bytes;
    return ALQ_OK;
}

/* The size of a page, and how many the machine has. */
static enum alq_status
take_system(struct heaptrack *h, struct alqi_cli_line *line)
{
    uint64_t bytes, n;

    if (!alqi_cli_line_hex(line, &bytes) || bytes > (uint64_t)1 << 20 ||
        !alqi_cli_line_hex(line, &n) || line->at < line->end)
        return h->is_in_command ? ALQ_OK : ALQ_EFORMAT;
    h->page_bytes = bytes;
    h->is_in_command = false;
    return ALQ_OK;
}

/* The file's last lines are comments, of which this one is always there. */
static void
take_comment(struct heaptrack *h, const struct alqi_cli_line *line)
{
    static const char LAST[] = "ips: ";

    if ((size_t)(line->end - line->at) >= sizeof LAST - 1 &&
        memcmp(line->at, LAST, sizeof LAST - 1) == 0)
        h->has_end = true;
}

/* Opens the trace. heaptrack does not say when and as which process the
 * program ran. */
static enum alq_status
take_version(struct heaptrack *h, struct alqi_cli_line *line)
{
    char context[160];
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = 1.0 / ALQI_WORD_BYTES,
        .executable = "",
        .host = "",
        .params = "",
        .context = context,
    };
    uint64_t version;

    if (h->format != 0 || !alqi_cli_line_hex(line, &version))
        return ALQ_EFORMAT;
    if (!alqi_cli_line_hex(line, &h->format) || h->format < FORMAT_LEAST)
        return refuse(h, "a file of heaptrack before 1.0 is not read");
    if (h->format > FORMAT_MOST)
        return refuse(h, "a newer format than is known");
    snprintf(
        context, sizeof context,
        "aliquot=%s source=malloc header_words=1 " ALQI_CLI_HEAPTRACK_CONTEXT,
        ALQI_VERSION);
    return alqi_ctf_writer_open(&info, h->packet, h->packet_arg,
                                alqi_cli_heaptrack_lookup, &h->places,
                                &h->writer);
}

static enum alq_status
status_of(bool is_right)
{
    return is_right ? ALQ_OK : ALQ_EFORMAT;
}

static enum alq_status
take(struct heaptrack *h, char letter, struct alqi_cli_line *line)
{
    switch (letter) {
    case '+':
        return take_alloc(h, line);
    case '-':
        return take_free(h, line);
    case 'a':
        return take_kind(h, line);
    case 's':
        return status_of(alqi_cli_heaptrack_text_take(
            &h->places, *line, h->format >= FORMAT_SIZED));
    case 'i':
        return take_place(h, line);
    case 't':
        return status_of(alqi_cli_heaptrack_stack_take(&h->places, *line));
    case 'c':
        return take_time(h, line);
    case 'R':
        return take_resident(h, line);
    case 'X':
        return take_command(h, line);
    case 'I':
        return take_system(h, line);
    case 'A':
        h->is_attached = true;
        return ALQ_OK;
    case 'S':
        return ALQ_OK;
    case 'x':
    case 'm':
        return refuse(h, "the recording is raw: 'heaptrack --interpret FILE' "
                         "makes one with names of it");
    default:
        return ALQ_EFORMAT;
    }
}

/* Takes a line, whose letter may stand alone. */
static enum alq_status
take_line(struct heaptrack *h, struct alqi_cli_line line)
{
    char letter = line.at < line.end ? *line.at : '#';
    enum alq_status status = ALQ_OK;

    line.at += line.end - line.at < 2 ? line.end - line.at : 2;
    if (h->is_in_command && letter != 'I')
        return ALQ_OK;
    if (letter == '#')
        take_comment(h, &line);
    else if (letter == 'v' || h->writer == NULL)
        status = letter == 'v' ? take_version(h, &line) : ALQ_EFORMAT;
    else
        status = take(h, letter, &line);
    return status == ALQ_EFORMAT && h->result->damage[0] == '\0'
               ? refuse(h, "it makes no sense")
               : status;
}

/* Takes all lines. A read that fails ends them, too: who reads says why. */
static enum alq_status
take_lines(struct heaptrack *h)
{
    enum alq_status status = ALQ_OK;
    struct alqi_cli_line line;
    const char *why;
    int rc = 1;

    while (status == ALQ_OK &&
           (rc = alqi_cli_lines_next(&h->lines, &line, &why)) > 0)
        status = take_line(h, line);
    if (rc < 0) {
        h->lines.number++; /* the line that was not taken */
        status = refuse(h, why);
    }
    return status;
}

/* ---- from begin to close ------------------------------------------------- */

/* Without this record readers say that the trace has no end. */
static enum alq_status
end_write(struct heaptrack *h)
{
    enum alq_status status = clock_move(h);
    struct alqi_side_writer side = side_now(h);
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    if (status != ALQ_OK || !h->has_end)
        return status;
    alqi_side_text(&line, NULL, "end");
    alqi_side_number(&line, "samples", h->result->n_allocs);
    alqi_side_number(&line, "frees", h->n_frees);
    alqi_side_number(&line, "unknown_frees", h->n_unknown_frees);
    alqi_side_number(&line, "late_starts", h->is_attached);
    return alqi_side_write_line(&side, text);
}

static void
drop(struct heaptrack *h)
{
    alqi_cli_lines_free(&h->lines);
    alqi_cli_heaptrack_places_free(&h->places);
    free(h->kinds);
    free(h->blocks);
    free(h);
}

bool
alqi_cli_heaptrack_is(const void *bytes, size_t n)
{
    const char *at = bytes;
    size_t n_line = n < HEAD_BYTES_MAX ? n : HEAD_BYTES_MAX;
    const char *end = memchr(at, '\n', n_line);

    if (end == NULL || end - at < 3 || at[0] != 'v' || at[1] != ' ')
        return false;
    for (at += 2; at < end; at++)
        if (!isxdigit((unsigned char)*at) && *at != ' ')
            return false;
    return true;
}

enum alq_status
alqi_cli_heaptrack_convert(alqi_ctf_read_fn *read, void *read_arg,
                           alqi_ctf_packet_fn *packet, void *packet_arg,
                           struct alqi_cli_heaptrack_result *result)
{
    struct heaptrack *h = alqi_cli_zeros(1, sizeof *h);
    enum alq_status closed, status;

    *result = (struct alqi_cli_heaptrack_result){0};
    h->result = result;
    h->packet = packet;
    h->packet_arg = packet_arg;
    h->last_kind = NONE;
    h->page_bytes = 4096;
    h->blocks = alqi_cli_zeros(1, sizeof *h->blocks);
    h->n_blocks = 1;
    alqi_cli_lines_init(&h->lines, read, read_arg);
    alqi_cli_heaptrack_places_init(&h->places);
    status = take_lines(h);
    if (status == ALQ_EFORMAT)
        status = ALQ_OK; /* the damage has been said */
    if (h->writer != NULL) {
        if (status == ALQ_OK)
            status = end_write(h);
        closed = alqi_ctf_writer_close(h->writer);
        if (status == ALQ_OK)
            status = closed;
    }
    drop(h);
    return status;
}
