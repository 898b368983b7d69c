"""What the benchmarks share: runs, ratios of pairs, rows, programs to run."""
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOADS = os.path.join(TOP, "tests", "workloads")


def library(name):
    for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
              "/usr/lib/heaptrack", "/usr/lib"):
        for p in sorted(glob.glob(os.path.join(d, name))):
            return p
    return None


class Run:
    """One execution: wall, user and cpu seconds, peak MiB, output.

    What the command waited for is part of its cpu seconds."""

    def __init__(self, cmd, env, cwd, limits=None, timeout_s=None):
        with tempfile.TemporaryFile() as out:
            start = time.monotonic()
            p = subprocess.Popen(cmd, env={**os.environ, **env}, cwd=cwd,
                                 stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=out, preexec_fn=limits,
                                 start_new_session=timeout_s is not None)
            timer = None
            if timeout_s:
                timer = threading.Timer(timeout_s, os.killpg,
                                        (p.pid, signal.SIGKILL))
                timer.start()
            _, status, usage = os.wait4(p.pid, 0)
            if timer:
                timer.cancel()
            self.wall = time.monotonic() - start
            out.seek(0)
            self.text = out.read().decode(errors="replace")
        self.user = usage.ru_utime
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024.0
        self.ok = status == 0


def peak(build, work, cmd, env, v):
    """Peak MiB and page faults of the program alone.  What a Run says of its
    peak has a floor: the memory of the process that started it."""
    path = os.path.join(work, "peak")
    Run([os.path.join(build, "bench", "peak"), path, "env",
         *("%s=%s" % x for x in v.env.items()), *cmd], env, work)
    with open(path) as f:
        kib, faults = f.read().split()
    return int(kib) / 1024, int(faults)


def instructions(cmd, env, cwd):
    """Of one run, exactly, by callgrind; None when it is not installed."""
    if shutil.which("valgrind") is None:
        return None
    done = subprocess.run(["valgrind", "--tool=callgrind",
                           "--callgrind-out-file=/dev/null", *cmd],
                          env={**os.environ, **env}, capture_output=True,
                          text=True, cwd=cwd)
    got = re.search(r"refs:\s+([\d,]+)", done.stderr)
    return int(got[1].replace(",", "")) if got else None


class Variant:
    """A way to run a program: an environment, or a command in front."""

    def __init__(self, name, env=None, front=None, base="bare", ours=False):
        self.name, self.env, self.front = name, env or {}, front or []
        self.base, self.ours = base, ours


def programs(work, build, quick=False):
    """name: command, environment; quick ones take a few tenths of a second"""
    def generate(script, name, *args):
        path = os.path.join(work, name)
        with open(path, "w") as f:
            subprocess.run([sys.executable, os.path.join(LOADS, script),
                            *args], stdout=f, check=True)
        return path

    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], text=True,
                         capture_output=True, check=True).stdout.strip()
    python = "/usr/bin/python3"
    less = ["1"] if quick else []
    ops = "1000000" if quick else "4000000"
    mt = os.path.join(build, "test", "mtmalloc")
    return {
        "sqlite": (["sqlite3", ":memory:", ".read " +
                    generate("gen_sql.py", "work.sql", "0.3" if quick else "1")], {}),
        "python": ([python, os.path.join(LOADS, "json_heavy.py")] + less,
                   {"PYTHONMALLOC": "malloc"}),
        "cc1": ([cc1, "-w", "-quiet", "-O2",
                 generate("gen_c.py", "big.c", *(["60"] if quick else [])), "-o", "/dev/null"], {}),
        "perl": (["perl", os.path.join(LOADS, "words.pl")] + less, {}),
        "mtmalloc 1 thread": ([mt, ops, "1"], {}),
        "mtmalloc 2 threads": ([mt, ops, "2"], {}),
    }


class Table:
    def __init__(self, tsv):
        self.tsv = tsv
        self.rows = []
        if tsv:
            print("program\tmetric\tours\tpeer\tpeer_value\tratio")

    def row(self, program, metric, value, peer="-", peer_value=None,
            ratio=None):
        """One figure; without a peer's, "-" stands there."""
        self.rows.append((program, metric, value, peer, peer_value, ratio))
        has_peer = peer_value is not None
        if self.tsv:
            print("%s\t%s\t%.4g\t%s\t%s\t%s"
                  % (program, metric, value, peer,
                     "%.4g" % peer_value if has_peer else "-",
                     "%.4f" % ratio if has_peer else "-"))
        else:
            print("  %-20s %-26s %10.4g   %-24s %10s %s"
                  % (program, metric, value, peer,
                     "%.4g" % peer_value if has_peer else "",
                     "  x %.4f" % ratio if has_peer else ""))
        sys.stdout.flush()

    def note(self, text):
        print(text, file=sys.stderr if self.tsv else sys.stdout)
        sys.stdout.flush()


def paired(runs, base, name, key):
    """Median of the ratios, round by round, with its quartiles."""
    r = [getattr(a, key) / getattr(b, key)
         for a, b in zip(runs[name], runs[base]) if a.ok and b.ok]
    if not r:
        return None
    q = statistics.quantiles(r, n=4) if len(r) > 1 else [r[0]] * 3
    return statistics.median(r), q[0], q[2]
