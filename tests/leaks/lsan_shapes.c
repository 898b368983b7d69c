/* lsan_shapes.c -- blocks held and lost in the ways of which LeakSanitizer's
 * own tests have one each
 *
 * lsan_shapes SHAPE [LIBRARY] ends by itself.  It is built as it is, and with
 * LeakSanitizer in it; lsan_test.py has what each shape leaves.  `block` and
 * `grow` make all blocks that count.  LIBRARY is that of lsan_tls.c. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum {
    BYTES = 1337,
    PAGE = 4096,
    STACK_BYTES = 64 << 10,
    THREADS = 10,
    /* glibc keeps so many keys in a thread's own block. */
    KEYS_IN_PLACE = 32
};

/* LeakSanitizer's, where it is in the program. */
void __lsan_register_root_region(const void *, size_t) __attribute__((weak));

static const char *library;

static NOINLINE void *
block(size_t bytes)
{
    return malloc(bytes);
}

static NOINLINE void *
grow(void *old, size_t bytes)
{
    return realloc(old, bytes);
}

static NOINLINE void
wipe_stack(void)
{
    volatile char room[16384];

    memset((void *)room, 0, sizeof room);
}

static NOINLINE void
lose(size_t bytes)
{
    void *volatile p = block(bytes);

    (void)p;
}

static void
check(int is_so, const char *what)
{
    if (is_so)
        return;
    perror(what);
    _exit(99);
}

/* ---- threads ------------------------------------------------------------- */

static volatile int n_ready;
static pthread_key_t key;
static int is_lost_result;

static void
ready(void)
{
    __atomic_fetch_add(&n_ready, 1, __ATOMIC_SEQ_CST);
}

static void
ready_wait(int n)
{
    while (n_ready < n)
        sched_yield();
}

static pthread_t
thread_start(void *(*run)(void *), void *arg)
{
    pthread_t thread;

    check(pthread_create(&thread, NULL, run, arg) == 0, "pthread_create");
    return thread;
}

/* ---- lost ---------------------------------------------------------------- */

static void
at_exit(void)
{
    lose(BYTES);
}

static void
zero_bytes(void)
{
    lose(0);
}

static void
large(void)
{
    lose(33554432);
}

static NOINLINE void
to_self(void)
{
    void **p = block(BYTES);

    *p = p;
}

static NOINLINE void
chain(void)
{
    void **p = block(666);

    *p = block(777);
    lose(BYTES);
}

static NOINLINE void
ring(void)
{
    void **a = block(100), **b = block(200), **c = block(300);

    *a = b;
    *b = c;
    *c = a;
}

static void *dropped;

static NOINLINE void
dropped_at_last(void)
{
    dropped = block(23);
    lose(BYTES);
    dropped = NULL;
}

static NOINLINE void
below_stack(void)
{
    void *volatile locals[2048];

    locals[0] = block(BYTES);
    (void)locals[0];
}

static NOINLINE void
grown(void)
{
    void *volatile p = grow(block(100), BYTES);

    p = grow(p, (size_t)-1 / 4); /* refused: it stays as it is */
}

static NOINLINE void
grown_to_nothing(void)
{
    void *volatile p = grow(block(100), 0);

    p = grow(NULL, 0);
    free(p);
}

/* The allocator has an address of what is free behind the block, which may be
 * of the block's last word. */
static NOINLINE void
in_front_of_free(void)
{
    void *behind;

    lose(2664);
    behind = block(2000);
    dropped = block(100);
    free(behind);
}

/* ---- held: globals, stacks, registers ------------------------------------ */

static void *with_value = &with_value, *without_value, *many[1024];
static char odd_place[16];

static void
in_globals(void)
{
    static void *of_function;

    with_value = block(1001);
    without_value = block(1002);
    of_function = block(1003);
    check(of_function != NULL, "malloc");
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = block(sizeof(int *));
}

static NOINLINE void
at_odd_address(void)
{
    void *p = block(BYTES);

    memcpy(odd_place + 1, &p, sizeof p);
}

/* An array of objects with their number in front, and the second base of an
 * object: what is kept leads inside. */
static NOINLINE void
inside(void)
{
    size_t *p = block(8 + 10 * 24);

    *p = 10;
    with_value = p + 1;
    without_value = (char *)block(100) + 48;
}

static NOINLINE void
on_stack(void)
{
    void *volatile p = block(BYTES);

    wipe_stack();
    exit(p == NULL);
}

static void *
on_stack_run(void *unused)
{
    void *volatile p = block(BYTES);

    (void)unused;
    wipe_stack();
    ready();
    for (;;)
        pause();
    return p;
}

