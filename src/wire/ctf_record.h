/* ctf_record.h -- one location record, both ways   [spec memtrace 6] */
#ifndef ALQI_WIRE_CTF_RECORD_H
#define ALQI_WIRE_CTF_RECORD_H

#include "wire/bytes.h"
#include "wire/ctf.h"
#include "wire/ctf_mtf.h"
#include "wire/ctf_locations.h"

enum { ALQI_RECORD_ENTRIES_MAX = 255, ALQI_RECORD_BYTES_MAX = 4096 };

enum alqi_record_result {
    ALQI_RECORD_OK,
    ALQI_RECORD_SHORT, /* runs past the end of its packet       */
    ALQI_RECORD_INDEX, /* names an empty place of a table       */
    ALQI_RECORD_NOMEM  /* no memory for a name, or the ceiling  */
};

/* Decodes into *location, whose entries are scratch[255]; names are interned
 * in *locations. */
enum alqi_record_result alqi_record_read(struct alqi_wire_in *in,
                                         struct alqi_mtf *mtf,
                                         struct alqi_wire_locations *locations,
                                         bool is_v1,
                                         struct alqi_ctf_entry *scratch,
                                         struct alqi_ctf_location *location);

/* *location itself, or the unknown place if its record would be too long. */
const struct alqi_ctf_location *
alqi_record_fitting(const struct alqi_ctf_location *location,
                    struct alqi_ctf_location *unknown);

/* Encodes with the tables of *mtf; names are interned. */
void alqi_record_write(struct alqi_wire_out *out, struct alqi_mtf *mtf,
                       const struct alqi_ctf_location *location);

/* Encodes every name in full, so that the bytes do not depend on the tables;
 * alqi_record_skip does to the tables what reading those bytes will do. */
void alqi_record_write_plain(struct alqi_wire_out *out,
                             const struct alqi_ctf_location *location);
void alqi_record_skip(struct alqi_mtf *mtf, uint32_t n_entries);

#endif
