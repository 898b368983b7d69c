"""Which blocks are lost: programs whose answer is known, valgrind's answer for
others, and what looking does to the process."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import common

SHAPES = os.environ["SHAPES"]
ENDS = os.environ["ENDS"]
ODD = os.environ["ODD"]
HAMMER = os.environ["HAMMER"]
CHAIN = os.environ["CHAIN"]
CLASSES = ["lost", "indirect", "possible", "held"]

# Blocks and bytes of shapes.c, by function and class.
EXPECTED = {
    ("list_make", "held"): (100 + 1 + 3 + 4, 64 * 108),
    ("list_make", "lost"): (3, 64 * 3),
    ("list_make", "indirect"): (9 + 9 + 1, 64 * 19),
    ("hold_by_symbol", "held"): (1, 1000),
    ("hold_inside", "possible"): (1, 500),
    ("hold_large", "held"): (1, 2 << 20),
    ("lose_large", "lost"): (1, 1 << 20),
    ("lose_behind_freed", "lost"): (1, 333),
}


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(word) for word in f.read().split()]


def copies():
    """Copies of processes that are there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read() == "aliquot-copy\n":
                    found.append(int(pid))
        except OSError:
            pass
    return found


def wait_until(is_so):
    until = time.monotonic() + common.PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.01)


