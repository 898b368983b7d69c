/* request.h -- what is asked at a process's control socket, and the answer
 *
 *   aliquot/1 status                     aliquot/1 ok state=... rate=... ...
 *   aliquot/1 start [rate=R] [out=P]     aliquot/1 error text=...
 *   aliquot/1 stop
 *   aliquot/1 rate rate=R
 *   aliquot/1 snapshot                   (as status; the file is up to date)
 *   aliquot/1 snapshot graph=1 out=P     (of a managed heap: wire/dump.h)
 *   aliquot/1 mark name=N                (a phase begins)
 *   aliquot/1 copy                       (of the process: wire/copy.h)
 *
 * One line each; values are encoded as in wire/side.h.  An answer's keys are
 *
 *   state=   off, starting, sampling, stopped or exact
 *   rate=    samples a word, of now or of the next start
 *   file=    what is recorded to, or empty
 *   samples= frees= dropped_nested= dropped_nomem= dropped_space= dropped_cap=
 *   lost_frees=
 *   heap_bytes= minor_collections= major_collections=   of a managed heap
 *   graph=   writing, or done: the last graph that was asked for
 *   note=    why the last start or graph did not succeed, if that is known
 * later only
 *
 * Pure; the bytes may come from anywhere. */
#ifndef ALQI_WIRE_REQUEST_H
#define ALQI_WIRE_REQUEST_H

#include <stdbool.h>

#define ALQI_REQUEST_GREETING "aliquot/1"
/* Names of sockets that are not given another: a process's own, and its managed
 * heap's; %d is its number. */
#define ALQI_REQUEST_NAME "@aliquot.%d"
#define ALQI_REQUEST_NAME_HEAP "@aliquot.heap.%d"

enum {
    ALQI_REQUEST_BYTES = 4096, /* a line of either kind, its end counted */
    ALQI_REQUEST_OUT_BYTES = 1024,
    ALQI_REQUEST_ANSWER_BYTES = 16384
};

enum alqi_request_command {
    ALQI_REQUEST_STATUS,
    ALQI_REQUEST_START,
    ALQI_REQUEST_STOP,
    ALQI_REQUEST_RATE,
    ALQI_REQUEST_SNAPSHOT,
    ALQI_REQUEST_MARK,
    ALQI_REQUEST_COPY
};

struct alqi_request {
    enum alqi_request_command command;
    double rate;                      /* 0: not given; else up to 1 */
    bool is_graph;                    /* SNAPSHOT: of all blocks, into out */
    char out[ALQI_REQUEST_OUT_BYTES]; /* "": not given; MARK: the name */
};

/* NULL, or what is wrong with the line. */
const char *alqi_request_read(const char *line, struct alqi_request *out);

/* The whole answer, with its end, in answer[ALQI_REQUEST_ANSWER_BYTES]: said is
 * "key=value ..." if it is so, or else why not. */
void alqi_request_answer(char *answer, bool is_so, const char *said);

#endif
