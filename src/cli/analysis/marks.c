/* marks.c -- the marks of a trace, by time
 *
 * [marks.h] They come in order of time but where streams of format 3 lie in a
 * file one behind the other: a late one moves up. */
#include <stdlib.h>

#include "cli/analysis/marks.h"
#include "cli/tool/cli.h"

void
alqi_cli_marks_take(struct alqi_cli_marks *m, uint64_t us,
                    const struct alqi_cli_notes *notes)
{
    uint32_t i = m->n;

    if (m->n_told == notes->n_marks)
        return;
    m->n_told = notes->n_marks;
    if (m->n == ALQI_CLI_MARKS_MAX) {
        m->n_left_out++;
        return;
    }
    m->at = alqi_cli_grow(m->at, m->n, sizeof *m->at);
    for (; i > 0 && m->at[i - 1].us > us; i--)
        m->at[i] = m->at[i - 1];
    m->at[i] = (struct alqi_cli_mark){us, notes->mark};
    m->n++;
}

void
alqi_cli_marks_free(struct alqi_cli_marks *m)
{
    free(m->at);
    *m = (struct alqi_cli_marks){0};
}
