"""Exports in the opinion of the programs that read them."""
import collections
import json
import os
import re

import exported
import judges
from exported import common


class Case(exported.Case):
    def setUp(self):
        super().setUp()
        self.n_files = 0

    def file(self, trace, form, *options):
        self.n_files += 1
        path = os.path.join(self.dir, "%d.%s" % (self.n_files, form))
        self.ok("export", "--format=" + form, "-o", path, *options, trace)
        return path

    def few(self):
        """For judges that take their time."""
        for name, trace in self.some():
            if name not in ("deepexn-1e-2.v2", "made, sampled"):
                yield name, trace

    def hostile(self):
        os.environ["HOSTILE_NAMES"] = "1"
        self.addCleanup(os.environ.pop, "HOSTILE_NAMES")
        return self.made(4000, 200, 0.125)

    def some(self):
        """A sampled and an exact one, domains, deep recursion, none alive."""
        for name in ("wordcount-1e-3.v3", "synth-domains.v3",
                     "deepexn-1e-2.v2"):
            yield name, self.golden(name)
        yield "made, sampled", self.made(6000, 300, 1e-4)
        yield "hostile names", self.hostile()
        if exported.VICTIM:
            yield "recorded", self.recorded("--interval=4K", "--seed=3")

    def inclusive(self, trace):
        """Bytes allocated under each (function, file), by the stacks of the
        speedscope export; a function counts once in a stack."""
        with open(self.file(trace, "speedscope")) as f:
            data = json.load(f)
        frames = [(x["name"], x.get("file", "")) for x in
                  data["shared"]["frames"]]
        profile = data["profiles"][0]
        total = collections.Counter()
        for stack, weight in zip(profile["samples"], profile["weights"]):
            for frame in {frames[i] for i in stack}:
                total[frame] += weight
        return total


class Speedscope(Case):
    def validate(self, path):
        modules = judges.npm("ajv")
        schema = os.path.join(modules, "speedscope", "dist", "release",
                              "file-format-schema.json")
        return judges.run("node", os.path.join(judges.HERE, "validate.js"),
                          modules, schema, path)

    def test_schema(self):
        for name, trace in self.some():
            with self.subTest(name):
                result = self.validate(self.file(trace, "speedscope"))
                self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_schema_refuses(self):
        """Else the judge was asleep."""
        path = self.file(self.made(2000, 100, 1e-4), "speedscope")
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace('"unit":"bytes"', '"unit":"apples"'))
        self.assertEqual(self.validate(path).returncode, 1)

    def test_profile_shown_first(self):
        trace = self.made(2000, 100, 1e-4)
        for option, name in (("--allocated", "allocated bytes"),
                             ("--live", "live at end"),
                             ("--peak", "live at peak")):
            with open(self.file(trace, "speedscope", option)) as f:
                data = json.load(f)
            shown = data["profiles"][data["activeProfileIndex"]]
            self.assertEqual(shown["name"], name)


