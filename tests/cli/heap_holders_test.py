"""Who holds the live blocks of a managed heap: what a recorded program's trace tells,
and the snapshot that a trace has beside it."""
import json
import os
import re
import shutil
import subprocess
import unittest
import urllib.request

import common

PROGRAM = os.environ["HOLDERS_PROGRAM"]
IS_SANITIZED = os.environ.get("SANITIZED") == "1"
IS_HARD = os.environ.get("CHECKS") == "3"  # it collects at every step
PAIRS, PLACES, ENTRIES, KINDS, GARBAGE = 100, 10, 10, 40, 30
FILE = os.path.basename(PROGRAM)
LIST, TABLE, DEEP = (f"global {name} ({FILE})" for name in ("list", "table", "deep"))


class Case(common.Case):
    def path(self, name):
        return os.path.join(self.dir, name)

    def program(self, end, env):
        result = subprocess.run([PROGRAM, end], cwd=self.dir, capture_output=True,
                                env={**common.ENV, **env}, timeout=common.PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.decode()

    def traced(self, end, **env):
        return self.program(end, {"MEMTRACE": "t.ctf", "MEMTRACE_RATE": "1",
                                  "MEMTRACE_HOLDERS": "1", **env})

    def ways(self, report):
        """Blocks by what holds them."""
        return {tuple((step["name"], step["most"]) for step in row["way"]):
                row["live_objects"] for row in report["holders"] if row["way"]}

    def variables_hold(self, report):
        ways = self.ways(report)
        self.assertEqual(ways[(LIST, 1),], 1)
        self.assertEqual(ways[(LIST, 1), ("pair", PAIRS - 1)], PAIRS - 1)
        table = ((TABLE, 1), ("table of entries", 1))
        self.assertEqual(ways[table[:1]], 1)
        self.assertEqual(ways[table], PLACES)
        # each entry that is not the first of its place, and each string
        self.assertEqual(ways[(*table, ("entry", ENTRIES))],
                         PLACES * (ENTRIES - 1) + PLACES * ENTRIES)

    def long_ways_are_cut(self, report):
        deep = {way: n for way, n in self.ways(report).items() if way[0][0] == DEEP}
        self.assertEqual(sum(deep.values()), KINDS)
        longest = max(deep, key=len)
        self.assertEqual([name for name, _ in longest],
                         [DEEP, *(f"kind {i}" for i in range(31)), "further blocks"])
        self.assertEqual(longest[-1], ("further blocks", KINDS - 32))
        self.assertEqual(deep[longest], KINDS - 32)

    def frames_hold(self, report, *functions):
        """One block each; what a variable leads to is the variable's."""
        frames = {way: n for way, n in self.ways(report).items()
                  if way[0][0].startswith("frame ")}
        self.assertLessEqual(set(frames.values()), {1})
        names = sorted(way[0][0].split(" ")[1].split(":")[0] for way in frames)
        self.assertEqual(names, sorted(functions))
        self.assertLessEqual({len(way) for way in frames}, {1})

    def all_were_looked_at(self, report, n_frames):
        n_held = PAIRS + KINDS + 1 + 2 * PLACES * ENTRIES + n_frames
        self.assertEqual(report["held_objects"], n_held)
        self.assertEqual(report["unknown_objects"], 0)
        self.assertEqual(report["possible_objects"], 0)
        return report["lost_objects"]


@unittest.skipIf(IS_SANITIZED, "the preload does not go with sanitizers")
class Record(Case):
    def record(self, end, *args):
        """The heap's trace as the report's JSON has it."""
        result = subprocess.run(
            [common.BIN, "record", "--leaks", "--exact", *args, "-o", "out.ctf",
             PROGRAM, end], cwd=self.dir, env=common.ENV, capture_output=True,
            timeout=common.PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.said = result.stderr.decode()
        self.assertEqual(sorted(os.listdir(self.dir)), ["out.ctf", "out.heap.ctf"])
        self.assertRegex(self.ok("check", self.path("out.heap.ctf")), "no findings")
        return json.loads(self.ok("report", "--json", "--leaks", "--top=0",
                                  self.path("out.heap.ctf")))

    def test_at_exit(self):
        report = self.record("exit")
        self.variables_hold(report)
        self.long_ways_are_cut(report)
        self.frames_hold(report, "work", "other")
        n_lost = self.all_were_looked_at(report, 2)
        self.assertIn(n_lost, range(GARBAGE + 1) if IS_HARD else [GARBAGE])

    def test_when_the_trace_is_stopped(self):
        report = self.record("stop")
        self.variables_hold(report)
        self.frames_hold(report, "work", "other")
        self.all_were_looked_at(report, 2)

    def test_when_the_heap_ends(self):
        report = self.record("drop")
        self.variables_hold(report)
        self.frames_hold(report)
        self.all_were_looked_at(report, 0)

    def test_the_page_names_holders(self):
        self.record("exit")
        text = self.ok("report", "--leaks", self.path("out.heap.ctf"))
        self.assertRegex(text, rf"global table \({FILE}\) → table of entries → "
                         r"entry ×10\n")
        self.assertRegex(text, r"by what led to it when the trace ended\n")
        self.assertRegex(text, r"lost +no root leads to them: garbage\n")
        self.assertRegex(text, r"held +roots lead to them\n")

    def test_of_a_long_way_both_ends_are_shown(self):
        self.record("exit")
        text = self.ok("report", "--leaks", "--top=0", self.path("out.heap.ctf"))
        rows = [line for line in text.splitlines() if f" {DEEP}" in line]
        self.assertEqual(len(set(rows)), len(rows))
        for i in range(31):
            self.assertEqual(sum(row.endswith(f" → kind {i}") for row in rows), 1, i)
        self.assertEqual(sum(row.endswith(" → further blocks ×8") for row in rows), 1)
        self.assertRegex(text, rf"{re.escape(DEEP)} → … →( kind \d+ →)+ kind 30\n")

    def test_without_leaks_nobody_looks(self):
        subprocess.run([common.BIN, "record", "--exact", "-o", "out.ctf", PROGRAM,
                        "exit"], cwd=self.dir, env=common.ENV, check=True,
                       capture_output=True, timeout=common.PATIENCE_S)
        report = json.loads(self.ok("report", "--json", "--leaks",
                                    self.path("out.heap.ctf")))
        self.assertNotIn("holders", report)

    def test_a_thread_without_a_domain_says_why_not(self):
        report = self.record("thread")
        self.assertIn("runs no domain", self.said)
        self.assertNotIn("holders", report)


class Environment(Case):
    def test_the_snapshot_lies_beside_the_trace(self):
        for end in ("exit", "stop", "drop"):
            self.assertEqual(self.traced(end), "")
            self.assertEqual(sorted(os.listdir(self.dir)), ["t.ctf", "t.ctf.heap"])
            self.assertRegex(self.ok("check", self.path("t.ctf")), "no findings")
            self.assertEqual(os.stat(self.path("t.ctf.heap")).st_mode & 0o777, 0o600)
            page = json.loads(self.ok("heap", "--json", self.path("t.ctf.heap")))
            roots = {row["root"] for row in page["holders"]}
            self.assertLessEqual({LIST, TABLE, DEEP}, roots)
            self.assertEqual(page["by_copy"], end != "drop" and not IS_SANITIZED)
            os.unlink(self.path("t.ctf.heap"))

    def report(self, name, *args):
        return json.loads(self.ok("report", "--json", "--leaks", "--top=0", *args,
                                  self.path(name)))

    def test_the_report_reads_the_snapshot(self):
        for version in ("2", "3"):
            for end, frames in (("exit", ["work", "other"]), ("stop", ["work", "other"]),
                                ("drop", [])):
                self.traced(end, MEMTRACE_FORMAT=version)
                report = self.report("t.ctf")
                self.variables_hold(report)
                self.long_ways_are_cut(report)
                self.frames_hold(report, *frames)
                self.all_were_looked_at(report, len(frames))

    def test_others_read_it_too(self):
        self.traced("exit")
        whole = self.report("t.ctf")
        held = self.report("t.ctf", "--filter=reach=held")
        self.assertEqual(held["live_objects"], whole["held_objects"])
        self.assertEqual(self.ways(held), self.ways(whole))
        plain = json.loads(self.ok("report", "--json", self.path("t.ctf")))
        self.assertNotIn("held_objects", plain)  # it costs, and nobody asked
        filtered = json.loads(self.ok("report", "--json", "--filter=reach=lost",
                                      self.path("t.ctf")))
        self.assertEqual(filtered["live_objects"], whole["lost_objects"])
        page = self.ok("export", "-o", self.path("t.html"), self.path("t.ctf"))
        self.assertEqual(page, "")
        self.assertIn("table of entries", self.view("t.ctf"))

    def view(self, name):
        """The answer `held` of the viewer, which has the ways of the report."""
        whole = self.report(name)
        with subprocess.Popen([common.BIN, "view", "--no-open", self.path(name)],
                              stdout=subprocess.PIPE, text=True,
                              env=common.ENV) as server:
            url = server.stdout.readline().strip() + "api/held?limit=1000"
            with urllib.request.urlopen(url, timeout=common.PATIENCE_S) as reply:
                text = reply.read().decode()
            server.terminate()
        ways = {tuple((s["name"], s["most"]) for s in reversed(row["way"])):
                row["sum"]["blocks"] for row in json.loads(text)["rows"]}
        self.assertEqual(ways, self.ways(whole) if "holders" in whole else {})
        return text

    def test_an_index_is_of_both_files(self):
        self.traced("exit")
        os.rename(self.path("t.ctf.heap"), self.path("away"))
        self.view("t.ctf")
        self.assertIn("t.ctf.aliquot-index", os.listdir(self.dir))
        os.rename(self.path("away"), self.path("t.ctf.heap"))
        self.assertIn("table of entries", self.view("t.ctf"))

    def test_traces_that_are_merged(self):
        for name in ("a", "b"):
            self.traced("exit")
            os.mkdir(self.path(name))
            for file in ("t.ctf", "t.ctf.heap"):
                os.rename(self.path(file), self.path(os.path.join(name, file)))
        one = self.report("a/t.ctf")
        directory = common.run("report", "--leaks", self.path("a"))
        self.assertEqual(directory.stderr, "")
        self.assertIn("by holder", directory.stdout)
        merge = common.run("merge", "-o", self.path("m.ctf"), self.path("a/t.ctf"),
                           self.path("b/t.ctf"))
        self.assertEqual(merge.returncode, 0)
        self.assertNotIn("not known", merge.stderr)
        self.assertRegex(self.ok("check", self.path("m.ctf")), "no findings")
        merged = self.report("m.ctf")
        self.assertEqual({way: 2 * n for way, n in self.ways(one).items()},
                         self.ways(merged))
        self.assertEqual(merged["lost_objects"], one["lost_objects"] +
                         self.report("b/t.ctf")["lost_objects"])

    def refused(self, *words):
        report = common.run("report", "--leaks", self.path("t.ctf"))
        self.assertEqual(report.returncode, 0)
        self.assertNotIn("by holder", report.stdout)
        said = report.stdout + report.stderr
        info = self.ok("info", self.path("t.ctf"))
        for word in words:
            self.assertRegex(said, "! who holds the blocks is not known: .*" + word)
            self.assertRegex(info, "snapshot  .*" + word)

    def test_files_that_are_not_its_snapshot(self):
        self.traced("exit")
        self.assertRegex(self.ok("info", self.path("t.ctf")), r"snapshot  .*t.ctf.heap\n")
        os.rename(self.path("t.ctf"), self.path("first.ctf"))
        os.rename(self.path("t.ctf.heap"), self.path("first.heap"))
        self.traced("exit")
        os.rename(self.path("t.ctf.heap"), self.path("second.heap"))
        self.refused("t.ctf.heap, the snapshot that belongs to the trace: No such file")
        shutil.copy(self.path("first.heap"), self.path("t.ctf.heap"))
        self.refused("t.ctf.heap is a snapshot of another trace: of process", "this one")
        self.write("t.ctf.heap", b"nothing of the kind")
        self.refused("t.ctf.heap is no heap snapshot")
        os.unlink(self.path("t.ctf.heap"))
        os.mkfifo(self.path("t.ctf.heap"))
        self.refused("t.ctf.heap is no regular file")
        os.unlink(self.path("t.ctf.heap"))
        with open(self.path("second.heap"), "rb") as file:
            self.write("t.ctf.heap", file.read()[:-20])
        report = common.run("report", "--leaks", self.path("t.ctf"))
        self.assertRegex(report.stdout, "! who holds .*t.ctf.heap is not whole")
        self.assertEqual(report.returncode, 0)

    def test_both_are_renamed(self):
        self.traced("exit")
        os.rename(self.path("t.ctf"), self.path("u.ctf"))
        self.variables_hold(self.report("u.ctf"))  # by the name that the trace has
        os.rename(self.path("t.ctf.heap"), self.path("u.ctf.heap"))
        self.variables_hold(self.report("u.ctf"))

    def test_a_thread_without_a_domain_says_why_not(self):
        said = self.traced("thread")
        self.assertEqual(
            said, "aliquot: t.ctf: who holds its blocks is not known: the thread that "
            "ended it runs no domain, and only one that does can take a snapshot of the "
            "heap\n")
        self.assertEqual(os.listdir(self.dir), ["t.ctf"])

    def test_other_values_are_refused(self):
        said = subprocess.run([PROGRAM, "drop"], cwd=self.dir, capture_output=True,
                              env={**common.ENV, "MEMTRACE": "t.ctf",
                                   "MEMTRACE_HOLDERS": "maybe"}).stderr
        self.assertIn(b"MEMTRACE_HOLDERS=maybe: neither 0 nor 1; the heap is not "
                      b"traced\n", said)
        self.assertEqual(os.listdir(self.dir), [])


if __name__ == "__main__":
    common.main()
