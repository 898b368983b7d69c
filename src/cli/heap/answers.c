/* answers.c -- questions of a server to the pages of `aliquot heap`
 *                                                               [answers.h]
 *
 * States: opened and solved -> the first question of a path opens the file a
 * second time, flat, as `aliquot heap --path` does -> dropped. */
#include "cli/heap/answers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/heap/heap.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"
#include "cli/tool/unpack.h"
#include "view/query.h"

enum {
    PARTS = 2000,
    PARTS_LEAST = 8,
    PARTS_STEP = 4, /* fewer, where the text is too large */
    ANSWER_MAX = 1000000,
    DEPTH_MAX = 64,
    TOP_MAX = 1000
};

struct alqi_cli_heap_answers {
    const char *path;
    struct alqi_cli_heap_run run;
    struct alqi_cli_heap_run flat; /* for ways */
    bool has_flat;
};

/* What is no regular file is left alone: a pipe can be read once. */
bool
alqi_cli_heap_answers_is(const char *path)
{
    char magic[sizeof ALQI_DUMP_MAGIC - 1];
    struct alqi_cli_unpack *unpack;
    struct stat st;
    bool is = false;
    int fd;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    unpack = alqi_cli_unpack_new(fd);
    is = alqi_cli_unpack_read(unpack, magic, sizeof magic) == sizeof magic &&
         memcmp(magic, ALQI_DUMP_MAGIC, sizeof magic) == 0;
    alqi_cli_unpack_drop(unpack);
    close(fd);
    return is;
}

int
alqi_cli_heap_answers_open(struct alqi_cli_heap_answers **answers,
                           const char *path)
{
    struct alqi_cli_heap_answers *a = alqi_cli_zeros(1, sizeof *a);
    uint64_t since_us = alqi_cli_mono_us();
    int rc = alqi_cli_heap_open(&a->run.snapshot, path, false);

    *answers = a;
    a->path = path;
    if (rc >= 0)
        return rc;
    alqi_cli_heap_solve(&a->run.snapshot);
    a->run.solve_us = alqi_cli_mono_us() - since_us;
    a->run.is_json = a->flat.is_json = true;
    return -1;
}

void
alqi_cli_heap_answers_drop(struct alqi_cli_heap_answers *a)
{
    if (a == NULL)
        return;
    alqi_cli_heap_close(&a->run.snapshot);
    if (a->has_flat)
        alqi_cli_heap_close(&a->flat.snapshot);
    free(a);
}

/* ---- questions ----------------------------------------------------------- */

/* Each takes its keys, and returns the run that is to be shown; NULL: the
 * query's error says why not. */
static struct alqi_cli_heap_run *
take_page(struct alqi_cli_heap_answers *a, struct alqi_view_query *q)
{
    a->run.top = alqi_view_query_number(q, "top", 1, TOP_MAX, 30);
    return &a->run;
}

static struct alqi_cli_heap_run *
take_tree(struct alqi_cli_heap_answers *a, struct alqi_view_query *q)
{
    a->run.top = 0;
    a->run.below = alqi_view_query_get(q, "below");
    a->run.depth = alqi_view_query_number(q, "depth", 1, DEPTH_MAX, 12);
    return &a->run;
}

static struct alqi_cli_heap_run *
take_holders(struct alqi_cli_heap_answers *a, struct alqi_view_query *q)
{
    a->run.top = 0;
    a->run.depth = alqi_view_query_number(q, "depth", 1, DEPTH_MAX, 16);
    return &a->run;
}

/* The file is still there, or was replaced: then it is another heap, which is
 * said rather than mixed with the first one. */
