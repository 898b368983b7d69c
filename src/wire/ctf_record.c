/* ctf_record.c -- one location record, both ways
 *
 * An entry is 48 bits and the names that its indexes do not stand for; reading
 * and writing run the same steps on the name tables (ctf_mtf.h).  A record
 * that would be too long is written as an unknown place (alqi_record_fitting);
 * a side record spells every name out (.inv.plain). */
#include "base/base.h"
#include "wire/ctf_record.h"

/* Where the fields of an entry's 48 bits begin. */
enum { START_BIT = 20, END_BIT = 28, FILE_BIT = 38, FUNCTION_BIT = 43 };

/* The function of an entry, by index or spelt out. */
static enum alqi_record_result
function_read(struct alqi_wire_in *in, struct alqi_wire_locations *locations,
              struct alqi_mtf_file *file, uint32_t index, const char **out)
{
    if (index != ALQI_MTF_NEW) {
        *out = alqi_mtf_function_use(file, index);
        return *out != NULL ? ALQI_RECORD_OK : ALQI_RECORD_INDEX;
    }
    *out = alqi_wire_in_str(in);
    if (in->bad)
        return ALQI_RECORD_SHORT;
    *out = alqi_wire_locations_name(locations, *out);
    if (*out == NULL)
        return ALQI_RECORD_NOMEM;
    alqi_mtf_function_new(file, *out);
    return ALQI_RECORD_OK;
}

/* The file of an entry, by index or spelt out. */
static enum alqi_record_result
file_read(struct alqi_wire_in *in, struct alqi_mtf *mtf,
          struct alqi_wire_locations *locations, bool is_v1, uint32_t index,
          struct alqi_mtf_file **out)
{
    const char *name;

    if (index != ALQI_MTF_NEW) {
        *out = alqi_mtf_file_use(mtf, index);
        return *out != NULL ? ALQI_RECORD_OK : ALQI_RECORD_INDEX;
    }
    name = alqi_wire_in_str(in);
    if (in->bad)
        return ALQI_RECORD_SHORT;
    name = alqi_wire_locations_name(locations, name);
    if (name == NULL)
        return ALQI_RECORD_NOMEM;
    *out = alqi_mtf_file_new(mtf, name, is_v1);
    return ALQI_RECORD_OK;
}

/* One entry of a record, and its effect on the name tables. */
static enum alqi_record_result
entry_read(struct alqi_wire_in *in, struct alqi_mtf *mtf,
           struct alqi_wire_locations *locations, bool is_v1,
           struct alqi_ctf_entry *entry)
{
    uint64_t low = alqi_wire_in_u32(in);
    uint64_t bits = low | (uint64_t)alqi_wire_in_u16(in) << 32;
    struct alqi_mtf_file *file;
    enum alqi_record_result r;

    if (in->bad)
        return ALQI_RECORD_SHORT;
    entry->line = (int32_t)(bits & 0xFFFFF);
    entry->start_column = (int32_t)(bits >> START_BIT & 0xFF);
    entry->end_column = (int32_t)(bits >> END_BIT & 0x3FF);
    r = file_read(in, mtf, locations, is_v1, bits >> FILE_BIT & 31, &file);
    if (r != ALQI_RECORD_OK)
        return r;
    entry->file = file->name;
    return function_read(in, locations, file, bits >> FUNCTION_BIT & 31,
                         &entry->function);
}

enum alqi_record_result
alqi_record_read(struct alqi_wire_in *in, struct alqi_mtf *mtf,
                 struct alqi_wire_locations *locations, bool is_v1,
                 struct alqi_ctf_entry *scratch,
                 struct alqi_ctf_location *location)
{
    enum alqi_record_result r = ALQI_RECORD_OK;

    location->code = alqi_wire_in_u64(in);
    location->n_entries = alqi_wire_in_u8(in);
    location->entries = scratch;
    for (uint32_t i = 0; i < location->n_entries && r == ALQI_RECORD_OK; i++)
        r = entry_read(in, mtf, locations, is_v1, &scratch[i]);
    return r == ALQI_RECORD_OK && in->bad ? ALQI_RECORD_SHORT : r;
}