class Dhat(Case):
    def test_totals(self):
        for name, trace in self.few():
            with self.subTest(name):
                path = self.file(trace, "dhat")
                wanted = self.json("--top=1", "--stacks=1", trace)
                with open(path) as f:
                    most = sum(p["mb"] for p in json.load(f)["pps"])
                with judges.Profiler(path) as profiler:
                    totals = profiler.totals("native-allocations")
                self.assertEqual(totals, [
                    wanted["allocated_bytes"], most, wanted["peak_bytes"],
                    wanted["live_bytes"]])

    def test_functions_in_the_firefox_profiler(self):
        """Bytes that each allocates by itself; the Profiler has one function
        a line."""
        trace = self.golden("leakcache-1e-3.v2")
        with open(self.file(trace, "speedscope")) as f:
            data = json.load(f)
        profile = data["profiles"][0]
        wanted, got = collections.Counter(), collections.Counter()
        for stack, weight in zip(profile["samples"], profile["weights"]):
            wanted[data["shared"]["frames"][stack[-1]]["name"]] += weight
        with judges.Profiler(self.file(trace, "dhat")) as profiler:
            profiler.command("strategy", "native-allocations")
            for f in profiler.ask("thread", "functions")["functions"]:
                got[f["name"]] += f["selfSamples"]
        self.assertGreater(len(wanted), 10)
        self.assertEqual(+got, +wanted)

    def test_many_blocks(self):
        """More than are replayed one by one: said, and the sums stay."""
        trace = self.made(1700000, 2000, 1e-4)
        path = os.path.join(self.dir, "many.json")
        result = common.run("export", "--format=dhat", "-o", path, trace)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^aliquot: export: \d+ sampled blocks "
                         r"are shown as \d+, with times in steps of [^\n]+\n$")
        wanted = self.json("--top=1", "--stacks=1", trace)
        with open(path) as f:
            points = json.load(f)["pps"]
        self.assertEqual(sum(p["eb"] for p in points), wanted["live_bytes"])
        self.assertEqual(sum(p["gb"] for p in points), wanted["peak_bytes"])
        self.assertEqual(sum(p["tb"] for p in points),
                         wanted["allocated_bytes"])

    def test_rules_of_the_viewer(self):
        """What dh_view.js demands, and what its figures rest on."""
        for name, trace in self.some():
            with self.subTest(name):
                with open(self.file(trace, "dhat")) as f:
                    data = json.load(f)
                for key in ("mode", "verb", "tu", "Mtu", "cmd", "pid", "te",
                            "tg", "tuth"):
                    self.assertIn(key, data)
                self.assertEqual(
                    (data["dhatFileVersion"], data["bklt"], data["bkacc"]),
                    (2, True, False))
                self.assertLessEqual(data["tg"], data["te"])
                self.assertEqual(data["ftbl"][0], "[root]")
                self.assertEqual(len(set(data["ftbl"][1:])),
                                 len(data["ftbl"]) - 1)
                stacks = [tuple(p["fs"]) for p in data["pps"]]
                self.assertEqual(len(set(stacks)), len(stacks))
                for stack in stacks:
                    self.assertGreater(len(stack), 0)
                    self.assertTrue(all(0 < i < len(data["ftbl"])
                                        for i in stack))
                for p in data["pps"]:
                    self.assertGreaterEqual(p["mb"], max(p["gb"], p["eb"]))
                    self.assertGreaterEqual(p["mbk"], max(p["gbk"], p["ebk"]))

    def test_lifetimes_and_maxima(self):
        """An exact trace, recomputed from its script."""
        trace = self.made(12000, 500, 0.125)
        mind = common.Opinion(self.ok("script", trace), 0.125, 8,
                              {"start_us": 0, "pid": 0})
        lives = collections.Counter()
        now, most = collections.Counter(), collections.Counter()
        for block in mind.blocks:
            lives[block.stack] += mind.life(block)
        for sign, number in mind.order:
            block = mind.blocks[number]
            now[block.stack] += sign * block.bytes
            most[block.stack] = max(most[block.stack], now[block.stack])
        with open(self.file(trace, "dhat")) as f:
            data = json.load(f)
        points = {tuple(data["ftbl"][i] for i in reversed(p["fs"])): p
                  for p in data["pps"]}
        self.assertEqual(len(points), len(most))
        n_equal = 0
        for stack, point in points.items():
            key = ";".join(re.sub(r"^0x[0-9A-F]+: (.*) \((.*):(\d+)\)$",
                                  r"\1@\2:\3", frame) for frame in stack)
            self.assertEqual(point["tl"], lives[key], key)
            n_equal += point["mb"] == most[key]
        # Events of one microsecond may be taken in another order.
        self.assertGreater(n_equal, 0.97 * len(points))


