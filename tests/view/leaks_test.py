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


CLASSES = ("lost", "indirect", "possible", "held", "unknown")


def class_figures(report, name):
    """What the report says of a class, as the viewer's sums have it."""
    f = {k: report["%s_%s" % (name, k)] for k in (
        "bytes", "bytes_stderr", "bytes_low", "bytes_high", "objects",
        "objects_stderr", "objects_low", "objects_high", "samples",
        "sampled_blocks")}
    return (f["bytes"], f["bytes_stderr"], [f["bytes_low"], f["bytes_high"]],
            f["objects"], f["objects_stderr"],
            [f["objects_low"], f["objects_high"]], f["samples"],
            f["sampled_blocks"])


def sum_figures(s):
    return (s["bytes"], s["bytes_se"], s["bytes_range"], s["blocks"],
            s["blocks_se"], s["blocks_range"], s["samples"], s["n"])


def of_classes(answer):
    return {c: sum_figures(s) for c, s in answer["reach"].items()}


def classes_of(report, is_site=False):
    return {c: class_figures(report, c) for c in CLASSES
            if not is_site or report[c + "_objects"] > 0}


class Reach(view.Case):
    """Classes of what was never freed: each figure is the report's."""

    def check(self, server, path, query="", group="function", more=()):
        report = self.json("--leaks", "--top=0", "-g", group,
                           *(["--filter=" + query] if query else []), *more,
                           path)
        got = server.ask("reach", "group=%s&%s" % (group, query))
        self.assertEqual(of_classes(got), classes_of(report), query)
        wanted = {(s["function"], s["line"] if group == "line" else 0,
                   s["is_mapping"]): classes_of(s, True)
                  for s in report["sites"] if classes_of(s, True)}
        self.assertEqual(
            {(got["functions"][r["function"]]["name"], r["line"],
              r.get("is_mapping", False)): of_classes(r)
             for r in got["rows"]}, wanted, query)
        for key in ("bytes", "blocks", "n"):
            for of in [got] + got["rows"]:
                self.near(sum(s[key] for s in of["reach"].values()),
                          of["total" if of is got else "sum"][key],
                          (query, key), 3)
        return got

    def near(self, a, b, what, far=1):
        """Whole numbers that were rounded one by one."""
        self.assertLessEqual(abs(a - b), far, (what, a, b))

    def test_figures(self):
        for keys in ({}, {"exact": 1}, {"heap": 1, "domains": 3},
                     {"moved": 300, "threads": 3, "rates": 3}):
            path = self.view_trace(events=view.much(30000), stacks=60,
                                   functions=30, reach=1, never=100, **keys)
            with view.Server("--no-index", path) as server:
                info, = server.ask("info")["traces"]
                self.assertEqual(info["looked"], "end")
                got = self.check(server, path)
                self.assertEqual(set(got["reach"]), set(CLASSES))
                total = server.ask("sites", "live=end")["total"]
                self.assertEqual(got["total"], total)
                self.check(server, path, group="line")
                for query in ("reach=lost", "reach=held,unknown&size=100..",
                              "live=end&in=f1", "live=peak", "freed=..50000"):
                    self.check(server, path, query)

    def test_order(self):
        path = self.view_trace(events=view.much(30000), stacks=60,
                               functions=30, reach=2, never=100)
        with view.Server("--no-index", path) as server:
            info, = server.ask("info")["traces"]
            self.assertEqual(info["looked"], "exit")
            for by in ("bytes", "blocks"):
                for sort in ("", "indirect", "-possible", "unknown"):
                    rows = server.ask("reach", "by=%s%s" % (
                        by, sort and "&sort=" + sort))["rows"]
                    name = sort.lstrip("-") or "lost"
                    values = [r["reach"].get(name, {}).get(by, 0)
                              for r in rows]
                    self.assertEqual(values, sorted(
                        values, reverse=not sort.startswith("-")), sort)
            cut = server.ask("reach", "limit=3")
            whole = server.ask("reach")
            self.assertEqual(cut["rows"], whole["rows"][:3])
            self.assertEqual(cut["rest"]["rows"], len(whole["rows"]) - 3)
            self.near(cut["rest"]["sum"]["bytes"],
                      sum(r["sum"]["bytes"] for r in whole["rows"][3:]),
                      "rest", len(whole["rows"]))
            status, _, body = server.get("api/reach?sort=value")
            self.assertEqual(status, 400)
            self.assertIn(b"one of: lost name indirect", body)

    def test_suppressed(self):
        """Rules take what they take in the report, in all classes."""
        path = self.view_trace(events=view.much(30000), stacks=60,
                               functions=30, reach=1, never=100)
        name = self.json("--leaks", path)["sites"][0]["function"]
        rules = self.write("rules", b"leak:" + name.encode() + b"\n")
        with view.Server("--no-index", "--suppressions=" + rules,
                         path) as server:
            got = self.check(server, path,
                             more=("--suppressions=" + rules,))
        self.assertNotIn(name, [got["functions"][r["function"]]["name"]
                                for r in got["rows"]])

    def test_not_told(self):
        """A trace that no process was looked through for: one class."""
        path = self.view_trace(events=view.much(3000))
        with view.Server("--no-index", path) as server:
            info, = server.ask("info")["traces"]
            self.assertEqual(info["looked"], "")
            self.assertEqual([c for c, s in server.ask("reach")["reach"].items()
                              if s["n"] > 0], ["unknown"])
            self.assertEqual(server.ask("reach", "reach=lost")["rows"], [])


