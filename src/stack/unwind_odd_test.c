/* unwind_odd_test.c -- captures where stacks are not ordinary: signal frames at
 * every instruction, other stacks, threads, recursion beyond the capacity
 *
 * The referee is libgcc's unwinder.  It reports the address of an
 * interrupted instruction as it is, alqi_stack_capture one past it. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "plat/plat.h"
#include "stack/capture.h"
#include "stack/capture_test.h"

enum {
    CAPACITY = 256,
    ALT_STACK_BYTES = CAPTURE_TEST_HAS_LARGE_FRAMES ? 65536 : 8192,
    SMALL_STACK_BYTES = CAPTURE_TEST_HAS_LARGE_FRAMES ? 262144 : 16384
};

static struct alqi_stack_cache *cache;
static struct alqi_stack_result last;
static void *theirs[CAPACITY];
static int n_theirs;
static uint64_t n_deep, n_deep_wrong; /* captures that went around the cache */

/* Frames from 1 on are equal, but for those a signal has stopped. */
static bool
agrees(const uintptr_t *a, uint32_t n, void *const *b, int n_b,
       unsigned n_interrupted)
{
    if ((int)n != n_b)
        return false;
    for (uint32_t i = 1; i < n; i++) {
        if (a[i] == (uintptr_t)b[i])
            continue;
        if (a[i] != (uintptr_t)b[i] + 1 || n_interrupted == 0)
            return false;
        n_interrupted--;
    }
    return true;
}

/* The same for the last capture; says what differs. */
static void
check_last(unsigned n_interrupted)
{
    if (agrees(last.frames, last.n_frames, theirs, n_theirs, n_interrupted))
        return;
    for (int i = 0; i < (int)last.n_frames || i < n_theirs; i++)
        print_message("%3d %#14lx %p\n", i,
                      i < (int)last.n_frames ? last.frames[i] : 0,
                      i < n_theirs ? theirs[i] : NULL);
    fail();
}

/* That is a walk of its own, which finds the same. */
static void
compare_deep(const struct alqi_stack_regs *here)
{
    static uintptr_t frames[CAPACITY];
    struct alqi_stack_result r =
        alqi_stack_capture_deep(cache, here, 0, 0, frames, CAPACITY);

    n_deep++;
    n_deep_wrong +=
        r.n_frames != last.n_frames || r.truncated != last.truncated ||
        r.incomplete != last.incomplete ||
        memcmp(r.frames, last.frames, r.n_frames * sizeof frames[0]) != 0;
}

static __attribute__((noinline)) void
capture_both(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();

    last = alqi_stack_capture(cache, &here, 0, 0, CAPACITY);
    compare_deep(&here);
    n_theirs = capture_test_referee(theirs, CAPACITY);
}

static void
on_signal(int signo)
{
    (void)signo;
    capture_both();
}

static __attribute__((noinline)) void
raise_in_leaf(void)
{
    raise(SIGUSR1);
    __asm__ volatile("");
}

static void
handle(int signo, int flags, void (*fn)(int))
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = fn;
    sa.sa_flags = flags;
    assert_int_equal(sigaction(signo, &sa, NULL), 0);
}

static int
setup(void **state)
{
    (void)state;
    cache = malloc(alqi_stack_cache_bytes(CAPACITY));
    alqi_stack_cache_init(cache, CAPACITY);
    capture_test_referee(theirs,
                         CAPACITY); /* loads libgcc now, not in a handler */
    return 0;
}

static void
test_signal(void **state)
{
    (void)state;
    handle(SIGUSR1, 0, on_signal);
    for (int i = 0; i < 3; i++) {
        last.n_frames = 0;
        raise_in_leaf();
        check_last(1);
        assert_false(last.incomplete);
    }
    assert_true(last.n_same_outer > 3);
}

static void
test_signal_on_its_own_stack(void **state)
{
    stack_t alt = {.ss_sp = malloc(ALT_STACK_BYTES),
                   .ss_size = ALT_STACK_BYTES},
            off = {.ss_flags = SS_DISABLE};

    (void)state;
    assert_int_equal(sigaltstack(&alt, NULL), 0);
    handle(SIGUSR1, SA_ONSTACK, on_signal);
    for (int i = 0; i < 3; i++) {
        last.n_frames = 0;
        raise_in_leaf();
        check_last(1);
        assert_false(last.incomplete);
    }
    sigaltstack(&off, NULL);
    free(alt.ss_sp);
}

