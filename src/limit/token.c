/* token.c -- a flag that anybody sets, and everybody under it sees
 *
 *   UNSET -> SET   alq_token_set, once and for ever
 *
 * .inv.token  The flag is set first, then every domain is woken: whoever opens
 *             a frame afterwards reads it, whoever has one comes by and reads.
 * The descriptor is made when it is first asked for: an eventfd holds it, and
 * whoever comes second, maker or setter, writes to it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/base.h"
#include "limit/limit.h"

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

static void
ring_sigsafe(int fd)
{
    static const uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);

    (void)n; /* it can only be full, which is as readable */
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
        ring_sigsafe(fd);
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
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return NO_FD;
    if (!atomic_compare_exchange_strong(&token->fd, &none, fd)) {
        close(fd);
        fd = none;
    }
    if (alq_token_is_set(token))
        ring_sigsafe(fd);
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
