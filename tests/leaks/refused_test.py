"""A process that the command may not look into sends a copy of itself: the same
classes, and nothing that the process notices."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import common
import leaks_test

REFUSE = os.environ["REFUSE"]
WAITS = os.environ["WAITS"]
CALLS = [REFUSE, "calls"]
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
NOBODY = 65534


def filters_are_here():
    return subprocess.run([*CALLS, "true"]).returncode == 0


class Case(leaks_test.Case):
    # what runs the command that looks
    before = CALLS
    user = None

    def setUp(self):
        super().setUp()
        if not filters_are_here():
            self.skipTest("skipped: leaks without ptrace: no filters here")

    def look(self, pid, *args):
        return subprocess.run([*self.before, common.BIN, "leaks", "-p",
                               str(pid), *args], capture_output=True,
                              text=True, env=common.ENV, user=self.user,
                              timeout=common.PATIENCE_S)

    def leaks(self, pid, *args):
        result = self.look(pid, "--json", *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = json.loads(result.stdout)
        self.assertEqual((found["copied_by"], found["unknown_threads"]),
                         ("process", 0))
        return found

    def start(self, *args, **kwargs):
        return super().start("--control", *args, **kwargs)

    def check_hammer(self, run):
        run.communicate()
        with open(os.path.join(self.dir, "out")) as f:
            self.assertIn("0 wrong", f.read())
        self.assertEqual(run.returncode, 0)


class ShapesTest(Case):
    def check_shapes(self, pid):
        found = self.leaks(pid)
        self.assertEqual(found["unclassed_blocks"], 0)
        self.assertEqual(self.by_function(found), leaks_test.EXPECTED)
        self.assertEqual(leaks_test.children(pid), [])

    def test_exact(self):
        run, pid = self.start("--exact")
        for _ in range(3):
            self.check_shapes(pid)
        run.communicate()
        self.assertEqual(run.returncode, 3)

    def test_every_word_sampled(self):
        _, pid = self.start("--rate=1")
        self.check_shapes(pid)

    def test_same_by_both(self):
        """Function by function, way by way, but for what moves."""
        _, pid = self.start("--exact")
        outside = leaks_test.Case.leaks(self, pid)
        self.assertEqual(outside["copied_by"], "command")
        own = self.leaks(pid)
        for key in ("classes", "sites", "unread_bytes", "device_bytes",
                    "whole"):
            self.assertEqual(outside[key], own[key], key)

    def test_text(self):
        _, pid = self.start("--exact")
        result = self.look(pid)
        self.assertRegex(result.stdout, f"^process {pid}, copied by itself in")

    def test_end(self):
        """`record --leaks` asks while the process waits with its end."""
        path = os.path.join(self.dir, "leaks.json")
        for more in ([], ["--control"]):
            result = subprocess.run(
                [*CALLS, common.BIN, "record", "-q", "-f", "--exact", *more,
                 "--leaks=" + path, "-o", os.path.join(self.dir, "t.ctf"),
                 "--", leaks_test.SHAPES], capture_output=True, text=True,
                stdin=subprocess.DEVNULL, env=common.ENV)
            self.assertEqual((result.returncode, result.stderr), (3, ""))
            with open(path) as f:
                found = json.load(f)
            self.assertEqual((found["moment"], found["copied_by"]),
                             ("exit", "process"))
            self.assertEqual(self.by_function(found), leaks_test.EXPECTED)

    def test_ends(self):
        """Each end of a program, with threads that go on."""
        path = os.path.join(self.dir, "leaks.json")
        for how in ("exit", "_exit", "quick", "busy"):
            result = subprocess.run(
                [*CALLS, common.BIN, "record", "-q", "-f", "--exact",
                 "--leaks=" + path, "-o", os.path.join(self.dir, "t.ctf"),
                 "--", leaks_test.ENDS, how, "20"], env=common.ENV)
            with open(path) as f:
                found = json.load(f)
            with self.subTest(how):
                self.assertEqual(result.returncode, 7)
                self.assertEqual(
                    {(s["function"], s["class"]): (s["blocks"], s["bytes"])
                     for s in found["sites"]
                     if s["function"] in ("lose", "main", "thread_run")},
                    {("lose", "lost"): (1, 2000), ("main", "held"): (2, 4000),
                     ("thread_run", "held"): (20, 2000)})

    def test_first_thread_gone(self):
        """Then the system tells of the memory by other threads alone, and
        nobody can trace the first one."""
        self.before = []
        blocks = {("lose", "lost"): (1, 2000), ("main", "held"): (2, 4000)}
        path = os.path.join(self.dir, "leaks.json")

        def own(found):
            return {(s["function"], s["class"]): (s["blocks"], s["bytes"])
                    for s in found["sites"]
                    if s["function"] in ("lose", "main")}
        run, pid = self.start("--exact", "--leaks=" + path,
                              program=(leaks_test.ENDS, "left", "3"))
        self.assertEqual(own(self.leaks(pid)), blocks)
        run.communicate()
        self.assertEqual(run.returncode, 7)
        with open(path) as f:
            self.assertEqual(own(json.load(f)), blocks)

    def test_no_answer(self):
        """Without a socket, one that allocates nothing does not hear of it;
        what is said tells that."""
        run, pid = leaks_test.Case.start(self, "--exact")
        result = self.look(pid)
        self.assertEqual(result.returncode, 1)
        self.assertIn("filter (seccomp)", result.stderr)
        self.assertIn("'aliquot record --control'", result.stderr)
        run.communicate()
        self.assertEqual(run.returncode, 3)


class OddTest(Case, leaks_test.OddTest):
    test_ptrace_forbidden = test_killed_while_looked_at = None


class WaitsTest(Case):
    def test_waits(self):
        """No wait comes back for the look, and no thread is left out."""
        run, pid = self.start("--exact", program=(WAITS,))
        for _ in range(5):
            self.leaks(pid)
        self.check_hammer(run)

    def test_waits_stopped(self):
        """Nor for a command's stop."""
        run, pid = self.start("--exact", program=(WAITS,))
        for _ in range(3):
            leaks_test.Case.leaks(self, pid)
        self.check_hammer(run)


