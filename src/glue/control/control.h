/* control.h -- requests from outside to the managed heap
 *                                                   [doc/design/control.md] */
#ifndef ALQI_GLUE_CONTROL_CONTROL_H
#define ALQI_GLUE_CONTROL_CONTROL_H

#include <stdbool.h>

#include <aliquot/control.h>
#include <aliquot/heap.h>

#include "control/server.h"

/* ---- serve.c ------------------------------------------------------------- */

/* Opens the server, the first time, as the environment or aliquot record
 * --control asks.  Logs what goes wrong. */
void alqi_glue_control_begin(void);

/* ---- control.c ----------------------------------------------------------- */

extern struct alqi_control_server alqi_glue_control_server;

/* Traces that begin by a request are written to `path`, unless the request
 * names another. */
void alqi_glue_control_place(const char *path);

/* A domain's thread serves the requests that wait for a domain. */
struct alqi_domain;
void alqi_glue_control_answer(struct alqi_domain *d);

/* Around a fork: the forking thread holds the job's lock. */
void alqi_glue_control_before_fork(void);
void alqi_glue_control_after_fork(bool is_child);

#endif
