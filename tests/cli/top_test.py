"""A running program watched: printed pictures, JSON, and the screen, which
tmux shows and whose keys it presses."""
import glob
import json
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import time

import common

PROGRAM = os.environ["TOP_PROGRAM"]
HEAP = os.environ["TOP_HEAP"]
PATIENCE_S = common.PATIENCE_S
ROW = 1000
TMUX = shutil.which("tmux")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


class Watched(common.Case):
    """A program under `aliquot record --control`, told what to do."""

    def begin(self, *options):
        self.trace = os.path.join(self.dir, "made%d.ctf" %
                                  len(glob.glob(self.dir + "/.aliquot-raw*")))
        recorder = subprocess.Popen(
            [common.BIN, "record", "--control", "-q", "-o", self.trace,
             *options, PROGRAM], env=common.ENV, cwd=self.dir,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, recorder)
        self.recorder = recorder
        self.tell("keep 1")
        self.pid = children(recorder.pid)[0]
        return recorder

    def tell(self, line):
        self.recorder.stdin.write(line.encode() + b"\n")
        self.recorder.stdin.flush()
        self.assertEqual(self.recorder.stdout.readline(), b"done\n")

    def end(self, recorder=None):
        recorder = recorder or self.recorder
        if not recorder.stdin.closed:
            recorder.stdin.close()
        recorder.wait(PATIENCE_S)
        recorder.stdout.close()

    def top(self, *args):
        return self.ok("top", "-p", str(self.pid), *args)

    def picture(self, *args):
        return json.loads(self.top("--json", *args))

    def site(self, picture, function):
        rows = [s for s in picture["sites"] if s["function"] == function]
        return rows[0] if rows else None


