/* names.h -- texts by number, and locations as frames of such numbers
 *
 * Every name of a trace is cleaned (text.h) and kept once; equal numbers mean
 * equal texts.  A location code expands to its frames once. */
#ifndef ALQI_CLI_READ_NAMES_H
#define ALQI_CLI_READ_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/ctf.h"

enum { ALQI_CLI_NO_NAME = 0 }; /* the number of "" */

/* A frame of a stack: its texts by number. */
struct alqi_cli_frame {
    /* its name as a number */
    uint32_t function;
    /* source file as a number, or ALQI_CLI_NO_NAME */
    uint32_t file;
    /* base name of the module as a number, else the file */
    uint32_t module;
    /* 0 when unknown */
    int32_t line;
    /* malloc, operator new and their like: sites are not named after it */
    bool is_wrapper;
    /* the name is "module+0xoffset" or an address */
    bool is_nameless;
};

struct alqi_cli_names;

struct alqi_cli_names *alqi_cli_names_new(void);
void alqi_cli_names_drop(struct alqi_cli_names *names);

/* The number of a text, after it is cleaned (tool/text.h). */
uint32_t alqi_cli_names_intern(struct alqi_cli_names *names, const char *text);
/* The text of a number; valid until the names are dropped. */
const char *alqi_cli_names_text(const struct alqi_cli_names *names,
                                uint32_t number);

/* What a mangled name of C++ or Rust is in a trace, to be freed by the caller;
 * NULL: it is none. */
char *alqi_cli_names_demangled(const char *raw);

/* A module's range of location codes, (start, end]; ranges added later win.
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
