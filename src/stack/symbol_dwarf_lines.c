/* symbol_dwarf_lines.c -- the line table of one compilation unit, DWARF 2 to 5
 *
 * The header (directories and files), then the program in .debug_line, run
 * once. Each of its sequences is a run of ascending addresses; a map finds the
 * sequence, a binary search the row.  Where several rows have one address the
 * last counts, as for debuggers.
 *
 * Keeps .inv.forward and .inv.bound: every row costs the file at least one
 * byte, so rows are bounded by the section and by rows_max; counts of files
 * are checked against the bytes left before anything is allocated.  .inv.rows:
 * symbol_dwarf_lines.h. */
#include "stack/symbol_dwarf_lines.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/base.h"
#include "stack/symbol_array.h"

enum { FORMATS_MAX = 16, OPCODES_MAX = 256, PATH_BYTES = 4096 };

struct program {
    struct alqi_stack_bytes bytes;
    const struct alqi_symbol_line_input *input;
    struct alqi_symbol_lines *lines;
    struct alqi_symbol_ranges ranges;
    unsigned version, offset_bytes, address_bytes;
    uint8_t min_bytes, max_ops, line_range, opcode_base;
    int8_t line_base;
    uint8_t operands[OPCODES_MAX];
    /* the registers of the state machine */
    uint64_t address, file, column;
    uint64_t line; /* wraps like the 32 bits it is shown as */
    uint64_t op_index;
    size_t first; /* row of this sequence */
};

/* ---- header ---------------------------------------------------------- */

static const char *
text_at(const struct alqi_stack_bytes *section, uint64_t offset)
{
    struct alqi_stack_bytes b = *section;

    alqi_stack_bytes_skip(&b, offset);
    return b.is_bad ? "" : alqi_stack_bytes_text(&b);
}

struct format {
    uint64_t content, form;
};

/* One field of a version 5 entry; false when its form is unknown, since then
 * nothing after it can be found. */
static bool
field_read(struct program *p, uint64_t form, const char **text,
           uint64_t *number)
{
    struct alqi_stack_bytes *b = &p->bytes;

    *text = "";
    *number = 0;
    switch (form) {
    case DW_FORM_string:
        *text = alqi_stack_bytes_text(b);
        return true;
    case DW_FORM_line_strp:
        *text = text_at(&p->input->line_str,
                        alqi_stack_bytes_uint(b, p->offset_bytes));
        return true;
    case DW_FORM_strp:
        *text =
            text_at(&p->input->str, alqi_stack_bytes_uint(b, p->offset_bytes));
        return true;
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        alqi_stack_bytes_skip(b, p->offset_bytes);
        return true;
    case DW_FORM_udata:
        *number = alqi_stack_bytes_uleb(b);
        return true;
    case DW_FORM_data1:
        *number = alqi_stack_bytes_u8(b);
        return true;
    case DW_FORM_data2:
        *number = alqi_stack_bytes_uint(b, 2);
        return true;
    case DW_FORM_data4:
        *number = alqi_stack_bytes_uint(b, 4);
        return true;
    case DW_FORM_data8:
        *number = alqi_stack_bytes_uint(b, 8);
        return true;
    case DW_FORM_data16: /* the MD5 of the file */
        alqi_stack_bytes_skip(b, 16);
        return true;
    case DW_FORM_block:
        alqi_stack_bytes_skip(b, alqi_stack_bytes_uleb(b));
        return true;
    default:
        return false;
    }
}

