/* config.c -- the variable ALIQUOT, and leaving no trace in the environment
 *
 *   ALIQUOT=key=value,word,...,out=PATTERN
 *
 *   interval=BYTES  mean bytes between samples     rate=R  samples per word
 *   depth=N         frames kept                    seed=N  0: from the system
 *   exact=0|1       every block; rate is what takes over when its tables have
 *   max_memory=BYTES                                0: no cap
 *   reserve=BYTES   of the recording, and of memory: mapped at the start, and
 *                   nothing after it; see confine.c
 *   follow=0|1      exec'd programs are recorded   mmap=0|1
 *   rss=0|1         resident memory over time; 1 unless given
 *   python=0|1      Python functions in stacks, and the interpreter's small
 *                   blocks; 1 unless given
 *   native=0|1      the frames of the interpreter's evaluator, too
 *   off             nothing, until it is started; without control and signal
 *                   for good, at no cost.  follow=1 unless said otherwise
 *   control[=NAME]  serve aliquot start, stop, rate, snapshot, status
 *   signal=NAME     that signal starts and stops sampling
 *   probes[=BYTES]  fire USDT probes for tools, one in so many bytes
 *   limit_live=BYTES, limit_alloc=BYTES   when more is alive, or was allocated,
 *   on_limit=report|kill|SIGNAL           that is said, or the signal sent
 *   limit_notify=0|1                      through a pipe beside the recording
 *   leaks=0|1       the process waits with its end until that aliquot has
 *                   looked through it
 *   allocator=P     functions that begin with P, as Pmalloc, are an
 *                   allocator, too; several between colons; none: not even
 *                   those that are known
 *   notes=0|1       programs that cannot be recorded are noted beside the
 *                   recording
 *   attacher=PID    the command that attached to this process, or NOBODY
 *   watch=0|1       it has that number here, too: sampling stops without it
 *   preload=PATH    the LD_PRELOAD entry to take out again
 *   out=PATTERN     the rest of the text, commas included; in it and in NAME %e
 *                   is the program's name, %h the host's, %p the pid, %n a
 *                   number that makes it unique, %% a percent sign
 *
 * An unknown key is a warning that names it, never an abort.  Where ALIQUOT
 * asks for nothing, MEMTRACE and MEMTRACE_RATE are read as memtrace does. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defaults.h"
#include "base/pattern.h"
#include "preload/exec.h"
#include "preload/preload.h"

#define PROBES_INTERVAL_MOST 0x1p60
#define BYTES_MOST 0x1p60

#define DEFAULTS                                                               \
    {                                                                          \
        .rate = ALQI_DEFAULT_RATE, .depth_frames = ALQI_DEFAULT_DEPTH_FRAMES   \
    }
static const struct alqi_preload_config defaults = DEFAULTS;
struct alqi_preload_config alqi_preload_config = DEFAULTS;

static char own_path[1024]; /* our entry in LD_PRELOAD */
static char passed[4096];   /* the variable, for what is executed */
static char notes[1100];
static bool is_kept, has_notes;

bool
alqi_preload_config_is_kept(void)
{
    return is_kept;
}

char *
alqi_preload_config_passed(void)
{
    return passed;
}

const char *
alqi_preload_config_own_entry(void)
{
    return own_path;
}

const char *
alqi_preload_config_notes(void)
{
    return notes;
}

static void
warn(const char *what, const char *key, size_t n)
{
    char text[300];

    snprintf(text, sizeof text, "ALIQUOT: %s '%.*s'", what,
             (int)(n < 200 ? n : 200), key);
    alqi_preload_log(text);
}

static bool
is_key(const char *pair, size_t n, const char *key)
{
    return n == strlen(key) && memcmp(pair, key, n) == 0;
}

/* The n bytes at `text` as a number.  False: not all of them belong to one
 * number. */
