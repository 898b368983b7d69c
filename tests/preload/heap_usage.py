#!/usr/bin/env python3
"""What the exact mode records against valgrind's total heap usage.

usage: heap_usage.py [--build DIR] [--list FILE] ['PROGRAM ARGUMENT...' ...]

Each program runs twice, with one environment: under valgrind's memcheck, and
under `aliquot record --exact`.  Blocks and bytes are compared to the unit.
Where they differ, each of the two is a multiset of sizes, and what is in one
alone is listed: with its reason where that is known (REASONS below), else with
the frames that allocated it, and then the program is counted as different.

How valgrind counts, and what is compared:
  - realloc of a block is one more block, of the new size; realloc of no block
    is malloc, of size 0 it is free.  So is ours.
  - calloc counts n * size, the aligned forms count what was asked for.  So do
    we.
  - operator new counts what the program asks for.  It is replaced there, while
    we see the malloc that libstdc++ calls: new of 0 bytes is 1 byte, and an
    aligned new is rounded up to a multiple of its alignment.
  - The C library and libstdc++ free their own blocks at exit only when
    valgrind tells them to, which --run-libc-freeres=no forbids.  Frees are not
    compared, blocks and bytes are.
  - The dynamic linker's own allocations before it has bound malloc are seen by
    neither.
Both runs have valgrind's environment (LD_PRELOAD, GLIBCXX_FORCE_NEW), since
programs copy theirs; what valgrind loads is harmless outside it.  Hashes have
a fixed seed, and GLib's slices are plain malloc, as it makes them under
valgrind.
"""
import argparse
import collections
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

VALGRIND = ["valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no",
            "--leak-check=no", "--undef-value-errors=no"]
CALL = re.compile(
    r"--\d+-- (?:(?P<name>malloc|_Zn[wa]\w+)\((?:size )?(?P<size>\d+)"
    r"|(?P<calloc>calloc)\((?P<n>\d+), ?(?P<each>\d+)\)"
    r"|(?P<memalign>memalign|posix_memalign)\(al (?P<al>\d+), "
    r"size (?P<asize>\d+)\)"
    r"|(?P<realloc>realloc)\((?P<old>0x[0-9a-fA-F]+),(?P<rsize>\d+)\))")


LINES_MOST = 40  # of one program


def run(command, env):
    return subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode


BARE = {"PATH": os.environ["PATH"], "HOME": "/", "LC_ALL": "C",
        "ALIQUOT_CACHE": "/dev/null",
        "PERL_HASH_SEED": "0", "PYTHONHASHSEED": "0",
        "G_SLICE": "always-malloc"}

# A signal stack as large as the processor's registers: valgrind's has fewer.
SIGNAL_STACK_MORE = max(os.sysconf(250) - 8192, 0)  # _SC_SIGSTKSZ

# (reason, pattern of the stack, bytes that ours has more than valgrind's)
REASONS = [
    ("each thread's table of modules has a place for the profiler's", "dtv",
     lambda size: 16),
    ("as large as a signal's stack, which is smaller under valgrind", "",
     lambda size: SIGNAL_STACK_MORE),
    ("libstdc++ asks malloc for 1 byte where none is wanted",
     r"operator new", lambda size: 1 if size == 1 else 0),
    ("libstdc++ rounds the size up to the alignment",
     r"operator new\S*\(.*align_val_t", lambda size: range(1, 4096)),
]


