"""Python functions in the stacks of a recording: what the interpreter says of
itself (sys._getframe) is what the trace has."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["ALIQUOT_BIN"]
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "program.py")
# Colons between; others than Debian's are for those who have them.
PYTHONS = os.environ.get("ALQ_TEST_PYTHONS", "/usr/bin/python3").split(":")
PATIENCE_S = 900
FIRST_BYTES = 700001  # of program.py
# That a block of so many bytes has no sample: less than 1e-18.
INTERVAL = "--interval=16K"


def run(*args, **more):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=PATIENCE_S, **more)


def stacks_by_size(trace):
    """size -> stack, innermost frame first, each [name, file, line]."""
    result = run(BIN, "script", trace)
    assert result.returncode == 0, result.stderr
    found = {}
    for line in result.stdout.splitlines():
        column = line.split("\t")
        if column[1] != "alloc" or int(column[3]) < FIRST_BYTES:
            continue
        stack = []
        for frame in reversed(column[8].split(";")):
            m = re.match(r"(.*?)@(.*?)(?::(\d+))?$", frame)
            stack.append([m.group(1), m.group(2), int(m.group(3) or 0)])
        found.setdefault(int(column[3]), stack)
    return found


def is_python(frame):
    return (frame[1].endswith(".py") or
            re.match(r"<(string|script|frozen .*|stdin)>$", frame[1]))


class Frames(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="aliquot-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    has_outer = False  # another interpreter's frames are outside

    def record(self, python, case, *options, flags=()):
        out = os.path.join(self.dir, "out")
        for path in glob.glob(os.path.join(self.dir, "*")):
            os.unlink(path)
        result = run(BIN, "record", INTERVAL, "-f", "-o",
                     os.path.join(self.dir, "t.ctf"), *options, "--", python,
                     *flags, PROGRAM, case, out)
        self.assertEqual(result.returncode, 0, result.stderr)
        marks = []
        for path in glob.glob(out + ".[0-9]*"):
            with open(path) as f:
                marks.append((int(path.rsplit(".", 1)[1]), json.load(f)))
        return marks, result

    def hold(self, case, *options, flags=(), most=None):
        for python in PYTHONS:
            with self.subTest(python=python, case=case):
                marks, _ = self.record(python, case, *options, flags=flags)
                self.assertEqual(len(marks), 1)
                trace = os.path.join(self.dir, "t.ctf")
                self.compare(marks[0][1], stacks_by_size(trace), most)

    def compare(self, marks, stacks, most=None):
        self.assertGreater(len(marks), 0)
        for size, expected in marks:
            self.assertIn(size, stacks)
            python = [f for f in stacks[size] if is_python(f)]
            self.assertEqual(python, self.said(expected)[:most], size)
            if not self.has_outer:
                names = [f[0] for f in stacks[size]]
                self.assertNotIn("_PyEval_EvalFrameDefault", names)

    @staticmethod
    def said(frames):
        """As the trace has names: those that are too long are cut."""
        return [[name.encode()[:399].decode(errors="ignore"),
                 file.encode()[:999].decode(errors="ignore"), line]
                for name, file, line in frames]

    def test_functions(self):
        self.hold("functions")

    def test_optimised(self):
        self.hold("functions", flags=("-OO",))

    def test_recursion(self):
        self.hold("recursion")

    def test_generators(self):
        self.hold("generators")

    def test_coroutines(self):
        self.hold("coroutines")

    def test_extensions(self):
        self.hold("extensions")

    def test_threads(self):
        self.hold("threads")

    def test_strangers(self):
        self.hold("strangers")

    def test_reused(self):
        self.hold("reused")

    def test_renamed(self):
        self.hold("renamed")

    def test_names(self):
        self.hold("names")

    def test_lines(self):
        self.hold("lines")

    def test_handlers(self):
        self.hold("handlers")

    def test_interpreters(self):
        self.has_outer = True
        self.hold("interpreters")

    def test_forks(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                marks, _ = self.record(python, "forks")
                self.assertEqual(len(marks), 2)
                for pid, expected in marks:
                    traces = glob.glob(os.path.join(self.dir,
                                                    "t.*.%d.ctf" % pid))
                    trace = (traces or [os.path.join(self.dir, "t.ctf")])[0]
                    self.compare(expected[-1:], stacks_by_size(trace))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
