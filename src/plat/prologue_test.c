/* prologue_test.c -- first instructions of functions, copied and executed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "base/base.h"
#include "base/skip.h"
#include "plat/prologue.h"

#if defined(__x86_64__)

enum { FROM = 0x10000, TO = 0x30000 };

static struct alqi_plat_copied copied;
static uint8_t to[ALQI_PLAT_COPY_BYTES];

static bool
copy(const char *bytes, size_t n)
{
    memset(to, 0xCC, sizeof to);
    return alqi_plat_prologue_copy((const uint8_t *)bytes, n, FROM, to, TO,
                                   &copied);
}

/* The bytes are copied as they are, so many of them. */
static void
same(const char *bytes, size_t n_copied)
{
    char function[40];

    memset(function, 0x90, sizeof function);
    memcpy(function, bytes, n_copied);
    assert_true(copy(function, sizeof function));
    assert_int_equal(copied.n_from, n_copied);
    assert_int_equal(copied.n_to, n_copied);
    assert_memory_equal(to, bytes, n_copied);
}

static void
refused(const char *bytes, size_t n, const char *why)
{
    char function[40];

    memset(function, 0x90, sizeof function);
    memcpy(function, bytes, n);
    assert_false(copy(function, sizeof function));
    assert_non_null(strstr(copied.why, why));
}

#define SAME(bytes) same(bytes, sizeof(bytes) - 1)
#define REFUSED(bytes, why) refused(bytes, sizeof(bytes) - 1, why)

static void
lengths_are_known(void **state)
{
    (void)state;
    SAME("\x55\x48\x89\xe5\x53");                 /* push; mov; push       */
    SAME("\x41\x57\x41\x56\x41\x55");             /* pushes of r15 to r13  */
    SAME("\x48\x83\xec\x18\x31\xc0");             /* sub $24; xor          */
    SAME("\x48\x81\xec\x98\x00\x00\x00");         /* sub $152              */
    SAME("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"); /* mov %fs:40        */
    SAME("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"); /* movabs        */
    SAME("\xb8\x01\x02\x03\x04");             /* mov $imm              */
    SAME("\x66\xb8\x01\x02\x90");             /* mov $imm16            */
    SAME("\x48\x8d\x44\x24\x08");             /* lea 8(%rsp)           */
    SAME("\x8b\x84\x8e\x44\x33\x22\x11");     /* mov disp32(r,r,4)     */
    SAME("\x8b\x04\x8d\x44\x33\x22\x11");     /* mov disp32(,r,4)      */
    SAME("\x48\x85\xff\x0f\x94\xc0");         /* test; sete            */
    SAME("\xf6\x47\x08\x01\x90");             /* testb $1, 8(%rdi)     */
    SAME("\xf7\xc7\x01\x00\x00\x00");         /* test $1, %edi         */
    SAME("\xf7\xdf\xf7\xd7\x90");             /* neg; not              */
    SAME("\x0f\x1f\x44\x00\x00");             /* nop                   */
    SAME("\xf3\x0f\x7e\x07\x90");             /* movq (%rdi), %xmm0    */
    SAME("\x48\xc7\xc0\x01\x00\x00\x00");     /* mov $1, %rax          */
    SAME("\x49\xc7\x45\x08\x01\x00\x00\x00"); /* movq $1, 8(%r13)      */
}

static int32_t
far_at(size_t at)
{
    int32_t far;

    memcpy(&far, to + at, sizeof far);
    return far;
}

static void
what_is_relative_moves(void **state)
{
    (void)state;
    /* mov 0x100(%rip), %rax */
    assert_true(copy("\x48\x8b\x05\x00\x01\x00\x00\x90\x90", 9));
    assert_int_equal(copied.n_to, 7);
    assert_int_equal(far_at(3) + TO, 0x100 + FROM);
    /* cmpb $1, 0x100(%rip): the operand stands behind */
    assert_true(copy("\x80\x3d\x00\x01\x00\x00\x01\x90\x90", 9));
    assert_int_equal(copied.n_to, 7);
    assert_int_equal(far_at(2) + TO, 0x100 + FROM);
    assert_int_equal(to[6], 1);
    /* test; je +0x20, which becomes long */
    assert_true(copy("\x48\x85\xff\x74\x20\x90\x90", 7));
    assert_int_equal(copied.n_from, 5);
    assert_int_equal(copied.n_to, 9);
    assert_memory_equal(to + 3, "\x0f\x84", 2);
    assert_int_equal(TO + 9 + far_at(5), FROM + 5 + 0x20);
    /* jmp far away: what an alias is */
    assert_true(copy("\xe9\x00\x10\x00\x00", 5));
    assert_int_equal(TO + 5 + far_at(1), FROM + 5 + 0x1000);
    /* jmp *0x100(%rip) */
    assert_true(copy("\xff\x25\x00\x01\x00\x00", 6));
    assert_int_equal(far_at(2) + TO, 0x100 + FROM);
}

