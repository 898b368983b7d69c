"""Leaks in the viewer: sites that grow steadily, with figures that are the same
in the report, in the viewer, and by integrals of the blocks of `aliquot
script`; and suppressions, as in the report."""
import math
import os
import re
import subprocess
import unittest

import view
from view import common

GROWTH_TRACE = os.environ["GROWTH_TRACE"]
STEADY = {"leaks", "frees_late"}
ALL = STEADY | {"starts", "stops", "churns", "saws", "big"}
KEYS = ("growth_bytes_per_minute", "growth_bytes_per_minute_stderr")


def slope(rows, end_us):
    """Bytes a minute and a standard error, of the last three quarters."""
    cell = (end_us - end_us // 4) // 32
    first, length = end_us - 32 * cell, 32 * cell
    middle = first + length / 2
    bytes_, variance = 0, 0
    for r in rows:
        b = max(first, r.born)
        e = end_us if r.end is None else min(end_us, r.end)
        if e <= b:
            continue
        moment = (e * e - b * b) / 2 - middle * (e - b)
        s = 12 / length ** 3 * moment * r.size / r.p
        bytes_ += s
        variance += s * s * (1 - r.p)
    return bytes_ * 60e6, math.sqrt(variance) * 60e6


class Growth(view.Case):
    def grown(self, kind):
        path = os.path.join(self.dir, kind + ".ctf")
        subprocess.run([GROWTH_TRACE, path, kind], check=True)
        return path

    def leaks(self, path, *more):
        return self.json("--leaks", "--top=0", *more, path)

    def check_figures(self, path, opinion, report, f):
        """Against the script's blocks: of functions that are sites by
        themselves."""
        for site in report["sites"]:
            rows = [r for r in opinion.rows if opinion.passes(r, f) and
                    r.stack[-1][:2] == (site["function"], site["file"])]
            wanted = slope(rows, opinion.end)
            for key, value in zip(KEYS, wanted):
                self.near(site[key], value, (key, site["function"]))

    def check_viewer(self, server, report, query, group="function"):
        """The viewer's rows are the report's steady ones, in order."""
        got = server.ask("growth", "live=end&group=%s&%s" % (group, query))
        steady = sorted((s for s in report["sites"] if s["growth_is_steady"]),
                        key=lambda s: -s[KEYS[0]])
        self.assertEqual(got["from_us"], report["growth_from_us"])
        self.assertEqual(got["rest"], 0)
        self.assertEqual(
            [(r["bytes_per_minute"], r["bytes_per_minute_se"],
              r["sum"]["bytes"], r["sum"]["n"]) for r in got["rows"]],
            [(s[KEYS[0]], s[KEYS[1]], s["live_bytes"],
              s["live_sampled_blocks"]) for s in steady], (group, query))
        return [got["functions"][r["function"]]["name"] for r in got["rows"]]

    def check_trace(self, kind):
        path = self.grown(kind)
        opinion = self.opinion(path)
        report = self.leaks(path)
        self.assertEqual({s["function"] for s in report["sites"]}, ALL)
        self.assertEqual({s["function"] for s in report["sites"]
                          if s["growth_is_steady"]}, STEADY)
        self.check_figures(path, opinion, report, {})
        with view.Server("--no-index", path) as server:
            self.assertEqual(set(self.check_viewer(server, report, "")), STEADY)
            for group in ("line", "file", "module"):
                self.check_viewer(server, self.leaks(path, "-g", group), "",
                                  group)
            for f in ({"in_": ["work"]}, {"size": "..600"},
                      {"size": "500..", "notin": ["starts"]}):
                query = view.query(**f)
                report = self.leaks(path, "--filter=" + query)
                self.check_figures(path, opinion, report, f)
                self.check_viewer(server, report, query)
            query = "freed=..50000000&alloc=90000000.." # of time: no matter
            self.assertEqual(set(self.check_viewer(
                server, self.leaks(path, "--filter=" + query), query)), STEADY)
            names = server.ask("growth", "q=late")
            self.assertEqual([f["name"] for f in names["functions"]],
                             ["frees_late"])
            self.assertEqual(server.ask("growth", "limit=1")["rest"], 1)

    def test_sampled(self):
        self.check_trace("sampled")

    def test_exact(self):
        self.check_trace("exact")

    def test_any_trace(self):
        """The figures, whatever the trace; heaps, threads and moves, too."""
        for keys in ({"heap": 1, "domains": 3}, {"moved": 300, "threads": 3},
                     {"exact": 1}, {"rates": 3}):
            path = self.view_trace(events=view.much(30000), stacks=60,
                                   functions=30, **keys)
            report = self.leaks(path)
            with view.Server("--no-index", path) as server:
                self.check_viewer(server, report, "")
            self.assertTrue(any(s[KEYS[0]] != 0 for s in report["sites"]))

    def section(self, text):
        lines = text.splitlines()
        at = [i for i, line in enumerate(lines)
              if line.startswith("GROWS STEADILY")]
        return lines[at[0]:lines.index("", at[0])] if at else None

    def test_what_is_printed(self):
        wide = {"COLUMNS": "120"}
        path = self.grown("sampled")
        lines = self.section(self.ok("report", "--leaks", path, env=wide))
        self.assertEqual(lines[0], "GROWS STEADILY by function, from 25.0 s on")
        self.assertEqual(len(lines), 4)
        row = re.fullmatch(
            r" +([\d.]+) MiB/min ± ([\d.]+) +[\d.]+ MiB  leaks.*", lines[2])
        site = next(s for s in self.leaks(path)["sites"]
                    if s["function"] == "leaks")
        for text, key in zip(row.groups(), KEYS):
            self.assertAlmostEqual(float(text), site[key] / 2 ** 20,
                                   delta=0.051)
        lines = self.section(self.ok("report", "--leaks", "--top=1",
                                     self.grown("exact"), env=wide))
        self.assertRegex(lines[2], r"^ +[\d.]+ KiB/min +[\d.]+ KiB  leaks")
        self.assertEqual(lines[3], "   1 more (--top=0 shows all)")
        rules = self.write("rules", b"leak:leaks\nleak:frees_late\n")
        lines = self.section(self.ok("report", "--leaks", path,
                                     "--suppressions=" + rules))
        self.assertEqual(lines[2:], ["   nothing"])

    def test_where_it_is_not(self):
        path = self.grown("sampled")
        for option in ("--live", "--peak", "--allocated"):
            self.assertNotIn("growth_from_us", self.json(option, path))
            self.assertIsNone(self.section(self.ok("report", option, path)))
        path = self.view_trace(threads=3)
        self.assertIn("growth_from_us", self.json("--leaks", path))
        self.assertNotIn("growth_from_us",
                         self.json("--leaks", "--thread=0", path))


class Suppressions(view.Case):
    def setUp(self):
        super().setUp()
        self.paths = []
        for kind in ("sampled", "exact"):
            self.paths.append(os.path.join(self.dir, kind + ".ctf"))
            subprocess.run([GROWTH_TRACE, self.paths[-1], kind], check=True)
        self.rules = self.write("rules", b"leak:^leaks$\nleak:stops\nleak:no\n")
        self.more = self.write("more", b"{\n  the big one\n  Memcheck:Leak\n"
                               b"  fun:malloc\n  fun:big\n  fun:main\n}\n")
        self.options = ["--suppressions=" + self.rules,
                        "--suppressions=" + self.more]

    def check_trace(self, server, t, path):
        report = self.json("--leaks", *self.options, path)
        for query in ("live=end", "freed=never"):
            got = server.ask("sites", "t=%d&%s" % (t, query))
            self.near(got["total"]["bytes"], report["live_bytes"], query)
            self.assertEqual(got["total"]["n"], report["live_sampled_blocks"])
            self.assertEqual(
                {got["functions"][r["function"]]["name"] for r in got["rows"]},
                {"starts", "saws", "churns"})
        for query, measure in (("", "allocated"), ("live=peak", "peak")):
            got = server.ask("sites", "t=%d&%s" % (t, query))
            self.near(got["total"]["bytes"], report[measure + "_bytes"], query)
        got = server.ask("growth", "t=%d&live=end" % t)
        self.assertEqual([f["name"] for f in got["functions"]], ["frees_late"])
        notes = [n for n in server.ask("info")["traces"][t]["notes"]
                 if n.startswith("suppressed: ")]
        self.assertEqual(len(notes), 3)
        for note, rule in zip(notes, (r for r in report["suppressions"]
                                      if r["suppressed_objects"] > 0)):
            self.assertIn("by %s (%s:%d)" % (rule["name"], rule["file"],
                                             rule["line"]), note)
            number, unit = re.match(r"suppressed: ([\d.]+) ([KM])iB",
                                    note).groups()
            bytes_ = float(number) * 2 ** {"K": 10, "M": 20}[unit]
            self.assertAlmostEqual(bytes_ / rule["suppressed_bytes"], 1,
                                   delta=0.006)

    def test_leaks_are_the_report_s(self):
        """Of two traces, with an index beside one that knows no rules."""
        with view.Server(self.paths[0]) as server:
            all_ = server.ask("sites", "live=end")["total"]
        before = sorted(os.listdir(self.dir))
        with view.Server(*self.options, *self.paths) as server:
            for t, path in enumerate(self.paths):
                self.check_trace(server, t, path)
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        with view.Server(self.paths[0]) as server:
            self.assertEqual(server.ask("sites", "live=end")["total"], all_)

    def test_wrong_files(self):
        wrong = self.write("wrong", b"race:x\n")
        result = common.run("view", "--no-open", "--suppressions=" + wrong,
                            self.paths[0])
        self.assertEqual(result.returncode, 2)
        self.assertIn("view: %s:1: 'race:x': neither leak:" % wrong,
                      result.stderr)


if __name__ == "__main__":
    unittest.main()
