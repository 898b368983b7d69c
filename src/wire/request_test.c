/* request_test.c -- lines of the control socket, read and written
 *
 * What a request may say is read as it was meant; what it may not say is
 * refused, with a word of what is wrong; an answer is one line whatever it
 * says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "wire/request.h"
#include "wire/side.h"

static void
lines_are_read(void **state)
{
    static const struct {
        const char *line;
        enum alqi_request_command command;
        double rate;
        const char *out;
    } rows[] = {
        {"aliquot/1 status", ALQI_REQUEST_STATUS, 0, ""},
        {"aliquot/1 start", ALQI_REQUEST_START, 0, ""},
        {"aliquot/1 start rate=0.5 out=/a%20b", ALQI_REQUEST_START, 0.5,
         "/a b"},
        {"aliquot/1 start out=x rate=1", ALQI_REQUEST_START, 1, "x"},
        {"aliquot/1 stop", ALQI_REQUEST_STOP, 0, ""},
        {"aliquot/1 rate rate=1e-9", ALQI_REQUEST_RATE, 1e-9, ""},
        {"aliquot/1 snapshot what=ever", ALQI_REQUEST_SNAPSHOT, 0, ""},
        {"aliquot/1 snapshot graph=1 out=/x", ALQI_REQUEST_SNAPSHOT, 0, "/x"},
        {"aliquot/1 mark name=a%20b", ALQI_REQUEST_MARK, 0, "a b"},
        {"aliquot/1 copy", ALQI_REQUEST_COPY, 0, ""},
    };
    struct alqi_request r;

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        assert_null(alqi_request_read(rows[i].line, &r));
        assert_int_equal(r.command, rows[i].command);
        assert_true(r.rate == rows[i].rate);
        assert_string_equal(r.out, rows[i].out);
        assert_int_equal(r.is_graph, strstr(rows[i].line, "graph=") != NULL);
    }
}

static void
what_is_none_is_told(void **state)
{
    static const struct {
        const char *line, *part;
    } rows[] = {
        {"", "speaks aliquot/1"},
        {"status", "speaks aliquot/1"},
        {"aliquot/1", "speaks aliquot/1"},
        {"aliquot/2 status", "speaks aliquot/1"},
        {"aliquot/1 ", "no such command"},
        {"aliquot/1  status", "no such command"},
        {"aliquot/1 state", "no such command"},
        {"aliquot/1 status0123456789012345678901234567890", "no such command"},
        {"aliquot/1 rate", "no such command"},
        {"aliquot/1 snapshot graph=1", "needs the path"},
        {"aliquot/1 snapshot graph=1 out=x", "needs the path"},
        {"aliquot/1 mark", "needs a name"},
        {"aliquot/1 mark name=", "needs a name"},
        {"aliquot/1 rate rate=", "no number"},
        {"aliquot/1 rate rate=0", "no number"},
        {"aliquot/1 rate rate=-1", "no number"},
        {"aliquot/1 rate rate=1.5", "no number"},
        {"aliquot/1 rate rate=nan", "no number"},
        {"aliquot/1 rate rate=1x", "no number"},
    };
    struct alqi_request r;

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        const char *wrong = alqi_request_read(rows[i].line, &r);

        assert_non_null(wrong);
        assert_non_null(strstr(wrong, rows[i].part));
    }
}

static void
answers_are_lines(void **state)
{
    char answer[ALQI_REQUEST_ANSWER_BYTES], said[ALQI_REQUEST_BYTES];
    char text[ALQI_REQUEST_BYTES];

    (void)state;
    alqi_request_answer(answer, true, "state=off rate=1");
    assert_string_equal(answer, "aliquot/1 ok state=off rate=1\n");
    alqi_request_answer(answer, false, "there is\nnone");
    assert_string_equal(answer, "aliquot/1 error text=there%20is%0Anone\n");
    for (size_t i = 0; i + 1 < sizeof said; i++)
        said[i] = (char)(1 + i % 255);
    said[sizeof said - 1] = '\0';
    alqi_request_answer(answer, false, said);
    assert_true(strchr(answer, '\n') == answer + strlen(answer) - 1);
    answer[strlen(answer) - 1] = '\0';
    assert_true(alqi_side_get(answer, "text", text, sizeof text));
    assert_string_equal(text, said);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(what_is_none_is_told),
        cmocka_unit_test(answers_are_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