/* A version 5 list of directories or files; NULL when it cannot be read. */
static struct alqi_symbol_file *
entries_read(struct program *p, size_t *count_out)
{
    struct alqi_stack_bytes *b = &p->bytes;
    struct format formats[FORMATS_MAX];
    struct alqi_symbol_file *entries;
    unsigned formats_count = alqi_stack_bytes_u8(b), k;
    uint64_t count, i, number;
    const char *text;

    if (formats_count > FORMATS_MAX)
        return NULL;
    for (k = 0; k < formats_count; k++) {
        formats[k].content = alqi_stack_bytes_uleb(b);
        formats[k].form = alqi_stack_bytes_uleb(b);
    }
    count = alqi_stack_bytes_uleb(b);
    /* Every form above takes at least one byte. */
    if (b->is_bad || count > alqi_stack_bytes_left(b) ||
        (formats_count == 0 && count > 0))
        return NULL;
    entries = calloc(count + 1, sizeof *entries);
    if (entries == NULL)
        return NULL;
    for (i = 0; i < count; i++) {
        entries[i].name = "";
        for (k = 0; k < formats_count; k++) {
            if (!field_read(p, formats[k].form, &text, &number)) {
                free(entries);
                return NULL;
            }
            if (formats[k].content == DW_LNCT_path)
                entries[i].name = text;
            else if (formats[k].content == DW_LNCT_directory_index)
                entries[i].dir =
                    number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
        }
    }
    *count_out = count;
    return entries;
}

/* The others are relative to directory 0, the unit's own. */
static bool
dirs_set(struct alqi_symbol_lines *l, const struct alqi_symbol_file *dirs,
         size_t count)
{
    size_t i;

    l->dirs = calloc(count + 1, sizeof *l->dirs);
    if (l->dirs == NULL)
        return false;
    for (i = 0; i < count; i++)
        l->dirs[i] = dirs[i].name;
    l->dirs_count = count;
    if (count > 0) {
        if (l->dirs[0][0] == '/')
            l->comp_dir = l->dirs[0];
        l->dirs[0] = "";
    }
    return true;
}

/* Directories and files of a version 5 header. */
static bool
names_read_5(struct program *p)
{
    size_t count;
    struct alqi_symbol_file *dirs = entries_read(p, &count);
    bool is_set = dirs != NULL && dirs_set(p->lines, dirs, count);

    free(dirs);
    if (!is_set)
        return false;
    p->lines->files = entries_read(p, &p->lines->files_count);
    return p->lines->files != NULL;
}

/* Adds a file; false: no memory. */
static bool
file_add(struct alqi_symbol_lines *l, size_t *capacity, const char *name,
         uint64_t dir)
{
    if (!ALQI_SYMBOL_ARRAY_FIT(l->files, l->files_count, *capacity, SIZE_MAX))
        return false;
    l->files[l->files_count].name = name;
    l->files[l->files_count].dir =
        dir < UINT32_MAX ? (uint32_t)dir : UINT32_MAX;
    l->files[l->files_count].path = NULL;
    l->files_count++;
    return true;
}

/* Before version 5 both lists count from 1; slot 0 of the directories is the
 * compilation directory, slot 0 of the files is not used. */
static bool
names_read_2(struct program *p)
{
    struct alqi_stack_bytes *b = &p->bytes;
    struct alqi_symbol_lines *l = p->lines;
    size_t capacity = 0, i, dirs = 1;
    struct alqi_stack_bytes count = *b;
    const char *name;
    uint64_t dir;

    while (*alqi_stack_bytes_text(&count) != '\0')
        dirs++;
    l->dirs = calloc(dirs, sizeof *l->dirs);
    if (l->dirs == NULL || !file_add(l, &capacity, "", 0))
        return false;
    l->dirs[0] = "";
    l->dirs_count = dirs;
    for (i = 1; i < dirs; i++)
        l->dirs[i] = alqi_stack_bytes_text(b);
    alqi_stack_bytes_text(b); /* the empty one */
    for (name = alqi_stack_bytes_text(b); *name != '\0';
         name = alqi_stack_bytes_text(b)) {
        dir = alqi_stack_bytes_uleb(b);
        alqi_stack_bytes_uleb(b); /* time */
        alqi_stack_bytes_uleb(b); /* size */
        if (!file_add(l, &capacity, name, dir))
            return false;
    }
    return true;
}

