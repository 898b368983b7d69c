/* skip.h -- a test that does not run here says why
 *
 * devtools/test-summary lists the lines "skipped: ..." of a whole run. */
#ifndef ALQI_BASE_SKIP_H
#define ALQI_BASE_SKIP_H

/* Ends the running cmocka test.  Include after <cmocka.h>. */
#define ALQI_SKIP(why)                                                         \
    do {                                                                       \
        print_message("skipped: %s: %s\n", __func__, why);                     \
        skip();                                                                \
    } while (0)

#endif
