/* snapshot_run_test.c -- snapshots of a heap whose domains run on: what is read
 * is of one moment, what fails is said, and the program goes on */
#include <setjmp.h>
#include <stdarg.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/skip.h"
#include "heap/snapshot.h" /* before the kit's variable d */
#include "domains_kit.h"
#include "snapshot_kit.h"

enum { DEPTH = IS_HARD ? 4 : 12, DOMAINS = 4 };

/* ---- heavy allocation --------------------------------------------------- */

static int is_over; /* atomic */
static int n_ready; /* atomic: domains whose tree is complete */

/* Holds a tree, and makes others all the time. */
static alq_value
churn(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, kept, other);

    (void)data;
    f.kept = tree(on, DEPTH);
    __atomic_add_fetch(&n_ready, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
        f.other = tree(on, DEPTH / 2);
    CHECK(tree_size(f.kept) == (1 << DEPTH) - 1);
    return arg;
}

/* Frames of churn() lead to a tree of DEPTH each. */
static void
trees_check(struct shot *shot)
{
    size_t n = 0;

    for (size_t i = 0; i < shot->n_roots; i++)
        if (strncmp(shot->roots[i].name, "churn:", 6) == 0 &&
            shot_reach(shot, shot->roots[i].block) == (1 << DEPTH) - 1)
            n++;
    assert_int_equal(n, DOMAINS);
}