static void
visit_nothing(uint32_t max)
{
    __asm__ volatile("" : : "r"(max));
}

/* Not under the thread sanitizer, which holds locks where signals come. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HAS_SINGLE_STEPS
static uint64_t n_steps, n_wrong;
static uintptr_t wrong_pc;

/* At each single instruction, prologues, epilogues and PLT stubs included. */
static void
on_step(int signo)
{
    void *peer[64];
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r = alqi_stack_capture(cache, &here, 0, 0, 64);
    int n = capture_test_referee(peer, 64);

    (void)signo;
    n_steps++;
    if (!agrees(r.frames, r.n_frames, peer, n, 1) && n_wrong++ == 0)
        wrong_pc = r.n_frames > 2 ? r.frames[2] : 0;
}

/* Functions of their own, with CFI: a pushed word moves the CFA. */
void trap_flag_set(void);
void trap_flag_clear(void);

#define TRAP_FLAG(name, instruction)                                           \
    __asm__(".text\n" name ":\n\t.cfi_startproc\n\tpushfq\n\t"                 \
            ".cfi_adjust_cfa_offset 8\n\t" instruction "\n\t"                  \
            "popfq\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n")
TRAP_FLAG("trap_flag_set", "orl $0x100, (%rsp)");
TRAP_FLAG("trap_flag_clear", "andl $~0x100, (%rsp)");

static void
step_through(capture_test_tree *tree, uint64_t path)
{
    handle(SIGTRAP, 0, on_step);
    trap_flag_set();
    tree(8, path, visit_nothing, 0);
    trap_flag_clear();
}

static void
test_at_each_instruction(void **state)
{
    (void)state;
    n_steps = n_wrong = 0;
    for (uint64_t path = 0; path < 4; path++) {
        step_through(capture_test_tree_o0, path * 0x9E3779B97F4A7C15u);
        step_through(capture_test_tree_o2, path * 0x9E3779B97F4A7C15u);
        step_through(capture_test_tree_o3, path * 0x9E3779B97F4A7C15u);
        step_through(capture_test_tree_fp, path * 0x9E3779B97F4A7C15u);
    }
    assert_true(n_steps > 1000);
    if (n_wrong != 0)
        print_message("%lu of %lu wrong, first at %p\n", n_wrong, n_steps,
                      (void *)wrong_pc);
    assert_int_equal(n_wrong, 0);
}

/* A first call through the PLT: the stub, then the linker's resolver, whose
 * CFA is in a register that calls preserve. */
static void
test_at_each_instruction_of_lazy_binding(void **state)
{
    double x;

    (void)state;
    n_steps = n_wrong = 0;
    handle(SIGTRAP, 0, on_step);
    trap_flag_set();
    x = drand48();
    x += (double)labs(lrand48());
    trap_flag_clear();
    assert_true(x >= 0);
    assert_true(n_steps > 50);
    if (n_wrong != 0)
        print_message("%lu of %lu wrong, first at %p\n", n_wrong, n_steps,
                      (void *)wrong_pc);
    assert_int_equal(n_wrong, 0);
}
#endif

static ucontext_t outside, inside;

static void
coroutine(void)
{
    capture_both();
    swapcontext(&inside, &outside);
    capture_test_tree_o2(6, 0x1234567, visit_nothing, 0);
    capture_both();
}

static void
test_coroutine(void **state)
{
    char *stack = malloc(SMALL_STACK_BYTES);

    (void)state;
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = SMALL_STACK_BYTES;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < 2; i++) {
        capture_both();
        check_last(0);
        swapcontext(&outside, &inside);
        check_last(0);
        assert_false(last.incomplete);
        assert_true(last.n_frames <= 3);
    }
    free(stack);
}

static __attribute__((noinline)) void
visit_both(uint32_t max)
{
    (void)max;
    capture_both();
}

static void *
thread(void *arg)
{
    *(struct alqi_stack_cache **)arg = cache;
    alqi_stack_cache_init(cache, CAPACITY);
    capture_test_tree_o2(4, 0x77, visit_both, 0);
    return NULL;
}

#if ALQI_CHECKS < 2 && !CAPTURE_TEST_IS_SANITIZED
#define USE_MAX_BYTES_CHECKED
enum { PAINT = 0xA5, USE_MAX_BYTES = 2048 };

static uintptr_t capture_sp;

