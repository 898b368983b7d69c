/* top_part.c -- a process that is watched: what it says, what it has recorded
 *
 * .inv.ended A process that has ended keeps its last picture, of all that it
 *            recorded: its file is read to the end first. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/live/top.h"
#include "wire/side.h"

/* A process that answers slowly holds up the screen no longer; two moments more
 * than the window has steps are kept. */
enum { ANSWER_MS = 2000, PASTS_A_WINDOW = ALQI_CLI_TOP_PASTS - 2 };

/* ---- what it is ---------------------------------------------------------- */

/* Nothing is asked yet: top_part_ask() finds out what there is. */
void
alqi_cli_top_part_init(struct alqi_cli_top_part *p,
                       const struct alqi_cli_control_target *target, pid_t pid,
                       bool is_heap)
{
    memset(p, 0, sizeof *p);
    p->pid = pid;
    p->is_heap = is_heap;
    p->has_control = true;
    p->target = (struct alqi_cli_control_target){
        .verb = target->verb,
        .pid = pid,
        .control = target->control,
        .is_heap = is_heap,
        .answer_ms = ANSWER_MS,
    };
}

void
alqi_cli_top_part_init_file(struct alqi_cli_top_part *p, const char *path)
{
    memset(p, 0, sizeof *p);
    snprintf(p->path, sizeof p->path, "%s", path);
}

/* Forgets the n oldest moments. */
static void
pasts_forget(struct alqi_cli_top_part *p, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(p->pasts[i].sums);
    p->n_pasts -= n;
    memmove(p->pasts, p->pasts + n, p->n_pasts * sizeof *p->pasts);
}

/* Frees the picture, if there is one; its names are the follower's. */
static void
picture_forget(struct alqi_cli_top_part *p)
{
    if (p->has_picture)
        alqi_cli_analysis_picture_free(&p->picture);
    p->has_picture = false;
}

/* Forgets the file: what was read, the moments, the rates. The generation tells
 * a tree that was made of it. */
static void
follow_forget(struct alqi_cli_top_part *p)
{
    picture_forget(p);
    pasts_forget(p, p->n_pasts);
    free(p->recent);
    p->recent = NULL;
    p->n_recent = 0;
    alqi_cli_follow_drop(p->follow);
    p->follow = NULL;
    p->generation++;
}

void
alqi_cli_top_part_free(struct alqi_cli_top_part *p)
{
    follow_forget(p);
    memset(p, 0, sizeof *p);
}

/* ---- what it says -------------------------------------------------------- */

/* Whether what is allocated is known at the moment. */
static bool
is_sampling(const struct alqi_cli_top_part *p)
{
    return strcmp(p->state, "sampling") == 0 || strcmp(p->state, "exact") == 0;
}

/* While nothing is sampled nobody knows what is allocated: rates begin anew. An
 * unknown state counts as sampling. */
static void
state_take(struct alqi_cli_top_part *p, const char *reply)
{
    bool was_sampling = p->state[0] == '\0' || is_sampling(p);

    alqi_side_get(reply, "state", p->state, sizeof p->state);
    if (was_sampling && is_sampling(p))
        return;
    pasts_forget(p, p->n_pasts);
    p->is_resumed = true;
}

/* A managed heap may have another trace, after the one that ended with it. */
static void
file_take(struct alqi_cli_top_part *p, const char *file)
{
    char path[sizeof p->path];

    if (file[0] == '\0')
        return;
    alqi_cli_path_here(p->pid, file, path, sizeof path);
    if (strcmp(path, p->path) == 0)
        return;
    follow_forget(p);
    snprintf(p->path, sizeof p->path, "%s", path);
}

/* A whole number of the answer. */
static uint64_t
count(const char *reply, const char *key)
{
    return alqi_side_get_number(reply, key, 10);
}

