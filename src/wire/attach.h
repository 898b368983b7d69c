/* attach.h -- what a preload that was loaded late tells of itself
 *                                                   [doc/design/attach.md]
 *
 * The library exports one structure and three functions by the names below. The
 * command finds them in the library's file, gives a thread of the process a
 * call of one, and reads the structure from outside. */
#ifndef ALQI_WIRE_ATTACH_H
#define ALQI_WIRE_ATTACH_H

#include <stdatomic.h>
#include <stdint.h>

#define ALQI_ATTACH_TOLD "alq_attach_told"
/* void (const char *settings): as in the variable ALIQUOT (preload/config.c) */
#define ALQI_ATTACH_BEGIN "alq_attach_begin"
/* void (const char *unused) */
#define ALQI_ATTACH_END "alq_attach_end"

/* void (const char *name): a phase begins; the text stays */
#define ALQI_ATTACH_MARK "alq_attach_mark"

enum { ALQI_ATTACH_TEXT_BYTES = 4096 };

/* In the place of a command's number: none stays with the recording, which
 * goes on until it is told to end. */
#define ALQI_ATTACH_NOBODY INT32_MAX

/* .state.attach
 *
 * Words that nothing else is: while the linker maps the library the structure's
 * place shows bytes of the file. */
enum alqi_attach_state {
    ALQI_ATTACH_ABSENT = 0, /* or any other word */
    ALQI_ATTACH_IDLE = 0x61d31e0b,
    ALQI_ATTACH_ATTACHED = 0x61d3a77c,
    ALQI_ATTACH_ENDING = 0x61d3e2d5
};

/* The library alone writes; the calls do, one at a time. */
struct alqi_attach_told {
    _Atomic(uint32_t) n_calls; /* that have returned; written last      */
    _Atomic(uint32_t) state;   /* enum alqi_attach_state                */
    uint32_t is_ok;            /* the last call did what it was to do   */
    uint32_t n_modules;        /* whose words were written              */
    uint32_t n_words;          /* addresses in them                     */
    uint32_t attacher_pid;     /* of the settings; 0: none, as in a forked
                                child; or NOBODY */
    char text[ALQI_ATTACH_TEXT_BYTES]; /* why not; or the recording's path */
};

#endif