def environment():
    """What a program finds under valgrind that is given BARE."""
    text = subprocess.run(VALGRIND + ["-q", "--log-file=/dev/null", "env",
                                      "-0"], env=BARE,
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    return dict(pair.split("=", 1) for pair in text.split("\0") if pair)


class Usage:
    def __init__(self):
        self.blocks = self.bytes = 0
        self.sizes = collections.Counter()
        self.stacks = collections.defaultdict(list)

    def add(self, size, stack=None):
        self.blocks += 1
        self.bytes += size
        self.sizes[size] += 1
        if stack is not None:
            self.stacks[size].append(stack)


def call_size(line):
    m = CALL.match(line)
    if m is None or line.endswith("= 0x0\n"):  # a request that failed
        return None
    if m["name"]:
        return int(m["size"])
    if m["calloc"]:
        return int(m["n"]) * int(m["each"])
    if m["memalign"]:
        return int(m["asize"])
    is_free = int(m["old"], 16) != 0 and int(m["rsize"]) == 0
    return None if is_free else int(m["rsize"])


def of_valgrind(command, folder):
    log = os.path.join(folder, "log")
    status = run(VALGRIND + ["--trace-malloc=yes", "--log-file=" + log]
                 + command, BARE)
    usage, total = Usage(), None
    with open(log, errors="replace") as lines:
        for line in lines:
            m = re.search(r"total heap usage: ([\d,]+) allocs, [\d,]+ frees, "
                          r"([\d,]+) bytes", line)
            if m:
                total = tuple(int(n.replace(",", "")) for n in m.groups())
            size = call_size(line)
            if size is not None:
                usage.add(size)
    return usage, total, status


def of_aliquot(aliquot, command, env, folder):
    trace = os.path.join(folder, "t.ctf")
    status = run([aliquot, "record", "-q", "-f", "--exact", "-o", trace, "--"]
                 + command, env)
    usage = Usage()
    lines = subprocess.run([aliquot, "script", trace], check=True,
                           stdout=subprocess.PIPE).stdout.decode(
                               errors="replace").splitlines()
    for line in lines:
        field = line.split("\t")
        if len(field) > 8 and field[1] == "alloc":
            usage.add(int(field[3]), field[8])
    return usage, status


def innermost(stack):
    return " < ".join(re.sub(r"@.*", "", frame)
                      for frame in stack.split(";")[:-7:-1])


def reason(size, stack, theirs):
    """Takes the block that is valgrind's instead; the reason, or None."""
    for text, pattern, more in REASONS:
        steps = more(size)
        for step in [steps] if isinstance(steps, int) else steps:
            if step and theirs[size - step] and re.search(pattern, stack):
                theirs[size - step] -= 1
                return text
    return None


def differences(theirs, ours):
    """What one of the two has alone: (is explained, text), counted."""
    left = theirs.sizes - ours.sizes
    found = collections.Counter()
    for size, n in sorted((ours.sizes - theirs.sizes).items()):
        # Of blocks of one size those with a reason come first.
        for stack in ours.stacks[size]:
            text = reason(size, stack, left) if n else None
            if text:
                n -= 1
                found[True, "%d bytes: %s" % (size, text)] += 1
        for stack in ours.stacks[size][:n]:
            found[False, "%d bytes, aliquot's: %s"
                  % (size, innermost(stack))] += 1
    for size, n in sorted((+left).items()):
        found[False, "%d bytes, valgrind's" % size] += n
    return found


def compare(aliquot, command, env):
    with tempfile.TemporaryDirectory() as folder:
        theirs, total, status = of_valgrind(command, folder)
        ours, own_status = of_aliquot(aliquot, command, env, folder)
    total = total or (theirs.blocks, theirs.bytes)  # it became another program
    found = {}
    if total != (ours.blocks, ours.bytes):
        found = differences(theirs, ours)
    is_good = (status == own_status and all(known for known, _ in found)
               and (theirs.blocks, theirs.bytes) == total)
    print("%-9s %-30s valgrind %d blocks %d bytes, aliquot %d %d" % (
        "DIFFERENT" if not is_good else "explained" if found else "equal",
        " ".join(command)[-30:], *total, ours.blocks, ours.bytes))
    if status != own_status:
        print("  exit status: %d, aliquot %d" % (status, own_status))
    if (theirs.blocks, theirs.bytes) != total:
        print("  valgrind's trace has %d blocks, %d bytes"
              % (theirs.blocks, theirs.bytes))
    for (_, text), n in list(found.items())[:LINES_MOST]:
        print("  %d of %s" % (n, text))
    if len(found) > LINES_MOST:
        print("  ... and %d lines more" % (len(found) - LINES_MOST))
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.environ.get("BUILD_DIR",
                                                          "build/rel"))
    parser.add_argument("--list", help="file of commands, one a line")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("skipped: heap_usage: valgrind is not installed")
        return 77
    aliquot = os.path.join(os.path.abspath(args.build), "bin", "aliquot")
    commands = args.command
    if args.list:
        with open(args.list) as lines:
            commands += [line for line in lines if line[0] not in "#\n"]
    env = environment()
    n_good = sum(compare(aliquot, shlex.split(c), env) for c in commands)
    print("%d of %d as they should be" % (n_good, len(commands)))
    return n_good != len(commands)


if __name__ == "__main__":
    sys.exit(main())
