"""What tests of running programs share: one that is recorded, and does what it
is told to; a command that goes on in the background."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tests", "export"))
import exported  # noqa: E402
from exported import common  # noqa: E402

STEADY = os.environ.get("STEADY")
PATIENCE_S = common.PATIENCE_S


class Background:
    """The command, running; its first line of output is waited for."""

    def __init__(self, case, *args, env=None, first_line=True):
        self.process = subprocess.Popen(
            [common.BIN, *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**common.ENV,
                                                    **(env or {})})
        case.addCleanup(self.kill)
        self.first = ""
        if first_line:
            self.first = self.process.stdout.readline().strip()
            if not self.first:
                raise AssertionError(self.process.communicate()[1])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, number=None):
        """(status, stdout, stderr), after a signal if one is given."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


class Steady:
    """A program under `aliquot record`; calls are its commands."""

    def __init__(self, case, *options):
        self.trace = os.path.join(case.dir, "steady.ctf")
        self.record = subprocess.Popen(
            [common.BIN, "record", "-o", self.trace, *options, "--", STEADY],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=common.ENV)
        case.addCleanup(self.kill)
        self.answered()
        self.pid = self.find_pid()

    def find_pid(self):
        with open("/proc/%d/task/%d/children" % (self.record.pid,
                                                 self.record.pid)) as f:
            return int(f.read().split()[0])

    def answered(self):
        if self.record.stdout.readline() != "ok\n":
            raise AssertionError(self.record.communicate()[1])

    def tell(self, *words):
        self.record.stdin.write(" ".join(map(str, words)) + "\n")
        self.record.stdin.flush()
        if words[0] != "exit":
            self.answered()

    def end(self):
        self.tell("exit")
        self.record.communicate(timeout=PATIENCE_S)
        return self.trace

    def kill(self):
        if self.record.poll() is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except (ProcessLookupError, AttributeError):
                pass
        self.record.communicate()


def wait_until(holds, what):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("waited too long: " + what)
        time.sleep(0.05)


def metrics(text):
    """{name or name{labels}: value}"""
    return {m[1]: float(m[2]) for m in re.finditer(
        r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.M)}