class HammerTest(Case):
    """As leaks_test.HammerTest: what is lost is a picture of two moments."""

    def look_at(self, n_looks, *args, n_threads=16, start=None):
        run, pid = (start or self.start)(
            *args, program=(leaks_test.HAMMER, str(n_threads)))
        for _ in range(n_looks):
            found = self.leaks(pid)
            for c in ("lost", "indirect"):
                self.assertEqual([s for s in found["sites"]
                                  if s["class"] == c], [])
            self.assertGreater(found["classes"]["held"]["seen_blocks"], 500)
            self.assertEqual(leaks_test.children(pid), [])
        self.check_hammer(run)

    def test_exact(self):
        self.look_at(3, "--exact")

    def test_sampled(self):
        self.look_at(3, "--interval=512")

    def test_hundred_threads(self):
        self.look_at(2, "--interval=4K", n_threads=100)

    def test_without_socket(self):
        """A thread that allocates sees that it is asked."""
        def start(*args, **kwargs):
            return leaks_test.Case.start(self, *args, **kwargs)
        self.look_at(2, "--exact", start=start)
        self.look_at(2, "--interval=512", start=start)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_container(self):
        """It has another number there."""
        inside = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "true"],
                          capture_output=True).returncode != 0:
            self.skipTest("skipped: containers: unshare is denied")
        run, pid = leaks_test.Case.start(
            self, "--interval=512", "--follow",
            program=(*inside, leaks_test.HAMMER, "4"))
        found = self.leaks(leaks_test.children(pid)[0])
        self.assertEqual(found["classes"]["lost"]["seen_blocks"], 0)
        self.assertGreater(found["classes"]["held"]["seen_blocks"], 100)
        run.communicate()
        self.assertEqual(run.returncode, 0)

    def test_two_commands(self):
        """At one moment: each is served, or told to try again."""
        run, pid = self.start("--interval=512", program=(leaks_test.HAMMER,
                                                         "4"))
        for _ in range(3):
            looks = [subprocess.Popen(
                [*CALLS, common.BIN, "leaks", "--json", "-p", str(pid)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                for _ in range(4)]
            n_served = 0
            for look in looks:
                out, err = look.communicate(timeout=common.PATIENCE_S)
                n_served += look.returncode == 0
                if look.returncode == 0:
                    self.assertEqual(
                        json.loads(out)["classes"]["lost"]["seen_blocks"], 0)
                else:
                    self.assertRegex(err.decode(), "try again|did not answer")
            self.assertGreater(n_served, 0)
        self.check_hammer(run)

    def look_and_kill(self, pid, kill):
        """A look in whose middle that is called: what it found."""
        looking = subprocess.Popen(
            [*self.before, common.BIN, "leaks", "--json", "-p", str(pid)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        kill(looking)
        out, err = looking.communicate(timeout=common.PATIENCE_S)
        found = json.loads(out) if looking.returncode == 0 else None
        return looking.returncode, found, err.decode()

    def test_command_killed(self):
        before = set(leaks_test.copies())
        run, pid = self.start("--interval=16K", program=(leaks_test.HAMMER, "4"))
        chance = random.Random(int(os.environ.get("ALQ_TEST_SEED", "0")) + 3)

        def kill(looking):
            time.sleep(chance.random() * 0.15)
            looking.kill()
        for _ in range(12):
            self.look_and_kill(pid, kill)
        leaks_test.wait_until(lambda: set(leaks_test.copies()) <= before)
        self.leaks(pid)
        self.check_hammer(run)

    def check_copy_killed(self):
        """A copy that is killed is no memory full of nothing.  It is there
        while the recording becomes a trace, which takes the longer the more
        has been recorded: at last it is seen in time."""
        run, pid = self.start("--exact", program=(leaks_test.HAMMER, "2"))
        chance = random.Random(int(os.environ.get("ALQ_TEST_SEED", "0")) + 4)
        n_refused = 0

        def is_its(copy):
            with open(f"/proc/{copy}/exe", "rb"):
                return os.path.samefile(f"/proc/{copy}/exe",
                                        leaks_test.HAMMER)

        def kill(looking):
            copies = []
            while looking.poll() is None and not copies:
                try:
                    copies = list(filter(is_its, leaks_test.copies()))
                except OSError:
                    pass
            time.sleep(chance.random() * 0.1 if n_refused > 0 else 0)
            for copy in copies:
                try:
                    os.kill(copy, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        while n_refused < 2:
            rc, found, err = self.look_and_kill(pid, kill)
            if rc == 0:
                self.assertEqual(
                    found["classes"]["lost"]["seen_blocks"], 0)
            else:
                n_refused += 1
                self.assertEqual(rc, 1)
                self.assertRegex(err, "copy")
        self.check_hammer(run)

    def test_copy_killed(self):
        self.check_copy_killed()

    def test_copy_killed_of_command(self):
        self.before = []
        self.check_copy_killed()


class OthersTest(Case):
    """Other reasons than a filter."""

    before = []

    def test_traced(self):
        run, pid = self.start("--exact")
        tracer = subprocess.Popen([REFUSE, "trace", str(pid)],
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        if tracer.stdout.readline() != b"traces\n":
            tracer.communicate()
            self.skipTest("skipped: a traced process: it may not be traced")
        self.assertEqual(self.by_function(self.leaks(pid)),
                         leaks_test.EXPECTED)
        tracer.communicate()
        run.communicate()
        self.assertEqual(run.returncode, 3)

    def as_nobody(self):
        """Root may look into everything, so another user does it."""
        if os.geteuid() != 0:
            return
        os.chmod(self.dir, 0o777)
        self.user = NOBODY
        probe = subprocess.run(["test", "-x", common.BIN], user=NOBODY)
        if probe.returncode != 0:
            self.skipTest("skipped: another user: it may not read the build")

    def start_as(self, *args, env=None):
        out = os.path.join(self.dir, "out")
        with open(out, "wb") as f:
            run = subprocess.Popen(
                [common.BIN, "record", "-q", "-f", "--exact", "--control",
                 "-o", os.path.join(self.dir, "trace.ctf"), "--",
                 leaks_test.SHAPES, *args], stdin=subprocess.PIPE, stdout=f,
                user=self.user, env={**common.ENV, **(env or {})})
        self.addCleanup(run.communicate)
        leaks_test.wait_until(lambda: os.path.getsize(out) > 0
                              or run.poll() is not None)
        self.assertIsNone(run.poll())
        return run, leaks_test.children(run.pid)[0]

    def test_undumpable(self):
        """The system tells nobody but root what it has mapped."""
        self.as_nobody()
        run, pid = self.start_as(env={"UNDUMPABLE": "1"})
        found = self.leaks(pid)
        self.assertEqual(self.by_function(found), leaks_test.EXPECTED)
        run.communicate()
        self.assertEqual(run.returncode, 3)

    def test_yama(self):
        if not os.path.exists(YAMA):
            self.skipTest("skipped: ptrace_scope: this system has none")
        with open(YAMA) as f:
            was = f.read()
        if not os.access(YAMA, os.W_OK) or was.strip() == "3":
            self.skipTest("skipped: ptrace_scope: it cannot be changed")
        self.as_nobody()

        def write(scope):
            with open(YAMA, "w") as f:
                f.write(scope)
        self.addCleanup(write, was)
        for scope in ("1", "2"):
            write(scope)
            with self.subTest(scope):
                run, pid = self.start_as()
                self.assertEqual(self.by_function(self.leaks(pid)),
                                 leaks_test.EXPECTED)
                run.communicate()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main()
