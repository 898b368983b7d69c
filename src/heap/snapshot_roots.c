/* snapshot_roots.c -- roots with their kinds and names, for a snapshot
 *
 * They are gathered in the stop, since scanners are the program's functions,
 * and written later: a list of chunks that grows.
 *
 * Keeps .inv.copy_bare: What is written is read from the list, from sites,
 * which are static, and from names of ranges, which stay as long as these. */
#include "heap/final.h"
#include "heap/observe_calls.h"
#include "heap/root.h"
#include "heap/root_ambiguous.h"
#include "heap/root_stack.h"
#include "heap/snapshot.h"
#include "heap/snapshot_state.h"

enum { NAME_BYTES = 256 };

/* Whose roots are shown, and of which kind. */
struct shown {
    struct alqi_heap_snapshot *s;
    struct alqi_heap_snapshot_root root;
    bool has_slot; /* root.slot names it: not the address of each */
};

/* ---- gathering ---------------------------------------------------------- */

static void
root_add(struct alqi_heap_snapshot *s,
         const struct alqi_heap_snapshot_root *root)
{
    struct alqi_heap_snapshot_chunk *chunk = s->roots;

    if (chunk == NULL || chunk->n == ALQI_HEAP_SNAPSHOT_ROOTS) {
        chunk = alqi_plat_pages_map(sizeof *chunk);
        if (chunk == NULL) {
            s->is_short = true;
            return;
        }
        chunk->next = s->roots;
        s->roots = chunk;
    }
    chunk->roots[chunk->n++] = *root;
}

/* A visitor of slots; arg: a struct shown. */
static void
slot_visit(void *arg, alq_value *slot)
{
    struct shown *shown = arg;
    struct alqi_heap_snapshot_root *root = &shown->root;

    root->block = alqi_heap_snapshot_target(shown->s->leader, *slot);
    if (root->block == ALQ_NULL)
        return;
    if (!shown->has_slot)
        root->slot = (uintptr_t)slot;
    root_add(shown->s, root);
}

static struct shown
shown_of(struct alqi_heap_snapshot *s, const struct alqi_domain *of,
         enum alqi_dump_root kind)
{
    return (struct shown){
        .s = s, .root = {.domain = of != NULL ? of->id : 0, .kind = kind}};
}

static void
frames_gather(struct alqi_heap_snapshot *s, const struct alqi_domain *of,
              struct alq_frame *f)
{
    struct shown shown = shown_of(s, of, ALQI_DUMP_ROOT_FRAME);
    unsigned i;

    for (; f != NULL; f = f->outer) {
        shown.root.site = f->site;
        for (i = 0; i < f->site->n_slots; i++)
            slot_visit(&shown, (alq_value *)(f + 1) + i);
    }
}

static void
ranges_gather(struct alqi_heap_snapshot *s, const struct alqi_domain *of)
{
    struct shown shown = shown_of(s, of, ALQI_DUMP_ROOT_RANGE);
    const struct alq_range *range;
    alq_value *slot;

    for (range = of->roots.ranges; range != NULL; range = range->next) {
        shown.root.what = range->what;
        for (slot = range->base; slot < *range->top; slot++) {
            if (range->name != NULL && alq_is_block(*slot))
                shown.root.name =
                    range->name(range, (size_t)(slot - range->base));
            slot_visit(&shown, slot);
        }
        shown.root.name = NULL;
    }
}

/* A free one looks like an integer. */
static void
boxes_gather(struct alqi_heap_snapshot *s, const struct alqi_domain *of)
{
    struct shown shown = shown_of(s, of, ALQI_DUMP_ROOT_BOXED);
    struct alqi_heap_boxes *page;
    unsigned i;

    for (page = of->roots.boxes; page != NULL; page = page->next)
        for (i = 0; i < ALQI_HEAP_BOXES; i++)
            slot_visit(&shown, &page->roots[i].value);
}

static void
scanners_gather(struct alqi_heap_snapshot *s, const struct alqi_domain *of)
{
    struct shown shown = shown_of(s, of, ALQI_DUMP_ROOT_SCANNER);
    const struct alq_scanner *scanner;

    shown.has_slot = true;
    for (scanner = of->roots.scanners; scanner != NULL;
         scanner = scanner->next) {
        shown.root.slot = (uintptr_t)scanner->scan;
        scanner->scan(scanner->arg, slot_visit, &shown);
        alqi_heap_program_returned();
    }
}

static void
old_show(void *arg, alq_value block)
{
    slot_visit(arg, &block);
}