static void
domains_that_allocate_are_seen_at_one_moment(void **state)
{
    struct alq_child *children[DOMAINS];
    int i, rounds = IS_HARD ? 4 : 12;

    (void)state;
    is_over = n_ready = 0;
    for (i = 0; i < DOMAINS; i++)
        children[i] = spawn(d, churn, ALQ_UNIT, NULL);
    while (__atomic_load_n(&n_ready, __ATOMIC_SEQ_CST) < DOMAINS) {
        alq_poll(d);
        sched_yield();
    }
    for (i = 0; i < rounds; i++) {
        struct shot *shot = shot_take(d, i % 4 == 3 ? ALQ_SNAPSHOT_STOP : 0);

        trees_check(shot);
        shot_reach_all(shot); /* no edge leads nowhere */
        shot_drop(shot);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    for (i = 0; i < DOMAINS; i++)
        finish(d, children[i]);
    CHECK(alq_gc_full_major(d) == ALQ_OK); /* and it is verified */
}

/* ---- conservative threads ----------------------------------------------- */

static ALQI_NOINLINE void
words_of_a_stack(struct alq_domain *on)
{
    alq_value volatile old = tree(on, 3), young;
    struct shot *shot;
    size_t n = 0, n_young = 0;

    CHECK(alq_gc_full_major(on) == ALQ_OK); /* it stays where it is */
    young = tree(on, 2);
    shot = shot_take(on, 0);
    for (size_t i = 0; i < shot->n_roots; i++)
        if (shot->roots[i].kind == ALQI_DUMP_ROOT_STACK) {
            n += shot->roots[i].block == alq_bits(old);
            n_young += shot->roots[i].block == alq_bits(young);
        }
    assert_true(n > 0);
    assert_int_equal(n_young, 1);
    assert_int_equal(shot_reach(shot, alq_bits(old)), 7);
    assert_int_equal(shot_reach(shot, alq_bits(young)), 3);
    shot_drop(shot);
    CHECK(tree_size(young) == 3);
}

static void
words_of_conservative_threads_are_roots(void **state)
{
    (void)state;
    assert_int_equal(alq_thread_conservative(d, NULL), ALQ_OK);
    words_of_a_stack(d);
    assert_int_equal(alq_thread_precise(d), ALQ_OK);
}

/* ---- other roots -------------------------------------------------------- */

static enum alq_status
nothing(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    return ALQ_OK;
}

static size_t
roots_of(const struct shot *shot, unsigned kind, alq_value block)
{
    size_t n = 0;

    for (size_t i = 0; i < shot->n_roots; i++)
        n += shot->roots[i].kind == kind &&
             shot->roots[i].block == alq_bits(block);
    return n;
}

/* ---- what the program notices of the copy ------------------------------- */

static int n_sigchld, n_handlers; /* atomic */

static void
on_sigchld(int number)
{
    (void)number;
    __atomic_add_fetch(&n_sigchld, 1, __ATOMIC_SEQ_CST);
}

static void
on_fork(void)
{
    __atomic_add_fetch(&n_handlers, 1, __ATOMIC_SEQ_CST);
}

static void
the_program_has_no_child_and_no_handler_runs(void **state)
{
    struct sigaction action = {.sa_handler = on_sigchld}, before;
    ALQ_FRAME(d, f, kept);

    (void)state;
    f.kept = tree(d, DEPTH);
    assert_int_equal(pthread_atfork(on_fork, on_fork, on_fork), 0);
    assert_int_equal(sigaction(SIGCHLD, &action, &before), 0);
    shot_drop(shot_take(d, 0));
    assert_int_equal(n_sigchld, 0);
    assert_int_equal(n_handlers, 0);
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

/* ---- failures ----------------------------------------------------------- */

static void
a_file_that_cannot_be_written_is_an_error(void **state)
{
    ALQ_FRAME(d, f, kept);
    static const unsigned flags[] = {0, ALQ_SNAPSHOT_STOP};

    (void)state;
    f.kept = tree(d, DEPTH);
    for (int i = 0; i < 2; i++) {
        int full = open("/dev/full", O_WRONLY | O_CLOEXEC), ends[2];

        errno = 0;
        assert_int_equal(alq_heap_snapshot(d, full, flags[i]), ALQ_EIO);
        assert_int_equal(errno, ENOSPC);
        close(full);
        errno = 0;
        assert_int_equal(alq_heap_snapshot(d, full, flags[i]), ALQ_EIO);
        assert_int_equal(errno, EBADF);
        /* A reader that has gone: no signal comes. */
        assert_int_equal(pipe(ends), 0);
        close(ends[0]);
        errno = 0;
        assert_int_equal(alq_heap_snapshot(d, ends[1], flags[i]), ALQ_EIO);
        assert_int_equal(errno, EPIPE);
        close(ends[1]);
    }
    assert_int_equal(tree_size(f.kept), (1 << DEPTH) - 1);
    shot_drop(shot_take(d, 0));
}

static void
arguments_are_checked(void **state)
{
    struct alq_thread *thread;

    (void)state;
    assert_int_equal(alq_heap_snapshot(NULL, 1, 0), ALQ_EINVAL);
    assert_int_equal(alq_heap_snapshot(d, -1, 0), ALQ_EINVAL);
    assert_int_equal(alq_heap_snapshot(d, 1, 4), ALQ_EINVAL);
    assert_int_equal(alq_tag_name_set(246, "x"), ALQ_EINVAL);
    assert_int_equal(alq_tag_name_set(245, "x"), ALQ_OK);
    assert_int_equal(alq_tag_name_set(245, NULL), ALQ_OK);
    thread = alq_blocking_begin(d);
    assert_int_equal(alq_heap_snapshot(d, 1, 0), ALQ_ESTATE);
    assert_int_equal(alq_blocking_end(thread), ALQ_OK);
}

/* The child of this process that is a copy; 0: there is none. */
static pid_t
copy_find(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;

    CHECK(proc != NULL);
    while (found == 0 && (entry = readdir(proc)) != NULL) {
        char path[300], name[32];
        int pid, parent;
        FILE *stat;

        snprintf(path, sizeof path, "/proc/%.200s/stat", entry->d_name);
        stat = fopen(path, "r");
        if (stat == NULL)
            continue;
        if (fscanf(stat, "%d (%31[^)]) %*c %d", &pid, name, &parent) == 3 &&
            parent == getpid() && strcmp(name, "aliquot-copy") == 0)
            found = pid;
        fclose(stat);
    }
    closedir(proc);
    return found;
}

/* The pipe is full, and nobody reads it: so the copy waits. */
static void *
copy_kill(void *arg)
{
    pid_t pid;

    (void)arg;
    while ((pid = copy_find()) == 0)
        sched_yield();
    CHECK(kill(pid, SIGKILL) == 0);
    return NULL;
}

/* So many blocks that they do not get into a pipe which nobody reads: the copy
 * waits. */
static void
ended_is_an_error(bool is_killed)
{
    enum { KEPT = 16 }; /* blocks of more than a pipe and a buffer hold */
    ALQ_FRAME(d, f, kept[KEPT]);
    pthread_t killer;
    int ends[2];

    for (int i = 0; i < KEPT; i++)
        f.kept[i] = tree(d, 12);
    assert_int_equal(pipe(ends), 0);
    if (is_killed)
        assert_int_equal(pthread_create(&killer, NULL, copy_kill, NULL), 0);
    assert_int_equal(alq_heap_snapshot(d, ends[1], 0), ALQ_EIO);
    assert_int_equal(errno, is_killed ? ECHILD : ETIMEDOUT);
    if (is_killed)
        assert_int_equal(pthread_join(killer, NULL), 0);
    assert_int_equal(copy_find(), 0);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(tree_size(f.kept[0]), 4095);
    shot_drop(shot_take(d, 0));
}

/* A test that is left out leaves no frame. */
static void
a_copy_that_is_killed_is_an_error(void **state)
{
    (void)state;
    if (!shot_copies())
        ALQI_SKIP("no copy is made in this build, or on this machine");
    ended_is_an_error(true);
}

static void
a_copy_that_hangs_is_ended(void **state)
{
    unsigned before = alqi_heap_snapshot_hung_ms;

    (void)state;
    if (!shot_copies())
        ALQI_SKIP("no copy is made in this build, or on this machine");
    alqi_heap_snapshot_hung_ms = 1;
    ended_is_an_error(false);
    alqi_heap_snapshot_hung_ms = before;
}

/* From here on this process can make no child as a copy is made. */
static void
clone_forbid(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ALQI_COUNT_OF(rules), rules};

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* In a process of its own, since a filter stays. */
static void
without_a_child_it_is_written_in_the_stop(void **state)
{
    int status, fd = memfd_create("shot", MFD_CLOEXEC);
    struct shot *shot;
    pid_t pid;

    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct alq_domain *own;

        if (shot_copies())
            clone_forbid();
        if (alq_domain_new(NULL, &own) != ALQ_OK)
            _exit(1);
        {
            ALQ_FRAME(own, f, kept);

            f.kept = tree(own, 3);
            if (alq_heap_snapshot(own, fd, 0) != ALQ_OK)
                _exit(2);
            shot = shot_read(fd);
            if (shot->is_copied || shot_reach_all(shot) != 7)
                _exit(3);
            shot_drop(shot);
        }
        _exit(alq_domain_drop(own) == ALQ_OK ? 0 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fd);
}

/* What a finaliser waits for is no root; what it comes with is. */
static void
finalisers_hold_what_they_come_with(void **state)
{
    ALQ_FRAME(d, f, dying, with);
    struct shot *shot;

    (void)state;
    f.dying = tree(d, 2);
    f.with = tree(d, 3);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    assert_int_equal(alq_gc_finalise(d, f.dying, nothing, f.with), ALQ_OK);
    shot = shot_take(d, 0);
    assert_int_equal(roots_of(shot, ALQI_DUMP_ROOT_FINAL, f.with), 1);
    assert_int_equal(roots_of(shot, ALQI_DUMP_ROOT_FINAL, f.dying), 0);
    shot_drop(shot);
}

/* ---- sites -------------------------------------------------------------- */

/* Each block of the tree that the frame of this function holds has a sample,
 * whose site is what the sites' innermost frame says. */
static void
tree_has_sites(const struct alq_stack_source *source, unsigned flags)
{
    const struct alq_pprof_config config = {.rate = 1};
    ALQ_FRAME(d, f, kept);
    struct alq_pprof *pprof;
    struct shot *shot;
    size_t n = 0;

    assert_int_equal(alq_stack_source_set(d, source), ALQ_OK);
    assert_int_equal(alq_pprof_start(d, &config, &pprof), ALQ_OK);
    f.kept = tree(d, 4);
    shot = shot_take(d, flags);
    for (size_t i = 0; i < shot->n_roots; i++)
        if (strncmp(shot->roots[i].name, "tree_has_sites:", 15) == 0)
            n += shot_reach(shot, shot->roots[i].block);
    assert_int_equal(n, 15);
    for (size_t i = 0; i < shot->n_blocks; i++)
        if (shot->blocks[i].is_reached) {
            const struct shot_sample *sample =
                shot_sample_of(shot, shot->blocks[i].address);
            const struct shot_site *site;

            assert_non_null(sample);
            assert_int_equal(sample->samples, 3); /* with its header */
            assert_true(sample->rate == 1);
            site = &shot->sites[sample->site];
            assert_true(site->n_frames > 1);
            assert_int_equal(site->address == 0, source != NULL);
            assert_string_equal(site->function, source != NULL ? "tree" : "");
        }
    shot_drop(shot);
    alq_pprof_drop(pprof);
    /* And none of a pprof that is over. */
    shot = shot_take(d, flags);
    assert_int_equal(shot->n_samples, 0);
    shot_drop(shot);
}

static void
sampled_blocks_have_their_sites(void **state)
{
    (void)state;
    tree_has_sites(NULL, 0);
    tree_has_sites(NULL, ALQ_SNAPSHOT_STOP);
    tree_has_sites(&alq_stack_sites, 0);
    tree_has_sites(&alq_stack_sites, ALQ_SNAPSHOT_STOP);
    assert_int_equal(alq_stack_source_set(d, NULL), ALQ_OK);
}

#define TEST(f)                                                                \
    cmocka_unit_test_setup_teardown(f, domains_setup, domains_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_child_it_is_written_in_the_stop),
        TEST(domains_that_allocate_are_seen_at_one_moment),
        TEST(words_of_conservative_threads_are_roots),
        TEST(finalisers_hold_what_they_come_with),
        TEST(sampled_blocks_have_their_sites),
        TEST(a_file_that_cannot_be_written_is_an_error),
        TEST(a_copy_that_is_killed_is_an_error),
        TEST(a_copy_that_hangs_is_ended),
        TEST(arguments_are_checked),
        TEST(the_program_has_no_child_and_no_handler_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