/* Leaves `bytes` at the first opcode. */
static bool
header_read(struct program *p)
{
    struct alqi_stack_bytes *b = &p->bytes;
    uint64_t length, header_bytes;
    const uint8_t *start;
    unsigned i;

    p->offset_bytes = 4;
    length = alqi_stack_bytes_uint(b, 4);
    if (length == 0xffffffff) {
        p->offset_bytes = 8;
        length = alqi_stack_bytes_uint(b, 8);
    }
    if (b->is_bad || length > alqi_stack_bytes_left(b))
        return false;
    b->end = b->at + length;
    p->version = (unsigned)alqi_stack_bytes_uint(b, 2);
    if (p->version < 2 || p->version > 5)
        return false;
    p->address_bytes = 8;
    if (p->version >= 5) {
        p->address_bytes = alqi_stack_bytes_u8(b);
        alqi_stack_bytes_u8(b); /* segment selectors: none here */
    }
    header_bytes = alqi_stack_bytes_uint(b, p->offset_bytes);
    if (header_bytes > alqi_stack_bytes_left(b))
        return false;
    start = b->at + header_bytes;
    p->min_bytes = alqi_stack_bytes_u8(b);
    p->max_ops = p->version >= 4 ? alqi_stack_bytes_u8(b) : 1;
    alqi_stack_bytes_u8(b); /* default_is_stmt */
    p->line_base = (int8_t)alqi_stack_bytes_u8(b);
    p->line_range = alqi_stack_bytes_u8(b);
    p->opcode_base = alqi_stack_bytes_u8(b);
    for (i = 1; i < p->opcode_base; i++)
        p->operands[i] = alqi_stack_bytes_u8(b);
    if (p->line_range == 0 || p->opcode_base == 0 || p->max_ops == 0 ||
        !(p->version >= 5 ? names_read_5(p) : names_read_2(p)) || b->is_bad)
        return false;
    b->at = start;
    return true;
}

/* ---- program --------------------------------------------------------- */

/* The state machine's registers at the beginning of a sequence. */
static void
registers_reset(struct program *p)
{
    p->address = p->column = p->op_index = 0;
    p->file = p->line = 1;
    p->first = p->lines->rows_count;
}

/* Rows from `first` on become a sequence that ends at `hi`, unless the linker
 * dropped their code. */
static void
sequence_end(struct program *p, uint64_t hi)
{
    struct alqi_symbol_lines *l = p->lines;
    struct alqi_symbol_range range = {.hi = hi,
                                      .id = (uint32_t)l->sequences_count};

    if (p->first == l->rows_count)
        return;
    range.lo = l->rows[p->first].address;
    if (range.lo < p->input->text_lo || hi > p->input->text_hi ||
        range.lo >= hi) {
        l->rows_count = p->first;
        return;
    }
    if (!ALQI_SYMBOL_ARRAY_FIT(l->sequences, l->sequences_count,
                               l->sequences_capacity, SIZE_MAX))
        return;
    l->sequences[l->sequences_count].first = (uint32_t)p->first;
    l->sequences[l->sequences_count].count =
        (uint32_t)(l->rows_count - p->first);
    l->sequences_count++;
    alqi_symbol_ranges_add(&p->ranges, &range);
    p->first = l->rows_count;
}

/* A row of the registers; false: no room for more. */
static bool
row_add(struct program *p)
{
    struct alqi_symbol_lines *l = p->lines;
    struct alqi_symbol_row *last,
        row = {.address = p->address,
               .column = p->column < UINT16_MAX ? p->column : 0,
               .line = (uint32_t)p->line,
               .file = (uint32_t)p->file};

    if (p->address >> 48 != 0)
        return true;
    if (l->rows_count > p->first) {
        last = &l->rows[l->rows_count - 1];
        if (row.address == last->address) {
            *last = row;
            return true;
        }
        if (row.address < last->address) /* not allowed, but seen */
            sequence_end(p, last->address + 1);
        else if (row.line == last->line && row.file == last->file &&
                 row.column == last->column)
            return true;
    }
    if (!ALQI_SYMBOL_ARRAY_FIT(l->rows, l->rows_count, l->rows_capacity,
                               p->input->rows_max))
        return false;
    l->rows[l->rows_count++] = row;
    return true;
}

