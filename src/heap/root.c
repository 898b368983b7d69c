/* root.c -- the roots of a domain and of the heap
 *
 * Frames, ranges, boxed roots and scanners are a domain's.  Globals and
 * transfer roots are the heap's, in lists under `common_lock`.  Boxed roots lie
 * in pages; a minor collection visits only pages that may hold a young value.
 *
 * Keeps .inv.own: A domain's roots are read by its holder.
 * Keeps .inv.boxes: Storing a young value notes it in the root's page.
 * Keeps .inv.private: Adding a global escapes the young blocks, since every
 *   domain may read what is in it. */
#include "heap/hosted.h"
#include "heap/list.h"
#include "heap/observe_calls.h"
#include "heap/pin.h"
#include "heap/root.h"
#include "heap/minor_escape.h"
#include "plat/plat.h"

_Static_assert(sizeof(struct alqi_heap_boxes) == 4096, "a page of boxed roots");

/* The page that the root lies in.  Pages are 4096 bytes, aligned. */
static struct alqi_heap_boxes *
page_of(struct alq_root *root)
{
    return (struct alqi_heap_boxes *)((uintptr_t)root & ~(uintptr_t)4095);
}

/* ---- boxed roots -------------------------------------------------------- */

#if ALQI_CHECKS >= 1
static size_t
index_of(struct alq_root *root)
{
    return (size_t)(root - page_of(root)->roots);
}

/* Whether the root is one of the domain's that is not free: the check of
 * arguments.  The page is read before it is known to be one, so a wild pointer
 * may fault here. */
bool
alqi_heap_root_is_used(const struct alqi_domain *d, struct alq_root *root)
{
    const struct alqi_heap_boxes *page = page_of(root);
    size_t i = index_of(root);

    return page->owner == &d->roots && i < ALQI_HEAP_BOXES &&
           (page->used[i / 64] >> i % 64 & 1) != 0;
}

/* Notes whether the root is in use, for alqi_heap_root_is_used(). */
static void
use_set(struct alqi_heap_roots *roots, struct alq_root *root, bool is_used)
{
    struct alqi_heap_boxes *page = page_of(root);
    size_t i = index_of(root);
    uint64_t bit = (uint64_t)1 << i % 64;

    page->owner = roots;
    page->used[i / 64] = (page->used[i / 64] & ~bit) | (is_used ? bit : 0);
}
#else
#define use_set(roots, root, is_used) ((void)0)
#endif

/* Puts the root into the free list.  The link is an odd word, which visitors
 * take for an integer: so they read whole pages and need not know which roots
 * are free. */
static void
box_free(struct alqi_heap_roots *roots, struct alq_root *root)
{
    root->value = roots->free_box; /* an odd word, an integer to visitors */
    roots->free_box = (uintptr_t)root + 1;
    use_set(roots, root, false);
}

/* Adds a page of free roots; false: no memory.  Roots are freed from the last
 * to the first, so that they are handed out in the order of addresses. */
static bool
page_new(struct alqi_heap_roots *roots)
{
    struct alqi_heap_boxes *page = alqi_plat_pages_map(sizeof *page);
    unsigned i;

    if (page == NULL)
        return false;
    page->next = roots->boxes;
    roots->boxes = page;
    for (i = ALQI_HEAP_BOXES; i-- > 0;)
        box_free(roots, &page->roots[i]);
    return true;
}

/* Makes a boxed root that holds v.  NULL: no memory, and nothing has
 * changed. */
struct alq_root *
alqi_heap_root_new(struct alqi_domain *d, alq_value v)
{
    struct alqi_heap_roots *roots = &d->roots;
    struct alq_root *root;

    if (roots->free_box == 0 && !page_new(roots))
        return NULL;
    root = (struct alq_root *)(roots->free_box - 1);
    ALQI_ASSERT(root->value == 0 || root->value % 2 == 1); /* .inv.boxes */
    roots->free_box = root->value;
    use_set(roots, root, true);
    alqi_heap_root_set(d, root, v);
    return root;
}

/* Stores v into the root.  No write barrier is needed: a root is visited when
 * marking begins, and in each minor collection as long as its page may hold a
 * young value. */
