/* request_fuzz.c -- what a control socket is asked, and its answer, any bytes
 *
 * What is understood is within bounds, and written and read again the same;
 * whatever is said makes one line, and comes back from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/request.h"
#include "wire/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static void
again(const struct alqi_request *r)
{
    static const char *const words[] = {"status",   "start", "stop", "rate",
                                        "snapshot", "mark",  "copy"};
    char line[ALQI_REQUEST_BYTES] = ALQI_REQUEST_GREETING, rate[40];
    struct alqi_request same;
    size_t n = strlen(line);

    n = alqi_side_put(line, sizeof line, n, NULL, words[r->command]);
    if (r->rate > 0) {
        snprintf(rate, sizeof rate, "%.17g", r->rate);
        n = alqi_side_put(line, sizeof line, n, "rate", rate);
    }
    if (r->out[0] != '\0')
        (void)alqi_side_put(line, sizeof line, n,
                            r->command == ALQI_REQUEST_MARK ? "name" : "out",
                            r->out);
    check(alqi_request_read(line, &same) == NULL);
    check(same.command == r->command);
    check(same.rate <= r->rate && same.rate >= r->rate);
    check(strcmp(same.out, r->out) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char line[ALQI_REQUEST_BYTES], text[ALQI_REQUEST_BYTES];
    char answer[ALQI_REQUEST_ANSWER_BYTES];
    struct alqi_request r;

    if (size >= sizeof line)
        size = sizeof line - 1;
    memcpy(line, data, size);
    line[size] = '\0';
    if (alqi_request_read(line, &r) == NULL) {
        check(r.rate >= 0 && r.rate <= 1);
        check((unsigned)r.command <= ALQI_REQUEST_MARK);
        again(&r);
    }
    alqi_request_answer(answer, false, line);
    check(strchr(answer, '\n') == answer + strlen(answer) - 1);
    answer[strlen(answer) - 1] = '\0';
    check(alqi_side_get(answer, "text", text, sizeof text));
    check(strcmp(text, line) == 0);
    return 0;
}
