/* pprof_tables.h -- the tables of a pprof profile that samples refer to
 *
 * Strings, functions, locations and mappings, each entered when it is first
 * asked for.  Identifiers count from 1 in that order, mapping 1 being the
 * main program.
 *
 * .inv.address  A location of a recorded module has its return address - 1,
 *               so that it lies in the call.  Codes of OCaml's traces, also
 *               when joined to others, are no addresses; such locations
 *               have none.
 * .inv.bare     A location whose module has no name for it has no lines:
 *               readers then look it up themselves, by build-id.  Its mapping
 *               does not claim to have functions. */
#ifndef ALQI_CLI_EXPORT_PPROF_TABLES_H
#define ALQI_CLI_EXPORT_PPROF_TABLES_H

#include <pprof.pb-c.h>

#include "base/map.h"
#include "cli/analysis/analysis.h"

struct alqi_cli_pprof_tables {
    struct alqi_cli_analysis *analysis;
    uint32_t *strings; /* names, by string */
    Pprof__Function *functions;
    Pprof__Location *locations; /* n_line is set, line not yet */
    uint8_t *claims;            /* of each location, see mappings_claim */
    Pprof__Line *lines;         /* of all locations, in their order */
    Pprof__Mapping *mappings;
    uint32_t n_strings, n_functions, n_locations, n_lines, n_mappings;
    struct alqi_base_map string_of_name;
    struct alqi_base_map function_of_names;
    struct alqi_base_map location_of_code;
    struct alqi_base_map mapping_of_module;
    void *pointers[5]; /* of the profile's repeated fields */
};

void alqi_cli_pprof_tables_init(struct alqi_cli_pprof_tables *tables,
                                struct alqi_cli_analysis *analysis);
void alqi_cli_pprof_tables_free(struct alqi_cli_pprof_tables *tables);

/* Index of a string. */
int64_t alqi_cli_pprof_string(struct alqi_cli_pprof_tables *tables,
                              const char *text);
/* Identifier of a place in the program. */
uint64_t alqi_cli_pprof_location(struct alqi_cli_pprof_tables *tables,
                                 uint64_t code);
/* Identifier of a new place that is only a name, such as "[other]". */
uint64_t alqi_cli_pprof_stand_in(struct alqi_cli_pprof_tables *tables,
                                 const char *name);

/* Points the profile at the tables, which must not grow from then on. */
void alqi_cli_pprof_tables_put(struct alqi_cli_pprof_tables *tables,
                               Pprof__Profile *profile);

#endif
