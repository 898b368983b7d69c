/* ending.h -- whether a trace of malloc was written to its end */
#ifndef ALQI_CLI_READ_ENDING_H
#define ALQI_CLI_READ_ENDING_H

#include <stdbool.h>

#include "cli/read/input.h"
#include "cli/read/notes.h"
#include "cli/tool/text.h"

/* A format with the trace's name; merge uses it too. */
#define ALQI_CLI_NO_END_TEXT                                                   \
    "%s has no end: it was cut short, or is still being written"

/* How it ended, for people: as the end record has it, and what of it cannot be
 * known. "" without a record. */
struct alqi_cli_text alqi_cli_end_text(const struct alqi_cli_notes *notes);

/* Says on stderr that the trace that was read has no end.  Returns false if it
 * has one, or if worse damage was found. */
bool alqi_cli_end_say(const struct alqi_cli_notes *notes,
                      struct alqi_cli_input *input);

#endif
