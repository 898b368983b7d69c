/* names.h -- texts by number, and locations as frames of such numbers
 *
 * Every name of a trace is cleaned (text.h) and kept once; equal numbers mean
 * equal texts.  A location code expands to its frames once. */
#ifndef ALQI_CLI_READ_NAMES_H
#define ALQI_CLI_READ_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctf.h"

enum { ALQI_CLI_NO_NAME = 0 }; /* the number of "" */

struct alqi_cli_frame {
    uint32_t function;
    uint32_t file;    /* source file, or "" */
    uint32_t module;  /* base name of the module, else the file */
    int32_t line;     /* 0 when unknown */
    bool is_wrapper;  /* malloc, operator new and their like */
    bool is_nameless; /* "module+0xoffset" or an address */
};

struct alqi_cli_names;

struct alqi_cli_names *alqi_cli_names_new(void);
void alqi_cli_names_drop(struct alqi_cli_names *names);

uint32_t alqi_cli_names_intern(struct alqi_cli_names *names, const char *text);
const char *alqi_cli_names_text(const struct alqi_cli_names *names,
                                uint32_t number);

/* A module's range of location codes, (start, end]; ranges told later win.
 * The end belongs to it, the start does not: codes are return addresses. */
void alqi_cli_names_add_module(struct alqi_cli_names *names, uint64_t start,
                               uint64_t end, const char *path);

/* Frames of a location, outermost first, at least one; valid until the next
 * call.  The reader must outlive the names. */
const struct alqi_cli_frame *
alqi_cli_names_frames(struct alqi_cli_names *names,
                      const struct alqi_ctf_reader *reader, uint64_t code,
                      uint32_t *n_frames);

/* True for functions that only hand a request on to the allocator. */
bool alqi_cli_is_wrapper(const char *function);
/* More of them, separated by commas. */
void alqi_cli_wrappers_add(const char *list);
/* The same of an option --skip (alqi_cli_take_fn of tool/cli.h). */
bool alqi_cli_wrappers_take(void *to, const char *verb, const char *value);

#endif
