/* symbol_dwarf_lines.h -- the line table of one compilation unit
 *
 * Our own reader: libdw's keeps 40 bytes a row for as long as the file is
 * open and sorts them through an allocation each, which was a third of the
 * time to symbolise. */
#ifndef ALQI_STACK_SYMBOL_DWARF_LINES_H
#define ALQI_STACK_SYMBOL_DWARF_LINES_H

#include "base/arena.h"
#include "stack/dwarf_bytes.h"
#include "stack/symbol_ranges.h"

/* The sections that a line table refers to. */
struct alqi_symbol_line_input {
    struct alqi_stack_bytes line, line_str, str;
    uint64_t offset;           /* of the table in .debug_line       */
    const char *comp_dir;      /* may be NULL                       */
    uint64_t text_lo, text_hi; /* code that the linker kept    */
    size_t rows_max;
};

struct alqi_symbol_row {
    uint64_t address : 48, column : 16;
    uint32_t line, file;
};

struct alqi_symbol_file {
    const char *name;
    uint32_t dir;
    const char *path; /* made on the first look-up */
};

/* .inv.rows  Rows of one sequence ascend strictly in address. */
struct alqi_symbol_lines {
    struct alqi_symbol_row *rows;
    size_t rows_count, rows_capacity;
    struct alqi_symbol_sequence {
        uint32_t first, count;
    } * sequences;
    size_t sequences_count, sequences_capacity;
    struct alqi_symbol_map map; /* address to sequence */
    struct alqi_symbol_file *files;
    size_t files_count;
    const char **dirs;
    size_t dirs_count;
    const char *comp_dir;
};

/* Reads what it can; a damaged table gives the rows before the damage. */
void alqi_symbol_lines_read(struct alqi_symbol_lines *lines,
                            const struct alqi_symbol_line_input *input);
/* NULL when no row covers the address. */
const struct alqi_symbol_row *
alqi_symbol_lines_find(const struct alqi_symbol_lines *lines, uint64_t address);
/* NULL when there is no such file. */
const char *alqi_symbol_lines_path(struct alqi_symbol_lines *lines,
                                   struct alqi_base_arena *arena,
                                   uint32_t file);
void alqi_symbol_lines_drop(struct alqi_symbol_lines *lines);

#endif