/* Takes an answer: state, rate, counts, file. */
static void
reply_take(struct alqi_cli_top_part *p, const char *reply)
{
    char file[PATH_MAX] = "", note[ALQI_CLI_TOP_TEXT_BYTES] = "";

    p->is_answering = true;
    p->trouble[0] = '\0';
    if (alqi_side_get(reply, "note", note, sizeof note))
        snprintf(p->trouble, sizeof p->trouble, "the last start failed: %.250s",
                 note);
    state_take(p, reply);
    alqi_side_get(reply, "file", file, sizeof file);
    p->rate = alqi_side_get_real(reply, "rate");
    p->heap_bytes = count(reply, "heap_bytes");
    p->counts = (struct alqi_cli_top_counts){
        .n_samples = count(reply, "samples"),
        .n_frees = count(reply, "frees"),
        .n_dropped =
            count(reply, "dropped_nested") + count(reply, "dropped_nomem") +
            count(reply, "dropped_space") + count(reply, "dropped_cap"),
        .n_lost = count(reply, "lost_frees"),
    };
    file_take(p, file);
}

/* What the request would say on stderr becomes the part's trouble. */
bool
alqi_cli_top_part_command(struct alqi_cli_top_part *p, const char *command,
                          double rate, const char *output)
{
    char reply[ALQI_CLI_REPLY_BYTES], said[ALQI_CLI_TOP_TEXT_BYTES];
    size_t n_verb = strlen(p->target.verb);
    int rc;

    alqi_cli_say_into(said, sizeof said);
    rc = alqi_cli_command(&p->target, command, rate, output, reply);
    alqi_cli_say_into(NULL, 0);
    if (rc < 0) {
        reply_take(p, reply);
        return true;
    }
    p->is_answering = false;
    alqi_cli_clean(p->trouble, sizeof p->trouble,
                   strncmp(said, p->target.verb, n_verb) == 0 &&
                           strncmp(said + n_verb, ": ", 2) == 0
                       ? said + n_verb + 2
                       : said);
    return false;
}

/* Opens the part's file; a failure is its trouble, unless there is one
 * already. */
static void
file_open(struct alqi_cli_top_part *p)
{
    char why[256];

    p->follow =
        alqi_cli_follow_open(p->path, p->pid, p->is_indexed, why, sizeof why);
    if (p->follow != NULL) {
        p->is_heap = alqi_cli_follow_is_heap(p->follow);
        if (p->pid == 0)
            p->pid = alqi_cli_follow_pid(p->follow);
    } else if (p->trouble[0] == '\0') {
        snprintf(p->trouble, sizeof p->trouble, "cannot read %.150s: %.100s",
                 p->path, why);
    }
}

/* The program's name: of the recording, else the kernel's short one. */
static void
command_find(struct alqi_cli_top_part *p)
{
    const struct alqi_cli_analysis *a;

    if (p->follow == NULL || p->command[0] != '\0') {
        if (p->command[0] == '\0')
            snprintf(p->command, sizeof p->command, "%s", p->proc.command);
        return;
    }
    a = alqi_cli_follow_analysis(p->follow);
    alqi_cli_clean(p->command, sizeof p->command,
                   alqi_base_file_name(a->info->executable));
}

/* "snapshot" makes the process write out what it holds back, and answers with
 * its state. A process that does not answer may have ended meanwhile. */
void
alqi_cli_top_part_ask(struct alqi_cli_top_part *p)
{
    struct alqi_cli_proc proc;

    if (!p->has_control && p->follow != NULL) /* the number may be reused */
        p->is_gone |= p->reading == ALQI_CLI_FOLLOW_OVER;
    if (p->pid != 0 && !p->is_gone) {
        p->is_gone = !alqi_cli_proc_read(p->pid, &proc);
        if (!p->is_gone)
            p->proc = proc;
    }
    if (p->has_control && !p->is_gone &&
        !alqi_cli_top_part_command(p, "snapshot", 0, NULL))
        p->is_gone = p->pid != 0 && !alqi_cli_proc_read(p->pid, &proc);
    if (p->is_gone)
        p->trouble[0] = '\0';
    if (p->follow == NULL && p->path[0] != '\0')
        file_open(p);
    command_find(p);
}

