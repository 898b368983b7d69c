/* snapshot_kit.c -- see snapshot_kit.h */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "plat/bare.h"
#include "snapshot_kit.h"
#include "wire/dump_decode.h"

#define CHECK(e) ((e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e))

bool
shot_copies(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return false;
#elif defined(__x86_64__)
    return true;
#else /* qemu-user refuses a process that sends no signal */
    long pid = alqi_plat_bare_copy();

    if (pid == 0)
        alqi_plat_bare_exit(0);
    return pid > 0 && alqi_plat_bare_wait(pid) == 0;
#endif
}

static void *
row_add(void *rows, size_t n, size_t row_bytes)
{
    void *grown = rows;

    if ((n & (n - 1)) == 0)
        grown = realloc(rows, (n == 0 ? 1 : 2 * n) * row_bytes);
    CHECK(grown != NULL);
    return grown;
}

static void
block_read(struct shot *shot, struct alqi_dump_decoder *in,
           const struct alqi_dump_block_read *b)
{
    struct shot_block *to;
    uint64_t target;
    bool is_new;

    shot->blocks = row_add(shot->blocks, shot->n_blocks, sizeof *to);
    to = &shot->blocks[shot->n_blocks++];
    *to = (struct shot_block){.address = b->address,
                              .wosize = b->wosize,
                              .kind_plus_1 = b->kind_plus_1,
                              .tag = b->tag,
                              .first_edge = shot->n_edges};
    while (alqi_dump_next_edge(in, &target)) {
        shot->edges = row_add(shot->edges, shot->n_edges, sizeof target);
        shot->edges[shot->n_edges++] = target;
        to->n_edges++;
    }
    *alqi_base_map_at(&shot->index, b->address, &is_new) = shot->n_blocks;
    CHECK(is_new); /* .inv.walked */
}

static void
text_copy(char to[SHOT_NAME_BYTES], const struct alqi_dump_text *text)
{
    size_t n = text->n < SHOT_NAME_BYTES ? text->n : SHOT_NAME_BYTES - 1;

    memcpy(to, text->bytes, n);
    to[n] = '\0';
}

static void
site_read(struct shot *shot, const struct alqi_dump_record *r)
{
    struct alqi_dump_record copy = *r;
    struct alqi_dump_site_frame frame;
    struct shot_site *to;

    shot->sites = row_add(shot->sites, shot->n_sites, sizeof *to);
    to = &shot->sites[shot->n_sites];
    *to =
        (struct shot_site){.number = r->numbers[0], .n_frames = r->numbers[1]};
    CHECK(to->number == shot->n_sites++);
    if (to->n_frames == 0)
        return;
    alqi_dump_next_frame(&copy, &frame);
    to->address = frame.address;
    text_copy(to->function, &frame.function);
}

static void
root_read(struct shot *shot, const struct alqi_dump_record *r)
{
    struct shot_root *to;

    shot->roots = row_add(shot->roots, shot->n_roots, sizeof *to);
    to = &shot->roots[shot->n_roots++];
    *to = (struct shot_root){r->numbers[0], r->numbers[1], r->numbers[2],
                             r->numbers[3], ""};
    text_copy(to->name, &r->texts[0]);
    CHECK(to->kind < ALQI_DUMP_ROOTS);
}

static void
sample_read(struct shot *shot, const struct alqi_dump_record *r)
{
    struct shot_sample *to;

    shot->samples = row_add(shot->samples, shot->n_samples, sizeof *to);
    to = &shot->samples[shot->n_samples++];
    *to = (struct shot_sample){r->numbers[0], r->numbers[1], r->numbers[2], 0};
    memcpy(&to->rate, &r->numbers[3], sizeof to->rate);
    CHECK(to->site < shot->n_sites); /* .inv.dump_order */
}

static void
traced_read(struct shot *shot, const struct alqi_dump_record *r)
{
    shot->traced = row_add(shot->traced, shot->n_traced, sizeof *shot->traced);
    shot->traced[shot->n_traced++] =
        (struct shot_traced){r->numbers[0], r->numbers[1], r->numbers[2]};
}

static void
end_read(struct shot *shot, const struct alqi_dump_record *r)
{
    uint64_t n_words = 0;

    for (size_t i = 0; i < shot->n_blocks; i++)
        n_words += shot->blocks[i].wosize + 1;
    CHECK(r->numbers[0] == shot->n_blocks);
    CHECK(r->numbers[1] == n_words);
    CHECK(r->numbers[2] == shot->n_edges);
    CHECK(r->numbers[3] == shot->n_roots);
    CHECK(r->numbers[4] == shot->n_samples);
    shot->stop_ns = r->numbers[5];
    shot->is_copied = r->numbers[6] == 1;
}

