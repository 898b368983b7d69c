/* http_places.c -- see http_places.h
 *
 * libmicrohttpd's own time-out is one of silence: a client that sends a byte
 * now and then stays for ever, and some that send nothing take all places.
 *
 *   vacant --take--> waits --begin--> busy --end--> waits --leave--> vacant
 *
 * .inv.open  A descriptor in a place is open: its owner leaves the place before
 *            it closes it, and shutdown() is called under the lock. */
#include <string.h>
#include <sys/socket.h>

#include "cli/tool/http_places.h"
#include "plat/plat.h"

static const uint64_t S_NS = 1000000000;

/* Seconds that a connection may wait. */
enum { UNKNOWN_S = 5, KNOWN_S = 60, SCARCE_S = 2 };

void
alqi_cli_http_places_init(struct alqi_cli_http_places *places)
{
    memset(places, 0, sizeof *places);
    pthread_mutex_init(&places->mutex, NULL);
    for (unsigned i = 0; i < ALQI_CLI_HTTP_PLACES; i++)
        places->at[i].fd = -1;
}

struct alqi_cli_http_place *
alqi_cli_http_place_take(struct alqi_cli_http_places *places, int fd)
{
    struct alqi_cli_http_place *found = NULL;

    pthread_mutex_lock(&places->mutex);
    for (unsigned i = 0; found == NULL && i < ALQI_CLI_HTTP_PLACES; i++)
        if (places->at[i].fd < 0)
            found = &places->at[i];
    if (found != NULL) {
        *found = (struct alqi_cli_http_place){
            .fd = fd, .waits_since_ns = alqi_plat_mono_ns_sigsafe()};
        places->n++;
    }
    pthread_mutex_unlock(&places->mutex);
    return found;
}

void
alqi_cli_http_place_leave(struct alqi_cli_http_places *places,
                          struct alqi_cli_http_place *place)
{
    pthread_mutex_lock(&places->mutex);
    place->fd = -1;
    places->n--;
    pthread_mutex_unlock(&places->mutex);
}

void
alqi_cli_http_place_begin(struct alqi_cli_http_places *places,
                          struct alqi_cli_http_place *place, bool is_known)
{
    pthread_mutex_lock(&places->mutex);
    place->is_busy = true;
    place->is_known |= is_known;
    pthread_mutex_unlock(&places->mutex);
}

void
alqi_cli_http_place_end(struct alqi_cli_http_places *places,
                        struct alqi_cli_http_place *place)
{
    pthread_mutex_lock(&places->mutex);
    place->is_busy = false;
    place->waits_since_ns = alqi_plat_mono_ns_sigsafe();
    pthread_mutex_unlock(&places->mutex);
}

static bool
are_more_than_half_taken(const struct alqi_cli_http_places *places)
{
    return places->n > ALQI_CLI_HTTP_PLACES / 2;
}

bool
alqi_cli_http_places_are_scarce(struct alqi_cli_http_places *places)
{
    bool are_scarce;

    pthread_mutex_lock(&places->mutex);
    are_scarce = are_more_than_half_taken(places);
    pthread_mutex_unlock(&places->mutex);
    return are_scarce;
}

void
alqi_cli_http_places_expire(struct alqi_cli_http_places *places)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    pthread_mutex_lock(&places->mutex);
    for (unsigned i = 0; i < ALQI_CLI_HTTP_PLACES; i++) {
        const struct alqi_cli_http_place *p = &places->at[i];
        uint64_t most_ns = (are_more_than_half_taken(places) ? SCARCE_S
                            : p->is_known                    ? KNOWN_S
                                                             : UNKNOWN_S) *
                           S_NS;

        if (p->fd >= 0 && !p->is_busy && now_ns > p->waits_since_ns &&
            now_ns - p->waits_since_ns > most_ns)
            shutdown(p->fd, SHUT_RDWR); /* .inv.open */
    }
    pthread_mutex_unlock(&places->mutex);
}
