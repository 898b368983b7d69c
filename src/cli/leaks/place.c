/* place.c -- symbols of the process's modules (libdwfl), stacks, registers */
#include "cli/leaks/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/attach/safe.h"
#include "cli/leaks/scan.h"
#include "cli/tool/cli.h"

/* glibc's own block of a thread, at its pointer: with what
 * pthread_setspecific keeps. */
enum { OWN_BYTES = 2304 };

struct alqi_cli_leak_places {
    const struct alqi_cli_core *core;
    struct alqi_cli_modules *modules; /* NULL: they cannot be read */
    /* most that thread-local variables take below a thread's pointer */
    uint64_t tls_bytes;
};

struct alqi_cli_leak_places *
alqi_cli_leak_places_open(const struct alqi_cli_core *core)
{
    struct alqi_cli_leak_places *p = alqi_cli_zeros(1, sizeof *p);

    p->core = core;
    p->modules = alqi_cli_modules_open(&core->target, "", "");
    if (p->modules != NULL)
        p->tls_bytes = alqi_cli_modules_tls_bytes(p->modules);
    return p;
}

void
alqi_cli_leak_places_drop(struct alqi_cli_leak_places *p)
{
    if (p == NULL)
        return;
    alqi_cli_modules_drop(p->modules);
    free(p);
}

/* Thread-local variables lie below the thread's pointer, its own block at it.
 */
static bool
thread_place(const struct alqi_cli_leak_places *p, uint64_t at, char *out,
             size_t capacity)
{
    for (size_t i = 0; i < p->core->n_threads; i++) {
        const struct alqi_plat_stopped *t = &p->core->threads[i];
        bool is_own = at - t->thread_pointer < OWN_BYTES;

        if (!is_own && t->thread_pointer - at - 1 >= p->tls_bytes)
            continue;
        snprintf(out, capacity, "thread-%s of thread %d",
                 is_own ? "specific data" : "local memory", (int)t->tid);
        return true;
    }
    return false;
}

/* A stack's mapping begins above the address that a thread's pointer has. */
static bool
stack_place(const struct alqi_cli_core *core, const struct alqi_cli_mapping *m,
            char *out, size_t capacity)
{
    for (size_t i = 0; i < core->n_threads; i++) {
        const struct alqi_plat_stopped *t = &core->threads[i];

        if (t->sp < m->start || t->sp >= m->end)
            continue;
        snprintf(out, capacity, "stack of thread %d", (int)t->tid);
        return true;
    }
    return false;
}

void
alqi_cli_leak_place(struct alqi_cli_leak_places *p, uint64_t at, char *out,
                    size_t capacity)
{
    const struct alqi_cli_core *core = p->core;
    const struct alqi_cli_mapping *m;

    if ((at & ALQI_CLI_LEAK_REGISTER) != 0) {
        size_t i = (at & ~ALQI_CLI_LEAK_REGISTER) / ALQI_PLAT_REGISTERS;

        snprintf(out, capacity, "register of thread %d",
                 (int)core->threads[i].tid);
        return;
    }
    if (thread_place(p, at, out, capacity))
        return;
    m = alqi_cli_attach_target_at(&core->target, at);
    if (m != NULL && stack_place(core, m, out, capacity))
        return;
    if (p->modules != NULL &&
        alqi_cli_modules_place(p->modules, at, out, capacity))
        return;
    if (m != NULL && m->path[0] != '\0')
        snprintf(out, capacity, "%s+0x%" PRIx64, alqi_base_file_name(m->path),
                 at - m->start + m->offset);
    else
        snprintf(out, capacity, "memory at 0x%" PRIx64, at);
}
