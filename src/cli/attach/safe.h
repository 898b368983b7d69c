/* safe.h -- which thread may be given a call, and where functions are
 *                                                   [doc/design/attach.md] */
#ifndef ALQI_CLI_ATTACH_SAFE_H
#define ALQI_CLI_ATTACH_SAFE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/attach/target.h"
#include "plat/inject.h"

/* The files of the process's modules, and their unwind tables. */
struct alqi_cli_modules;

/* `library` is the file, here, of the module that is called `library_name`
 * there.  NULL: no memory, or the process has gone. */
struct alqi_cli_modules *
alqi_cli_modules_open(const struct alqi_cli_attach_target *target,
                      const char *library, const char *library_name);
/* Before threads are looked at, which must stand still.  False: not now. */
bool alqi_cli_modules_attach(struct alqi_cli_modules *modules);
void alqi_cli_modules_drop(struct alqi_cli_modules *modules);

/* The address of what a module exports by that name; 0: nothing. */
uintptr_t alqi_cli_modules_symbol(struct alqi_cli_modules *modules,
                                  const char *module, const char *name);

/* The first module that exports the name: its path; NULL: none does.  Valid as
 * long as the modules. */
const char *alqi_cli_modules_exporter(struct alqi_cli_modules *modules,
                                      const char *name);

/* Whether the main program defines that name itself. */
bool alqi_cli_modules_program_defines(struct alqi_cli_modules *modules,
                                      const char *name);

/* What a module has at the address: "cache+0x8 (libfoo.so)", or its section,
 * "libfoo.so .bss+0x40".  False: it is no module's. */
bool alqi_cli_modules_place(struct alqi_cli_modules *modules, uintptr_t address,
                            char *out, size_t capacity);

/* The variable that has the address, "cache (libfoo.so)", or where no symbol
 * tells, the section, "libfoo.so .bss"; and where that begins and ends.  False:
 * it is no module's. */
bool alqi_cli_modules_variable(struct alqi_cli_modules *modules,
                               uintptr_t address, char *out, size_t capacity,
                               uint64_t *from, uint64_t *to);

/* Bytes of the modules' thread-local variables. */
uint64_t alqi_cli_modules_tls_bytes(struct alqi_cli_modules *modules);

/* .inv.safe of a stopped thread. */
bool alqi_cli_is_safe(struct alqi_cli_modules *modules,
                      const struct alqi_cli_attach_target *target,
                      const struct alqi_plat_stopped *thread);

#endif
