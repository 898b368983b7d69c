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

#include "base/intern.h"
#include "base/map.h"
#include "cli/analysis/analysis.h"
#include "wire/pb_profile.h"

/* A row of tables->functions. */
struct alqi_cli_pprof_function {
    uint32_t name; /* string */
    uint32_t file; /* string */
};

struct alqi_cli_pprof_line {
    uint64_t function; /* identifier */
    int64_t line;
};

struct alqi_cli_pprof_location {
    uint64_t mapping;    /* identifier; 0: none */
    uint64_t address;    /* 0: none             */
    uint32_t first_line; /* of `lines`, the innermost inlined call first */
    uint32_t n_lines;
    uint8_t claims; /* enum of pprof_tables.c: what all its lines have */
};

/* An identifier is an entry's index + 1. */
struct alqi_cli_pprof_tables {
    /* the caller's; its names are the strings' texts */
    struct alqi_cli_analysis *analysis;
    struct alqi_base_intern strings; /* names */
    struct alqi_base_intern functions;
    struct alqi_cli_pprof_location *locations;
    struct alqi_cli_pprof_line *lines; /* of all locations, in their order */
    /* without ids; what they have is written by tables_finish() */
    struct alqi_pb_mapping *mappings;
    uint32_t n_locations, n_lines, n_mappings;
    /* keys of entries to their identifier */
    struct alqi_base_map location_of_code;
    struct alqi_base_map mapping_of_module;
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

/* The function at a place of the table: its identifier - 1. */
struct alqi_cli_pprof_function
alqi_cli_pprof_function(const struct alqi_cli_pprof_tables *tables,
                        uint32_t index);

const char *alqi_cli_pprof_text(const struct alqi_cli_pprof_tables *tables,
                                int64_t string);

/* Says of each mapping what all of its locations have; when the last one is
 * there. */
void alqi_cli_pprof_tables_finish(struct alqi_cli_pprof_tables *tables);

#endif
