"""Malloc traces in words, in the opinion of memtrace's hotspots.

hotspots() below is that tool's arithmetic: samples over the rate, at eight
bytes a word whatever the header says.  Golden reports of the tool itself judge
it; then it judges what `aliquot export --format=memtrace` writes.

A sum of n blocks, each rounded up or down by chance, is off by sqrt(n)/2
samples at most in one standard deviation.  The coin is the block's number's
hash, so a run is as the one before; of any trace, 8 deviations are passed once
in 1e15 times."""
import collections
import math
import os
import re
import unittest

import exported
from exported import common

DEVIATIONS = 8


def allocations(path, case):
    """(samples, length, function) of each, and what was collected."""
    blocks, gone = {}, set()
    for line in case.ok("script", "--format=memtrace", path).splitlines():
        words = line.split()
        if words[2].startswith("alloc"):
            at = words.index(next(w for w in words if w.endswith(":")))
            inner = words[-1].split("@")[0] if len(words) > at + 1 else ""
            blocks[words[1]] = (int(words[3]), int(words[4][4:]), inner)
        elif words[2] == "collect":
            gone.add(words[1])
    return blocks, gone


def hotspots(blocks, rate):
    """Bytes of each function, as the tool has them."""
    sums = collections.Counter()
    for samples, _, function in blocks.values():
        sums[function] += samples / rate * 8
    return sums


class Memtrace(exported.Case):
    def moved(self, path):
        out = path + ".memtrace.ctf"
        self.ok("export", "-f", "-o", out, path)
        self.assertIn("no findings", self.ok("check", out))
        return out

    def test_the_referee_against_the_tool(self):
        n = 0
        for name in ("wordcount-1e-3.v2", "bigarr-1e-2.v3", "synth-bytes.v2",
                     "leakcache-1e-3.v3"):
            golden = re.search(r"(\d+) samples of +([\d.]+) (\wB|B)",
                               common.report(name + ".hotspots"))
            path = self.golden(name)
            blocks, _ = allocations(path, self)
            rate = self.json(path)["recording"]["samples_per_word"]
            total = sum(hotspots(blocks, rate).values())
            unit = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30}[golden.group(3)]
            self.assertEqual(sum(b[0] for b in blocks.values()),
                             int(golden.group(1)), name)
            self.assertAlmostEqual(total / unit, float(golden.group(2)),
                                   delta=0.051, msg=name)
            n += 1
        self.assertEqual(n, 4)

    def held(self, path):
        report = self.json(path)
        out = self.moved(path)
        blocks, gone = allocations(out, self)
        rate = self.json(out)["recording"]["samples_per_word"]
        sums = hotspots(blocks, rate)
        off = DEVIATIONS * 0.5 * math.sqrt(report["sampled_blocks"]) * 8 / rate
        self.assertAlmostEqual(sum(sums.values()), report["allocated_bytes"],
                               delta=off)
        live = {k: v for k, v in blocks.items() if k not in gone}
        self.assertAlmostEqual(sum(hotspots(live, rate).values()),
                               report["live_bytes"], delta=off)
        return report, blocks, sums, rate

    def test_sums_are_those_of_the_report(self):
        for path in (self.made(20000, 800, 1e-4), self.made(20000, 800, 0.125),
                     self.made(20000, 800, 0.125, 1e-3, 1e-2),
                     self.made(20000, 800, 2e-3)):
            self.held(path)

    def test_sites_too(self):
        path = self.made(20000, 800, 0.125)
        _, blocks, sums, rate = self.held(path)
        wanted = collections.Counter()
        n = collections.Counter()
        for _, length, function in allocations(path, self)[0].values():
            wanted[function] += length
            n[function] += 1
        self.assertGreater(len(wanted), 10)
        for function, size in wanted.items():
            self.assertAlmostEqual(sums[function], size,
                                   delta=DEVIATIONS * 4 * math.sqrt(n[function]),
                                   msg=function)

    def test_lengths_are_words_of_the_same_sum(self):
        path = self.made(20000, 800, 0.125)
        source, _ = allocations(path, self)
        blocks, _ = allocations(self.moved(path), self)
        total = sum(b[1] for b in source.values())
        self.assertAlmostEqual(8 * sum(b[1] for b in blocks.values()), total,
                               delta=DEVIATIONS * 4 * math.sqrt(len(source)))

    def test_again_the_same(self):
        path = self.made(3000, 100, 1e-3)
        self.assertEqual(self.export(path, "--format=memtrace"),
                         self.export(path, "--format=memtrace"))

    def test_what_is_in_words_already_is_refused(self):
        for name in ("wordcount-1e-3.v2", "synth-domains.v3"):
            done = common.run("export", "-o", "-", "--format=memtrace",
                              self.golden(name))
            self.assertEqual(done.returncode, 2)
            self.assertIn("in words already", done.stderr)

    def test_a_share_of_the_samples(self):
        """As many as that chance leaves, and the rate is as much lower."""
        for path in (self.golden("wordcount-1e-3.v2"),
                     self.golden("synth-domains.v3"),
                     self.made(20000, 800, 0.125)):
            for share in 0.3, 0.01:
                out = os.path.join(self.dir, "share.memtrace.ctf")
                self.ok("export", "-f", "-o", out, "--subsample=%g" % share,
                        path)
                self.assertIn("no findings", self.ok("check", out))
                whole = path
                if self.json(path)["recording"]["word_bits"] == 8:
                    whole = self.moved(path)
                n = sum(b[0] for b in allocations(whole, self)[0].values())
                left = sum(b[0] for b in allocations(out, self)[0].values())
                self.assertAlmostEqual(
                    left, n * share,
                    delta=DEVIATIONS * math.sqrt(n * share * (1 - share)))
                self.assertAlmostEqual(
                    self.json(out)["recording"]["samples_per_word"] / share,
                    self.json(whole)["recording"]["samples_per_word"])
        for wrong in "0", "1", "x", "-1", "2":
            self.assertEqual(common.run(
                "export", "--format=memtrace", "-o", "-",
                "--subsample=" + wrong, path).returncode, 2)

    def test_stripped_names(self):
        """The same blocks, stacks and lives; no name, no time of day."""
        for path in (self.golden("wordcount-1e-3.v2"),
                     self.made(5000, 300, 0.125)):
            out = os.path.join(self.dir, "stripped.memtrace.ctf")
            self.ok("export", "-f", "-o", out, "--strip-names", path)
            before, after = self.json(path), self.json(out)
            if before["recording"]["word_bits"] != 8:
                for key in ("allocated_bytes", "live_bytes", "sampled_blocks",
                            "duration_us", "leaked_objects"):
                    self.assertEqual(before[key], after[key], key)
                self.assertEqual(len(before["sites"]), len(after["sites"]))
            self.assertEqual(after["program"]["executable"], "")
            self.assertEqual(after["program"]["pid"], 0)
            self.assertEqual(after["program"]["start_us"], 0)
            for site in after["sites"]:
                for frame in site["stacks"][0]["frames"]:
                    self.assertRegex(frame["function"], r"^(f\d+|0x[0-9a-f]+)$|no stack")
                    self.assertRegex(frame["file"], r"^(file\d+)?$")

    @unittest.skipUnless(exported.VICTIM, "no preload here")
    def test_recordings(self):
        for options in (["--interval=4K", "--seed=5"], ["--exact"]):
            self.held(self.recorded(*options))


if __name__ == "__main__":
    unittest.main()
