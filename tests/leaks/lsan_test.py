"""Lost blocks beside LeakSanitizer's, of programs shaped like its own tests."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import common

SHAPES = os.environ["LSAN_SHAPES"]
TLS = os.environ["LSAN_TLS"]
SOURCE = os.path.join(os.path.dirname(__file__), "lsan_shapes.c")
CLASSES = ["lost", "indirect", "possible", "held"]
KINDS = {"Direct": "lost", "Indirect": "indirect"}
FATAL = "fatal error"
PEER_RUNS = 5
# What runs the command: by leaks/lsan_refused, what refuses it system calls.
BEFORE = os.environ.get("BEFORE", "").split()

# Blocks and bytes of `block` and `grow`, by shape and class.
EXPECTED = {
    "at_exit": {"lost": (1, 1337)},
    "zero_bytes": {"lost": (1, 0)},
    "large": {"lost": (1, 33554432)},
    "to_self": {"lost": (1, 1337)},
    "chain": {"lost": (2, 666 + 1337), "indirect": (1, 777)},
    "ring": {"lost": (1, 100), "indirect": (2, 500)},
    "dropped_at_last": {"lost": (2, 23 + 1337)},
    "below_stack": {"lost": (1, 1337)},
    "grown": {"lost": (1, 1337)},
    "grown_to_nothing": {},
    "in_front_of_free": {"lost": (1, 2664), "held": (1, 100)},
    "in_globals": {"held": (3 + 1024, 1001 + 1002 + 1003 + 8 * 1024)},
    "at_odd_address": {"lost": (1, 1337)},
    "inside": {"held": (1, 248), "possible": (1, 100)},
    "on_stack": {"held": (1, 1337)},
    "on_stack_of_thread": {"held": (1, 1337)},
    "in_register": {"held": (1, 1337)},
    "in_vector_register": {"held": (1, 1337)},
    "in_root_region": {"held": (1, 1337)},
    "in_mapping": {"held": (1, 1337)},
    "behind_recorder": {"held": (1, 1337)},
    "behind_guarded_globals": {"held": (1, 1337)},
    "in_tls": {"held": (1, 1337)},
    "in_tls_of_library": {"held": (1, 1337)},
    "in_key": {"held": (1, 1337)},
    "in_key_behind": {"held": (1, 1337)},
    "in_many_keys": {"held": (3000, 3000 * 123)},
    "in_tls_of_ending_thread": {"held": (1, 1337)},
    "message_of_ending_thread": {},
    "argument_of_waiting_thread": {"held": (1, 1337)},
    "arguments_lost": {"held": (10, 1230)},
    "results_lost": {"held": (10, 2340)},
    "threads_wait": {},
    "contention": {},
    "end_amid_allocations": None,  # as many as it had; none is lost
    "lost_on_own_stack": {"lost": (1, 2664)},
    "lost_on_block": {"lost": (1, 2664)},
    "held_by_left_stack": {"held": (2, 65536 + 1337)},
    "end_on_static_stack": {"held": (1025, 1003 + 100 * 1024)},
    "thread_on_block": {"held": (1, 4096)},
    "child_lost": {"lost": (10, 13370)},
    "child_ends_in_thread": {"held": (1, 1337)},
    "end_amid_signals": {"lost": (1, 1337)},
}

# What LeakSanitizer says, where that is not the same, and why.
OTHER = {
    # It counts a block of no bytes as one of one byte.
    "zero_bytes": {"lost": (1, 1)},
    # Each block of a ring is behind another one; memcheck, too, calls one of
    # them the one that is lost.
    "ring": {"indirect": (3, 600)},
    # Mapped memory is no root of its own, unless the program says so
    # (in_root_region); here it is, as in memcheck.
    "in_mapping": {"lost": (1, 1337)},
    "behind_recorder": {"lost": (1, 1337)},
    # It reads all of the globals, and does not come through.
    "behind_guarded_globals": FATAL,
    # The C library keeps stacks of threads that have ended, and what was the
    # thread's argument and result; these are roots here, as in memcheck.
    "arguments_lost": {"lost": (10, 1230)},
    "results_lost": {"lost": (10, 2340)},
    # Where the allocation's call stack ends on the heap it knows no caller,
    # and leaves the block out.
    "lost_on_block": {},
}

# What leads to the largest of the shape's blocks, as a pattern.
PLACES = {
    # Zeroed variables, which are in no page of the file.
    "behind_guarded_globals": r"guarded\+0x[0-9a-f]+ \(leaks_lsan_shapes\)",
    "on_stack_of_thread": r"(stack|register) of thread \d+",
    "in_tls": r"thread-local memory of thread \d+",
    "in_key": r"thread-local memory of thread \d+",
}


def lost_of(classes):
    return {c: n for c, n in (classes or {}).items()
            if c in ("lost", "indirect")}


class LsanTest(common.Case):
    def built(self, source, name):
        """The program with LeakSanitizer in it, or a reason why there is
        none."""
        clang = shutil.which("clang-14") or shutil.which("clang")
        if clang is None:
            return None, "no clang"
        path = os.path.join(self.dir, name)
        result = subprocess.run(
            [clang, "-fsanitize=leak", "-O0", "-g", "-fno-builtin",
             "-D_GNU_SOURCE", "-pthread", source, "-o", path, "-ldl"],
            capture_output=True, text=True)
        return (path, "") if result.returncode == 0 else (
            None, "clang's runtime: " + result.stderr.strip()[-200:])

    def sanitized(self, path, *args):
        env = {**common.ENV, "LSAN_OPTIONS": "allocator_may_return_null=1"}
        env.pop("LD_PRELOAD", None)
        return subprocess.Popen([path, *args], env=env, text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    @staticmethod
    def said(process):
        """By class, of the sanitizer's text, of all processes."""
        _, text = process.communicate(timeout=common.PATIENCE_S)
        if "LeakSanitizer has encountered a fatal error" in text:
            return FATAL
        found = {}
        for kind, n_bytes, n in re.findall(
                r"(\w+) leak of (\d+) byte\(s\) in (\d+) object", text):
            had = found.get(KINDS[kind], (0, 0))
            found[KINDS[kind]] = (had[0] + int(n), had[1] + int(n_bytes))
        return found

    def said_once(self, path, peer, shape, wanted):
        """What it says in one of some runs, if that is what is wanted: a word
        that happens to point there hides a block from it (`large`: in 1 of 400
        runs, so five in turn have a chance of 1e-13)."""
        found = self.said(peer)
        for _ in range(PEER_RUNS - 1):
            if found == wanted:
                break
            found = self.said(self.sanitized(path, shape, TLS))
        return found

    def recorded(self, shape):
        for path in glob.glob(os.path.join(self.dir, "t.*")):
            os.remove(path)
        result = subprocess.run(
            [*BEFORE, common.BIN, "record", "-q", "--exact", "--follow", "--leaks",
             "-o", os.path.join(self.dir, "t.%p.ctf"), "--", SHAPES, shape,
             TLS], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env=common.ENV, timeout=common.PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def looked(self, shape):
        """By class: of the shape's own functions, and of all."""
        self.recorded(shape)
        report = json.loads(common.run(
            "report", "--json", "--top=0", "--leaks",
            *glob.glob(os.path.join(self.dir, "t.*.ctf"))).stdout)
        if not BEFORE: # else threads go on behind the copy
            self.assertEqual(report["unknown_sampled_blocks"], 0)
        own = {}
        for c in CLASSES:
            sites = [s for s in report["sites"]
                     if s["function"] in ("block", "grow")]
            n = sum(s[c + "_objects"] for s in sites)
            if n > 0:
                own[c] = (n, sum(s[c + "_bytes"] for s in sites))
        return own, {c: (report[c + "_objects"], report[c + "_bytes"])
                     for c in CLASSES if report[c + "_objects"] > 0}

    def test_places(self):
        for shape, place in PLACES.items():
            with self.subTest(shape):
                text = self.recorded(shape).stderr
                self.assertRegex(text, r"(block|grow)  lsan_shapes.c:\d+\n"
                                 r" *← " + place + r"\n")

    def test_table(self):
        """All shapes are in the table, and what is said to be different
        is."""
        with open(SOURCE) as f:
            self.assertEqual(re.findall(r"\n    SHAPE\((\w+)\)", f.read()),
                             list(EXPECTED))
        for shape, classes in OTHER.items():
            self.assertNotEqual(lost_of(EXPECTED[shape]), classes)

    def test_same(self):
        path, why = self.built(SOURCE, "shapes")
        if BEFORE:
            path, why = None, "compared by leaks/lsan"
        if path is not None:
            probe = self.sanitized(path, "at_exit")
            if self.said(probe) == {}:
                path, why = None, "it does not look here (in a debugger?)"
        if path is None:
            print("skipped: LeakSanitizer: " + why, file=sys.stderr)
        for shape, expected in EXPECTED.items():
            with self.subTest(shape):
                peer = path and self.sanitized(path, shape, TLS)
                own, all_classes = self.looked(shape)
                if expected is not None:
                    self.assertEqual(own, expected)
                self.assertEqual(lost_of(all_classes), lost_of(expected))
                if peer is not None:
                    said = OTHER.get(shape, lost_of(expected))
                    self.assertEqual(self.said_once(path, peer, shape, said),
                                     said)


if __name__ == "__main__":
    unittest.main()
