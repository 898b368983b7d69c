"""aliquot gc-trace: recordings made here and by a program on the heap; what is
written obeys the laws of the Trace Event Format; bad input is told."""
import json
import math
import os
import random
import re
import signal
import struct
import subprocess

import common

PROGRAM = os.environ["GC_PROGRAM"]

(PAUSE, MINOR, SLICE, MAJOR, COMPACT, STOP, FINALISE, CYCLE, MARK, EPHE, SWEEP,
 GROW, SHRINK, DOMAIN_START, DOMAIN_END, HEAP_END) = range(16)
BEGIN, END, MOMENT = range(3)
NAMES = ["pause", "minor", "slice", "major", "compaction", "stop",
         "finalisers", "cycle", "marking", "ephemerons", "sweeping",
         "heap grows", "heap shrinks", "domain starts", "domain ends",
         "heap ends"]
PHASES = {"B", "E", "i", "C", "M"}


def number(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def header(pid=77, wall=1_700_000_000_000_000_000, mono=1000):
    return b"ALIQGCT1" + struct.pack("<IIQQ", 32, pid, wall, mono)


def chunk(track, events, start=None, lost=0):
    """events: (ns, kind, point, values...)"""
    last = start = events[0][0] if start is None else start
    body = b""
    for ns, kind, point, *values in events:
        body += bytes([kind, point | len(values) << 2]) + number(ns - last)
        body += b"".join(number(v) for v in values)
        last = ns
    return b"ALQG" + struct.pack("<IIIQ", track, len(body), lost, start) + body


PAUSES = [
    (2000, PAUSE, BEGIN), (2100, MINOR, BEGIN, 900, 7),
    (5100, MINOR, END, 300), (5200, SLICE, BEGIN, 50),
    (7200, SLICE, END, 40, 10), (7250, GROW, MOMENT, 65536, 32768),
    (7300, PAUSE, END, 40000, 65536),
]
MADE = (header() + chunk(1, PAUSES)
        + chunk(0, [(2500, CYCLE, BEGIN, 1), (2600, MARK, BEGIN),
                    (9000, MARK, END, 555)])
        + chunk(1, [(8000, 40, BEGIN, 1), (9000, 40, END)]))

GOLDEN = """{"displayTimeUnit":"ms","traceEvents":[
{"ph":"M","pid":77,"tid":0,"name":"process_name",\
"args":{"name":"aliquot heap"}},
{"ph":"M","pid":77,"tid":1,"name":"thread_name","args":{"name":"domain 0"}},
{"ph":"M","pid":77,"tid":1,"name":"thread_sort_index",\
"args":{"sort_index":1}},
{"ph":"B","pid":77,"tid":1,"ts":1.000,"cat":"gc","name":"pause","args":{}},
{"ph":"B","pid":77,"tid":1,"ts":1.100,"cat":"gc","name":"minor",\
"args":{"young_words":900,"remembered_fields":7}},
{"ph":"E","pid":77,"tid":1,"ts":4.100,"cat":"gc","name":"minor",\
"args":{"promoted_words":300}},
{"ph":"B","pid":77,"tid":1,"ts":4.200,"cat":"gc","name":"slice",\
"args":{"asked_words":50}},
{"ph":"E","pid":77,"tid":1,"ts":6.200,"cat":"gc","name":"slice",\
"args":{"marked_words":40,"swept_words":10}},
{"ph":"i","pid":77,"tid":1,"ts":6.250,"cat":"gc","name":"heap grows",\
"s":"t","args":{"ready_bytes":65536,"before_bytes":32768}},
{"ph":"E","pid":77,"tid":1,"ts":6.300,"cat":"gc","name":"pause",\
"args":{"heap_bytes":40000,"ready_bytes":65536}},
{"ph":"C","pid":77,"tid":1,"ts":6.300,"name":"heap bytes",\
"args":{"in use":40000,"free":25536}},
{"ph":"M","pid":77,"tid":0,"name":"thread_name","args":{"name":"heap"}},
{"ph":"M","pid":77,"tid":0,"name":"thread_sort_index",\
"args":{"sort_index":0}},
{"ph":"B","pid":77,"tid":0,"ts":1.500,"cat":"gc","name":"cycle",\
"args":{"number":1}},
{"ph":"B","pid":77,"tid":0,"ts":1.600,"cat":"gc","name":"marking","args":{}},
{"ph":"E","pid":77,"tid":0,"ts":8.000,"cat":"gc","name":"marking",\
"args":{"marked_words":555}},
{"ph":"B","pid":77,"tid":1,"ts":7.000,"cat":"gc","name":"kind 40","args":{}},
{"ph":"E","pid":77,"tid":1,"ts":8.000,"cat":"gc","name":"kind 40","args":{}},
{"ph":"E","pid":77,"tid":0,"ts":8.000,"cat":"gc","name":"cycle",\
"args":{"cut":true}}
],"otherData":{"start_us":1700000000000000,"events":12,"lost_events":0,\
"unbegun_ends":0,"cut_spans":1}}
"""


class GcTrace(common.Case):
    def check(self, text):
        """The laws; returns the spans as (track, name, begin, end, args)."""
        whole = json.loads(text)
        self.assertEqual(set(whole), {"displayTimeUnit", "traceEvents",
                                      "otherData"})
        self.assertEqual(set(whole["otherData"]),
                         {"start_us", "events", "lost_events", "unbegun_ends",
                          "cut_spans"})
        spans, stacks, last, named = [], {}, {}, set()
        for e in whole["traceEvents"]:
            self.assertIn(e["ph"], PHASES)
            self.assertIsInstance(e["pid"], int)
            self.assertIsInstance(e["tid"], int)
            self.assertIsInstance(e["name"], str)
            self.assertIsInstance(e["args"], dict)
            if e["ph"] == "M":
                self.assertIn(e["name"], ("process_name", "thread_name",
                                          "thread_sort_index"))
                named.add((e["tid"], e["name"]))
                continue
            tid, ts = e["tid"], e["ts"]
            self.assertIn((tid, "thread_name"), named)
            self.assertIsInstance(ts, (int, float))
            self.assertGreaterEqual(ts, 0)
            self.assertGreaterEqual(ts, last.get(tid, 0))
            last[tid] = ts
            for value in e["args"].values():
                self.assertIsInstance(value, int)
            stack = stacks.setdefault(tid, [])
            if e["ph"] == "B":
                stack.append(e)
            elif e["ph"] == "E":
                begin = stack.pop()
                self.assertEqual(begin["name"], e["name"])
                spans.append((tid, e["name"], begin["ts"], ts, e["args"]))
            elif e["ph"] == "i":
                self.assertEqual(e["s"], "t")
            else:
                self.assertEqual(e["name"], "heap bytes")
        self.assertTrue(all(not s for s in stacks.values()))
        return spans, whole

    def test_golden(self):
        path = self.write("made.gct", MADE)
        self.assertEqual(self.ok("gc-trace", path), GOLDEN)
        self.check(GOLDEN)
        out = os.path.join(self.dir, "out.json")
        self.assertEqual(self.ok("gc-trace", "-o", out, path), "")
        with open(out) as f:
            self.assertEqual(f.read(), GOLDEN)
        again = common.run("gc-trace", "-o", out, path)
        self.assertEqual(again.returncode, 2)
        self.assertIn("exists; -f overwrites it", again.stderr)
        self.ok("gc-trace", "-f", "--output=" + out, path)
        own = common.run("gc-trace", "-f", "-o", path, path)
        self.assertEqual(own.returncode, 2)
        self.assertIn("the recording itself", own.stderr)
        stdin = common.run("gc-trace", "-", stdin=MADE)
        self.assertEqual(stdin.stdout, GOLDEN)

    def test_loss_and_edges_are_cut(self):
        path = self.write("cut.gct", header()
                          + chunk(1, [(2000, MINOR, END, 3),
                                      (2100, PAUSE, BEGIN),
                                      (2200, STOP, BEGIN),
                                      (2300, MINOR, BEGIN)])
                          + chunk(1, [(3000, SLICE, BEGIN),
                                      (3100, SLICE, END)], lost=9)
                          + chunk(1, [(4000, PAUSE, BEGIN),
                                      (4100, MINOR, BEGIN),
                                      (4200, PAUSE, END)])
                          + chunk(1, [], start=5000, lost=2))
        spans, whole = self.check(self.ok("gc-trace", path))
        self.assertEqual(whole["otherData"],
                         {"start_us": 1700000000000000, "events": 9,
                          "lost_events": 11, "unbegun_ends": 1,
                          "cut_spans": 4})
        self.assertEqual([s[1] for s in spans if s[4] == {"cut": True}],
                         ["minor", "stop", "pause", "minor"])
        text = self.ok("gc-trace", "--summary", path)
        self.assertIn("11 were lost, as buffers were full", text)
        self.assertIn("1 ends have no beginning", text)
        self.assertIn("4 spans have no end", text)

    def test_summary(self):
        rng = random.Random(3)
        ns, events, lengths = 10_000, [], []
        for _ in range(1000):
            length = int(rng.lognormvariate(9, 2)) + 1
            lengths.append(length)
            events += [(ns, PAUSE, BEGIN), (ns, MINOR, BEGIN, 10, 1),
                       (ns + length, MINOR, END, 5),
                       (ns + length, PAUSE, END, 1 << 20, 3 << 20)]
            ns += length + 1000
        path = self.write("p.gct", header() + chunk(1, events))
        text = self.ok("gc-trace", "--summary", path)
        lengths.sort()

        def said(duration):
            value, unit = duration.split()
            return float(value) * {"ns": 1, "µs": 1e3, "ms": 1e6,
                                   "s": 1e9}[unit]

        for name in ("pause", "minor"):
            row = re.search(r"^%s +1000 +(.*)$" % name, text, re.M).group(1)
            cells = re.findall(r"[\d.]+ (?:ns|µs|ms|s)\b", row)
            wanted = [sum(lengths)] + [
                lengths[math.ceil(1000 * p / 100) - 1]
                for p in (50, 90, 99, 99.9, 100)]
            self.assertEqual(len(cells), len(wanted))
            for cell, value in zip(cells, wanted):
                self.assertLessEqual(abs(said(cell) / value - 1), 0.006, cell)
        self.assertIn("5000 words, 5 a minor collection", text)
        self.assertIn("1 MiB in use at most, of 3 MiB", text)
        ran = 1 - sum(lengths) / (events[-1][0] - events[0][0])
        self.assertIn("ran %.1f%% of the time" % (100 * ran), text)

    def bad(self, data, part, verb=("gc-trace",)):
        path = self.write("bad.gct", data)
        result = common.run(*verb, path)
        self.assertEqual(result.returncode, 3, part)
        self.assertIn(part, result.stderr)
        self.assertIn("bad.gct", result.stderr)
        return result.stdout

    def test_bad_input(self):
        self.bad(b"", "it is empty")
        self.bad(b"hello, this is none\n" * 10,
                 "is not a readable recording of a collector: it does not begin"
                 " as one; one is made with ALIQUOT_GC_TRACE=FILE")
        self.bad(MADE[:20], "it ends within its header")
        self.bad(b"ALIQGCT1" + struct.pack("<IIQQ", 33, 1, 2, 3),
                 "a length that this version does not know")
        self.bad(b"\x1f\x8bmore of it", "gzip data is damaged")
        missing = common.run("gc-trace", os.path.join(self.dir, "missing"))
        self.assertEqual(missing.returncode, 3)
        self.assertIn("No such file", missing.stderr)
        self.assertIn("is a directory",
                      common.run("gc-trace", self.dir).stderr)
        self.assertEqual(common.run("gc-trace").returncode, 2)
        ok = chunk(1, PAUSES)
        for data, part in (
                (b"ALQH" + ok[4:], "no chunk begins here"),
                (ok[:-3], "the file ends within a chunk"),
                (ok[:10], "within a chunk's header"),
                (b"ALQG" + struct.pack("<IIIQ", 1, 65537, 0, 0),
                 "longer than it may be"),
                (chunk(4096, PAUSES), "a domain that cannot be"),
                (chunk(1, [(9, PAUSE, 3)]), "neither a beginning"),
                (chunk(1, [(9, PAUSE, 0, 1, 2, 3)]), "more values"),
                (ok + ok, "before its domain's last one ended"),
                (chunk(1, [(9, MINOR, BEGIN)] * 33), "lie in each other")):
            out = self.bad(header() + chunk(2, PAUSES) + data, part)
            spans, _ = self.check(out)  # what came before is there
            self.assertGreaterEqual(len(spans), 3)
            self.bad(header() + chunk(2, PAUSES) + data, part,
                     ("gc-trace", "--summary"))

    def test_hostile_input(self):
        """Each length and many changed bytes: an end with a status, and JSON
        that keeps the laws."""
        rng = random.Random(4)
        n_bad = 0
        data = [MADE[:n] for n in range(len(MADE))]
        for _ in range(300):
            changed = bytearray(MADE)
            for _ in range(rng.randrange(1, 4)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            data.append(bytes(changed))
        for one in data:
            result = common.run("gc-trace", self.write("h.gct", one))
            self.assertIn(result.returncode, (0, 3))
            n_bad += result.returncode == 3
            if result.stdout:
                self.check(result.stdout)
        self.assertGreater(n_bad, 100)

    def record(self, *args, name="run.gct", status=0):
        path = os.path.join(self.dir, name)
        run = subprocess.run([PROGRAM, *map(str, args)], capture_output=True,
                             env={**common.ENV, "ALIQUOT_GC_TRACE": path})
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(run.stderr, b"")
        return path, [int(n) for n in run.stdout.split()]

    def test_a_program(self):
        """The recording agrees with the program's own histogram."""
        path, (count, sum_ns, max_ns) = self.record(1, 300000)
        spans, whole = self.check(self.ok("gc-trace", path))
        self.assertEqual(whole["otherData"]["lost_events"], 0)
        # Those after the numbers were printed: the drop's.  Before the
        # recording began there was none.
        pauses = [s for s in spans if s[1] == "pause"][:count]
        self.assertEqual(len(pauses), count)
        self.assertEqual(round(sum(s[3] - s[2] for s in pauses) * 1000),
                         sum_ns)
        self.assertEqual(round(max(s[3] - s[2] for s in pauses) * 1000),
                         max_ns)
        for name in ("minor", "slice", "major", "stop", "marking", "sweeping",
                     "cycle"):
            self.assertIn(name, [s[1] for s in spans])
        names = [e["name"] for e in whole["traceEvents"] if e["ph"] == "i"]
        self.assertIn("heap grows", names)
        self.assertIn("heap ends", names)
        self.assertIn("domain ends", names)
        text = self.ok("gc-trace", "--summary", path)
        self.assertRegex(text, r"(?m)^domain 0 +paused .* of the time$")

    def test_several_domains(self):
        path, (count, _, _) = self.record(4, 60000)
        spans, whole = self.check(self.ok("gc-trace", path))
        self.assertEqual(whole["otherData"]["lost_events"], 0)
        tracks = {s[0] for s in spans}
        self.assertLessEqual({0, 1}, tracks)
        self.assertGreaterEqual(len(tracks), 3)
        pauses = [s for s in spans if s[1] == "pause"]
        self.assertGreaterEqual(len(pauses), count)
        # A pause of a domain holds all else that it did.
        for track in tracks - {0}:
            own = [s for s in spans if s[0] == track]
            outer = [s for s in own if s[1] == "pause"]
            for s in own:
                self.assertTrue(any(p[2] <= s[2] and s[3] <= p[3]
                                    for p in outer), s)

    def test_ends(self):
        path, _ = self.record(1, 300000, "exit", name="exit.gct")
        spans, whole = self.check(self.ok("gc-trace", path))
        self.assertIn("major", [s[1] for s in spans])
        path, _ = self.record(1, 3000000, "kill", name="kill.gct",
                              status=-signal.SIGKILL)
        spans, whole = self.check(self.ok("gc-trace", path))
        self.assertGreater(len(spans), 100)

    def test_the_environment(self):
        path, _ = self.record(1, 1000, name="of-%p.gct")
        self.assertFalse(os.path.exists(path))
        made, = os.listdir(self.dir)
        self.assertRegex(made, r"^of-\d+\.gct$")
        for where, part in (
                (os.path.join(self.dir, made), "File exists"),
                ("/nowhere/x.gct", "No such file"),
                ("x" * 5000, "too long")):
            run = subprocess.run(
                [PROGRAM, "1", "1000"], capture_output=True,
                env={**common.ENV, "ALIQUOT_GC_TRACE": where})
            self.assertEqual(run.returncode, 0)
            self.assertRegex(run.stderr.decode(),
                             r"^aliquot: ALIQUOT_GC_TRACE=.*: .*%s.*; the "
                             r"collector is not recorded\n$" % part)


if __name__ == "__main__":
    common.main()
