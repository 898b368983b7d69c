/* gc_param_test.c -- the Gc module: ALIQUOTPARAM, messages, huge pages */
#include "gc_kit.h"

static uint64_t n_freed;

static void
count_free(alq_value block)
{
    (void)block;
    n_freed++;
}

static const struct alq_custom_ops counting = {"counting", count_free};

/* ---- messages and parameters -------------------------------------------- */

/* LeakSanitizer says at exit which threads it could not stop in time: the
 * machine's load decides. */
static void
sanitizer_lines_drop(char *text)
{
    char *line;

    while ((line = strstr(text, "==Running thread ")) != NULL) {
        char *end = strchr(line, '\n');

        assert_non_null(end);
        while (line > text && line[-1] != '\n')
            line--;
        memmove(line, end + 1, strlen(end + 1) + 1);
    }
}

/* What fn writes to stderr; to be freed. */
static char *
said(void (*fn)(void))
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    char *text;
    long n;

    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    fn();
    dup2(saved, STDERR_FILENO);
    close(saved);
    fseek(file, 0, SEEK_END);
    n = ftell(file);
    rewind(file);
    text = calloc(1, (size_t)n + 1);
    assert_int_equal(fread(text, 1, (size_t)n, file), n);
    fclose(file);
    sanitizer_lines_drop(text);
    return text;
}

static const char *params;

static void
a_program(void)
{
    struct alq_gc_control c;

    reopen(params);
    {
        ALQ_FRAME(d, f, list, old);
        unsigned i;

        f.list = ALQ_UNIT;
        f.old = alq_alloc(d, 50000, 0);
        grow_list(&f.list, IS_HARD ? 2000 : IS_CHECKED ? 200000 : 700000);
        for (i = 0; i < 5000; i++)
            alq_store(d, f.old, i, alq_alloc(d, 1, 0));
        alq_alloc_custom(d, &counting, 8);
        alq_gc_minor(d);
        alq_gc_full_major(d);
    }
    c = control();
    c.space_overhead = 99;
    alq_gc_set(d, &c);
    reopen("");
}

static void
each_bit_has_its_messages(void **state)
{
    static const struct {
        const char *params;
        const char *text;
    } rows[] = {
        {"v=1", "aliquot: major cycle 0: marking begins\n"},
        {"v=1", "aliquot: major cycle 0 ends: "},
        {"v=2", "aliquot: minor collection 1: "},
        {"v=2", "aliquot: slice "},
        {"v=4", "aliquot: the heap grows from 0 to "},
        {"v=8", "aliquot: mark stack: "},
        {"v=8", "aliquot: remembered set: "},
        {"v=8", "aliquot: table of young custom blocks: "},
        {"v=0x20", "aliquot: space_overhead: 99, was 120\n"},
        {"v=0x40", "aliquot: slice: "},
        {"v=0x80", "aliquot: young custom blocks: 1 died, 0 live on\n"},
        {"v=0x100", "aliquot: the heap begins with s="},
        {"v=0x400", "aliquot: allocated_words: "},
        {"v=0x400", "\naliquot: top_heap_words: "},
        {"v=0x1000", "aliquot: 4096 MiB of addresses reserved for minor"},
    };
    size_t i;

    (void)state;
    params = "";
    {
        char *text = said(a_program);

        assert_string_equal(text, "");
        free(text);
    }
    for (i = 0; i < ALQI_COUNT_OF(rows); i++) {
        char *text, *line;

        if (strcmp(rows[i].params, "v=0x1000") == 0 && ALQI_CHECKS > 0)
            continue; /* sanitizers leave less room */
        params = rows[i].params;
        text = said(a_program);
        if (strstr(text, rows[i].text) == NULL)
            fail_msg("%s: no '%s' in:\n%s", params, rows[i].text, text);
        for (line = text; *line != '\0'; line = strchr(line, '\n') + 1)
            assert_memory_equal(line, "aliquot: ", 9);
        free(text);
    }
}

static void
the_environment_goes_first(void **state)
{
    struct alq_domain_config config = {8192, 70, 0, 0, 0};
    char text[300], again[300];

    (void)state;
    alq_domain_drop(d);
    setenv("ALIQUOTPARAM", "s=1M,w=3", 1);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    assert_int_equal(control().minor_heap_size, 1 << 20);
    assert_int_equal(control().space_overhead, 70);
    assert_int_equal(control().window_size, 3);
    alq_gc_params(d, text, sizeof text);
    reopen(text);
    assert_int_equal(alq_gc_params(d, again, sizeof again), strlen(text));
    assert_string_equal(again, text);
    reopen("h=10M");
    {
        ALQ_FRAME(d, f, old);

        f.old = alq_alloc(d, 2, 0);
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        assert_true(ready_words(f.old) >= 10 << 20);
        assert_true(stat_of().heap_words < 1 << 20); /* most has no memory */
    }
}

