/* native_fork_test.c -- names in a child that was forked while they were read
 *
 * The thread that reads the symbols of the program is not in the child, which
 * has the lock as that thread left it. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "glue/join/native.h"
#include "stack/symbol_elf.h"

static sem_t is_there, may_go;
static __thread bool is_held;

const char *__real_alqi_symbol_elf_open(struct alqi_symbol_elf **out,
                                        const char *path);
const char *__wrap_alqi_symbol_elf_open(struct alqi_symbol_elf **out,
                                        const char *path);

const char *
__wrap_alqi_symbol_elf_open(struct alqi_symbol_elf **out, const char *path)
{
    if (is_held) {
        sem_post(&is_there);
        while (sem_wait(&may_go) != 0)
            continue;
    }
    return __real_alqi_symbol_elf_open(out, path);
}

/* Whether this function's name is found. */
static bool
finds_itself(void)
{
    const struct alqi_glue_module *module;
    uintptr_t offset;
    const char *name =
        alqi_glue_native_name((uintptr_t)&finds_itself + 1, &module, &offset);

    return name != NULL && strcmp(name, "finds_itself") == 0;
}

static void *
find_held(void *arg)
{
    is_held = true;
    *(bool *)arg = finds_itself();
    return NULL;
}

static void
a_child_finds_names_that_its_parent_was_reading(void **state)
{
    bool is_found = false;
    pthread_t thread;
    pid_t child;
    int status;

    (void)state;
    sem_init(&is_there, 0, 0);
    sem_init(&may_go, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, find_held, &is_found), 0);
    while (sem_wait(&is_there) != 0)
        continue;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        alarm(900);
        _exit(!finds_itself());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    sem_post(&may_go);
    pthread_join(thread, NULL);
    assert_true(is_found && finds_itself());
    assert_int_equal(status, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_finds_names_that_its_parent_was_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
