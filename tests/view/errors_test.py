"""One figure, one interval: the error of the same site in the report, its JSON,
its tree, the HTML page, CSV, the table of processes and the viewer's answers.

JSON has the ends of all intervals; the viewer says which errors are told as an
interval. What the others print is formed here from these, or read back."""
import csv
import html
import io
import os
import re

import view
from view import common

MEASURES = {"allocated": {}, "live": {"live": "end"}, "peak": {"live": "peak"}}
TRACES = (
    dict(events=6000, stacks=80, functions=40, moved=300, threads=4, rates=3,
         seed=11),
    dict(events=400, stacks=60, functions=40, seed=12),
    dict(events=6000, stacks=60, functions=30, heap=1, seed=13),
    dict(events=2000, stacks=30, functions=20, exact=1, seed=14),
    dict(events=0, seed=15),
)
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
         "": 1, "k": 1e3, "M": 1e6, "G": 1e9}
SIZE = r"[\d.]+ (?:B|[KMGT]iB)"
COUNT = r"[\d.]+[kMG]?"
PERCENT = r"(?:-\d+\+\d+%|\d+%)"


def value(text):
    """Of a size or a count; each has three digits at least."""
    number, unit = re.fullmatch(r"([\d.]+) ?(\w*)", text).groups()
    return float(number) * UNITS[unit]


def percent(row, measure, few):
    """As the report's tables have it."""
    key = measure + "_bytes"
    per = 100 / row[key] if row[key] > 0 else 0
    if not few:
        return [per * row[key + "_stderr"]]
    return [per * (row[key] - row[key + "_low"]),
            min(per * (row[key + "_high"] - row[key]), 9999)]