/* ---- what it has recorded ------------------------------------------------ */

/* Damage becomes the part's trouble; what was read before it stays. */
bool
alqi_cli_top_part_read(struct alqi_cli_top_part *p, uint64_t budget_us)
{
    if (p->follow == NULL)
        return false;
    p->reading = alqi_cli_follow_read(p->follow, budget_us);
    if (alqi_cli_follow_damage(p->follow)[0] != '\0')
        snprintf(p->trouble, sizeof p->trouble, "the file is damaged: %.200s",
                 alqi_cli_follow_damage(p->follow));
    return p->reading == ALQI_CLI_FOLLOW_BEHIND;
}

/* Fills what was allocated since the oldest moment that is kept, or since the
 * beginning if none is. */
static void
recent_take(struct alqi_cli_top_part *p, uint64_t now_us)
{
    static const struct alqi_cli_top_past beginning;
    const struct alqi_cli_analysis *a = &p->picture;
    const struct alqi_cli_top_past *past =
        p->n_pasts > 0 ? &p->pasts[0] : &beginning;

    p->recent = alqi_cli_realloc(p->recent, a->n_sites, sizeof *p->recent);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        p->recent[i] = a->sites[i].sums[ALQI_CLI_ALLOCATED];
        if (i < past->n)
            alqi_cli_sum_since(&p->recent[i], &past->sums[i]);
    }
    p->n_recent = a->n_sites;
    p->recent_all = a->totals[ALQI_CLI_ALLOCATED];
    alqi_cli_sum_since(&p->recent_all, &past->all);
    p->recent_us = p->n_pasts > 0 ? now_us - past->us : a->end_us;
    if (p->is_resumed)
        p->recent_us = 0;
}

/* Keeps what is allocated now; requires room in pasts. */
static void
past_keep(struct alqi_cli_top_part *p, uint64_t now_us)
{
    const struct alqi_cli_analysis *a = &p->picture;
    struct alqi_cli_top_past *past = &p->pasts[p->n_pasts++];

    *past = (struct alqi_cli_top_past){
        .us = now_us,
        .n = a->n_sites,
        .sums = alqi_cli_realloc(NULL, a->n_sites, sizeof *past->sums),
        .all = a->totals[ALQI_CLI_ALLOCATED],
    };
    for (uint32_t i = 0; i < a->n_sites; i++)
        past->sums[i] = a->sites[i].sums[ALQI_CLI_ALLOCATED];
}

/* Keeps a moment a sixth of the window apart from the last, and drops those
 * that lie further back than the window needs. */
static void
pasts_renew(struct alqi_cli_top_part *p, uint64_t now_us, uint64_t window_us)
{
    if (p->n_pasts > 0 &&
        now_us - p->pasts[p->n_pasts - 1].us < window_us / PASTS_A_WINDOW)
        return;
    while (p->n_pasts > 1 && (p->n_pasts == ALQI_CLI_TOP_PASTS ||
                              now_us - p->pasts[1].us >= window_us))
        pasts_forget(p, 1);
    past_keep(p, now_us);
}

/* The picture must go before the file is read on (analysis.h), and is made anew
 * here. A process that has ended keeps the rates of before. */
void
alqi_cli_top_part_look(struct alqi_cli_top_part *p, uint64_t window_us)
{
    uint64_t now_us = alqi_cli_mono_us();

    if (p->follow == NULL)
        return;
    picture_forget(p);
    alqi_cli_analysis_picture(alqi_cli_follow_analysis(p->follow), &p->picture);
    p->has_picture = true;
    if (p->is_gone && p->n_recent > 0) /* rates are those before the end */
        return;
    recent_take(p, now_us);
    p->is_resumed &= !is_sampling(p);
    if (!p->is_resumed)
        pasts_renew(p, now_us, window_us);
}