/* Moves the row's address on.  An instruction has up to max_ops operations;
 * with one, as nearly everywhere, operations count instructions. */
static void
address_advance(struct program *p, uint64_t operations)
{
    if (p->max_ops == 1) {
        p->address += operations * p->min_bytes;
        return;
    }
    p->op_index += operations;
    p->address += p->op_index / p->max_ops * p->min_bytes;
    p->op_index %= p->max_ops;
}

/* An extended opcode: of those that matter, the end of a sequence and a new
 * address. */
static void
extended_run(struct program *p)
{
    struct alqi_stack_bytes *b = &p->bytes, body;
    uint64_t length = alqi_stack_bytes_uleb(b);

    if (length == 0 || length > alqi_stack_bytes_left(b)) {
        b->is_bad = true;
        return;
    }
    body = (struct alqi_stack_bytes){b->at, b->at + length, false};
    b->at += length;
    switch (alqi_stack_bytes_u8(&body)) {
    case DW_LNE_end_sequence:
        sequence_end(p, p->address);
        registers_reset(p);
        return;
    case DW_LNE_set_address:
        if (length > 9)
            b->is_bad = true;
        else
            p->address = alqi_stack_bytes_uint(&body, (unsigned)length - 1);
        p->op_index = 0;
        return;
    default: /* discriminators, files defined late, vendors' */
        return;
    }
}

/* A standard opcode; unknown ones are skipped with their operands. */
static bool
standard_run(struct program *p, uint8_t opcode)
{
    struct alqi_stack_bytes *b = &p->bytes;
    unsigned i;

    switch (opcode) {
    case DW_LNS_copy:
        return row_add(p);
    case DW_LNS_advance_pc:
        address_advance(p, alqi_stack_bytes_uleb(b));
        return true;
    case DW_LNS_advance_line:
        p->line += (uint64_t)alqi_stack_bytes_sleb(b);
        return true;
    case DW_LNS_set_file:
        p->file = alqi_stack_bytes_uleb(b);
        return true;
    case DW_LNS_set_column:
        p->column = alqi_stack_bytes_uleb(b);
        return true;
    case DW_LNS_const_add_pc:
        address_advance(p, (255u - p->opcode_base) / p->line_range);
        return true;
    case DW_LNS_fixed_advance_pc:
        p->address += alqi_stack_bytes_uint(b, 2);
        p->op_index = 0;
        return true;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin:
        return true;
    default:
        for (i = 0; i < p->operands[opcode]; i++)
            alqi_stack_bytes_uleb(b);
        return true;
    }
}

/* Runs the opcodes to the end or to damage; an open sequence is closed there.
 */
static void
program_run(struct program *p)
{
    struct alqi_stack_bytes *b = &p->bytes;
    uint8_t opcode;

    registers_reset(p);
    while (b->at < b->end && !b->is_bad) {
        opcode = *b->at++;
        if (opcode >= p->opcode_base) {
            opcode = (uint8_t)(opcode - p->opcode_base);
            address_advance(p, opcode / p->line_range);
            p->line +=
                (uint64_t)(int64_t)(p->line_base + opcode % p->line_range);
            if (!row_add(p))
                break;
        } else if (opcode == 0) {
            extended_run(p);
        } else if (!standard_run(p, opcode)) {
            break;
        }
    }
    if (p->lines->rows_count > p->first)
        sequence_end(p, p->lines->rows[p->lines->rows_count - 1].address + 1);
}

