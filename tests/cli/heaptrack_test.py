"""Data files of heaptrack: read as traces, and compared with what heaptrack_print
says of recordings of real programs."""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import common

# Two stacks of three places, one of them with an inlined function; three kinds
# of blocks.
HEAD = """v 10400 3
X prog one two
I 1000 100000
s 9 /bin/prog
s 9 libx.so.1
s 4 main
s 6 prog.c
s 5 outer
s 5 inner
s 9 op (a, b)
i 401000 1 3 4 a
i 402000 1 6 4 14 5 4 1e
i 7f0000001000 2
i 7f0000002000 2 7
t 1 0
t 2 1
t 3 2
t 4 1
a 64 2
a a 3
a 1 4
"""
TAIL = "\n# strings: 7\n# ips: 4\n"


def data(events, head=HEAD, tail=TAIL):
    return (head + events + tail).encode()


class Made(common.Case):
    """Files that are made here."""

    def json(self, events, *args, **kinds):
        path = self.write("made", data(events, **kinds))
        result = common.run("report", "--json", "--stacks=0", *args, path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_figures(self):
        """Peak and times are of single events; what is alive is the rest."""
        j = self.json("+ 0\nc a\n+ 0\n+ 1\nR 10\n- 0\nc 14\n+ 2\n- 1\n")
        self.assertEqual(j["allocated_bytes"], 211)
        self.assertEqual(j["allocated_objects"], 4)
        self.assertEqual(j["peak_bytes"], 210)
        self.assertEqual(j["leaked_bytes"], 101)
        self.assertEqual(j["leaked_objects"], 2)
        self.assertEqual(j["program"]["command"], "prog one two")
        self.assertEqual(j["temporary_us"], 1)
        self.assertEqual(j["rss_peak_bytes"], 65536)

    def test_temporary(self):
        """Freed by the next event of all; times in between do not matter, and
        an event in between does, at one time, too."""
        for events, n in (("+ 0\n- 0\n", 1), ("+ 0\nc a\nR 1\n- 0\n", 1),
                          ("+ 0\n+ 1\n- 0\n- 1\n", 0),
                          ("+ 1\n+ 0\n- 1\n- 0\n", 0),
                          ("+ 0\n+ 0\n- 0\n- 0\n", 1),
                          ("+ 0\n- 0\n" * 5 + "+ 0\n+ 1\n- 0\n", 5),
                          ("+ 0\n+ 1\n- 0\n" * 40, 0)):
            with self.subTest(events[:40]):
                self.assertEqual(self.json(events)["temporary_objects"], n)
        text = common.run("report", self.write(
            "t", data("+ 0\n- 0\n+ 1\n"))).stdout
        self.assertIn("freed by the next event", text)
        self.assertIn("time unknown, ran", text)
        self.assertIn("every block recorded", text)

    def test_names(self):
        """Frames, inlined ones and modules; a place without a name has its
        address."""
        path = self.write("made", data("+ 0\n+ 1\n+ 2\n"))
        folded = common.run("export", "--format=folded", "-o", "-", path)
        self.assertEqual(folded.stdout.splitlines(), [
            "main;op (a, b) 1",
            "main;outer;inner 100",
            "main;outer;inner;0x7f0000001000 10"])
        j = self.json("+ 0\n+ 1\n", "--allocated", "--group=module")
        self.assertEqual({s["module"]: s["allocated_bytes"]
                          for s in j["sites"]},
                         {"prog": 100, "libx.so.1": 10})
        j = self.json("+ 0\n+ 2\n", "--allocated", "--group=line")
        self.assertEqual([(s["function"], s["file"], s["line"])
                          for s in j["sites"]],
                         [("inner", "prog.c", 20), ("op (a, b)", "", 0)])

    def test_command(self):
        """A command line of more lines than one, like those of the file."""
        j = self.json("+ 0\n", head=HEAD.replace(
            "X prog one two\n", "X sh -c a\nI 10\n+ 5\nm 1\n\n# ips: 3\n"))
        self.assertEqual(j["allocated_bytes"], 100)
        self.assertEqual(j["program"]["command"], "sh -c a")

    def test_every_verb(self):
        """What takes a trace takes such a file, packed, in a directory or from
        standard input."""
        whole = data("+ 0\n+ 1\n- 0\n+ 2\n")
        os.mkdir(os.path.join(self.dir, "d"))
        path = self.write("d/f.gz", gzip.compress(whole))
        for args in (["report"], ["info"], ["check"], ["script"],
                     ["report", "--leaks"], ["report", "--filter=in=main"],
                     ["export", "--format=pprof", "-o", "-"],
                     ["export", "--format=massif", "-o", "-"],
                     ["diff", path]):
            with self.subTest(args):
                result = common.run(*args, path, text=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
        out = os.path.join(self.dir, "two.ctf")
        result = common.run("merge", "-o", out, path, path)
        self.assertEqual(result.returncode, 0, result.stderr)
        both = json.loads(common.run("report", "--json", out).stdout)
        self.assertEqual(both["allocated_bytes"], 222)
        result = common.run("report", "--json", os.path.join(self.dir, "d"))
        self.assertEqual(json.loads(result.stdout)["allocated_bytes"], 111)
        result = common.run("report", "--json", "-", stdin=whole)
        self.assertEqual(json.loads(result.stdout)["allocated_bytes"], 111)

    def test_formats(self):
        """Texts without sizes, of format 2; others are refused with a reason."""
        old = re.sub(r"(?m)^s [0-9a-f]+ ", "s ", HEAD).replace(" 3\n", " 2\n",
                                                               1)
        path = self.write("old", data("+ 0\n", head=old))
        folded = common.run("export", "--format=folded", "-o", "-", path)
        self.assertEqual(folded.stdout, "main;outer;inner 100\n")
        for head, part in ((HEAD.replace(" 3\n", " 4\n", 1), "newer format"),
                           ("v 10000\n", "before 1.0"),
                           ("v 10400 3\nx 3 abc\nm 1 -\n",
                            "heaptrack --interpret"),
                           ("v 10400 3\n+ 0\n", "line 2")):
            result = common.run("report", self.write("f", data("", head)))
            self.assertEqual(result.returncode, 3)
            self.assertEqual(result.stdout, "")
            self.assertIn(part, result.stderr)

    def test_damage(self):
        """What stands before the damage is shown, and the damage is said."""
        for events, line in (("+ 0\n+ 9\n", 23), ("+ 0\nq\n", 23),
                             ("+ 0\nt 9 0\n", 23), ("+ 0\nt 1 9\n", 23),
                             ("+ 0\ni 1 9\n", 23), ("+ 0\ns 50 x\n", 23),
                             ("+ 0\na 1 9\n", 23), ("+ 0\nc x\n", 23),
                             ("+ 0\nv 10400 3\n", 23), ("+ 0\n+ 00", 23)):
            with self.subTest(events):
                path = self.write("f", data(events, tail=""))
                result = common.run("report", "--json", path)
                self.assertEqual(result.returncode, 3)
                self.assertIn("line %d: " % line, result.stderr)
                self.assertEqual(
                    json.loads(result.stdout)["allocated_bytes"], 100)
                result = common.run("check", path)
                self.assertEqual(result.returncode, 1)
                self.assertIn("line %d: " % line,
                              result.stdout + result.stderr)
        packed = gzip.compress(data("+ 0\n- 0\n+ 1\n" * 5000))
        result = common.run("report", self.write("f.gz", packed[:-40]))
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, "gzip|compressed|cut")
        result = common.run("report", self.write("f", data("+ 0\n", tail="")))
        self.assertIn("the trace has no end", result.stdout)

    def test_unknown_free(self):
        """A free without its block is left out and counted."""
        path = self.write("made", data("+ 0\n- 1\n- 0\n"))
        text = common.run("report", path).stdout
        self.assertIn("1 frees of blocks that are not in the recording", text)
        self.assertRegex(text, r"live at end +0 B")


# What heaptrack leaves out of a stack, or puts elsewhere: beyond main, above
# the first operator new.
OUTER = re.compile(r"^(main|_start|__libc_start_(call_)?main(_impl)?(@.*)?|"
                   r"__libc_start_main_impl|_GLOBAL__sub_I_.*|call_init.*|"
                   r"_dl_init|_dl_start_user|_dl_start.*|"
                   r"__static_initialization_and_destruction_0.*|"
                   r"operator new(\[\])?\(unsigned long\))$")
STOP = "__static_initialization_and_destruction_0"
UNITS = {"B": 1, "K": 1000, "M": 1000**2, "G": 1000**3}


def key(frames):
    """A stack by its functions; heaptrack_print writes inlined ones in another
    order."""
    frames = [f.strip() for f in frames]
    for i, f in enumerate(frames):
        if f.startswith(STOP):
            frames = frames[i:]
    return tuple(sorted(f for f in frames if not OUTER.match(f)))


def named_apart(sums):
    """Stacks whose names are shortened in a trace, as C++ has long ones: their
    costs, beside how many functions they have."""
    return sorted((len(k), cost) for k, cost in sums.items())


class Judged(common.Case):
    """Recordings of real programs beside heaptrack_print."""

    def setUp(self):
        super().setUp()
        for tool in ("heaptrack", "heaptrack_print", "zstdcat"):
            if shutil.which(tool) is None:
                self.skipTest("no " + tool)

    def printed(self, path, kind):
        out = os.path.join(self.dir, "folded")
        text = subprocess.run(
            ["heaptrack_print", "-f", path, "-t0", "-a0", "-p0", "-T0",
             "--disable-builtin-suppressions", "-F", out,
             "--flamegraph-cost-type", kind], check=True,
            capture_output=True, text=True, timeout=common.PATIENCE_S).stdout
        sums = collections.Counter()
        with open(out) as f:
            for line in f:
                stack, cost = line.rstrip("\n").rsplit("; ", 1)
                frames = [re.sub(r" \([^()]*\)$", "", f)
                          for f in stack.split(";")]
                sums[key(frames)] += int(cost)
        return text, +sums

    def ours(self, path, *args):
        text = common.run("export", "--format=folded", "-o", "-", *args,
                          path).stdout
        sums = collections.Counter()
        for line in text.splitlines():
            stack, cost = line.rsplit(" ", 1)
            sums[key(stack.split(";"))] += int(cost)
        return +sums

    def of_kind_zero(self, path):
        """heaptrack_print takes a free of the first kind of block for that of
        a temporary one where the event before was a free, too: how often."""
        before, n = "-", 0
        with subprocess.Popen(["zstdcat", path], stdout=subprocess.PIPE,
                              text=True) as z:
            for line in z.stdout:
                if line[0] in "+-":
                    n += line == "- 0\n" and before == "-"
                    before = line[0]
        return n

    def check(self, *command, stdin=None):
        stem = os.path.join(self.dir, "h")
        subprocess.run(["heaptrack", "-o", stem, *command], check=True,
                       stdin=stdin, capture_output=True,
                       timeout=common.PATIENCE_S)
        path = next(stem + s for s in (".zst", ".gz")
                    if os.path.exists(stem + s))
        j = json.loads(common.run("report", "--json", "--stacks=0",
                                  path).stdout)
        n_more = self.of_kind_zero(path)
        rows = (("allocations", "allocated_objects", 0,
                 ["--weight=objects"]),
                ("temporary", "temporary_objects", n_more,
                 ["--temporary", "--weight=objects"]),
                ("peak", "peak_bytes", 0, ["--peak"]),
                ("leaked", "leaked_bytes", 0, ["--leaks"]))
        for kind, ours, more, args in rows:
            text, theirs = self.printed(path, kind)
            mine = self.ours(path, *args)
            self.assertEqual(sum(theirs.values()), j[ours] + more, kind)
            self.assertEqual(sum(mine.values()), j[ours], kind)
            different = named_apart(theirs - mine)
            if more > 0:  # of the first kind's stack
                different = [d for d in different if d[1] != more]
            self.assertEqual(different, named_apart(mine - theirs), kind)
        self.said(text, j, n_more)
        print("  %s: %d blocks, %d temporary, peak %d, leaked %d" % (
            os.path.basename(command[0]), j["allocated_objects"],
            j["temporary_objects"], j["peak_bytes"], j["leaked_bytes"]),
            file=sys.stderr)
        os.unlink(path)
        return j

    def said(self, text, j, n_more):
        """The head of what is printed, as far as it is not rounded away."""
        def number(pattern):
            m = re.search(pattern + r" *:? ([0-9.]+)([BKMG]?)", text)
            return float(m[1]) * UNITS.get(m[2], 1)
        self.assertEqual(number("calls to allocation functions"),
                         j["allocated_objects"])
        self.assertEqual(number("temporary memory allocations"),
                         j["temporary_objects"] + n_more)
        for pattern, ours in (("peak heap memory consumption", "peak_bytes"),
                              ("total memory leaked", "leaked_bytes"),
                              (r"peak RSS \(including heaptrack overhead\)",
                               "rss_peak_bytes")):
            self.assertAlmostEqual(number(pattern), j[ours],
                                   delta=0.0051 * max(
                                       1, 1000 ** (len(str(int(j[ours]))) //
                                                   3)))

    def test_python(self):
        j = self.check(os.path.realpath("/usr/bin/python3"), "-c",
                       "import json; "
                       "x = [json.loads('{\"a\": [%d]}' % i)"
                       " for i in range(3000)]; "
                       "y = [str(i) * 600 for i in range(3000)]")
        self.assertGreater(j["allocated_objects"], 3000)

    def test_xz(self):
        path = self.write("text", b"aliquot " * 100000)
        self.check("xz", "-k", path)

    def test_sqlite(self):
        if shutil.which("sqlite3") is None:
            self.skipTest("no sqlite3")
        self.check("sqlite3", ":memory:",
                   "create table t(a integer primary key, b text);"
                   "with recursive c(x) as (select 1 union all select x + 1"
                   " from c where x < 20000)"
                   "insert into t select x, hex(randomblob(20)) from c;"
                   "select count(distinct b), max(b) from t;")

    def test_cxx(self):
        if not os.path.exists(os.environ["VICTIM"]):
            self.skipTest("no C++ program")
        j = self.check(os.environ["VICTIM"])
        self.assertGreater(j["allocated_objects"], 5000)

    def test_threads(self):
        path = self.write("lines", b"race 5000\nchurn 100\nkeep 10\n")
        with open(path, "rb") as lines:
            j = self.check(os.environ["TOP_PROGRAM"], stdin=lines)
        self.assertGreater(j["allocated_objects"], 15000)


if __name__ == "__main__":
    common.unittest.main()
