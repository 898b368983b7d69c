"""What the tests of the command share: running it, golden data, and a second
opinion on a trace made from nothing but the columns of `aliquot script`."""
import collections
import glob
import json
import lzma
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["ALIQUOT_BIN"]
MAKE_TRACE = os.environ["MAKE_TRACE"]
SOURCE = os.environ["SOURCE_DIR"]
GOLDEN = os.path.join(SOURCE, "tests", "golden")

# However slow the machine is: whoever waits longer than that waits for nothing.
PATIENCE_S = 900

ENV = {k: v for k, v in os.environ.items()
       if k not in ("COLUMNS", "NO_COLOR", "PAGER", "LESS")}


def run(*args, env=None, stdin=None, text=True):
    """Runs the command; the result has returncode, stdout and stderr."""
    result = subprocess.run([BIN, *args], capture_output=True, input=stdin,
                            env={**ENV, **(env or {})}, timeout=PATIENCE_S)
    if text:
        result.stdout = result.stdout.decode()
    result.stderr = result.stderr.decode()
    return result


def unpacked(path):
    with open(path, "rb") as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def traces():
    """(name, bytes) of each golden trace; name as "bintree-1e-3.v2"."""
    for path in sorted(glob.glob(os.path.join(GOLDEN, "traces", "*.ctf*"))):
        yield os.path.basename(path).split(".ctf")[0], unpacked(path)


def trace(name):
    for path in glob.glob(os.path.join(GOLDEN, "traces", name + ".ctf*")):
        return unpacked(path)
    raise FileNotFoundError(name)


def report(name):
    """Text of a golden report, or None."""
    for path in glob.glob(os.path.join(GOLDEN, "reports", name + "*")):
        return unpacked(path).decode()
    return None


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="aliquot-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, data):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def made(self, events, live, *rates, context=""):
        path = os.path.join(self.dir, "made.ctf")
        with open(path, "wb") as f:
            subprocess.run([MAKE_TRACE, str(events), str(live),
                            *map(str, rates)], stdout=f, check=True,
                           env={**os.environ, "MAKE_TRACE_CONTEXT": context})
        return path

    def ok(self, *args, **more):
        result = run(*args, **more)
        self.assertEqual((result.returncode, result.stderr), (0, ""), args)
        return result.stdout

    def json(self, *args):
        return json.loads(self.ok("report", "--json", *args))

    def near(self, got, wanted, what):
        """Equal but for the order of summation and the final rounding."""
        self.assertLessEqual(abs(got - wanted), 1 + 1e-9 * abs(wanted), what)


Block = collections.namedtuple(
    "Block", "born died bytes samples source thread stack later")


class Opinion:
    """Totals of a trace recomputed the slow way from its script."""

    def __init__(self, script, rate, word_bits):
        self.blocks = []
        self.promoted = set()
        self.end = 0
        alive = {}
        later = 0
        self.order = []  # (+1 or -1, block number) as in the file
        for line in script.split("\n")[1:-1]:
            (time, event, ident, size, samples, source, _, thread,
             stack, _) = line.split("\t")
            self.end = max(self.end, int(time))
            if event == "note" and stack.startswith("sampling "):
                later = float(stack.split("=")[1])
            if event == "alloc":
                alive[ident] = len(self.blocks)
                self.order.append((1, len(self.blocks)))
                self.blocks.append([int(time), None, int(size), int(samples),
                                    source, thread, stack, later])
            elif event == "free":
                number = alive.pop(ident)
                self.order.append((-1, number))
                self.blocks[number][1] = int(time)
            elif event == "promote":
                self.promoted.add(alive[ident])
        self.blocks = [Block(*b) for b in self.blocks]
        self.rate = min(1.0, rate * 8) if word_bits == 8 else rate
        self.word_bits = word_bits

    def p(self, block):
        if self.word_bits == 8:
            words = (block.bytes + 7) // 8 + 1
        else:
            words = block.bytes // (self.word_bits // 8)
        rate = block.later or self.rate
        if rate >= 1:
            return 1.0
        return -math.expm1(words * math.log1p(-rate))

    def life(self, block):
        return max(0, (self.end if block.died is None else block.died)
                   - block.born)

    def peak(self):
        """Numbers of the blocks alive at the first highest moment."""
        now, best, best_at, time = 0.0, 0.0, -1, 0
        n = 0
        for i, (sign, number) in enumerate(self.order):
            block = self.blocks[number]
            n += sign
            now = now + sign * block.bytes / self.p(block) if n else 0.0
            if now > best:
                best, best_at, time = now, i, block.born
        alive = set()
        for sign, number in self.order[:best_at + 1]:
            (alive.add if sign > 0 else alive.remove)(number)
        return time, alive

    def measures(self, temporary_us=1000, min_life_us=0):
        """For each measure, the blocks in it."""
        time, at_peak = self.peak()
        keep = [b for b in enumerate(self.blocks)
                if self.life(b[1]) >= min_life_us]
        return time, {
            "allocated": [b for _, b in keep],
            "live": [b for _, b in keep if b.died is None],
            "peak": [b for i, b in keep if i in at_peak],
            "temporary": [b for _, b in keep if b.died is not None
                          and self.life(b) < temporary_us],
        }

    def sums(self, blocks):
        out = dict.fromkeys(("bytes", "bytes_var", "objects", "objects_var",
                             "samples", "sampled_blocks", "life"), 0)
        for b in blocks:
            p = self.p(b)
            out["bytes"] += b.bytes / p
            out["bytes_var"] += b.bytes ** 2 * (1 - p) / p ** 2
            out["objects"] += 1 / p
            out["objects_var"] += (1 - p) / p ** 2
            out["samples"] += b.samples
            out["sampled_blocks"] += 1
            out["life"] += self.life(b) / p
        return {
            "bytes": out["bytes"],
            "bytes_stderr": math.sqrt(out["bytes_var"]),
            "objects": out["objects"],
            "objects_stderr": math.sqrt(out["objects_var"]),
            "samples": out["samples"],
            "sampled_blocks": out["sampled_blocks"],
            "average_life_us":
                out["life"] / out["objects"] if out["objects"] else 0,
        }


class Result(unittest.TextTestResult):
    """Says why a test is skipped: devtools/test-summary lists these lines."""

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print("skipped: %s: %s" % (test.id(), reason), flush=True)


def main():
    unittest.main(module=sys.modules["__main__"], verbosity=1,
                  testRunner=unittest.TextTestRunner(resultclass=Result))
