"""Small objects of Python's own allocator in a recording, --no-python, --native,
and recordings of programs that are killed."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest

import frames_test
from frames_test import BIN, PATIENCE_S, run

PYTHON = frames_test.PYTHONS[0]

# As many objects of 80 bytes alive as the argument says, made in one function.
SMALL = """
class Small: __slots__ = ("a", "b", "c", "d", "e", "f")
def make(n): return [Small() for _ in range(n)]
import sys
kept = make(int(sys.argv[1]))
"""
SMALL_BYTES = 80  # with what the collector keeps in front
# With its place in the list; two starts may differ by some 4 KB.
LEAST_BYTES = SMALL_BYTES + 8 - 0.1
# An object with its place in the list, and what the start of an interpreter
# varies by; one that is counted twice has more.
MOST_BYTES = 120

# Grows and shrinks through the limit between the two allocators, some time, then
# until it is killed.
CHURN = """
import itertools, os, random, signal, sys, threading
def churn(turns):
    kept = {}
    for _ in turns:
        k = random.randrange(2000)
        b = kept.setdefault(k, bytearray())
        b.extend(b"x" * random.randrange(300))
        if len(b) > 1500: del b[random.randrange(1500):]
        if k % 7 == 0: kept.pop(k)
churn(range(1000))
threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGKILL)).start()
churn(itertools.count())
"""


class Small(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="aliquot-test-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.trace = os.path.join(self.dir, "t.ctf")

    def report(self, *options):
        result = run(BIN, "report", "--json", *options, self.trace)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def record_text(self, text, *arguments, options=(), env=None):
        return run(BIN, "record", "-f", "--seed=7", "-o", self.trace, *options,
                   "--", PYTHON, "-c", text, *arguments,
                   env={**os.environ, **(env or {})})

    def per_object(self, *options, env=None):
        """Bytes that one object more has at the peak, which is not that of the
        interpreter's start."""
        few, said = self.live(10000, *options, env=env)
        many, _ = self.live(50000, *options, env=env)
        return (many - few) / 40000, said

    def live(self, n, *options, env=None):
        """Bytes in use at the peak of n objects."""
        result = self.record_text(SMALL, str(n), options=options, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report()["peak_bytes"], result.stderr

    def test_every_object_once(self):
        """At rate 1 the objects are counted exactly, without those that the
        interpreter has anyway."""
        per_object, said = self.per_object("--rate=1")
        # beside each object its place in the list, with what that has spare
        self.assertGreaterEqual(per_object, LEAST_BYTES)
        self.assertLess(per_object, MOST_BYTES)
        self.assertIn("--no-python", said)

    def test_as_malloc(self):
        """PYTHONMALLOC decides: no small object is tried twice."""
        per_object, _ = self.per_object("--rate=1",
                                        env={"PYTHONMALLOC": "malloc"})
        self.assertGreaterEqual(per_object, LEAST_BYTES)
        self.assertLess(per_object, MOST_BYTES)

    def test_with_mappings(self):
        """Arenas are no blocks beside those that are in them."""
        per_object, _ = self.per_object("--rate=1", "--mmap")
        self.assertGreaterEqual(per_object, LEAST_BYTES)
        self.assertLess(per_object, MOST_BYTES)

    def test_no_python(self):
        n = 40000
        some, said = self.live(n, "--rate=1", "--no-python")
        self.assertLess(some, n * SMALL_BYTES)
        self.assertNotIn("--no-python", said)
        result = run(BIN, "script", self.trace)
        self.assertNotIn("make@<string>", result.stdout)
        self.assertIn("PyEval_EvalCode", result.stdout)

    def test_native(self):
        self.live(1000, "--rate=1", "--native")
        lines = [line for line in run(BIN, "script", self.trace).stdout
                 .splitlines() if ";make@<string>" in line]
        self.assertGreater(len(lines), 1000)
        for line in lines:
            # between them what is inlined into the evaluator, which differs
            # from build to build, and <module>
            # (its parts have no name there: a build without symbols)
            self.assertRegex(line, r"(_PyEval_EvalFrameDefault|[^;@]*\+0x\w+)"
                                   r"@[^;]*;"
                                   r"([^;@<]+@[^;]*;)*"
                                   r"(<module>@<string>:5;)?make@<string>")

    def test_sampled(self):
        """One of 64 KiB of 8 MiB: within six standard errors."""
        n = 130000
        bytes_each = SMALL_BYTES + 8
        none, _ = self.live(0, "--interval=64K")
        some, _ = self.live(n, "--interval=64K")
        expected = n * bytes_each
        error = (expected * 65536 * (1 + 8 / bytes_each)) ** 0.5
        self.assertLess(abs(some - none - expected),
                        6 * error + none + 8 * 0.2 * n)

    def test_embedded(self):
        """An interpreter opened by dlopen has its functions in stacks; when it
        is closed, nothing of it is looked at."""
        libraries = glob.glob("/usr/lib/*/libpython3.11.so.1.0")
        if not libraries:
            self.skipTest("no libpython3.11")
        text = ("def inside(): return [bytearray(20000) for _ in range(200)]\n"
                "inside()\n")
        result = run(BIN, "record", "-f", "--interval=1K", "-o", self.trace,
                     "--", os.environ["EMBEDDED"], libraries[0], "2", text)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Python functions are in the stacks (", result.stderr)
        lines = [line for line in run(BIN, "script", self.trace).stdout
                 .splitlines() if "inside@<string>:1" in line]
        self.assertGreater(len(lines), 300)

    def test_unread(self):
        """An interpreter without a global lock is left alone, and a line says
        so, unless nobody wants it or what is recorded has no such stacks."""
        for options, is_said in ((["--interval=1K"], True),
                                 (["--interval=1K", "--no-python"], False),
                                 (["--exact"], False)):
            result = run(BIN, "record", "-f", *options, "-o", self.trace, "--",
                         os.environ["UNREAD"])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("no Python functions are in the stacks"
                             in result.stderr, is_said, options)

    def test_killed(self):
        """Whenever it is killed, what was recorded is whole."""
        rng = random.Random(int(os.environ.get("ALQ_TEST_SEED", "0")) + 1)
        for _ in range(8):
            process = subprocess.Popen(
                [BIN, "record", "-f", "--interval=512", "-q", "-o", self.trace,
                 "--", PYTHON, "-c", CHURN, str(rng.random() * 0.4)])
            process.wait(PATIENCE_S)
            self.assertEqual(process.returncode, -signal.SIGKILL)
            result = run(BIN, "check", self.trace)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertIn("churn@<string>",
                          run(BIN, "script", self.trace).stdout)


if __name__ == "__main__":
    unittest.main()