def holders_of(report, group):
    """What holds what: figures of each class and way, and of its sites."""
    return {(row["class"], tuple((s["name"], s["most"]) for s in row["way"])): (
        class_figures(row, "live"),
        {(s["module" if group == "module" else "function"], s["line"],
          s["is_mapping"]): class_figures(s, "live") for s in row["sites"]})
            for row in report["holders"]}


class Held(view.Case):
    """What holds what was never freed: each figure is the report's."""

    def check(self, server, path, query="", group="function", more=()):
        report = self.json("--leaks", "--top=0", "-g", group,
                           *(["--filter=" + query] if query else []), *more, path)
        got = server.ask("held", "group=%s&limit=10000&%s" % (group, query))
        wanted = holders_of(report, group)
        names = got["functions"]
        for row in got["rows"]:
            way = tuple((s["name"], s["most"]) for s in reversed(row["way"]))
            figures, sites = wanted.pop((row["class"], way))
            self.assertEqual(sum_figures(row["sum"]), figures, (query, way))
            self.assertEqual(row["n_sites"], len(sites))
            self.assertEqual(len(row["sites"]), min(3, len(sites)))
            shown = {(names[s["function"]]["module" if group == "module" else "name"],
                      s["line"],
                      s.get("is_mapping", False)): sum_figures(s["sum"])
                     for s in row["sites"]}
            self.assertEqual(shown, {k: sites[k] for k in shown}, (query, way))
            self.assertEqual(
                sorted((s[0] for s in shown.values()), reverse=True),
                sorted((s[0] for s in sites.values()), reverse=True)[:3])
        # what is left in the report has no way, and is one here
        self.assertLessEqual({way for _, way in wanted}, {()})
        self.assertEqual(got["untold"]["n"], sum(f[-1] for f, _ in wanted.values()))
        self.assertEqual(got["rest"]["rows"], 0)
        values = [row["sum"]["bytes"] for row in got["rows"]]
        self.assertEqual(values, sorted(values, reverse=True))
        self.adds_up(report, got)
        return got

    def adds_up(self, report, got):
        """To the classes, which are summed by other code."""
        for name in CLASSES:
            bytes_, _, _, blocks, _, _, samples, n = map(list, zip(*[
                class_figures(row, "live") for row in report["holders"]
                if row["class"] == name])) if any(
                    row["class"] == name for row in report["holders"]) else [[]] * 8
            self.assertEqual(sum(n), report[name + "_sampled_blocks"])
            self.assertEqual(sum(samples), report[name + "_samples"])
            self.assertLessEqual(abs(sum(bytes_) - report[name + "_bytes"]),
                                 len(bytes_))
            self.assertLessEqual(abs(sum(blocks) - report[name + "_objects"]),
                                 len(blocks))
        self.assertEqual(got["total"]["n"], sum(
            report[name + "_sampled_blocks"] for name in CLASSES))

    def made(self, **keys):
        return self.view_trace(events=view.much(30000), stacks=60, functions=30,
                               reach=1, never=100, holders=12, **keys)

    def test_figures(self):
        for keys in ({}, {"exact": 1}, {"heap": 1}, {"moved": 300, "threads": 3,
                                                     "rates": 3}):
            path = self.made(**keys)
            with view.Server("--no-index", path) as server:
                got = self.check(server, path)
                self.assertGreater(len(got["rows"]), 10)
                self.check(server, path, group="line")
                self.check(server, path, group="module")
                for query in ("reach=held", "reach=indirect,unknown&size=100..",
                              "live=end&in=f1", "live=peak"):
                    self.check(server, path, query)
                self.assertEqual(server.ask("held", "reach=lost")["rows"], [])

    def test_an_index_that_is_kept(self):
        path = self.made()
        answers = []
        for option in ("--no-index", "--idle=0", "--idle=0"):
            with view.Server(option, path) as server:
                answers.append(server.ask("held", "limit=10000"))
        self.assertTrue(os.path.exists(path + ".aliquot-index"))
        self.assertEqual(answers[1:], answers[:1] * 2)

    def test_suppressed(self):
        path = self.made()
        name = self.json("--leaks", path)["sites"][0]["function"]
        rules = self.write("rules", b"leak:" + name.encode() + b"\n")
        with view.Server("--no-index", "--suppressions=" + rules,
                         path) as server:
            got = self.check(server, path, more=("--suppressions=" + rules,))
        self.assertNotIn(name, [got["functions"][s["function"]]["name"]
                                for row in got["rows"] for s in row["sites"]])

    def test_order_and_search(self):
        path = self.made()
        with view.Server("--no-index", path) as server:
            whole = server.ask("held", "limit=10000")
            by = server.ask("held", "limit=10000&by=blocks")
            values = [row["sum"]["blocks"] for row in by["rows"]]
            self.assertEqual(values, sorted(values, reverse=True))
            cut = server.ask("held", "limit=3")
            self.assertEqual(cut["rows"], whole["rows"][:3])
            self.assertEqual(cut["rest"]["rows"], len(whole["rows"]) - 3)
            found = server.ask("held", "limit=10000&q=%3Droot%202")["rows"]
            self.assertEqual([row["way"] for row in found], [
                row["way"] for row in whole["rows"] if any(
                    s["name"] == "root 2" for s in row["way"])])
            self.assertTrue(found)
            self.assertEqual(server.ask("held", "q=file:root")["rows"], [])
            site = whole["functions"][whole["rows"][0]["sites"][0]["function"]]
            self.assertIn(whole["rows"][0]["way"], [row["way"] for row in server.ask(
                "held", "limit=10000&q=%3D" + site["name"])["rows"]])

    def test_not_told(self):
        path = self.view_trace(events=view.much(3000), reach=1)
        with view.Server("--no-index", path) as server:
            got = server.ask("held")
            self.assertEqual([got["rows"], got["total"]["n"]], [[], 0])


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
                             ["frees_late", "main"])  # who calls it
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


