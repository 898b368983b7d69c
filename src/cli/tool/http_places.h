/* http_places.h -- the connections of a server, and how long each may be silent
 *
 * A connection waits for a request, is busy with the answer, and waits for the
 * next.  It may be silent, or send a request piece by piece, for some seconds;
 * when more than half of all places are taken, for two. */
#ifndef ALQI_CLI_TOOL_HTTP_PLACES_H
#define ALQI_CLI_TOOL_HTTP_PLACES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { ALQI_CLI_HTTP_PLACES = 256 };

/* The mutex guards all. */
struct alqi_cli_http_place {
    int fd;                  /* of the connection; -1: vacant */
    bool is_busy;            /* a request is being answered */
    bool is_known;           /* one was admitted: it may be silent longer */
    uint64_t waits_since_ns; /* monotonic; valid if not busy */
};

struct alqi_cli_http_places {
    pthread_mutex_t mutex;
    unsigned n; /* taken */
    struct alqi_cli_http_place at[ALQI_CLI_HTTP_PLACES];
};

void alqi_cli_http_places_init(struct alqi_cli_http_places *places);

/* A new connection's place; NULL: all are taken. */
struct alqi_cli_http_place *
alqi_cli_http_place_take(struct alqi_cli_http_places *places, int fd);
/* Before the descriptor is closed. */
void alqi_cli_http_place_leave(struct alqi_cli_http_places *places,
                               struct alqi_cli_http_place *place);

/* A request is whole and is answered; is_known: it was admitted. */
void alqi_cli_http_place_begin(struct alqi_cli_http_places *places,
                               struct alqi_cli_http_place *place,
                               bool is_known);
/* The answer was sent. */
void alqi_cli_http_place_end(struct alqi_cli_http_places *places,
                             struct alqi_cli_http_place *place);

bool alqi_cli_http_places_are_scarce(struct alqi_cli_http_places *places);

/* Ends the connections that have waited too long: the server finds them at
 * their end of input, and closes them. */
void alqi_cli_http_places_expire(struct alqi_cli_http_places *places);

#endif
