"""The law: the grand totals of every format equal those of `report --json`.

To add a format, write a function here that takes `export` (call it with
options of `aliquot export`, as export("--peak"); it returns the bytes written)
and returns {key: total} for every key of `report --json` that the format
carries, each summed up from the file itself; then add its row to FORMATS.  A
format that `aliquot export` knows and FORMATS does not fails the test.
Totals are compared as integers, with no tolerance: a writer that rounds shares
its total out with alqi_cli_apportion (src/cli/analysis/apportion.h).  A format whose
unit is coarser than one byte gives its key as (total, unit), and the report's
figure is divided by the unit and rounded."""
import csv
import io
import json
import math
import re

import exported
import index_file
import page_file
import pprof_file as profile
import tables_file
from exported import common

MEASURES = {"allocated": "--allocated", "peak": "--peak", "live": "--live"}


def folded(export):
    totals = {}
    for measure, option in MEASURES.items():
        for weight in ("bytes", "objects", "samples"):
            lines = export(option, "--weight=" + weight).decode().splitlines()
            totals["%s_%s" % (measure, weight)] = sum(
                int(line.rsplit(" ", 1)[1]) for line in lines)
    return totals


def csv_rows(export):
    totals = {}
    for group in ("function", "line", "file", "module"):
        text = export("--group=" + group).decode()
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        again = {"%s_%s" % (measure, unit):
                 sum(int(row["%s_%s" % (measure, unit)]) for row in rows)
                 for measure in ("allocated", "live", "peak", "temporary")
                 for unit in ("bytes", "objects", "samples")}
        if totals and totals != again:
            raise AssertionError("groupings differ", group, totals, again)
        totals = again
    return totals


def pprof(export):
    totals = {}
    for option, measure in (("--live", "live"), ("--peak", "peak")):
        sums = profile.totals(profile.read(export(option)))
        totals["allocated_objects"] = sums["alloc_objects"]
        totals["allocated_bytes"] = sums["alloc_space"]
        totals[measure + "_objects"] = sums["inuse_objects"]
        totals[measure + "_bytes"] = sums["inuse_space"]
    return totals


def speedscope(export):
    profiles = {p["name"]: p for p in json.loads(export())["profiles"]}
    for profile in profiles.values():
        if profile["endValue"] != sum(profile["weights"]):
            raise AssertionError("endValue", profile["name"])
    return {key: sum(profiles[name]["weights"]) for key, name in (
        ("allocated_bytes", "allocated bytes"),
        ("allocated_objects", "allocated blocks"),
        ("live_bytes", "live at end"), ("peak_bytes", "live at peak"),
        ("temporary_bytes", "temporary"))}


def dhat(export):
    points = json.loads(export())["pps"]
    return {key: sum(p[field] for p in points) for key, field in (
        ("allocated_bytes", "tb"), ("allocated_objects", "tbk"),
        ("peak_bytes", "gb"), ("peak_objects", "gbk"),
        ("live_bytes", "eb"), ("live_objects", "ebk"))}


def massif(export):
    totals = {}
    for unit in ("ms", "B"):
        text = export("--time-unit=" + unit).decode()
        snapshots = re.findall(r"^time=(\d+)\nmem_heap_B=(\d+)\n.*\n.*\n"
                               r"heap_tree=(\w+)", text, re.M)
        again = {"live_bytes": int(snapshots[-1][1]),
                 "peak_bytes": max((int(s[1]) for s in snapshots
                                    if s[2] == "peak"), default=0)}
        if totals and totals != again:
            raise AssertionError("units differ", totals, again)
        totals = again
    totals["allocated_bytes"] = int(snapshots[-1][0])
    return totals


def callgrind(export):
    """Self costs: lines of numbers that do not follow a line "calls"."""
    totals = [0] * 5
    before = ""
    for line in export().decode().split("\n"):
        if re.match(r"\d", line) and not before.startswith("calls="):
            totals = [a + int(b) for a, b in zip(totals, line.split()[1:])]
        before = line
    return dict(zip(("allocated_bytes", "allocated_objects", "live_bytes",
                     "live_objects", "peak_bytes"), totals))


