"""Against the text of the real memtrace tools, where both mean the same."""
import collections
import glob
import hashlib
import os
import re

import common


def dump_of(name):
    """Golden dump of a trace, or None when only its sum is kept."""
    for stem in (name, name.rsplit(".", 1)[0]):
        path = os.path.join(common.GOLDEN, "dumps", stem + ".dump.txt.xz")
        if os.path.exists(path):
            return common.unpacked(path)
    return None


def hot(frames):
    """The innermost frame that has a name, and whether it is the innermost:
    the hotspots tool gives a nameless frame the name of an outer one of the
    first stack that it sees it in, and keeps to it."""
    for i, frame in enumerate(frames):
        if not frame["function"].startswith("0x"):
            return (frame["function"], frame["file"]), i == 0
    return None, True


class Golden(common.Case):
    def test_dump_text(self):
        """A few: the reader's own tests go through all of them."""
        n = 0
        for name in ("upstream-lists_and_sets.v1", "wordcount-1e-3.v2",
                     "synth-domains.v3", "synth-bytes.v3",
                     "extra-side-records.v2"):
            data = common.trace(name)
            wanted = dump_of(name)
            path = self.write(name, data)
            result = common.run("script", "--format=memtrace", path,
                                text=False)
            self.assertEqual(result.returncode, 0)
            self.assertTrue(result.stdout == wanted, name)
            n += 1
        self.assertEqual(n, 5)

    def test_folded(self):
        """The flamegraph tool weighs by samples, folds recursion, leaves out
        frames without names and stacks of a single name."""
        n = 0
        for name, data in common.traces():
            wanted = common.report(name + ".folded")
            if wanted is None or not re.match(r"[^\n]+ \d+\n", wanted):
                continue
            if "edges" in name or "big" in name:
                continue  # has a function without a name, "??" for us; slow
            path = self.write(name, data)
            lines = {}
            for line in self.ok("export", "--format=folded", "--allocated",
                                "--weight=samples", "--fold-recursion",
                                "-o", "-", path).splitlines():
                stack, weight = line.rsplit(" ", 1)
                stack = ";".join(f for f in stack.split(";")
                                 if not re.fullmatch("0x[0-9a-f]+", f))
                if ";" in stack:
                    lines[stack] = lines.get(stack, 0) + int(weight)
            got = sorted("%s %d" % item for item in lines.items())
            self.assertEqual(got, sorted(wanted.splitlines()), name)
            n += 1
        self.assertGreater(n, 8)

    def test_identify(self):
        """Counts, largest block, share promoted, duration."""
        n = 0
        for name, data in common.traces():
            wanted = common.report(name + ".identify")
            if wanted is None or "Runtime" not in wanted or "big" in name:
                continue
            path = self.write(name, data)
            text = self.ok("info", path)
            got = self.json("--top=1", "--stacks=1", path)
            runtime = float(re.search(r"Runtime: *([\d.]+) s", wanted)[1])
            self.assertLess(abs(got["duration_us"] / 1e6 - runtime), 0.0006)
            largest = re.search(r"Max: *([\d.]+) (\w+)", wanted)
            unit = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30,
                    "TB": 2**40}
            size = float(largest[1]) * unit[largest[2]]
            mine = int(re.search(r"largest block +.*\((\d+) bytes", text)[1])
            word = got["recording"]["word_bits"] // 8
            self.assertLess(abs(mine - word - size), 0.06 * size, name)
            share = re.search(r"([\d.]+)% promoted", wanted)
            mine = re.search(r"promoted +([\d.]+)% of", text)
            if share and mine:
                self.assertEqual(float(mine[1]), float(share[1]), name)
                n += 1
        self.assertGreater(n, 8)

    def test_hotspots(self):
        """Samples in all, and the share of samples of each function."""
        n = 0
        for name, data in common.traces():
            wanted = common.report(name + ".hotspots")
            if re.search("big|deep|evict", name):
                continue  # slow: very many or very long stacks
            if wanted is None or " samples of " not in wanted:
                continue
            path = self.write(name, data)
            got = self.json("--allocated", "--stacks=0", path)
            samples = int(re.search(r"(\d+) samples of", wanted)[1])
            self.assertEqual(got["samples"], samples, name)
            mine = collections.Counter()
            doubtful = set()
            for site in got["sites"]:
                for stack in site["stacks"]:
                    key, is_sure = hot(stack["frames"])
                    mine[key] += stack["allocated_samples"]
                    if not is_sure:
                        doubtful.add(key)
            for share, function, place in re.findall(
                    r"^ *[\d.]+ \w?B \( *([\d.]+)%\) at (\S+) \(([^:)]+)",
                    wanted, re.M):
                if (function, place) in doubtful:
                    continue
                have = 100 * mine[function, place] / samples
                self.assertLess(abs(have - float(share)), 0.051,
                                (name, function))
                n += 1
        self.assertGreater(n, 50)

    def test_big(self):
        path = glob.glob(os.path.join(common.GOLDEN, "traces", "*-big*"))[0]
        path = self.write("big.ctf", common.unpacked(path))
        got = self.json("--top=5", path)
        self.assertEqual(got["sampled_blocks"], 84270)
        self.assertEqual(got["sampled_frees"], 78758)

    def test_input_from_a_pipe(self):
        data = common.trace("wordcount-1e-3.v2")
        path = self.write("t.ctf", data)
        piped = common.run("script", "-", stdin=data)
        self.assertEqual(piped.returncode, 0)
        self.assertEqual(hashlib.sha256(piped.stdout.encode()).digest(),
                         hashlib.sha256(
                             self.ok("script", path).encode()).digest())


if __name__ == "__main__":
    common.main()