static void
on_stack_of_thread(void)
{
    thread_start(on_stack_run, NULL);
    ready_wait(1);
}

static NOINLINE uintptr_t
block_hidden(void)
{
    return ~(uintptr_t)block(BYTES);
}

/* The address is in the register alone while the thread waits in pause, or
 * computes: a system call keeps no vector register of C code's. */
static void *
in_register_run(void *how)
{
    uintptr_t p = block_hidden();

    wipe_stack();
#ifdef __x86_64__
    if (how == NULL)
        __asm__ volatile("movq %0, %%r15; notq %%r15; incl %1\n"
                         "1: movl $34, %%eax; syscall; jmp 1b"
                         :
                         : "r"(p), "m"(n_ready)
                         : "r15", "rax", "rcx", "r11", "memory");
    else
        __asm__ volatile("movq %0, %%r15; notq %%r15; movq %%r15, %%xmm7\n"
                         "xorl %%r15d, %%r15d; incl %1\n"
                         "1: pause; jmp 1b"
                         :
                         : "r"(p), "m"(n_ready)
                         : "r15", "xmm7", "memory");
#endif
    return how;
}

static void
in_register(void)
{
    thread_start(in_register_run, NULL);
    ready_wait(1);
}

static void
in_vector_register(void)
{
    thread_start(in_register_run, &key);
    ready_wait(1);
}

/* ---- held: mapped memory ------------------------------------------------- */

static NOINLINE void
in_mapped(int is_told)
{
    char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(at != MAP_FAILED, "mmap");
    check(mprotect(at + PAGE, PAGE, PROT_NONE) == 0, "mprotect");
    *(void **)at = block(BYTES);
    if (is_told && __lsan_register_root_region != NULL)
        __lsan_register_root_region(at, 2 * PAGE);
}

static void
in_root_region(void)
{
    in_mapped(1);
}

static void
in_mapping(void)
{
    in_mapped(0);
}

/* Where the recorder's library ends; NULL: it is not here. */
static int
recorder_end(struct dl_phdr_info *module, size_t size, void *arg)
{
    char **end = arg;

    (void)size;
    if (strstr(module->dlpi_name, "/libaliquot-preload.") == NULL)
        return 0;
    for (int i = 0; i < module->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &module->dlpi_phdr[i];
        char *behind = (char *)module->dlpi_addr + p->p_vaddr + p->p_memsz;

        if (p->p_type == PT_LOAD && behind > *end)
            *end = behind;
    }
    *end += -(uintptr_t)*end % PAGE;
    return 1;
}

/* The system makes one mapping of it and the variables in front of it.  If
 * there is no room, the loader's memory is there. */
static void
behind_recorder(void)
{
    char *end = NULL, *at = MAP_FAILED;

    dl_iterate_phdr(recorder_end, &end);
    if (end != NULL)
        at = mmap(end, PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED)
        in_mapped(0);
    else
        *(void **)at = block(BYTES);
}

/* A page of the globals cannot be read. */
static char guarded[4 * PAGE];

static NOINLINE void
behind_guarded_globals(void)
{
    uintptr_t page = ((uintptr_t)guarded + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    *(void **)(page + PAGE) = block(BYTES);
    check(mprotect((void *)page, PAGE, PROT_NONE) == 0, "mprotect");
}

/* ---- held: thread-local memory ------------------------------------------- */

static __thread void *of_thread;

static void
in_tls(void)
{
    of_thread = block(BYTES);
}

static void
in_tls_of_library(void)
{
    void *handle = dlopen(library, RTLD_NOW);
    void **(*keep)(void *);

    check(handle != NULL, "dlopen");
    *(void **)&keep = dlsym(handle, "lsan_tls_keep");
    keep(block(BYTES));
}

static void
in_key(void)
{
    check(pthread_key_create(&key, NULL) == 0, "pthread_key_create");
    pthread_setspecific(key, block(BYTES));
}

static void
in_key_behind(void)
{
    for (int i = 0; i < KEYS_IN_PLACE; i++)
        check(pthread_key_create(&key, NULL) == 0, "pthread_key_create");
    in_key();
}

static pthread_key_t keys[300];

static void *
many_keys_run(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(keys); i++)
        pthread_setspecific(keys[i], block(123));
    ready();
    for (;;)
        pause();
    return NULL;
}

static void
in_many_keys(void)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        check(pthread_key_create(&keys[i], NULL) == 0, "pthread_key_create");
    for (int i = 0; i < THREADS; i++)
        thread_start(many_keys_run, NULL);
    ready_wait(THREADS);
}

