/* layout_probe.c -- the stack of one request, and the modules it meets
 *
 * Preloaded.  At malloc(LAYOUT_BYTES) the stack is captured; one line goes to
 * the standard output:
 *
 *   frames N complete|cut at FILE+0xOFFSET entry yes|no
 *
 * and for each module that was met "module PATH BUILD_ID".  `entry` says
 * whether the outermost frame lies in what the program begins with. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "plat/plat.h"
#include "stack/capture.h"

enum { LAYOUT_BYTES = 424242, FRAMES = 64, ENTRY_BYTES = 64 };

extern void *__libc_malloc(size_t bytes);
__attribute__((visibility("default"))) void *malloc(size_t bytes);

static struct alqi_stack_module met[FRAMES];
static unsigned n_met;

static void
on_module(void *arg, const struct alqi_stack_module *m)
{
    (void)arg;
    if (n_met < FRAMES)
        met[n_met++] = *m;
}

static const struct alqi_stack_module *
module_of(uintptr_t pc)
{
    for (unsigned i = 0; i < n_met; i++)
        if (pc - met[i].start < met[i].end - met[i].start)
            return &met[i];
    return NULL;
}

static void
print(const struct alqi_stack_result *r)
{
    uintptr_t outermost = r->frames[r->n_frames - 1] - 1;
    const struct alqi_stack_module *m = module_of(outermost);

    dprintf(1, "frames %u %s at %s+%#lx entry %s\n", r->n_frames,
            r->incomplete ? "cut" : "complete", m == NULL ? "?" : m->path,
            m == NULL ? outermost : outermost - m->bias,
            outermost - getauxval(AT_ENTRY) < ENTRY_BYTES ? "yes" : "no");
    for (unsigned i = 0; i < n_met; i++) {
        dprintf(1, "module %s ", met[i].path[0] == '\0' ? "." : met[i].path);
        for (uint32_t k = 0; k < met[i].build_id_bytes; k++)
            dprintf(1, "%02x", met[i].build_id[k]);
        dprintf(1, "\n");
    }
}

static __attribute__((noinline)) void
capture(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_of_caller();
    struct alqi_stack_cache *cache =
        alqi_plat_pages_map(alqi_stack_cache_bytes(FRAMES));
    struct alqi_stack_result r;

    alqi_stack_on_module(on_module, NULL);
    alqi_stack_cache_init(cache, FRAMES);
    r = alqi_stack_capture(cache, &here, 0, 0, FRAMES);
    print(&r);
}

void *
malloc(size_t bytes)
{
    void *p;

    if (bytes == LAYOUT_BYTES)
        capture();
    p = __libc_malloc(bytes);
    __asm__ volatile("" : "+r"(p)); /* no tail call: a frame of its own */
    return p;
}