class Errors(view.Case):
    def is_about(self, text, wanted, what):
        """The text's figures are the wanted ones, but for its digits."""
        got = [value(t) for t in re.findall(SIZE + "|" + COUNT, text)]
        self.assertEqual(len(got), len(wanted), (text, what))
        for x, y in zip(got, wanted):
            self.assertLessEqual(abs(x - y), 0.006 * y + 1, (text, what))

    def is_error(self, text, key, row, few, what):
        """Of bytes, or of blocks with the error in percent of them."""
        low, high = row[key + "_low"], row[key + "_high"]
        if few and row[key] > 0:
            self.assertRegex(text, r"^\[.+, .+\]$", what)
            self.is_about(text[1:-1], [low, high], what)
        elif few and key.endswith("_bytes"):
            self.assertRegex(text, "^at most " + SIZE + "$", what)
            self.is_about(text[8:], [high], what)
        elif few:
            self.assertEqual(text, "", what)
        elif key.endswith("_bytes"):
            self.assertRegex(text, "^± " + SIZE + "$", what)
            self.is_about(text[2:], [row[key + "_stderr"]], what)
        else:
            self.assertRegex(text, r"^±[\d.]+%$", what)
            self.assertAlmostEqual(float(text[1:-1]),
                                   100 * row[key + "_stderr"] / row[key],
                                   delta=0.06, msg=what)

    def is_percent(self, text, row, measure, few, what):
        wanted = percent(row, measure, few)
        self.assertRegex(text, "^%s$" % PERCENT, what)
        self.assertEqual(text.startswith("-"), few, what)
        for x, y in zip(re.findall(r"\d+", text), wanted):
            self.assertLessEqual(abs(int(x) - y), 0.51 + 0.001 * y, what)

    # ---- who says what ---------------------------------------------------

    def viewer(self, server, measure, report):
        """{function: its errors}, and of the whole ""; as JSON has them."""
        got = server.ask("sites", view.query(limit=100000, **MEASURES[measure]))
        few = {}

        def take(name, sum_, row):
            for mine, theirs in (("bytes", "bytes"), ("blocks", "objects")):
                key = "%s_%s" % (measure, theirs)
                for at, end in enumerate(("_low", "_high")):
                    self.near(sum_[mine + "_range"][at], row[key + end],
                              (name, key, end))
                few[name, theirs] = sum_[mine + "_few"]

        take("", got["total"], report)
        sites = {(s["function"], s["is_mapping"]): s for s in report["sites"]}
        for row in got["rows"]:
            name = (got["functions"][row["function"]]["name"],
                    row.get("is_mapping", False))
            take(name, row["sum"], sites[name])
        return few

    def tree(self, server, measure, few, report):
        """The viewer's tree from the sites up."""
        got = server.ask("tree", view.query(dir="up", min=0,
                                            **MEASURES[measure]))
        (_, _, _, whole, error, _, low, high), *_ = got["nodes"]
        key = measure + "_bytes"
        self.near(whole, report[key], measure)
        self.near(error, report[key + "_stderr"], measure)
        wanted = (report[key + "_low"], report[key + "_high"]) \
            if few["", "bytes"] else (0, 0)
        self.near(low, wanted[0], measure)
        self.near(high, wanted[1], measure)
        for function, parent, _, bytes_, error, _, low, high in got["nodes"]:
            self.assertTrue(low == high == 0 or low <= bytes_ <= high)

    def csv(self, measure, path, report):
        text = self.ok("export", "--format=csv", "--" + measure, "-o", "-",
                       path)
        sites = {(s["function"], s["file"], s["module"]): s
                 for s in report["sites"] if not s["is_mapping"]}
        n = 0
        for row in csv.DictReader(io.StringIO(text)):
            site = sites.get((row["function"], row["file"], row["module"]))
            if site is None:
                continue
            for m in ("allocated", "live", "peak", "temporary"):
                for unit in ("bytes", "objects"):
                    for end in ("stderr", "low", "high"):
                        key = "_".join((m, unit, end))
                        self.near(int(row[key]), site[key], (key, row))
            n += 1
        self.assertEqual(n, len(sites))

    def html(self, measure, path, report, few):
        """The page's table of that measure, and its row of the totals."""
        page = self.ok("export", "--format=html-summary", "-o", "-", path)
        total = re.search(r'<tr id=total-%s>(.*)' % measure, page)[1]
        cells = [html.unescape(re.sub("<.*?>", "", c))
                 for c in re.split("<td class=(?:n|remark)[^>]*>", total)]
        cells = cells[1:-1]
        if report["recording"]["is_exact"]:
            self.assertEqual(len(cells), 2, total)
            return
        self.assertEqual(len(cells), 4, total)
        self.is_error(cells[1], measure + "_bytes", report,
                      few["", "bytes"], "html")
        self.is_error(cells[3], measure + "_objects", report,
                      few["", "objects"], "html")
        name = {"live": "leaks"}.get(measure, measure)
        section = page[page.index("<section id=%s>" % name):]
        section = section[:section.index("</section>")]
        sites = {}
        for s in report["sites"]:
            sites.setdefault(s["function"], []).append(s)
        for row in section.split("<tr>")[2:]:
            function = re.search("<code><bdi>(.*?)</bdi>", row)
            found = sites.get(html.unescape(function[1]), []) if function \
                else []
            if len(found) != 1:
                continue  # the rest, or a name that was cut
            site, = found
            error = re.sub("<.*?>", "", row.split("<td class=n")[2])
            self.is_error(html.unescape(error.partition(">")[2]),
                          measure + "_bytes", site,
                          few[(site["function"], False), "bytes"], row)

    def report(self, measure, path, report, few):
        """Totals, the table of sites, and the tree's first level."""
        options = {"allocated": ["--allocated"], "live": ["--live"],
                   "peak": []}[measure]
        text = self.ok("report", *options, "--top=0", "--tree=bottom-up",
                       "--min-share=0.001", path, env={"COLUMNS": "250"})
        name = {"live": "live at end"}.get(measure, measure)
        line = re.search(r"(?m)^  %s +(.*)$" % name, text)[1]
        error = re.match(SIZE + r" (± %s|\[%s, %s\]|at most %s|) "
                         % (SIZE, SIZE, SIZE, SIZE), line)
        self.assertTrue(error, line)
        self.is_error(error[1], measure + "_bytes", report,
                      few["", "bytes"], line)
        self.sites(text, measure, report, few)

    def sites(self, text, measure, report, few):
        rows = {}
        for size, error, site in re.findall(
                r"(?m)^ *(%s) +(%s) +[\d.]+%% +%s +[\d.]+ \S+  (\w+)  "
                % (SIZE, PERCENT, COUNT), text):
            rows[site] = (size, error)
        n = 0
        for s in report["sites"]:
            if s["is_mapping"] or s["function"] not in rows or \
                    s[measure + "_bytes"] == 0:
                continue
            self.is_percent(rows[s["function"]][1], s, measure,
                            few[(s["function"], False), "bytes"], s)
            n += 1
        if report[measure + "_sampled_blocks"] > 100:
            self.assertGreater(n, 5)
        tree = text[text.index("CALLERS, FROM"):] \
            if "CALLERS, FROM" in text else ""
        branches = re.findall(r"(?m)^ *[\d.]+%% +(%s) +(%s)  (\w+)\b"
                              % (SIZE, PERCENT), tree)
        n = 0
        for size, error, site in branches:
            if site in rows and rows[site][0] == size:
                self.assertEqual(error, rows[site][1], site)
                n += 1
        if tree:
            self.assertGreater(n, len(branches) // 2, text)

    # ---- the tests -------------------------------------------------------

    def one_interval(self, path):
        with view.Server("--no-index", path) as server:
            for measure in MEASURES:
                report = self.json(*({"allocated": ["--allocated"],
                                      "live": ["--live"],
                                      "peak": []}[measure]), "--top=0",
                                   "--stacks=1", path)
                few = self.viewer(server, measure, report)
                self.tree(server, measure, few, report)
                self.csv(measure, path, report)
                self.html(measure, path, report, few)
                if not report["recording"]["is_exact"]:
                    self.report(measure, path, report, few)

    def test_one_figure_one_interval(self):
        for keys in TRACES:
            with self.subTest(**keys):
                self.one_interval(self.view_trace(**keys))

    def test_what_lives_at_the_peak_by_phase(self):
        """It may be more than its estimate, in a phase as in all: the one
        phase of this trace is all of it."""
        path = self.view_trace(events=view.much(30000), phase=1)
        report = self.json("--phases", "--filter=live=peak", path)
        phase = report["phases"][-1]
        for key in [k for k in phase if k.startswith("allocated_")]:
            self.assertEqual(phase[key], report[key], key)

    def test_a_process_of_several(self):
        """A process's peak has the interval that its own trace has."""
        directory = os.path.join(self.dir, "several")
        os.mkdir(directory)
        own = []
        for seed, events in ((21, 3000), (22, 300), (23, 2000)):
            path = self.view_trace("several/%d.ctf" % seed, events=events,
                                   stacks=20, functions=20, seed=seed)
            own.append(self.json("--top=1", "--stacks=1", path))
        merged = self.json("--top=1", "--stacks=1", directory)
        keys = ["%s_bytes%s" % (m, end) for m in ("allocated", "live", "peak")
                for end in ("", "_stderr", "_low", "_high")]
        for key in keys:
            for got, wanted in zip(sorted(p[key] for p in merged["processes"]),
                                   sorted(o[key] for o in own)):
                if key.startswith("peak"):
                    continue
                self.near(got, wanted, key)
        for process in merged["processes"]:
            self.assertLess(process["peak_bytes_low"], process["peak_bytes"])
            self.assertGreater(process["peak_bytes_high"],
                               process["peak_bytes"])
        self.table_of_processes(directory, merged["processes"])

    def table_of_processes(self, directory, processes):
        text = self.ok("report", "--top=0", "--tree=none", directory)
        rows = re.findall(r"(?m)^ +\d+ .*?(%s) +(%s) +(%s) +%s +\d"
                          % (SIZE, SIZE, PERCENT, SIZE), text)
        self.assertEqual(len(rows), len(processes), text)
        wanted = {}
        for p in processes:
            wanted[p["allocated_bytes"]] = p
        for allocated, _, error in rows:
            p = min(processes,
                    key=lambda p: abs(p["allocated_bytes"] - value(allocated)))
            self.is_percent(error, p, "peak", error.startswith("-"), p)


if __name__ == "__main__":
    common.main()
