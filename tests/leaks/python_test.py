"""Python programs: what their objects are held by, though pointers to most of
them lead behind the collector's header."""
import json
import os
import subprocess
import unittest

import common

PYOBJECTS = os.environ["PYOBJECTS"]
PYTHONS = os.environ.get("ALQ_TEST_PYTHONS", "/usr/bin/python3").split(":")
# Of pyobjects.c: the class of each function's blocks, and their number.
SHAPES = {"untracked": ("held", 1), "tracked": ("held", 1),
          "tracked_bits": ("held", 1), "with_dict": ("held", 1),
          "collected_now": ("held", 2), "values": ("held", 1),
          "values_tagged": ("held", 1), "not_tagged": ("possible", 1),
          "not_linked": ("possible", 1), "not_a_type": ("possible", 1),
          "not_collected": ("possible", 1), "not_counted": ("possible", 1),
          "not_so_far": ("possible", 1), "not_so_near": ("possible", 1),
          "not_typed": ("possible", 1), "not_values": ("possible", 2)}

# 2000 objects of each kind, in a list that a module's variable holds, and 300
# blocks that nothing holds.  Where each is made it has a size of its own.
PROGRAM = """
import ctypes, gc, sys
class Plain:
    def __init__(self, i): self.a, self.b, self.c = float(i), [i], {i: i}
class Slots:
    __slots__ = ("a",)
    def __init__(self, i): self.a = (float(i),)
class Named(Exception): pass
def values(i): return Plain(i), Slots(i), {"x": float(i)}, {float(i)}, Named(i)
kept = [values(i) for i in range(2000)]
gc.collect()
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
for i in range(300): c.memset(ctypes.c_void_p(c.malloc(7777)), 1, 7777)
del i
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.read()
"""
N_LEAST = 2000 * 20
LOST_BYTES = 7777
# What calls have left on the stack may hold some, the last ones.
LOST = range(290, 301)


class PythonTest(common.Case):
    def look(self, program, *args, env=None):
        """Classes of a program that says "ready", by `leaks`."""
        run = subprocess.Popen(
            [common.BIN, "record", "-q", "-f", "-o",
             os.path.join(self.dir, "t.ctf"), *args, "--", *program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**common.ENV, **(env or {})})
        self.addCleanup(run.communicate)
        self.assertEqual(run.stdout.readline(), b"ready\n")
        with open(f"/proc/{run.pid}/task/{run.pid}/children") as f:
            pid = f.read().split()[0]
        result = common.run("leaks", "--json", "-p", pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = common.run("leaks", "-p", pid).stdout
        return json.loads(result.stdout), text

    def shapes(self, *args):
        found, _ = self.look([PYOBJECTS], *args)
        self.assertEqual({s["function"]: (s["class"], s["blocks"])
                          for s in found["sites"] if s["function"] in SHAPES},
                         SHAPES)

    def test_shapes(self):
        self.shapes("--exact")

    def test_shapes_sampled(self):
        self.shapes("--rate=1")

    def classes(self, python, *args):
        return self.look([python, "-S", "-c", PROGRAM], *args,
                         env={"PYTHONMALLOC": "malloc"})

    def test_small_objects_of_its_own(self):
        """What is not recorded is said, and what to do; only then."""
        for args, env, is_said in (
                (["--exact"], {}, True),
                (["--exact"], {"PYTHONMALLOC": "malloc"}, False),
                (["--interval=512"], {}, False)):
            found, text = self.look([PYTHONS[0], "-S", "-c", PROGRAM], *args,
                                    env=env)
            self.assertEqual(found["python_unrecorded"], is_said)
            (self.assertRegex if is_said else self.assertNotRegex)(
                text, r"\nPython's small objects \([^)/]+\), .*"
                r"PYTHONMALLOC=malloc")
        found, _ = self.look([PYOBJECTS], "--exact")
        self.assertFalse(found["python_unrecorded"])

    def test_exact(self):
        for python in PYTHONS:
            with self.subTest(python):
                found, _ = self.classes(python, "--exact")
                classes = found["classes"]
                self.assertGreater(classes["held"]["blocks"], N_LEAST)
                self.assertLess(classes["possible"]["blocks"], 100)
                self.assertIn(classes["lost"]["blocks"], LOST)
                self.assertEqual(classes["lost"]["bytes"],
                                 classes["lost"]["blocks"] * LOST_BYTES)
                self.assertEqual(classes["indirect"]["blocks"], 0)

    def test_sampled(self):
        """Of 40,000 blocks of 24 bytes or more at least one in 22 is in the
        sample, 1,800 +- 42; of the lost ones each, but for one in 4e6."""
        for python in PYTHONS:
            with self.subTest(python):
                found, _ = self.classes(python, "--interval=512")
                classes = found["classes"]
                self.assertGreater(classes["held"]["seen_blocks"], 1400)
                self.assertLess(classes["possible"]["seen_blocks"], 100)
                self.assertIn(classes["lost"]["seen_blocks"], LOST)
                self.assertEqual(classes["indirect"]["seen_blocks"], 0)


if __name__ == "__main__":
    unittest.main()
