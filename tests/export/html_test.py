"""The summary page: whole, harmless whatever the names are, and readable."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import unittest

import exported
import page_file
from exported import common

MOST = 200 << 10
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2",
        "p", "bdi", "dl", "dt", "dd", "nav", "ul", "li", "a", "main",
        "section", "div", "table", "caption", "thead", "tbody", "tr", "th",
        "td", "data", "svg", "rect", "path", "figure", "figcaption", "span",
        "code", "footer"}
TIDY = shutil.which("tidy")


class Html(exported.Case):
    def raw(self, path, *options):
        return self.export(path, "--format=html-summary", *options)

    def page(self, path, *options):
        return page_file.read(self.raw(path, *options))

    def harmless(self, data):
        """Nothing that runs, nothing fetched, nothing but our own tags."""
        page = page_file.read(data)
        self.assertEqual(page.faults, [])
        self.assertEqual(page.open, [])
        self.assertLessEqual({t for t, _ in page.tags}, TAGS)
        for tag, attributes in page.tags:
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on"), (tag, name))
                self.assertNotIn(name, ("style", "src", "srcset", "action"))
                if name == "href":
                    self.assertRegex(value, "^#[a-z]+$")
        self.assertNotRegex(page.style, r"url\(|@import|expression")
        policy, = [m["content"] for m in page.all("meta")
                   if m.get("http-equiv") == "Content-Security-Policy"]
        digest = hashlib.sha256(page.style.encode()).digest()
        self.assertEqual(
            policy, "default-src 'none'; style-src 'sha256-%s'; base-uri "
            "'none'; form-action 'none'" % base64.b64encode(digest).decode())
        self.assertLess(len(data), MOST)
        return page

    def test_every_trace(self):
        for name, path in self.traces():
            with self.subTest(name):
                page = self.harmless(self.raw(path))
                self.structure(page)

    def structure(self, page):
        self.assertEqual(page.all("html"), [{"lang": "en"}])
        self.assertEqual(len(page.all("h1")), 1)
        self.assertTrue(page.title.startswith("Memory of "))
        ids = [a["id"] for _, a in page.tags if "id" in a]
        self.assertEqual(len(ids), len(set(ids)))
        for a in page.all("a"):
            self.assertIn(a["href"][1:], ids)
        for _, a in page.tags:
            if "aria-labelledby" in a:
                self.assertIn(a["aria-labelledby"], ids)
        self.assertEqual(len(page.all("caption")), len(page.all("table")))
        self.assertTrue(all(t.get("scope") in ("row", "col")
                            for t in page.all("th")))
        regions = [d for d in page.all("div") if d.get("class") == "wide"]
        self.assertEqual(len(regions), len(page.all("table")))
        self.assertTrue(all(d["tabindex"] == "0" and d["role"] == "region"
                            for d in regions))
        self.assertIn("prefers-color-scheme:dark", page.style)

    def test_facts(self):
        path = self.made(20000, 500, 1e-4)
        page = self.page(path)
        text = page.seen()
        for part in ("./a program --name=50%", "/bin/tree", "abcdef01", "4711",
                     "2023-11-14 22:13:20 UTC", "killed",
                     "one for each 9.77 KiB",
                     "7 samples dropped: no room in the file",
                     "3 samples dropped: the profiler was interrupted",
                     "2 stacks cut at the depth limit", "was killed",
                     "from " + path):
            self.assertIn(part, text)
        report = self.ok("report", path)
        for label in ("allocated", "peak", "temporary"):
            figure, error = re.search(
                r"^  %s +(\S+ \S+) (± \S+ \S+|\[.*?\])" % label, report,
                re.M).groups()
            self.assertIn(figure, text)
            self.assertIn(error, text)

    def test_sites_are_those_of_the_report(self):
        path = self.made(20000, 500, 1e-4)
        page = self.page(path)
        for section, option, measure in (
                ("peak", "--peak", "peak"), ("leaks", "--leaks", "live"),
                ("allocated", "--allocated", "allocated")):
            sites = self.json(option, path)["sites"]
            for unit in ("bytes", "objects"):
                got = page.figures[section, unit]
                wanted = [s["%s_%s" % (measure, unit)] for s in sites]
                self.assertEqual(len(got), 16)  # 15 and the rest
                for a, b in zip(got[:-1], wanted):
                    self.assertLessEqual(abs(a - b), 1)
            text = page.seen()
            for site in sites[:15]:
                self.assertIn(site["function"].replace("(int)", ""), text)
        self.assertRegex(page.seen(), r"\d+ more\n")

    def test_grouping(self):
        path = self.made(20000, 500, 1e-4)
        page = self.page(path, "--group=module")
        self.assertEqual(len(page.figures["allocated", "bytes"]), 2)
        self.assertIn("libdeep.so.1", page.seen())

    def test_timeline(self):
        page = self.page(self.made(20000, 500, 1e-4))
        area, = [p["d"] for p in page.all("path") if p.get("class") == "area"]
        self.assertRegex(area, r"^M0 200(V[0-9.]+H[0-9.]+)+V200Z$")
        heights = [float(v) for v in re.findall(r"V([0-9.]+)H", area)]
        rights = [float(h) for h in re.findall(r"H([0-9.]+)", area)]
        self.assertGreater(len(heights), 100)
        self.assertGreaterEqual(min(heights), 0)
        self.assertLess(min(heights), 110)  # the peak fills half at least
        self.assertEqual(rights, sorted(rights))
        self.assertEqual(rights[-1], 1000)

    def test_exact(self):
        page = self.page(self.made(20000, 500, 0.125))
        self.assertIn("Every block was counted.", page.seen())
        self.assertNotIn("±", page.seen())

    def test_short(self):
        page = self.page(self.made(1, 10, 0.125))
        self.assertIn("Too short to draw.", page.seen())
        self.harmless(self.raw(self.made(0, 10, 0.125)))

    def test_min_life(self):
        path = self.made(20000, 500, 1e-4)
        self.assertIn("only blocks that lived at least 2 ms",
                      self.page(path, "--min-life=2ms").seen())

    def test_hostile_names(self):
        """Names that would be markup, put into a trace byte by byte."""
        with open(self.made(20000, 500, 0.125), "rb") as f:
            data = f.read()
        swaps = {b"level5_f2(int)": b"<script>x</scr",
                 b"level6_f0(int)": b"</td><img src=",
                 b"level7_f1(int)": "ab\u202ecdefghijk".encode(),
                 b"level8_f2(int)": b"' onload='x' '",
                 b"/src/tree.c": b"\"><svg/on=1",
                 b"/bin/tree": b"<b>&'\"/<>",
                 b"/lib/libdeep.so.1": b"/<style>*{x:url(h"}
        for old, new in swaps.items():
            self.assertEqual((len(old), data.count(old) > 0),
                             (len(new), True), old)
            data = data.replace(old, new)
        path = self.write("<hr>.ctf", data)
        for options, parts in (
                ((), ("<script>x</scr", "</td><img src=", "ab???cdefghijk",
                      "' onload='x' '", "on=1:", "<b>&'\"/<>", "<hr>.ctf")),
                (("--group=file",), ("\"><svg/on=1",)),
                (("--group=module",), ("<style>*{x:url(h",))):
            page = self.harmless(self.raw(path, *options))
            self.assertNotIn("\u202e", page.seen())
            for part in parts:
                self.assertIn(part, page.seen())

    def test_long_names_shorten_the_tables(self):
        """The limit holds, and the totals, though rows must go."""
        page = self.page(self.made(20000, 500, 0.125))
        os.environ["MAKE_TRACE_QUOTES"] = "200"
        self.addCleanup(os.environ.pop, "MAKE_TRACE_QUOTES")
        data = self.raw(self.made(20000, 500, 0.125))
        self.harmless(data)
        long = page_file.read(data)
        for section in ("peak", "allocated"):
            self.assertLess(len(long.figures[section, "bytes"]),
                            len(page.figures[section, "bytes"]))
            self.assertEqual(sum(long.figures[section, "bytes"]),
                             sum(page.figures[section, "bytes"]))

    def test_suffix(self):
        path = self.made(2000, 100, 1e-4)
        out = os.path.join(self.dir, "heap.summary.html")
        self.ok("export", "-o", out, path)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), self.raw(path))

    @unittest.skipUnless(TIDY, "no judge of HTML: install tidy")
    def test_tidy_finds_no_fault(self):
        for name in ("wordcount-1e-3.v3", "synth-edges.v2"):
            result = subprocess.run(
                # It knows no data elements, and empty ones are meant.
                [TIDY, "-q", "-e", "--drop-empty-elements", "no",
                 "--new-inline-tags", "data"],
                input=self.raw(self.golden(name)), capture_output=True)
            self.assertEqual([line for line in result.stderr.splitlines()
                              if b"<data> is not approved" not in line], [])
            self.assertLess(result.returncode, 2)


if __name__ == "__main__":
    common.main()
