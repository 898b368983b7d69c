/* web_again.c -- when a request is sent again, and how long to wait before
 *
 * [web_again.h] Waits double from half a second to a minute, each by half more
 * or less, so that a fleet does not come back at once. */
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "cli/tool/web_again.h"
#include "plat/plat.h"

enum { WAIT_FIRST_MS = 500, WAIT_MOST_MS = 60000 };

void
alqi_cli_web_again_begin(struct alqi_cli_web_again *a)
{
    sigemptyset(&a->signals);
    sigaddset(&a->signals, SIGINT);
    sigaddset(&a->signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &a->signals, NULL);
}

void
alqi_cli_web_again_rest(struct alqi_cli_web_again *a, uint64_t wait_ms)
{
    struct timespec t = {.tv_sec = (time_t)(wait_ms / 1000),
                         .tv_nsec = (long)(wait_ms % 1000) * 1000000};

    if (!a->is_ending && sigtimedwait(&a->signals, NULL, &t) > 0)
        a->is_ending = true;
}

bool
alqi_cli_web_is_passing(const struct alqi_cli_web_answer *a)
{
    return a->status == 0 || a->status == 408 || a->status == 429 ||
           a->status == 500 || a->status == 502 || a->status == 503 ||
           a->status == 504;
}

bool
alqi_cli_web_again_wait(struct alqi_cli_web_again *a, uint64_t round,
                        const struct alqi_cli_web_answer *answer)
{
    if (!alqi_cli_web_is_passing(answer) || round >= a->n_retries ||
        a->is_ending)
        return false;
    a->n_repeated++;
    alqi_cli_web_again_rest(
        a, alqi_cli_web_wait_ms(round, answer->retry_after_s,
                                (double)(alqi_plat_entropy() >> 11) * 0x1p-53));
    return true;
}

/* No longer than WAIT_MOST_MS, unless the server asks for more. */
uint64_t
alqi_cli_web_wait_ms(uint64_t round, unsigned retry_after_s, double share)
{
    double ms = WAIT_FIRST_MS * exp2((double)(round < 16 ? round : 16));
    double asked_ms = 1000.0 * retry_after_s;

    ms *= 0.5 + share;
    if (ms > WAIT_MOST_MS)
        ms = WAIT_MOST_MS;
    return (uint64_t)(ms > asked_ms ? ms : asked_ms);
}
