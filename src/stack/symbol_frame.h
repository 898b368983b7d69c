/* symbol_frame.h -- one place in the source of a program */
#ifndef ALQI_STACK_SYMBOL_FRAME_H
#define ALQI_STACK_SYMBOL_FRAME_H

#include <stdint.h>

/* One source position; inlined callees follow their callers. */
struct alqi_symbol_frame {
    const char *function; /* demangled; or "module+0xoffset"; never NULL    */
    const char *file;     /* source file; without line table the module name */
    uint32_t line;        /* 0 when unknown */
    uint32_t column;
};

#endif
