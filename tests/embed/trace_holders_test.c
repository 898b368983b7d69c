/* trace_holders_test.c -- the snapshot that a trace has beside it at its end
 *
 * At rate 1 each block is in the trace, and its number there is the count of
 * those before it: so the test knows the number of each block that it makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "domains_kit.h"
#include "snapshot_kit.h"
#include "trace_read.h"

enum { CELLS = 10, GARBAGE = 5, SAID_BYTES = 1000 };

static char dir[] = "/tmp/aliquot-holders-XXXXXX";
static char path[100], beside[110], errors[110];

/* ---- a program ----------------------------------------------------------- */

static struct alq_global global;
static uint64_t first_cell, first_garbage, first_held; /* numbers */

/* Of the next block. */
static uint64_t
number(void)
{
    struct alq_trace_counts c;

    CHECK(alq_memprof_flush(d, NULL) == ALQ_OK);
    CHECK(alq_trace_count(&c) == ALQ_OK);
    return c.allocations;
}

/* The last cell is the list. */
static void
list_make(void)
{
    first_cell = number();
    for (int i = 0; i < CELLS; i++) {
        alq_value cell = alq_alloc(d, 2, 0);

        alq_store(d, cell, 0, alq_from_int(i));
        alq_store(d, cell, 1, global.value);
        global.value = cell;
    }
}

static void
begin(int format)
{
    struct alq_trace_config c = {
        .path = path, .rate = 1, .format = (unsigned)format, .holders = 1};

    CHECK(alq_trace_start_with(d, &c) == ALQ_OK);
    global.value = alq_from_int(0);
    CHECK(alq_global_add(d, &global) == ALQ_OK);
    list_make();
    first_garbage = number();
    for (int i = 0; i < GARBAGE; i++)
        CHECK(!alq_is_null(alq_alloc(d, 3, 0)));
    if (IS_HARD) { /* it collects in the end, whose deaths no trace has */
        CHECK(alq_gc_full_major(d) == ALQ_OK);
        (void)number();
    }
}

/* ---- what is beside it --------------------------------------------------- */

static struct shot *
shot_of_trace(void)
{
    int fd = open(beside, O_RDONLY | O_CLOEXEC);
    struct shot *shot;

    CHECK(fd >= 0);
    shot = shot_read(fd);
    CHECK(close(fd) == 0);
    return shot;
}

/* The block of the trace's object; NULL: it is not there. */
static struct shot_block *
block_of(const struct shot *shot, uint64_t object)
{
    for (size_t i = 0; i < shot->n_traced; i++)
        if (shot->traced[i].object == object)
            return shot_find(shot, shot->traced[i].block);
    return NULL;
}

static const struct shot_root *
root_to(const struct shot *shot, const struct shot_block *block)
{
    for (size_t i = 0; i < shot->n_roots; i++)
        if (shot->roots[i].block == block->address)
            return &shot->roots[i];
    return NULL;
}

/* From the global, cell by cell. */
static void
list_is_held(struct shot *shot)
{
    struct shot_block *cell = block_of(shot, first_cell + CELLS - 1);
    const struct shot_root *root;

    assert_non_null(cell);
    root = root_to(shot, cell);
    assert_non_null(root);
    assert_int_equal(root->kind, ALQI_DUMP_ROOT_GLOBAL);
    for (unsigned i = CELLS - 1; i > 0; i--) {
        assert_int_equal(cell->n_edges, 1);
        cell = shot_find(shot, shot->edges[cell->first_edge]);
        assert_ptr_equal(cell, block_of(shot, first_cell + i - 1));
    }
    assert_int_equal(cell->n_edges, 0);
}

/* What the file has beside the program's own allocations is not looked at. */
static void
garbage_is_not_held(struct shot *shot)
{
    unsigned n = 0;

    shot_reach_all(shot);
    for (uint64_t i = 0; i < GARBAGE; i++) {
        const struct shot_block *block = block_of(shot, first_garbage + i);

        n += block != NULL;
        assert_true(block == NULL || !block->is_reached);
    }
    assert_int_equal(n, IS_HARD ? n : GARBAGE); /* there it is collected */
}

