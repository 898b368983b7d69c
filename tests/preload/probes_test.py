"""USDT probes of the preload: notes, firings, weights, semaphores, forks.

Firings are taken by a tracer of our own (listener.c, ptrace), which works where
BPF is denied, and by bpftrace where it is not.  What they say is compared with
what the program (probed.c) says it did.

False alarms: a sum of weights may be off by 8 standard errors.  For a normal
law that is 1.3e-15; the sums have ten thousand terms of bounded weight or more,
whose skew leaves it below 1e-11.
"""
import collections
import ctypes
import errno
import math
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
import unittest

BUILD = os.environ["BUILD_DIR"]
LIBRARY = os.path.join(BUILD, "lib", "libaliquot-preload.so")
PROBED = os.path.join(BUILD, "test", "probed")
LISTENER = os.path.join(BUILD, "test", "listener")
ALIQUOT = os.path.join(BUILD, "bin", "aliquot")
ERRORS = 8
WORD = 8

Event = collections.namedtuple("Event", "pid what block size weight")


def environment(aliquot=None, preload=False):
    env = {k: v for k, v in os.environ.items()
           if k not in ("ALIQUOT", "LD_PRELOAD", "MEMTRACE")}
    if aliquot is not None:
        env["ALIQUOT"] = aliquot
    if preload:
        env["LD_PRELOAD"] = LIBRARY
    return env


def chance(size, interval):
    """That a block is sampled: its header word counts."""
    words = (size + WORD - 1) // WORD + 1
    if interval <= WORD:
        return 1.0
    return -math.expm1(words * math.log1p(-WORD / interval))


def weight(size, interval):
    return round(size / chance(size, interval))


def is_ours(size):
    """The C library's own blocks have other sizes (probed.c)."""
    return size % 16 == 7


def events_read(path):
    with open(path) as f:
        for line in f:
            pid, what, *numbers = line.split()
            block, size, weighted = ([int(n, 16) for n in numbers] + [0, 0])[:3]
            yield Event(int(pid), what, block, size, weighted)


def said(text):
    """What the program says it did, as events; and its totals."""
    events, totals = [], None
    for line in text.splitlines():
        words = line.split()
        if words[0] == "bytes":
            totals = dict(zip(words[::2], map(int, words[1::2])))
        elif words[1] != "begins":
            what = {"malloc": "alloc"}.get(words[1], words[1])
            size = int(words[3])
            events.append(Event(int(words[0]), what, int(words[2], 16), size,
                                size))
    return events, totals


def ours_only(events):
    """Without the C library's blocks, and the frees of those."""
    kept = {}
    for e in events:
        key = (e.pid, e.block)
        if e.what == "alloc":
            kept[key] = is_ours(e.size)
        if kept.get(key, True):
            yield e


class Case(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="aliquot-probes.")
        self.addCleanup(shutil.rmtree, self.work)

    def listen(self, aliquot, *args):
        """(events, what the program said) of a program listened to."""
        path = os.path.join(self.work, "events")
        done = subprocess.run([LISTENER, LIBRARY, path, PROBED, *args],
                              env=environment(aliquot), capture_output=True,
                              text=True, timeout=900)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return list(events_read(path)), said(done.stdout)

    def check_pairs(self, events):
        """A free ends a block that fired in that process, and no block fires
        twice in one life."""
        live = set()
        for e in events:
            key = (e.pid, e.block)
            self.assertEqual(key in live, e.what == "free", e)
            (live.discard if e.what == "free" else live.add)(key)
        return live

    def check_load(self, events, totals, interval):
        """Sums of weights beside what was allocated."""
        allocs = [e for e in events if e.what == "alloc" and is_ours(e.size)]
        p = {s: chance(s, interval) for s in {e.size for e in allocs}}
        for e in allocs:
            self.assertEqual(e.weight, round(e.size / p[e.size]), e)
        for name, value, each in (
                ("bytes", totals["bytes"], lambda e: e.size),
                ("blocks", totals["blocks"], lambda e: 1)):
            total = sum(each(e) / p[e.size] for e in allocs)
            error = math.sqrt(sum((1 - p[e.size]) * (each(e) / p[e.size]) ** 2
                                  for e in allocs))
            self.assertLess(abs(total - value), ERRORS * error, name)
            self.assertLess(error, 0.05 * value, "the test is sharp")
        return sum(e.weight for e in allocs)


