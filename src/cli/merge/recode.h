/* recode.h -- location codes of several traces into those of one
 *
 * Every module gets a range of its own in the new trace; a code inside it
 * keeps its distance from the module's start, so that it is still an address
 * of that module.  One module loaded by several processes, wherever they had
 * it, is one module then, and equal stacks are equal again.  Codes outside of
 * all modules are numbered by what they expand to.
 *
 * .inv.code   Two codes of two traces become one exactly when they lie at the
 *             same place of the same module and expand to the same, or lie in
 *             no module and expand to the same.
 * .inv.range  Ranges of new modules do not overlap and reach from RANGE_FIRST
 *             up; other codes begin at LOOSE_FIRST. */
#ifndef ALQI_CLI_MERGE_RECODE_H
#define ALQI_CLI_MERGE_RECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "wire/side_write.h"

struct alqi_cli_recode; /* what is known of the new trace */

/* One old trace. */
struct alqi_cli_recode_from {
    const struct alqi_ctf_reader *reader; /* of the codes */
    struct alqi_base_map codes;           /* old -> new */
    struct alqi_cli_recode_range *ranges;
    uint32_t n_ranges;
};

struct alqi_cli_recode *alqi_cli_recode_new(void);
void alqi_cli_recode_drop(struct alqi_cli_recode *recode);

void alqi_cli_recode_from_free(struct alqi_cli_recode_from *from);

/* Takes the line of a module record or of what its symbols lack. */
void alqi_cli_recode_module(struct alqi_cli_recode *recode,
                            struct alqi_cli_recode_from *from,
                            const char *line);
void alqi_cli_recode_symbols(struct alqi_cli_recode *recode,
                             struct alqi_cli_recode_from *from,
                             const char *line);

/* The new code of an old one. */
uint64_t alqi_cli_recode_code(struct alqi_cli_recode *recode,
                              struct alqi_cli_recode_from *from, uint64_t code);

/* Writes the side records that the new trace needs before its next stack. */
enum alq_status alqi_cli_recode_tell(struct alqi_cli_recode *recode,
                                     const struct alqi_side_writer *side);

/* As alqi_ctf_lookup_fn, of new codes; arg is the recode. */
void alqi_cli_recode_lookup(void *arg, uint64_t code,
                            struct alqi_ctf_location *out);

#endif
