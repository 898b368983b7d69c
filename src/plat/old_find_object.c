/* old_find_object.c -- _dl_find_object where the C library has none
 *
 * glibc before 2.35.  Each call walks the modules anew: the unwinder, which
 * asks for addresses that are new to it, keeps what it makes of the answer.
 *
 * .inv.extent  A library is one piece from its first segment's page to its last
 *              segment's end, as the linker has mapped it.  The main program,
 *              which the kernel has mapped, is one if no holes are between
 *              its segments; else each segment is one.
 * .inv.list    The linker's list is read inside dl_iterate_phdr, under the
 *              lock of those who change it. */
#include "plat/old_find_object.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct search {
    uintptr_t address;
    struct dl_find_object *out;
};

struct piece {
    uintptr_t start; /* [start, end) */
    uintptr_t end;
};

/* .inv.list: the entry whose name is the very text that the walk has. */
static struct link_map *
entry_of(const struct dl_phdr_info *info)
{
    struct link_map *map = _r_debug.r_map;

    while (map != NULL &&
           (map->l_addr != info->dlpi_addr || map->l_name != info->dlpi_name))
        map = map->l_next;
    return map;
}

static struct piece
segment_of(const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    uintptr_t start = info->dlpi_addr + p->p_vaddr;

    return (struct piece){start, start + p->p_memsz};
}

/* .inv.extent: the piece that has the address; an empty one: none has. */
static struct piece
piece_of(const struct dl_phdr_info *info, uintptr_t address, bool is_program)
{
    struct piece all = {0, 0}, its = {0, 0}, s;
    uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    bool has_holes = false;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        s = segment_of(info, &info->dlpi_phdr[i]);
        if (address - s.start < s.end - s.start)
            its = s;
        has_holes |= all.end != 0 && (s.start & ~mask) > all.end + mask;
        if (all.end == 0)
            all.start = s.start & ~mask;
        all.end = s.end;
    }
    if (is_program && has_holes)
        return its;
    return address - all.start < all.end - all.start ? all : (struct piece){0};
}

static void *
eh_frame_of(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            return (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

static int
visit(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct search *search = arg;
    struct link_map *map = entry_of(info);
    struct piece piece;

    (void)bytes;
    if (map == NULL)
        return 0;
    piece = piece_of(info, search->address, map == _r_debug.r_map);
    if (piece.end == 0)
        return 0;
    memset(search->out, 0, sizeof *search->out);
    search->out->dlfo_map_start = (void *)piece.start;
    search->out->dlfo_map_end = (void *)piece.end;
    search->out->dlfo_link_map = map;
    search->out->dlfo_eh_frame = eh_frame_of(info);
    return 1;
}

int
alqi_plat_old_find_object(void *address, struct dl_find_object *out)
{
    struct search search = {.address = (uintptr_t)address, .out = out};

    return dl_iterate_phdr(visit, &search) != 0 ? 0 : -1;
}
