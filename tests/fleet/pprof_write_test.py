"""What a program writes of itself by alq_pprof_write, in the opinion of pprof
and against what the program did."""
import math
import os
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tests", "export"))
import exported  # noqa: E402
import pprof_file as profile  # noqa: E402
from exported import common  # noqa: E402
from pprof_test import GO, TYPES, needs_go  # noqa: E402

PROGRAM = os.environ["PPROF_PROGRAM"]
PRELOAD = os.environ.get("PRELOAD")
FILES = ("heap", "allocs", "delta", "delta_again", "window")


class Written(exported.Case):
    def run_it(self, mode, rate):
        """The profiles, and what was made: {words: (first, later, kept)}."""
        env = dict(common.ENV)
        if mode == "malloc":
            env["LD_PRELOAD"] = PRELOAD
        out = subprocess.run([PROGRAM, mode, str(rate), self.dir], env=env,
                             check=True, stdout=subprocess.PIPE, timeout=common.PATIENCE_S)
        small, large, rounds, kept = map(int, out.stdout.split())
        self.small, self.large, self.rounds, self.kept = (small, large,
                                                          rounds, kept)
        self.profiles = {name: self.read(name) for name in FILES}

    def read(self, name):
        with open(os.path.join(self.dir, name + ".pb.gz"), "rb") as f:
            return profile.read(f.read())

    def named(self, name, wanted):
        """Values of the stacks whose names begin so, one stack each."""
        p = self.profiles[name]
        found = {}
        for sample in p["sample"]:
            key = tuple(n for n, _, _ in profile.stack(p, sample))
            if key[:len(wanted)] == wanted:
                self.assertNotIn(key, found)
                found[key] = sample["value"]
        return found

    def test_rules(self):
        for mode in ("native", "language"):
            self.run_it(mode, 0.01)
            for name, p in self.profiles.items():
                allowed = {"negative value"} if name == "window" else set()
                self.assertLessEqual({f[0] for f in profile.faults(p)},
                                     allowed, name)
                text = p["string_table"]
                self.assertEqual(profile.types(p), TYPES)
                self.assertEqual(
                    text[p["default_sample_type"]],
                    "alloc_space" if name == "allocs" else "inuse_space")
                self.assertEqual(p["period"], 800)
                self.assertLess(abs(p["time_nanos"] / 1e9 - time.time()), 600)
                self.assertEqual(p["duration_nanos"] > 0,
                                 name not in ("heap", "allocs"))
                self.assertEqual(text[p["mapping"][0]["filename"]], PROGRAM)
                self.assertIn("one sample in 800 bytes of the managed heap",
                              text[p["comment"][0]])
                if name == "heap":
                    self.assertGreater(len(p["sample"]), 1)

    def test_every_block(self):
        """At rate 1 nothing is estimated."""
        self.run_it("language", 1)
        self.assertEqual(len(self.profiles["heap"]["sample"]), 2)
        rest = {"main-loop"}
        for words, stack in ((self.small, ("make-small", "main-loop")),
                             (self.large, ("inlined <&>", "make-large",
                                           "main-loop"))):
            size, n, k = (words + 1) * 8, self.rounds, self.kept

            def values(name, *wanted):
                got = self.named(name, stack)
                self.assertEqual(got, {stack: [
                    wanted[0], wanted[0] * size, wanted[1],
                    wanted[1] * size]} if any(wanted) else {}, name)
            values("heap", n, k)
            values("allocs", n, k)
            values("delta", n // 10, k // 2)
            values("delta_again", 0, k // 2)
            values("window", n // 10, -k // 2)
            rest.update(stack)
        p = self.profiles["heap"]
        for f in p["function"]:
            self.assertEqual(p["string_table"][f["filename"]], "blocks.lang")
        self.assertEqual({line["line"] for l in p["location"]
                          for line in l["line"]}, {7, 8, 9, 80})
        self.assertEqual({l["mapping_id"] for l in p["location"]}, {0})
        over = self.read("over")
        self.assertEqual([s["value"][2:] for s in over["sample"]],
                         [[0, 0], [0, 0]])

    def near(self, got, n, words, tried, rate):
        """Eight standard errors: a false alarm once in 1e15."""
        p = -math.expm1(tried * math.log1p(-rate))
        error = words * 8 * math.sqrt(n * (1 - p) / p)
        self.assertLessEqual(abs(got - n * words * 8), 8 * error + 1)

    def test_estimates(self):
        for rate in (0.05, 0.003):
            self.run_it("language", rate)
            for words, stack in ((self.small, ("make-small",)),
                                 (self.large, ("inlined <&>",))):
                (values,) = self.named("heap", stack).values()
                self.near(values[1], self.rounds, words + 1, words + 1, rate)
                self.near(values[3], self.kept, words + 1, words + 1, rate)
                self.assertLessEqual(
                    abs(values[0] * (words + 1) * 8 - values[1]),
                    (words + 1) * 8)

    def top(self, name, sample_type):
        """Flat bytes of each function, names found by pprof itself."""
        out = subprocess.run(
            [GO, "tool", "pprof", "-top", "-sample_index=" + sample_type,
             "-unit=bytes", "-nodefraction=0",
             os.path.join(self.dir, name + ".pb.gz")],
            capture_output=True, text=True, timeout=common.PATIENCE_S,
            env={**common.ENV, "HOME": self.dir, "PPROF_TMPDIR": self.dir})
        self.assertEqual(out.returncode, 0, out.stderr)
        return {n: int(v) for v, n in re.findall(
            r"^ *(-?\d+)(?:B|bytes)? .*% +(\S+)$", out.stdout, re.M)}

    @needs_go
    def test_pprof_names_native_frames(self):
        self.run_it("native", 1)
        n, k = self.rounds, self.kept
        for function, words in (("make_small", self.small),
                                ("make_large", self.large)):
            size = (words + 1) * 8
            self.assertEqual(self.top("heap", "alloc_space")[function],
                             n * size)
            self.assertEqual(self.top("heap", "inuse_space")[function],
                             k * size)
            self.assertEqual(self.top("delta", "alloc_space")[function],
                             n // 10 * size)
            self.assertEqual(self.top("window", "inuse_space")[function],
                             -k // 2 * size)

    @needs_go
    @unittest.skipUnless(PRELOAD, "no preload in this build")
    def test_malloc(self):
        self.run_it("malloc", 1)
        n, k = self.rounds, self.kept
        for function, words in (("make_small", self.small),
                                ("make_large", self.large)):
            size = words * 8
            self.assertEqual(self.top("heap", "alloc_space")[function],
                             n * size)
            self.assertEqual(self.top("heap", "inuse_space")[function],
                             k * size)
            self.assertEqual(self.top("delta", "alloc_space")[function],
                             n // 10 * size)
            self.assertEqual(self.top("delta", "inuse_space")[function],
                             k // 2 * size)
        self.assertEqual(profile.faults(self.profiles["heap"]), [])
        self.run_it("malloc", 0.01)
        top = self.top("heap", "alloc_space")
        self.near(top["make_small"], n, self.small, self.small + 1, 0.01)
        self.near(top["make_large"], n, self.large, self.large + 1, 0.01)


if __name__ == "__main__":
    common.main()
