/* symbol_debuginfod.h -- debug files from a debuginfod server, when allowed
 *
 * libdebuginfod is loaded when the first file is asked for, so a program that
 * never asks does not carry its HTTP client. */
#ifndef ALQI_STACK_SYMBOL_DEBUGINFOD_H
#define ALQI_STACK_SYMBOL_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alqi_symbol_debuginfod {
    bool is_allowed;   /* by the caller and the environment; fixed        */
    bool has_given_up; /* a server did not answer in time: ask no more    */
    bool is_loaded;    /* loading was tried; client NULL: it failed       */
    void *library, *client;
    int64_t deadline_ms; /* of the file asked for, CLOCK_MONOTONIC */
    int64_t limit_ms;    /* for one file */
};

/* Allowed when the caller and a non-empty DEBUGINFOD_URLS both say so. */
void alqi_symbol_debuginfod_init(struct alqi_symbol_debuginfod *server,
                                 bool allow);
/* A file descriptor to read the debug file from, or -1. */
int alqi_symbol_debuginfod_fetch(struct alqi_symbol_debuginfod *server,
                                 const uint8_t *build_id, size_t bytes);
void alqi_symbol_debuginfod_drop(struct alqi_symbol_debuginfod *server);

#endif
