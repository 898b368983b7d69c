/* log.c -- verbose messages and warnings, a line each, on stderr
 *
 * One write a line, so lines of several domains do not mix.  A line of more
 * than 400 bytes is cut.  No memory is allocated: a message may say that there
 * is none. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "heap/log.h"
#include "plat/plat.h"

/* Writes the line.  errno stays, as messages are written between a system call
 * and the look at its error. */
void
alqi_heap_log_slow(const char *format, ...)
{
    static const char head[] = "aliquot: ";
    char line[400];
    size_t n = sizeof head - 1;
    int saved = errno;
    va_list args;

    memcpy(line, head, n);
    va_start(args, format);
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    n = strlen(line);
    line[n++] = '\n';
    alqi_plat_say_sigsafe(line, n);
    errno = saved;
}
