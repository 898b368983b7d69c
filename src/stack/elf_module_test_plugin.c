/* elf_module_test_plugin.c -- a library that comes twice, with other frames at
 * the same addresses: PAD bytes of variables are all that differs */
typedef void visit(void);

__attribute__((visibility("default"))) int plugin_call(visit *fn);

__attribute__((noinline)) static int
inner(visit *fn, int n)
{
    volatile char pad[PAD];

    pad[0] = (char)n;
    fn();
    return pad[0] + n;
}

int
plugin_call(visit *fn)
{
    volatile char pad[PAD];

    pad[0] = 1;
    return inner(fn, 2) + pad[0];
}
