/* firefox.h -- the parts of the Firefox exporter */
#ifndef ALQI_CLI_EXPORT_FIREFOX_H
#define ALQI_CLI_EXPORT_FIREFOX_H

#include <stdio.h>

#include "cli/export/export.h"
#include "cli/export/blocks.h"
#include "cli/export/stacks.h"

struct alqi_cli_firefox {
    const struct alqi_cli_export *export;
    FILE *out;
    struct alqi_cli_export_stacks stacks;
    struct alqi_cli_whole_blocks whole;
    struct alqi_cli_block_event *events;
    uint32_t n_events;
    uint32_t *lib_of_module; /* by text of a frame's module; + 1; 0: none */
    uint32_t *module_of_lib; /* index of the module note */
    uint32_t n_libs;
};

/* ---- firefox_libs.c ------------------------------------------- */

void alqi_cli_firefox_libs_find(struct alqi_cli_firefox *firefox);
/* "libs" with a comma after it. */
void alqi_cli_firefox_libs_put(const struct alqi_cli_firefox *firefox);
/* Number of the frame's lib, or -1. */
int64_t alqi_cli_firefox_lib(const struct alqi_cli_firefox *firefox,
                             const struct alqi_cli_frame *frame);

/* ---- firefox_threads.c ---------------------------------------- */

/* "threads", the last key. */
void alqi_cli_firefox_threads_put(const struct alqi_cli_firefox *firefox);

#endif
