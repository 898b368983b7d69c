/* process.h -- what a process asks about itself: its file, threads' names,
 * descriptors that wake
 *
 * No malloc, no stdio. */
#ifndef ALQI_PLAT_PROCESS_H
#define ALQI_PLAT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* The path of the running program's file; "" where the system does not say.
 * Longer than n - 1 bytes: cut off.  Of a program that a dynamic linker was
 * called with by name, the program. */
void alqi_plat_executable_sigsafe(char *path, size_t n);

/* The calling thread's name for ps(1) and debuggers; 15 bytes of it count. */
void alqi_plat_thread_name(const char *name);

/* The calling thread has less of the processor where others want it, as nice(1)
 * has it. */
void alqi_plat_thread_nice(int by);

/* A descriptor that is readable from the first _raise on, closed on exec; -1:
 * there is none.  Reading it makes it unreadable again. */
int alqi_plat_event_open(void);
void alqi_plat_event_raise_sigsafe(int fd);

/* Whether the process has the calling thread alone; false where the system does
 * not tell. */
bool alqi_plat_is_alone(void);

#endif
