/* attach.h -- the preload in a process that loaded it late
 *                                                     [doc/design/attach.md] */
#ifndef ALQI_PRELOAD_ATTACH_H
#define ALQI_PRELOAD_ATTACH_H

#include <stdbool.h>

#include "wire/attach.h"

#pragma GCC visibility push(hidden)

/* The library was opened by a program that runs, not by its start (.def.late).
 * To be asked by the constructor. */
bool alqi_preload_is_late(void);

/* The constructor of a late library has run: ABSENT -> IDLE. */
void alqi_preload_attach_idle(void);

void alqi_preload_attach_fork_child(void);

#pragma GCC visibility pop

/* For a thread that is given the call from outside, at a safe point and with
 * all signals blocked; wire/attach.h has their names. */
extern struct alqi_attach_told alq_attach_told;
void alq_attach_begin(const char *settings);
void alq_attach_end(const char *unused);
void alq_attach_mark(const char *name);

#endif