/* In the slice of a domain, maybe not of the thread whose word it is. */
static void
young_show(struct alqi_domain *of, alq_value block)
{
    struct alqi_heap_snapshot *s = of->heap->stop.leader->stop_arg;
    struct shown shown = shown_of(s, NULL, ALQI_DUMP_ROOT_STACK);

    shown.has_slot = true;
    slot_visit(&shown, &block);
}

static void
domain_gather(struct alqi_heap_snapshot *s, struct alqi_domain *of)
{
    struct shown host = shown_of(s, of, ALQI_DUMP_ROOT_HOST);
    struct shown profile = shown_of(s, of, ALQI_DUMP_ROOT_PROFILE);
    struct shown final = shown_of(s, of, ALQI_DUMP_ROOT_FINAL);
    struct shown stack = shown_of(s, of, ALQI_DUMP_ROOT_STACK);
    const struct alq_thread *thread;

    frames_gather(s, of, of->pub.frames);
    for (thread = of->threads.all; thread != NULL; thread = thread->next)
        frames_gather(s, of, thread->frames);
    ranges_gather(s, of);
    boxes_gather(s, of);
    scanners_gather(s, of);
    if (ALQI_HOSTS_OCAML)
        alqi_heap_host_places_stw(of, slot_visit, &host);
    alqi_heap_observed_scan(of, false, slot_visit, &profile);
    alqi_heap_final_visit_held_stw(of, slot_visit, &final);
    stack.has_slot = true;
    if (alqi_heap_stack_is_any(of->heap))
        alqi_heap_ambiguous_old_stw(of, old_show, &stack);
    if (s->more->gather_stw != NULL && !s->more->gather_stw(s->more->arg, of))
        s->is_short = true;
}

static void
pins_gather(struct alqi_heap_snapshot *s, const struct alqi_heap *heap)
{
    struct shown shown = shown_of(s, NULL, ALQI_DUMP_ROOT_PIN);
    size_t i;

    shown.has_slot = true;
    for (i = 0; i < heap->pins.n; i++)
        slot_visit(&shown, &heap->pins.entries[i].value);
}

void
alqi_heap_snapshot_roots_gather_stw(struct alqi_heap_snapshot *s)
{
    struct alqi_heap *heap = s->leader->heap;
    struct shown global = shown_of(s, NULL, ALQI_DUMP_ROOT_GLOBAL);
    struct shown transfer = shown_of(s, NULL, ALQI_DUMP_ROOT_TRANSFER);
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    alqi_heap_roots_visit_globals(heap, slot_visit, &global);
    alqi_heap_roots_visit_transfer(heap, slot_visit, &transfer);
    pins_gather(s, heap);
    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i]))
            domain_gather(s, heap->domains[i]);
    alqi_heap_ambiguous_young_stw(s->leader, young_show);
}

/* ---- writing ------------------------------------------------------------ */

/* Puts as much of the text behind the n bytes of name as there is room for. */
static size_t
text_put(char name[NAME_BYTES], size_t n, const char *text)
{
    while (text != NULL && *text != '\0' && n < NAME_BYTES - 1)
        name[n++] = *text++;
    name[n] = '\0';
    return n;
}

/* The decimal digits of a number, without the libc. */
static void
number_put(char name[NAME_BYTES], size_t n, unsigned number)
{
    enum { DIGITS = 10 };
    char digits[DIGITS + 1];
    char *at = digits + DIGITS;

    *at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    text_put(name, n, at);
}

/* "function:line" of a frame, "what name" of a range; NULL: it has none. */
static const char *
name_of(const struct alqi_heap_snapshot_root *r, char name[NAME_BYTES])
{
    size_t n;

    if (r->site != NULL) {
        n = text_put(name, 0, r->site->function);
        number_put(name, text_put(name, n, ":"), r->site->line);
        return name;
    }
    if (r->what == NULL)
        return NULL;
    n = text_put(name, 0, r->what);
    if (r->name != NULL)
        text_put(name, text_put(name, n, " "), r->name);
    return name;
}

void
alqi_heap_snapshot_roots_write(struct alqi_heap_snapshot *s)
{
    const struct alqi_heap_snapshot_chunk *chunk;
    char name[NAME_BYTES];
    size_t i;

    for (chunk = s->roots; chunk != NULL; chunk = chunk->next)
        for (i = 0; i < chunk->n; i++) {
            const struct alqi_heap_snapshot_root *r = &chunk->roots[i];

            alqi_dump_root(&s->encoder, r->kind, r->domain, r->slot,
                           name_of(r, name), r->block);
        }
}