static alq_value
child_of(struct alq_domain *on, alq_value arg, void *data)
{
    (void)on;
    (void)data;
    return arg;
}

static void
d_says_how_many_domains(void **state)
{
    struct alq_child *child = NULL;

    (void)state;
    reopen("d=2");
    assert_int_equal(
        alq_domain_spawn(d, child_of, ALQ_UNIT, NULL, NULL, &child), ALQ_OK);
    assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
    alq_child_drop(child);
    reopen("d=1");
    assert_int_equal(
        alq_domain_spawn(d, child_of, ALQ_UNIT, NULL, NULL, &child), ALQ_EBUSY);
}

static void
bad_settings(void)
{
    reopen("s=abc,o=0,y=1");
}

static void
bad_settings_are_told(void **state)
{
    char *text = said(bad_settings);

    (void)state;
    assert_string_equal(
        text, "aliquot: ALIQUOTPARAM: 's=abc': not letter=number, with k, M or "
              "G behind it; ignored\n"
              "aliquot: ALIQUOTPARAM: 'o=0': out of range, 1 is used\n"
              "aliquot: ALIQUOTPARAM: 'y=1': no such parameter, ignored\n");
    free(text);
    assert_int_equal(control().space_overhead, 1);
}

/* In a child, whose stderr is closed: how it ended. */
static int
in_child(void (*fn)(void))
{
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        fn();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static bool damage;

static void
damaged_program(void)
{
    ALQ_FRAME(d, f, old);

    f.old = alq_alloc(d, 3, 0);
    alq_gc_minor(d);
    if (damage) /* into the middle of a block */
        alq_fields(f.old)[1] = ALQ_VALUE(alq_bits(f.old) + 2);
    alq_gc_major(d);
}

static void
v_finds_damage(void **state)
{
    int status;

    (void)state;
    reopen("V=1");
    damage = false;
    assert_int_equal(in_child(damaged_program), 0);
    damage = true;
    status = in_child(damaged_program);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void
exits_without_dropping(void)
{
    pid_t child;
    int status;

    reopen("v=0x400");
    child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, &status, 0);
}

static void
the_exit_reports_too(void **state)
{
    char *text = said(exits_without_dropping);

    (void)state;
    assert_non_null(strstr(text, "aliquot: minor_collections: "));
    free(text);
}

static void *
exits(void *arg)
{
    (void)arg;
    exit(0);
}

/* By a thread that runs no domain, while the one that does waits. */
static void
exits_elsewhere(void)
{
    pthread_t thread;
    pid_t child;
    int status;

    reopen("v=0x400");
    alq_gc_full_major(d);
    child = fork();
    if (child == 0) {
        ALQ_BLOCKING(d, blocks);

        pthread_create(&thread, NULL, exits, NULL);
        pthread_join(thread, NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void
any_threads_exit_reports(void **state)
{
    char *text = said(exits_elsewhere);

    (void)state;
    assert_non_null(strstr(text, "aliquot: forced_major_collections: 1\n"));
    free(text);
}

/* ---- the end ------------------------------------------------------------ */

static struct alq_root *forgotten;
static struct alq_range range;
static alq_value ranged[1];
static alq_value *range_top = ranged + 1;
static struct alq_global global;
static struct alq_scanner scanner;

static void
scan_nothing(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
             void *visit_arg)
{
    (void)arg;
    (void)visit;
    (void)visit_arg;
}

static void
forgetful_program(void)
{
    struct alq_child *child;

    reopen(params);
    forgotten = alq_root_new(d, ALQ_UNIT);
    assert_non_null(forgotten);
    forgotten = alq_root_new(d, ALQ_UNIT);
    alq_root_drop(d, alq_root_new(d, ALQ_UNIT));
    range = (struct alq_range){ranged, &range_top, NULL, NULL};
    global = (struct alq_global){ALQ_UNIT, NULL, NULL};
    scanner = (struct alq_scanner){scan_nothing, NULL, NULL, NULL};
    assert_int_equal(alq_range_add(d, &range), ALQ_OK);
    assert_int_equal(alq_scanner_add(d, &scanner), ALQ_OK);
    assert_int_equal(alq_global_add(d, &global), ALQ_OK);
    assert_int_equal(alq_pin(d, alq_alloc(d, 1, 0)), ALQ_OK);
    assert_int_equal(
        alq_domain_spawn(d, child_of, ALQ_UNIT, NULL, NULL, &child), ALQ_OK);
    assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
    reopen("");
    alq_child_drop(child);
}

static void
w_tells_what_was_forgotten(void **state)
{
    char *text;

    (void)state;
    params = "W=1";
    text = said(forgetful_program);
    assert_string_equal(
        text,
        "aliquot: warning: domain 0 ends: 2 boxed roots are not dropped\n"
        "aliquot: warning: domain 0 ends: 1 ranges are not removed\n"
        "aliquot: warning: domain 0 ends: 1 scanners are not removed\n"
        "aliquot: warning: the heap ends: 1 global roots are not removed\n"
        "aliquot: warning: the heap ends: 1 children are not dropped\n"
        "aliquot: warning: the heap ends: 1 blocks are pinned\n");
    free(text);
    params = "";
    text = said(forgetful_program);
    assert_string_equal(text, "");
    free(text);
}

static void
say_free(alq_value block)
{
    (void)block;
    fputs("freed\n", stderr);
}

static const struct alq_custom_ops saying = {"saying", say_free};

static enum alq_status
exit_in_finaliser(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    exit(0);
}

static bool in_finaliser;

static void
exits_with_a_custom(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        reopen(params);
        {
            ALQ_FRAME(d, f, kept, old);

            f.kept = alq_alloc_custom(d, &saying, 8);
            f.old = alq_alloc_custom(d, &saying, 4000);
            if (in_finaliser &&
                alq_gc_finalise(d, alq_alloc(d, 1, 0), exit_in_finaliser,
                                ALQ_UNIT) == ALQ_OK)
                alq_gc_full_major(d);
            exit(0); /* frames and all */
        }
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* c=1: what the program leaves is finalised, once, and reported once. */
static void
c_cleans_up_at_exit(void **state)
{
    char *text, *report;

    (void)state;
    params = "c=0";
    text = said(exits_with_a_custom);
    assert_string_equal(text, "");
    free(text);
    params = "c=1,v=0x400";
    text = said(exits_with_a_custom);
    assert_non_null(strstr(text, "freed\nfreed\n"));
    report = strstr(text, "minor_collections");
    assert_true(report != NULL && strstr(report + 1, "minor_coll") == NULL);
    free(text);
    in_finaliser = true; /* not from there */
    text = said(exits_with_a_custom);
    assert_null(strstr(text, "freed"));
    free(text);
    in_finaliser = false;
}

/* ---- huge pages --------------------------------------------------------- */

static bool refuse_huge;
static unsigned n_huge;

bool __real_alqi_plat_space_huge(void *start, size_t bytes);
bool __wrap_alqi_plat_space_huge(void *start, size_t bytes);

bool
__wrap_alqi_plat_space_huge(void *start, size_t bytes)
{
    n_huge++;
    return !refuse_huge && (__real_alqi_plat_space_huge(start, bytes), true);
}

static void
huge_pages_fall_back(void **state)
{
    struct alq_domain *other;

    (void)state;
    n_huge = 0;
    refuse_huge = true;
    reopen("h=1M"); /* a small heap does not ask */
    assert_int_equal(n_huge, 0);
    reopen("h=140M"); /* 1.1 GiB at once */
    assert_true(n_huge > 0);
    assert_true(alq_gc_huge_fallback_count(d) == n_huge);

    alq_domain_drop(d);
    d = NULL;
    setenv("ALIQUOTPARAM", "H=1", 1);
    assert_int_equal(alq_domain_new(NULL, &other), ALQ_ENOMEM);
    unsetenv("ALIQUOTPARAM");
    refuse_huge = false;
    n_huge = 0;
    reopen("H=1");
    assert_true(n_huge > 0);
    assert_int_equal(alq_gc_huge_fallback_count(d), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(each_bit_has_its_messages),
        T(the_environment_goes_first),
        T(d_says_how_many_domains),
        T(bad_settings_are_told),
        T(v_finds_damage),
        T(the_exit_reports_too),
        T(any_threads_exit_reports),
        T(w_tells_what_was_forgotten),
        T(c_cleans_up_at_exit),
        T(huge_pages_fall_back),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
