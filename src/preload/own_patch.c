/* own_patch.c -- functions of the program that begin with a jump to a hook
 *                                                     [doc/design/patch.md]
 *
 * For each entry there is, within the reach of a jump of 32 bits:
 *
 *   stub:  rcx = the entry; jump to its hook       the function jumps here
 *   copy:  what the jump displaced; jump back      entry->real
 *
 * .inv.still  The process has one thread, which is here: nobody is in the
 *             instructions that are written.
 * .inv.marker What an indirect branch needs to find (endbr64) stays. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/own.h"

/* One entry's code. */
struct code {
    uint8_t stub[32];
    uint8_t copy[ALQI_PLAT_COPY_BYTES + ALQI_PLAT_JUMP_BYTES + 19];
};

_Static_assert(sizeof(struct code) == 96, "no holes: it is code");

static const size_t PAGE = 4096;

static void
refuse(const char *name, const char *why)
{
    char text[400];

    snprintf(text, sizeof text,
             "the program's own allocator is not recorded: %.200s: %s", name,
             why);
    alqi_preload_log(text);
}

/* Pages that a jump from around `address` reaches; MAP_FAILED: there are none.
 */
static void *
near_map(uintptr_t address, size_t n_bytes)
{
    const uintptr_t step = 1 << 16, reach = (uintptr_t)1 << 30;

    for (uintptr_t far = step; far < reach; far += step) {
        const uintptr_t at[] = {address - far, address + far};

        for (unsigned i = 0; i < ALQI_COUNT_OF(at); i++) {
            void *hint = (void *)(at[i] & ~(step - 1));
            void *p;

            if ((i == 0 && far > address) || hint == NULL)
                continue;
            p = mmap(hint, n_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (p == hint)
                return p;
            if (p != MAP_FAILED)
                munmap(p, n_bytes);
        }
    }
    return MAP_FAILED;
}

/* movabs $entry, %rcx; jmp *hook: no function of the kinds has four arguments,
 * so rcx is free. */
static void
stub_write(struct code *code, const struct alqi_preload_own_entry *e)
{
    static const uint8_t start[] = {0x48, 0xB9}, jump[] = {0xFF, 0x25};
    alqi_preload_own_hook *hook = alqi_preload_own_hooks[e->kind];
    uint8_t *at = code->stub;

    memcpy(at, start, 2);
    memcpy(at + 2, &e, sizeof e);
    memcpy(at + 10, jump, 2);
    memset(at + 12, 0, 4);
    memcpy(at + 16, &hook, sizeof hook);
}

/* False, with *why. */
static bool
code_write(struct code *code, struct alqi_preload_own_entry *e,
           const char **why)
{
    const uint8_t *from = (const uint8_t *)e->at;
    size_t marker = alqi_plat_prologue_marker(from), n_left;
    struct alqi_plat_copied copied;
    uint8_t *at = code->copy + marker;

    *why = "it is shorter than a jump";
    if (e->n_bytes < marker + ALQI_PLAT_JUMP_BYTES)
        return false;
    memcpy(code->copy, from, marker);
    from += marker;
    n_left = e->n_bytes - marker;
    if (!alqi_plat_prologue_copy(from, n_left, (uintptr_t)from, at,
                                 (uintptr_t)at, &copied)) {
        *why = copied.why;
        return false;
    }
    *why = alqi_plat_prologue_check((const uint8_t *)e->at, e->n_bytes,
                                    marker + copied.n_from);
    if (*why != NULL)
        return false;
    at += copied.n_to;
    *why = "it is too far from free memory";
    if (!alqi_plat_jump_put(at, (uintptr_t)at, (uintptr_t)from + copied.n_from))
        return false;
    stub_write(code, e);
    e->real = (alqi_preload_own_fn *)(uintptr_t)code->copy;
    return true;
}

/* Writes into the program's code (.inv.still), which may have a memcpy of its
 * own on the very page.  The page may be executed all the time: a system that
 * forbids that to what was written says so before anything is. */
static bool
text_write(uintptr_t at, const uint8_t bytes[ALQI_PLAT_JUMP_BYTES])
{
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    size_t n_bytes =
        (at + ALQI_PLAT_JUMP_BYTES - page + PAGE - 1) & ~(PAGE - 1);
    volatile uint8_t *to = (uint8_t *)at;

    if (mprotect((void *)page, n_bytes, PROT_READ | PROT_WRITE | PROT_EXEC) !=
        0)
        return false;
    for (unsigned i = 0; i < ALQI_PLAT_JUMP_BYTES; i++)
        to[i] = bytes[i];
    return mprotect((void *)page, n_bytes, PROT_READ | PROT_EXEC) == 0;
}

/* Where the jump of an entry stands (.inv.marker). */
static uintptr_t
jump_at(const struct alqi_preload_own_entry *e)
{
    return e->at + alqi_plat_prologue_marker((const uint8_t *)e->at);
}

/* All n entries jump, or none. */
static bool
jumps_write(struct alqi_preload_own_entry *entries, const struct code *codes,
            size_t n)
{
    uint8_t jump[ALQI_PLAT_JUMP_BYTES];

    for (size_t i = 0; i < n; i++) {
        uintptr_t at = jump_at(&entries[i]);

        memcpy(entries[i].was, (const void *)at, sizeof entries[i].was);
        if (alqi_plat_jump_put(jump, at, (uintptr_t)codes[i].stub) &&
            text_write(at, jump))
            continue;
        refuse(entries[i].name, "its code cannot be written");
        while (i-- > 0)
            text_write(jump_at(&entries[i]), entries[i].was);
        return false;
    }
    return true;
}

bool
alqi_preload_own_patch(struct alqi_preload_own_entry *entries, size_t n)
{
    size_t n_bytes = (n * sizeof(struct code) + PAGE - 1) & ~(PAGE - 1);
    struct code *codes = near_map(entries[0].at, n_bytes);
    const char *why;

    if (codes == MAP_FAILED) {
        refuse(entries[0].name, "there is no free memory near it");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!code_write(&codes[i], &entries[i], &why)) {
            refuse(entries[i].name, why);
            munmap(codes, n_bytes);
            return false;
        }
    if (mprotect(codes, n_bytes, PROT_READ | PROT_EXEC) != 0) {
        refuse(entries[0].name, "no memory may be executed");
        return false;
    }
    return jumps_write(entries, codes, n);
}
