/* symbol_jit.c -- pieces of code by address and time, and their names
 *
 * Pieces come in the order of the file and stay.  Each is linked into the
 * chain of every page it reaches into, the last one first; a large one into a
 * chain of its own kind.  A look-up goes along two chains and takes the piece
 * that was listed last.
 *
 * .inv.jit_bounds  Pieces, links, bytes of text and the steps of a look-up are
 *                  bounded: hostile files cost no more.  A piece that would
 *                  pass a bound is counted. */
#include <stdlib.h>
#include <string.h>

#include "stack/symbol_jit.h"
#include "stack/symbol_jit_pieces.h"

enum {
    PIECES_MAX = 1 << 22,
    LINKS_MAX = 1 << 24,
    TEXTS_BYTES_MAX = 1 << 28,
    PAGE_LOG = 12,
    PAGES_MAX = 1 << 10,      /* of a piece that is not large */
    CODE_BYTES_MAX = 1 << 30, /* no piece is larger           */
    TEXT_BYTES_MAX = 1000,    /* of a name; the rest is cut   */
    STEPS_MAX = 1 << 16
};

/* The chain of large pieces: no page has this number. */
#define LARGE UINT64_MAX

struct alqi_symbol_jit *
alqi_symbol_jit_new(void)
{
    struct alqi_symbol_jit *jit = calloc(1, sizeof *jit);

    if (jit != NULL)
        jit->texts.limit_bytes = TEXTS_BYTES_MAX;
    return jit;
}

void
alqi_symbol_jit_drop(struct alqi_symbol_jit *jit)
{
    if (jit == NULL)
        return;
    free(jit->pieces);
    free(jit->links);
    free(jit->lines);
    alqi_base_map_clear(&jit->last_of_page);
    alqi_base_map_clear(&jit->piece_of);
    alqi_base_arena_drop(&jit->texts);
    free(jit);
}

struct alqi_symbol_jit_counts
alqi_symbol_jit_counts(const struct alqi_symbol_jit *jit)
{
    return (struct alqi_symbol_jit_counts){jit->n_odd, jit->n_over};
}

/* ---- adding -------------------------------------------------------------- */

/* Room for n_more elements behind n; false: no memory. */
static bool
room(void **at, size_t *capacity, size_t n, size_t n_more, size_t each_bytes)
{
    size_t wanted = *capacity > 0 ? *capacity : 64;
    void *more;

    if (n + n_more <= *capacity)
        return true;
    while (wanted < n + n_more)
        wanted *= 2;
    more = realloc(*at, wanted * each_bytes);
    if (more == NULL)
        return false;
    *at = more;
    *capacity = wanted;
    return true;
}

/* Puts the newest piece before the others of a chain; false: no memory. */
static bool
link_add(struct alqi_symbol_jit *jit, uint64_t chain)
{
    bool is_new;
    uint64_t *last = alqi_base_map_at(&jit->last_of_page, chain, &is_new);

    if (last == NULL)
        return false;
    jit->links[jit->n_links] =
        (struct alqi_symbol_jit_link){(uint32_t)jit->n_pieces, (uint32_t)*last};
    *last = ++jit->n_links;
    return true;
}

/* Control bytes become question marks. */
const char *
alqi_symbol_jit_text(struct alqi_symbol_jit *jit, const char *text, size_t n)
{
    size_t n_kept = n < TEXT_BYTES_MAX ? n : TEXT_BYTES_MAX;
    char *kept = alqi_base_arena_text(&jit->texts, text, n_kept);

    for (size_t i = 0; kept != NULL && i < n_kept; i++)
        if ((unsigned char)kept[i] < ' ' || kept[i] == 0x7f)
            kept[i] = '?';
    return kept;
}

/* Whether the piece may be kept, and has room. */
static bool
has_room(struct alqi_symbol_jit *jit, uint64_t n_links)
{
    return jit->n_pieces < PIECES_MAX && n_links <= LINKS_MAX - jit->n_links &&
           room((void **)&jit->pieces, &jit->pieces_capacity, jit->n_pieces, 1,
                sizeof *jit->pieces) &&
           room((void **)&jit->links, &jit->links_capacity, jit->n_links,
                n_links, sizeof *jit->links);
}

bool
alqi_symbol_jit_add(struct alqi_symbol_jit *jit, uint64_t start,
                    uint64_t n_code_bytes, uint64_t time_ns, const char *text,
                    size_t n_text_bytes)
{
    uint64_t first = start >> PAGE_LOG, last, n_links;
    const char *kept;

    if (n_code_bytes == 0 || n_code_bytes > CODE_BYTES_MAX ||
        start > UINT64_MAX - n_code_bytes) {
        jit->n_odd++;
        return false;
    }
    last = (start + n_code_bytes - 1) >> PAGE_LOG;
    if (last - first >= PAGES_MAX)
        first = last = LARGE;
    n_links = last - first + 1;
    kept = has_room(jit, n_links)
               ? alqi_symbol_jit_text(jit, text, n_text_bytes)
               : NULL;
    for (uint64_t i = 0; kept != NULL && i < n_links; i++)
        if (!link_add(jit, first + i))
            kept = NULL;
    if (kept == NULL) {
        jit->n_over++;
        return false;
    }
    jit->pieces[jit->n_pieces++] =
        (struct alqi_symbol_jit_piece){.start = start,
                                       .end = start + n_code_bytes,
                                       .time_ns = time_ns,
                                       .text = kept};
    return true;
}

