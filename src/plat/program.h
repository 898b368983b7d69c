/* program.h -- whether a preload of this C library can come into a program
 *
 * Of a file that is about to be executed, by its first bytes.  No malloc; safe
 * between vfork and exec. */
#ifndef ALQI_PLAT_PROGRAM_H
#define ALQI_PLAT_PROGRAM_H

#include <stddef.h>

enum alqi_plat_program {
    ALQI_PLAT_PROGRAM_OK,     /* it can, or nobody knows before exec */
    ALQI_PLAT_PROGRAM_STATIC, /* no dynamic linker                   */
    ALQI_PLAT_PROGRAM_WIDTH,  /* 32-bit: the linker says an error    */
    ALQI_PLAT_PROGRAM_MACHINE,
    ALQI_PLAT_PROGRAM_LIBC,      /* its linker would end the program      */
    ALQI_PLAT_PROGRAM_PRIVILEGED /* set-user-ID and the like: not looked at */
};

enum { ALQI_PLAT_PROGRAM_PATH = 1024 };

/* Scripts are followed to their interpreter, whose path is put into `file`
 * then; else it is "". */
enum alqi_plat_program
alqi_plat_program_look(const char *path, char file[ALQI_PLAT_PROGRAM_PATH]);

/* "statically linked", "a 32-bit program" ... */
const char *alqi_plat_program_text(enum alqi_plat_program program);

#endif