static void
record_read(struct shot *shot, struct alqi_dump_decoder *in,
            const struct alqi_dump_record *r)
{
    struct alqi_dump_block_read block;

    switch (r->kind) {
    case ALQI_DUMP_PROGRAM:
        CHECK(r->numbers[0] == (uint64_t)getpid());
        shot->n_programs++;
        shot->pid = r->numbers[0];
        shot->wall_us = r->numbers[1];
        break;
    case ALQI_DUMP_MODULE:
        shot->n_modules++;
        break;
    case ALQI_DUMP_KIND:
        CHECK(alqi_base_map_put(
            &shot->kinds, r->numbers[0],
            (uintptr_t)strndup(r->texts[0].bytes, r->texts[0].n)));
        break;
    case ALQI_DUMP_SITE:
        site_read(shot, r);
        break;
    case ALQI_DUMP_ROOT:
        root_read(shot, r);
        break;
    case ALQI_DUMP_SAMPLE:
        sample_read(shot, r);
        break;
    case ALQI_DUMP_TRACED:
        traced_read(shot, r);
        break;
    case ALQI_DUMP_RUN:
        while (alqi_dump_next_block(in, &block))
            block_read(shot, in, &block);
        break;
    case ALQI_DUMP_END:
        end_read(shot, r);
        break;
    }
}

struct shot *
shot_read(int fd)
{
    struct shot *shot = calloc(1, sizeof *shot);
    struct alqi_dump_decoder in;
    struct alqi_dump_record r;
    struct stat st;
    int more;

    CHECK(shot != NULL && fstat(fd, &st) == 0);
    shot->n_bytes = (size_t)st.st_size;
    shot->bytes = malloc(shot->n_bytes + 1);
    CHECK(shot->bytes != NULL);
    CHECK(pread(fd, shot->bytes, shot->n_bytes, 0) == st.st_size);
    CHECK(alqi_dump_decode(&in, shot->bytes, shot->n_bytes));
    while ((more = alqi_dump_next(&in, &r)) > 0)
        record_read(shot, &in, &r);
    CHECK(more == 0 && in.error == NULL);
    CHECK(shot->n_programs == 1 && shot->n_modules > 0);
    return shot;
}

struct shot *
shot_take(struct alq_domain *on, unsigned flags)
{
    int fd = memfd_create("shot", MFD_CLOEXEC);
    struct shot *shot;

    CHECK(fd >= 0);
    CHECK(alq_heap_snapshot(on, fd, flags) == ALQ_OK);
    shot = shot_read(fd);
    CHECK(shot->is_copied == (!(flags & ALQ_SNAPSHOT_STOP) && shot_copies()));
    CHECK(close(fd) == 0);
    return shot;
}

void
shot_drop(struct shot *shot)
{
    uint64_t key, text;
    size_t at = 0;

    while (alqi_base_map_next(&shot->kinds, &at, &key, &text))
        free((void *)(uintptr_t)text);
    alqi_base_map_clear(&shot->kinds);
    alqi_base_map_clear(&shot->index);
    free(shot->blocks);
    free(shot->edges);
    free(shot->roots);
    free(shot->samples);
    free(shot->traced);
    free(shot->sites);
    free(shot->bytes);
    free(shot);
}

struct shot_block *
shot_find(const struct shot *shot, uint64_t address)
{
    uint64_t i;

    return alqi_base_map_get(&shot->index, address, &i) ? &shot->blocks[i - 1]
                                                        : NULL;
}

const struct shot_sample *
shot_sample_of(const struct shot *shot, uint64_t address)
{
    for (size_t i = 0; i < shot->n_samples; i++)
        if (shot->samples[i].block == address)
            return &shot->samples[i];
    return NULL;
}

const char *
shot_kind(const struct shot *shot, const struct shot_block *block)
{
    uint64_t text;

    return alqi_base_map_get(&shot->kinds,
                             block->kind_plus_1 > 0 ? block->kind_plus_1 - 1
                                                    : block->tag,
                             &text)
               ? (const char *)(uintptr_t)text
               : "";
}

size_t
shot_reach(struct shot *shot, uint64_t address)
{
    size_t n_todo = 0, n = 0;
    struct shot_block **todo = malloc((shot->n_blocks + 1) * sizeof *todo);
    struct shot_block *block = shot_find(shot, address);

    CHECK(todo != NULL && block != NULL);
    if (!block->is_reached) {
        block->is_reached = true;
        todo[n_todo++] = block;
    }
    for (; n_todo > 0; n++) {
        block = todo[--n_todo];
        for (size_t i = 0; i < block->n_edges; i++) {
            struct shot_block *to =
                shot_find(shot, shot->edges[block->first_edge + i]);

            CHECK(to != NULL); /* what is reached is no garbage */
            if (to->is_reached)
                continue;
            to->is_reached = true;
            todo[n_todo++] = to;
        }
    }
    free(todo);
    return n;
}

size_t
shot_reach_all(struct shot *shot)
{
    size_t n = 0;

    for (size_t i = 0; i < shot->n_roots; i++)
        n += shot_reach(shot, shot->roots[i].block);
    return n;
}
