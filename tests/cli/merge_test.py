"""Several traces as one: laws that tie the merged trace, the report over all
of them, and the reports of each."""
import gzip
import json
import os
import re

import common

COUNTS = ("bytes", "objects", "sampled_blocks")


class Merge(common.Case):
    def made_as(self, name, *args):
        path = os.path.join(self.dir, name)
        os.rename(self.made(*args), path)
        return path

    def merged(self, *paths, fmt="2", name="merged.ctf"):
        out = os.path.join(self.dir, name)
        result = common.run("merge", "-f", "--format", fmt, "-o", out, *paths)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def raw(self, path):
        with open(path, "rb") as f:
            return f.read()

    def three(self):
        return (self.made_as("a.ctf", 12000, 500, 1e-4),
                self.made_as("b.ctf", 9000, 200, 1e-5),
                self.made_as("c.ctf", 15000, 300, 0.125))

    def sums(self, merged, parts, measures):
        """The merged trace's totals and sites are the sums of the parts'."""
        got = self.json("--stacks=0", merged)
        singles = [self.json("--stacks=0", p) for p in parts]
        for measure in measures:
            for count in COUNTS:
                key = "%s_%s" % (measure, count)
                self.near(got[key], sum(s[key] for s in singles), key)
            for names in ("function", "file", "line", "module"):
                wanted = {}
                for single in singles:
                    for site in single["sites"]:
                        name = site[names]
                        wanted[name] = (wanted.get(name, 0)
                                        + site[measure + "_bytes"])
                for site in got["sites"]:
                    wanted[site[names]] -= site[measure + "_bytes"]
                for name, left in wanted.items():
                    self.assertLessEqual(abs(left), 2 * len(got["sites"]),
                                         (measure, name))
        return got, singles

    def test_sums_of_the_parts(self):
        parts = self.three()
        for fmt in ("2", "3"):
            merged = self.merged(*parts, fmt=fmt)
            self.assertIn("no findings", self.ok("check", merged))
            got, singles = self.sums(merged, parts, ("allocated", "live"))
            self.assertEqual(len(got["processes"]), 3)
            self.assertEqual(got["threads"], sum(s["threads"]
                                                 for s in singles))
            self.assertEqual(got["recording"]["dropped_space"], 2 * 7)
            by_key = lambda s: s["allocated_bytes"]
            for process, single in zip(
                    sorted(got["processes"], key=by_key),
                    sorted(singles, key=by_key)):
                for key in ("allocated_bytes", "live_bytes",
                            "allocated_bytes_stderr", "live_objects"):
                    self.near(process[key], single[key], key)
                self.peaks(process, single, single["peak_bytes_stderr"])
                self.assertEqual(process["command"],
                                 single["program"]["command"])
                self.assertEqual(process["ended"], "killed")

    def peaks(self, a, b, stderr):
        """Blocks have other numbers, and so other colours: both are estimates
        of one figure."""
        self.assertAlmostEqual(a["peak_bytes"], b["peak_bytes"],
                               delta=6 * stderr)

    def test_order_changes_nothing(self):
        a, b, c = self.three()
        for fmt in ("2", "3"):
            wanted = self.raw(self.merged(a, b, c, fmt=fmt))
            for paths in ((c, b, a), (b, a, c), (b, c, a)):
                self.assertEqual(self.raw(self.merged(*paths, fmt=fmt)),
                                 wanted)

    def test_report_of_all_is_that_of_the_merged(self):
        parts = self.three()
        merged = self.merged(*parts, name="m")
        for option in ("--peak", "--live", "--allocated"):
            wanted = self.json(option, "--stacks=0", merged)
            self.assertEqual(self.json(option, "--stacks=0", *parts), wanted)
        os.rename(merged, os.path.join(self.dir, "outside"))
        os.mkdir(os.path.join(self.dir, "d"))
        for path in parts:
            os.rename(path, os.path.join(self.dir, "d",
                                         os.path.basename(path)))
        self.write("d/notes.txt", b"no trace")
        got = common.run("report", "--json", "--allocated", "--stacks=0",
                         os.path.join(self.dir, "d"))
        self.assertEqual(json.loads(got.stdout), wanted)
        self.assertEqual(got.stderr, "aliquot: %s/d: 1 file is no trace and "
                         "was left out\n" % self.dir)

    def test_merged_again(self):
        a, b, c = self.three()
        wanted = self.json("--stacks=0", self.merged(a, b, c))
        inner = self.merged(a, c, name="inner")
        got = self.json("--stacks=0", self.merged(inner, b, name="outer"))
        for measure in ("allocated", "live", "temporary"):
            for count in COUNTS + ("samples", "bytes_stderr"):
                key = "%s_%s" % (measure, count)
                self.near(got[key], wanted[key], key)
        self.peaks(got, wanted, wanted["peak_bytes_stderr"])
        pick = lambda o: sorted((p["allocated_bytes"], p["command"])
                                for p in o["processes"])
        self.assertEqual(pick(got), pick(wanted))

    def test_peak_of_all_together(self):
        """Against a slow count over the scripts; what a process held when it
        ended is gone."""
        paths = (self.made_as("a.ctf", 3000, 100, 0.125),
                 self.made_as("b.ctf", 9000, 30, 0.125))
        events = []
        for number, path in enumerate(paths):
            sizes, start = {}, self.json(path)["program"]["start_us"]
            now = 0
            for line in self.ok("script", "--no-stacks", path).split(
                    "\n")[1:-1]:
                time, event, ident, size = line.split("\t")[:4]
                time = start + int(time)
                if event == "alloc":
                    sizes[ident] = int(size)
                    now += int(size)
                    events.append((time, number, len(events), int(size)))
                elif event == "free":
                    now -= sizes[ident]
                    events.append((time, number, len(events), -sizes[ident]))
            events.append((time, number, len(events), -now))
        live = best = 0
        for _, _, _, change in sorted(events):
            live += change
            best = max(best, live)
        merged = self.merged(*paths)
        got = self.json("--stacks=0", merged)
        self.assertEqual(got["peak_bytes"], best)
        alone = [self.json(p)["peak_bytes"] for p in paths]
        self.assertLess(got["peak_bytes"], sum(alone))
        self.assertGreater(got["peak_bytes"], max(alone))

    def test_rates(self):
        """Each block is weighed by its own rate, and n_samples are those of
        the largest one."""
        a = self.made_as("a.ctf", 12000, 500, 1e-4)
        b = self.made_as("b.ctf", 12000, 500, 1e-5)
        got, singles = self.sums(self.merged(a, b), (a, b), ("allocated",))
        self.assertEqual(got["recording"]["samples_per_word"], 1e-4)
        self.assertEqual(got["allocated_samples"],
                         singles[0]["allocated_samples"]
                         + 10 * singles[1]["allocated_samples"])
        variance = sum(s["allocated_bytes_stderr"] ** 2 for s in singles)
        self.assertLess(abs(got["allocated_bytes_stderr"]
                            / variance ** 0.5 - 1), 1e-4)

    def test_threads_and_processes_are_kept_apart(self):
        parts = self.three()
        text = self.ok("script", "--no-stacks", self.merged(*parts))
        threads = dict(re.findall(
            r"thread index=(\d+) tid=\d+ process=(\d+)", text))
        self.assertEqual(len(threads), 6)
        self.assertEqual(set(threads.values()), {"0", "1", "2"})
        used = {line.split("\t")[7] for line in text.split("\n")[1:-1]
                if line.split("\t")[1] == "alloc"}
        self.assertEqual(used, set(threads))
        # One module, however many processes loaded it.
        self.assertEqual(len(re.findall(r"\bmodule id=", text)), 2)

    def test_golden(self):
        for names in (("bintree-1e-3.v2", "bintree-1e-4.v3"),
                      ("leakcache-1e-3.v2", "wordcount-1e-3.v2",
                       "upstream-lists_and_sets.v1"),
                      ("synth-bytes.v2",), ("bigarr-1e-2.v3",) * 2):
            paths = [self.write("%d-%s" % (i, n), common.trace(n))
                     for i, n in enumerate(names)]
            for fmt in ("2", "3"):
                merged = self.merged(*paths, fmt=fmt)
                self.assertIn("no findings", self.ok("check", merged))
                got, singles = self.sums(merged, paths,
                                         ("allocated", "live"))
                self.assertEqual(
                    got["sampled_frees"],
                    sum(s["sampled_frees"] for s in singles))

    def test_streams_come_in_order_of_time(self):
        """A trace of several domains, whose packets lie one after the other:
        the merged one never goes back, loses nothing, and knows the
        domains."""
        path = self.write("d", common.trace("synth-domains.v3"))
        n = {event: len(re.findall(r"\t%s\t" % event,
                                   self.ok("script", "--no-stacks", path)))
             for event in ("alloc", "free", "promote")}
        domains = {line.split("\t")[6] for line in self.ok(
            "script", "--no-stacks", path).split("\n")[1:-1]}
        merged = self.merged(path)
        text = self.ok("script", "--no-stacks", merged)
        for event, wanted in n.items():
            self.assertEqual(len(re.findall(r"\t%s\t" % event, text)), wanted)
        packed = os.path.join(self.dir, "packed")
        os.mkdir(packed)
        self.write("packed/d.ctf.gz", gzip.compress(self.raw(path)))
        self.assertEqual(self.ok("script", "--no-stacks",
                                 self.merged(packed, name="p")), text)
        times = [int(line.split("\t")[0]) for line in text.split("\n")[1:-1]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(
            {"domain " + d for d in domains},
            {name.replace("%20", " ")
             for name in re.findall(r"name=(domain%20\d+)", text)})
        times = {}
        for line in self.ok("script", "--no-stacks", path).split("\n")[1:-1]:
            times.setdefault(line.split("\t")[1], []).append(
                int(line.split("\t")[0]))
        for event in n:
            got = [int(line.split("\t")[0])
                   for line in text.split("\n")[1:-1]
                   if line.split("\t")[1] == event]
            self.assertEqual(got, sorted(times.get(event, [])))

    def test_refusals(self):
        a = self.made_as("a.ctf", 100, 10, 1e-4)
        words = self.write("w", common.trace("bintree-1e-3.v2"))
        out = os.path.join(self.dir, "out")
        empty = os.path.join(self.dir, "empty")
        os.mkdir(empty)
        for args, status, text in (
                (("-o", out, a, words), 3, "words of 8 bits"),
                (("-o", out, a, "-"), 3, "standard input is no regular"),
                (("-o", out, empty), 3, "there is no trace in the directory"),
                (("-o", out, a, "/nowhere"), 3, "cannot open /nowhere"),
                (("-f", "-o", a, a), 2, "among the traces to read"),
                (("-o", a, words), 2, "exists; -f overwrites it"),
                ((a,), 2, "where to?"),
                (("-o", out), 2, "which trace?"),
                (("-o", out, "--format=1", a), 2, "choose one of: 2 3")):
            result = common.run("merge", *args)
            self.assertEqual(result.returncode, status, args)
            self.assertIn(text, result.stderr)
            self.assertFalse(os.path.exists(out), args)

    def test_damaged_part(self):
        a = self.made_as("a.ctf", 5000, 100, 1e-3)
        data = self.raw(a)
        broken = self.write("broken", data + b"\xff" * 500)
        out = os.path.join(self.dir, "out")
        result = common.run("merge", "-o", out, a, broken)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.count("is damaged"), 1)
        self.sums_damaged(out, a, broken)

    def sums_damaged(self, out, a, broken):
        part = common.run("report", "--json", broken)
        self.assertEqual(part.returncode, 3)
        n = common.json.loads(part.stdout)["sampled_blocks"]
        self.assertGreater(n, 100)
        self.assertEqual(self.json(out)["sampled_blocks"],
                         self.json(a)["sampled_blocks"] + n)

    def test_chains_stay_whole(self):
        """Traces whose events interleave: every free that realloc made is
        still directly before the allocation that goes on."""
        os.environ["MAKE_TRACE_MOVES"] = "1"
        self.addCleanup(os.environ.pop, "MAKE_TRACE_MOVES")
        paths = (self.made_as("a.ctf", 12000, 300, 1e-4),
                 self.made_as("b.ctf", 9000, 200, 1e-5))
        n = sum(self.ok("script", "--no-stacks", p).count("moved_from=")
                for p in paths)
        self.assertGreater(n, 100)
        text = self.ok("script", "--no-stacks", self.merged(*paths))
        before = None
        for line in text.split("\n")[1:-1]:
            columns = line.split("\t")
            if columns[1] == "note":
                continue
            moved = re.search(r"moved_from=(\d+)", line)
            if moved:
                n -= 1
                self.assertEqual(before, ("free", moved.group(1)))
            before = columns[1], columns[2]
        self.assertEqual(n, 0)
        self.sums(self.merged(*paths), paths, ("allocated", "live"))

    def test_blocks_that_realloc_made(self):
        """Links alone stand for 1 / (p * q); a block that says itself that
        realloc made it stands for 1 / p.  Merged, each does as before."""
        self.addCleanup(os.environ.pop, "MAKE_TRACE_MOVES")
        rate, paths, sums = 1e-4, [], []
        for kind in "links", "reborn":
            os.environ["MAKE_TRACE_MOVES"] = kind
            path = self.made_as(kind + ".ctf", 12000, 300, rate)
            chance, wanted, n, old = {}, 0, 0, None
            for line in self.ok("script", "--no-stacks", path).split("\n")[1:]:
                columns = line.split("\t")
                if len(columns) > 1 and columns[1] == "free":
                    old = columns[2]
                if len(columns) < 2 or columns[1] != "alloc":
                    continue
                size = int(columns[3])
                p = 1 - (1 - 8 * rate) ** ((size + 15) // 8)
                chance[columns[2]] = p
                if columns[9] == "":
                    continue
                self.assertIn(columns[9], ("realloc=1", "moved_from=" + old))
                self.assertTrue(kind == "reborn" or columns[9] != "realloc=1")
                n += 1
                wanted += size / (p * (chance[old] if kind == "links" else 1))
            got = self.json(path)
            self.assertGreater(n, 500)
            self.assertEqual(got["realloc_sampled_blocks"], n)
            self.near(got["realloc_bytes"], wanted, kind)
            self.assertEqual(got["realloc_sampled_links"] == n, kind == "links")
            paths.append(path)
            sums.append(got)
        got = self.json(self.merged(*paths))
        for key in sums[0]:
            if key.startswith("realloc_") and "sampled" in key:
                self.assertEqual(got[key], sums[0][key] + sums[1][key])
        self.near(got["realloc_bytes"],
                  sums[0]["realloc_bytes"] + sums[1]["realloc_bytes"], "bytes")

    def test_one_bad_file_in_a_directory(self):
        d = os.path.join(self.dir, "d")
        os.mkdir(d)
        os.rename(self.made(2000, 50, 1e-4), os.path.join(d, "a.ctf"))
        wanted = self.json(d)
        self.write("d/raw", b"ALIQRAW1 and then nothing")
        result = common.run("report", "--json", d)
        self.assertEqual(result.returncode, 3)
        self.assertIn("cannot read the recording", result.stderr)
        self.assertEqual(common.json.loads(result.stdout), wanted)

    def test_merged_trace_is_not_counted_twice(self):
        d = os.path.join(self.dir, "d")
        os.mkdir(d)
        os.rename(self.made(2000, 50, 1e-4), os.path.join(d, "a.ctf"))
        wanted = self.json(d)
        self.merged(d, name="d/all.ctf")
        result = common.run("report", "--json", d)
        self.assertIn("d/all.ctf was merged from others and is left out",
                      result.stderr)
        self.assertEqual(common.json.loads(result.stdout), wanted)

    def test_tables(self):
        a, b, c = self.three()
        text = self.ok("report", "--top=2", a, b, c)
        self.assertIn("3 processes: ./a program --name=50%", text)
        self.assertRegex(text, r"in 1 more process \(--top=0 shows all\)")
        self.assertEqual(len(re.findall(r"(?m)^ +4711 .* tree  \./a program",
                                        text)), 2)
        text = self.ok("info", a, b, c)
        self.assertEqual(len(re.findall(r"(?m)^ +4711 .* tree  \./a program",
                                        text)), 3)


if __name__ == "__main__":
    common.main()