/* Those of the trace that live are those of the snapshot, each once, with the
 * same size. */
static void
agree(const struct shot *shot, const struct read_trace *t)
{
    struct alqi_base_map words = {0};
    uint64_t length;
    bool is_new;
    size_t n = 0;

    for (size_t i = 0; i < t->n_events; i++) {
        const struct read_event *e = &t->events[i];

        if (e->kind == ALQI_CTF_ALLOC)
            *alqi_base_map_at(&words, e->id, &is_new) = (uint64_t)e->length;
        if (e->kind == ALQI_CTF_COLLECT)
            *alqi_base_map_at(&words, e->id, &is_new) = 0;
    }
    for (size_t i = 0; i < shot->n_traced; i++) {
        const struct shot_block *block = shot_find(shot, shot->traced[i].block);

        assert_non_null(block);
        assert_true(alqi_base_map_get(&words, shot->traced[i].object, &length));
        assert_int_equal(block->wosize, length);
        *alqi_base_map_at(&words, shot->traced[i].object, &is_new) = 0;
        n++;
    }
    assert_true(n >= CELLS);
    for (size_t i = 0; i < t->n_events; i++)
        if (t->events[i].kind == ALQI_CTF_ALLOC) {
            assert_true(alqi_base_map_get(&words, t->events[i].id, &length));
            assert_int_equal(length, 0); /* it died, or was met */
        }
    alqi_base_map_clear(&words);
}

/* The trace names the file, before its end. */
static void
is_named(const struct read_trace *t, const struct shot *shot)
{
    static const char named[] = "snapshot file=t.ctf.heap us=";
    size_t at = 0;

    while (at < t->n_texts && strncmp(t->texts[at], "snapshot ", 9) != 0)
        at++;
    assert_in_range(at, 0, t->n_texts - 2);
    assert_memory_equal(t->texts[at], named, strlen(named));
    assert_int_equal(strtoull(t->texts[at] + strlen(named), NULL, 10),
                     shot->wall_us);
    assert_int_equal(shot->pid, (uint64_t)getpid());
    assert_int_equal(strncmp(t->texts[t->n_texts - 1], "end ", 4), 0);
}

static void
end_is_right(void)
{
    struct read_trace t;
    struct shot *shot;

    read_trace(&t, path, false);
    shot = shot_of_trace();
    is_named(&t, shot);
    list_is_held(shot);
    garbage_is_not_held(shot);
    agree(shot, &t);
    shot_drop(shot);
    read_drop(&t);
}

/* ---- tests --------------------------------------------------------------- */

static void
a_stop_tells_who_holds_what(void **state)
{
    (void)state;
    for (int format = 2; format <= 3; format++) {
        ALQ_FRAME(d, f, kept);
        struct shot *shot;
        const struct shot_block *kept;

        begin(format);
        first_held = number();
        f.kept = alq_alloc(d, 4, 0);
        assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
        alq_global_remove(d, &global);
        end_is_right();
        shot = shot_of_trace();
        kept = block_of(shot, first_held);
        assert_non_null(kept);
        assert_int_equal(kept->wosize, 4);
        assert_int_equal(root_to(shot, kept)->kind, ALQI_DUMP_ROOT_FRAME);
        assert_int_equal(shot->is_copied, shot_copies());
        shot_drop(shot);
    }
}

/* The heap ends, and its globals are still there; nothing is copied. */
static void
the_heaps_end_tells_it(void **state)
{
    struct shot *shot;

    (void)state;
    begin(2);
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    end_is_right();
    shot = shot_of_trace();
    assert_false(shot->is_copied);
    shot_drop(shot);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
}

/* Blocks that are moved, and those of another domain. */
static void
old_blocks_have_their_numbers_too(void **state)
{
    struct read_trace t;
    struct shot *shot;

    (void)state;
    begin(2);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    alq_global_remove(d, &global);
    shot = shot_of_trace();
    list_is_held(shot);
    for (uint64_t i = 0; i < GARBAGE; i++)
        assert_null(block_of(shot, first_garbage + i)); /* it was collected */
    read_trace(&t, path, false);
    agree(shot, &t);
    read_drop(&t);
    shot_drop(shot);
}