/* All a capture can need: nothing is cached, every module is new. */
static void
capture_cold(void)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();

    capture_sp = here.sp;
    last = alqi_stack_capture(cache, &here, 0, 0, CAPACITY);
}

static void
test_stack_use(void **state)
{
    uint8_t *stack = malloc(SMALL_STACK_BYTES), *low = stack;

    (void)state;
    memset(stack, PAINT, SMALL_STACK_BYTES);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = SMALL_STACK_BYTES;
    inside.uc_link = &outside;
    makecontext(&inside, capture_cold, 0);
    alqi_stack_forget();
    swapcontext(&outside, &inside);
    assert_true(last.n_frames >= 2);
    while (*low == PAINT)
        low++;
    print_message("a cold capture used %lu bytes of stack\n",
                  capture_sp - (uintptr_t)low);
    assert_true(capture_sp - (uintptr_t)low <= USE_MAX_BYTES);
    free(stack);
}
#endif

static void
test_thread_with_a_small_stack(void **state)
{
    struct alqi_stack_cache *own;
    pthread_attr_t attr;
    pthread_t id;

    (void)state;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK_BYTES), 0);
    assert_int_equal(pthread_create(&id, &attr, thread, &own), 0);
    pthread_join(id, NULL);
    pthread_attr_destroy(&attr);
    check_last(0);
    assert_false(last.incomplete);
    assert_false(last.truncated);
}

static __attribute__((noinline)) unsigned
recurse(unsigned depth)
{
    unsigned n;

    if (depth == 0) {
        capture_both();
        return 0;
    }
    n = recurse(depth - 1);
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

#if defined(__x86_64__)
/* Code made at run time: call the argument, in a frame or in two. */
static const uint8_t made_code[] = {
    0x55,                         /* push %rbp */
    0x48, 0x89, 0xE5,             /* mov %rsp, %rbp */
    0xFF, 0xD7,                   /* call *%rdi */
    0x5D, 0xC3,                   /* pop %rbp; ret */
    0x55, 0x48, 0x89, 0xE5,       /* the second: the same, but it */
    0xE8, 0xEF, 0xFF, 0xFF, 0xFF, /* calls the first */
    0x5D, 0xC3,
    /* the third: its record has an address that is behind no call, and a
     * frame pointer that does not grow */
    0x55, 0x48, 0x8D, 0x05, 0x00, 0x00, 0x00, 0x00, /* lea 0(%rip), %rax */
    0x50, 0x6A, 0x01, 0x48, 0x89, 0xE5, /* push %rax; push $1; mov %rsp,%rbp */
    0xFF, 0xD7, 0x58, 0x58, 0x5D, 0xC3,
    /* the fourth: no frame pointer; behind the call it only returns */
    0x48, 0x83, 0xEC, 0x08, 0xFF, 0xD7, /* sub $8, %rsp; call *%rdi */
    0x48, 0x83, 0xC4, 0x08, 0xC3};      /* add $8, %rsp; ret */
enum { SECOND = 8, THIRD = 19, FOURTH = 39, FOURTH_SUB = 42, FOURTH_ADD = 48 };

static __attribute__((noinline)) void
call_made(const uint8_t *code)
{
    ((void (*)(void (*)(void)))code)(capture_both);
    __asm__ volatile("");
}

/* A page of that code, and how many frames lie outside of the test's own. */
static __attribute__((noinline)) uint8_t *
code_make(uint32_t *n_outer)
{
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(code, MAP_FAILED);
    memcpy(code, made_code, sizeof made_code);
    recurse(0);
    *n_outer = last.n_frames - 3; /* recurse, this one, the test */
    return code;
}

static void
test_code_without_information(void **state)
{
    uint32_t n_outer;
    uint8_t *code = code_make(&n_outer);

    (void)state;
    for (int i = 0; i < 2; i++) {
        call_made(code);
        assert_false(last.incomplete);
        assert_int_equal(last.n_frames, n_outer + 3);
        assert_int_equal(last.frames[1], (uintptr_t)code + 6);
        assert_true(last.frames[2] > (uintptr_t)call_made &&
                    last.frames[2] < (uintptr_t)call_made + 64);
        call_made(code + SECOND); /* two in a row: behind a call each */
        assert_false(last.incomplete);
        assert_int_equal(last.n_frames, n_outer + 4);
        assert_int_equal(last.frames[1], (uintptr_t)code + 6);
        assert_int_equal(last.frames[2], (uintptr_t)code + SECOND + 9);
        call_made(code + THIRD);
        assert_true(last.incomplete);
        assert_int_equal(last.n_frames, 2);
    }
    munmap(code, 4096);
}

/* Whatever the stack was at the last call: the code at a place may change. */
static void
test_code_that_only_returns(void **state)
{
    uint32_t n_outer;
    uint8_t *code = code_make(&n_outer);

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        code[FOURTH_SUB] = code[FOURTH_ADD] = (uint8_t)(i % 8 < 4 ? 8 : 0x28);
        call_made(code + FOURTH);
        assert_false(last.incomplete);
        assert_int_equal(last.n_frames, n_outer + 3);
        assert_int_equal(last.frames[1], (uintptr_t)code + FOURTH + 6);
        assert_true(last.frames[2] > (uintptr_t)call_made &&
                    last.frames[2] < (uintptr_t)call_made + 64);
    }
    munmap(code, 4096);
}

