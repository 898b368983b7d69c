/* place.c -- symbols of the process's modules (libdwfl), stacks, registers */
#include "cli/leaks/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/attach/safe.h"
#include "cli/leaks/scan.h"
#include "cli/leaks/thread.h"
#include "cli/tool/cli.h"

struct alqi_cli_leak_places {
    const struct alqi_cli_core *core;
    struct alqi_cli_modules *modules; /* NULL: they cannot be read */
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

uint64_t
alqi_cli_leak_places_tls_bytes(struct alqi_cli_leak_places *p)
{
    return p->tls_bytes;
}

const char *
alqi_cli_leak_places_exporter(struct alqi_cli_leak_places *p, const char *name)
{
    return p->modules != NULL ? alqi_cli_modules_exporter(p->modules, name)
                              : NULL;
}

/* A thread's variables may lie in the mapping of its stack. */
static bool
thread_place(const struct alqi_cli_leak_places *p,
             const struct alqi_cli_mapping *m, uint64_t at, char *out,
             size_t capacity)
{
    const struct alqi_cli_core *core = p->core;
    int own = alqi_cli_leak_thread_of_tls(core, p->tls_bytes, at);
    int stack = alqi_cli_leak_thread_of_stack(core, m);

    if (own != ALQI_CLI_LEAK_NO_THREAD)
        snprintf(out, capacity, "thread-local memory of thread %d",
                 (int)core->threads[own].tid);
    else if (stack != ALQI_CLI_LEAK_NO_THREAD)
        snprintf(out, capacity, "stack of thread %d",
                 (int)core->threads[stack].tid);
    else
        return false;
    return true;
}

void
alqi_cli_leak_place(struct alqi_cli_leak_places *p, uint64_t at, char *out,
                    size_t capacity)
{
    const struct alqi_cli_mapping *m;

    if ((at & ALQI_CLI_LEAK_REGISTER) != 0) {
        size_t i = (at & ~ALQI_CLI_LEAK_REGISTER) / ALQI_PLAT_REGISTERS;

        snprintf(out, capacity, "register of thread %d",
                 (int)p->core->threads[i].tid);
        return;
    }
    m = alqi_cli_attach_target_at(&p->core->target, at);
    if ((m != NULL && thread_place(p, m, at, out, capacity)) ||
        (p->modules != NULL &&
         alqi_cli_modules_place(p->modules, at, out, capacity)))
        return;
    if (m != NULL && m->path[0] != '\0')
        snprintf(out, capacity, "%s+0x%" PRIx64, alqi_base_file_name(m->path),
                 at - m->start + m->offset);
    else
        snprintf(out, capacity, "memory at 0x%" PRIx64, at);
}

/* Some words of the mapping may be a thread's own. */
static bool
has_thread(const struct alqi_cli_core *core, const struct alqi_cli_mapping *m)
{
    for (size_t i = 0; i < core->n_threads; i++)
        if (core->threads[i].thread_pointer >= m->start &&
            core->threads[i].thread_pointer < m->end)
            return true;
    return false;
}

/* Of memory that is no thread's. */
static void
holder_of_memory(struct alqi_cli_leak_places *p,
                 const struct alqi_cli_mapping *m, uint64_t at,
                 struct alqi_cli_leak_holder *h)
{
    if (p->modules != NULL &&
        alqi_cli_modules_variable(p->modules, at, h->name, sizeof h->name,
                                  &h->from, &h->to))
        return;
    if (m != NULL && !has_thread(p->core, m)) {
        h->from = m->start;
        h->to = m->end;
    }
    snprintf(h->name, sizeof h->name, "%s",
             m != NULL && m->path[0] != '\0' ? alqi_base_file_name(m->path)
                                             : "mapped memory");
}

void
alqi_cli_leak_holder_at(struct alqi_cli_leak_places *p, uint64_t at,
                        struct alqi_cli_leak_holder *h)
{
    const struct alqi_cli_mapping *m;

    h->from = at;
    h->to = at + 1;
    m = alqi_cli_attach_target_at(&p->core->target, at);
    if (alqi_cli_leak_thread_of_tls(p->core, p->tls_bytes, at) !=
        ALQI_CLI_LEAK_NO_THREAD)
        strcpy(h->name, "thread-local memory");
    else if ((at & ALQI_CLI_LEAK_REGISTER) != 0 ||
             (m != NULL && alqi_cli_leak_thread_of_stack(p->core, m) !=
                               ALQI_CLI_LEAK_NO_THREAD))
        strcpy(h->name, "stacks of threads");
    else
        holder_of_memory(p, m, at, h);
}
