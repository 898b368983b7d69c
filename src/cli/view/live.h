/* live.h -- a page over a process that runs: its traces grow */
#ifndef ALQI_CLI_VIEW_LIVE_H
#define ALQI_CLI_VIEW_LIVE_H

#include "cli/live/control.h"
#include "cli/tool/http.h"
#include "view/set.h"

struct alqi_cli_view_live;

/* Finds what of the process can be watched, and enters what is recorded into
 * the set, which outlives this. -1 to go on with *live, or the exit status; the
 * reason has been said. */
int alqi_cli_view_live_open(const struct alqi_cli_control_target *target,
                            struct alqi_view_set *set,
                            struct alqi_cli_view_live **live);
/* After the set, which refers to its indexes; live may be NULL. */
void alqi_cli_view_live_drop(struct alqi_cli_view_live *live);

/* The answer "live" (doc/design/view.md): looks at the process, and gives the
 * set newer indexes when there is more. Posted, it does what `do` says before.
 * NULL: no process is watched, and the answer says so. */
void alqi_cli_view_live_answer(struct alqi_cli_view_live *live,
                               const struct alqi_cli_http_request *request,
                               struct alqi_cli_http_answer *answer);

#endif
