/* symbol_jit_lines.c -- lines of the source for code that was made
 *
 * A jitdump lists the lines of a piece before the piece itself: they wait, and
 * the LOAD of that address takes them. They are kept by their distance from the
 * piece's start, so a piece that moves has them, too.
 *
 * .inv.jit_lines  Lines, those of one piece, and bytes of their names are
 *                 bounded; more are counted. */
#include <stdlib.h>
#include <string.h>

#include "stack/symbol_jit.h"
#include "stack/symbol_jit_pieces.h"

enum { LINES_MAX = 1 << 24, LINES_OF_PIECE_MAX = 1 << 16, FILE_MAX = 1000 };

void
alqi_symbol_jit_lines_begin(struct alqi_symbol_jit *jit, uint64_t address)
{
    jit->waiting.address = address;
    jit->waiting.first = (uint32_t)jit->n_lines;
}

/* Room for a line; false: no memory, or there are enough. */
static bool
has_room(struct alqi_symbol_jit *jit)
{
    size_t wanted = jit->n_lines > 0 ? 2 * jit->n_lines : 64;
    void *more;

    if (jit->n_lines == LINES_MAX ||
        jit->n_lines - jit->waiting.first == LINES_OF_PIECE_MAX)
        return false;
    if (jit->n_lines < jit->lines_capacity)
        return true;
    more = realloc(jit->lines, wanted * sizeof *jit->lines);
    if (more == NULL)
        return false;
    jit->lines = more;
    jit->lines_capacity = wanted;
    return true;
}

bool
alqi_symbol_jit_line_add(struct alqi_symbol_jit *jit, uint64_t address,
                         uint32_t number, const char *file, size_t n)
{
    uint64_t offset = address - jit->waiting.address;
    const char *kept = NULL;

    if (address < jit->waiting.address || offset > UINT32_MAX)
        return false;
    if (!has_room(jit)) {
        jit->n_over++;
        return false;
    }
    if (jit->n_lines > jit->waiting.first)
        kept = jit->lines[jit->n_lines - 1].file;
    if (file != NULL &&
        (kept == NULL || strncmp(kept, file, n) != 0 || kept[n] != '\0'))
        kept = alqi_symbol_jit_text(jit, file, n < FILE_MAX ? n : FILE_MAX);
    if (kept == NULL) {
        jit->n_over++;
        return false;
    }
    jit->lines[jit->n_lines++] =
        (struct alqi_symbol_jit_line){(uint32_t)offset, number, kept};
    return true;
}

void
alqi_symbol_jit_lines_drop(struct alqi_symbol_jit *jit)
{
    jit->n_lines = jit->waiting.first;
    alqi_symbol_jit_lines_begin(jit, 0);
}

void
alqi_symbol_jit_lines_take(struct alqi_symbol_jit *jit, uint64_t address,
                           struct alqi_symbol_jit_piece *piece)
{
    if (jit->waiting.address == address) {
        piece->first_line = jit->waiting.first;
        piece->n_lines = (uint32_t)(jit->n_lines - jit->waiting.first);
    }
    alqi_symbol_jit_lines_begin(jit, 0);
}

/* The last line that begins at the address or before. */
void
alqi_symbol_jit_line_find(const struct alqi_symbol_jit *jit,
                          const struct alqi_symbol_jit_piece *piece,
                          uint64_t address, struct alqi_symbol_frame *frame)
{
    const struct alqi_symbol_jit_line *best = NULL;

    for (uint32_t i = 0; i < piece->n_lines; i++) {
        const struct alqi_symbol_jit_line *l =
            &jit->lines[piece->first_line + i];

        if (l->offset <= address - piece->start &&
            (best == NULL || l->offset >= best->offset))
            best = l;
    }
    if (best == NULL)
        return;
    frame->file = best->file;
    frame->line = best->number;
    frame->column = 0;
}
