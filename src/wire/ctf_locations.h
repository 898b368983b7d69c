/* ctf_locations.h -- what codes expand to: interned names, and locations by
 * code
 *
 * Names are interned so that equal texts are equal pointers: comparing two
 * records, or a record with a move-to-front table, compares pointers.
 * Locations are found by their code's low 63 bits, which is what the format's
 * readers can tell apart.  Keeps .inv.place.
 *
 * Both tables hash with a seed, so that codes and names chosen by somebody
 * else do not pile up in one chain.  Cost: one probe a look-up, memory in
 * proportion to what is distinct, with a ceiling. */
#ifndef ALQI_WIRE_CTF_LOCATIONS_H
#define ALQI_WIRE_CTF_LOCATIONS_H

#include "base/arena.h"
#include "base/map.h"
#include "wire/ctf.h"

struct alqi_wire_locations {
    struct alqi_base_arena arena; /* the tables are counted in it, too       */
    uint64_t seed;
    struct alqi_base_map names; /* seeded hash to the first struct name      */
    struct alqi_base_map codes; /* seeded low 63 bits to the location        */
};

void alqi_wire_locations_init(struct alqi_wire_locations *locations,
                              uint64_t seed, size_t limit_bytes);
void alqi_wire_locations_drop(struct alqi_wire_locations *locations);

/* The interned text; NULL without memory. */
const char *alqi_wire_locations_name(struct alqi_wire_locations *locations,
                                     const char *text);

/* NULL when the code was never added. */
const struct alqi_ctf_location *
alqi_wire_locations_find(const struct alqi_wire_locations *locations,
                         uint64_t code);

/* Copies *location, whose names are interned already and whose code is new;
 * NULL without memory. */
const struct alqi_ctf_location *
alqi_wire_locations_add(struct alqi_wire_locations *locations,
                        const struct alqi_ctf_location *location);

/* Of two locations with interned names. */
bool alqi_wire_locations_equal(const struct alqi_ctf_location *a,
                               const struct alqi_ctf_location *b);

#endif