class Batch(Watched):
    def test_figures(self):
        self.begin("--rate=1")
        self.tell("keep 99")
        self.tell("churn 50")
        got = self.picture("--sort=allocated")
        self.assertEqual(got["state"], "sampling")
        self.assertEqual(got["heap"], "malloc")
        self.assertEqual(got["interval_bytes"], 8)
        self.assertEqual(got["pid"], self.pid)
        self.assertEqual(got["program"], "top_program")
        self.assertGreater(got["rss_bytes"], 0)
        self.assertEqual(got["dropped_samples"], 0)
        rows = self.site(got, "keep_rows")
        self.assertEqual(rows["live_bytes"], 100 * ROW)
        self.assertEqual(rows["live_objects"], 100)
        self.assertEqual(rows["sampled_blocks"], 100)
        self.assertEqual(rows["live_bytes_stderr"], 0)
        self.assertTrue(rows["file"].endswith("top_program.c"))
        churn = self.site(got, "churn_rows")
        self.assertEqual(churn["live_bytes"], 0)
        self.assertEqual(churn["allocated_bytes"], 50 * 100)
        self.assertGreater(churn["allocated_bytes_per_s"], 0)
        self.tell("free")
        got = self.picture("--sort=allocated")
        self.assertEqual(self.site(got, "keep_rows")["live_bytes"], 0)
        self.assertEqual(self.site(got, "keep_rows")["peak_bytes"], 100 * ROW)

    def test_text(self):
        self.begin("--rate=1")
        text = self.top()
        self.assertRegex(
            text, r"^top_program \(%d\), up .*, malloc: sampling, one in 8 B\n"
            r"live .*, peak .*, RSS .*\nallocated .*, lately .*/s\n"
            r"\S+ (sampled )?blocks, \S+ freed, none dropped; by live"
            % self.pid)
        self.assertRegex(text, r"\*LIVE .* SITE\n")
        self.assertRegex(text, r"\n *1000 B .* keep_rows .*← load ← ")
        self.assertNotIn("\033", text)
        for sort in "rate allocated peak count".split():
            self.assertIn("; by %s," % sort, self.top("--sort", sort))
        calls = self.top("--calls")
        self.assertRegex(calls, r"CALL\n")
        self.assertRegex(calls, r"- main .*\n.* - obey .*\n.* - load .*\n.* keep_rows ")
        self.assertRegex(self.top("--group=line"), r"keep_rows .*c:\d+")
        self.assertRegex(self.top("--group=module"), r"\+ top_program")
        self.assertIn("filter: KEEP_r", self.top("--filter=KEEP_r"))
        self.assertIn("no stack has", self.top("--filter=nobody"))
        self.assertIn("more (--rows=0", self.top("--calls", "--rows=1"))
        self.assertIn("\033[1m", self.top("--color=always"))

    def test_until_the_end(self):
        """Pictures follow what happens, and the last is of all of it."""
        self.until_the_end("--rate=1")

    def test_exact_until_the_end(self):
        self.until_the_end("--exact")

    def until_the_end(self, how):
        self.begin(how)
        top = subprocess.Popen(
            [common.BIN, "top", "-b", "-d", "0.1", "--json", "--rows=0",
             "-p", str(self.pid)], env=common.ENV, stdout=subprocess.PIPE)
        wanted = 1
        for more in (9, 90, 400):
            self.tell("keep %d" % more)
            wanted += more
            self.wait_for(top, wanted * ROW)
            self.tell("race 20000")
        self.tell("free")
        self.wait_for(top, 0)
        self.tell("race 100000")
        self.tell("keep 7")
        self.end()
        last = [json.loads(line) for line in top.stdout][-1]
        self.assertEqual(top.wait(PATIENCE_S), 0)
        top.stdout.close()
        self.assertEqual(last["state"], "ended")
        self.assertEqual(self.site(last, "keep_rows")["live_bytes"], 7 * ROW)
        self.same_as_report(last)

    def wait_for(self, top, live_bytes):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            got = json.loads(top.stdout.readline())
            row = self.site(got, "keep_rows")
            if (row["live_bytes"] if row else 0) == live_bytes:
                return
        self.fail("never %d bytes live, but %r in %r" % (live_bytes, row, {
            k: v for k, v in got.items() if k != "sites"}))

    def same_as_report(self, picture):
        report = self.json(self.trace)
        total = report
        for key in ("live_bytes", "live_bytes_stderr", "allocated_bytes",
                    "allocated_bytes_stderr", "live_objects"):
            self.near(picture[key], total[key], key)
        by_function = {s["function"]: s for s in report["sites"]}
        for row in picture["sites"]:
            self.near(row["live_bytes"],
                      by_function[row["function"]]["live_bytes"], row)

    def test_a_sample(self):
        """At a rate that leaves most blocks out, and then another."""
        self.begin("--interval=4K")
        self.tell("keep 3000")
        self.assertEqual(
            common.run("rate", "-p", str(self.pid), "--interval=2K"
                       ).returncode, 0)
        self.tell("keep 3000")
        self.tell("churn 9000")
        got = self.picture("--rows=0")
        self.assertEqual(got["interval_bytes"], 2048)
        rows = self.site(got, "keep_rows")
        # 10 standard errors: by chance one in 10^23
        self.assertLess(abs(rows["live_bytes"] - 6001 * ROW),
                        10 * rows["live_bytes_stderr"])
        self.assertGreater(rows["live_bytes_stderr"], 0)
        top = subprocess.Popen(
            [common.BIN, "top", "-b", "-d", "0.1", "--json", "--rows=0",
             "-p", str(self.pid)], env=common.ENV, stdout=subprocess.PIPE)
        top.stdout.readline()
        self.end()
        last = [json.loads(line) for line in top.stdout][-1]
        top.wait(PATIENCE_S)
        top.stdout.close()
        self.same_as_report(last)

    def test_exact(self):
        self.begin("--exact")
        self.tell("keep 10")
        got = self.picture("--rows=0")
        self.assertEqual(got["state"], "exact")
        self.assertEqual(self.site(got, "keep_rows")["live_bytes"], 11 * ROW)
        self.assertIn("every block is recorded", self.top())

    def test_off(self):
        self.begin("--off", "--rate=1")
        text = self.top()
        self.assertIn("malloc: off", text)
        self.assertIn("nothing is recorded yet", text)
        self.assertEqual(self.picture()["sites"], [])
        self.assertEqual(common.run("start", "-p", str(self.pid)).returncode,
                         0)
        self.tell("keep 5")
        self.assertEqual(self.site(self.picture(), "keep_rows")["live_bytes"],
                         5 * ROW)
        self.assertEqual(common.run("stop", "-p", str(self.pid)).returncode, 0)
        self.assertIn("malloc: stopped", self.top())

    def test_file(self):
        self.begin("--rate=1")
        self.tell("keep 3")
        raw = glob.glob(os.path.join(self.dir, ".aliquot-raw.*", "*.alqraw"))
        got = json.loads(self.ok("top", "--json", raw[0]))
        self.assertEqual(self.site(got, "keep_rows")["live_bytes"], 4 * ROW)
        self.end()
        text = self.ok("top", self.trace)
        self.assertIn("malloc: ended", text)
        self.assertRegex(text, r"4000 B|3\.91 KiB")

    def test_without_control(self):
        program = subprocess.Popen(
            [PROGRAM], cwd=self.dir, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={
                **common.ENV, "ALIQUOT": "rate=1,out=made.%p",
                "LD_PRELOAD": os.path.join(os.path.dirname(common.BIN), "..",
                                           "lib", "libaliquot-preload.so")})
        self.addCleanup(self.end, program)
        self.recorder, self.pid = program, program.pid
        self.tell("keep 8")
        got = self.picture()
        self.assertIsNone(got["state"])
        self.assertEqual(self.site(got, "keep_rows")["live_bytes"], 8 * ROW)
        self.assertIn("malloc: recording", self.top())

    def test_whom(self):
        self.begin("--rate=1")
        below = json.loads(self.ok("top", "--json", "-p",
                                   str(self.recorder.pid)))
        self.assertEqual(below["pid"], self.pid)
        first, first_pid = self.recorder, self.pid
        self.begin("--rate=1")
        both = common.run("top")
        self.assertEqual((both.returncode, both.stdout), (2, ""))
        self.assertRegex(both.stderr, r"several can be watched.*-p PID:\n")
        for pid in (first_pid, self.pid):
            self.assertRegex(both.stderr, r"(?m)^  %d  top_program$" % pid)
        self.assertIsNone(first.poll())

    def test_who_cannot_be_watched(self):
        rows = [
            (["-p", "99999999"], 1, "there is no process 99999999"),
            (["--control=@nobody.there"], 1, "no answer from the control socket @nobody"),
            (["/nowhere/at/all"], 3, "cannot read /nowhere/at/all: No such"),
            ([PROGRAM], 3, "not a readable trace"),
        ]
        for args, status, part in rows:
            result = common.run("top", *args)
            self.assertEqual((result.returncode, result.stdout), (status, ""))
            self.assertIn(part, result.stderr)

    def test_another_user(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("only root can be another user")
        self.begin("--rate=1")
        os.chmod(self.dir, 0o755)
        copy = os.path.join(self.dir, "aliquot")
        shutil.copy(common.BIN, copy)
        as_other = ["setpriv", "--reuid=1", "--clear-groups", copy, "top"]
        for args, part in ((["-p", str(self.pid)], "root's: only that user"),
                           (["--control=@aliquot.%d" % self.pid],
                            "only the process's own user and root"),
                           ([], "no running process can be watched")):
            result = subprocess.run(as_other + args, capture_output=True,
                                    cwd="/", timeout=PATIENCE_S)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(part, result.stderr.decode())


UNLOADS = """
import _ctypes, ctypes, os, socket, sys
library = ctypes.CDLL(sys.argv[1])
assert library.alq_control_start(None) == 0
_ctypes.dlclose(library._handle)
s = socket.socket(socket.AF_UNIX)
s.connect("\\0aliquot.heap.%d" % os.getpid())
s.sendall(b"aliquot/1 status\\n")
print(s.recv(9999).decode())
"""


class Heap(common.Case):
    """A program on the managed heap, told what to do."""
    BLOCK = 72

    def begin(self, *command, **env):
        self.program = subprocess.Popen(
            [*command, HEAP], cwd=self.dir, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**common.ENV, **(env or {"ALIQUOT_CONTROL": "1"})})
        self.addCleanup(self.end, self.program)
        self.tell("churn 1")

    def tell(self, line):
        self.program.stdin.write(line.encode() + b"\n")
        self.program.stdin.flush()
        said = []
        while True:
            got = self.program.stdout.readline().decode()
            self.assertNotEqual(got, "")
            if got.startswith("done "):
                self.pid = int(got.split()[1])
                return said
            said.append(got.strip())

    def end(self, program=None):
        program = program or self.program
        if not program.stdin.closed:
            program.stdin.close()
        self.assertEqual(program.wait(PATIENCE_S), 0)
        program.stdout.close()
        said = ""
        if not program.stderr.closed:
            said = program.stderr.read().decode()
            program.stderr.close()
        return said

    def verb(self, verb, *args, pid=None):
        return self.ok(verb, "-p", str(pid or self.pid), *args)

    def start(self, *args):
        """A start, and an allocation that lets it come about."""
        self.verb("start", *args)
        self.tell("churn 1")
        self.until(lambda: "sampling" in self.verb("status"))

    def until(self, is_so):
        until = time.monotonic() + PATIENCE_S
        while not is_so():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def picture(self, *args):
        return json.loads(self.verb("top", "--json", "--rows=0", *args))

    def blocks(self, function, key="live_objects", picture=None):
        rows = [s for s in (picture or self.picture("--sort=allocated"))[
            "sites"] if s["function"] == function]
        return rows[0][key] if rows else 0

    def test_figures(self):
        self.begin()
        self.assertIn("off, nothing is recorded", self.verb("status"))
        self.assertIn("managed heap: off", self.verb("top"))
        self.start("--rate=1")
        self.tell("keep 100")
        got = self.picture()
        self.assertEqual((got["heap"], got["state"]), ("managed", "sampling"))
        self.assertIn("heap_bytes", got) # 0: all are young
        self.assertEqual(self.blocks("keep_rows", picture=got), 100)
        self.assertEqual(self.blocks("keep_rows", "live_bytes", got),
                         100 * self.BLOCK)
        self.assertTrue(self.blocks("keep_rows", "file", got).endswith(
            "top_heap.c"))
        self.tell("churn 1000")
        self.tell("free")
        self.assertEqual(self.blocks("keep_rows"), 0)
        self.assertEqual(self.blocks("churn_rows"), 0)
        churned = self.blocks("churn_rows", "sampled_blocks")
        self.assertIn(churned, (1000, 1001))
        self.verb("stop")
        self.tell("keep 50")
        self.assertEqual(self.blocks("keep_rows"), 0)
        self.assertIn("managed heap: stopped", self.verb("top"))
        self.start()
        self.tell("keep 5")
        self.assertEqual(self.blocks("keep_rows"), 5)
        self.assertIn("one in 8 B", self.verb("status"))

    def test_rates(self):
        """Each block counts by its own rate, also where it went finer."""
        self.begin()
        self.start("--rate=0.01")
        self.tell("keep 20000")
        for rate in ("0.1", "0.05", "0.01", "0.1"):
            self.verb("rate", "--rate=" + rate)
            self.tell("churn 1")
            self.tell("keep 20000")
        self.assertGreater(self.picture()["heap_bytes"], 0)
        self.until(lambda: "one in 80 B" in self.verb("status"))
        got = self.picture()
        live = self.blocks("keep_rows", "live_bytes", got)
        error = self.blocks("keep_rows", "live_bytes_stderr", got)
        self.assertGreater(error, 0)
        # 10 standard errors: by chance one in 10^23
        self.assertLess(abs(live - 100000 * self.BLOCK), 10 * error)
        path = os.path.join(self.dir, "s.ctf")
        self.verb("snapshot", "-o", path)
        report = self.json(path)
        self.near(live, sum(s["live_bytes"] for s in report["sites"]
                            if s["function"] == "keep_rows"), "report")
        self.assertEqual(report["recording"]["rates"], 3)
        self.assertEqual(self.ok("check", path).strip()[-2:] != "", True)

    def test_starting(self):
        """A program that does not allocate begins when it does."""
        self.begin()
        self.assertIn("from where it next allocates",
                      self.verb("start", "--rate=0.5"))
        self.assertIn("one in 16 B from where", self.verb("status"))
        self.assertIn("managed heap: starting", self.verb("top"))
        self.assertIn("off, nothing", self.verb("stop"))
        self.tell("keep 10")
        self.assertIn("off, nothing", self.verb("status"))
        self.verb("start", "--rate=1")
        self.tell("keep 10")
        self.assertEqual(self.blocks("keep_rows"), 10)

    def test_failures(self):
        self.begin()
        for out, part in (("/nowhere/at/all", "No such file"),
                          (self.dir, "there is a file of")):
            self.verb("start", "-o", out)
            self.tell("churn 1")
            self.until(lambda: part in self.verb("status"))
            self.assertIn("trouble\":\"the last start failed: ",
                          self.verb("top", "--json"))
        self.start()
        self.assertNotIn("failed", self.verb("status"))
        result = common.run("start", "-p", str(self.pid), "-o", "x.ctf")
        self.tell("churn 1")
        self.until(lambda: "a trace already" in self.verb("status"))
        self.assertIn(result.returncode, (0, 1))

    def test_domains(self):
        """Those that are there join; those that come are there."""
        self.begin()
        self.tell("child")
        self.start("--rate=1")
        self.until(lambda: (self.tell("rows 1"),
                            self.blocks("child_rows"))[1] > 0)
        before = self.blocks("child_rows")
        self.tell("rows 500")
        self.assertEqual(self.blocks("child_rows"), before + 500)
        self.tell("join")
        self.verb("stop")
        self.tell("child")
        self.tell("rows 100")
        self.start()
        self.until(lambda: (self.tell("rows 1"),
                            self.blocks("child_rows"))[1] > before + 500)
        before = self.blocks("child_rows")
        self.tell("rows 100")
        self.assertEqual(self.blocks("child_rows"), before + 100)
        self.tell("join")

    def test_graph(self):
        """All blocks, by a domain that allocates."""
        self.begin()
        self.tell("keep 1000")
        path = os.path.join(self.dir, "now.heap")
        command = ("snapshot", "--graph", "-p", str(self.pid), "-o", path)
        got = common.run(*command)
        self.assertEqual((got.returncode, got.stdout), (1, ""))
        self.assertIn("no domain of the heap allocates", got.stderr)
        self.assertFalse(os.path.exists(path))
        self.graph(command)
        kept = self.held(path)
        self.assertGreaterEqual(kept, 1000)
        got = common.run(*command)
        self.assertEqual((got.returncode, got.stdout), (2, ""))
        self.assertIn("now.heap exists; -f overwrites it", got.stderr)
        got = common.run(*command, "-f")  # nothing allocates now
        self.assertEqual(got.returncode, 1)
        self.assertEqual(self.held(path), kept)
        self.assertEqual([name for name in os.listdir(self.dir)
                          if name.endswith(".part")], [])
        self.tell("keep 1000")
        self.graph((*command, "-f"))
        self.assertGreaterEqual(self.held(path), kept + 1000)

    def held(self, path):
        """Blocks that roots lead to: how much garbage there is, is chance."""
        graph = json.loads(self.ok("heap", "--json", path))
        self.assertTrue(graph["whole"])
        return graph["held"]["blocks"]

    def graph(self, command):
        """Asks, again if it has to, and allocates until there is an answer."""
        while True:
            verb = subprocess.Popen([common.BIN, *command], env=common.ENV,
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
            while verb.poll() is None:
                self.tell("churn 1000")
            out, why = (text.decode() for text in verb.communicate())
            if "no domain of the heap allocates" not in why:
                break
        self.assertEqual((verb.returncode, why), (0, ""))
        self.assertIn("of blocks and edges -> ", out)

    def test_heaps(self):
        """One after the other: each has its trace."""
        self.begin()
        top = subprocess.Popen(
            [common.BIN, "top", "-b", "-d", "0.1", "--json", "-p",
             str(self.pid)], env=common.ENV, stdout=subprocess.PIPE)
        for n in (10, 20):
            self.start("--rate=1")
            self.tell("keep %d" % n)
            while True:
                got = json.loads(top.stdout.readline())
                if self.blocks("keep_rows", picture=got) == n:
                    break
            self.tell("end")
            self.until(lambda: "off" in self.verb("status"))
        self.end()
        *_, last = top.stdout
        self.assertEqual(json.loads(last)["state"], "ended")
        self.assertEqual(top.wait(PATIENCE_S), 0)
        top.stdout.close()
        names = sorted(glob.glob(self.dir + "/aliquot.top_heap.*.ctf"))
        self.assertEqual(len(names), 2)
        for path, n in zip(names, (20, 10)):
            rows = {s["function"]: s for s in self.json(path)["sites"]}
            self.assertEqual(rows["keep_rows"]["allocated_objects"], n)

    @common.unittest.skipIf(os.environ["SANITIZED"] == "thread",
                            "that sanitizer allows a child no threads")
    def test_fork(self):
        self.begin()
        self.start("--rate=1")
        self.tell("keep 10")
        parent = self.pid
        self.tell("fork")
        self.assertNotEqual(self.pid, parent)
        self.assertIn("sampling", self.verb("status", pid=parent))
        self.tell("churn 1")
        self.until(lambda: common.run("status", "-p", str(self.pid)
                                      ).returncode == 0)
        self.assertIn("off, nothing", self.verb("status"))
        self.start("--rate=1")
        self.tell("keep 20")
        self.assertEqual(self.blocks("keep_rows"), 20)

    def test_its_own_trace(self):
        self.begin()
        self.assertEqual(self.tell("trace own.ctf"), ["0"])
        self.tell("keep 10")
        got = self.picture()
        self.assertEqual(self.blocks("keep_rows", picture=got), 10)
        self.assertTrue(got["recording"].endswith("own.ctf"))
        self.verb("stop")
        self.tell("keep 10")
        self.start()
        self.tell("keep 1")
        self.assertEqual(self.blocks("keep_rows"), 11)
        self.assertEqual(self.tell("untrace"), ["0"])
        self.assertIn("off", self.verb("status"))
        self.assertEqual(self.tell("untrace"), ["4"])

    def test_memtrace(self):
        path = os.path.join(self.dir, "m.ctf")
        for version in ("2", "3"):
            self.begin(ALIQUOT_CONTROL="1", MEMTRACE=path, MEMTRACE_RATE="1",
                       MEMTRACE_FORMAT=version)
            self.tell("child")
            self.tell("rows 30")
            self.tell("keep 10")
            got = self.picture()
            self.assertEqual(self.blocks("keep_rows", picture=got), 10)
            self.assertEqual(self.blocks("child_rows", picture=got), 30)
            self.verb("rate", "--rate=0.5")
            self.tell("keep 1000")
            copy = os.path.join(self.dir, "copy.ctf")
            self.verb("snapshot", "-f", "-o", copy)
            self.assertEqual(self.json(copy)["recording"]["rates"], 2)
            self.tell("join")
            self.end()

    def test_served_by_the_program(self):
        self.begin(NOTHING="")
        result = common.run("status", "-p", str(self.pid))
        self.assertEqual(result.returncode, 1)
        self.assertIn("start it with ALIQUOT_CONTROL=1", result.stderr)
        for _ in range(20):
            self.assertEqual(self.tell("serve"), ["0"])
            self.assertEqual(self.tell("serve"), ["2"])
            self.assertIn("off", self.verb("status"))
            self.assertEqual(self.tell("unserve"), ["0"])
            self.assertEqual(self.tell("unserve"), ["4"])
        self.assertEqual(self.tell("serve"), ["0"])
        self.start("--rate=1")
        self.assertEqual(self.tell("unserve"), ["0"])
        self.tell("keep 7")
        self.assertEqual(self.tell("serve"), ["0"])
        self.assertEqual(self.blocks("keep_rows"), 7)

    def test_paths(self):
        pattern = os.path.join(self.dir, "socket.%p")
        self.begin(ALIQUOT_CONTROL=pattern)
        path = pattern.replace("%p", str(self.pid))
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertIn("off", self.ok("status", "--control", path))
        self.assertEqual(self.end(), "")
        self.assertFalse(os.path.exists(path))
        path = os.path.join(self.dir, "socket")
        left = socket.socket(socket.AF_UNIX)
        left.bind(path)
        left.close()
        self.begin(ALIQUOT_CONTROL=path) # nobody listens there any more
        self.assertIn("off", self.ok("status", "--control", path))
        first = self.program
        self.begin(ALIQUOT_CONTROL=path)
        self.assertIn("another process has that name", self.end())
        self.assertIn("off", self.ok("status", "--control", path))
        self.program = first
        self.assertEqual(self.end(), "")
        for name in ("", "0"):
            self.begin(ALIQUOT_CONTROL=name)
            result = common.run("status", "-p", str(self.pid))
            self.assertIn("has no control socket", result.stderr)
            self.assertEqual(self.end(), "")
        for name in ("socket", "@" + 200 * "x"):
            self.begin(ALIQUOT_CONTROL=name)
            self.assertIn("1, a path, or '@' and a name", self.end())

    @common.unittest.skipIf(os.environ["SANITIZED"],
                            "Python is not sanitized")
    def test_unloaded(self):
        """The library stays while its thread serves."""
        said = subprocess.run(
            ["python3", "-c", UNLOADS, os.environ["LIBRARY"]],
            env=common.ENV, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual((said.returncode, said.stderr), (0, b""))
        self.assertTrue(said.stdout.startswith(b"aliquot/1 ok state=off"))

    @common.unittest.skipIf(os.environ["SANITIZED"] == "thread",
                            "that sanitizer has a thread of its own")
    def test_keeps_nothing_alive(self):
        self.begin()
        self.program.stdin.write(b"last\n")
        self.program.stdin.flush()
        self.assertEqual(self.end(), "")

    def test_another_user(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("only root can be another user")
        self.begin()
        os.chmod(self.dir, 0o755)
        copy = os.path.join(self.dir, "aliquot")
        shutil.copy(common.BIN, copy)
        for verb in ("status", "start", "top"):
            result = subprocess.run(
                ["setpriv", "--reuid=1", "--clear-groups", copy, verb,
                 "--control=@aliquot.heap.%d" % self.pid],
                capture_output=True, cwd="/", timeout=PATIENCE_S)
            self.assertEqual(result.returncode, 1)
            self.assertIn("only the process's own user and root",
                          result.stderr.decode())
        self.tell("churn 1")
        self.assertIn("off, nothing", self.verb("status"))

    def test_hostile_clients(self):
        self.begin()
        random.seed(1)

        def ask(data, wants=True):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(PATIENCE_S)
            while s.connect_ex("\0aliquot.heap.%d" % self.pid) != 0:
                time.sleep(0.01) # others wait to be heard
            try:
                s.sendall(data)
                return s.recv(99999) if wants else b""
            except OSError:
                return b""
            finally:
                s.close()

        for data in (b"\n", b"aliquot/2 stop\n", b"aliquot/1 rate\n",
                     b"aliquot/1 start rate=7\n",
                     b"aliquot/1 " + b"x" * 4000 + b"\n"):
            self.assertTrue(ask(data).startswith(b"aliquot/1 error text="))
        self.assertEqual(ask(b"x" * 100000), b"")
        for _ in range(300):
            ask(bytes(random.randrange(256) for _ in range(random.randrange(
                200))) + random.choice((b"", b"\n")), False)
        for _ in range(100):
            ask(b"aliquot/1 status\n", False)
        silent = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for s in silent:
            s.connect("\0aliquot.heap.%d" % self.pid)
        self.assertIn("off, nothing", self.verb("status"))
        for s in silent:
            s.close()
        self.tell("keep 10")

    @common.unittest.skipIf(os.environ["SANITIZED"], "there is no preload")
    def test_under_record(self):
        """Two heaps, two sockets; each has its trace in the end."""
        for options in ((), ("--off",)):
            path = os.path.join(self.dir, "made%d.ctf" % len(options))
            self.begin(common.BIN, "record", "--control", "-q", "-o", path,
                       "--rate=1", *options, ALIQUOT_CONTROL="")
            if options:
                self.verb("start", "--rate=1")
                self.verb("start", "--heap", "--rate=1")
                self.tell("churn 1")
                self.until(lambda: "sampling" in self.verb("status", "--heap"))
            self.tell("keep 10")
            lines = [json.loads(line) for line in self.verb(
                "top", "--json", "--rows=0").splitlines()]
            self.assertEqual([p["heap"] for p in lines],
                             ["malloc", "managed"])
            self.assertEqual(self.blocks("keep_rows", picture=lines[1]), 10)
            copy = os.path.join(self.dir, "copy.ctf")
            self.verb("snapshot", "--heap", "-f", "-o", copy)
            self.assertIn("keep_rows", self.ok("report", copy))
            self.end()
            rows = {s["function"]: s for s in self.json(
                path.replace(".ctf", ".heap.ctf"))["sites"]}
            self.assertEqual(rows["keep_rows"]["allocated_objects"], 10)
            self.assertTrue(rows["keep_rows"]["file"].endswith("top_heap.c"))


    @common.unittest.skipIf(os.environ["SANITIZED"], "there is no preload")
    def test_off_under_record(self):
        path = os.path.join(self.dir, "made.ctf")
        self.begin(common.BIN, "record", "--control", "-q", "-o", path,
                   ALIQUOT_CONTROL="0")
        result = common.run("status", "--heap", "-p", str(self.pid))
        self.assertIn("has no control socket", result.stderr)
        self.assertIn("sampled blocks", self.verb("status"))
        self.end()


@common.unittest.skipUnless(TMUX, "no tmux: the screen was not looked at")
class Screen(Watched):
    def tmux(self, *args):
        return subprocess.run(
            [TMUX, "-f", "/dev/null", "-L", self.socket, *args],
            capture_output=True, check=True, timeout=PATIENCE_S,
            env={**common.ENV, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
                 "TMUX_TMPDIR": self.dir}).stdout.decode()

    def open(self, *args, width=130, height=24, env=""):
        self.socket = "aliquot-test"
        self.status = os.path.join(self.dir, "status")
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height),
                  "cd %s; %s %s top -d 0.2 %s; echo over $?; sleep 1000" %
                  (self.dir, env, common.BIN, " ".join(args)))
        self.addCleanup(self.tmux, "kill-server")

    def seen(self, *more):
        return self.tmux("capture-pane", "-p", *more)

    def sees(self, pattern):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            screen = self.seen()
            if re.search(pattern, screen):
                return screen
            time.sleep(0.05)
        self.fail("%r never came:\n%s" % (pattern, screen))

    def still(self):
        """A screen that nobody is drawing."""
        before, now = None, self.seen()
        while before != now:
            time.sleep(0.5)
            before, now = now, self.seen()
        return now

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def watch(self, *options, **more):
        self.begin(*options)
        self.open("-p", str(self.pid), **more)
        self.sees(r"top_program \(%d\)" % self.pid)

    def test_pictures(self):
        self.watch("--rate=1")
        self.tell("keep 49")
        screen = self.sees(r"48\.8 KiB .* \+ keep_rows  \S+ ← load ← ")
        lines = screen.splitlines()
        self.assertRegex(lines[0], r"up .*, malloc: sampling, one in 8 B")
        self.assertRegex(lines[1], r"live 48\.8 KiB.*, peak .*, RSS ")
        self.assertRegex(lines[4], r"\*LIVE +SHARE .* SITE")
        self.assertRegex(lines[23], r"q quit  h help")
        self.tell("free")
        self.sees(r"live 0 B")
        self.tell("churn 1000")
        self.press("a")
        self.sees(r"by allocated(.|\n)*churn_rows(.|\n)*keep_rows")
        self.press("k")
        self.sees(r"by peak(.|\n)*\*PEAK(.|\n)*48\.8 KiB")
        self.press(">")
        self.sees(r"by allocated")
        self.press("c")
        self.sees(r"by count")
        self.end()
        self.sees(r"malloc: ended(.|\n)*this is its last picture")
        time.sleep(1)
        self.sees(r"this is its last picture")
        self.press("q")
        self.sees(r"(?m)^over 0$")

    def test_rows(self):
        self.watch("--rate=1")
        self.tell("keep 10")
        self.sees(r"\+ keep_rows")
        self.press("Enter")
        self.sees(r"- keep_rows(.|\n)*  - load(.|\n)*    - obey(.|\n)*- main")
        self.press("Down", "Down", "Enter")
        self.sees(r"    \+ obey .*← main")
        self.press("t")
        self.sees(r"calls from the program down(.|\n)*"
                  r"- main .*\n(.|\n)*load ")
        self.press("t", "g")
        self.sees(r"by live, line(.|\n)*keep_rows  top_program.c:\d+")
        self.press("g", "g")
        self.sees(r"by live, module(.|\n)*\+ top_program")
        self.press("g", "/", "CHURN_")
        self.sees(r"/CHURN__  \(Enter")
        self.press("BSpace", "Enter")
        self.sees(r"filter: CHURN\n(.|\n)*no stack has")
        self.tell("churn 5")
        self.press("r")
        self.sees(r"filter: CHURN\n(.|\n)*\+ churn_rows")
        self.press("/", "Escape", "/", "C-h", "C-h", "C-h", "C-h", "C-h",
                   "Enter", "l")
        self.sees(r"by live, function\n(.|\n)*\+ keep_rows")

    def test_commands(self):
        self.watch("--rate=1")
        self.press("s")
        self.sees(r"malloc: stopped(.|\n)*\nstopped")
        self.press("s")
        self.sees(r"malloc: sampling(.|\n)*\nsampling")
        self.press("-")
        self.sees(r"one in 16 B from now on")
        self.press("-")
        self.sees(r"sampling, one in 32 B")
        self.press("+", "+")
        self.sees(r"sampling, one in 8 B")
        self.press("+")
        self.sees(r"there is no such rate")
        self.press("h")
        self.sees(r"start sampling, or stop")
        self.press("x")
        self.sees(r"keep_rows")
        self.press("p")
        self.sees(r"\[paused\]")
        before = self.still()
        self.tell("keep 100")
        time.sleep(1)
        self.assertEqual(self.still(), before)
        self.press("p")
        self.sees(r"98\.6 KiB")
        for name in ("", ".1"):
            self.press("w")
            self.sees(r"-> aliquot\.top_program\.%d%s\.ctf" % (self.pid, name))
            path = os.path.join(self.dir, "aliquot.top_program.%d%s.ctf" %
                                (self.pid, name))
            got = self.json(path)
            self.assertEqual(self.site(got, "keep_rows")["live_bytes"],
                             101 * ROW)
        self.end()
        self.sees(r"this is its last picture")
        self.press("w")
        self.sees(r"-> aliquot\.top_program\.%d\.2\.ctf" % self.pid)
        self.press("s")
        self.sees(r"the process has ended")

    def test_terminals(self):
        self.watch("--rate=1", env="NO_COLOR=1")
        self.tell("keep 100")
        self.sees(r"keep_rows")
        self.assertNotRegex(self.seen("-e"), r"\033\[[0-9;]*3[1-7]")
        self.assertIn("\033[1m", self.seen("-e"))
        for width, height in ((200, 50), (50, 9), (20, 4), (110, 24)):
            self.tmux("resize-window", "-x", str(width), "-y", str(height))
            screen = self.sees(r"too few lines" if height < 7 else
                               r"q quit(.|\n)*$" if width > 50 else
                               r"LIVE")
            self.assertLessEqual(max(map(len, screen.splitlines())), width)
        self.sees(r"keep_rows")
        self.press("q")
        self.sees(r"(?m)^over 0$")

    def test_colors(self):
        self.watch("--rate=1")
        self.tell("keep 100")
        self.sees(r"keep_rows")
        self.assertRegex(self.seen("-e"), r"\033\[[0-9;]*31m")

    def choose(self, pid):
        """In the list, which other processes come to and leave."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            screen = self.sees(r"WHAT CAN BE WATCHED")
            pids = [int(line.split()[0]) for line in screen.splitlines()
                    if re.match(r" +\d+  ", line)]
            if pid not in pids:
                continue
            self.press(*["Up"] * len(pids), *["Down"] * pids.index(pid),
                       "Enter")
            screen = self.sees(r"\S+ \(\d+\)")
            if re.match(r"top_program \(%d\)" % pid, screen):
                return
            self.press("L")
        self.fail("%d was never chosen:\n%s" % (pid, screen))

    def test_list(self):
        self.begin("--rate=1")
        first_pid = self.pid
        self.begin("--rate=1")
        self.open()
        self.choose(self.pid)
        self.press("L")
        self.choose(first_pid)
        self.press("Tab")
        self.sees(r"\S+ \((?!%d\))\d+\), up" % first_pid)

    def test_a_terminal_without_a_name(self):
        self.begin("--rate=1")
        self.open("-p", str(self.pid), env="TERM=what-is-this")
        self.sees(r"terminal type 'what-is-this' is not known")
        self.sees(r"(?m)^over 1$")


if __name__ == "__main__":
    common.main()
