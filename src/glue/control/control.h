/* control.h -- what is asked of the managed heap from outside
 *                                                   [doc/design/control.md] */
#ifndef ALQI_GLUE_CONTROL_CONTROL_H
#define ALQI_GLUE_CONTROL_CONTROL_H

#include <stdbool.h>

#include <aliquot/control.h>
#include <aliquot/heap.h>

#include "wire/request.h"

enum { ALQI_GLUE_SAID_BYTES = 8192 };

/* By the environment, or as aliquot record --control asks, the first time.
 * Says what goes wrong. */
void alqi_glue_control_begin(void);

/* ---- control.c ----------------------------------------------------------- */

/* The server's thread: does it, and writes "state=... ..." to said, or, when it
 * returns false, why not. */
bool alqi_glue_control_obey(const struct alqi_request *request, char *said);

/* Whether the server's thread is to end: it waits for nobody any more. */
void alqi_glue_control_hurry(bool is_over);

/* Traces that begin from outside go there, unless the request says where. */
void alqi_glue_control_place(const char *path);

/* A domain's thread does what is asked of it. */
struct alqi_domain;
void alqi_glue_control_answer(struct alqi_domain *d);

/* Around a fork: what is held of it is held by the forking thread. */
void alqi_glue_control_before_fork(void);
void alqi_glue_control_after_fork(bool is_child);

/* ---- serve.c ----------------------------------------------------- */

/* In a forked child that owes itself a server: now. */
void alqi_glue_control_serve_owed(void);

#endif