class Case(common.Case):
    def start(self, *args, program=(SHAPES,), says="ready", env=None, **more):
        """The recorded process, once it says so."""
        out = os.path.join(self.dir, "out")
        with open(out, "wb") as f:
            run = subprocess.Popen(
                [common.BIN, "record", "-q", "-f", "-o",
                 os.path.join(self.dir, "trace.ctf"), *args, "--", *program],
                stdin=subprocess.PIPE, stdout=f,
                stderr=subprocess.PIPE, env={**common.ENV, **(env or {})},
                **more)
        self.addCleanup(run.communicate)

        def is_ready():
            with open(out) as f:
                return says in f.read() or run.poll() is not None
        wait_until(is_ready)
        self.assertIsNone(run.poll())
        return run, children(run.pid)[0]

    def leaks(self, pid, *args):
        result = common.run("leaks", "--json", "-p", str(pid), *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def by_function(self, found):
        return {(s["function"], s["class"]): (s["blocks"], s["bytes"])
                for s in found["sites"] if s["function"] in
                {function for function, _ in EXPECTED}}


class ShapesTest(Case):
    def test_exact(self):
        run, pid = self.start("--exact")
        found = self.leaks(pid)
        self.assertTrue(found["whole"])
        self.assertEqual(found["unclassed_blocks"], 0)
        self.assertEqual(self.by_function(found), EXPECTED)
        self.assertEqual(
            {c: sum(s["blocks"] for s in found["sites"] if s["class"] == c)
             for c in CLASSES},
            {c: found["classes"][c]["blocks"] for c in CLASSES})
        roots = {s["function"]: s["way"] for s in found["sites"]
                 if s["class"] in ("held", "possible")}
        name = os.path.basename(SHAPES)
        self.assertEqual(roots["hold_large"]["root"], f"held_list ({name})")
        self.assertEqual(roots["hold_inside"]["root"], f"inside ({name})")
        self.assertEqual(roots["hold_by_symbol"]["root"],
                         f"held_global ({name})")
        self.assertEqual(roots["hold_by_symbol"]["blocks"],
                         [{"bytes": 64, "function": "list_make"}])
        # The program's own waits see no child, and it ends as it does.
        self.assertEqual(children(pid), [])
        run.communicate()
        self.assertEqual(run.returncode, 3)

    def test_holders(self):
        """Every held block is below one holder; lists are one step."""
        _, pid = self.start("--exact")
        found = self.leaks(pid)
        name = os.path.basename(SHAPES)
        rows = {(r["root"], *(s["function"] for s in r["steps"]),
                 r["function"]): (r["most"], r["blocks"], r["bytes"])
                for r in found["holders"] if r["class"] == "held" and
                r["function"] in {function for function, _ in EXPECTED}}
        self.assertEqual(rows, {
            (f"held_list ({name})", "hold_large"): (1, 1, 2 << 20),
            (f"held_list ({name})", "hold_large", "list_make"):
                (100, 100, 6400),
            (f"held_global ({name})", "list_make"): (1, 1, 64),
            (f"held_global ({name})", "list_make", "hold_by_symbol"):
                (1, 1, 1000),
            ("thread-local memory", "list_make"):
                (4, 4, 256),
            ("stacks of threads", "list_make"): (3, 3, 192)})
        for c in CLASSES:
            self.assertEqual(
                sum(r["blocks"] for r in found["holders"] if r["class"] == c),
                found["classes"][c]["blocks"])
        self.assertEqual({r.get("root") for r in found["holders"]
                          if r["class"] in ("lost", "indirect")}, {None})

    def test_holders_sampled(self):
        """A root holds what is behind it, whatever of the steps between is in
        the sample: at 64 bytes none of a list's 100 blocks has a chance below
        1e-50, and a step that is not sampled is no step."""
        _, pid = self.start("--interval=64")
        name = os.path.basename(SHAPES)
        rows = [r for r in self.leaks(pid)["holders"]
                if r.get("root") == f"held_list ({name})"]
        self.assertEqual({r["function"] for r in rows},
                         {"hold_large", "list_make"})
        self.assertEqual(len(rows), 2)
        for r in rows:
            self.assertEqual(r["certain_bytes"] > 0, r["samples"] == [])
            self.assertEqual(r["seen_blocks"], max(1, len(r["samples"])))

    def test_text(self):
        _, pid = self.start("--exact")
        result = common.run("leaks", "-p", str(pid), "--top=1",
                            env={"COLUMNS": "100"})
        self.assertIn("every block is recorded", result.stdout)
        self.assertRegex(result.stdout, r"1\.00 MiB +5  LOST")
        self.assertRegex(result.stdout,
                         r"\n +1 MiB +1  lose_large  shapes.c:\d+\n +2 more")
        self.assertIn("← held_list (", result.stdout)
        self.assertLessEqual(
            max(len(line) for line in result.stdout.splitlines()), 100)

    def test_every_word_sampled(self):
        """All is in the sample, but the process's own index tells where."""
        _, pid = self.start("--rate=1")
        found = self.leaks(pid)
        self.assertTrue(found["whole"])
        self.assertEqual(self.by_function(found), EXPECTED)

    def test_tables_full(self):
        """The exact mode gives over to samples: blocks are missing, so what
        lies between the known ones is not free, and ways lead through it."""
        _, pid = self.start("--exact", "--max-memory=1M", "--interval=4K",
                            program=(SHAPES, "15"))
        found = self.leaks(pid)
        self.assertFalse(found["whole"])
        self.assertGreater(found["unrecorded_blocks"], 100)
        seen = self.by_function(found)
        self.assertIn(("hold_large", "held"), seen)
        self.assertLessEqual(set(seen), set(EXPECTED))

    def test_sampled(self):
        """A block that is in the sample is classed by those that are not.
        That none of the two large ones is in it, of 131,072 words and twice
        that many at one in 512, has a chance below 1e-100."""
        _, pid = self.start("--interval=4K")
        found = self.leaks(pid)
        seen = self.by_function(found)
        self.assertGreater(found["unrecorded_blocks"], 100)
        self.assertIn(("lose_large", "lost"), seen)
        self.assertIn(("hold_large", "held"), seen)
        self.assertLessEqual(set(seen), set(EXPECTED))

    def test_without_a_sample(self):
        """Nothing seen is not nothing: what may be there unseen is said. That
        a block of some 500,000 words is in the sample has a chance below
        1e-11."""
        _, pid = self.start("--rate=1e-17")
        for figures in self.leaks(pid)["classes"].values():
            self.assertEqual([figures[key] for key in
                              ("bytes", "blocks", "seen_blocks", "bytes_low",
                               "blocks_low")], [0] * 5)
            # Some samples' worth of each; 8e17 bytes, or 1e17 blocks of one
            # word.
            self.assertTrue(8e17 < figures["bytes_high"] < 8e18, figures)
            self.assertTrue(1e16 < figures["blocks_high"] < 1e18, figures)
        text = common.run("leaks", "-p", str(pid)).stdout
        for title in ("LOST", "INDIRECT", "POSSIBLE", "HELD"):
            self.assertRegex(text, r"\n +0 B +0  " + title +
                             r" +[^\n]*; at most \S+ EiB\n")

    def test_other_allocator(self):
        """What is possible for its allocator alone is told, and only then. That
        of 1000 pairs of nodes none is half in the sample, the second half, has
        a chance below 1e-90."""
        _, pid = self.start("--interval=256", program=(CHAIN,))
        found = self.leaks(pid)
        old, possible = found["may_be_old"], found["classes"]["possible"]
        self.assertGreater(old["seen_blocks"], 0)
        self.assertEqual({k: old[k] for k in possible}, possible)
        self.assertGreater(found["scanned_bytes"], old["scanned_bytes"])
        self.assertGreater(old["scanned_bytes"], 2000 * 64)
        text = common.run("leaks", "-p", str(pid)).stdout
        self.assertRegex(text, r"\n\S+ KiB ± \S+ KiB of POSSIBLE is not HELD "
                         r"because[^\n]* may be old: \S+ .iB, \S+% of [^\n]*"
                         r"free blocks are not known; 'aliquot record --exact'")
        for args, program in (("--exact", CHAIN), ("--interval=256", SHAPES)):
            _, pid = self.start(args, program=(program,))
            found = self.leaks(pid)
            self.assertEqual(found["may_be_old"]["bytes"], 0)
            self.assertNotIn("may be old",
                             common.run("leaks", "-p", str(pid)).stdout)

    def test_attached(self):
        """What was allocated before is in no recording, and in the way."""
        program = subprocess.Popen([SHAPES], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.addCleanup(program.communicate)
        program.stdout.readline()
        pid = str(program.pid)
        refused = common.run("leaks", "-p", pid)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"'aliquot record -p {pid}'", refused.stderr)
        output = os.path.join(self.dir, "left.alqraw")
        result = subprocess.run([common.BIN, "start", "-p", pid, "-o", output],
                                capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest("skipped: attaching: " + result.stderr)
        found = self.leaks(pid)
        self.assertEqual(found["sites"], [])
        self.assertGreater(found["unrecorded_blocks"], 100)
        common.run("stop", "-p", pid)

    def test_end(self):
        """`record --leaks` looks when exit's handlers have run."""
        path = os.path.join(self.dir, "leaks.json")
        run, _ = self.start("--exact", "--leaks=" + path)
        run.communicate()
        self.assertEqual(run.returncode, 3)
        with open(path) as f:
            found = json.load(f)
        self.assertEqual(self.by_function(found), EXPECTED)

    def traced(self, *args, **more):
        """What the trace of a run says of its blocks, and what was said when
        it ended."""
        path = os.path.join(self.dir, "leaks.json")
        run, _ = self.start("--leaks=" + path, *args, **more)
        run.communicate()
        with open(path) as f:
            found = json.load(f)
        return os.path.join(self.dir, "trace.ctf"), found

    def report(self, *args):
        result = common.run("report", "--json", "--top=0", *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def check_same(self, report, found, n=1):
        for c in CLASSES:
            for mine, theirs in (("bytes", "bytes"), ("objects", "blocks"),
                                 ("sampled_blocks", "seen_blocks")):
                self.assertEqual(report[f"{c}_{mine}"],
                                 n * found["classes"][c][theirs], c)
        self.assertEqual(report["unknown_sampled_blocks"], 0)

    def test_trace(self):
        """The classes are in the trace: of all, by site, by filter."""
        for args in (["--exact"], ["--rate=1"], ["--interval=4K"]):
            trace, found = self.traced(*args)
            report = self.report("--leaks", trace)
            self.check_same(report, found)
            self.check_same(self.report(trace), found)
            self.assertEqual(
                {(s["function"], c): s[c + "_objects"]
                 for s in report["sites"] for c in CLASSES
                 if s[c + "_sampled_blocks"] > 0},
                {(s["function"], s["class"]): s["blocks"]
                 for s in found["sites"]})
            for c in CLASSES:
                part = self.report("--leaks", "--filter=reach=" + c, trace)
                self.assertEqual(part["live_objects"], report[c + "_objects"])
                self.assertEqual(part[c + "_objects"], report[c + "_objects"])
            self.assertEqual(common.run("check", trace).returncode, 0)

    def test_trace_other_allocator(self):
        """What is possible for its allocator alone is in the trace: of all, by
        filter, in a merged one."""
        trace, found = self.traced("--interval=256", program=(CHAIN,))
        old = found["may_be_old"]["seen_blocks"]
        self.assertGreater(old, 0)
        merged = os.path.join(self.dir, "m.ctf")
        other = os.path.join(self.dir, "b.ctf")
        shutil.copy(trace, other)
        common.run("merge", "-o", merged, trace, other)
        said = r"\n\S+ KiB ± \S+ KiB of possible is not held because[^\n]*; "
        for n, args in ((1, [trace]), (1, ["--leaks", trace]),
                        (1, ["--filter=reach=possible", trace]),
                        (1, ["--leaks", "--filter=reach=possible", trace]),
                        (0, ["--leaks", "--filter=reach=held", trace]),
                        (2, [merged]), (2, ["--leaks", merged])):
            report = self.report(*args)
            self.assertEqual(report["may_be_old_sampled_blocks"], n * old, args)
            if n == 1:
                self.assertEqual(report["may_be_old_bytes"],
                                 found["may_be_old"]["bytes"])
            if "--leaks" in args:
                text = common.run("report", *args).stdout
                (self.assertRegex if n > 0 else self.assertNotRegex)(text, said)
        trace, _ = self.traced("--exact")
        self.assertEqual(self.report(trace)["may_be_old_bytes"], 0)
        self.assertNotIn("may be old",
                         common.run("report", "--leaks", trace).stdout)

    def test_trace_merged(self):
        trace, found = self.traced("--exact")
        other = os.path.join(self.dir, "b.ctf")
        shutil.copy(trace, other)
        merged = os.path.join(self.dir, "m.ctf")
        result = common.run("merge", "-o", merged, trace, other)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_same(self.report("--leaks", merged), found, 2)
        self.check_same(self.report("--leaks", trace, other), found, 2)
        diff = json.loads(common.run("diff", "--json", trace, merged).stdout)
        lost = diff["totals"]["lost"]
        self.assertEqual(lost["a_bytes"] * 2, lost["b_bytes"])
        self.assertEqual(lost["change_bytes"],
                         found["classes"]["lost"]["bytes"])

    def test_trace_text(self):
        trace, _ = self.traced("--exact")
        result = common.run("report", "--leaks", trace)
        self.assertRegex(result.stdout, r"1\.00 MiB +5  lost +no pointer")
        self.assertRegex(result.stdout, r"LOST by function\n.*\n"
                         r" +1 MiB +1  lose_large ")
        run, _ = self.start("--exact")
        run.communicate()
        plain = common.run("report", "--leaks", trace)
        self.assertNotIn("LOST", plain.stdout)
        self.assertNotIn("lost_bytes", self.report("--leaks", trace))

    def test_end_text(self):
        run, _ = self.start("--exact", "--leaks")
        _, err = run.communicate()
        self.assertRegex(err.decode(), r"1\.00 MiB +5  LOST")
        self.assertEqual(run.returncode, 3)

    def test_end_without_reader(self):
        """The one that looks is gone: the process ends all the same."""
        run, pid = self.start("--exact", "--leaks")
        run.kill()
        run.communicate()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))

    def end(self, how, n_threads, *args):
        """The moment, and what was found of the blocks that are known."""
        path = os.path.join(self.dir, "end.json")
        result = subprocess.run(
            [common.BIN, "record", "-q", "-f", "--leaks=" + path, "-o",
             os.path.join(self.dir, "t.ctf"), *args, "--", ENDS, how,
             str(n_threads)], env=common.ENV)
        with open(path) as f:
            found = json.load(f)
        return result.returncode, found["moment"], {
            (s["function"], s["class"]): (s["blocks"], s["bytes"])
            for s in found["sites"]
            if s["function"] in ("lose", "main", "thread_run")}

    def test_very_end(self):
        """What a library frees in its destructor is free; ends without
        destructors are ends, too; nothing of it is noticed by the program."""
        for how in ("exit", "_exit", "quick", "busy", "killed"):
            for n in (0, 20):
                blocks = {("lose", "lost"): (1, 2000)}
                is_freed = how in ("exit", "busy", "killed")
                blocks["main", "held"] = (1, 1000) if is_freed else (2, 4000)
                if n > 0:
                    blocks["thread_run", "held"] = (n, 100 * n)
                with self.subTest(how, n=n):
                    self.assertEqual(
                        self.end(how, n, "--exact"),
                        (-9 if how == "killed" else 7, "end", blocks))

    def test_very_end_sampled(self):
        """Each block's place is asked for before the end."""
        self.assertEqual(self.end("exit", 0, "--rate=1"),
                         (7, "end", {("lose", "lost"): (1, 2000),
                                     ("main", "held"): (1, 1000)}))

    def test_end_by_exec(self):
        """It never ends; the program that follows it does."""
        status, moment, _ = self.end("exec", 20, "--exact")
        self.assertEqual((status, moment), (7, "end"))

    def unlooked(self, said, reason, trace, remark):
        """That it was not looked at is said with the reason, by the command and
        by the trace."""
        self.assertRegex(said, r"(^|\n)aliquot: \S+ \(\d+\) was not looked at, for " +
                         reason)
        self.assertEqual(self.report(trace)["recording"]["unlooked"], 1)
        for verb, *args in (("report",), ("report", "--leaks"), ("info",)):
            text = common.run(verb, *args, trace).stdout
            self.assertIn("1 of the processes --leaks did not look at", text)
        self.assertRegex(common.run("report", "--leaks", trace).stdout,
                         r"(?s)\n! the pro\w+ " + remark + r".*! 1 of the processes")

    def test_end_by_signal(self):
        """^C and others that nobody handles."""
        trace = os.path.join(self.dir, "trace.ctf")
        for number, to_group in ((signal.SIGINT, True), (signal.SIGTERM, False),
                                 (signal.SIGKILL, False)):
            with self.subTest(number):
                run, pid = self.start("--leaks", "--exact",
                                      start_new_session=True)
                if to_group:
                    os.killpg(run.pid, number)
                else:
                    os.kill(pid, number)
                said = run.communicate()[1].decode()
                self.assertEqual(run.returncode, -number)
                self.unlooked(said, f"signal {number} ended it", trace,
                              f"was killed by signal {number}")

    def test_end_of_image(self):
        """Another program takes its place."""
        path = os.path.join(self.dir, "t.ctf")
        result = common.run("record", "-q", "--leaks", "-o", path, "--exact",
                            "--", "sh", "-c", "exec true")
        first = [f for f in os.listdir(self.dir) if f.endswith(".ctf") and
                 f != "t.ctf"]
        self.assertEqual(len(first), 1, os.listdir(self.dir))
        self.unlooked(result.stderr, r"it went on as another program \(exec\)",
                      os.path.join(self.dir, first[0]), "went on as another")
        self.assertEqual(self.report(path)["recording"]["unlooked"], 0)
        self.assertEqual(result.stderr.count("not looked at"), 1)

    def test_end_unasked(self):
        """Without --leaks nothing is said of it."""
        run, pid = self.start("--exact")
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(run.communicate()[1], b"")
        trace = os.path.join(self.dir, "trace.ctf")
        self.assertEqual(self.report(trace)["recording"]["unlooked"], 0)
        self.assertNotIn("did not look at",
                         common.run("report", "--leaks", trace).stdout)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_container(self):
        """It has another number there, and is process 1."""
        if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("skipped: containers: unshare is denied")
        inside = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
        run, pid = self.start("--exact", "--follow",
                              program=(*inside, SHAPES))
        found = self.leaks(children(pid)[0])
        self.assertEqual(self.by_function(found), EXPECTED)
        run.communicate()
        result = subprocess.run(
            [common.BIN, "record", "-q", "-f", "--exact", "--follow",
             "--leaks", "-o", os.path.join(self.dir, "t.%p.ctf"), "--",
             *inside, ENDS, "exit"], capture_output=True, text=True,
            env=common.ENV)
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, r"at its end[^\n]*\n\n.*\n +1\.95 KiB"
                         " +1  LOST")

    def test_refused(self):
        self.assertEqual(common.run("leaks").returncode, 2)
        self.assertEqual(common.run("leaks", "-p", "0").returncode, 2)
        gone = subprocess.Popen(["true"])
        gone.wait()
        result = common.run("leaks", "-p", str(gone.pid))
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no process", result.stderr)
        result = common.run("record", "--leaks", "-p", str(os.getpid()))
        self.assertEqual(result.returncode, 2)
        self.assertIn("aliquot leaks -p", result.stderr)


