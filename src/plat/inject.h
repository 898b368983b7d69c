/* inject.h -- giving a thread of another process a call of a function
 *                                                   [doc/design/attach.md]
 *
 * A thread is stopped, looked at, and either let go as it was or given a call:
 * the function runs on the thread's own stack with all signals blocked, and
 * when it returns the thread goes on where it was.  Keeps .inv.itself,
 * .inv.anew and .inv.text: the calling process may die at any moment.
 *
 * By ptrace, for the thread's process and one of its users; for x86-64. */
#ifndef ALQI_PLAT_INJECT_H
#define ALQI_PLAT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    /* Of an injected call's argument, its last byte 0. */
    ALQI_PLAT_INJECT_ARGUMENT_BYTES = 8192,
    /* Of the thread's registers, as the system has them. */
    ALQI_PLAT_INJECT_EXTENDED_BYTES = 16384,
    ALQI_PLAT_GENERAL_REGISTERS = 16,
    /* Words of the processor's save area that may be of vector registers: a
     * pointer on its way may be in one of them alone. */
    ALQI_PLAT_VECTOR_WORDS = 317,
    ALQI_PLAT_REGISTERS = ALQI_PLAT_GENERAL_REGISTERS + ALQI_PLAT_VECTOR_WORDS
};

/* A stopped thread. */
struct alqi_plat_stopped {
    pid_t tid;
    uintptr_t sp;
    /* The system call that it waits in or comes from; -1: none. */
    long call;
    bool is_in_sequence;      /* of restartable instructions (rseq) */
    uintptr_t thread_pointer; /* to what the C library keeps for the thread */
    /* What may hold an address: the general registers, sp among them, then the
     * vector registers; those are 0 where the thread is in a system call,
     * which keeps none of them. */
    uintptr_t registers[ALQI_PLAT_REGISTERS];
};

/* Whether this system and this processor can do it at all. */
bool alqi_plat_can_inject(void);

/* Stops the thread and looks at it.  0, or an errno: ESRCH it has gone, EPERM,
 * EBUSY it did not stop in time, or was about to do something else. */
int alqi_plat_thread_stop(pid_t tid, struct alqi_plat_stopped *out);

/* The same in two steps, so that many threads come to a stop at one time.  A
 * thread that was asked has to be waited for. */
int alqi_plat_thread_stop_ask(pid_t tid);
int alqi_plat_thread_stop_wait(pid_t tid, struct alqi_plat_stopped *out);

/* Lets the thread go on as it was; a signal that came meanwhile is given. */
void alqi_plat_thread_go(const struct alqi_plat_stopped *thread);

/* Watches the thread, which runs on, until it ends or executes a program: there
 * it stands.  0, or an errno. */
int alqi_plat_thread_watch(pid_t tid);

enum alqi_plat_thread_event {
    ALQI_PLAT_THREAD_RUNS,
    ALQI_PLAT_THREAD_ENDS, /* it stands, after all of its own code */
    ALQI_PLAT_THREAD_EXECS /* it stands, in another program */
};

/* What a watched thread has come to; signals and job control reach it as if it
 * were not watched.  ENDS: *out is filled.  Whether it has gone is not told. */
enum alqi_plat_thread_event
alqi_plat_thread_look(pid_t tid, struct alqi_plat_stopped *out);

/* Watches it no more; it goes on. */
void alqi_plat_thread_unwatch(pid_t tid);

/* Gives the stopped thread the call function(argument, number), and lets it go.
 * `come_back` is the address of code of the process by which a signal handler
 * returns.  0, or an errno; then the thread is stopped as before. */
int alqi_plat_thread_call(const struct alqi_plat_stopped *thread,
                          uintptr_t function, const char *argument,
                          unsigned long number, uintptr_t come_back);

/* Finds such code in the n bytes of another process's memory at `text`; 0:
 * there is none. */
uintptr_t alqi_plat_come_back_find(pid_t pid, uintptr_t text, size_t n_bytes);

/* The process is killed when the calling one ends, however that ends; it is
 * traced by it, and reaped by it when it ends before.  0, or an errno. */
int alqi_plat_tie(pid_t pid);

/* Reads another process's memory: whether all n bytes were read. */
bool alqi_plat_memory_read(pid_t pid, uintptr_t from, void *to, size_t n_bytes);
/* Writes to it: whether all n bytes were written. */
bool alqi_plat_memory_write(pid_t pid, uintptr_t to, const void *from,
                            size_t n_bytes);

#endif