class Massif(Case):
    def tree(self, lines):
        """Children add up to their parent.  Returns (bytes, text, children)
        and the lines behind the tree."""
        head = re.match(r"( *)n(\d+): (\d+) (.*)", lines[0])
        node = (int(head[3]), head[4], [])
        rest = lines[1:]
        for _ in range(int(head[2])):
            child, rest = self.tree(rest)
            node[2].append(child)
        if node[2]:
            self.assertLessEqual(sum(c[0] for c in node[2]), node[0])
        return node, rest

    def test_ms_print(self):
        ms_print = judges.program("ms_print")
        for name, trace in self.some():
            for unit in ("ms", "B"):
                with self.subTest(name, unit=unit):
                    self.check(ms_print, trace, unit)

    def check(self, ms_print, trace, unit):
        path = self.file(trace, "massif", "--time-unit=" + unit)
        result = judges.run(ms_print, path)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        text = result.stdout.decode()
        rows = [[int(x.replace(",", "")) for x in row.split()] for row in
                re.findall(r"^ +\d+(?: +[\d,]+){5}$", text, re.M)]
        wanted = self.json("--top=1", "--stacks=1", trace)
        peak = int(re.search(r"(\d+) \(peak\)", text)[1])
        self.assertEqual([r[0] for r in rows], list(range(len(rows))))
        self.assertGreater(len(rows), 70)
        self.assertEqual(rows[peak][2], wanted["peak_bytes"])
        self.assertEqual(rows[-1][2], wanted["live_bytes"])
        self.assertEqual([r[1] for r in rows], sorted(r[1] for r in rows))
        end = (wanted["duration_us"] // 1000 if unit == "ms" else
               wanted["allocated_bytes"])
        self.assertEqual(rows[-1][1], end)
        # Each estimate is rounded for itself, so two may differ by one.
        if wanted["recording"]["is_exact"]:
            self.assertLessEqual(max(r[2] for r in rows), rows[peak][2] + 2)

    def test_trees(self):
        """That of the peak says what the report does: an exact trace."""
        trace = self.made(12000, 500, 0.125)
        with open(self.file(trace, "massif")) as f:
            parts = f.read().split("heap_tree=")
        n_trees = 0
        for part in parts[1:]:
            lines = part.split("\n")
            if lines[0] == "empty":
                continue
            tree, _ = self.tree(lines[1:])
            n_trees += 1
            if lines[0] != "peak":
                continue
            wanted = self.json("--peak", "--group=line", "--stacks=1", trace)
            self.assertEqual(tree[0], wanted["peak_bytes"])
            sites = {"%s (%s:%d)" % (s["function"], s["file"], s["line"]):
                     s["peak_bytes"] for s in wanted["sites"]}
            for bytes_, text, _ in tree[2]:
                if "threshold" not in text:
                    self.assertEqual(sites.pop(text.split(": ", 1)[1]), bytes_)
            self.assertLess(max(sites.values()), 0.01 * tree[0])
        self.assertEqual(n_trees, 10)


class Callgrind(Case):
    EVENTS = ("allocated_bytes", "allocated_objects", "live_bytes",
              "live_objects", "peak_bytes")

    def annotate(self, path, *options):
        result = judges.run(judges.program("callgrind_annotate"),
                            "--auto=no", "--threshold=100",
                            "--show-percs=no", *options, path)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def rows(self, text):
        """name -> costs"""
        for line in text.split("\n"):
            m = re.match(r" *((?:[\d,.]+ +){5}) *(\S.*)$", line)
            if m:
                yield m[2], [0 if x == "." else int(x.replace(",", ""))
                             for x in m[1].split()]

    def test_totals(self):
        for name, trace in self.some():
            with self.subTest(name):
                rows = dict(self.rows(self.annotate(
                    self.file(trace, "callgrind"))))
                wanted = self.json("--top=1", "--stacks=1", trace)
                self.assertEqual(rows.pop("PROGRAM TOTALS"),
                                 [wanted[e] for e in self.EVENTS])

    def test_inclusive(self):
        """Equal to what stacks say, recursion and all."""
        for name, trace in self.some():
            if name == "hostile names":
                continue  # one name in two modules: one function for the tool
            with self.subTest(name):
                path = self.file(trace, "callgrind")
                rows = dict(self.rows(self.annotate(path, "--inclusive=yes")))
                total = rows.pop("PROGRAM TOTALS")[0]
                wanted = self.inclusive(trace)
                n = 0
                for (function, file), bytes_ in wanted.items():
                    for row in ("%s:%s" % (file, function),
                                "???:%s" % function):
                        found = [r for r in rows if r.startswith(row + " [")
                                 or r == row]
                        if len(found) == 1:
                            self.assertEqual(rows[found[0]][0], bytes_, row)
                            n += 1
                            break
                self.assertGreater(n, 0.6 * len(wanted))
                self.assertLessEqual(max(r[0] for r in rows.values()), total)

    def test_callers(self):
        text = self.annotate(self.file(self.golden("wordcount-1e-3.v3"),
                                       "callgrind"), "--tree=both")
        self.assertIn("[root]", text)
        self.assertGreater(len(re.findall(r"^ .* < ", text, re.M)), 3)
        self.assertGreater(len(re.findall(r"^ .* > ", text, re.M)), 3)