class Notes(Case):
    def test_notes(self):
        text = subprocess.run(["readelf", "-nW", LIBRARY], text=True,
                              capture_output=True, check=True).stdout
        notes = re.findall(
            r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: (\S+), "
            r"Semaphore: (\S+)\s+Arguments: (.*)", text)
        self.assertEqual(sorted(n[:2] for n in notes),
                         [("otel_memory", "alloc"), ("otel_memory", "free")])
        semaphores = {int(n[4], 16) for n in notes}
        self.assertEqual(len(semaphores - {0}), 2)
        for _, name, location, base, _, arguments in notes:
            self.assertNotEqual(int(location, 16), 0)
            self.assertNotEqual(int(base, 16), 0)
            each = arguments.split()
            self.assertEqual(len(each), 3 if name == "alloc" else 1)
            # Unsigned 8 bytes, where a call has its arguments: the registers
            # that agents read without a look at this text.
            if os.uname().machine == "x86_64":
                wanted = ["8@%rdi", "8@%rsi", "8@%rdx"]
            else:
                wanted = ["8@x0", "8@x1", "8@x2"]
            self.assertEqual(each, wanted[:len(each)])

    def test_unheard_program_is_as_it_was(self):
        """Without a listener: no file, no descriptor, no thread, no word."""
        done = subprocess.run([PROBED, "load", "2", "1000"], text=True,
                              env=environment("probes=4096", True),
                              capture_output=True, cwd=self.work)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(os.listdir(self.work), [])

    def test_refusals_are_said(self):
        for bad in ("probes=7", "probes=x", "probes=", "probes=-8",
                    "probes=inf", "probes=nan"):
            done = subprocess.run(["true"], env=environment(bad, True),
                                  capture_output=True, text=True)
            self.assertIn("'%s'" % bad, done.stderr)

    def test_record_passes_it_on(self):
        out = os.path.join(self.work, "t.ctf")
        for option, wanted in (("--probes", "probes,"),
                               ("--probes=64K", "probes=65536,"),
                               ("--off", None)):
            done = subprocess.run(
                [ALIQUOT, "record", "-qf", "-o", out, "--follow", option,
                 "--", "env"], env=environment(), capture_output=True,
                text=True)
            setting = re.search("^ALIQUOT=(.*)$", done.stdout, re.M)[1]
            got = re.search("probes.*?,", setting)
            self.assertEqual(got and got[0], wanted)
        for bad in ("7", "x", "inf", ""):
            done = subprocess.run([ALIQUOT, "record", "--probes=" + bad, "env"],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("record: --probes " + bad, done.stderr)

    def test_children_have_it(self):
        """Alone and with off for all; with a recording as that is."""
        out = "out=" + os.path.join(self.work, "%p.alqraw")
        for text, passes in (("probes", True), ("off,probes", True),
                             ("probes,follow=0", False), ("probes," + out, False),
                             ("probes,follow=1," + out, True)):
            done = subprocess.run(["env"], env=environment(text, True),
                                  capture_output=True, text=True)
            self.assertEqual("ALIQUOT=" + text in done.stdout.splitlines(),
                             passes, text)


class Listened(Case):
    def check_steps(self, aliquot):
        events, (did, _) = self.listen(aliquot, "steps")
        self.check_pairs(events)
        self.assertGreater(len(did), 20)
        got = list(ours_only(events))
        self.assertEqual([e for e in got if e.pid == did[0].pid],
                         [e for e in did if e.pid == did[0].pid])
        self.assertEqual(len({e.pid for e in did}), 3, "two children")
        for pid in {e.pid for e in did}:
            self.assertEqual([e for e in got if e.pid == pid],
                             [e for e in did if e.pid == pid])

    def test_each_call_at_rate_one(self):
        self.check_steps("probes=8")

    def test_with_off_and_control(self):
        self.check_steps("off,probes=8")
        self.check_steps("off,control,probes=8")

    def test_exact_mode_fires_every_block(self):
        out = os.path.join(self.work, "%p.alqraw")
        self.check_steps("exact=1,probes,out=" + out)

    def test_exact_mode_with_its_own_interval(self):
        out = os.path.join(self.work, "%p.alqraw")
        events, (_, totals) = self.listen(
            "exact=1,probes=32768,seed=11,out=" + out, "load", "1", "30000")
        self.check_pairs(events)
        self.assertLess(len(events), totals["blocks"] / 4)

    def test_weights(self):
        events, (_, totals) = self.listen("probes=8192,seed=5", "load", "2",
                                          "60000")
        self.check_pairs(events)
        self.check_load(events, totals, 8192)

    def test_weights_beside_a_finer_recorder(self):
        self.check_beside(4096, 8192)

    def test_weights_beside_a_coarser_recorder(self):
        self.check_beside(16384, 8192)

    def check_beside(self, recorder, probes):
        raw = os.path.join(self.work, "r.alqraw")
        events, (_, totals) = self.listen(
            "interval=%d,probes=%d,out=%s" % (recorder, probes, raw), "load",
            "2", "60000")
        self.check_pairs(events)
        self.check_load(events, totals, probes)
        text = subprocess.run([ALIQUOT, "script", "--format=memtrace", raw],
                              capture_output=True, text=True, check=True).stdout
        recorded = [Event(0, "alloc", 0, int(n), weight(int(n), recorder))
                    for n in re.findall(r"alloc_ext .*?len=(\d+)", text)]
        self.check_load(recorded, totals, recorder)

    def test_every_block_weighs_its_size(self):
        events, (_, totals) = self.listen("probes=8", "load", "2", "5000")
        self.check_pairs(events)
        allocs = [e for e in events if e.what == "alloc" and is_ours(e.size)]
        self.assertEqual(len(allocs), totals["blocks"])
        self.assertEqual(sum(e.weight for e in allocs), totals["bytes"])
        freed = sum(1 for e in ours_only(events) if e.what == "free")
        self.assertEqual(freed, totals["freed"])


# ---- bpftrace ----------------------------------------------------------------

def bpf_errno():
    """0, or why this process may not make a BPF map."""
    number = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack("IIII", 2, 4, 8, 1).ljust(128, b"\0")
    fd = libc.syscall(number, 0, attributes, len(attributes))
    if fd < 0:
        return ctypes.get_errno()
    os.close(fd)
    return 0


def bpf_refusal():
    """Why bpftrace cannot be used here; None when it can."""
    if shutil.which("bpftrace") is None:
        return "bpftrace is not there"
    why = bpf_errno()
    if why:
        return "BPF is denied: bpf(BPF_MAP_CREATE): %s (%s)" % (
            errno.errorcode.get(why, why), os.strerror(why))
    trial = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], text=True,
                           capture_output=True)
    if trial.returncode != 0:
        return "BPF is denied to bpftrace: " + trial.stderr.strip()[-300:]
    return None


