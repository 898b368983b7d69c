/* core.h -- a process as it was at one moment: its registers and its memory
 *                                                   [doc/design/leaks.md]
 *
 * The memory is that of a forked copy, so the process stands still only while
 * it is copied; it needs the preload in it.  The copy goes with the core, and
 * with this command, whatever ends that. */
#ifndef ALQI_CLI_ATTACH_CORE_H
#define ALQI_CLI_ATTACH_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/attach/target.h"
#include "plat/inject.h"
#include "wire/copy.h"

/* The other end of a copy that the process made itself (sent.h). */
struct alqi_cli_sent;

struct alqi_cli_core {
    /* the process; its mappings are those of the copy */
    struct alqi_cli_attach_target target;
    /* whose memory is read: the copy's number, or at its end that of a thread
     * that stands there; 0: it is sent */
    pid_t pid;
    /* of a copy that is sent, to end it when it does not answer; 0: unknown */
    pid_t sent_pid;
    /* the copy answers through it; NULL: its memory is read; owned */
    struct alqi_cli_sent *sent;
    /* the process itself stands at its end (end.h) */
    bool is_end;
    /* as they were stopped; owned */
    struct alqi_plat_stopped *threads;
    size_t n_threads;
    /* others that did not come to stand: of those nothing is known */
    uint32_t n_unknown;
    /* for so long the process stood still */
    uint64_t stopped_ns;
    /* of a sampled recording; owned */
    struct alqi_copy_block *blocks;
    size_t n_blocks;
    /* of the preload itself: no pointer there holds a block; owned */
    struct alqi_copy_range *owned;
    size_t n_owned;
};

/* still(arg) is called while the process stands still: what else is to be of
 * that moment is taken there; false: it has said why not.  False: the reason
 * has been said, and the process runs on. */
bool alqi_cli_core_take(const char *verb, pid_t pid, bool (*still)(void *arg),
                        void *arg, struct alqi_cli_core *core);
/* A process that stands at its end has been left before. */
void alqi_cli_core_drop(struct alqi_cli_core *core);

/* Ends the copy, if there is one. */
void alqi_cli_core_kill(struct alqi_cli_core *core);

/* Reads the memory: the bytes from `from` on that are there, up to n_bytes. */
size_t alqi_cli_core_read(const struct alqi_cli_core *core, uintptr_t from,
                          void *to, size_t n_bytes);

/* False: what is read has gone meanwhile, and what was made of it is void. */
bool alqi_cli_core_is_there(const struct alqi_cli_core *core);

#endif
