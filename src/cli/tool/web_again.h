/* web_again.h -- requests that are sent again, until a signal ends it
 *
 * SIGINT and SIGTERM are blocked from the beginning on.  They end waits, and,
 * where it is asked for, the request that is under way. */
#ifndef ALQI_CLI_TOOL_WEB_AGAIN_H
#define ALQI_CLI_TOOL_WEB_AGAIN_H

#include <signal.h>

#include "cli/tool/web.h"

enum { ALQI_CLI_RETRIES_MOST = 1000, ALQI_CLI_RETRIES = 5 };

struct alqi_cli_web_again {
    uint64_t n_retries; /* of one request */
    sigset_t signals;   /* that end it */
    bool is_ending;     /* by a signal */
    uint64_t n_repeated;
};

/* Blocks the signals. */
void alqi_cli_web_again_begin(struct alqi_cli_web_again *again);

/* Waits so long, or until a signal says that it is the end. */
void alqi_cli_web_again_rest(struct alqi_cli_web_again *again,
                             uint64_t wait_ms);

/* No answer, a timeout, too many requests, or a fault of the server: it may
 * pass. */
bool alqi_cli_web_is_passing(const struct alqi_cli_web_answer *answer);

/* Waits before a request whose failure may pass is sent again; round counts
 * from 0.  False: its retries are used up, or it is the end.  A signal that
 * comes during the wait leaves one more try. */
bool alqi_cli_web_again_wait(struct alqi_cli_web_again *again, uint64_t round,
                             const struct alqi_cli_web_answer *answer);

/* How long to wait before a request is sent again: longer in each round, and by
 * share, from 0 to 1, not the same for all of a fleet. */
uint64_t alqi_cli_web_wait_ms(uint64_t round, unsigned retry_after_s,
                              double share);

#endif