class OddTest(Case):
    """Pointers and memory that are no everyday ones."""

    EXPECTED = {"tag_low": ("possible", 501), "tag_high": ("lost", 502),
                "hold_by_shared": ("held", 503), "hold_by_huge": ("held", 504),
                "hold_by_thp": ("held", 505), "hold_by_guarded": ("held", 506),
                "lose_behind_guard": ("lost", 507),
                "hold_by_key": ("held", 508),
                "hold_by_below_stack": ("held", 510),
                "hold_by_vector": ("held", 511),
                "hold_behind_library": ("held", 512)}

    def check_odd(self, *args):
        _, pid = self.start(*args, program=(ODD,))
        found = self.leaks(pid)
        expected = {f: {c: b} for f, (c, b) in self.EXPECTED.items()}
        with open(os.path.join(self.dir, "out")) as f:
            said = f.read()
        if "no huge pages" in said:
            del expected["hold_by_huge"]
            print("skipped: huge pages: none is set aside", file=sys.stderr)
        if "no room behind" in said:
            del expected["hold_behind_library"]
            print("skipped: memory behind the library: none is free",
                  file=sys.stderr)
        expected["hold_by_block"] = {"held": 300509}
        seen = {}
        for s in found["sites"]:
            if s["function"] in expected:
                seen.setdefault(s["function"], {})[s["class"]] = s["bytes"]
        self.assertEqual(seen, expected)
        return pid

    def test_exact(self):
        self.check_odd("--exact")

    def test_sampled(self):
        self.check_odd("--rate=1")

    def test_ptrace_forbidden(self):
        """Somebody else traces the process: what stands against it is said,
        and the process is as it was."""
        if shutil.which("strace") is None:
            self.skipTest("skipped: a traced process: no strace")
        run, pid = self.start("--exact", program=(ODD,))
        tracer = subprocess.Popen(["strace", "-o", "/dev/null", "-p",
                                   str(pid)], stderr=subprocess.DEVNULL)
        with_status = f"/proc/{pid}/status"

        def is_traced():
            with open(with_status) as f:
                return "TracerPid:\t0\n" not in f.read()
        wait_until(is_traced)
        result = common.run("leaks", "-p", str(pid))
        self.assertEqual(result.returncode, 1)
        self.assertIn("traced", result.stderr)
        tracer.terminate()
        tracer.wait()
        self.leaks(pid)
        run.communicate()
        self.assertEqual(run.returncode, 0)

    def test_killed_while_looked_at(self):
        """The process goes at any moment of the look: it is classed as it
        was, or that is said; nothing of it stays."""
        before = set(copies())
        chance = random.Random(int(os.environ.get("ALQ_TEST_SEED", "0")) + 2)
        for _ in range(10):
            run, pid = self.start("--exact", program=(SHAPES, "12"))
            looking = subprocess.Popen(
                [common.BIN, "leaks", "--json", "-p", str(pid)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(chance.random() * 0.05)
            os.kill(pid, signal.SIGKILL)
            out, err = looking.communicate()
            if looking.returncode == 0:
                json.loads(out)
            else:
                self.assertIn(looking.returncode, (1, 3))
                self.assertRegex(err.decode(), "^aliquot: leaks: ")
            run.communicate()
        wait_until(lambda: set(copies()) <= before)


class HammerTest(Case):
    """Threads that never rest: each block is held at any moment, so one that
    is said to be lost is a picture of two moments."""

    def look(self, n_looks, *args, n_threads=16):
        run, pid = self.start(*args, program=(HAMMER, str(n_threads)))
        for _ in range(n_looks):
            found = self.leaks(pid)
            for c in ("lost", "indirect"):
                self.assertEqual([s for s in found["sites"]
                                  if s["class"] == c], [])
            # 200 a thread: some 1,260 are sampled, 500 is 20 errors below
            self.assertGreater(found["classes"]["held"]["seen_blocks"], 500)
            self.assertEqual(children(pid), [])
        run.communicate()
        with open(os.path.join(self.dir, "out")) as f:
            self.assertIn("0 wrong", f.read())
        self.assertEqual(run.returncode, 0)

    def test_exact(self):
        self.look(3, "--exact")

    def test_sampled(self):
        self.look(3, "--interval=512")

    def test_hundred_threads(self):
        self.look(1, "--interval=4K", n_threads=100)

    def test_killed(self):
        """The command is killed at a random moment: the process goes on, and
        no copy of it stays."""
        before = set(copies())
        run, pid = self.start("--interval=16K", program=(HAMMER, "4"))
        chance = random.Random(int(os.environ.get("ALQ_TEST_SEED", "0")) + 1)
        for _ in range(12):
            looking = subprocess.Popen(
                [common.BIN, "leaks", "--json", "-p", str(pid)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * 0.15)
            looking.kill()
            looking.wait()
        wait_until(lambda: set(copies()) <= before)
        self.leaks(pid)
        run.communicate()
        with open(os.path.join(self.dir, "out")) as f:
            self.assertIn("0 wrong", f.read())
        self.assertEqual(run.returncode, 0)


class ValgrindTest(Case):
    """Programs that end by themselves: the four classes to the byte."""

    WORDS = ["definitely lost", "indirectly lost", "possibly lost",
             "still reachable"]
    PROGRAMS = [["sort", os.path.abspath(__file__)], ["ls", "-l", "/etc"],
                ["grep", "-r", "root", "/etc/passwd"],
                ["tar", "cf", "/dev/null", "/etc/apt"],
                ["sqlite3", ":memory:", "create table t(a, b); "
                 "insert into t values (1, 2); select * from t"]]

    @staticmethod
    def valgrind(program, env, log):
        subprocess.run(["valgrind", "--run-libc-freeres=no",
                        "--run-cxx-freeres=no", "--undef-value-errors=no",
                        "--leak-check=full", "--log-file=" + log, *program],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=env)
        with open(log) as f:
            text = f.read()
        found = {}
        for name, words in zip(CLASSES, ValgrindTest.WORDS):
            m = re.search(words + r": ([\d,]+) bytes in ([\d,]+) blocks", text)
            found[name] = tuple(int(n.replace(",", "")) for n in
                                (m.groups() if m else ("0", "0")))
        return found

    def test_same(self):
        if shutil.which("valgrind") is None:
            self.skipTest("skipped: classes beside valgrind's: no valgrind")
        env = {"PATH": os.environ["PATH"], "HOME": "/", "LC_ALL": "C",
               "ALIQUOT_CACHE": "/dev/null"}
        for program in self.PROGRAMS:
            if shutil.which(program[0]) is None:
                print(f"skipped: {program[0]}: not here", file=sys.stderr)
                continue
            path = os.path.join(self.dir, "leaks.json")
            subprocess.run([common.BIN, "record", "-q", "-f", "--exact",
                            "--leaks=" + path, "-o",
                            os.path.join(self.dir, "t.ctf"), "--", *program],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           env=env, check=True)
            with open(path) as f:
                classes = json.load(f)["classes"]
            with self.subTest(program[0]):
                self.assertEqual(
                    {c: (classes[c]["bytes"], classes[c]["blocks"])
                     for c in CLASSES},
                    self.valgrind(program, env, path + ".log"))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main()
