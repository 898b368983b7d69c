/* pprof_profile.h -- a trace, or what it has since a moment, as pprof's message
 *
 * The values of Go's heap profiles for each call stack: what was allocated, and
 * what is in use, which is what is alive at the end or, when asked for, was at
 * the peak.  Values are estimates already; no reader scales them. */
#ifndef ALQI_CLI_EXPORT_PPROF_PROFILE_H
#define ALQI_CLI_EXPORT_PPROF_PROFILE_H

#include <pprof.pb-c.h>

#include "cli/export/export.h"

struct alqi_cli_pprof;

/* By export's measure, max_stacks and part. */
struct alqi_cli_pprof *alqi_cli_pprof_new(struct alqi_cli_export *export);
void alqi_cli_pprof_drop(struct alqi_cli_pprof *pprof);

/* Valid as long as pprof. */
const Pprof__Profile *
alqi_cli_pprof_message(const struct alqi_cli_pprof *pprof);

/* The message as a file: gzip-compressed. */
void alqi_cli_pprof_write(const struct alqi_cli_pprof *pprof, FILE *out);

/* How many stacks "[other]" stands for, and its share of the bytes. */
uint32_t alqi_cli_pprof_folded(const struct alqi_cli_pprof *pprof,
                               double *share);

#endif
