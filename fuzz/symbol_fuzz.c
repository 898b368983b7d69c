/* symbol_fuzz.c -- symbolising in a damaged or hostile file
 *
 * The bytes are an ELF file, given as a path like any module.  Addresses are
 * spread over its executable segments, so that every unit is met; each
 * answer must have what symbol.h promises. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stack/symbol.h"
#include "stack/symbol_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
address_check(struct alqi_symbol_module *m, uint64_t address)
{
    const struct alqi_symbol_frame *f, *again;
    size_t n = alqi_symbol_resolve(m, address, &f), i;

    if (n == 0 || alqi_symbol_resolve(m, address, &again) != n || f != again)
        abort();
    for (i = 0; i < n; i++) {
        if (strlen(f[i].function) == 0 || f[i].file == NULL)
            abort();
        if (strlen(f[i].file) > 100000)
            abort();
    }
}

static void
range_find(const char *path, uint64_t *lo, uint64_t *hi)
{
    struct alqi_symbol_elf *elf;

    *lo = *hi = 0;
    if (alqi_symbol_elf_open(&elf, path) != NULL)
        return;
    *lo = elf->text_lo;
    *hi = elf->text_hi;
    alqi_symbol_elf_drop(elf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { SPREAD = 16, FIRST = 40 };
    struct alqi_symbol_table *table;
    struct alqi_symbol_module *m;
    uint64_t lo, hi, i;
    char path[64];
    const char *note;
    int fd = memfd_create("symbol", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    table = alqi_symbol_table_new(false);
    m = alqi_symbol_module_open(table, path, NULL, 0);
    range_find(path, &lo, &hi);
    for (i = 0; i < SPREAD && lo < hi; i++)
        address_check(m, lo + (hi - lo) / SPREAD * i + i);
    /* The corpus has its code here; larger programs, anything. */
    for (i = 0; i < FIRST && lo < hi; i++)
        address_check(m, lo + 0x1f0 + 12 * i);
    address_check(m, 0);
    address_check(m, UINT64_MAX);
    note = alqi_symbol_module_note(m);
    if (note != NULL && strchr(note, '\n') != NULL)
        abort();
    alqi_symbol_table_drop(table);
    close(fd);
    return 0;
}
