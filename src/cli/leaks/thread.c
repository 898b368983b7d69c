/* thread.c -- stacks by their pointers, thread-local memory by its own
 *
 * On x86-64 the variables of the modules that a program begins with lie in
 * front of the word that a thread's pointer leads to, and what the C library
 * keeps for the thread behind it. */
#include "cli/leaks/thread.h"

/* glibc's struct pthread has 2,304 bytes (glibc 2.36), and not many more or
 * fewer in others. */
enum { OF_THE_C_LIBRARY_BYTES = 2304 };

int
alqi_cli_leak_thread_of_stack(const struct alqi_cli_core *core,
                              const struct alqi_cli_mapping *m)
{
    for (size_t i = 0; i < core->n_threads; i++)
        if (core->threads[i].sp >= m->start && core->threads[i].sp < m->end)
            return (int)i;
    return ALQI_CLI_LEAK_NO_THREAD;
}

int
alqi_cli_leak_thread_of_tls(const struct alqi_cli_core *core,
                            uint64_t tls_bytes, uint64_t at)
{
    for (size_t i = 0; i < core->n_threads; i++) {
        uint64_t pointer = core->threads[i].thread_pointer;

        if (pointer != 0 &&
            at - (pointer - tls_bytes) < tls_bytes + OF_THE_C_LIBRARY_BYTES)
            return (int)i;
    }
    return ALQI_CLI_LEAK_NO_THREAD;
}
