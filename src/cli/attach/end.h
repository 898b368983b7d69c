/* end.h -- a process at its very end, its memory still there
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_ATTACH_END_H
#define ALQI_CLI_ATTACH_END_H

#include "cli/attach/core.h"

/* How a process that waits with its end is let go, and what else is to be done
 * meanwhile. */
struct alqi_cli_end_watch {
    /* lets it go; its threads are watched */
    void (*go)(void *arg);
    /* has it make a copy of itself, which comes through the connection; -1: it
     * does not, and nothing was said */
    int (*ask)(void *arg);
    /* another process waits: for this one, perhaps */
    bool (*is_wanted)(void *arg);
    void *arg;
};

/* From the copy of a process to the process at its end: memory, mappings and
 * threads of the core are of that moment; what the copy told is kept.  It
 * stands there until the core is dropped.  False: it did not come there, or
 * cannot be watched; the core is as it was. */
bool alqi_cli_end_reach(struct alqi_cli_core *core,
                        const struct alqi_cli_end_watch *watch);
/* Lets the process end, if it stands at its end: before the core is dropped. */
void alqi_cli_end_leave(struct alqi_cli_core *core);

#endif
