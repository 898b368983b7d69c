/* core_sent.c -- a core of what a process sends of itself
 *
 *   asked --"ok": it stands--> still --TAKEN--> frames --READY--> questions
 *      '-- "error", the end, no answer: in each of them --> none
 *
 * The other half is src/preload/copy_send.c.  It is the process, or was, when
 * the system said whose the socket's other end is; so its figures are believed
 * as those of its recording are, and bounded. */
#include "cli/attach/core_sent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "cli/attach/sent.h"
#include "cli/tool/cli.h"
#include "wire/request.h"
#include "wire/side.h"

enum { FRAMES_MOST = 1 << 24 };

/* ---- frames -------------------------------------------------------------- */

/* All bytes of each kind. */
struct frames {
    struct {
        char *bytes; /* owned */
        size_t n;
    } of[ALQI_COPY_KINDS];
};

static bool
frames_read(struct alqi_cli_sent *s, struct frames *f)
{
    for (unsigned i = 0; i < FRAMES_MOST; i++) {
        struct alqi_copy_frame frame;
        size_t n;

        if (!alqi_cli_sent_bytes(s, &frame, sizeof frame) ||
            frame.kind >= ALQI_COPY_KINDS ||
            frame.n_bytes > ALQI_COPY_FRAME_BYTES)
            return false;
        if (frame.kind == ALQI_COPY_READY)
            return true;
        n = f->of[frame.kind].n;
        f->of[frame.kind].bytes =
            alqi_cli_realloc(f->of[frame.kind].bytes, n + frame.n_bytes + 1, 1);
        if (!alqi_cli_sent_bytes(s, f->of[frame.kind].bytes + n, frame.n_bytes))
            return false;
        f->of[frame.kind].n = n + frame.n_bytes;
        if (frame.kind == ALQI_COPY_HEAD &&
            f->of[frame.kind].n == sizeof(struct alqi_copy_head) &&
            ((struct alqi_copy_head *)(void *)f->of[frame.kind].bytes)->pid < 0)
            return false;
    }
    return false;
}

/* Rows of a kind; they are the caller's then. */
static void *
rows_take(struct frames *f, enum alqi_copy_kind kind, size_t row_bytes,
          size_t *n)
{
    void *rows = f->of[kind].bytes;

    *n = f->of[kind].n / row_bytes;
    f->of[kind].bytes = NULL;
    return rows;
}

static void
frames_free(struct frames *f)
{
    for (int i = 0; i < ALQI_COPY_KINDS; i++)
        free(f->of[i].bytes);
}

/* ---- registers ----------------------------------------------------------- */

#if defined(__x86_64__)

/* Where the system's save area of a signal has the vector registers, and what
 * says how long it is. */
enum { VECTORS_AT = 160, SOFTWARE_AT = 464, LEGACY_BYTES = 512 };
#define MAGIC 0x46505853u

/* As in inject.c, vectors count for nothing in a system call: the instruction
 * in front of where the thread goes on tells, or the one there, which makes the
 * call again. */
static bool
is_in_call(struct alqi_cli_sent *s, uintptr_t at)
{
    static const unsigned char syscall[2] = {0x0f, 0x05};
    unsigned char code[4];

    return alqi_cli_sent_read(s, at - 2, code, sizeof code) == sizeof code &&
           (memcmp(code, syscall, 2) == 0 || memcmp(code + 2, syscall, 2) == 0);
}

static void
vectors_read(struct alqi_cli_sent *s, uintptr_t area,
             uintptr_t to[ALQI_PLAT_VECTOR_WORDS])
{
    uint32_t software[5] = {0}; /* magic, bytes, features, bytes of the area */
    size_t n = LEGACY_BYTES - VECTORS_AT;

    if (area == 0)
        return;
    alqi_cli_sent_read(s, area + SOFTWARE_AT, software, sizeof software);
    if (software[0] == MAGIC && software[4] > LEGACY_BYTES)
        n = software[4] - VECTORS_AT;
    if (n > ALQI_PLAT_VECTOR_WORDS * sizeof *to)
        n = ALQI_PLAT_VECTOR_WORDS * sizeof *to;
    alqi_cli_sent_read(s, area + VECTORS_AT, to, n);
}