/* A snapshot of the program's own has them while the trace is under way. */
static void
a_snapshot_meanwhile_has_numbers(void **state)
{
    struct shot *shot;

    (void)state;
    begin(2);
    shot = shot_take(d, 0);
    list_is_held(shot);
    shot_drop(shot);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    alq_global_remove(d, &global);
    shot = shot_take(d, 0);
    assert_int_equal(shot->n_traced, 0);
    shot_drop(shot);
}

/* ---- where there is none ------------------------------------------------- */

static void *
stop(void *arg)
{
    (void)arg;
    CHECK(alq_trace_stop(NULL) == ALQ_OK);
    return NULL;
}

static void *
stop_on_another_thread(void *arg)
{
    struct alq_thread *self;
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, stop, arg) == 0);
    self = alq_blocking_begin(d);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(alq_blocking_end(self) == ALQ_OK);
    return NULL;
}

/* What is said on stderr meanwhile. */
static const char *
said_by(void *(*fn)(void *))
{
    static char said[SAID_BYTES];
    int fd = open(errors, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int saved = dup(2);
    ssize_t n;

    CHECK(fd >= 0 && saved >= 0 && dup2(fd, 2) == 2);
    fn(NULL);
    CHECK(dup2(saved, 2) == 2);
    n = pread(fd, said, sizeof said - 1, 0);
    CHECK(n >= 0);
    said[n] = '\0';
    close(saved);
    close(fd);
    return said;
}

/* The trace is whole all the same, and names no snapshot. */
static void
none_is_there(void)
{
    struct read_trace t;
    struct stat st;

    read_trace(&t, path, false);
    assert_null(read_text(&t, "snapshot "));
    assert_non_null(read_text(&t, "end "));
    read_drop(&t);
    assert_true(stat(beside, &st) != 0 || !S_ISREG(st.st_mode));
}

static void
a_thread_without_a_domain_takes_none(void **state)
{
    (void)state;
    assert_true(unlink(beside) == 0);
    begin(2);
    assert_non_null(
        strstr(said_by(stop_on_another_thread),
               "t.ctf: who holds its blocks is not known: the thread that "
               "ended it runs no domain"));
    alq_global_remove(d, &global);
    none_is_there();
}

static void
one_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    assert_int_equal(mkdir(beside, 0700), 0);
    begin(2);
    assert_non_null(strstr(said_by(stop),
                           "t.ctf.heap: Is a directory; who holds the blocks "
                           "of the trace is not known"));
    alq_global_remove(d, &global);
    none_is_there();
    assert_int_equal(rmdir(beside), 0);
}

static void
arguments_are_looked_at(void **state)
{
    struct alq_trace_config c = {.path = path, .rate = 1, .holders = 2};

    (void)state;
    assert_int_equal(alq_trace_start_with(d, &c), ALQ_EINVAL);
    c.holders = -1;
    assert_int_equal(alq_trace_start_with(d, &c), ALQ_EINVAL);
    c.holders = 1;
    assert_int_equal(alq_trace_start_with(NULL, &c), ALQ_EINVAL);
}

static int
setup(void **state)
{
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/t.ctf", dir);
    snprintf(beside, sizeof beside, "%s.heap", path);
    snprintf(errors, sizeof errors, "%s/errors", dir);
    return domains_setup(state);
}

static int
teardown(void **state)
{
    unlink(path);
    unlink(beside);
    unlink(errors);
    return domains_teardown(state) != 0 || rmdir(dir) != 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_tells_who_holds_what),
        cmocka_unit_test(old_blocks_have_their_numbers_too),
        cmocka_unit_test(a_snapshot_meanwhile_has_numbers),
        cmocka_unit_test(the_heaps_end_tells_it),
        cmocka_unit_test(a_thread_without_a_domain_takes_none),
        cmocka_unit_test(one_that_cannot_be_written_is_said),
        cmocka_unit_test(arguments_are_looked_at),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
