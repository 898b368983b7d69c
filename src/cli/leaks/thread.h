/* thread.h -- which memory is a thread's own         [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_THREAD_H
#define ALQI_CLI_LEAKS_THREAD_H

#include "cli/attach/core.h"

enum { ALQI_CLI_LEAK_NO_THREAD = -1 };

/* The number of the thread whose stack the mapping is; NO_THREAD: none's. */
int alqi_cli_leak_thread_of_stack(const struct alqi_cli_core *core,
                                  const struct alqi_cli_mapping *mapping);

/* The number of the thread whose thread-local variables, or the C library's
 * words for it, have the address; tls_bytes: of all modules' variables. */
int alqi_cli_leak_thread_of_tls(const struct alqi_cli_core *core,
                                uint64_t tls_bytes, uint64_t at);

#endif
