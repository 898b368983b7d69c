/* fail.c -- what a failed check says, and the end of the program
 *
 * Nothing here allocates or takes a lock: the check may have failed inside the
 * allocator, or in a signal handler. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

static void
say(const char *text)
{
    ssize_t n = write(STDERR_FILENO, text, strlen(text));

    (void)n; /* nothing better is left to do */
}

void
alqi_base_fail(const char *file, int line, const char *expr)
{
    char digits[12];
    size_t i = sizeof digits;

    digits[--i] = '\0';
    do
        digits[--i] = (char)('0' + line % 10);
    while ((line /= 10) != 0);
    say("aliquot: ");
    say(file);
    say(":");
    say(digits + i);
    say(": check failed: ");
    say(expr);
    say("\n");
    abort();
}

void
alqi_base_misuse(const char *function, const char *rule, const char *advice)
{
    say("aliquot: ");
    say(function);
    say(": ");
    say(rule);
    say("; ");
    say(advice);
    say("\n");
    abort();
}
