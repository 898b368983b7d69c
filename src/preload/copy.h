/* copy.h -- what a command calls in the process     [doc/design/leaks.md] */
#ifndef ALQI_PRELOAD_COPY_H
#define ALQI_PRELOAD_COPY_H

#include "wire/copy.h"

extern struct alqi_copy_told alq_copy_told;

void alq_copy_make(const char *reader);

#endif
