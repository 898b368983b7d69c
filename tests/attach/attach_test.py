"""Attaching to processes that run, and leaving them as they were.

ALQ_ATTACHMENTS is how often the threads that hammer malloc are attached to."""
import ctypes
import glob
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

import common

ATTACHED = os.environ["ATTACHED"]
PLUGIN = os.environ["PLUGIN"]
STATIC = os.environ["STATIC"]
ATTACHMENTS = int(os.environ.get("ALQ_ATTACHMENTS", "8"))
FAIR = "--interval=16K"
PAUSED = 32  # of a recording's flags: src/wire/raw.h


def is_restricted():
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as f:
            return f.read().strip() != "0"
    except FileNotFoundError:
        return False


class Allows(ctypes.Structure):
    """A filter of system calls that allows all."""
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def filtered():
    code = ctypes.create_string_buffer(b"\6\0\0\0" + b"\0\0\xff\x7f", 8)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Allows(1, ctypes.addressof(code))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or \
            libc.prctl(22, 2, ctypes.byref(program)) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def child_of(pid):
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            return int(path.split("/")[2])
    raise LookupError(pid)


class Program:
    """A program of ours that runs, and answers."""

    def __init__(self, case, *command, **more):
        self.case = case
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1, cwd=case.dir, **more)
        case.addCleanup(self.close)
        case.assertEqual(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        return self.process.stdout.readline().strip()

    def end(self):
        """Ends it in order: every block held what was written."""
        self.process.stdin.write("end\n")
        errors = self.process.stderr.read()
        self.case.assertEqual((self.process.wait(), errors), (0, ""))

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout,
                       self.process.stderr):
            stream.close()


