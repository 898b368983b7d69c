"""The programs of others that read exports: where they are, how they are run.

What cannot be had is said, on stderr and in the test's result; everything that
can is run."""
import fcntl
import glob
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
DIR = os.environ["JUDGES_DIR"]
READY_SECONDS = 900


def skip(judge, reason):
    print("export/viewers: %s was not asked: %s" % (judge, reason),
          file=sys.stderr)
    raise unittest.SkipTest("%s: %s" % (judge, reason))


def program(name):
    """The path of a program of a Debian package."""
    path = shutil.which(name)
    if path is None:
        skip(name, "it is not installed (devtools/packages)")
    return path


def run(*args, **more):
    return subprocess.run(args, capture_output=True, timeout=READY_SECONDS, **more)


def npm_install():
    """Installs what package-lock.json names, once for all presets; why not, or
    None."""
    names = [os.path.join(HERE, n) for n in ("package.json",
                                             "package-lock.json")]
    stamp = hashlib.sha256()
    for name in names:
        with open(name, "rb") as f:
            stamp.update(f.read())
    for need in ("node", "npm"):
        if shutil.which(need) is None:
            return need + " is not installed (devtools/packages)"
    os.makedirs(DIR, exist_ok=True)
    with open(os.path.join(DIR, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = os.path.join(DIR, "installed")
        if os.path.exists(done):
            with open(done) as f:
                if f.read() == stamp.hexdigest():
                    return None
        for name in names:
            shutil.copy(name, DIR)
        result = run("npm", "ci", "--ignore-scripts", "--no-audit",
                     "--no-fund", cwd=DIR)
        if result.returncode != 0:
            return "npm ci failed: " + result.stderr.decode()[-300:]
        with open(done, "w") as f:
            f.write(stamp.hexdigest())
    return None


_installed = {}


def npm(judge):
    """The folder of node's modules, with all judges in it."""
    if "why" not in _installed:
        _installed["why"] = npm_install()
    if _installed["why"] is not None:
        skip(judge, _installed["why"])
    return os.path.join(DIR, "node_modules")


class Profiler:
    """A session of the Firefox Profiler's command line with one file.

    Its daemon is started here, as "load" gives it half a second to be ready,
    which a busy machine may not grant."""

    def __init__(self, path):
        self.script = os.path.join(
            npm("profiler-cli"), "@firefox-devtools", "profiler-cli", "dist",
            "profiler-cli.js")
        self.dir = tempfile.mkdtemp(prefix="aliquot-profiler-")
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": self.dir}
        result = run("node", self.script, "--version", env=self.env)
        if result.returncode != 0:
            skip("profiler-cli", result.stderr.decode()[-300:])
        self.path = path

    def command(self, *args):
        return run("node", self.script, *args, "--session", "judge",
                   env=self.env)

    def __enter__(self):
        self.daemon = subprocess.Popen(
            ["node", self.script, "--daemon", self.path, "--session", "judge"],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + READY_SECONDS
        while not self.is_listening():
            if time.monotonic() > end or self.daemon.poll() is not None:
                self.__exit__()
                raise AssertionError("profiler-cli does not start")
            time.sleep(0.05)
        self.ask("profile", "info")
        return self

    def is_listening(self):
        """Its own commands are not to be asked: one that comes too early takes
        the session for dead and clears it away."""
        for path in glob.glob(os.path.join(self.dir, "*.sock")):
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(path) == 0
        return False

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait(READY_SECONDS)
        shutil.rmtree(self.dir, ignore_errors=True)

    def ask(self, *args):
        result = self.command(*args, "--json")
        if result.returncode != 0:
            raise AssertionError(args, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def threads(self):
        return [t["threadHandle"] for t in self.ask("thread",
                                                    "list")["threads"]]

    def totals(self, source):
        """Bytes of each thread by a data source."""
        totals = []
        result = self.command("strategy", source)
        if result.returncode != 0:
            raise AssertionError(source, result.stdout + result.stderr)
        for thread in self.threads():
            tree = self.ask("thread", "samples-top-down", "--max-lines", "2",
                            "--thread", thread)
            assert tree["callTreeSummaryStrategy"] == source, tree
            totals.append(tree["regularCallTree"]["totalSamples"])
        return totals