static void
exit_in_destructor(void *unused)
{
    (void)unused;
    wipe_stack();
    exit(0);
}

static void *
exit_in_destructor_run(void *unused)
{
    in_tls();
    pthread_setspecific(key, &key);
    return unused;
}

/* The thread that ends has its memory until its destructors have run. */
static void
in_tls_of_ending_thread(void)
{
    check(pthread_key_create(&key, exit_in_destructor) == 0,
          "pthread_key_create");
    pthread_join(thread_start(exit_in_destructor_run, NULL), NULL);
}

/* The same, the last of its destructors waits; the C library keeps a message
 * for it. */
static void
wait_in_destructor(void *rounds)
{
    if ((uintptr_t)rounds > 1) {
        pthread_setspecific(key, (void *)((uintptr_t)rounds - 1));
        return;
    }
    ready();
    for (;;)
        pause();
}

static void *
wait_in_destructor_run(void *unused)
{
    dlsym(RTLD_DEFAULT, "no_such_symbol_of_lsan_shapes");
    pthread_setspecific(key, (void *)(uintptr_t)4);
    return unused;
}

static void
message_of_ending_thread(void)
{
    check(pthread_key_create(&key, wait_in_destructor) == 0,
          "pthread_key_create");
    pthread_detach(thread_start(wait_in_destructor_run, NULL));
    ready_wait(1);
}

/* ---- arguments and results of threads ------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *
free_run(void *arg)
{
    pthread_mutex_lock(&mutex); /* never */
    free(arg);
    return NULL;
}

static NOINLINE void
argument_of_waiting_thread(void)
{
    pthread_mutex_lock(&mutex);
    pthread_detach(thread_start(free_run, block(BYTES)));
}

static void *
result_run(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (is_lost_result)
        free(arg);
    return is_lost_result ? block(234) : NULL;
}

/* All are there at one time, so that each has a stack of its own, and those are
 * small enough for the C library to keep all of them. */
static NOINLINE void
threads_run(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], &attributes, result_run,
                             block(123)) == 0,
              "pthread_create");
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void
arguments_lost(void)
{
    threads_run();
}

static void
results_lost(void)
{
    is_lost_result = 1;
    threads_run();
}

static pthread_barrier_t barrier;

static void *
barrier_run(void *unused)
{
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
    return unused;
}

static void
threads_wait(void)
{
    pthread_barrier_init(&barrier, NULL, 3);
    thread_start(barrier_run, NULL);
    thread_start(barrier_run, NULL);
    pthread_barrier_wait(&barrier);
}

static void *
contend_run(void *unused)
{
    for (int i = 0; i < 2000; i++)
        free(block(10));
    return unused;
}