void
alqi_symbol_lines_read(struct alqi_symbol_lines *lines,
                       const struct alqi_symbol_line_input *input)
{
    struct program *p = calloc(1, sizeof *p);
    void *fit;

    memset(lines, 0, sizeof *lines);
    lines->comp_dir = input->comp_dir;
    if (p == NULL)
        return;
    p->input = input;
    p->lines = lines;
    p->bytes = input->line;
    p->ranges.limit = (size_t)1 << 24;
    alqi_stack_bytes_skip(&p->bytes, input->offset);
    if (!p->bytes.is_bad && header_read(p))
        program_run(p);
    alqi_symbol_map_make(&lines->map, &p->ranges);
    alqi_symbol_ranges_drop(&p->ranges);
    free(p);
    if (lines->rows_count > 0) {
        fit = realloc(lines->rows, lines->rows_count * sizeof *lines->rows);
        lines->rows = fit != NULL ? fit : lines->rows;
    }
}

/* ---- look-up --------------------------------------------------------- */

const struct alqi_symbol_row *
alqi_symbol_lines_find(const struct alqi_symbol_lines *lines, uint64_t address)
{
    uint32_t id = alqi_symbol_map_find(&lines->map, address);
    const struct alqi_symbol_row *rows;
    size_t lo = 0, hi, mid;

    if (id == ALQI_SYMBOL_NO_ID)
        return NULL;
    rows = lines->rows + lines->sequences[id].first;
    for (hi = lines->sequences[id].count; lo < hi;) {
        mid = lo + (hi - lo) / 2;
        if (rows[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? NULL : &rows[lo - 1];
}

/* Appends the parts of `more`, taking back one for each "..": compilers name
 * "build/../src/x.c", people look for "src/x.c". */
static size_t
path_append(char *path, size_t n, const char *more)
{
    size_t bytes, back;

    if (more[0] == '/')
        n = 0;
    for (; *more != '\0'; more += bytes) {
        if (*more == '/') {
            bytes = 1;
            if (n == 0)
                path[n++] = '/';
            continue;
        }
        bytes = strcspn(more, "/");
        if (bytes == 1 && more[0] == '.')
            continue;
        if (bytes == 2 && more[0] == '.' && more[1] == '.' && n > 0 &&
            path[n - 1] != '/') {
            for (back = n; back > 0 && path[back - 1] != '/';)
                back--;
            if (n - back != 2 || path[back] != '.' || path[back + 1] != '.') {
                n = back > 1 ? back - 1 : back;
                continue;
            }
        }
        if (n + bytes + 2 > PATH_BYTES)
            return n;
        if (n > 0 && path[n - 1] != '/')
            path[n++] = '/';
        memcpy(path + n, more, bytes);
        n += bytes;
    }
    return n;
}

const char *
alqi_symbol_lines_path(struct alqi_symbol_lines *lines,
                       struct alqi_base_arena *arena, uint32_t file)
{
    struct alqi_symbol_file *f;
    char path[PATH_BYTES];
    size_t n = 0;

    if (file >= lines->files_count || lines->files[file].name[0] == '\0')
        return NULL;
    f = &lines->files[file];
    if (f->path != NULL)
        return f->path;
    if (lines->comp_dir != NULL)
        n = path_append(path, n, lines->comp_dir);
    if (f->dir < lines->dirs_count)
        n = path_append(path, n, lines->dirs[f->dir]);
    n = path_append(path, n, f->name);
    f->path = alqi_base_arena_text(arena, path, n);
    return f->path;
}

void
alqi_symbol_lines_drop(struct alqi_symbol_lines *lines)
{
    free(lines->rows);
    free(lines->sequences);
    alqi_symbol_map_drop(&lines->map);
    free(lines->files);
    free(lines->dirs);
    memset(lines, 0, sizeof *lines);
}
