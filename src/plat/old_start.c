/* old_start.c -- the constructors of the portable program
 *
 * Until 2.33 a program ran them itself, by a function that it handed to the C
 * library; since then the library looks for them.  The library takes the
 * function still, and then does not look: so each runs once on both. */
typedef void init_fn(int argc, char **argv, char **envp);
typedef int main_fn(int argc, char **argv, char **envp);
typedef int start_fn(main_fn *, int argc, char **argv, init_fn *,
                     void (*fini)(void), void (*rtld_fini)(void),
                     void *stack_end);

start_fn __real___libc_start_main, __wrap___libc_start_main;

extern init_fn *const __init_array_start[]
    __attribute__((visibility("hidden")));
extern init_fn *const __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void) __attribute__((visibility("hidden")));

static void
constructors_run(int argc, char **argv, char **envp)
{
    _init();
    for (init_fn *const *fn = __init_array_start; fn != __init_array_end; fn++)
        (*fn)(argc, argv, envp);
}

int
__wrap___libc_start_main(main_fn *main, int argc, char **argv, init_fn *init,
                         void (*fini)(void), void (*rtld_fini)(void),
                         void *stack_end)
{
    return __real___libc_start_main(main, argc, argv,
                                    init != 0 ? init : constructors_run, fini,
                                    rtld_fini, stack_end);
}