static void
contention(void)
{
    pthread_t threads[5];

    for (size_t i = 0; i < COUNT(threads); i++)
        threads[i] = thread_start(contend_run, NULL);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

/* It ends while another thread allocates, under the loader's lock, for which
 * LeakSanitizer waits. */
static int
on_modules(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info;
    (void)size;
    for (int round = 0; round < 500; round++) {
        void *volatile p[100];

        for (int i = 0; i < 100; i++)
            p[i] = block(10 * (size_t)i);
        if (n_ready == 0)
            ready();
        for (int i = 0; i < 100; i++)
            free(p[i]);
    }
    return unused == NULL; /* no other module */
}

static void *
on_modules_run(void *unused)
{
    dl_iterate_phdr(on_modules, NULL);
    return unused;
}

static void
end_amid_allocations(void)
{
    thread_start(on_modules_run, NULL);
    ready_wait(1);
}

/* ---- other stacks -------------------------------------------------------- */

static ucontext_t outer, inner;
/* A stack that the program made, and pointers on both sides of it. */
static struct {
    void *below[1024];
    char stack[STACK_BYTES] __attribute__((aligned(16)));
    void *above;
} amid;

static void
context_make(void (*run)(void), void *stack, size_t bytes)
{
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = bytes;
    inner.uc_link = &outer;
    makecontext(&inner, run, 0);
}

static void
lose_in_context(void)
{
    lose(2664);
}

static NOINLINE void
lost_on_own_stack(void)
{
    char stack[STACK_BYTES] __attribute__((aligned(16)));

    context_make(lose_in_context, stack, sizeof stack);
    swapcontext(&outer, &inner);
    memset(stack, 0, sizeof stack);
}

static NOINLINE void
lost_on_block(void)
{
    void *stack = block(STACK_BYTES);

    context_make(lose_in_context, stack, STACK_BYTES);
    swapcontext(&outer, &inner);
    memset(stack, 0, STACK_BYTES);
    free(stack);
}

static void
keep_in_context(void)
{
    void *volatile p = block(BYTES);

    swapcontext(&inner, &outer);
    free(p);
}

static void
held_by_left_stack(void)
{
    without_value = block(STACK_BYTES);
    context_make(keep_in_context, without_value, STACK_BYTES);
    swapcontext(&outer, &inner);
}

static void
exit_in_context(void)
{
    wipe_stack();
    exit(0);
}

/* It ends on a stack among the globals: those below are as good as those
 * above. */
static void
end_on_static_stack(void)
{
    for (size_t i = 0; i < COUNT(amid.below); i++)
        amid.below[i] = block(100);
    amid.above = block(1003);
    context_make(exit_in_context, amid.stack, sizeof amid.stack);
    swapcontext(&outer, &inner);
}

static void
wait_in_context(void)
{
    ready();
    for (;;)
        pause();
}

static void *
stack_of_block_run(void *unused)
{
    context_make(wait_in_context, block(PAGE), PAGE);
    setcontext(&inner);
    return unused;
}

static void
thread_on_block(void)
{
    thread_start(stack_of_block_run, NULL);
    ready_wait(1);
}

/* ---- processes and signals ----------------------------------------------- */

static void
child_lost(void)
{
    pid_t pid = fork();

    check(pid >= 0, "fork");
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    for (int i = 0; i < 10; i++)
        lose(BYTES);
}

static void *
exit_run(void *unused)
{
    wipe_stack();
    exit(0);
    return unused;
}

static void
child_ends_in_thread(void)
{
    pid_t pid;

    in_tls();
    pid = fork();
    check(pid >= 0, "fork");
    if (pid == 0)
        pthread_join(thread_start(exit_run, NULL), NULL);
    waitpid(pid, NULL, 0);
}

static void
on_signal(int number)
{
    (void)number;
}

/* A child sends signals until its parent has ended. */
static void
end_amid_signals(void)
{
    pid_t parent = getpid();

    signal(SIGPROF, on_signal);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) {
            kill(parent, SIGPROF);
            kill(parent, SIGCHLD);
        }
        _exit(0);
    }
    lose(BYTES);
}

/* ---- all of them --------------------------------------------------------- */

#define SHAPE(name)                                                            \
    {                                                                          \
#name, name                                                            \
    }

static const struct {
    const char *name;
    void (*run)(void);
} shapes[] = {
    SHAPE(at_exit),
    SHAPE(zero_bytes),
    SHAPE(large),
    SHAPE(to_self),
    SHAPE(chain),
    SHAPE(ring),
    SHAPE(dropped_at_last),
    SHAPE(below_stack),
    SHAPE(grown),
    SHAPE(grown_to_nothing),
    SHAPE(in_front_of_free),
    SHAPE(in_globals),
    SHAPE(at_odd_address),
    SHAPE(inside),
    SHAPE(on_stack),
    SHAPE(on_stack_of_thread),
    SHAPE(in_register),
    SHAPE(in_vector_register),
    SHAPE(in_root_region),
    SHAPE(in_mapping),
    SHAPE(behind_recorder),
    SHAPE(behind_guarded_globals),
    SHAPE(in_tls),
    SHAPE(in_tls_of_library),
    SHAPE(in_key),
    SHAPE(in_key_behind),
    SHAPE(in_many_keys),
    SHAPE(in_tls_of_ending_thread),
    SHAPE(message_of_ending_thread),
    SHAPE(argument_of_waiting_thread),
    SHAPE(arguments_lost),
    SHAPE(results_lost),
    SHAPE(threads_wait),
    SHAPE(contention),
    SHAPE(end_amid_allocations),
    SHAPE(lost_on_own_stack),
    SHAPE(lost_on_block),
    SHAPE(held_by_left_stack),
    SHAPE(end_on_static_stack),
    SHAPE(thread_on_block),
    SHAPE(child_lost),
    SHAPE(child_ends_in_thread),
    SHAPE(end_amid_signals),
};

int
main(int argc, char **argv)
{
    library = argc > 2 ? argv[2] : "";
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (argc > 1 && strcmp(argv[1], shapes[i].name) == 0) {
            shapes[i].run();
            wipe_stack();
            return 0;
        }
    fprintf(stderr, "lsan_shapes: no shape of that name\n");
    return 2;
}
