"""A program whose Python stacks are known: each mark() notes the frames that the
interpreter has, then allocates a block of a size that no other block has.

    program.py CASE OUT

writes to OUT, as JSON, a list of [size, frames], innermost frame first, each
[qualified name, file, line]."""
import asyncio
import ctypes
import functools
import json
import os
import signal
import sys
import threading

FIRST_BYTES = 700001
STEP_BYTES = 4096
marks = []
kept = []
c = ctypes.CDLL(None)
c.malloc.argtypes = [ctypes.c_size_t]
c.malloc.restype = ctypes.c_void_p


def frames_of(frame):
    found = []
    while frame is not None:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name),
                      code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def next_size():
    size = FIRST_BYTES + len(marks) * STEP_BYTES
    marks.append([size + 1, None])
    return size


def mark():
    size = next_size()
    marks[-1][1] = frames_of(sys._getframe()); kept.append(bytearray(size))


def mark_by(allocate):
    size = next_size()
    marks[-1][0] = size
    marks[-1][1] = frames_of(sys._getframe()); kept.append(allocate(size))


class Method:
    def call(self):
        mark()

    @property
    def value(self):
        mark()
        return 1

    @staticmethod
    def static():
        mark()

    def __del__(self):
        mark()


def functions():
    mark()
    m = Method()
    m.call()
    m.value
    Method.static()
    (lambda: mark())()
    [mark() for _ in range(2)]

    class Local:
        mark()
    del m
    functools.partial(mark)()


def recurse(depth):
    if depth == 0:
        mark()
    else:
        recurse(depth - 1)


def by_callback(depth):
    if depth == 0:
        mark()
    else:
        list(map(by_callback, [depth - 1]))


def recursion():
    recurse(0)
    recurse(40)
    by_callback(20)
    recurse(3)


def numbers(n):
    for i in range(n):
        mark()
        yield i


def delegated(n):
    yield from numbers(n)
    mark()


def generators():
    for _ in delegated(2):
        mark()
    sum(numbers(2))
    next(delegated(1))
    sorted([2, 1], key=lambda k: mark() or k)


async def inner(n):
    mark()
    await asyncio.sleep(0)
    mark()
    return n


async def outer(n):
    return [await inner(n), await asyncio.wait_for(inner(n), 60)]


def coroutines():
    async def both():
        await asyncio.gather(outer(1), outer(2))
    asyncio.run(both())


def extensions():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    @compare
    def order(a, b):
        mark()
        return 0
    items = (ctypes.c_int * 2)(2, 1)
    c.qsort(items, 2, 4, order)
    mark_by(c.malloc)  # without the GIL
    with_gil = ctypes.PyDLL(None)
    with_gil.malloc.argtypes = [ctypes.c_size_t]
    with_gil.malloc.restype = ctypes.c_void_p
    mark_by(with_gil.malloc)


def threads():
    def run():
        recurse(2)
        mark_by(c.malloc)
    for _ in range(3):
        t = threading.Thread(target=run)
        t.start()
        t.join()
    # While others hold the GIL, and while none does.
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            pass
    spinners = [threading.Thread(target=spin) for _ in range(2)]
    for t in spinners:
        t.start()
    for _ in range(20):
        mark_by(c.malloc)
        recurse(1)
    stop.set()
    for t in spinners:
        t.join()


def strangers():
    """A thread that never ran Python: its blocks have no Python frames."""
    size = next_size()
    thread = ctypes.c_ulong()
    marks[-1][:] = [size, []]
    c.pthread_create(ctypes.byref(thread), None,
                     ctypes.cast(c.malloc, ctypes.c_void_p),
                     ctypes.c_void_p(size))
    c.pthread_join(thread, None)


def reused():
    """Code objects come and go at the same addresses."""
    for i in range(300):
        space = {"mark": mark}
        text = "\n" * (i % 7) + "def f%d():\n  mark()\n" % i
        exec(compile(text, "made-%d.py" % i, "exec"), space)
        space["f%d" % i]()
        exec(compile("mark()", "line-%d.py" % i, "exec"), space)


def names():
    space = {"mark": mark}
    for name in ("é", "名前", "𝔘", "x" * 3000):
        exec(compile("def %s():\n  mark()\n%s()" % (name, name),
                     "dir/%s.py" % name[:300], "exec"), space)


def renamed():
    """The same, but for the name or the file alone."""
    for i in range(300):
        space = {"mark": mark}
        exec("def f%d():\n  mark()" % i, space)
        space["f%d" % i]()
        exec(compile("def f():\n  mark()\nf()", "%d.py" % i, "exec"), space)


def lines():
    space = {"mark": mark}
    text = ["def f(x):"]
    for i in range(60):
        text += [""] * (i * i % 131)
        text.append("  mark()" if i % 2 else "  x = [x,")
        if i % 2 == 0:
            text.append("    " * (i % 40) + "mark()]")
    text.append("  if x: return (1,\n mark())")
    exec(compile("\n".join(text) + "\nf(1)", "lines.py", "exec"), space)


def handlers():
    def handle(number, frame):
        mark()
    signal.signal(signal.SIGUSR1, handle)
    signal.raise_signal(signal.SIGUSR1)
    recurse(1)


def forks():
    mark()
    child = os.fork()
    if child == 0:
        recurse(3)
        return
    os.waitpid(child, 0)


def interpreters():
    try:
        import _xxsubinterpreters as sub
    except ImportError:
        import _interpreters as sub
    mark()
    one = sub.create()
    out = sys.argv[2] + ".sub"
    text = """if True:
        import sys
        def mark():
            frame, found = sys._getframe(), []
            while frame is not None:
                code = frame.f_code
                found.append([getattr(code, "co_qualname", code.co_name),
                              code.co_filename, frame.f_lineno])
                frame = frame.f_back
            return found, bytearray(%d)
        def inner(): return mark()
        found, block = inner()
        print(repr(found), file=open(%r, "w"))
        """ % (FIRST_BYTES + 4000 * STEP_BYTES, out)
    sub.run_string(one, text)
    sub.destroy(one)
    with open(out) as f:
        found = eval(f.read())
    found[0][2] += 2  # the line that allocates
    here = frames_of(sys._getframe())
    here[0][2] = interpreters.__code__.co_firstlineno + 22  # of run_string
    if sys.version_info >= (3, 12):  # the state of the outer ones is not found
        here = []
    marks.append([FIRST_BYTES + 4000 * STEP_BYTES + 1, found + here])
    mark()


def main():
    globals()[sys.argv[1]]()
    with open("%s.%d" % (sys.argv[2], os.getpid()), "w") as f:
        json.dump(marks, f)


if __name__ == "__main__":
    main()