static sigjmp_buf after_fault;

static void
on_fault(int signo)
{
    (void)signo;
    capture_both();
    siglongjmp(after_fault, 1);
}

static __attribute__((noinline)) void
call_null(void (*volatile fn)(void))
{
    fn();
    __asm__ volatile("");
}

static void
test_call_through_a_null_pointer(void **state)
{
    uint32_t at;

    (void)state;
    handle(SIGSEGV, SA_NODEFER, on_fault);
    if (sigsetjmp(after_fault, 1) == 0)
        call_null(NULL);
    handle(SIGSEGV, 0, SIG_DFL);
    assert_false(last.incomplete);
    /* behind the handler's frames: null, then who called it */
    for (at = 1; at < last.n_frames - 1 && last.frames[at] != 1; at++)
        ;
    assert_int_equal(last.frames[at], 1);
    assert_true(last.frames[at + 1] > (uintptr_t)call_null &&
                last.frames[at + 1] < (uintptr_t)call_null + 64);
    assert_true(last.n_frames > at + 5);
}
#endif

static void
test_recursion_beyond_the_capacity(void **state)
{
    (void)state;
    for (unsigned depth = CAPACITY - 40; depth < CAPACITY + 600; depth += 7) {
        recurse(depth);
        assert_int_equal(last.n_frames, n_theirs);
        check_last(0);
        if (depth >= CAPACITY) {
            assert_true(last.truncated);
            assert_int_equal(last.n_same_outer, 0);
        }
    }
    recurse(10);
    assert_false(last.truncated);
    assert_int_equal(last.n_same_outer, 0); /* the one before was */
    recurse(12);
    assert_true(last.n_same_outer > 3);
}

/* n_same_outer counts frames in the same place, from the outermost in. */
static void
test_same_outer(void **state)
{
    struct alqi_stack_result before;
    volatile int twice = 2; /* a loop, not two calls */

    (void)state;
    recurse(5);
    before = last;
    recurse(5);
    /* all but capture_both's own frame: it is called at one place, but
     * recurse(5) is called at two */
    assert_int_equal(last.n_frames, before.n_frames);
    assert_true(last.n_same_outer >= last.n_frames - 8);
    assert_true(last.n_same_outer < last.n_frames);
    before = last;
    for (int i = 0; i < twice; i++)
        recurse(5); /* the second time everything is as it was */
    assert_int_equal(last.n_same_outer, last.n_frames);
}

/* Of all stacks above. */
static void
test_without_the_memo(void **state)
{
    (void)state;
    assert_true(n_deep > 100);
    assert_int_equal(n_deep_wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_signal_on_its_own_stack),
#if defined(HAS_SINGLE_STEPS)
        cmocka_unit_test(test_at_each_instruction),
        cmocka_unit_test(test_at_each_instruction_of_lazy_binding),
#endif
        cmocka_unit_test(test_coroutine),
#if defined(USE_MAX_BYTES_CHECKED)
        cmocka_unit_test(test_stack_use),
#endif
        cmocka_unit_test(test_thread_with_a_small_stack),
#if defined(__x86_64__)
        cmocka_unit_test(test_code_without_information),
        cmocka_unit_test(test_code_that_only_returns),
        cmocka_unit_test(test_call_through_a_null_pointer),
#endif
        cmocka_unit_test(test_recursion_beyond_the_capacity),
        cmocka_unit_test(test_same_outer),
        cmocka_unit_test(test_without_the_memo),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