def group(rows, weight, share=0.05):
    """Stacks by the longest beginning of at least that share, without those
    of longer ones: beginning -> [stacks]; () has the rest."""
    stacks, heads = {}, {}
    for row in rows:
        stack = tuple(view.folded(row))
        stacks[stack] = stacks.get(stack, 0) + weight(row)
    least = share * sum(stacks.values())
    left = {s: [s] for s in stacks}
    for depth in range(max(map(len, stacks), default=0), -1, -1):
        for start in sorted({s[:depth] for s in left if len(s) >= depth}):
            mine = [s for s in left if s[:depth] == start]
            value = sum(stacks[s] for s in mine)
            if mine and (depth == 0 or value >= least * (1 - 1e-9)):
                heads[start] = mine
                for s in mine:
                    del left[s]
    return heads, stacks


class Groups(view.Case):
    """Leaks by the longest call stack in common."""

    def check_parts(self, start, mine, stacks, parts, n_parts):
        wanted = {}
        for s in mine:
            if len(s) > len(start):
                part = s[len(start)]
                wanted[part] = wanted.get(part, 0) + stacks[s]
        self.assertEqual(n_parts, len(wanted))
        self.assertEqual(len(parts), min(4, len(wanted)))
        for part, value in parts:
            self.near(value, wanted[part], (start, part))
        self.assertEqual(sorted((v for _, v in parts), reverse=True),
                         [v for _, v in parts])
        for (_, got), most in zip(parts, sorted(wanted.values(),
                                                reverse=True)):
            self.near(got, most, start)

    def check_report(self, opinion, report, f):
        rows = [r for r in opinion.rows
                if r.end is None and opinion.passes(r, f)]
        heads, stacks = group(rows, lambda r: r.size / r.p)
        self.assertEqual(len(report["leak_groups"]), len(heads))
        for g in report["leak_groups"]:
            start = tuple(map(named, reversed(g["frames"])))
            mine = heads.pop(start)
            self.assertEqual(g["n_stacks"], len(mine))
            self.near(g["live_bytes"], sum(stacks[s] for s in mine), start)
            self.check_parts(start, mine, stacks, [
                (named(p), p["live_bytes"]) for p in g["parts"]], g["n_parts"])
        self.assertEqual(sum(g["live_sampled_blocks"]
                             for g in report["leak_groups"]),
                         report["live_sampled_blocks"])

    def check_viewer(self, server, report, query):
        got = server.ask("groups", "live=end&" + query)
        names = [named(f) for f in got["functions"]]
        self.assertEqual(got["total"]["n"], report["live_sampled_blocks"])
        self.assertEqual(
            [([names[i] for i in reversed(r["path"])], r["stacks"],
              r["sum"]["bytes"], r["sum"]["bytes_se"], r["sum"]["n"],
              [(names[i], v) for i, v in r["parts"]], r["n_parts"])
             for r in got["rows"]],
            [(list(map(named, g["frames"])), g["n_stacks"], g["live_bytes"],
              g["live_bytes_stderr"], g["live_sampled_blocks"],
              [(named(p), p["live_bytes"]) for p in g["parts"]],
              g["n_parts"]) for g in report["leak_groups"]])

    def test_groups(self):
        for keys in ({"seed": 1}, {"seed": 2, "threads": 3, "moved": 200},
                     {"seed": 3, "exact": 1}):
            path = self.view_trace(events=20000, stacks=300, functions=60,
                                   never=100, depth=8, **keys)
            opinion = self.opinion(path)
            with view.Server("--no-index", path) as server:
                for f in ({}, {"size": "100.."}, {"in_": ["f1"]}):
                    query = view.query(**f)
                    report = self.json(
                        "--leaks", *(["--filter=" + query] if f else []), path)
                    self.check_report(opinion, report, f)
                    self.check_viewer(server, report, query)

    def test_by_blocks_and_samples(self):
        path = self.view_trace(events=20000, stacks=300, functions=60,
                               never=100, depth=8)
        rows = [r for r in self.opinion(path).rows if r.end is None]
        with view.Server("--no-index", path) as server:
            for by, weight in (("blocks", lambda r: 1 / r.p),
                               ("samples", lambda r: r.samples)):
                for percent in (1, 20, 100):
                    got = server.ask("groups", "live=end&by=%s&percent=%d" %
                                     (by, percent))
                    heads, _ = group(rows, weight, percent / 100)
                    names = [named(f) for f in got["functions"]]
                    self.assertEqual(
                        {tuple(names[i] for i in r["path"]): r["stacks"]
                         for r in got["rows"]},
                        {start: len(mine) for start, mine in heads.items()})

    def test_what_is_printed(self):
        path = self.view_trace(events=20000, stacks=300, functions=60,
                               never=100, depth=8)
        groups = self.json("--leaks", path)["leak_groups"]
        lines = self.ok("report", "--leaks", path,
                        env={"COLUMNS": "400"}).splitlines()
        at = lines.index("NEVER FREED by the longest call stack in common")
        lines = lines[at + 2:lines.index("", at)]
        for g in groups:
            line = lines.pop(0)
            self.assertRegex(line, r"^ *[\d.]+ [KM]iB .*%% +[\d.]+%% +%d  " %
                             g["n_stacks"])
            names = [f["function"] for f in g["frames"]]
            self.assertTrue(line.endswith("  " + (
                " ← ".join(names) or "others, less in common")), line)
            if names and g["parts"]:
                line = lines.pop(0).strip()
                self.assertTrue(line.startswith("→ "))
                self.assertEqual(
                    re.findall(r"[KM]iB ([^ ,]+)", line),
                    [p["function"] for p in g["parts"]])
                self.assertEqual(re.findall(r", (\d+) more$", line),
                                 [str(g["n_parts"] - 4)]
                                 if g["n_parts"] > 4 else [])
        self.assertEqual(lines, [])


def named(function):
    return function["name" if "name" in function else "function"], \
        function["file"]


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
        self.assertEqual([f["name"] for f in got["functions"]],
                         ["frees_late", "main"])
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
