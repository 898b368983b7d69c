/* library.h -- what of a process's modules a call from outside needs
 *                                                   [doc/design/attach.md] */
#ifndef ALQI_CLI_ATTACH_LIBRARY_H
#define ALQI_CLI_ATTACH_LIBRARY_H

#include "cli/attach/target.h"

/* The preload's file as the process knows it, under whatever name it came;
 * NULL: it is not mapped.  Valid until the mappings are read anew. */
const char *alqi_cli_library_name(const struct alqi_cli_attach_target *target);

/* Where in the C library's text a call comes back to (plat/inject.h); 0: the
 * reason has been said. */
uintptr_t alqi_cli_come_back(const char *verb,
                             const struct alqi_cli_attach_target *target);

#endif
