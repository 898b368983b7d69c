"""From a program to its report, over recordings of a program whose every
block is known."""
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios
import time
import unittest

import common

VICTIM = os.environ["VICTIM"]

# Says which signals come, until one of them is USR1.
COUNTER = """
import os, signal
signals = signal.SIGINT, signal.SIGUSR1
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print(os.getpid(), flush=True)
while True:
    got = signal.sigwait(signals)
    print(got.name[3:], flush=True)
    if got == signal.SIGUSR1:
        break
"""


class Record(common.Case):
    def record(self, *options):
        path = os.path.join(self.dir, "victim.ctf")
        result = common.run("record", "-f", "-o", path, *options, VICTIM)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("-> " + path, result.stderr)
        return path

    def site(self, got, function):
        sites = [s for s in got["sites"] if s["function"] == function]
        self.assertEqual(len(sites), 1, function)
        return sites[0]

    def test_every_block(self):
        got = self.json("--leaks", self.record("--rate=1"))
        self.assertTrue(got["recording"]["is_exact"])
        self.assertEqual(got["recording"]["ended"], "exit")
        rows = self.site(got, "keep_rows")
        self.assertEqual(rows["allocated_bytes"], 300 * 1000)
        self.assertEqual(rows["live_objects"], 300)
        self.assertEqual(rows["live_bytes_stderr"], 0)
        self.assertTrue(rows["file"].endswith("victim.cpp"))
        churn = self.site(got, "churn")
        self.assertEqual(churn["allocated_objects"], 5000)
        self.assertEqual(churn["allocated_bytes"], 5000 * 64)
        self.assertEqual(churn["live_objects"], 0)
        self.assertGreater(churn["temporary_objects"], 4000)

    def test_each_count_stands_once(self):
        text = self.ok("script", self.record("--exact"))
        end, = [line for line in text.splitlines()
                if "\tend samples=" in line]
        keys = [word.split("=")[0] for word in end.split("\t")[8].split()]
        self.assertEqual(sorted(keys), sorted(set(keys)))

    def test_refused_before_the_program_runs(self):
        """... and nothing is left behind."""
        for options, status, text in (
                (("-o", self.dir), 2, "is a directory: name a file"),
                (("-f", "-o", self.dir), 2, "is a directory: name a file"),
                (("-o", "none/t.ctf"), 2, "cannot create none/t.ctf: "),
                (("-o", "none/%e.%p.ctf"), 2, "cannot create none/program."),
                (("-f", "-o", "x" * 300), 2, "File name too long"),
                (("-f", "-o", self.dir + "/"), 2, "is a directory"),
                (("--leaks=none/l.json",), 2,
                 "cannot create none/l.json: No such file"),
                (("--leaks=" + self.dir,), 2, "Is a directory"),
                (("--leaks=t.ctf", "-o", "t.ctf"), 2,
                 "--leaks and --output are one file"),
                (("--leaks=l.json", "-o", "none/t.ctf"), 2, "cannot create"),
                (("-o", "-"), 2, "standard output is the program's"),
                (("--max-memory=64M",), 2, "--max-memory is for --exact")):
            result = subprocess.run(
                [common.BIN, "record", *options, VICTIM], cwd=self.dir,
                env=common.ENV, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, status, options)
            self.assertEqual(result.stdout, "")
            self.assertIn(text, result.stderr)
            self.assertEqual(os.listdir(self.dir), [])

    def test_what_is_there_stays_until_it_is_written(self):
        """An output is tried, and left as it is where nothing comes of it; a
        link that leads nowhere yet is one that can be written."""
        with open(os.path.join(self.dir, "old"), "w") as f:
            f.write("precious")
        os.symlink("made", os.path.join(self.dir, "link"))

        def record(*args):
            return subprocess.run(
                [common.BIN, "record", "-q", "-f", *args], cwd=self.dir,
                env=common.ENV, capture_output=True, text=True, check=False)
        for args, status, files in (
                (("--leaks=old", "-o", "none/t.ctf", VICTIM), 2, []),
                (("--leaks=old", "-o", "t.ctf", "sh", "-c", "kill -9 $$"), -9,
                 ["t.ctf"]),
                (("--leaks=link", "-o", "old", "./none"), 127, ["t.ctf"]),
                (("--leaks=link", "-o", "t.ctf", "true"), 0,
                 ["made", "t.ctf"])):
            self.assertEqual(record(*args).returncode, status, args)
            self.assertEqual(sorted(os.listdir(self.dir)),
                             sorted(["link", "old", *files]), args)
            with open(os.path.join(self.dir, "old")) as f:
                self.assertEqual(f.read(), "precious")

    def test_what_cannot_be_written_at_the_end(self):
        """... gives no status of success, and the program's own stands."""
        path = os.path.join(self.dir, "t.ctf")
        for args, said in ((("-o", path, "--leaks=/dev/full"),
                            "cannot write /dev/full: No space left"),
                           (("-o", "/dev/full"), "writing /dev/full: No space"),
                           (("-o", path, "--leaks=" + os.path.join(
                               self.dir, "gone", "l.json")),
                            "l.json: No such file")):
            for status in 0, 7:
                os.makedirs(os.path.join(self.dir, "gone"), exist_ok=True)
                result = common.run(
                    "record", "-f", *args, "--exact", "--", "sh", "-c",
                    f"rmdir {self.dir}/gone; echo it ran; exit {status}")
                self.assertEqual(result.returncode, status or 125,
                                 result.stderr)
                self.assertEqual(result.stdout, "it ran\n")
                self.assertIn(said, result.stderr)

    def test_nothing_seen(self):
        """What is said of a process without a block fits its options."""
        for options, wanted, other in (
                (("--follow",), "which has its own trace", "--follow"),
                (("--exact",), "no block: the program allocated nothing",
                 "interval"),
                ((), "(--follow records those)", "own trace")):
            result = common.run("record", *options, "-f", "-o",
                                os.path.join(self.dir, "t.ctf"), "true")
            self.assertIn(wanted, result.stderr)
            self.assertNotIn(other, result.stderr)

    def test_nothing_seen_is_explained_once(self):
        """... whether the program becomes others, which leave nothing then,
        or makes processes."""
        for line, more in (("exec env env true", 0),
                           ("true & wait; /bin/true", 1),
                           ("/bin/true; exit 0", 1)):
            path = os.path.join(self.dir, "t.ctf")
            said = common.run("record", "--follow", "--interval=1024G",
                              "--seed=1", "-f", "-o", path, "sh", "-c",
                              line).stderr.splitlines()
            self.assertEqual([" no sample: " in s for s in said],
                             [False, True] + [False] * (more > 0), said)
            self.assertIn(" %d more trace" % more if more else "no sample",
                          said[-1])

    def test_a_daemon_that_allocates_later(self):
        """The program has ended before its child has been sampled."""
        go, end = (os.path.join(self.dir, name) for name in ("go", "end"))
        os.mkfifo(go)
        os.mkfifo(end)
        code = ("import os\n"
                "if os.fork() == 0:\n"
                "    os.setsid()\n"
                "    os.dup2(os.open('/dev/null', os.O_RDWR), 2)\n"
                "    os.open(%r, os.O_RDONLY)\n"
                "    x = b'x' * 3000000\n"
                "    os.open(%r, os.O_WRONLY)\n" % (go, end))
        said = os.path.join(self.dir, "said")
        with open(said, "w") as err:
            subprocess.run([common.BIN, "record", "--no-python",
                            "--interval=1M", "--seed=3", "-o",
                            os.path.join(self.dir, "t.ctf"), "--",
                            sys.executable, "-S", "-c", code], stderr=err,
                           env=common.ENV, check=True,
                           timeout=common.PATIENCE_S)
        with open(said) as err:
            text = err.read()
        self.assertRegex(text, r"python\S* \(\d+\) runs on and was not sampled "
                         r"yet: what it allocates is recorded in ")
        self.assertNotIn("cannot", text)
        with open(go, "w"), open(end) as f:
            self.assertEqual(f.read(), "")  # at its end
        path, = glob.glob(os.path.join(self.dir, ".aliquot-raw.*", "*.alqraw"))
        self.assertGreater(self.json(path)["allocated_bytes"], 1e6)

    def test_a_copy_of_a_trace_tells_its_bytes(self):
        path = self.record("--rate=1")
        copy = os.path.join(self.dir, "copy.ctf")
        said = self.ok("snapshot", "-o", copy, path)
        self.assertEqual(self.json(copy)["allocated_bytes"],
                         self.json(path)["allocated_bytes"])
        total = re.search(r"allocated +(\S+ \w+)", self.ok("info", path))[1]
        self.assertIn(" of %s allocated" % total, said)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_a_recording_that_a_container_writes(self):
        """The process has another number there; here it still runs."""
        inside = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("skipped: containers: unshare is denied")
        with subprocess.Popen(
                [common.BIN, "record", "--follow", "--rate=1", "-o",
                 os.path.join(self.dir, "%p.ctf"), "--", *inside, sys.executable,
                 "-c", "print(1, flush=True); input()"], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=common.ENV) as run:
            self.assertEqual(run.stdout.readline(), "1\n")
            path, = glob.glob(os.path.join(self.dir, ".aliquot-raw.*",
                                           "python*.alqraw"))
            info = self.ok("info", path)
            run.communicate("\n")
        self.assertRegex(info, r"\npid +1\n")
        self.assertRegex(info, r"\nended +running\n")

    def test_a_directory_whose_name_looks_like_a_pattern(self):
        self.dir = os.path.join(self.dir, "100%e,%p%n%%, %")
        os.mkdir(self.dir)
        got = self.json(self.record("--rate=1"))
        self.assertEqual(self.site(got, "keep_rows")["live_objects"], 300)
        self.assertEqual(os.listdir(self.dir), ["victim.ctf"])

    def test_histogram(self):
        """Every block: as the script has them. A sample: the classes make up
        the totals; with a filter that passes all, too."""
        def classes(*options):
            got = self.json("--histogram", *options, path)
            rows = got["size_classes"]
            for measure in "allocated", "live", "peak", "temporary":
                for key in "_bytes", "_objects", "_sampled_blocks":
                    self.assertAlmostEqual(
                        sum(row[measure + key] for row in rows),
                        got[measure + key], delta=len(rows))
                self.assertAlmostEqual(
                    sum(row[measure + "_bytes_stderr"] ** 2 for row in rows)
                    ** 0.5, got[measure + "_bytes_stderr"], delta=len(rows))
            return rows

        path = self.record("--rate=1")
        wanted = {}
        for line in self.ok("script", "--no-stacks", path).splitlines()[1:]:
            columns = line.split("\t")
            if columns[1] == "alloc":
                size = int(columns[3])
                most = 1 << max(size - 1, 0).bit_length()
                wanted[most] = wanted.get(most, 0) + 1
        rows = classes()
        self.assertEqual({row["most_bytes"]: row["allocated_objects"]
                          for row in rows}, wanted)
        self.assertGreaterEqual(wanted[64], 5000)
        at_peak, = [row["peak_objects"] for row in rows
                    if row["least_bytes"] <= 1000 <= row["most_bytes"]]
        self.assertGreaterEqual(at_peak, 300)
        self.assertRegex(self.ok("report", "--histogram", path),
                         r"\n +1 KiB +\d+ KiB +[0-9.]+% +3\d\d ")
        path = self.record("--interval=1K", "--seed=1")
        rows = classes()
        self.assertEqual(classes("--filter=size=0.."), rows)
        self.assertLess(sum(r["allocated_objects"] for r in
                            classes("--filter=size=64..64")), 7000)
        self.assertNotIn("size_classes", self.json(path))

    def test_filters_by_function_file_and_module(self):
        path = self.record("--rate=1")
        keep, churn = {"keep_rows"}, {"churn"}
        for query, named, others in (
                ("in=~^(keep_rows|chur.)$", keep | churn, {"fill"}),
                ("in=~^(eep|hurn)", set(), keep | churn),
                ("in=~_rows$&in=~^main$", keep, churn),
                ("infile=~/victim[.]cpp$&notin=~^k", churn, keep),
                ("inmodule==" + os.path.basename(VICTIM), keep | churn, set()),
                ("notinmodule=~^cli_vic", set(), keep | churn),
                ("notinfile=victim.cpp", set(), keep | churn)):
            got = {s["function"] for s in self.json("--filter=" + query,
                                                    path)["sites"]
                   if s["allocated_objects"] > 0}
            self.assertLessEqual(named, got, query)
            self.assertEqual(others & got, set(), query)

    def test_parts_of_a_name(self):
        host = os.uname().nodename
        line = "echo $$; " + VICTIM + "; :"
        for name, main, others in (
                ("t.%h.%e.%p.ctf.zst", r"t\.HOST\.[a-z]+\.PID\.ctf\.zst",
                 r"t\.HOST\.(cli_victim|[a-z]+)\.\d+\.ctf\.zst"),
                ("%%%p", r"%PID", r"%\d+"),
                ("%h%%.ctf", r"HOST%\.ctf", r"HOST%\.\w+\.\d+\.ctf")):
            result = common.run("record", "--rate=1", "--follow", "-o",
                                os.path.join(self.dir, name), "sh", "-c", line)
            self.assertEqual(result.returncode, 0, result.stderr)
            pid = result.stdout.split()[0]
            got = sorted(os.listdir(self.dir))
            main = main.replace("HOST", re.escape(host)).replace("PID", pid)
            others = others.replace("HOST", re.escape(host))
            self.assertEqual(sum(bool(re.fullmatch(main, f)) for f in got), 1,
                             got)
            self.assertGreater(len(got), 1)
            for f in got:
                self.assertTrue(re.fullmatch(main, f) or
                                re.fullmatch(others, f), f)
                os.unlink(os.path.join(self.dir, f))

    def test_a_late_name_that_is_taken_gets_a_number(self):
        """Of a plain name that is known before the program runs."""
        name = os.path.join(self.dir, "%e.ctf")
        for _ in range(2):
            result = common.run("record", "-q", "-o", name, VICTIM)
            self.assertEqual(result.returncode, 0, result.stderr)
        got = os.listdir(self.dir)
        self.assertEqual(len(got), 2)
        self.assertIn("cli_victim.ctf", got)
        name = os.path.join(self.dir, "%h.ctf")
        for status in 0, 2:
            result = common.run("record", "-q", "-o", name, VICTIM)
            self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn("%s.ctf exists" % os.uname().nodename, result.stderr)

    def test_a_letter_that_stands_for_nothing(self):
        for name, said in (("t.%q.ctf", "'%q' stands for nothing"),
                           ("t.%%%P", "'%P' stands for nothing"),
                           ("t.ctf%", "'%' stands for nothing")):
            result = common.run("record", "-o", os.path.join(self.dir, name),
                                VICTIM)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(said, result.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_under_gdb(self):
        """The last process that gdb makes is the program; a stop in it
        changes nothing of what is recorded."""
        if shutil.which("gdb") is None:
            self.skipTest("no gdb")
        path = os.path.join(self.dir, "victim.ctf")
        result = common.run("record", "-d", "--exact", "-o", path, VICTIM,
                            stdin=b"break keep_rows\nrun\nbacktrace\n"
                                  b"continue\nquit\n",
                            env={"HOME": self.dir, "DEBUGINFOD_URLS": ""})
        if "ptrace: Operation not permitted" in result.stderr:
            self.skipTest("gdb may not trace")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("main", result.stdout)
        self.assertIn("-> " + path, result.stderr)
        got = json.loads(common.run("report", "--json", path).stdout)
        self.assertEqual(self.site(got, "keep_rows")["live_objects"], 300)
        self.assertEqual(got["program"]["command"], VICTIM)
        self.assertEqual(len(glob.glob(os.path.join(self.dir, "*.ctf"))), 2)
        self.assertEqual(glob.glob(os.path.join(self.dir, ".aliquot-raw*")),
                         [])
        result = common.run("record", "-d", "-p", "1")
        self.assertEqual(result.returncode, 2)

    def test_compressed(self):
        """By its name; further processes' traces, too."""
        path = os.path.join(self.dir, "v.ctf.zst")
        result = common.run("record", "--follow", "-o", path, "--rate=1",
                            "sh", "-c", VICTIM + " & wait")
        self.assertEqual(result.returncode, 0, result.stderr)
        traces = glob.glob(os.path.join(self.dir, "*"))
        self.assertGreater(len(traces), 1)
        for trace in traces:
            self.assertTrue(trace.endswith(".ctf.zst"), trace)
            with open(trace, "rb") as f:
                self.assertEqual(f.read(4), b"\x28\xb5\x2f\xfd")
        churn = [self.site(got, "churn") for got in map(self.json, traces)
                 if any(s["function"] == "churn" for s in got["sites"])]
        self.assertEqual([c["allocated_objects"] for c in churn], [5000])

    def test_time_step(self):
        fine = self.record("--exact")
        events = self.ok("script", "--format=memtrace", fine)
        coarse = self.record("--exact", "--time-step=7ms")
        rows = self.ok("script", coarse).splitlines()[1:]
        times = {int(row.split("\t")[0]) for row in rows}
        self.assertEqual({t % 7000 for t in times}, {0})
        self.assertEqual(len(self.ok("script", "--format=memtrace",
                                     coarse).splitlines()),
                         len(events.splitlines()))
        for bad in "0", "x", "-1ms", "0.5us":
            result = common.run("record", "--time-step=" + bad, VICTIM)
            self.assertEqual(result.returncode, 2, bad)
            self.assertIn("--time-step", result.stderr)

    def test_sample(self):
        """The truth lies within six standard errors; by chance it does not
        in one run of 5e8, and the seed is fixed."""
        got = self.json(self.record("--interval=4K", "--seed=1"))
        for function, truth in (("keep_rows", 300 * 1000),
                                ("churn", 5000 * 64)):
            site = self.site(got, function)
            error = site["allocated_bytes_stderr"]
            self.assertGreater(error, 0)
            self.assertLess(abs(site["allocated_bytes"] - truth), 6 * error)

    def test_deeply_inlined_places_keep_their_names(self):
        path = self.record("--rate=1")
        text = self.ok("script", path)
        self.assertNotIn("<unknown>", text)
        fill = [line for line in text.splitlines() if ";fill@" in line]
        self.assertGreater(len(fill), 1000)
        self.assertIn("fill ← main", self.ok("report", "--allocated", path,
                                             env={"COLUMNS": "300"}))

    def test_modules(self):
        path = self.record("--rate=1")
        got = self.json("-g", "module", path)
        names = {s["module"] for s in got["sites"]}
        self.assertIn(os.path.basename(VICTIM), names)
        self.assertIn(VICTIM, self.ok("info", path))

    def test_recording_that_is_still_made(self):
        """Every verb reads the raw file of a program that runs, and of one
        that was killed together with its recorder."""
        recorder = subprocess.Popen(
            [common.BIN, "record", "--rate=1", "-o", "w.ctf", VICTIM, "wait"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.dir, env=common.ENV)
        try:
            self.assertEqual(recorder.stdout.readline(), b"ready\n")
            raw, = glob.glob(os.path.join(self.dir, ".aliquot-raw.*", "*"))
            got = self.json(raw)
            self.assertEqual(got["recording"]["ended"], "running")
            self.assertEqual(self.site(got, "keep_rows")["live_objects"], 300)
            self.assertIn("still in use", self.ok("report", raw))
            self.assertIn("no findings", self.ok("check", raw))
            with open(raw, "rb") as f:
                piped = subprocess.run([common.BIN, "report", "--json", "-"],
                                       stdin=f, capture_output=True,
                                       check=True)
            self.assertEqual(json.loads(piped.stdout)["allocated_bytes"],
                             got["allocated_bytes"])
            recorder.send_signal(signal.SIGKILL)
            os.kill(got["program"]["pid"], signal.SIGKILL)
        finally:
            recorder.kill()
            recorder.communicate()
        end = time.monotonic() + common.PATIENCE_S  # a killed process takes a moment to go
        while self.json(raw)["recording"]["ended"] == "running":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        got = self.json(raw)
        self.assertEqual(got["recording"]["ended"], "killed")
        self.assertEqual(self.site(got, "keep_rows")["live_objects"], 300)
        trace = os.path.join(self.dir, "made.ctf")
        said = common.run("check", "--repair", trace, raw)
        self.assertEqual(said.returncode, 0)
        self.assertEqual(said.stderr, "aliquot: wrote %d bytes to %s\n"
                         % (os.path.getsize(trace), trace))
        self.assertEqual(self.ok("script", trace), self.ok("script", raw))
        for args, status, text in (
                (("-o", trace), 2, "made.ctf exists; -f overwrites it"),
                (("-f", "-o", self.dir), 3, "is not a regular file"),
                (("-o", os.path.join(self.dir, "none", "t.ctf")), 3,
                 "cannot create")):
            said = common.run("snapshot", *args, raw)
            self.assertEqual((said.returncode, said.stdout), (status, ""))
            self.assertIn(text, said.stderr)

    def begin(self, *args, **more):
        """A recorder, once the program has printed its first line, which is
        its number."""
        recorder = subprocess.Popen(
            [common.BIN, "record", *args], env=common.ENV, cwd=self.dir,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        return recorder, int(recorder.stdout.readline())

    def test_a_key_reaches_the_program_once(self):
        """The terminal sends ^C to them both."""
        terminal, end = os.openpty()
        recorder, pid = self.begin(
            "-q", "-o", "t.ctf", sys.executable, "-c", COUNTER, stdin=end,
            preexec_fn=lambda: (os.setsid(),
                                fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        for _ in range(20):
            os.write(terminal, b"\x03")
            self.assertEqual(recorder.stdout.readline(), b"INT\n")
        # Behind what else the recorder might have sent.
        recorder.send_signal(signal.SIGUSR1)
        self.assertEqual(recorder.stdout.readline(), b"USR1\n")
        self.assertEqual(recorder.stdout.read(), b"")
        self.assertEqual(recorder.wait(), 0)
        self.assertEqual(os.listdir(self.dir), ["t.ctf"])
        os.close(terminal)
        os.close(end)

    def test_interrupted_while_the_trace_is_written(self):
        # The program makes a pipe of it, which nobody reads.
        recorder, pid = self.begin(
            "--rate=1", "-f", "-o", "pipe", "sh", "-c", "mkfifo pipe; echo $$",
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.stderr.close)
        while os.path.exists("/proc/%d" % pid):
            time.sleep(0.01)
        for late in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
            recorder.send_signal(late)
        said = recorder.stderr.readline().decode()
        self.assertIn("the program has ended and its trace is being written",
                      said)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(), -signal.SIGINT)
        raw, = glob.glob(os.path.join(self.dir, ".aliquot-raw.*", "*"))
        self.assertIn(os.path.dirname(raw) + "\n", said)
        self.assertGreater(self.json(raw)["allocated_bytes"], 0)

    def test_nobody_hears_what_is_said(self):
        """The trace is written all the same."""
        ends = os.pipe()
        os.close(ends[0])
        status = subprocess.call(
            [common.BIN, "record", "-o", "t.ctf", "sh", "-c", "exit 3"],
            stderr=ends[1], cwd=self.dir, env=common.ENV)
        os.close(ends[1])
        self.assertEqual(status, 3)
        self.assertEqual(os.listdir(self.dir), ["t.ctf"])
        self.ok("check", os.path.join(self.dir, "t.ctf"))

    def test_children_that_nobody_waits_for(self):
        """How the program ended is told though SIGCHLD was ignored."""
        result = subprocess.run(
            [common.BIN, "record", "-q", "-o", "t.ctf", "sh", "-c", "exit 3"],
            cwd=self.dir, env=common.ENV, restore_signals=False, check=False,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(result.returncode, 3)


if __name__ == "__main__":
    common.main()