static bool
flat_open(struct alqi_cli_heap_answers *a, struct alqi_view_query *q)
{
    const struct alqi_cli_heap_snapshot *s = &a->run.snapshot;

    if (a->has_flat)
        return true;
    if (alqi_cli_heap_open(&a->flat.snapshot, a->path, true) < 0 &&
        a->flat.snapshot.all.n_blocks == s->all.n_blocks &&
        a->flat.snapshot.wall_us == s->wall_us) {
        a->has_flat = true;
        return true;
    }
    alqi_cli_heap_close(&a->flat.snapshot);
    alqi_view_query_fail(q, "%.200s is no longer what it was", a->path);
    return false;
}

static struct alqi_cli_heap_run *
take_path(struct alqi_cli_heap_answers *a, struct alqi_view_query *q)
{
    a->flat.path = alqi_view_query_get(q, "what");
    a->flat.top = alqi_view_query_number(q, "top", 1, TOP_MAX, 3);
    if (a->flat.path == NULL)
        alqi_view_query_fail(q, "what=: an address, kind:TEXT or site:TEXT");
    return a->flat.path != NULL && flat_open(a, q) ? &a->flat : NULL;
}

static void
show_tree(struct alqi_cli_heap_run *run)
{
    alqi_cli_heap_tree(run);
}

static void
show_path(struct alqi_cli_heap_run *run)
{
    alqi_cli_heap_path(run);
}

static const struct question {
    const char *name;
    struct alqi_cli_heap_run *(*take)(struct alqi_cli_heap_answers *a,
                                      struct alqi_view_query *q);
    void (*show)(struct alqi_cli_heap_run *run);
} questions[] = {
    {"page", take_page, alqi_cli_heap_page},
    {"tree", take_tree, show_tree},
    {"holders", take_holders, alqi_cli_heap_holders},
    {"path", take_path, show_path},
};

/* ---- answers ------------------------------------------------------------- */

/* The text of an error. */
static unsigned
refuse(unsigned status, const char *why, char **text)
{
    json_t *to = json_object();

    alqi_cli_json_set(to, "error", alqi_cli_json_clean(why));
    *text = json_dumps(to, JSON_COMPACT);
    json_decref(to);
    return status;
}

/* One showing; the text is freed if it is too large, and then NULL. */
static unsigned
show(const struct question *question, struct alqi_cli_heap_run *run,
     char **text)
{
    json_t *to = NULL;
    unsigned status = 200;

    run->taken = &to;
    question->show(run);
    run->taken = NULL;
    *text = json_dumps(to, JSON_COMPACT);
    if (*text == NULL)
        alqi_cli_die("view: out of memory");
    if (json_object_get(to, "error") != NULL)
        status = 400;
    json_decref(to);
    if (strlen(*text) <= ANSWER_MAX)
        return status;
    free(*text);
    *text = NULL;
    return 500;
}

static unsigned
show_what_fits(const struct question *question, struct alqi_cli_heap_run *run,
               char **text)
{
    unsigned status = 500;

    for (run->least_part = PARTS;
         status == 500 && run->least_part >= PARTS_LEAST;
         run->least_part /= PARTS_STEP)
        status = show(question, run, text);
    return status != 500 ? status
                         : refuse(500, "the answer is too large", text);
}

unsigned
alqi_cli_heap_answer(struct alqi_cli_heap_answers *a, const char *name,
                     const char *query, char **text, size_t *n_bytes)
{
    struct alqi_view_query q;
    struct alqi_cli_heap_run *run = NULL;
    const struct question *question = NULL;
    unsigned status;

    for (size_t i = 0; i < ALQI_COUNT_OF(questions); i++)
        if (strcmp(questions[i].name, name) == 0)
            question = &questions[i];
    if (alqi_view_query_parse(&q, query) && question != NULL)
        run = question->take(a, &q);
    if (question == NULL)
        status = refuse(404, "there is no such answer", text);
    else if (run == NULL || !alqi_view_query_done(&q) || q.error[0] != '\0')
        status = refuse(400, q.error, text);
    else
        status = show_what_fits(question, run, text);
    alqi_view_query_free(&q);
    *n_bytes = *text != NULL ? strlen(*text) : 0;
    return status;
}
