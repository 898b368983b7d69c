"""The report's figures against a recomputation from the script's columns."""
import csv
import io
import re

import common


class Totals(common.Case):
    def check(self, path, min_life_us):
        options = ["--min-life=%dus" % min_life_us]
        got = self.json("--allocated", "--stacks=0", *options, path)
        info = got["recording"]
        mind = common.Opinion(self.ok("script", path),
                              info["samples_per_word"], info["word_bits"],
                              got["program"])
        time, measures = mind.measures(min_life_us=min_life_us)
        self.assertEqual(got["peak_time_us"], time)
        self.assertEqual(got["duration_us"], mind.end)
        for measure, blocks in measures.items():
            for key, value in mind.sums(blocks).items():
                self.near(got["%s_%s" % (measure, key)], value,
                          (path, measure, key))
        return got, mind, measures

    def stacks(self, got, mind, measures):
        """Each stack's figures, and that sites are sums of their stacks."""
        wanted = {}
        for measure, blocks in measures.items():
            for block in blocks:
                stack = getattr(block, "block", block).stack
                wanted.setdefault(stack, {}).setdefault(
                    measure, []).append(block)
        seen = {}
        for site in got["sites"]:
            for key in ("allocated_bytes", "peak_objects", "live_samples"):
                total = sum(s[key] for s in site["stacks"])
                self.assertLessEqual(abs(total - site[key]),
                                     len(site["stacks"]), key)
            for stack in site["stacks"]:
                text = ";".join(map(frame, reversed(stack["frames"])))
                for measure in measures:
                    key = (text, measure)
                    seen[key] = (seen.get(key, 0)
                                 + stack[measure + "_sampled_blocks"])
        for text, by_measure in wanted.items():
            for measure, blocks in by_measure.items():
                self.assertEqual(seen.pop((text, measure)),
                                 mind.sums(blocks)["sampled_blocks"], text)
        self.assertFalse([k for k, v in seen.items() if v != 0])

    def test_golden(self):
        for name in ("bintree-1e-3.v2", "bintree-1e-4.v3", "bigarr-1e-2.v3",
                     "leakcache-1e-3.v2", "synth-bytes.v2",
                     "synth-domains.v3", "upstream-lists_and_sets.v1",
                     "wordcount-1e-3.v3"):
            path = self.write(name, common.trace(name))
            self.stacks(*self.check(path, 0))
            self.check(path, 2000)

    def test_sampled_malloc(self):
        path = self.made(12000, 500, 1e-4)
        self.stacks(*self.check(path, 0))
        self.check(path, 3000)

    def test_rate_that_changes(self):
        path = self.made(12000, 500, 1e-4, 1e-4, 3e-5)
        got, mind, _ = self.check(path, 0)
        self.assertEqual({b.later for b in mind.blocks}, {0, 1e-4, 3e-5})
        self.assertEqual(got["recording"]["rates"], 3)
        self.near(got["recording"]["largest_interval_bytes"], 8 / 3e-5, path)
        self.assertFalse(got["recording"]["is_exact"])
        self.assertIn("at 3 rates, one for each 9.77 KiB to 260 KiB",
                      self.ok("report", path))
        self.assertIn("later one for each 260 KiB", self.ok("info", path))
        # Exact first, sampled later: no figure is exact then.
        got, _, _ = self.check(self.made(12000, 500, 0.125, 1e-3), 0)
        self.assertFalse(got["recording"]["is_exact"])

    def test_exact(self):
        path = self.made(20000, 300, 0.125)
        got, mind, measures = self.check(path, 0)
        self.assertTrue(got["recording"]["is_exact"])
        for measure, blocks in measures.items():
            self.assertEqual(got[measure + "_bytes"],
                             sum(getattr(b, "block", b).bytes
                                 for b in blocks))
            self.assertEqual(got[measure + "_bytes_stderr"], 0)
            self.assertEqual(got[measure + "_objects"], len(blocks))
            self.assertEqual(got[measure + "_objects_stderr"], 0)

    def test_temporary(self):
        path = self.made(20000, 50, 1e-4)
        got = self.json("--temporary=400us", path)
        mind = common.Opinion(self.ok("script", path), 1e-4, 8,
                              got["program"])
        wanted = mind.measures(temporary_us=400)[1]["temporary"]
        self.assertGreater(len(wanted), 100)
        self.assertEqual(got["temporary_sampled_blocks"], len(wanted))

    def test_groupings_add_up(self):
        path = self.made(20000, 500, 1e-4)
        for grouping in ("function", "line", "file", "module"):
            got = self.json("-g", grouping, path)
            for measure in ("allocated", "live", "peak"):
                key = measure + "_bytes"
                total = sum(s[key] for s in got["sites"])
                self.assertLessEqual(abs(total - got[key]),
                                     len(got["sites"]), grouping)
        names = {s["module"] for s in got["sites"]}
        self.assertEqual(names, {"tree", "libdeep.so.1"})
        got = self.json("-g", "file", path)
        self.assertEqual([s["file"] for s in got["sites"]], ["/src/tree.c"])

    def test_intervals_fit_in_80_columns(self):
        """Of few samples an error is an interval, and what is said beside it
        goes below."""
        text = self.ok("report", self.made(12, 12, 1e-4),
                       env={"COLUMNS": "80"})
        self.assertEqual(len(re.findall(r"\[[\d.]+ .*?, .*?\] +blocks", text)),
                         4, text)
        self.assertEqual(len({line.index(" blocks") for line
                              in text.splitlines()[5:] if "] " in line
                              and " blocks" in line}), 1, text)
        self.assertRegex(text, r"(?m)^ {14}[\d.]+% freed within 1 ms$")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_order_follows_the_measure(self):
        path = self.made(20000, 500, 1e-4)
        for option, key in (("--allocated", "allocated_bytes"),
                            ("--peak", "peak_bytes"),
                            ("--live", "live_bytes"),
                            ("--leaks", "live_bytes")):
            values = [s[key] for s in self.json(option, path)["sites"]]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertGreater(len(set(values)), 5)

    def test_exports_conserve(self):
        path = self.made(20000, 500, 1e-4)
        got = self.json(path)
        for option, measure in (("--allocated", "allocated"),
                                ("--peak", "peak"), ("--live", "live")):
            rows = csv.DictReader(io.StringIO(self.ok(
                "export", "--format=csv", option, "-o", "-", path)))
            rows = list(rows)
            for unit in ("bytes", "objects", "samples"):
                key = "%s_%s" % (measure, unit)
                total = sum(int(r[key]) for r in rows)
                self.assertLessEqual(abs(total - got[key]), len(rows), key)
                lines = self.ok("export", "--format=folded", option,
                                "--weight", unit, "-o", "-",
                                path).splitlines()
                total = sum(int(l.rsplit(" ", 1)[1]) for l in lines)
                self.assertLessEqual(abs(total - got[key]), len(lines), key)

    def test_side_records(self):
        path = self.made(20000, 500, 1e-4)
        got = self.json(path)
        self.assertEqual(got["program"]["command"], "./a program --name=50%")
        self.assertEqual(got["recording"]["ended"], "killed")
        self.assertEqual(got["recording"]["dropped_space"], 7)
        self.assertEqual(got["threads"], 2)
        text = self.ok("report", path)
        for part in ("7 samples dropped: no room in the file",
                     "3 samples dropped: the profiler was interrupted",
                     "2 stacks cut at the depth limit",
                     "was killed (or a bare system call)"):
            self.assertIn(part, text)
        text = self.ok("info", path)
        for estimate in ("allocated", "live at end", "peak"):
            self.assertRegex(text, r"(?m)^%s +[\d.]+ \w+ (?:± |\[)" % estimate)
        mind = common.Opinion(self.ok("script", path), 1e-4, 8,
                              got["program"])
        for index, name in ((0, "main"), (1, "worker")):
            n = sum(b.thread == str(index) for b in mind.blocks)
            self.assertRegex(text, r"%d +tid %d +%s +%d sampled" % (
                index, 100 + index, name, n))
        self.assertIn("abcdef01", text)
        self.assertIn("/lib/libdeep.so.1", text)


def frame(f):
    text = f["function"].replace(";", ":")
    if f["file"]:
        text += "@" + f["file"]
    if f["line"] > 0:
        text += ":%d" % f["line"]
    return text


if __name__ == "__main__":
    common.main()