def semaphores(pid):
    """What the process holds in each, by the notes."""
    text = subprocess.run(["readelf", "-nW", LIBRARY], text=True,
                          capture_output=True, check=True).stdout
    with open("/proc/%d/maps" % pid) as f:
        base = next(int(line.split("-")[0], 16) for line in f
                    if LIBRARY in line)
    with open("/proc/%d/mem" % pid, "rb") as f:
        for at in re.findall(r"Semaphore: (0x\w+)", text):
            f.seek(base + int(at, 16))
            yield struct.unpack("H", f.read(2))[0]


class Bpftrace(Case):
    PROGRAM = """
usdt:%(at)s:otel_memory:alloc /arg1 %% 16 == 7/ {
    @n = count(); @bytes = sum(arg1); @weight = sum(arg2); @live[arg0] = 1;
}
usdt:%(at)s:otel_memory:free /@live[arg0]/ { @freed = count();
    delete(@live[arg0]); }
END { clear(@live); }
"""

    def setUp(self):
        refusal = bpf_refusal()
        if refusal:
            self.skipTest(refusal)
        super().setUp()

    def wait_for(self, what, good):
        end = time.monotonic() + 900
        while not good():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def traced(self, *args):
        """(maps of bpftrace, totals) of a program traced from its middle on."""
        for _ in range(3):  # bpftrace may not hear that it is to end
            try:
                return self.traced_once(*args)
            except subprocess.TimeoutExpired as e:
                hung = e
        raise hung

    def traced_once(self, aliquot, by_pid, threads, blocks):
        program = subprocess.Popen(
            [PROBED, "wait", str(threads), str(blocks)], text=True,
            env=environment(aliquot, True), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.stdin.close)
        self.addCleanup(program.kill)
        program.stdout.readline()
        self.assertEqual(list(semaphores(program.pid)), [0, 0])
        env = environment()
        env["BPFTRACE_MAP_KEYS_MAX"] = "100000"
        with open(os.path.join(self.work, "bt"), "w+") as out:
            tracer = subprocess.Popen(
                ["bpftrace", *(["-p", str(program.pid)] if by_pid else []),
                 "-e", self.PROGRAM % {"at": LIBRARY}],
                stdout=out, stderr=subprocess.STDOUT, env=env)
            self.addCleanup(tracer.kill)
            self.wait_for("bpftrace attaches", lambda: tracer.poll()
                          is not None or min(semaphores(program.pid)) > 0)
            self.assertIsNone(tracer.poll(), open(out.name).read())
            # The semaphore is up just before the breakpoint is there.
            time.sleep(0.2)
            program.stdin.write("go\n")
            program.stdin.flush()
            _, totals = said(program.stdout.readline())
            tracer.send_signal(2)
            try:
                tracer.wait(900)
            except subprocess.TimeoutExpired:
                tracer.kill()  # or it counts in the next attempt, too
                tracer.wait()
                program.kill()
                raise
            out.seek(0)
            text = out.read()
        self.wait_for("semaphores fall",
                      lambda: list(semaphores(program.pid)) == [0, 0])
        program.stdin.write("end\n")
        program.stdin.flush()
        self.assertEqual(program.wait(60), 0)
        maps = {k: int(v) for k, v in re.findall(r"@(\w+): (\d+)", text)}
        self.assertIn("n", maps, text)
        return maps, totals

    def check_exact(self, by_pid):
        maps, totals = self.traced("probes=8", by_pid, 2, 5000)
        self.assertEqual(maps["n"], totals["blocks"])
        self.assertEqual(maps["bytes"], totals["bytes"])
        self.assertEqual(maps["weight"], totals["bytes"])
        self.assertEqual(maps["freed"], totals["freed"])

    def test_by_pid(self):
        self.check_exact(True)

    def test_by_path(self):
        self.check_exact(False)

    def test_sampled(self):
        interval = 8192
        maps, totals = self.traced("probes=%d" % interval, True, 2, 60000)
        self.assertLess(maps["n"], totals["blocks"] / 2)
        # size^2 (1 - p) / p of a block is below size * interval.
        error = math.sqrt(totals["bytes"] * interval)
        self.assertLess(abs(maps["weight"] - totals["bytes"]), ERRORS * error)
        self.assertLess(error, 0.02 * totals["bytes"], "the test is sharp")


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print("skipped: %s: %s" % (test.id(), reason))


if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=Result))
