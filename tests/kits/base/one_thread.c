/* one_thread.c -- a test that is said to have one thread is held to it
 *
 * ThreadSanitizer finds nothing in a process of one thread, so tests of that
 * kind are left out of preset tsan (devtools/test-tree.cmake).  In preset dbg
 * they run with this library loaded, which ends one that begins a thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Programs that a test starts may have threads. */
__attribute__((constructor)) static void
this_process_only(void)
{
    unsetenv("LD_PRELOAD");
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*run)(void *), void *arg)
{
    (void)thread;
    (void)attributes;
    (void)run;
    (void)arg;
    fputs("one_thread: this test begins a thread, and is left out of preset "
          "tsan as one that does not: mend `one_thread` in "
          "devtools/test-tree.cmake\n",
          stderr);
    abort();
}
