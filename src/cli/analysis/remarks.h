/* remarks.h -- what a reader must know of a trace before trusting a figure */
#ifndef ALQI_CLI_ANALYSIS_REMARKS_H
#define ALQI_CLI_ANALYSIS_REMARKS_H

#include <stddef.h>

#include "cli/analysis/analysis.h"
#include "cli/read/ending.h"
#include "cli/tool/text.h"

/* Takes one remark: a sentence or less, without a full stop. The text is valid
 * during the call. */
typedef void alqi_cli_remark_fn(void *arg, const char *text);

/* What was dropped, damaged or cut short, in order of weight; damage as
 * alqi_cli_input_damage gives it. */
void alqi_cli_remarks(const struct alqi_cli_analysis *analysis,
                      const char *damage, alqi_cli_remark_fn *take, void *arg);

/* A trace of malloc whose last record, written when all else is, is missing: it
 * was cut between two packets. */
bool alqi_cli_lacks_end(const struct alqi_cli_analysis *analysis);

/* Why not every block is in the figures of a trace that was to have every one:
 * what was dropped, lost, before the start or after the end.  False when
 * figures are exact, or estimates. */
bool alqi_cli_flaw(const struct alqi_cli_analysis *analysis, char *out,
                   size_t capacity);
/* Every block was recorded, and nothing of it is missing. */
bool alqi_cli_is_exact(const struct alqi_cli_analysis *analysis);

/* Which blocks count as temporary: "freed within 1 ms". */
struct alqi_cli_text
alqi_cli_remark_temporary(const struct alqi_cli_analysis *analysis);

/* How the samples were taken: "every block recorded: ..." or "one for each
 * ...". */
void alqi_cli_remark_rate(const struct alqi_cli_analysis *analysis, char *out,
                          size_t capacity);
/* "12 samples in ", before a number of blocks; "" where blocks alone were
 * counted. */
struct alqi_cli_text
alqi_cli_remark_counted(const struct alqi_cli_analysis *analysis);
/* The same, and how many there are. */
void alqi_cli_remark_sampling(const struct alqi_cli_analysis *analysis,
                              char *out, size_t capacity);

#endif