class Attach(common.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 and is_restricted():
            self.skipTest("users may attach to their children alone here")
        self.trace = os.path.join(self.dir, "t.ctf")

    def program(self, threads=2, **more):
        return Program(self, ATTACHED, str(threads), PLUGIN, **more)

    def record(self, pid, *options, seconds=0.2):
        result = common.run("record", "-p", str(pid), f"--for={seconds}s",
                            FAIR, "-f", "-o", self.trace, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def begin(self, pid, *options):
        """A recording that goes on until it is told to end."""
        process = subprocess.Popen(
            [common.BIN, "record", "-p", str(pid), FAIR, "-f", "-o",
             self.trace, *options], env=common.ENV, stderr=subprocess.PIPE,
            text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn("from now on", process.stderr.readline())
        return process

    def finish(self, process):
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
        self.assertEqual(process.wait(), 0, errors)
        return errors

    def sites(self):
        return {s["function"]: s for s in self.json(self.trace)["sites"]}

    def maps(self, pid):
        with open(f"/proc/{pid}/maps") as f:
            return f.read()

    def test_from_now_on_and_then_as_before(self):
        program = self.program()
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        recording = self.begin(program.pid)
        self.assertEqual(program.ask("where"),
                         "libaliquot-preload.so libaliquot-preload.so")
        self.finish(recording)
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        self.assertNotIn(".alqraw", self.maps(program.pid))
        self.assertEqual(glob.glob(self.dir + "/.aliquot-raw*"), [])
        self.assertIn("allocate_here", self.sites())
        self.assertIn("live means allocated since then",
                      self.ok("report", self.trace))
        self.assertGreater(int(program.ask("work")), 0)
        program.end()

    def test_often(self):
        """... threads that do nothing but allocate; nothing is left there."""
        program = self.program(threads=8)
        self.record(program.pid)
        before = self.maps(program.pid).count("\n")
        for _ in range(ATTACHMENTS):
            self.record(program.pid, seconds=0.02)
        self.assertLessEqual(self.maps(program.pid).count("\n"), before + 2)
        self.assertIn("allocate_here", self.sites())
        program.end()

    def test_killed_at_any_moment(self):
        program = self.program(threads=4)
        for _ in range(ATTACHMENTS):
            process = subprocess.Popen(
                [common.BIN, "record", "-q", "-p", str(program.pid), "-f",
                 "-o", self.trace], stderr=subprocess.DEVNULL, env=common.ENV)
            time.sleep(random.random() * 0.2)
            process.kill()
            process.wait()
        self.record(program.pid)
        self.assertIn("allocate_here", self.sites())
        program.end()

    def test_without_its_command(self):
        """... a process stops to sample, and is attached to again."""
        program = self.program()
        recording = self.begin(program.pid)
        recording.kill()
        recording.wait()
        path, = glob.glob(self.dir + "/.aliquot-raw*/*.alqraw")
        deadline = time.monotonic() + common.PATIENCE_S
        flags = 0
        while not flags & PAUSED:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
            with open(path, "rb") as f:
                flags, = struct.unpack_from("<I", f.read(28), 24)
        self.assertRegex(self.ok("status", "-p", str(program.pid)),
                         r"^%d: stopped, .*\nits recorder, process %d, has "
                         r"ended: 'aliquot stop -p %d' ends" % (
                             program.pid, recording.pid, program.pid))
        self.record(program.pid)
        self.assertIn("allocate_here", self.sites())
        program.end()

    def test_modules_loaded_later(self):
        program = self.program()
        recording = self.begin(program.pid)
        self.assertEqual(program.ask("plugin"), "opened")
        time.sleep(0.5)
        self.finish(recording)
        self.assertIn("plugin_allocate", self.sites())
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        program.end()

    def test_children_are_not_recorded(self):
        program = self.program()
        recording = self.begin(program.pid)
        for _ in range(10):
            self.assertEqual(program.ask("fork"), "0")
        self.finish(recording)
        self.assertEqual(glob.glob(self.dir + "/.aliquot-raw*"), [])
        self.assertEqual(len(glob.glob(self.dir + "/*.ctf")), 1)
        program.end()

    def test_handlers_that_allocate(self):
        """... on a thread that is given a call come after it."""
        program = self.program(threads=0)
        program.ask("signals")
        for _ in range(ATTACHMENTS):
            self.record(program.pid, seconds=0.02)
        program.end()

    def test_the_process_ends(self):
        program = self.program()
        recording = self.begin(program.pid)
        time.sleep(0.2)
        program.end()
        self.assertEqual(recording.wait(), 0)
        self.assertIn("allocate_here", self.sites())

    def test_the_process_becomes_another(self):
        program = self.program()
        recording = self.begin(program.pid)
        time.sleep(0.2)
        program.process.stdin.write("exec\n")
        self.assertEqual(recording.wait(), 0)
        self.assertIn("allocate_here", self.sites())

    def test_one_at_a_time(self):
        program = self.program()
        recording = self.begin(program.pid)
        result = common.run("record", "-p", str(program.pid))
        self.assertEqual(result.returncode, 125)
        self.assertIn(f"is recorded by process {recording.pid}",
                      result.stderr)
        self.finish(recording)
        self.record(program.pid)

    def test_top(self):
        """... of a process without a profiler attaches to it, and lets go."""
        program = self.program()
        before = set(glob.glob("/tmp/.aliquot-raw*"))
        got = json.loads(self.ok("top", "--json", "-p", str(program.pid)))
        self.assertEqual(got["pid"], program.pid)
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        process = subprocess.Popen([common.BIN, "top", "-b", "-d", "100ms",
                                    "-p", str(program.pid)], env=common.ENV,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.assertIn(b"attach_attached", process.stdout.readline())
        self.assertIn("aliquot-preload", program.ask("where"))
        process.kill()
        process.wait()
        deadline = time.monotonic() + common.PATIENCE_S
        while program.ask("where") != "libc.so.6 libc.so.6":
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.assertEqual(set(glob.glob("/tmp/.aliquot-raw*")), before)
        program.end()

    def test_half_mapped(self):
        """A library that the linker has only begun to map is not called: its
        place shows bytes of the file, as in a process that maps it as data."""
        program = subprocess.Popen(
            [sys.executable, "-c", "import mmap, sys\n"
             "f = open(sys.argv[1], 'rb')\n"
             "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n"
             "print('mapped', flush=True)\n"
             "while sys.stdin.readline() != '': print('alive', flush=True)\n",
             os.environ["PRELOAD"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "mapped\n")
        for command in ("record", "start"):
            result = common.run(command, "-p", str(program.pid))
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, "from its start|no socket|control")
            program.stdin.write("\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), "alive\n")
        program.stdin.close()
        self.assertEqual(program.wait(), 0)

    def test_snapshot(self):
        program = self.program()
        recording = self.begin(program.pid)
        time.sleep(0.2)
        snapshot = os.path.join(self.dir, "s.ctf")
        common.run("snapshot", "-p", str(program.pid), "-o", snapshot)
        self.assertIn("allocate_here",
                      {s["function"] for s in self.json(snapshot)["sites"]})
        self.finish(recording)
        program.end()

    def test_started_and_left(self):
        """start needs no command beside it; stop leaves a recording."""
        program = self.program()
        pid = str(program.pid)
        raw = os.path.join(self.dir, "left.alqraw")
        said = self.ok("start", "-p", pid, FAIR, "-o", raw)
        self.assertIn(f"aliquot stop -p {pid}", said)
        self.assertIn(raw, said)
        for command in (("start", "-p", pid), ("record", "-p", pid)):
            again = common.run(*command)
            self.assertNotEqual(again.returncode, 0)
            self.assertIn(f"aliquot stop -p {pid}", again.stderr)
        rate = common.run("rate", "-p", pid, "--interval=4K")
        self.assertEqual(rate.returncode, 1)
        self.assertIn("start it with another", rate.stderr)
        top = json.loads(self.ok("top", "--json", "-p", pid))
        self.assertEqual(top["pid"], program.pid)
        time.sleep(0.3)
        n = [int(self.ok("status", "-p", pid).split(" sampled")[0].split()[-1])
             for _ in range(2) if not time.sleep(0.3)]
        self.assertGreater(n[1], n[0])
        self.assertGreater(n[0], 0)
        self.assertIn(raw, self.ok("stop", "-p", pid))
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        self.assertIn("off", self.ok("status", "-p", pid))
        self.assertEqual(common.run("stop", "-p", pid).returncode, 1)
        # the recording has an end, and the process has none
        self.assertEqual(self.json(raw)["recording"]["ended"], "running")
        self.assertIn("still in use", self.ok("report", raw))
        self.assertRegex(self.ok("info", raw), r"(?m)^ended +running$")
        self.assertIn("allocate_here",
                      {s["function"] for s in self.json(raw)["sites"]})
        # no file is overwritten, and none can be made without its directory
        self.assertIn(raw + ".1", self.ok("start", "-p", pid, "-o", raw))
        self.ok("stop", "-p", pid)
        nowhere = common.run("start", "-p", pid, "-o", self.dir + "/no/where")
        self.assertEqual(nowhere.returncode, 1)
        self.assertIn("No such file", nowhere.stderr)
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        said = self.ok("start", "-p", pid, "-o", self.dir + "/%e.%p.alqraw")
        self.assertIn(f"attach_attached.{pid}.alqraw", said)
        self.finish_left(program)

    def finish_left(self, program):
        """What is left to itself ends with its process, whole."""
        program.end()
        trace = glob.glob(f"{self.dir}/attach_attached.*.alqraw")
        self.assertEqual(len(trace), 1)
        self.assertNotIn("killed", self.ok("report", trace[0]))

    def test_stopped_when_its_command_has_gone(self):
        program = self.program()
        recording = self.begin(program.pid)
        recording.kill()
        recording.wait()
        self.assertIn(".alqraw", self.ok("stop", "-p", str(program.pid)))
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        self.assertIn("off", self.ok("status", "-p", str(program.pid)))
        program.end()

    def test_status_of_others(self):
        program = self.program()
        for verb in ("stop", "status"):
            result = common.run(verb, "-p", str(program.pid))
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"aliquot start -p {program.pid}", result.stderr)
        program.end()

    def refused(self, pid, text, *options, status=125):
        result = common.run("record", "-p", str(pid), *options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(text, result.stderr)
        n_lines = 2 if "--help" in result.stderr else 1
        self.assertEqual(len(result.stderr.splitlines()), n_lines,
                         result.stderr)

    def started(self, *command, **more):
        process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        deadline = time.monotonic() + common.PATIENCE_S
        while time.monotonic() < deadline:
            if os.path.realpath(f"/proc/{process.pid}/exe") == \
                    os.path.realpath(shutil.which(command[0])):
                return process
            time.sleep(0.01)
        self.fail("it does not start")

    def test_refused_and_untouched(self):
        self.refused(2 ** 22 + 1, "no process")
        static = self.started(STATIC)
        self.refused(static.pid, "statically linked")
        own = self.program()
        for options in (("--exact",), ("--follow",), ("--mmap",), ("--off",),
                        ("--probes",), ("--limit-live=1M",), ("--", "ls")):
            self.refused(own.pid, "-p", *options, status=2)
        before = self.maps(own.pid)
        self.refused(own.pid, "is a directory", "-o", self.dir, status=2)
        self.refused(own.pid, "cannot create", "-o",
                     os.path.join(self.dir, "none", "t.ctf"), status=2)
        self.assertEqual(self.maps(own.pid).count("\n"), before.count("\n"))
        self.assertNotIn("aliquot-preload", self.maps(own.pid))
        recorded = Program(self, common.BIN, "record", "-q", "-o", self.trace,
                           ATTACHED, "1")
        self.refused(child_of(recorded.pid), "has the profiler from its start")

    def test_older_glibc(self):
        """... of before its dlopen was part of it."""
        libc = next(line.split()[-1] for line in self.maps("self").splitlines()
                    if line.endswith("/libc.so.6"))
        shutil.copy(libc, os.path.join(self.dir, "libc-2.31.so"))
        os.symlink("libc-2.31.so", os.path.join(self.dir, "libc.so.6"))
        old = self.started("sleep", "1000",
                           env=dict(os.environ, LD_LIBRARY_PATH=self.dir))
        self.refused(old.pid, "runs on glibc 2.31, and attaching needs 2.34")

    def test_musl(self):
        compiler = shutil.which("musl-gcc")
        if compiler is None:
            self.skipTest("a program of musl: there is no musl-gcc")
        program = os.path.join(self.dir, "waits")
        with open(program + ".c", "w") as f:
            f.write("int getchar(void); int main(void) { getchar(); }")
        subprocess.run([compiler, "-o", program, program + ".c"], check=True)
        self.refused(self.started(program).pid, "of another C library")

    def test_filters(self):
        """... of system calls that this command has not."""
        process = self.started("sleep", "1000", preexec_fn=filtered)
        self.refused(process.pid, "a filter of its own")
        result = subprocess.run(
            [common.BIN, "record", "-p", str(process.pid), "--for=10ms", "-o",
             self.trace], preexec_fn=filtered, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIsNone(process.poll())

    def test_it_is_told_nothing(self):
        """... of what cannot be recorded: the command is; nor by errno."""
        program = self.program(threads=0, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, 4096)))
        program.ask("signals")
        self.refused(program.pid, "ulimit -f")
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        program.end()  # its stderr is empty

    def test_stopped(self):
        process = self.started("sleep", "1000")
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        self.refused(process.pid, f"kill -CONT {process.pid}")

    def test_programs_of_others(self):
        """... wait, compute, and are in no way prepared."""
        for command in (("sleep", "1000"), ("cat", "/dev/zero"),
                        ("perl", "-e", "while (1) { my %h; $h{$_} = \"x$_\" "
                         "for 1 .. 1000 }")):
            process = self.started(*command)
            time.sleep(0.2)
            said = self.record(process.pid)
            self.assertRegex(said, r"\d+ addresses in \d+ modules")
            self.assertIsNone(process.poll(), command)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_another_users(self):
        preload = os.environ["PRELOAD"]
        if subprocess.run(["test", "-r", preload], user=65534,
                          extra_groups=()).returncode != 0:
            self.skipTest("another user may not read " + preload)
        process = self.started("sleep", "1000", user=65534, extra_groups=())
        self.record(process.pid)
        self.assertIsNone(process.poll())

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_containers(self):
        """... have other files, and other numbers of processes."""
        if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("unshare is denied")
        program = Program(
            self, "unshare", "--mount", "--pid", "--fork", "--mount-proc",
            "sh", "-c", f"mount -t tmpfs none /tmp && exec {ATTACHED} 2")
        pid = child_of(program.pid)
        for _ in range(2):
            self.record(pid)
            self.assertIn("allocate_here", self.sites())
        self.assertEqual(program.ask("where"), "libc.so.6 libc.so.6")
        self.assertEqual(os.listdir(f"/proc/{pid}/root/tmp"), [])
        program.end()


if __name__ == "__main__":
    unittest.main()
