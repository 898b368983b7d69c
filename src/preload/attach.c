/* attach.c -- begin and end in a process that loaded the preload late
 *
 *   ABSENT --constructor--> IDLE --begin--> ATTACHED --end--> ENDING --> IDLE
 *                                                              '- end, while
 *                                                                 threads are
 *                                                                 inside
 *
 * begin and end are called by a thread of the process that was given the call
 * from outside: it stands at a safe point and has all signals blocked.
 *
 * .inv.one     One call at a time: a second one, of another command, fails.
 * .pair.told   called(): all of alq_attach_told, then n_calls -> the command,
 *              which reads the process.
 * .pair.called  called() -> called(), of the next call: what this one did.
 * .inv.found   The thread finds errno as it was: it may be about to look at it.
 *
 * Keeps .inv.bracket and .inv.unmapped (doc/design/attach.md). */
#include "preload/attach.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/file_name.h"
#include "preload/control.h"
#include "preload/file.h"
#include "preload/got.h"
#include "preload/preload.h"
#include "wire/attach.h"

ALQI_EXPORT struct alqi_attach_told alq_attach_told;

static _Atomic(bool) is_called; /* .inv.one, .pair.called */

/* ---- .def.late ----------------------------------------------------------- */

static bool
is_in(const struct dl_phdr_info *module, uintptr_t address)
{
    for (unsigned i = 0; i < module->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &module->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD &&
            address - (module->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

/* Ends the walk at the C library or at this one, whichever comes first.  The
 * name tells the C library: an address of it may be a stub of the program. */
static int
order_visit(struct dl_phdr_info *module, size_t size, void *arg)
{
    bool *is_libc_first = arg;

    (void)size;
    *is_libc_first =
        strcmp(alqi_base_file_name(module->dlpi_name), "libc.so.6") == 0;
    return *is_libc_first || is_in(module, (uintptr_t)&alq_attach_told);
}

bool
alqi_preload_is_late(void)
{
    bool is_libc_first = false;

    dl_iterate_phdr(order_visit, &is_libc_first);
    return is_libc_first;
}

/* .pair.told */
void
alqi_preload_attach_idle(void)
{
    atomic_store(&alq_attach_told.state, ALQI_ATTACH_IDLE);
}

/* ---- the calls ----------------------------------------------------------- */

/* .pair.told */
static enum alqi_attach_state
state_now(void)
{
    return atomic_load(&alq_attach_told.state);
}

/* .pair.told */
static void
state_set(enum alqi_attach_state state)
{
    atomic_store(&alq_attach_told.state, state);
}

static bool
refuse(const char *text)
{
    snprintf(alq_attach_told.text, sizeof alq_attach_told.text, "%s", text);
    return false;
}

/* ATTACHED or ENDING -> IDLE; false: threads are inside the profiler yet. */
static bool
end(void)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];

    if (state_now() == ALQI_ATTACH_ATTACHED) {
        if (!alqi_preload_control_end(reply))
            return refuse(reply);
        alqi_preload_got_restore();
        alqi_preload_config.is_on = false;
        state_set(ALQI_ATTACH_ENDING);
    }
    if (state_now() == ALQI_ATTACH_ENDING) {
        if (!alqi_preload_control_close())
            return refuse("threads are inside the profiler");
        state_set(ALQI_ATTACH_IDLE);
    }
    alq_attach_told.text[0] = '\0';
    return true;
}

/* Brings the engine up, once for the process. */
static bool
engine_begin(const char *settings)
{
    if (atomic_load(&alqi_preload_is_up)) {
        alqi_preload_config_attach(settings);
        return true;
    }
    if (!alqi_preload_real_begin_late(alqi_preload_got_real))
        return refuse("its allocator is not to be found");
    alqi_preload_config_attach(settings);
    return alqi_preload_begin_late() ||
           refuse("there is no memory for the profiler's tables");
}

/* IDLE -> ATTACHED. */
static bool
begin(const char *settings)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];
    struct alqi_preload_got_count n;

    if (!end() || !engine_begin(settings))
        return false;
    n = alqi_preload_got_write();
    if (n.n_words == 0)
        return refuse("no module of it calls an allocator of another one");
    state_set(ALQI_ATTACH_ATTACHED);
    alq_attach_told.n_modules = n.n_modules;
    alq_attach_told.n_words = n.n_words;
    alq_attach_told.attacher_pid = alqi_preload_config.attacher_pid;
    alqi_preload_poll_attached();
    if (!alqi_preload_control_start(0, NULL, reply)) {
        end();
        return refuse(reply);
    }
    alqi_preload_config.is_on = true;
    snprintf(alq_attach_told.text, sizeof alq_attach_told.text, "%s",
             alqi_preload_file_path());
    return true;
}

static void
called(bool (*call)(const char *settings), const char *settings)
{
    int saved = errno; /* .inv.found */
    bool is_ok;

    if (atomic_exchange(&is_called, true))
        return; /* n_calls stands still: the other command sees to it */
    is_ok = state_now() != ALQI_ATTACH_ABSENT && call(settings);
    alq_attach_told.is_ok = is_ok;
    atomic_store(&is_called, false);
    atomic_fetch_add(&alq_attach_told.n_calls, 1); /* .pair.told */
    errno = saved;
}

/* Another thread of the parent may be in a call, which ends here; and what the
 * parent's command waits for is the parent's. */
void
alqi_preload_attach_fork_child(void)
{
    atomic_store(&is_called, false);
    alq_attach_told.attacher_pid = 0;
}

static bool
end_call(const char *unused)
{
    (void)unused;
    return end();
}

ALQI_EXPORT void
alq_attach_begin(const char *settings)
{
    called(begin, settings);
}

ALQI_EXPORT void
alq_attach_end(const char *unused)
{
    called(end_call, unused);
}

static bool
mark_call(const char *name)
{
    return state_now() == ALQI_ATTACH_ATTACHED &&
           alqi_preload_control_marks(name) == ALQ_OK;
}

ALQI_EXPORT void
alq_attach_mark(const char *name)
{
    called(mark_call, name);
}