class Merged(Case):
    def test_process_that_ended(self):
        """What it left counts as never freed, and is gone from the curve."""
        if not exported.VICTIM:
            self.skipTest("no recordings in this preset")
        parts = []
        for name in ("first", "second"):
            parts.append(os.path.join(self.dir, name + ".ctf"))
            os.rename(self.recorded("--interval=1K", "--seed=4"), parts[-1])
        trace = os.path.join(self.dir, "merged.ctf")
        common.run("merge", "-o", trace, *parts)
        wanted = self.json("--top=1", "--stacks=1", trace)
        alone = [self.json("--top=1", "--stacks=1", p) for p in parts]
        self.assertGreater(alone[0]["live_bytes"], 0)
        self.assertLessEqual(abs(wanted["live_bytes"] - sum(
            a["live_bytes"] for a in alone)), 1)
        with open(self.file(trace, "dhat")) as f:
            points = json.load(f)["pps"]
        self.assertEqual(sum(p["eb"] for p in points), wanted["live_bytes"])
        self.assertEqual(sum(p["tb"] for p in points),
                         wanted["allocated_bytes"])
        with open(self.file(trace, "massif")) as f:
            sizes = [int(x) for x in re.findall(r"mem_heap_B=(\d+)",
                                                f.read())]
        self.assertEqual(sizes[-1], wanted["live_bytes"])


class Names(Case):
    def test_hostile_names_arrive(self):
        """Each name that the report knows is in every format as it is."""
        trace = self.hostile()
        names = {f["function"] for s in self.json("--stacks=0", trace)["sites"]
                 for stack in s["stacks"] for f in stack["frames"]}
        for part in ('a"b\\c", "d": [', "(1)", "fn=(2) q", "a;b 77",
                     "two?lines?tab?", "</script><b>", "€ 😀", "%s%n%d"):
            self.assertIn(part, names)
        with open(self.file(trace, "speedscope")) as f:
            frames = json.load(f)["shared"]["frames"]
        self.assertEqual({x["name"] for x in frames}, names)
        with open(self.file(trace, "dhat")) as f:
            frames = json.load(f)["ftbl"][1:]
        self.assertEqual({re.fullmatch(r"0x\w+: (.*) \(.*\)", x)[1]
                          for x in frames}, names)
        with open(self.file(trace, "callgrind")) as f:
            text = f.read()
        self.assertEqual(
            set(re.findall(r"^c?fn=\(\d+\) (.*)$", text, re.M)) - {"[root]"},
            {n if n.strip() else "???" for n in names})
        with open(self.file(trace, "massif")) as f:
            text = f.read()
        found = set(re.findall(r"^ *n\d+: \d+ 0x\w+: (.*) \(\S*\)$", text,
                               re.M))
        self.assertLessEqual(found, names)
        self.assertGreater(len(found), 0.7 * len(names))


if __name__ == "__main__":
    common.main()
