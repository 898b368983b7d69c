/* ahead.c -- a thread reads a trace ahead of its analysis
 *
 * [ahead.h] A ring of batches; each of them
 *
 *            reader                          analysis
 *   free -------------> filled (queued) -------------> taken
 *     ^                                                  |
 *     +-------------- the next one is asked for ---------+
 *
 * The reader waits while no batch is free, the analysis while none is filled;
 * either is woken by the other one's step. Where no thread can be had, the
 * analysis fills each batch itself when it asks for it.
 *
 * .inv.batch   A batch is the reader's while it is free, and the analysis's
 *              from queued on; the mutex hands it over.
 * .inv.stacks  Until it has ended, the reader alone touches the stacks, which
 *              have moved in here so long, and the input, but for what never
 *              changes: its name, and what the trace's head says. What an event
 *              points to (a location's entries) stays where it is until the
 *              input is dropped, and is complete when its batch is queued. */
#include <pthread.h>
#include <stdlib.h>

#include "base/base.h"
#include "cli/analysis/ahead.h"
#include "cli/tool/cli.h"

enum { BATCHES = 4, LINE_BYTES = 64 };

struct alqi_cli_ahead {
    /* .inv.stacks; the caller's */
    struct alqi_cli_input *input;
    /* where the caller has the stacks */
    struct alqi_cli_stacks *home;
    /* Each event changes the stacks. Where they are, the analysis reads, for
     * each event, too; here they share no line with anything of the other's. */
    char apart[LINE_BYTES];
    struct alqi_cli_stacks stacks;
    char apart_too[LINE_BYTES];
    pthread_t thread;
    /* there is a thread */
    bool is_threaded;
    /* the analysis holds the batch of number n_freed */
    bool has_taken;
    /* protects what follows, up to `batches` */
    pthread_mutex_t mutex;
    /* a step was made: the reader queued a batch, or ended; one became free */
    pthread_cond_t stepped;
    /* batches queued, and given back, so far */
    uint64_t n_queued, n_freed;
    /* the reader has met the end of the input */
    bool is_over;
    /* batch number N is in place N modulo BATCHES */
    struct alqi_cli_batch batches[BATCHES];
};

static struct alqi_cli_batch *
batch_at(struct alqi_cli_ahead *a, uint64_t number)
{
    return &a->batches[number % BATCHES];
}

/* Adds an event to a batch that has room for it. */
static inline void
batch_put(struct alqi_cli_batch *b, const struct alqi_ctf_event *e,
          struct alqi_cli_stacks *stacks)
{
    struct alqi_cli_step *s = &b->steps[b->n++];

    *s = (struct alqi_cli_step){
        .time_us = e->time_us,
        .id = e->id,
        .length = e->length,
        .n_samples = e->n_samples,
        .domain = e->domain,
        .kind = (uint8_t)e->kind,
        .source = (uint8_t)e->source,
    };
    if (e->kind == ALQI_CTF_ALLOC)
        s->node = alqi_cli_stacks_of_event(stacks, e);
    if (e->kind != ALQI_CTF_LOCATION)
        return;
    b->locations =
        alqi_cli_grow(b->locations, b->n_locations, sizeof *b->locations);
    s->id = b->n_locations;
    b->locations[b->n_locations++] = e->location;
}

/* Fills a batch; false: the input is over, and there may be events still. */
static bool
batch_fill(struct alqi_cli_ahead *a, struct alqi_cli_batch *b)
{
    struct alqi_ctf_event event = {0};

    b->n = b->n_locations = 0;
    while (b->n < ALQI_CLI_BATCH_STEPS) {
        if (!alqi_cli_input_next(a->input, &event))
            return false;
        batch_put(b, &event, &a->stacks);
    }
    return true;
}

/* ---- the reader ------------------------------------------------------ */

/* The next free batch. */
static struct alqi_cli_batch *
free_wait(struct alqi_cli_ahead *a)
{
    struct alqi_cli_batch *b;

    pthread_mutex_lock(&a->mutex);
    while (a->n_queued - a->n_freed == BATCHES)
        pthread_cond_wait(&a->stepped, &a->mutex);
    b = batch_at(a, a->n_queued);
    pthread_mutex_unlock(&a->mutex);
    return b;
}

static void
queue(struct alqi_cli_ahead *a, bool is_over)
{
    pthread_mutex_lock(&a->mutex);
    a->n_queued++;
    a->is_over = is_over;
    pthread_cond_signal(&a->stepped);
    pthread_mutex_unlock(&a->mutex);
}

static void *
read_all(void *arg)
{
    struct alqi_cli_ahead *a = arg;
    bool goes_on = true;

    while (goes_on) {
        goes_on = batch_fill(a, free_wait(a));
        queue(a, !goes_on);
    }
    return NULL;
}

/* ---- the analysis ---------------------------------------------------- */

struct alqi_cli_ahead *
alqi_cli_ahead_begin(struct alqi_cli_input *input,
                     struct alqi_cli_stacks *stacks)
{
    struct alqi_cli_ahead *a = alqi_cli_zeros(1, sizeof *a);

    a->input = input;
    a->home = stacks;
    a->stacks = *stacks;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->stepped, NULL);
    a->is_threaded = pthread_create(&a->thread, NULL, read_all, a) == 0;
    return a;
}

/* Gives back the batch that was taken, and waits for another one. */
static bool
queued_wait(struct alqi_cli_ahead *a)
{
    bool is_there;

    pthread_mutex_lock(&a->mutex);
    if (a->has_taken) {
        a->n_freed++;
        pthread_cond_signal(&a->stepped);
    }
    while (a->n_queued == a->n_freed && !a->is_over)
        pthread_cond_wait(&a->stepped, &a->mutex);
    is_there = a->n_queued != a->n_freed;
    pthread_mutex_unlock(&a->mutex);
    return is_there;
}

/* Without a thread: the one batch in use is filled anew. */
static bool
fill_here(struct alqi_cli_ahead *a)
{
    if (a->is_over)
        return false;
    a->is_over = !batch_fill(a, batch_at(a, a->n_freed));
    return true;
}

const struct alqi_cli_batch *
alqi_cli_ahead_next(struct alqi_cli_ahead *a)
{
    a->has_taken = a->is_threaded ? queued_wait(a) : fill_here(a);
    return a->has_taken ? batch_at(a, a->n_freed) : NULL;
}

void
alqi_cli_ahead_end(struct alqi_cli_ahead *a)
{
    if (a->is_threaded)
        pthread_join(a->thread, NULL);
    *a->home = a->stacks;
    pthread_cond_destroy(&a->stepped);
    pthread_mutex_destroy(&a->mutex);
    for (unsigned i = 0; i < BATCHES; i++)
        free(a->batches[i].locations);
    free(a);
}
