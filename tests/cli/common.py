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

# Whether a test that has a brief form is to run its long one: test-tree.cmake.
LONG = os.environ.get("ALQ_TEST_LONG") == "1"

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

    def made(self, events, live, *rates, context="", pid=4711):
        path = os.path.join(self.dir, "made.ctf")
        with open(path, "wb") as f:
            subprocess.run([MAKE_TRACE, str(events), str(live),
                            *map(str, rates)], stdout=f, check=True,
                           env={**os.environ, "MAKE_TRACE_CONTEXT": context,
                                "MAKE_TRACE_PID": str(pid)})
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
    "Block", "born died bytes samples source thread stack later id")

COLOURS = 3
U64 = (1 << 64) - 1
COLOUR_STEP = 0x636F6C6F75727321


def mix(x):
    """The finaliser of SplitMix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & U64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & U64
    return x ^ x >> 31


def colour_seed(program):
    """Of what `report --json` says of a trace's program."""
    return mix(mix(program["start_us"]) ^ program["pid"])


def colours_of(seed, ident, p):
    """The colours of a block that is seen with chance p: src/view/peak.h."""
    if p >= 1:
        return set(range(COLOURS))
    found, hashed = set(), mix(ident ^ seed)
    for k in range(COLOURS):
        chance = colour_chance(p)
        if not found:
            chance /= -math.expm1(math.log1p(-p) * (COLOURS - k) / COLOURS)
        if (hashed >> 11) / 2 ** 53 < chance:
            found.add(k)
        hashed = mix(hashed + COLOUR_STEP & U64)
    return found or {COLOURS - 1}


def colour_chance(p):
    return 1.0 if p >= 1 else -math.expm1(math.log1p(-p) / COLOURS)


class Path:
    """What chooses the moment at which another colour is counted."""

    def __init__(self):
        self.most = self.near_from = 0.0
        self.is_own = self.is_near = False
        self.span = None
        self.us, self.alive = 0, set()


# A block at the peak: the colours that count it, of those it has.
Counted = collections.namedtuple("Counted", "block counted colours")


class Opinion:
    """Totals of a trace recomputed the slow way from its script."""

    def __init__(self, script, rate, word_bits, program):
        self.seed = colour_seed(program)
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
                                    source, thread, stack, later, int(ident)])
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

    def colours(self, number):
        block = self.blocks[number]
        return colours_of(self.seed, block.id, self.p(block))

    def moments(self):
        """For each colour the moment at which it is counted, and the numbers
        of all blocks alive then."""
        paths = [Path() for _ in range(COLOURS)]
        alive, at_us = set(), 0
        now, n, has = [0.0] * COLOURS, [0] * COLOURS, [False] * COLOURS
        # Blocks alive are copied only where a span is the last of its path.
        found = [(0, 0)] * COLOURS

        def look(us, events):
            for k, path in enumerate(paths):
                span = max(0, us - at_us)
                if path.is_near and (path.span is None or span > path.span):
                    path.span = span
                    found[k] = (at_us, events)

        for i, (sign, number) in enumerate(self.order):
            block = self.blocks[number]
            us = block.born if sign > 0 else block.died
            look(us, i)
            p = self.p(block)
            rate = block.later or self.rate
            sample = 0 if rate >= 1 else (
                8 if self.word_bits == 8 else self.word_bits // 8
            ) / colour_chance(rate)
            mine = self.colours(number)
            for c in mine:
                n[c] += sign
                now[c] += sign * block.bytes / colour_chance(p)
                if n[c] == 0 or now[c] < 0:
                    now[c] = 0.0
                has[c] = True
            for k, path in enumerate(paths):
                chooser = (k + 1) % COLOURS
                if path.is_own and chooser not in mine:
                    continue
                if sign > 0 and not path.is_own and has[chooser]:
                    path.is_own = True
                    path.most = path.near_from = 0.0
                level = now[chooser] if path.is_own else sum(now)
                if sign < 0:
                    path.is_near = path.is_near and level >= path.near_from
                elif level > path.most or sample > 0 and \
                        level >= path.most - sample / 2:
                    path.most = max(path.most, level)
                    path.near_from = path.most - sample / 2
                    path.is_near, path.span = True, None
            at_us = us
        look(self.end, len(self.order))
        out = []
        for us, events in found:
            alive = set()
            for sign, number in self.order[:events]:
                (alive.add if sign > 0 else alive.remove)(number)
            out.append((us, alive))
        return out

    def peak(self):
        """When it was first, and of each block there the colours that count
        it."""
        at_peak = collections.defaultdict(set)
        moments = self.moments()
        for k, (_, alive) in enumerate(moments):
            for number in alive:
                if k in self.colours(number):
                    at_peak[number].add(k)
        return min(us for us, _ in moments), at_peak

    def measures(self, temporary_us=1000, min_life_us=0):
        """For each measure, the blocks in it."""
        time, at_peak = self.peak()
        keep = [b for b in enumerate(self.blocks)
                if self.life(b[1]) >= min_life_us]
        return time, {
            "allocated": [b for _, b in keep],
            "live": [b for _, b in keep if b.died is None],
            "peak": [Counted(b, at_peak[i], self.colours(i))
                     for i, b in keep if i in at_peak],
            "temporary": [b for _, b in keep if b.died is not None
                          and self.life(b) < temporary_us],
        }

    def sums(self, blocks):
        out = dict.fromkeys(("bytes", "bytes_var", "objects", "objects_var",
                             "samples", "sampled_blocks", "life"), 0)
        for b in blocks:
            n, of, is_one = 1, 1, True
            if isinstance(b, Counted):
                b, counted, colours = b
                n, of = len(counted), COLOURS
                is_one = min(colours) in counted
            p = self.p(b) if of == 1 else colour_chance(self.p(b))
            out["bytes"] += n * b.bytes / p / of
            out["bytes_var"] += n * b.bytes ** 2 * (1 - p) / p ** 2 / of ** 2
            out["objects"] += n / p / of
            out["objects_var"] += n * (1 - p) / p ** 2 / of ** 2
            out["samples"] += b.samples * is_one
            out["sampled_blocks"] += is_one
            out["life"] += n * self.life(b) / p / of
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
