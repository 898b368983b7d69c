/* symbol_jit_pieces.h -- how the readers of symbol_jit.h add what they read */
#ifndef ALQI_STACK_SYMBOL_JIT_PIECES_H
#define ALQI_STACK_SYMBOL_JIT_PIECES_H

#include "base/arena.h"
#include "base/map.h"
#include "stack/symbol.h"

/* Code at [start, end) from time_ns on; 0: of unknown time. */
struct alqi_symbol_jit_piece {
    uint64_t start, end;
    uint64_t time_ns;
    const char *text; /* the arena's */
    uint32_t first_line, n_lines;
};

/* From that distance behind the start of a piece on: a line of the source. */
struct alqi_symbol_jit_line {
    uint32_t offset;
    uint32_t number;
    const char *file; /* the arena's */
};

/* A piece that reaches into a page, and the one listed before it. */
struct alqi_symbol_jit_link {
    uint32_t piece;
    uint32_t before; /* index + 1; 0: none */
};

struct alqi_symbol_jit {
    struct alqi_symbol_jit_piece *pieces; /* in the order of the file */
    size_t n_pieces, pieces_capacity;
    struct alqi_symbol_jit_link *links;
    size_t n_links, links_capacity;
    struct alqi_base_map last_of_page; /* page -> index + 1 of a link      */
    struct alqi_base_map piece_of;     /* a jitdump's code_index -> piece  */
    struct alqi_base_arena texts;
    struct alqi_symbol_jit_line *lines;
    size_t n_lines, lines_capacity;
    struct {
        uint64_t address; /* of the piece that takes them; 0: none wait */
        uint32_t first;   /* of lines; they go to the end               */
    } waiting;
    uint64_t n_odd, n_over; /* struct alqi_symbol_jit_counts    */
    bool is_inside_line;    /* of a map: the line was too long, and goes on */
    bool has_header;        /* of a jitdump: the file's header was read     */
    bool has_times;         /* of a jitdump: its times are of our clock     */
    bool is_over;           /* of a jitdump: nothing more is taken from it  */
};

/* Adds a piece, whose text is n bytes, control bytes and all; false: it was
 * counted instead. */
bool alqi_symbol_jit_add(struct alqi_symbol_jit *jit, uint64_t start,
                         uint64_t n_code_bytes, uint64_t time_ns,
                         const char *text, size_t n_text_bytes);

/* A copy of the text, as a piece's; NULL: no memory. */
const char *alqi_symbol_jit_text(struct alqi_symbol_jit *jit, const char *text,
                                 size_t n);

/* ---- symbol_jit_lines.c -------------------------------------------------- */

/* The lines that follow are of code that will be there. */
void alqi_symbol_jit_lines_begin(struct alqi_symbol_jit *jit, uint64_t address);
/* file NULL: that of the line before.  False: it makes no sense, or there is no
 * room. */
bool alqi_symbol_jit_line_add(struct alqi_symbol_jit *jit, uint64_t address,
                              uint32_t number, const char *file, size_t n);
/* Forgets those since begin. */
void alqi_symbol_jit_lines_drop(struct alqi_symbol_jit *jit);
/* The piece at that address takes the lines that wait for it. */
void alqi_symbol_jit_lines_take(struct alqi_symbol_jit *jit, uint64_t address,
                                struct alqi_symbol_jit_piece *piece);
/* Sets the frame's file and line, if the piece has lines. */
void alqi_symbol_jit_line_find(const struct alqi_symbol_jit *jit,
                               const struct alqi_symbol_jit_piece *piece,
                               uint64_t address,
                               struct alqi_symbol_frame *frame);

#endif
