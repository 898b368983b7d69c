"""Limits on programs that know nothing of them: record --limit-live and
--limit-alloc, what is reported, and what is done to the program."""
import glob
import os
import re
import signal
import subprocess
import sys
import unittest

import common

LEAKER = os.environ["LEAKER"]
PRELOAD = os.environ["PRELOAD"]
MI = 1 << 20


class Limit(common.Case):
    def record(self, *args, rc=7, out="t.ctf", what=("leak", "60000")):
        """Runs the program; the result's stdout is the program's."""
        options = ["-o", os.path.join(self.dir, out)] if out else []
        program = what if os.path.isabs(what[0]) else (LEAKER, *what)
        result = subprocess.run(
            [common.BIN, "record", *options, *args, "--", *program],
            capture_output=True, cwd=self.dir, env=common.ENV, timeout=common.PATIENCE_S,
            text=True)
        self.assertEqual(result.returncode, rc, result.stderr)
        return result

    def report(self, name="t.limit-live.txt"):
        with open(os.path.join(self.dir, name)) as f:
            return f.read()

    def names(self):
        return sorted(os.listdir(self.dir))

    def live_steps(self, name="t.ctf"):
        """Of an exact trace: live bytes after each allocation."""
        live, sizes, steps = 0, {}, []
        text = self.ok("script", "--format=memtrace",
                       os.path.join(self.dir, name))
        for line in text.splitlines():
            words = line.split()
            if words[2].startswith("alloc"):
                n = int(re.search(r"len=(\d+)", line).group(1))
                sizes[words[1]] = n
                live += n
                steps.append(live)
            elif words[2] == "collect":
                live -= sizes.pop(words[1], 0)
        return steps

    def test_report(self):
        result = self.record("--limit-live=20M")
        self.assertEqual(result.stdout, "kept 60000\n")
        line = result.stderr.splitlines()[0]
        self.assertRegex(line, r"^aliquot: \S+ \(\d+\): 20\.\d MiB alive after "
                         r"[\d.]+ m?s, the limit is 20 MiB -> .*/"
                         r"t\.limit-live\.txt$")
        report = self.report()
        self.assertIn("limit     20 MiB of live bytes", report)
        self.assertIn("leaker leak 60000\n", report)
        self.assertIn("then      it went on\n", report)
        self.assertIn("one for each 20 KiB", report)
        self.assertIn("still in use", report)
        site = report.split("LIVE AT THE END by function")[1].splitlines()[2]
        self.assertIn("keep_row", site)
        # Of what was alive at that moment, not of all the 57 MiB that came.
        alive = re.search(r"live at end +([\d.]+) MiB", report).group(1)
        self.assertTrue(20 <= float(alive) < 20.3, alive)
        self.assertEqual(self.names(), ["t.ctf", "t.limit-live.txt"])
        self.assertIn("no findings",
                      self.ok("check", os.path.join(self.dir, "t.ctf")))

    def test_not_reached(self):
        result = self.record("--limit-live=200M")
        self.assertEqual(result.stdout, "kept 60000\n")
        self.assertNotIn("limit", result.stderr)
        self.assertEqual(self.names(), ["t.ctf"])
        self.record("--limit-live=20M", out="c.ctf", what=("churn", "60000"))
        self.assertEqual(self.names(), ["c.ctf", "t.ctf"])

    def test_quiet(self):
        result = self.record("-q", "--limit-live=20M")
        self.assertEqual(result.stderr, "")
        self.assertIn("20 MiB of live bytes", self.report())

    def test_kill_at_the_block(self):
        """Exactly: the last allocation is the one that crosses, each time."""
        for _ in range(3):
            result = self.record("--exact", "-f", "--limit-live=3M",
                                 "--on-limit=kill", rc=-signal.SIGKILL)
            self.assertEqual(result.stdout, "")
            self.assertIn("; killed -> ", result.stderr)
            steps = self.live_steps()
            self.assertGreater(steps[-1], 3 * MI)
            self.assertLessEqual(max(steps[:-1]), 3 * MI)
            self.assertIn("it was sent SIGKILL", self.report())
            self.assertIn("figures are exact", self.report())
            self.assertNotIn("(estimated)", self.report())
            self.assertIn("no findings",
                          self.ok("check", os.path.join(self.dir, "t.ctf")))

    def test_kill_sampled(self):
        """Where it is killed its samples stand for 20 MiB, to one of them; how
        much it has allocated by then is a matter of chance, 3 % of it one
        error, and is within nine."""
        self.record("--limit-live=20M", "--on-limit=kill",
                    rc=-signal.SIGKILL)
        kept = 20 * MI / 1000
        got = self.json("--live", os.path.join(self.dir, "t.ctf"))
        rows = sum(s["live_objects"] for s in got["sites"]
                   if s["function"] == "keep_row")
        self.assertLess(abs(rows - kept), 0.01 * kept)
        self.assertLess(got["allocated_objects"], 2 * kept * 1.3)
        self.assertEqual(got["recording"]["ended"], "killed")

    def test_exact_report_goes_on(self):
        """The report has all up to the block that crossed, by two clocks, and
        not what came until it was read, some 2 MiB."""
        result = self.record("--exact", "--limit-live=4M")
        self.assertEqual(result.stdout, "kept 60000\n")
        report = self.report()
        self.assertIn(": 4.00 MiB alive, ", report)
        alive = re.search(r"live at end +([\d.]+) MiB", report).group(1)
        self.assertTrue(3 < float(alive) < 5, alive)
        self.assertGreater(self.live_steps()[-1], 57 * MI)

    def test_signal(self):
        result = self.record("--limit-live=4M", "--on-limit=signal=USR1",
                             what=("hands", "10000"))
        self.assertEqual(result.stdout, "signals 1\nkept 10000\n")
        self.assertIn("; sent SIGUSR1 -> ", result.stderr)
        self.assertIn("SIGUSR1 is sent to it, if it still runs",
                      self.report())
        # The report is there before the signal comes; 10 is its number.
        self.record("-f", "--limit-live=4M", "--on-limit=signal=10",
                    what=("hands", "10000"))
        self.record("-f", "--limit-live=4M", "--on-limit=signal",
                    what=("hands", "10000"), rc=-signal.SIGTERM)
        self.assertIn("SIGTERM is sent to it, if it still runs",
                      self.report())

    def test_signal_for_who_has_ended(self):
        """What is said is what has happened, whoever was first."""
        for n in range(4196, 4300, 20):
            run = subprocess.run(
                [common.BIN, "record", "-f", "--limit-live=4M", "--exact",
                 "--on-limit=signal", "-o", os.path.join(self.dir, "t.ctf"),
                 "--", LEAKER, "leak", str(n)], capture_output=True, text=True,
                cwd=self.dir, env=common.ENV, check=False,
                timeout=common.PATIENCE_S)
            was_sent = run.returncode == -signal.SIGTERM
            self.assertIn("; sent SIGTERM" if was_sent else
                          "; it had ended before SIGTERM was sent", run.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_signal_in_a_container(self):
        """There its number is 1, or so; here another process has that."""
        inside = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("skipped: containers: unshare is denied")
        result = subprocess.run(
            [common.BIN, "record", "--follow", "--limit-live=4M",
             "--on-limit=signal=USR1", "-o", os.path.join(self.dir, "%p.ctf"),
             "--", *inside, LEAKER, "hands", "10000"], capture_output=True,
            text=True, cwd=self.dir, env=common.ENV, check=False,
            timeout=common.PATIENCE_S)
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertEqual(result.stdout, "signals 1\nkept 10000\n")
        self.assertIn("; sent SIGUSR1 -> ", result.stderr)

    def test_seed(self):
        """A limit that is not reached takes no part in the samples."""
        path = os.path.join(self.dir, "s.ctf")
        seen = []
        for options in [[], [], ["--limit-live=1G"],
                        ["--limit-alloc=1G", "--limit-live=1G"]]:
            self.record("-f", "--interval=16K", "--seed=7", *options,
                        out="s.ctf", what=("leak", "8000"))
            rows = [line.split("\t")
                    for line in self.ok("script", path).splitlines()]
            seen.append([(row[2], row[3], row[4]) for row in rows
                         if row[1] == "alloc"])
        self.assertGreater(len(seen[0]), 500)
        for other in seen[1:]:
            self.assertEqual(other, seen[0])

    def test_allocated(self):
        result = self.record("--limit-alloc=40M", "--limit-live=1G",
                             what=("churn", "60000"))
        self.assertEqual(result.stdout, "kept 0\n")
        self.assertIn(" allocated after ", result.stderr)
        report = self.report("t.limit-alloc.txt")
        self.assertIn("limit     40 MiB of allocated bytes", report)
        self.assertIn("ALLOCATED by function", report)
        self.assertEqual(self.names(), ["t.ctf", "t.limit-alloc.txt"])

    def test_both(self):
        self.record("--limit-alloc=40M", "--limit-live=10M")
        self.assertEqual(self.names(), ["t.ctf", "t.limit-alloc.txt",
                                        "t.limit-live.txt"])

    def test_threads(self):
        """Each of the other three may be in a block of its own, counted and not
        yet written, when one crosses."""
        self.record("--exact", "--limit-live=3M", "--on-limit=kill",
                    what=("threads", "60000"), rc=-signal.SIGKILL)
        steps = self.live_steps()
        self.assertGreater(max(steps), 3 * MI - 3 * 3000)
        for n in range(5):
            self.record("-f", "--limit-live=8M", "--on-limit=kill",
                        "--seed=%d" % n, what=("threads", "60000"),
                        rc=-signal.SIGKILL)
            self.assertIn("keep_row", self.report())
        self.record("-f", "--limit-live=8M", what=("threads", "60000"))

    def test_children(self):
        """Each process has its own limit; a report is named after it."""
        result = self.record("--limit-live=4M", "--on-limit=kill",
                             what=("forks", "60000"))
        self.assertEqual(result.stdout, "child 9\nkept 10\n")
        report, = glob.glob(os.path.join(self.dir, "t.*.limit-live.txt"))
        self.assertIn("keep_row", self.report(report))
        self.assertIn("forked from", self.report(report))
        self.assertFalse(os.path.exists(
            os.path.join(self.dir, "t.limit-live.txt")))

    def test_followed(self):
        result = self.record("--follow", "--limit-live=4M", "--on-limit=kill",
                             what=("/bin/sh", "-c", "%s leak 60000; echo $?; "
                                   "%s leak 10" % (LEAKER, LEAKER)))
        self.assertEqual(result.stdout, "137\nkept 10\n")
        reports = glob.glob(os.path.join(self.dir, "t.*.limit-live.txt"))
        self.assertEqual(len(reports), 1)

    def test_no_name(self):
        """Without -o everything has the program's name and number."""
        self.record("--limit-live=20M", out=None)
        names = self.names()
        self.assertEqual(len(names), 2)
        self.assertRegex(names[0], r"^aliquot\.\w+\.\d+\.ctf$")
        self.assertEqual(names[1], names[0][:-4] + ".limit-live.txt")

    def test_nothing_is_overwritten(self):
        self.write("t.limit-live.txt", b"mine")
        self.record("--limit-live=20M")
        self.assertEqual(self.report(), "mine")
        self.assertEqual(len(glob.glob(os.path.join(
            self.dir, "t.*.limit-live.txt"))), 1)
        self.record("-f", "--limit-live=20M")
        self.assertIn("20 MiB of live bytes", self.report())

    def test_python(self):
        """A program of another language: a list that grows."""
        script = ("rows = []\n"
                  "while True:\n    rows.append(bytearray(2000))\n")
        self.record("--limit-live=64M", "--on-limit=kill",
                    what=(sys.executable, "-c", script), rc=-signal.SIGKILL)
        report = self.report()
        self.assertIn("limit     64 MiB of live bytes", report)
        alive = float(re.search(r"live at end +([\d.]+) MiB", report).group(1))
        self.assertTrue(64 <= alive < 64.6, alive)
        self.assertIn("yteArray", report)

    def test_interval(self):
        """Finer for small limits, unless one is given; 3 % at the limit."""
        for args, interval in ((("--limit-live=20M",), "20 KiB"),
                               (("--limit-live=1M",), "4 KiB"),
                               (("--limit-live=8G", "--limit-alloc=20M"),
                                "20 KiB"),
                               (("--limit-live=20M", "--interval=512K"),
                                "512 KiB")):
            self.record("-f", *args)
            self.assertIn("one for each " + interval, self.ok(
                "report", "--no-pager", os.path.join(self.dir, "t.ctf")))
        self.record("-f", "--limit-live=8G")
        self.assertIn("one for each 512 KiB", self.ok(
            "report", "--no-pager", os.path.join(self.dir, "t.ctf")))

    def test_wrong(self):
        for args, said in (
                (("--limit-live=0",), "--limit-live 0: a size from 4K on"),
                (("--limit-live=x",), "--limit-live x: a size"),
                (("--limit-alloc=-1M",), "--limit-alloc -1M: a size"),
                (("--on-limit=kill",), "--on-limit of what?"),
                (("--limit-live=1M", "--on-limit=stop"), "--on-limit stop: "
                 "choose one of: report, signal, signal=NAME, kill"),
                (("--limit-live=1M", "--on-limit=signal=NOSUCH"),
                 "--on-limit signal=NOSUCH: there is no signal NOSUCH"),
                (("--limit-live=1M", "--off"), "choose one")):
            result = common.run("record", *args, LEAKER)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(said, result.stderr)
        self.assertEqual(self.names(), [])

    def test_not_found(self):
        result = common.run("record", "--limit-live=1M", "-o",
                            os.path.join(self.dir, "t.ctf"), "/no/such")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(self.names(), [])

    def alone(self, settings, *what, rc=7):
        """Under the preload, with nobody who records."""
        out = os.path.join(self.dir, "%p.alqraw")
        result = subprocess.run(
            [LEAKER, *what], capture_output=True, timeout=common.PATIENCE_S, text=True,
            env={**common.ENV, "LD_PRELOAD": PRELOAD,
                 "ALIQUOT": "interval=4096," + settings + ",out=" + out})
        self.assertEqual(result.returncode, rc, result.stderr)
        return result

    def test_alone(self):
        result = self.alone("limit_live=4194304", "leak", "10000")
        self.assertRegex(result.stderr, r"^aliquot: \d+: limit reached: 4\d{6} "
                         r"bytes are alive, of 4194304; recorded to .*alqraw\n$")
        result = self.alone("limit_alloc=4194304,on_limit=kill", "churn",
                            "10000", rc=-signal.SIGKILL)
        self.assertIn("bytes were allocated, of 4194304", result.stderr)
        result = self.alone("limit_live=4194304,on_limit=USR1", "hands",
                            "10000")
        self.assertEqual(result.stdout, "signals 1\nkept 10000\n")
        result = self.alone("limit_live=4194304,on_limit=nothing", "leak",
                            "100")
        self.assertIn("'on_limit=nothing'", result.stderr)

    def test_recorder_is_gone(self):
        """The program is not: it says so, and does to itself what it must."""
        recorder = subprocess.Popen(
            [common.BIN, "record", "--limit-live=4M", "--on-limit=signal",
             "-o", "t.ctf", "--", LEAKER, "waits", "20000"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.dir, env=common.ENV, text=True)
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        recorder.kill()
        recorder.wait()
        out, said = recorder.communicate("go\n")
        self.assertEqual(out, "")
        self.assertRegex(said, r"^aliquot: \d+: limit reached: 4\d{6} bytes "
                         r"are alive, of 4194304; recorded to .*\n$")
        raw, = glob.glob(os.path.join(self.dir, ".aliquot-raw.*", "*.alqraw"))
        self.assertIn("keep_row", self.ok("report", "--no-pager", raw))


if __name__ == "__main__":
    common.main()
