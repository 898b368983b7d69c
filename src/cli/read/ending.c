/* ending.c -- a trace of malloc that stops before its last record
 *
 * A recording that ends between two packets is well formed: only the last
 * record, which is written when all else is, tells that nothing is missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/read/ending.h"
#include "cli/tool/cli.h"
#include "wire/ctf.h"

struct alqi_cli_text
alqi_cli_end_text(const struct alqi_cli_notes *n)
{
    const char *word = alqi_cli_names_text(n->names, n->ended);
    struct alqi_cli_text out;

    if (strcmp(word, "killed") != 0)
        snprintf(out.text, sizeof out.text, "%s", word);
    else if (n->signal != 0)
        snprintf(out.text, sizeof out.text, "killed by signal %" PRIu64,
                 n->signal);
    else
        snprintf(out.text, sizeof out.text, "killed (or a bare system call)");
    return out;
}

bool
alqi_cli_end_say(const struct alqi_cli_notes *notes,
                 struct alqi_cli_input *input)
{
    struct alqi_ctf_reader *reader = alqi_cli_input_reader(input);

    if (alqi_cli_input_damage(input)[0] != '\0' ||
        !alqi_cli_notes_lack_end(notes, alqi_ctf_reader_info(reader)->context))
        return false;
    alqi_cli_say(ALQI_CLI_NO_END_TEXT, alqi_cli_input_name(input));
    return true;
}
