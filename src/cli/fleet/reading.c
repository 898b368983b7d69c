/* reading.c -- a trace that is asked for again and again
 *
 * States: nothing read (not is_there); growing (is_growing), a follower reads
 * on at each update; finished (is_there alone), the analysis stays until
 * another file is at the path (is_another). The analysis belongs to a follower,
 * of which the export has a snapshot, or, where export.input is set, to an
 * input that was read once. A reading is used by one thread at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/tool/cli.h"
#include "cli/fleet/reading.h"
#include "cli/tool/memory.h"
#include "plat/plat.h"

enum { NS_PER_US = 1000, BUDGET_US = 1000000 };

void
alqi_cli_reading_init(struct alqi_cli_reading *r, const char *path, pid_t pid)
{
    memset(r, 0, sizeof *r);
    r->path = path;
    r->pid = pid;
    r->export.max_stacks = ALQI_CLI_PPROF_STACKS;
}

/* Frees what was read; a follower stays, and goes on from where it is. */
static void
picture_free(struct alqi_cli_reading *r)
{
    if (!r->is_there)
        return;
    r->is_there = false;
    if (r->export.input == NULL) {
        alqi_cli_analysis_picture_free(&r->export.analysis);
        return;
    }
    alqi_cli_analysis_free(&r->export.analysis);
    alqi_cli_input_drop(r->export.input);
    r->export.input = NULL;
}

void
alqi_cli_reading_free(struct alqi_cli_reading *r)
{
    picture_free(r);
    alqi_cli_follow_drop(r->follow);
    r->follow = NULL;
}

/* ---- reading on ---------------------------------------------------------- */

/* Reads all that is new and takes a snapshot. The time is taken before: what
 * comes while it reads belongs to the next update. */
static void
read_on(struct alqi_cli_reading *r)
{
    enum alqi_cli_follow_state state;

    r->wall_ns = alqi_plat_wall_ns_sigsafe();
    picture_free(r);
    do
        state = alqi_cli_follow_read(r->follow, BUDGET_US);
    while (state == ALQI_CLI_FOLLOW_BEHIND);
    alqi_cli_analysis_picture(alqi_cli_follow_analysis(r->follow),
                              &r->export.analysis);
    r->export.damage = alqi_cli_follow_damage(r->follow);
    r->is_growing = state == ALQI_CLI_FOLLOW_LEVEL;
    r->is_there = true;
}

/* ---- reading once -------------------------------------------------------- */

/* The remarks of a profile tell of damage. */
static void
warning_ignore(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    (void)text;
}

/* Reads a file that cannot be followed. The old analysis is dropped only once
 * the new input is open. -1, or the status to exit with. */
static int
read_once(struct alqi_cli_reading *r)
{
    struct alqi_cli_analysis_options options = {.watch = NULL};
    struct alqi_cli_input *input;
    int rc = alqi_cli_input_open(r->path, warning_ignore, NULL, &input);

    if (rc >= 0)
        return rc;
    picture_free(r);
    r->wall_ns = alqi_plat_wall_ns_sigsafe();
    r->is_growing = false;
    r->export.input = input;
    alqi_cli_analysis_run(&r->export.analysis, input, &options);
    r->is_there = true;
    return -1;
}

/* Whether another file is there now, and which one; a name that is gone means
 * the file that was there. */
static bool
is_another(const struct alqi_cli_reading *r, struct alqi_cli_reading_file *now)
{
    struct stat st;

    *now = r->file;
    if (strcmp(r->path, "-") == 0 || stat(r->path, &st) != 0)
        return !r->is_there;
    now->n_bytes = (uint64_t)st.st_size;
    now->changed_ns =
        (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    now->inode = st.st_ino;
    return !r->is_there || r->file.n_bytes != now->n_bytes ||
           r->file.changed_ns != now->changed_ns || r->file.inode != now->inode;
}

/* Opens the file that is at the path now. If it cannot be followed, read_once()
 * reads it, or says why not; but a follower that is there stays. Only a file
 * that was opened becomes r->file. */
static int
read_anew(struct alqi_cli_reading *r, const struct alqi_cli_reading_file *now)
{
    struct alqi_cli_follow *follow = NULL;
    char why[300];
    int rc;

    if (strcmp(r->path, "-") != 0)
        follow = alqi_cli_follow_open(r->path, r->pid, false, why, sizeof why);
    if (follow == NULL && r->follow == NULL) {
        rc = read_once(r);
        if (rc < 0)
            r->file = *now;
        return rc;
    }
    if (follow != NULL) {
        alqi_cli_reading_free(r);
        r->follow = follow;
        r->file = *now;
    }
    read_on(r);
    return -1;
}

/* A file that does not grow and is the same as before costs a stat(). One that
 * could not be read is not remembered: the next update tries it again. */
int
alqi_cli_reading_update(struct alqi_cli_reading *r)
{
    uint64_t begun_ns = alqi_plat_mono_ns_sigsafe();
    struct alqi_cli_reading_file now;
    int rc = -1;

    if (r->is_there && r->is_growing)
        read_on(r);
    else if (is_another(r, &now))
        rc = read_anew(r, &now);
    else
        return -1;
    r->took_ns = alqi_plat_mono_ns_sigsafe() - begun_ns;
    return rc;
}

/* The clock when a growing file was read, since its last event may be old; the
 * trace's end otherwise. */
uint64_t
alqi_cli_reading_taken_ns(const struct alqi_cli_reading *r)
{
    const struct alqi_cli_analysis *a = &r->export.analysis;

    return r->is_growing ? r->wall_ns
                         : (a->info->start_us + a->end_us) * NS_PER_US;
}

const char *
alqi_cli_reading_damage(const struct alqi_cli_reading *r)
{
    return r->export.input != NULL ? alqi_cli_input_damage(r->export.input)
                                   : r->export.damage;
}

/* ---- profiles ------------------------------------------------------------ */

/* Sets the export's choices anew for each profile: several readers ask in
 * turn. */
void *
alqi_cli_reading_pprof(struct alqi_cli_reading *r,
                       enum alqi_cli_measure measure,
                       const struct alqi_cli_moment *since, bool is_window,
                       size_t *n_bytes)
{
    struct alqi_cli_export *x = &r->export;
    char *bytes = NULL;
    FILE *out = alqi_cli_memory_open(&bytes, n_bytes);

    x->measure = measure;
    x->has_measure = true;
    x->part = (struct alqi_cli_export_part){
        .since = since,
        .is_window = is_window,
        .taken_ns = alqi_cli_reading_taken_ns(r),
        .is_quiet = true,
    };
    alqi_cli_export_pprof(x, out);
    alqi_cli_memory_close(out, "a profile");
    return bytes;
}
