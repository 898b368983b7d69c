/* marks.h -- the marks of a trace, by time              [doc/design/marks.md]
 */
#ifndef ALQI_CLI_ANALYSIS_MARKS_H
#define ALQI_CLI_ANALYSIS_MARKS_H

#include <stdint.h>

#include "cli/read/notes.h"

/* Marks of one trace that are kept; a merged one has those of many. */
enum { ALQI_CLI_MARKS_MAX = 65536 };

struct alqi_cli_mark {
    /* since the trace's start */
    uint64_t us;
    /* number of the phase's name (read/names.h) */
    uint32_t name;
};

/* All zeros is none. */
struct alqi_cli_marks {
    /* by time; of one time in the order of the trace; owned */
    struct alqi_cli_mark *at;
    uint32_t n;
    /* beyond ALQI_CLI_MARKS_MAX */
    uint64_t n_left_out;
    /* of notes.n_marks, those that were looked at */
    uint64_t n_told;
};

/* Takes the mark that the notes have from a record of that time, if it is a new
 * one. */
void alqi_cli_marks_take(struct alqi_cli_marks *marks, uint64_t us,
                         const struct alqi_cli_notes *notes);
void alqi_cli_marks_free(struct alqi_cli_marks *marks);

#endif
