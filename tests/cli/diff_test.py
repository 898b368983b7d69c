"""aliquot diff: laws of the comparison, growth that was planted, and the exit
status that a build looks at."""
import json
import math
import os
import re

import common


class Diff(common.Case):
    def made_as(self, name, *args, **more):
        path = os.path.join(self.dir, name)
        os.rename(self.made(*args, **more), path)
        return path

    def diff(self, *args, status=0):
        result = common.run("diff", *args)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def compared(self, *args, status=0):
        return json.loads(self.diff("--json", *args, status=status).stdout)

    def merged(self, name, *paths):
        out = os.path.join(self.dir, name)
        self.assertEqual(
            common.run("merge", "-f", "-o", out, *paths).returncode, 0)
        return out

    def test_with_itself(self):
        paths = [self.made_as("a.ctf", 12000, 300, 1e-4),
                 self.made_as("b.ctf", 12000, 300, 0.125)]
        for name in ("bintree-1e-3.v2", "wordcount-1e-3.v3",
                     "synth-bytes.v2", "synth-domains.v3"):
            paths.append(self.write(name, common.trace(name)))
        for path in paths:
            for measure in ("--allocated", "--live", "--peak", "--leaks"):
                for group in ("function", "line", "file", "module"):
                    got = self.compared(measure, "-g", group,
                                        "--fail-over=0%", path, path)
                    for row in (list(got["totals"].values())
                                + got["sites"]):
                        self.assertEqual(row["change_bytes"], 0)
                        self.assertEqual(row["sigmas"], 0)
                        self.assertEqual(row["p"], 1)
                    for site in got["sites"]:
                        self.assertEqual(site["state"], "same")
                        self.assertFalse(site["is_significant"])
                    self.assertFalse(got["fail_over"]["is_exceeded"])
            text = self.ok("diff", "--fail-over=0", path, path)
            self.assertRegex(text, r"\n +nothing\n0 of \d+ sites changed")

    def test_there_and_back(self):
        a = self.made_as("a.ctf", 12000, 300, 1e-4)
        b = self.made_as("b.ctf", 20000, 500, 1e-5)
        exact = self.made_as("c.ctf", 9000, 200, 0.125)
        for one, other in ((a, b), (b, exact), (exact, a)):
            there = self.compared(one, other)
            back = self.compared(other, one)
            self.assertEqual(there["sites_compared"], back["sites_compared"])
            key = lambda s: (s["function"], s["file"], s["module"])
            rows = {key(s): s for s in back["sites"]}
            pairs = [(s, rows[key(s)]) for s in there["sites"]]
            pairs += [(there["totals"][m], back["totals"][m])
                      for m in there["totals"]]
            self.assertEqual(len(rows), len(there["sites"]))
            for x, y in pairs:
                self.assertEqual(x["change_bytes"], -y["change_bytes"])
                self.assertAlmostEqual(x["sigmas"], -y["sigmas"])
                self.assertAlmostEqual(x["p"], y["p"])
                self.assertEqual(x["a_bytes"], y["b_bytes"])
                self.assertEqual(x["change_bytes_stderr"],
                                 y["change_bytes_stderr"])
                self.assertEqual(x["change_bytes_low"],
                                 -y["change_bytes_high"])
                self.assertLessEqual(x["change_bytes_low"], x["change_bytes"])
                self.assertLessEqual(x["change_bytes"], x["change_bytes_high"])

    def test_sides_are_the_reports(self):
        a = self.made_as("a.ctf", 12000, 300, 1e-4)
        b = self.made_as("b.ctf", 20000, 500, 1e-5)
        for option, measure in (("--allocated", "allocated"),
                                ("--peak", "peak"), ("--live", "live")):
            got = self.compared(option, a, b)
            reports = [self.json(option, p) for p in (a, b)]
            for side, report in zip("ab", reports):
                sites = {s["function"]: s for s in report["sites"]}
                self.assertEqual(
                    got["totals"][measure][side + "_bytes"],
                    report[measure + "_bytes"])
                for site in got["sites"]:
                    one = sites.get(site["function"])
                    for key in ("bytes", "bytes_stderr", "bytes_low",
                                "objects", "sampled_blocks"):
                        self.assertEqual(
                            site["%s_%s" % (side, key)],
                            one["%s_%s" % (measure, key)] if one else 0)
            changes = [abs(s["change_bytes"]) for s in got["sites"]]
            self.assertEqual(changes, sorted(changes, reverse=True))
            total = sum(s["change_bytes"] for s in got["sites"])
            self.assertLessEqual(
                abs(total - got["totals"][measure]["change_bytes"]),
                len(changes))

    def test_sigmas_and_p(self):
        """Recomputed from the columns, where the Bennett term is small."""
        a = self.made_as("a.ctf", 30000, 900, 1e-4)
        b = self.made_as("b.ctf", 36000, 900, 1e-4)
        got = self.compared("--allocated", a, b)
        total = got["totals"]["allocated"]
        variance = total["a_bytes_stderr"] ** 2 + total["b_bytes_stderr"] ** 2
        self.assertAlmostEqual(total["change_bytes_stderr"] / variance ** 0.5,
                               1, 3)
        z = total["change_bytes"] / variance ** 0.5
        self.assertLess(abs(total["sigmas"] / z - 1), 0.02)
        self.assertGreater(z, 10)
        self.assertAlmostEqual(
            total["p"],
            min(1, 3.18 * math.erfc(total["sigmas"] / math.sqrt(2))), 9)
        # Holm: never below its own p, never above m times it.
        m = got["sites_compared"]
        for site in got["sites"]:
            own = min(1, 3.18 * math.erfc(abs(site["sigmas"])
                                          / math.sqrt(2)))
            self.assertGreaterEqual(site["p"], own * (1 - 1e-9))
            self.assertLessEqual(site["p"], min(1, m * own) * (1 + 1e-9))
            self.assertEqual(site["is_significant"],
                             site["p"] <= got["level"]
                             and site["change_bytes"] != 0)
        self.assertAlmostEqual(got["level"], math.erfc(3 / math.sqrt(2)))

    def test_exact_growth(self):
        """Every block recorded: a difference is one, and has no p to weigh."""
        a = self.made_as("a.ctf", 9000, 200, 0.125)
        b = self.made_as("b.ctf", 9900, 200, 0.125)
        got = self.compared("--allocated", a, b)
        self.assertTrue(got["a"]["is_exact"])
        total = got["totals"]["allocated"]
        self.assertGreater(total["change_bytes"], 0)
        self.assertEqual((total["sigmas"], total["p"]), (None, 0))
        self.assertEqual(total["change_bytes_stderr"], 0)
        text = self.ok("diff", "--allocated", a, b)
        self.assertIn("figures are exact", text)
        self.assertNotIn("sigma", text)

    def test_fail_over(self):
        a = self.made_as("a.ctf", 9000, 200, 0.125)
        b = self.made_as("b.ctf", 9900, 200, 0.125)
        got = self.compared("--allocated", a, b)["totals"]["allocated"]
        grown = got["change_bytes"]
        percent = 100 * grown / got["a_bytes"]
        self.assertTrue(5 < percent < 20)
        over = self.diff("--allocated", "--fail-over=5%", a, b, status=1)
        self.assertRegex(
            over.stderr,
            r"aliquot: allocated: the total grew by [\d.]+ [KM]iB, "
            r"[\d.]+% of A's total; the limit is 5% \([\d.]+ [KM]iB\)\n")
        self.assertIn("CHANGE OF WHAT WAS ALLOCATED", over.stdout)
        for limit, status in (("50%", 0), ("1K", 1), ("%d" % grown, 0),
                              ("%d" % (grown - 1), 1), ("1G", 0), ("0", 1),
                              ("%.4f%%" % (percent * 1.001), 0),
                              ("%.4f%%" % (percent * 0.999), 1)):
            self.diff("--allocated", "--fail-over", limit, a, b,
                      status=status)
        self.diff("--allocated", "--fail-over=0%", b, a, status=self.grew(b, a))
        limited = self.compared("--allocated", "--fail-over=5%", a, b,
                                status=1)["fail_over"]
        self.assertTrue(limited["is_exceeded"])
        self.assertEqual(limited["growths"][0]["what"], "total")
        self.assertEqual(limited["growths"][0]["change_bytes"], grown)
        self.assertLessEqual(abs(limited["limit_bytes"]
                                 - 0.05 * got["a_bytes"]), 1)

    def grew(self, a, b):
        """1 when a site of the exact traces grew: the total shrinks."""
        got = self.compared("--allocated", a, b)
        self.assertLess(got["totals"]["allocated"]["change_bytes"], 0)
        return int(any(s["change_bytes"] > 0 for s in got["sites"]))

    def test_chance_is_no_failure(self):
        """The same program sampled rarely: estimates differ, and that says
        so but does not fail."""
        a = self.made_as("a.ctf", 300, 30, 1e-5)
        b = self.made_as("b.ctf", 330, 33, 1e-5)
        for one, other in ((a, b), (b, a)):
            result = self.diff("--allocated", "--fail-over=0%", one, other)
            if result.stderr:
                self.assertIn("by chance with p = ", result.stderr)
                self.assertIn("a smaller --interval", result.stderr)

    def test_rates_and_directories(self):
        """A directory is the sum of what lies in it, at any rates."""
        parts = [self.made_as("a.ctf", 12000, 300, 1e-4),
                 self.made_as("b.ctf", 9000, 200, 1e-5)]
        other = self.made_as("c.ctf", 14000, 300, 1e-4)
        merged = self.merged("m.ctf", *parts)
        wanted = self.compared(merged, other)
        d = os.path.join(self.dir, "d")
        os.mkdir(d)
        for path in parts:
            os.rename(path, os.path.join(d, os.path.basename(path)))
        got = self.compared(d, other)
        self.assertEqual(got["a"]["processes"], 2)
        self.assertEqual(got["a"]["path"], d)
        for key in ("totals", "sites", "sites_compared"):
            self.assertEqual(got[key], wanted[key])
        self.assertIn("the command lines differ", got["warnings"])
        same = self.compared("--fail-over=0", d, merged)
        self.assertEqual({s["state"] for s in same["sites"]}, {"same"})

    def test_min_sigma(self):
        a = self.made_as("a.ctf", 30000, 900, 1e-4)
        b = self.made_as("b.ctf", 39000, 900, 1e-4)
        everything = self.compared("--allocated", a, b)["sites"]
        for sigma in (0, 1, 3, 6):
            got = self.compared("--allocated", "--min-sigma", str(sigma), a, b)
            level = math.erfc(sigma / math.sqrt(2))
            self.assertAlmostEqual(got["level"], level)
            self.assertEqual(
                [s["function"] for s in got["sites"]],
                [s["function"] for s in everything
                 if s["p"] <= level and s["change_bytes"] != 0])
        counts = [len(self.compared("--allocated", "--min-sigma", s, a,
                                    b)["sites"]) for s in ("0", "3", "6")]
        self.assertTrue(counts[0] > counts[1] > counts[2] > 0, counts)

    def test_text(self):
        a = self.made_as("a.ctf", 12000, 300, 1e-4)
        b = self.made_as("b.ctf", 20000, 500, 1e-5)
        text = self.ok("diff", "--top=3", a, b)
        self.assertIn("A  ./a program --name=50%%\n   %s: " % a, text)
        self.assertIn("one for each 97.7 KiB", text)
        self.assertRegex(text, r"(?m)^allocated +[+-][\d.]+ [KM]iB")
        self.assertRegex(text, r"\d+ more \(--top=0 shows all\)")
        self.assertIn("corrected for the number of sites", text)
        self.assertIn("! recording lost something", text)
        words = self.write("w", common.trace("bintree-1e-3.v2"))
        text = self.ok("diff", a, words)
        self.assertIn("! the programs differ\n! the command lines differ",
                      text)
        for line in text.split("\n"):
            self.assertLessEqual(len(line), 200)

    def test_standard_input(self):
        a = self.made_as("a.ctf", 2000, 300, 1e-4)
        with open(a, "rb") as f:
            data = f.read()
        result = common.run("diff", "--json", "-", a, stdin=data)
        self.assertEqual(result.returncode, 0)
        self.assertEqual({s["state"]
                          for s in json.loads(result.stdout)["sites"]},
                         {"same"})

    def test_mistakes(self):
        a = self.made_as("a.ctf", 100, 10, 1e-4)
        for args, status, text in (
                ((a,), 2, "name two traces"), ((a, a, "b"), 2, "'b' is too many"),
                (("--fail-over=many", a, a), 2, "write a percentage"),
                (("--fail-over=-1K", a, a), 2, "write a percentage"),
                (("--fail-over=-5%", a, a), 2, "write a percentage"),
                (("--min-sigma=x", a, a), 2, "from 0 to 30"),
                (("--top=x", a, a), 2, "write a whole number"),
                (("-", "-"), 2, "one of the two"),
                ((a, "/nowhere"), 3, "cannot open /nowhere"),
                (("/nowhere", a), 3, "cannot open /nowhere")):
            result = common.run("diff", *args)
            self.assertEqual(result.returncode, status, args)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_damage_has_its_own_status(self):
        a = self.made_as("a.ctf", 2000, 100, 1e-3)
        with open(a, "rb") as f:
            broken = self.write("broken", f.read() + b"\xff" * 500)
        got = self.compared("--fail-over=0", a, broken, status=3)
        self.assertIn("a trace is damaged: only the part before the damage "
                      "is compared", got["warnings"])

    def test_a_cut_trace_passes_no_build(self):
        a = self.merged("a.ctf", self.made_as("m.ctf", 20000, 500, 1e-2,
                                              context="source=malloc"))
        with open(a, "rb") as f:
            data = f.read()
        cut = self.write("cut", data[:len(data) // 2])
        self.diff("--allocated", "--fail-over=5%", a, cut, status=3)
        # ... also between two packets, where no byte is wrong.
        said = common.run("check", cut).stdout
        at = int(re.search(r"byte (\d+): the last packet", said)[1])
        cut = self.write("cut", data[:at])
        result = self.diff("--allocated", "--fail-over=5%", a, cut, status=3)
        self.assertIn("cut has no end: it was cut short", result.stderr)
        self.assertIn("! the trace has no end", self.ok("report", cut))


if __name__ == "__main__":
    common.main()
