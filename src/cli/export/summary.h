/* summary.h -- the parts of `aliquot export --format=html-summary`
 *
 * One page for a mail or a ticket: no script, nothing from elsewhere, at most
 * ALQI_CLI_SUMMARY_BYTES.  It also stands in the page of --format=html, for
 * readers without scripts, and until the rest has started.  What comes from the
 * trace is hostile until alqi_cli_summary_text has written it. */
#ifndef ALQI_CLI_EXPORT_SUMMARY_H
#define ALQI_CLI_EXPORT_SUMMARY_H

#include <stdio.h>

#include "cli/export/export.h"

enum { ALQI_CLI_SUMMARY_BYTES = 200 << 10 };

struct alqi_cli_summary {
    struct alqi_cli_export *export;
    FILE *out;
    uint32_t n_rows;    /* of each table of sites */
    uint32_t n_callers; /* of each row */
    bool has_app;       /* the head and the body are those of --format=html */
};

/* The whole of it up to the end of the body, in memory of malloc. */
char *alqi_cli_summary_make(struct alqi_cli_export *export, bool has_app,
                            size_t *n_bytes);

/* Text, escaped and cut to so many columns. */
void alqi_cli_summary_text(FILE *out, const char *text, size_t columns);
/* A cell with an estimate of bytes or of objects, rounded to `whole`; the
 * exact number is in its value. */
void alqi_cli_summary_bytes(FILE *out, int64_t whole);
void alqi_cli_summary_objects(FILE *out, int64_t whole);

void alqi_cli_summary_timeline(const struct alqi_cli_summary *summary);
void alqi_cli_summary_sites(const struct alqi_cli_summary *summary);

#endif
