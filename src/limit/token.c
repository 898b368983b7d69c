/* token.c -- a flag that any thread sets, and every task under it sees
 *
 *     UNSET --alq_token_set, once--> SET, for ever
 *
 * .inv.token  A set stores the flag first, then wakes every domain: a frame
 *             that is opened afterwards reads the flag, and a thread with an
 *             open frame reads it after its wake-up.
 *
 * The descriptor is made when it is first asked for.  Of its maker and the
 * setter the one that comes second makes it readable. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "limit/limit.h"
#include "plat/process.h"

enum { NO_FD = -1 };

struct alq_token {
    _Atomic int is_set;
    _Atomic int fd;
    _Atomic unsigned references;
};

void (*alqi_limit_wake_all_sigsafe)(void);

struct alq_token *
alq_token_new(void)
{
    struct alq_token *token = malloc(sizeof *token);

    if (token == NULL)
        return NULL;
    atomic_init(&token->is_set, 0);
    atomic_init(&token->fd, NO_FD);
    atomic_init(&token->references, 1);
    return token;
}

void
alq_token_set(struct alq_token *token)
{
    void (*wake_all)(void);
    int error = errno, fd;

    if (token == NULL || atomic_exchange(&token->is_set, 1) != 0)
        return;
    fd = atomic_load(&token->fd);
    if (fd != NO_FD)
        alqi_plat_event_raise_sigsafe(fd);
    wake_all = __atomic_load_n(&alqi_limit_wake_all_sigsafe, __ATOMIC_SEQ_CST);
    if (wake_all != NULL)
        wake_all();
    errno = error;
}

int
alq_token_is_set(const struct alq_token *token)
{
    return token != NULL && atomic_load(&token->is_set) != 0;
}

int
alq_token_fd(struct alq_token *token)
{
    int none = NO_FD, fd;

    if (token == NULL)
        return NO_FD;
    fd = atomic_load(&token->fd);
    if (fd != NO_FD)
        return fd;
    fd = alqi_plat_event_open();
    if (fd < 0)
        return NO_FD;
    if (!atomic_compare_exchange_strong(&token->fd, &none, fd)) {
        close(fd);
        fd = none;
    }
    if (alq_token_is_set(token))
        alqi_plat_event_raise_sigsafe(fd);
    return fd;
}

struct alq_token *
alq_token_keep(struct alq_token *token)
{
    if (token != NULL)
        atomic_fetch_add(&token->references, 1);
    return token;
}

void
alq_token_drop(struct alq_token *token)
{
    if (token == NULL || atomic_fetch_sub(&token->references, 1) != 1)
        return;
    if (atomic_load(&token->fd) != NO_FD)
        close(atomic_load(&token->fd));
    free(token);
}