void
alqi_heap_root_set(struct alqi_domain *d, struct alq_root *root, alq_value v)
{
    root->value = v;
    if (alqi_heap_is_young(d, v))
        page_of(root)->may_be_young = true;
}

void
alqi_heap_root_drop(struct alqi_domain *d, struct alq_root *root)
{
    box_free(&d->roots, root);
}

/* Whether any root of the page holds a young block. */
static bool
has_young(const struct alqi_domain *d, const struct alqi_heap_boxes *page)
{
    unsigned i;

    for (i = 0; i < ALQI_HEAP_BOXES; i++)
        if (alq_is_block(page->roots[i].value) &&
            alqi_heap_is_young(d, page->roots[i].value))
            return true;
    return false;
}

/* Visits the boxed roots; if young_only, those of pages that may hold a young
 * value.
 *
 * A minor collection leaves nothing young but blocks that stay in place.  So a
 * visited page is clean afterwards, unless blocks stay and a root still leads
 * to one of them. */
static void
boxes_visit(struct alqi_domain *d, bool young_only, alqi_heap_visit_fn *visit,
            void *arg)
{
    struct alqi_heap_boxes *page;
    unsigned i;

    for (page = d->roots.boxes; page != NULL; page = page->next) {
        ALQI_DEBUG(page->may_be_young || !has_young(d, page)); /* .inv.boxes */
        if (young_only && !page->may_be_young)
            continue;
        for (i = 0; i < ALQI_HEAP_BOXES; i++)
            visit(arg, &page->roots[i].value);
        if (young_only)
            page->may_be_young =
                alqi_heap_pin_is_active(d->heap) && has_young(d, page);
    }
}

/* ---- the heap's own ----------------------------------------------------- */

static struct alqi_plat_lock common_lock = ALQI_PLAT_LOCK(HEAP_GLOBALS);

/* Keeps other threads, which may run no domain, from the heap's own roots: over
 * a fork, so that the child finds the lock free. */
void
alqi_heap_roots_lock(void)
{
    alqi_plat_lock(&common_lock);
}

void
alqi_heap_roots_unlock(void)
{
    alqi_plat_unlock(&common_lock);
}

/* Makes the global's value a root of the heap.  The store of the escape comes
 * first: whoever finds the global finds has_escaped set, too. */
void
alqi_heap_global_add(struct alqi_heap *heap, struct alq_global *global)
{
    alqi_heap_escape(heap); /* anybody may read it, whatever is in it */
    alqi_plat_lock(&common_lock);
    ALQI_HEAP_LIST_ADD(heap->roots.globals, global);
    alqi_plat_unlock(&common_lock);
}

void
alqi_heap_global_remove(struct alq_global *global)
{
    alqi_plat_lock(&common_lock);
    ALQI_HEAP_LIST_REMOVE(global);
    alqi_plat_unlock(&common_lock);
}

void
alqi_heap_transfer_root_add(struct alqi_heap *heap,
                            struct alqi_heap_transfer_root *root)
{
    alqi_plat_lock(&common_lock);
    ALQI_HEAP_LIST_ADD(heap->roots.transfer, root);
    alqi_plat_unlock(&common_lock);
}

/* Takes the root out, if it is still in.  When the heap ends,
 * alqi_heap_transfer_roots_end() has emptied the list and set `link` to
 * NULL. */
void
alqi_heap_transfer_root_remove(struct alqi_heap_transfer_root *root)
{
    alqi_plat_lock(&common_lock);
    if (root->link != NULL)
        ALQI_HEAP_LIST_REMOVE(root);
    alqi_plat_unlock(&common_lock);
}

/* Empties the list when the heap ends.  The roots themselves belong to threads
 * and handles that outlive it, so each is set to a value that stays valid. */
void
alqi_heap_transfer_roots_end(struct alqi_heap *heap)
{
    struct alqi_heap_transfer_root *root;

    alqi_plat_lock(&common_lock);
    for (root = heap->roots.transfer; root != NULL; root = root->next) {
        root->value = ALQ_NULL;
        root->link = NULL;
    }
    heap->roots.transfer = NULL;
    alqi_plat_unlock(&common_lock);
}

/* Visits the globals alone: transfer roots are in the library's own memory, so
 * a search for roots on a stack need not see them. */
