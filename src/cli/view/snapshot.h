/* snapshot.h -- a snapshot of a managed heap, beside traces or alone */
#ifndef ALQI_CLI_VIEW_SNAPSHOT_H
#define ALQI_CLI_VIEW_SNAPSHOT_H

#include "cli/heap/answers.h"
#include "cli/tool/http.h"

/* All zeros: there is none. */
struct alqi_cli_view_snapshot {
    const char *path; /* NULL: there is none */
    struct alqi_cli_heap_answers *answers;
    /* no trace is there beside it */
    bool is_alone;
    /* index.html that loads heap.js; owned */
    char *index;
};

/* -1, or the exit status: why has been said. */
int alqi_cli_view_snapshot_open(struct alqi_cli_view_snapshot *snapshot,
                                const char *path);
/* When all operands are open. */
void alqi_cli_view_snapshot_begin(struct alqi_cli_view_snapshot *snapshot,
                                  bool is_alone);
void alqi_cli_view_snapshot_close(struct alqi_cli_view_snapshot *snapshot);

/* False: the question is for others. */
bool alqi_cli_view_snapshot_answer(struct alqi_cli_view_snapshot *snapshot,
                                   const struct alqi_cli_http_request *request,
                                   struct alqi_cli_http_answer *answer);
/* The page that asks; NULL: there is no snapshot, and the page is as it was
 * built. */
static inline const char *
alqi_cli_view_snapshot_index(const struct alqi_cli_view_snapshot *snapshot)
{
    return snapshot->index;
}

#endif
