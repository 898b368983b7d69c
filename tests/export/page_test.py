"""The viewer's page in one file: what may run is what it says, and the summary
stands in it for readers without scripts."""
import base64
import gzip
import hashlib
import os
import unittest

import exported
import page_file
from exported import common

SMALL = 600 << 10  # all but the data


class Page(exported.Case):
    def page(self, path, *options):
        data = self.export(path, "--format=html", *options)
        return data, page_file.read(data)

    def test_every_trace(self):
        for name, path in self.traces():
            with self.subTest(name):
                data, page = self.page(path)
                self.assertEqual((page.faults, page.open), ([], []))
                engine = page_file.carried(page, "engine")
                index = page_file.carried(page, "index")
                self.assertEqual(engine[:4], b"\0asm")
                self.assertEqual(index[-8:], b"ALQVIEW\n")
                packed = len(base64.b64encode(gzip.compress(index, 9)))
                self.assertLess(len(data) - packed, SMALL)

    def test_policy(self):
        """Hashes of what stands there, and nothing else may run or load."""
        _, page = self.page(self.made(2000, 100, 1e-4))
        policy, = [m["content"] for m in page.all("meta")
                   if m.get("http-equiv") == "Content-Security-Policy"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

        def digest(text):
            return "'sha256-%s'" % base64.b64encode(
                hashlib.sha256(text.encode()).digest()).decode()

        code = [text for attributes, text in page.scripts if not attributes]
        self.assertEqual(rules, {
            "default-src": "'none'",
            "script-src": " ".join([digest(t) for t in code] +
                                   ["'wasm-unsafe-eval'"]),
            "style-src": " ".join(digest(t) for t in page.styles),
            "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"})
        self.assertEqual((len(code), len(page.styles)), (1, 2))
        for tag, attributes in page.tags:
            for name in attributes:
                self.assertFalse(name.startswith("on"), (tag, name))
                self.assertNotIn(name, ("style", "src", "srcset", "action"))

    def test_summary_stands_in_it(self):
        path = self.made(20000, 500, 1e-4)
        _, page = self.page(path, "--group=module")
        alone = page_file.read(self.export(path, "--format=html-summary",
                                           "--group=module"))
        self.assertEqual(page.figures, alone.figures)
        self.assertEqual(page.seen().split(), alone.seen().split())

    def test_wishes(self):
        path = self.made(2000, 100, 1e-4)
        for options, wanted in (((), "live=peak"),
                                (("--leaks",), "live=end"),
                                (("--allocated",), ""),
                                (("--peak", "--min-life=2ms"),
                                 "live=peak&life=2000..")):
            _, page = self.page(path, *options)
            app, = [d for d in page.all("div") if d.get("id") == "app"]
            self.assertEqual(app["data-filter"], wanted)

    def test_suffix(self):
        path = self.made(2000, 100, 1e-4)
        out = os.path.join(self.dir, "heap.html")
        self.ok("export", "-o", out, path)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), self.page(path)[0])

    def test_fewer_samples(self):
        path = self.made(20000, 500, 0.125)
        all_of_it, _ = self.page(path, "--max-samples=0")
        self.assertEqual(all_of_it, self.page(path)[0])
        some, page = self.page(path, "--max-samples=500")
        self.assertLess(len(some), len(all_of_it))
        # 10,000 blocks, each with 1 in 20: 500 by expectation, 22 is one
        # standard error.
        index = page_file.carried(page, "index")
        rows = int.from_bytes(index[-64:-56], "little")
        self.assertLess(abs(rows - 500), 150)

    def test_what_cannot_be_read_twice(self):
        with open(self.made(20000, 500, 0.125), "rb") as f:
            data = f.read()
        got = common.run("export", "--format=html", "-o", "-", "-", stdin=data,
                         text=False)
        self.assertEqual(got.returncode, 0)
        got = common.run("export", "--format=html", "-o", "-", "-",
                         "--max-samples=500", stdin=data, text=False)
        self.assertEqual(got.returncode, 3)
        self.assertIn("--max-samples=0", got.stderr)

    def test_bad_number(self):
        got = common.run("export", "--format=html", "-o", "-", "x.ctf",
                         "--max-samples=some")
        self.assertEqual(got.returncode, 2)
        self.assertIn("write a whole number", got.stderr)


if __name__ == "__main__":
    common.main()
