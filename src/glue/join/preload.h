/* preload.h -- the preload of this process, from a copy of libaliquot */
#ifndef ALQI_GLUE_JOIN_PRELOAD_H
#define ALQI_GLUE_JOIN_PRELOAD_H

#include "memprof/preload_api.h"

/* NULL: there is none, or one of another version. */
const struct alqi_preload_api *alqi_glue_preload(void);

#endif