const struct alqi_ctf_location *
alqi_record_fitting(const struct alqi_ctf_location *location,
                    struct alqi_ctf_location *unknown)
{
    static const struct alqi_ctf_entry nowhere = {
        .file = "<unknown>",
        .function = "??",
        .line = 1,
        .start_column = 1,
        .end_column = 1,
    };
    size_t n_bytes = 9;

    for (uint32_t i = 0; i < location->n_entries; i++) {
        const struct alqi_ctf_entry *e = &location->entries[i];

        n_bytes += 6 + strlen(e->file) + 1 + strlen(e->function) + 1;
        if (n_bytes > ALQI_RECORD_BYTES_MAX || i == ALQI_RECORD_ENTRIES_MAX) {
            unknown->code = location->code;
            unknown->n_entries = 1;
            unknown->entries = &nowhere;
            return unknown;
        }
    }
    return location;
}

static uint64_t
clamped(int32_t v, uint32_t max)
{
    return v < 0 || (uint32_t)v > max ? max : (uint32_t)v;
}

/* Writes an entry; index MTF_NEW: the name follows. */
static void
entry_put(struct alqi_wire_out *out, const struct alqi_ctf_entry *e,
          uint32_t file_index, uint32_t function_index)
{
    uint64_t bits = clamped(e->line, ALQI_CTF_LINE_MAX) |
                    clamped(e->start_column, ALQI_CTF_START_COLUMN_MAX)
                        << START_BIT |
                    clamped(e->end_column, ALQI_CTF_END_COLUMN_MAX) << END_BIT |
                    (uint64_t)file_index << FILE_BIT |
                    (uint64_t)function_index << FUNCTION_BIT;

    alqi_wire_out_u32(out, (uint32_t)bits);
    alqi_wire_out_u16(out, (uint16_t)(bits >> 32));
    if (file_index == ALQI_MTF_NEW)
        alqi_wire_out_str(out, e->file);
    if (function_index == ALQI_MTF_NEW)
        alqi_wire_out_str(out, e->function);
}

static void
head_put(struct alqi_wire_out *out, const struct alqi_ctf_location *location)
{
    ALQI_ASSERT(location->n_entries <= ALQI_RECORD_ENTRIES_MAX);
    alqi_wire_out_u64(out, location->code);
    alqi_wire_out_u8(out, (uint8_t)location->n_entries);
}

void
alqi_record_write(struct alqi_wire_out *out, struct alqi_mtf *mtf,
                  const struct alqi_ctf_location *location)
{
    head_put(out, location);
    for (uint32_t i = 0; i < location->n_entries; i++) {
        const struct alqi_ctf_entry *e = &location->entries[i];
        uint32_t fi = alqi_mtf_file_find(mtf, e->file);
        struct alqi_mtf_file *file = fi == ALQI_MTF_NEW
                                         ? alqi_mtf_file_new(mtf, e->file, 0)
                                         : alqi_mtf_file_use(mtf, fi);
        uint32_t ni = alqi_mtf_function_find(file, e->function);

        if (ni == ALQI_MTF_NEW)
            alqi_mtf_function_new(file, e->function);
        else
            alqi_mtf_function_use(file, ni);
        entry_put(out, e, fi, ni);
    }
}

void
alqi_record_write_plain(struct alqi_wire_out *out,
                        const struct alqi_ctf_location *location)
{
    head_put(out, location);
    for (uint32_t i = 0; i < location->n_entries; i++)
        entry_put(out, &location->entries[i], ALQI_MTF_NEW, ALQI_MTF_NEW);
}

void
alqi_record_skip(struct alqi_mtf *mtf, uint32_t n_entries)
{
    static const char nobody[] = ""; /* equal to no interned pointer */

    for (uint32_t i = 0; i < n_entries; i++)
        alqi_mtf_function_new(alqi_mtf_file_new(mtf, nobody, false), nobody);
}