/* ---- look-up ------------------------------------------------------------- */

/* Whether the piece is over the address at that time. */
static bool
is_over(const struct alqi_symbol_jit_piece *piece, uint64_t address,
        uint64_t time_ns)
{
    return piece->start <= address && address < piece->end &&
           piece->time_ns <= time_ns;
}

/* The last piece of a chain over the address.  A link may lead to a piece that
 * had no memory in the end. */
static uint32_t
chain_find(const struct alqi_symbol_jit *jit, uint64_t chain, uint64_t address,
           uint64_t time_ns)
{
    uint64_t at = 0;

    (void)alqi_base_map_get(&jit->last_of_page, chain, &at);
    for (unsigned step = 0; at != 0 && step < STEPS_MAX; step++) {
        const struct alqi_symbol_jit_link *link = &jit->links[at - 1];

        if (link->piece < jit->n_pieces &&
            is_over(&jit->pieces[link->piece], address, time_ns))
            return link->piece;
        at = link->before;
    }
    return ALQI_SYMBOL_NO_CODE;
}

uint32_t
alqi_symbol_jit_find(const struct alqi_symbol_jit *jit, uint64_t address,
                     uint64_t time_ns)
{
    uint32_t small = chain_find(jit, address >> PAGE_LOG, address, time_ns);
    uint32_t large = chain_find(jit, LARGE, address, time_ns);

    if (small == ALQI_SYMBOL_NO_CODE || large == ALQI_SYMBOL_NO_CODE)
        return small < large ? small : large;
    return small > large ? small : large;
}

/* ---- names --------------------------------------------------------------- */

/* The number behind the last colon of [text, end), which is cut off; 0: there
 * is none, and nothing is cut. */
static uint32_t
number_cut(const char *text, const char **end)
{
    const char *at = *end;
    uint64_t value = 0, unit = 1;

    while (at > text && at[-1] >= '0' && at[-1] <= '9' && unit < 1000000000) {
        value += unit * (uint64_t)(*--at - '0');
        unit *= 10;
    }
    if (at == *end || at == text || at[-1] != ':')
        return 0;
    *end = at - 1;
    return (uint32_t)value;
}

/* Where a script's path begins in "KIND:NAME PATH": behind the first blank that
 * a root or a scheme follows, or else behind the last one.  NULL: nowhere. */
static const char *
path_in(const char *text)
{
    static const char *const begins[] = {" /", " file://",
                                         " node:", " evalmachine."};
    const char *found = NULL, *blank = strrchr(text, ' ');

    for (size_t i = 0; i < ALQI_COUNT_OF(begins); i++) {
        const char *at = strstr(text, begins[i]);

        if (at != NULL && (found == NULL || at < found))
            found = at;
    }
    if (found == NULL)
        found = blank;
    return found != NULL && found[1] != '\0' ? found + 1 : NULL;
}

static bool
begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* node: "JS:*name PATH:LINE:COLUMN"; the kind stays with the name.  The first
 * number that is cut is the column, if there are two. */
static bool
script_split(struct alqi_symbol_jit *jit, const char *text,
             struct alqi_symbol_frame *frame)
{
    static const char *const kinds[] = {
        "JS:", "Script:", "Eval:", "Function:", "LazyCompile:", "Module:"};
    const char *path = path_in(text), *end = text + strlen(text);
    bool is_script = false;

    for (size_t i = 0; i < ALQI_COUNT_OF(kinds); i++)
        is_script |= begins_with(text, kinds[i]);
    if (!is_script || path == NULL)
        return true;
    frame->column = number_cut(path, &end);
    frame->line = frame->column > 0 ? number_cut(path, &end) : 0;
    if (frame->line == 0) {
        frame->line = frame->column;
        frame->column = 0;
    }
    if (frame->line == 0)
        return true;
    frame->file = alqi_base_arena_text(&jit->texts, path, (size_t)(end - path));
    frame->function = alqi_base_arena_printf(
        &jit->texts, "%.*s%s", (int)(path - 1 - text), text,
        path - 1 > text && strchr(":*~^+", path[-2]) ? "[anonymous]" : "");
    return frame->file != NULL && frame->function != NULL;
}

/* CPython: "py::NAME:PATH". */
static bool
python_split(struct alqi_symbol_jit *jit, const char *text,
             struct alqi_symbol_frame *frame)
{
    const char *path = begins_with(text, "py::") ? strchr(text + 4, ':') : NULL;

    if (path == NULL)
        return true;
    frame->file = path + 1;
    frame->function =
        alqi_base_arena_text(&jit->texts, text, (size_t)(path - text));
    return frame->function != NULL;
}

/* The text's file goes before the dump's lines: node's lists have the file of
 * the outer function for the lines of those that are inlined. */
bool
alqi_symbol_jit_frame(struct alqi_symbol_jit *jit, uint32_t piece,
                      uint64_t address, struct alqi_symbol_frame *frame)
{
    const char *text = jit->pieces[piece].text;

    *frame = (struct alqi_symbol_frame){.function = text, .file = ""};
    if (!script_split(jit, text, frame) || !python_split(jit, text, frame))
        return false;
    if (frame->file[0] == '\0')
        alqi_symbol_jit_line_find(jit, &jit->pieces[piece], address, frame);
    return true;
}