static bool
context_read(struct alqi_cli_sent *s, uintptr_t at,
             struct alqi_plat_stopped *out)
{
    static const int order[ALQI_PLAT_GENERAL_REGISTERS] = {
        REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    size_t n = offsetof(ucontext_t, uc_sigmask);
    ucontext_t c = {0};
    const greg_t *g = c.uc_mcontext.gregs;

    if (alqi_cli_sent_read(s, at, &c, n) != n)
        return false;
    for (int i = 0; i < ALQI_PLAT_GENERAL_REGISTERS; i++)
        out->registers[i] = (uintptr_t)g[order[i]];
    out->sp = (uintptr_t)g[REG_RSP];
    if (!is_in_call(s, (uintptr_t)g[REG_RIP]))
        vectors_read(s, (uintptr_t)c.uc_mcontext.fpregs,
                     out->registers + ALQI_PLAT_GENERAL_REGISTERS);
    return true;
}

#else

static bool
context_read(struct alqi_cli_sent *s, uintptr_t at,
             struct alqi_plat_stopped *out)
{
    (void)s;
    (void)at;
    (void)out;
    return false;
}

#endif

static void
threads_take(struct alqi_cli_core *core, struct frames *f)
{
    size_t n;
    struct alqi_copy_thread *rows =
        rows_take(f, ALQI_COPY_THREADS, sizeof *rows, &n);

    core->threads = alqi_cli_zeros(n + 1, sizeof *core->threads);
    for (size_t i = 0; i < n; i++) {
        struct alqi_plat_stopped *t = &core->threads[core->n_threads];

        *t = (struct alqi_plat_stopped){.tid = (pid_t)rows[i].tid,
                                        .sp = rows[i].sp,
                                        .call = -1,
                                        .thread_pointer =
                                            rows[i].thread_pointer};
        if (rows[i].context == 0 ||
            context_read(core->sent, rows[i].context, t))
            core->n_threads++;
        else
            core->n_unknown++;
    }
    free(rows);
}

/* ---- the core ------------------------------------------------------------ */

static bool
refuse(const char *verb, const struct alqi_cli_core *core, const char *why)
{
    return alqi_cli_refuse("%s: process %d: %s", verb, (int)core->target.pid,
                           why);
}

/* It stands; or says why not. */
static bool
still_await(const char *verb, struct alqi_cli_core *core)
{
    static const char ok[] = ALQI_REQUEST_GREETING " ok ";
    char line[ALQI_REQUEST_ANSWER_BYTES], text[ALQI_REQUEST_ANSWER_BYTES];

    if (!alqi_cli_sent_line(core->sent, line, sizeof line))
        return refuse(verb, core, "it did not answer, or has ended");
    if (strncmp(line, ok, strlen(ok)) == 0)
        return true;
    if (!alqi_side_get(line, "text", text, sizeof text))
        snprintf(text, sizeof text,
                 "it answers what this command does not "
                 "understand");
    if (strstr(text, "no such command") != NULL)
        snprintf(text, sizeof text,
                 "its profiler is of another version of aliquot");
    return refuse(verb, core, text);
}

/* Why there are no frames: the process may have said that. */
static bool
frames_refuse(const char *verb, const struct alqi_cli_core *core,
              const struct frames *f)
{
    const struct alqi_copy_head *head =
        (const void *)f->of[ALQI_COPY_HEAD].bytes;

    if (f->of[ALQI_COPY_HEAD].n < sizeof *head || head->pid >= 0)
        return refuse(verb, core, "its copy has ended");
    if (head->pid == -ETIMEDOUT)
        return refuse(verb, core,
                      "it did not stand still for as long as this "
                      "command took to read its recording; try "
                      "again");
    return alqi_cli_refuse("%s: process %d cannot be copied: %s", verb,
                           (int)core->target.pid, strerror(-head->pid));
}

static bool
frames_take(const char *verb, struct alqi_cli_core *core, struct frames *f)
{
    const struct alqi_copy_head *head = (void *)f->of[ALQI_COPY_HEAD].bytes;

    if (f->of[ALQI_COPY_HEAD].n != sizeof *head)
        return refuse(verb, core,
                      "its copy sends what this command does not "
                      "understand");
    core->sent_pid = alqi_cli_attach_target_other(&core->target, head->pid);
    core->stopped_ns = head->still_ns;
    core->n_unknown = head->n_unknown;
    core->blocks =
        rows_take(f, ALQI_COPY_BLOCKS, sizeof *core->blocks, &core->n_blocks);
    core->owned =
        rows_take(f, ALQI_COPY_OWNED, sizeof *core->owned, &core->n_owned);
    if (!alqi_cli_attach_target_map_text(&core->target,
                                         f->of[ALQI_COPY_MAPS].bytes,
                                         f->of[ALQI_COPY_MAPS].n))
        return refuse(verb, core,
                      "it cannot read what it has mapped: is "
                      "there no /proc?");
    threads_take(core, f);
    return true;
}

bool
alqi_cli_core_take_sent(const char *verb, pid_t pid, int fd,
                        bool (*still)(void *arg), void *arg,
                        struct alqi_cli_core *core)
{
    const char taken = ALQI_COPY_TAKEN;
    struct frames frames = {0};
    bool ok;

    *core = (struct alqi_cli_core){0};
    core->sent = alqi_cli_sent_open(fd);
    alqi_cli_attach_target_name(&core->target, pid);
    ok = still_await(verb, core) && still(arg);
    if (ok) {
        ok = (alqi_cli_sent_write(core->sent, &taken, 1) &&
              frames_read(core->sent, &frames)) ||
             frames_refuse(verb, core, &frames);
        ok = ok && frames_take(verb, core, &frames);
    }
    frames_free(&frames);
    if (!ok)
        alqi_cli_core_drop(core);
    return ok;
}