static void
what_cannot_move_is_refused(void **state)
{
    (void)state;
    REFUSED("\xc3", "cannot be moved");               /* ret             */
    REFUSED("\x55\xe8\x00\x00\x00\x00", "cannot be"); /* call            */
    REFUSED("\xff\x15\x00\x00\x00\x00", "cannot be"); /* call *          */
    REFUSED("\xff\xe0", "shorter");                   /* jmp *%rax       */
    REFUSED("\x55\xeb\x10", "cannot be");             /* jmp short       */
    REFUSED("\xc5\xf8\x77\x90\x90", "cannot be");     /* vzeroupper      */
    REFUSED("\xe2\xfe\x90\x90\x90", "cannot be");     /* loop            */
    REFUSED("\x48\x85\xff\x74\xfe", "branches into"); /* je to itself    */
    REFUSED("\x48\x85\xff\x74\xfb", "branches into"); /* to the start    */
    assert_false(copy("\x55\x53", 2));
    assert_non_null(strstr(copied.why, "shorter"));
    assert_false(
        alqi_plat_prologue_copy((const uint8_t *)"\x48\x8b\x05\x00\x01\x00\x00",
                                7, FROM, to, (uintptr_t)1 << 40, &copied));
    assert_non_null(strstr(copied.why, "too far"));
}

static void
a_copy_does_the_same(void **state)
{
    /* test %edi,%edi; je 1f; lea 1(%rdi),%eax; ret; 1: mov 2f(%rip),%eax; ret;
     * 2: .long 77 */
    static const uint8_t function[] = {0x85, 0xff, 0x74, 0x04, 0x8d, 0x47, 0x01,
                                       0xc3, 0x8b, 0x05, 0x01, 0x00, 0x00, 0x00,
                                       0xc3, 77,   0,    0,    0};
    uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *moved = code + 4096;
    int (*run)(int);

    (void)state;
    if (code == MAP_FAILED) {
        ALQI_SKIP("no memory to write and to execute");
    }
    memcpy(code, function, sizeof function);
    assert_true(alqi_plat_prologue_copy(code, sizeof function, (uintptr_t)code,
                                        moved, (uintptr_t)moved, &copied));
    assert_int_equal(copied.n_from, 7);
    assert_true(alqi_plat_jump_put(moved + copied.n_to,
                                   (uintptr_t)moved + copied.n_to,
                                   (uintptr_t)code + copied.n_from));
    memset(code, 0xCC, copied.n_from);
    memcpy(&run, &moved, sizeof run);
    assert_int_equal(run(41), 42);
    assert_int_equal(run(0), 77);
    munmap(code, 8192);
}

static void
jumps_reach_two_gigabytes(void **state)
{
    uint8_t jump[ALQI_PLAT_JUMP_BYTES];

    (void)state;
    assert_true(alqi_plat_jump_put(jump, FROM, FROM + (uintptr_t)0x7fffffff));
    assert_false(alqi_plat_jump_put(jump, FROM, FROM + (uintptr_t)0x80000005));
    assert_int_equal(
        alqi_plat_prologue_marker((const uint8_t *)"\xf3\x0f\x1e\xfa\x55"), 4);
    assert_int_equal(
        alqi_plat_prologue_marker((const uint8_t *)"\xf3\x0f\x7e\xfa\x55"), 0);
}

static const char *
checked(const char *bytes, size_t n, size_t n_first)
{
    return alqi_plat_prologue_check((const uint8_t *)bytes, n, n_first);
}

#define CHECKED(bytes, n_first) checked(bytes, sizeof(bytes) - 1, n_first)
#define ENTERED(bytes, n_first)                                                \
    assert_non_null(strstr(CHECKED(bytes, n_first), "branches into its "       \
                                                    "first"))

static void
functions_that_loop_to_their_start_are_refused(void **state)
{
    (void)state;
    /* xor; 1: inc; cmp $3; jne 1b; ret */
    ENTERED("\x31\xc0\xff\xc0\x90\x83\xf8\x03\x75\xf8\xc3", 5);
    /* mov $1; xchg (%rdi); test; jne to the start; ret: a spin lock */
    ENTERED("\xb8\x01\x00\x00\x00\x87\x07\x85\xc0\x75\xf5\xc3", 5);
    /* behind a lock, a call, vectors: jmp of 32 bits to the third byte */
    ENTERED("\x55\x48\x89\xe5\x90\xf0\x0f\xb1\x17\xe8\x00\x00\x00\x00"
            "\xc5\xf8\x77\x62\xf1\x7c\x48\x10\x07\xe9\xe7\xff\xff\xff",
            5);
    /* jne of 32 bits to the start */
    ENTERED("\x55\x48\x89\xe5\x53\x0f\x85\xf5\xff\xff\xff\xc3", 5);
    /* To what is behind the first bytes, out of the function, or by a call: */
    assert_null(CHECKED("\x55\x48\x89\xe5\x53\xff\xc0\x75\xfc\xc3", 5));
    assert_null(CHECKED("\x55\x48\x89\xe5\x53\xe9\xf0\xff\xff\xff", 5));
    assert_null(CHECKED("\x55\x48\x89\xe5\x53\xe8\xf6\xff\xff\xff\xc3", 5));
    /* Not known, and cut off. */
    assert_non_null(CHECKED("\x55\x48\x89\xe5\x53\x06\xc3", 5));
    assert_non_null(CHECKED("\x55\x48\x89\xe5\x53\x0f\x85\xf5", 5));
    assert_null(CHECKED("\x55\x48\x89\xe5\x53", 5));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_that_loop_to_their_start_are_refused),
        cmocka_unit_test(lengths_are_known),
        cmocka_unit_test(what_is_relative_moves),
        cmocka_unit_test(what_cannot_move_is_refused),
        cmocka_unit_test(a_copy_does_the_same),
        cmocka_unit_test(jumps_reach_two_gigabytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void
is_x86_64(void **state)
{
    (void)state;
    ALQI_SKIP("not an x86-64 machine");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_x86_64)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