void
alqi_heap_roots_visit_globals(struct alqi_heap *heap, alqi_heap_visit_fn *visit,
                              void *arg)
{
    struct alq_global *global;

    alqi_plat_lock(&common_lock);
    for (global = heap->roots.globals; global != NULL; global = global->next)
        visit(arg, &global->value);
    alqi_plat_unlock(&common_lock);
}

void
alqi_heap_roots_visit_transfer(struct alqi_heap *heap,
                               alqi_heap_visit_fn *visit, void *arg)
{
    struct alqi_heap_transfer_root *root;

    alqi_plat_lock(&common_lock);
    for (root = heap->roots.transfer; root != NULL; root = root->next)
        visit(arg, &root->value);
    alqi_plat_unlock(&common_lock);
}

/* Visits the roots that no domain has: globals, transfer roots, and what pins
 * and pinned young blocks lead to. */
void
alqi_heap_roots_visit_common_stw(struct alqi_heap *heap,
                                 alqi_heap_visit_fn *visit, void *arg)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    alqi_heap_roots_visit_globals(heap, visit, arg);
    alqi_heap_roots_visit_transfer(heap, visit, arg);
    alqi_heap_pin_visit_stw(heap, visit, arg);
}

/* Counts globals and transfer roots, for the report of leaks.  The lock is
 * needed: a thread without a domain may drop its child's result meanwhile. */
void
alqi_heap_roots_count_common(const struct alqi_heap *heap, size_t *n_globals,
                             size_t *n_transfer_roots)
{
    const struct alq_global *global;
    const struct alqi_heap_transfer_root *root;

    *n_globals = *n_transfer_roots = 0;
    alqi_plat_lock(&common_lock);
    for (global = heap->roots.globals; global != NULL; global = global->next)
        ++*n_globals;
    for (root = heap->roots.transfer; root != NULL; root = root->next)
        ++*n_transfer_roots;
    alqi_plat_unlock(&common_lock);
}

/* ---- a domain's --------------------------------------------------------- */

/* Visits the slots of a chain of frames.  Slots lie right behind the frame; the
 * number is a constant of the site in the program. */
static void
frames_visit(struct alq_frame *f, alqi_heap_visit_fn *visit, void *arg)
{
    unsigned i;

    for (; f != NULL; f = f->outer) {
        alq_value *slots = (alq_value *)(f + 1);

        for (i = 0; i < f->site->n_slots; i++)
            visit(arg, &slots[i]);
    }
}

/* Visits all roots of the domain, by its holder; `visit` may replace the
 * values.
 *
 * young_only concerns boxed roots and the observer alone.  Frames, ranges and
 * scanners have no note of what is young, so all of them are read. pub.frames
 * is the chain of the thread that runs the domain, whose own `frames` is NULL
 * meanwhile. */
void
alqi_heap_roots_visit(struct alqi_domain *d, bool young_only,
                      alqi_heap_visit_fn *visit, void *arg)
{
    struct alq_range *range;
    struct alq_scanner *scanner;
    struct alq_thread *thread;
    alq_value *slot;

    frames_visit(d->pub.frames, visit, arg);
    for (thread = d->threads.all; thread != NULL; thread = thread->next) {
        ALQI_ASSERT(thread != d->threads.running ||
                    thread->frames == NULL); /* .inv.frames */
        frames_visit(thread->frames, visit, arg);
    }
    for (range = d->roots.ranges; range != NULL; range = range->next)
        for (slot = range->base; slot < *range->top; slot++)
            visit(arg, slot);
    for (scanner = d->roots.scanners; scanner != NULL;
         scanner = scanner->next) {
        scanner->scan(scanner->arg, visit, arg);
        alqi_heap_program_returned();
    }
    boxes_visit(d, young_only, visit, arg);
    if (ALQI_HOSTS_OCAML)
        alqi_heap_host_scan(d, young_only, visit, arg);
    alqi_heap_observed_scan(d, young_only, visit, arg);
}

/* Frees the pages of boxed roots.  The domain has ended, and no root is valid
 * any more. */
void
alqi_heap_roots_drop(struct alqi_domain *d)
{
    while (d->roots.boxes != NULL) {
        struct alqi_heap_boxes *page = d->roots.boxes;

        d->roots.boxes = page->next;
        alqi_plat_pages_unmap(page, sizeof *page);
    }
}
