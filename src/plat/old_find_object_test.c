/* old_find_object_test.c -- it says what the C library's own says */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plat/old_find_object.h"

enum { STEP_BYTES = 1024, MODULES_MIN = 4 };

static unsigned n_found;

static void
compare(uintptr_t address)
{
    struct dl_find_object theirs = {0}, ours = {0};
    int status = _dl_find_object((void *)address, &theirs);

    assert_int_equal(alqi_plat_old_find_object((void *)address, &ours), status);
    assert_ptr_equal(ours.dlfo_map_start, theirs.dlfo_map_start);
    assert_ptr_equal(ours.dlfo_map_end, theirs.dlfo_map_end);
    assert_ptr_equal(ours.dlfo_link_map, theirs.dlfo_link_map);
    assert_ptr_equal(ours.dlfo_eh_frame, theirs.dlfo_eh_frame);
    n_found += status == 0;
}

/* Each segment, what is before it and what follows. */
static int
each_module(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    unsigned *n_modules = arg;

    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;

        if (p->p_type != PT_LOAD)
            continue;
        for (uintptr_t at = 0; at < p->p_memsz; at += STEP_BYTES)
            compare(start + at);
        compare(start - 1);
        compare(start + p->p_memsz - 1);
        compare(start + p->p_memsz);
    }
    ++*n_modules;
    return 0;
}

static void
test_as_the_library_says(void **state)
{
    void *more = dlopen("libm.so.6", RTLD_NOW);
    unsigned n_modules = 0;
    int local;

    (void)state;
    assert_non_null(more);
    dl_iterate_phdr(each_module, &n_modules);
    assert_true(n_modules >= MODULES_MIN);
    assert_true(n_found > n_modules);
    compare(0);
    compare(UINTPTR_MAX);
    compare((uintptr_t)&local);
    dlclose(more);
}

/* A module is found once it is loaded, and not after. */
static void
test_comes_and_goes(void **state)
{
    void *plugin = dlopen(PLUGIN, RTLD_NOW);
    struct link_map *map = plugin;
    struct dl_find_object found;
    uintptr_t at;

    (void)state;
    assert_non_null(plugin);
    at = (uintptr_t)map->l_ld;
    assert_int_equal(alqi_plat_old_find_object((void *)at, &found), 0);
    assert_ptr_equal(found.dlfo_link_map, map);
    dlclose(plugin);
    assert_int_equal(alqi_plat_old_find_object((void *)at, &found), -1);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_library_says),
        cmocka_unit_test(test_comes_and_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