static bool
number_parse(const char *text, size_t n, double *value)
{
    char copy[64];
    char *end;

    if (n == 0 || n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *value = strtod(copy, &end);
    return *end == '\0';
}

/* USR2, SIGUSR2 or a number.  What tells of an error in the program, or cannot
 * be caught, is refused. */
static bool
signal_parse(const char *text, size_t n, int *signal)
{
    static const int refused[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGFPE,
                                  SIGILL,  SIGTRAP, SIGABRT, SIGCHLD, SIGSYS};
    double number = 0;

    if (n > 3 && memcmp(text, "SIG", 3) == 0)
        text += 3, n -= 3;
    number_parse(text, n, &number);
    for (int i = 1; i <= SIGRTMAX; i++) {
        const char *name = sigabbrev_np(i);

        if (number != i && (name == NULL || !is_key(text, n, name)))
            continue;
        for (size_t k = 0; k < ALQI_COUNT_OF(refused); k++)
            if (refused[k] == i)
                return false;
        *signal = i;
        return true;
    }
    return false;
}

/* The signal that on_limit asks for; 0: a report alone. */
static bool
on_limit_parse(const char *text, size_t n, int *signal)
{
    if (is_key(text, n, "report"))
        *signal = 0;
    else if (is_key(text, n, "kill"))
        *signal = SIGKILL;
    else
        return signal_parse(text, n, signal);
    return true;
}

/* Applies a key that has no value; false: unknown. */
static bool
word_apply(const char *text, size_t n)
{
    struct alqi_preload_config *c = &alqi_preload_config;

    if (is_key(text, n, "off"))
        c->is_off = true;
    else if (is_key(text, n, "control"))
        c->has_control = true;
    else if (is_key(text, n, "probes"))
        c->has_probes = true;
    else
        return false;
    return true;
}

/* Applies a key of the limits on the process, the last ones that pair_apply()
 * tries.  False: unknown, or the value is out of range. */
static bool
limit_apply(const char *key, size_t n_key, double v)
{
    struct alqi_preload_config *c = &alqi_preload_config;
    bool is_bytes = v >= 1 && v <= BYTES_MOST;

    if (is_key(key, n_key, "limit_live") && is_bytes)
        c->limit_bytes[ALQI_RAW_LIMIT_LIVE] = (uint64_t)v;
    else if (is_key(key, n_key, "limit_alloc") && is_bytes)
        c->limit_bytes[ALQI_RAW_LIMIT_ALLOC] = (uint64_t)v;
    else if (is_key(key, n_key, "limit_notify"))
        c->has_limit_notify = v != 0;
    else if (is_key(key, n_key, "leaks"))
        c->has_leaks = v != 0;
    else
        return false;
    return true;
}

/* Applies a key and its value.  The n bytes of the value end at a comma or at
 * the end of the text, so no number goes on behind them.  False: unknown, or
 * the value is out of range. */
static bool
pair_apply(const char *key, size_t n_key, const char *text, size_t n)
{
    struct alqi_preload_config *c = &alqi_preload_config;
    double v;

    if (is_key(key, n_key, "preload")) {
        if (n < sizeof own_path)
            memcpy(own_path, text, n);
        c->is_recorded = true;
        return n < sizeof own_path;
    }
    if (is_key(key, n_key, "seed")) {
        c->seed = strtoull(text, NULL, 0);
        return true;
    }
    if (is_key(key, n_key, "control")) {
        c->has_control = n < sizeof c->control;
        memcpy(c->control, text, c->has_control ? n : 0);
        return c->has_control;
    }
    if (is_key(key, n_key, "allocator")) {
        bool fits = n < sizeof c->allocators;

        memcpy(c->allocators, text, fits ? n : 0);
        return fits;
    }
    if (is_key(key, n_key, "signal"))
        return signal_parse(text, n, &c->signal);
    if (is_key(key, n_key, "on_limit"))
        return on_limit_parse(text, n, &c->limit_signal);
    if (!number_parse(text, n, &v))
        return false;
    if (is_key(key, n_key, "interval") && v >= ALQI_WORD_BYTES)
        c->rate = ALQI_WORD_BYTES / v;
    else if (is_key(key, n_key, "probes") && v >= ALQI_WORD_BYTES &&
             v <= PROBES_INTERVAL_MOST)
        c->probes_rate = ALQI_WORD_BYTES / v, c->has_probes = true;
    else if (is_key(key, n_key, "rate") && v >= 0 && v <= 1)
        c->rate = v;
    else if (is_key(key, n_key, "depth") && v >= 1 && v <= ALQI_RAW_FRAMES_MAX)
        c->depth_frames = (uint32_t)v;
    else if (is_key(key, n_key, "exact"))
        c->is_exact = v != 0;
    else if (is_key(key, n_key, "max_memory") && v >= 0 && v <= BYTES_MOST)
        c->max_memory_bytes = (uint64_t)v;
    else if (is_key(key, n_key, "reserve") && v >= 0 && v <= BYTES_MOST)
        c->reserve_bytes = (size_t)v;
    else if (is_key(key, n_key, "follow"))
        c->follow = v != 0 ? ALQI_PRELOAD_FOLLOW : ALQI_PRELOAD_LEAVE;
    else if (is_key(key, n_key, "notes"))
        has_notes = v != 0;
    else if (is_key(key, n_key, "mmap"))
        c->is_tracking_mmap = v != 0;
    else if (is_key(key, n_key, "attacher") && v >= 0 && v <= INT_MAX)
        c->attacher_pid = (uint32_t)v;
    else if (is_key(key, n_key, "watch"))
        c->is_watching = v != 0;
    else if (is_key(key, n_key, "heap"))
        c->is_tracing_heap = v != 0;
    else if (is_key(key, n_key, "rss"))
        c->has_no_rss = v == 0;
    else if (is_key(key, n_key, "python"))
        c->has_no_python = v == 0;
    else if (is_key(key, n_key, "native"))
        c->has_native_python = v != 0;
    else
        return limit_apply(key, n_key, v);
    return true;
}

/* Takes the pattern of the recording's name. A letter of nothing stays in the
 * name, with a warning. */
static void
out_take(const char *pattern)
{
    const char *stray = alqi_base_pattern_stray(pattern, ALQI_PRELOAD_LETTERS);

    if (strlen(pattern) >= sizeof alqi_preload_config.out) {
        warn("too long: out=", pattern, strlen(pattern));
        return;
    }
    if (stray != NULL)
        warn("out: only %e, %h, %n, %p and %% stand for something, not", stray,
             2);
    strcpy(alqi_preload_config.out, pattern);
}

/* Applies the text key by key, with a warning for each that does not apply.
 * `out` comes last, since it takes the rest of the text. */
static void
text_parse(const char *text)
{
    while (*text != '\0') {
        size_t n = strcspn(text, ",");
        const char *equals = memchr(text, '=', n);
        size_t n_key = equals != NULL ? (size_t)(equals - text) : n;

        if (equals != NULL && is_key(text, n_key, "out")) {
            out_take(equals + 1);
            return;
        }
        if (equals == NULL
                ? !word_apply(text, n)
                : !pair_apply(text, n_key, equals + 1, n - n_key - 1))
            warn("unknown key or value out of range:", text, n);
        text += n;
        text += *text == ',';
    }
}

/* ---- the environment -------------------------------------------------------
 */

/* The place in envp of a variable, for variable_remove(); NULL: not set. */
static char **
variable_find(char **envp, const char *name)
{
    size_t n = strlen(name);

    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return envp;
    return NULL;
}

/* In place: main()'s third argument and environ are one array.  The text goes,
 * too: /proc shows it. */
static void
variable_remove(char **at)
{
    memset(*at, 0, strlen(*at));
    do
        at[0] = at[1];
    while (*at++ != NULL);
}

/* Takes our entry, and the separator behind or before it, out of the list. */
void
alqi_preload_config_entry_remove(char **envp)
{
    char **at = variable_find(envp, "LD_PRELOAD");
    size_t n = strlen(own_path);
    char *list, *p;

    if (at == NULL || n == 0)
        return;
    list = *at + strlen("LD_PRELOAD=");
    p = strstr(list, own_path);
    if (p == NULL)
        return;
    if (p[n] == ':' || p[n] == ' ')
        n++;
    else if (p > list)
        p--, n++;
    memmove(p, p + n, strlen(p + n));
    memset(p + strlen(p) - n, 0, n);
    if (*list == '\0')
        variable_remove(at);
}

/* Configures a recording by MEMTRACE and MEMTRACE_RATE, which may be "". */
static void
memtrace_settle(const char *path, const char *rate)
{
    struct alqi_preload_config *c = &alqi_preload_config;

    c->rate = ALQI_DEFAULT_MEMTRACE_RATE;
    if (*rate != '\0' && (!number_parse(rate, strlen(rate), &c->rate) ||
                          !(c->rate > 0 && c->rate <= 1))) {
        alqi_preload_log(
            "not recording: MEMTRACE_RATE is not a number above 0, 1 at most");
        return;
    }
    if (strlen(path) >= sizeof c->out) {
        alqi_preload_log("not recording: the path in MEMTRACE is too long");
        return;
    }
    strcpy(c->out, path);
    c->is_memtrace = c->is_on = true;
}

/* Once for the process, as memtrace: its children are not traced. */
static void
memtrace_read(char **envp)
{
    char **at = variable_find(envp, "MEMTRACE"), **rate;

    if (at == NULL || (*at)[strlen("MEMTRACE=")] == '\0')
        return;
    rate = variable_find(envp, "MEMTRACE_RATE");
    memtrace_settle(*at + strlen("MEMTRACE="),
                    rate != NULL ? *rate + strlen("MEMTRACE_RATE=") : "");
    variable_remove(at);
    rate = variable_find(envp, "MEMTRACE_RATE");
    if (rate != NULL)
        variable_remove(rate);
}

/* Off, but not for good, or here for its probes. */
static bool
is_startable_later(const struct alqi_preload_config *c)
{
    return c->is_off || c->has_control || c->signal != 0 || c->has_probes;
}

/* What a whole machine may be set to is its children's, too. */
static bool
is_for_all(void)
{
    const struct alqi_preload_config *c = &alqi_preload_config;

    return c->is_off || (c->has_probes && !c->is_on);
}

/* Every block where every block is recorded, unless said otherwise. */
static void
probes_settle(void)
{
    struct alqi_preload_config *c = &alqi_preload_config;

    if (c->has_probes && c->probes_rate == 0)
        c->probes_rate = c->is_exact && c->is_on ? 1 : ALQI_DEFAULT_RATE;
}

/* A variable too long for that is the program's that is executed, no more. */
static void
passed_keep(const char *variable)
{
    const char *out = alqi_preload_config.out, *slash = strrchr(out, '/');

    if (strlen(variable) < sizeof passed)
        strcpy(passed, variable);
    if (has_notes && slash != NULL &&
        memchr(out, '%', (size_t)(slash - out)) == NULL)
        snprintf(notes, sizeof notes, "%.*s/" ALQI_RAW_UNRECORDED,
                 (int)(slash - out), out);
}

void
alqi_preload_config_attach(const char *settings)
{
    struct alqi_preload_config *c = &alqi_preload_config;
    uint32_t depth = c->depth_frames;
    bool is_first = !atomic_load(&alqi_preload_is_up);

    *c = defaults;
    text_parse(settings);
    if (!is_first)
        c->depth_frames = depth;
}

void
alqi_preload_config_read(char **envp)
{
    struct alqi_preload_config *c = &alqi_preload_config;
    char **at = variable_find(envp, "ALIQUOT");

    if (at != NULL)
        text_parse(*at + strlen("ALIQUOT="));
    if (c->out[0] == '\0' && !c->is_off && !c->has_control && c->signal == 0)
        memtrace_read(envp);
    if (c->is_off && c->is_exact) {
        alqi_preload_log("ALIQUOT: exact is ignored with off: what is started "
                         "later is sampled");
        c->is_exact = false;
    }
    if (!c->is_memtrace)
        c->is_on = c->out[0] != '\0' && !c->is_off;
    probes_settle();
    if (at != NULL && !c->is_on && !is_startable_later(c))
        alqi_preload_log("ALIQUOT: nothing is recorded: it lacks out=FILE");
    if (at == NULL || c->is_memtrace)
        return;
    passed_keep(*at);
    if (c->follow == ALQI_PRELOAD_LEAVE ||
        (c->follow == ALQI_PRELOAD_UNSAID && !is_for_all())) {
        variable_remove(at);
        alqi_preload_config_entry_remove(envp);
    } else {
        is_kept = true;
    }
}