def html_summary(export):
    """Of each table of sites; the table of totals has the same."""
    page = page_file.read(export())
    totals = {}
    for section, measure in (("allocated", "allocated"), ("peak", "peak"),
                             ("leaks", "live"), ("temporary", "temporary")):
        for unit in ("bytes", "objects"):
            key = "%s_%s" % (measure, unit)
            totals[key] = sum(page.figures[section, unit])
            if [totals[key]] != page.figures["total-" + measure, unit]:
                raise AssertionError("the page differs from itself", key)
    return totals


def html(export):
    """Of the rows of the index that the page carries and its filter keeps."""
    page = page_file.read(export("--max-samples=0"))
    app, = [div for div in page.all("div") if div.get("id") == "app"]
    least_us = re.search(r"\blife=(\d+)\.\.", app["data-filter"])
    least_us = int(least_us.group(1)) if least_us else 0
    rows = [row for row in index_file.read(page_file.carried(page, "index"))
            if row["life"] >= least_us]
    return {"%s_%s" % (measure, unit): round(math.fsum(
                row[part + unit] for row in rows
                if flags == 0 or row["flags"] & flags))
            for measure, flags, part in (("allocated", 0, ""),
                                         ("peak", index_file.PEAK, "peak_"),
                                         ("live", index_file.LEFT, ""))
            for unit in ("bytes", "objects", "samples")}


def sqlite(export):
    return tables_file.totals(tables_file.of_bytes(export()))


# Right on average only: memtrace_test.py.
BY_CHANCE = ("memtrace",)

FORMATS = {
    "folded": folded,
    "csv": csv_rows,
    "pprof": pprof,
    "speedscope": speedscope,
    "dhat": dhat,
    "massif": massif,
    "callgrind": callgrind,
    "html": html,
    "html-summary": html_summary,
    "sqlite": sqlite,
}


def rounded(value, unit):
    return (2 * value + unit) // (2 * unit)


class Law(exported.Case):
    def known_formats(self):
        """As the command itself lists them."""
        result = common.run("export", "--format=no-such-format", "-o", "-", "x")
        self.assertEqual(result.returncode, 2)
        return re.search(r"one of:? (.*)", result.stderr).group(1).split()

    def test_every_format_has_a_row(self):
        self.assertEqual(sorted(self.known_formats()), sorted([*FORMATS, *BY_CHANCE]))

    def hold(self, wanted, export):
        for name, totals in FORMATS.items():
            got = totals(lambda *more: export("--format=" + name, *more))
            self.assertGreater(len(got), 0, name)
            for key, value in got.items():
                value, unit = value if isinstance(value, tuple) else (value, 1)
                self.assertEqual(value, rounded(wanted[key], unit),
                                 (name, key))

    def check(self, path, *options):
        wanted = self.json(*options, path)
        self.hold(wanted, lambda *more: self.export(path, *options, *more))
        return wanted

    def test_totals_equal_the_report(self):
        is_exact = []
        for name, path in self.traces():
            with self.subTest(name):
                wanted = self.check(path)
                is_exact.append(wanted["recording"]["is_exact"])
                self.assertGreater(wanted["allocated_bytes"], 0)
        self.assertIn(True, is_exact)
        self.assertIn(False, is_exact)

    def test_totals_of_blocks_that_lived(self):
        for path in (self.golden("wordcount-1e-3.v3"),
                     self.made(12000, 500, 1e-4)):
            wanted = self.check(path, "--min-life=2ms")
            self.assertLess(wanted["allocated_bytes"],
                            self.json(path)["allocated_bytes"])

    def test_damaged_trace(self):
        """What is before the damage counts the same everywhere."""
        data = common.trace("wordcount-1e-3.v3")
        path = self.write("bad.ctf", data[:20000] + b"\0\1\2\3" * 5000)
        result = common.run("report", "--json", path)
        self.assertEqual(result.returncode, 3)
        wanted = json.loads(result.stdout)

        def export(*options):
            result = common.run("export", "-o", "-", *options, path,
                                text=False)
            self.assertEqual(result.returncode, 3, options)
            return result.stdout
        self.hold(wanted, export)


if __name__ == "__main__":
    common.main()
