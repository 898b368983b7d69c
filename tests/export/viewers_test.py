"""Exports in the opinion of the programs that read them."""
import collections
import itertools
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


class Firefox(Case):
    def test_totals(self):
        for name, trace in self.few():
            path = self.file(trace, "firefox")
            with self.subTest(name), judges.Profiler(path) as profiler:
                wanted = self.json("--top=1", "--stacks=1", trace)
                allocated, live = (wanted["allocated_bytes"],
                                   wanted["live_bytes"])
                for source, bytes_ in (
                        ("native-allocations", allocated),
                        ("native-retained-allocations", live),
                        ("native-deallocations-memory", allocated - live)):
                    self.assertEqual(sum(profiler.totals(source)), bytes_,
                                     source)
                counter = profiler.ask("counter", "list")["counters"][0]
                self.assertEqual(counter["unit"], "bytes")
                self.curve(path, counter["stats"][0]["value"], wanted,
                           name != "synth-domains.v3")

    def curve(self, path, highest, wanted, is_in_order):
        """The counter is as high as the allocations beside it.  The peak of
        samples is an estimate of its own, else it is the highest point.  If
        the trace is in the order of time, the highest that the report's
        timeline has is between what the ends of all moments have and what
        they would with their births first, each block rounded."""
        with open(path) as f:
            data = json.load(f)
        rows = [row for t in data["threads"] for row in zip(
            *(t["nativeAllocations"][k] for k in
              ("time", "weight", "memoryAddress")))]
        born = {a: time for time, weight, a in rows if weight > 0}

        def most(phase):
            order = sorted(rows, key=lambda r: (r[0], phase(*r)))
            return max(itertools.accumulate((r[1] for r in order), initial=0))

        if wanted["recording"]["is_exact"]:
            self.assertEqual(highest, wanted["peak_bytes"])
        else:
            self.assertEqual(highest, most(
                lambda time, weight, a:
                1 if weight > 0 else 2 if born[a] == time else 0))
        if not is_in_order:
            return
        sums = {}
        bytes_ = 0
        for time, weight, _ in sorted(rows):
            bytes_ += weight
            sums[time] = bytes_
        line = max(wanted["timeline"]["live_bytes"])
        self.assertGreater(line, max(sums.values()) - len(born))
        self.assertLess(line, most(lambda time, weight, a: weight < 0)
                        + len(born))

    def test_functions(self):
        """Of a trace with one thread, as the viewer lists by thread."""
        trace = self.golden("leakcache-1e-3.v2")
        wanted = collections.Counter()
        for (name, _), bytes_ in self.inclusive(trace).items():
            wanted[name] = max(wanted[name], bytes_)
        with judges.Profiler(self.file(trace, "firefox")) as profiler:
            profiler.command("strategy", "native-allocations")
            got = {f["name"]: f["totalSamples"] for f in
                   profiler.ask("thread", "functions")["functions"]}
        self.assertGreater(len(got), 4)
        for name, bytes_ in got.items():
            # Blocks are rounded here and stacks there.
            self.assertLessEqual(abs(bytes_ - wanted[name]), 100, name)

    def test_threads_and_modules(self):
        trace = self.made(6000, 300, 1e-4)
        with judges.Profiler(self.file(trace, "firefox")) as profiler:
            threads = profiler.ask("thread", "list")["threads"]
            self.assertEqual(
                sorted((t["name"], t["tid"], t["pid"]) for t in threads),
                [("main", 100, "4711"), ("worker", 101, "4711")])
            profiler.command("strategy", "native-allocations")
            functions = profiler.ask("thread", "functions")["functions"]
        self.assertEqual({f["library"] for f in functions},
                         {"tree", "libdeep.so.1"})
        with open(self.file(trace, "firefox")) as f:
            libs = json.load(f)["libs"]
        self.assertIn(("tree", "/bin/tree", "abcdef01",
                       "01EFCDAB" + "0" * 25),
                      [(x["name"], x["path"], x["codeId"], x["breakpadId"])
                       for x in libs])

    def test_resident_memory(self):
        if not exported.VICTIM:
            self.skipTest("no recordings in this preset")
        trace = self.recorded("--interval=4K")
        looks = [int(x) for x in re.findall(r"\trss bytes=(\d+)",
                                            self.ok("script", trace))]
        self.assertGreater(len(looks), 0)
        with judges.Profiler(self.file(trace, "firefox")) as profiler:
            counters = profiler.ask("counter", "list")["counters"]
        self.assertEqual([c["name"] for c in counters],
                         ["malloc", "resident"])
        with open(self.file(trace, "firefox")) as f:
            counts = json.load(f)["counters"][1]["sampleGroups"][0][
                "samples"]["count"]
        self.assertEqual(sum(counts), looks[-1])
        self.assertEqual(counts[0], looks[0])

    def test_many_blocks(self):
        """More than are shown one by one: said, bounded, and the sums stay."""
        trace = self.made(1700000, 2000, 1e-4)
        path = os.path.join(self.dir, "many.json")
        result = common.run("export", "--format=firefox", "-o", path, trace)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^aliquot: export: \d+ sampled blocks "
                         r"are shown as \d+, with times in steps of [^\n]+\n$")
        wanted = self.json("--top=1", "--stacks=1", trace)
        with open(path) as f:
            data = json.load(f)
        weights = [w for t in data["threads"]
                   for w in t["nativeAllocations"]["weight"]]
        self.assertLessEqual(len(weights), 1500000)
        self.assertEqual(sum(weights), wanted["live_bytes"])
        self.assertEqual(sum(w for w in weights if w > 0),
                         wanted["allocated_bytes"])
        for thread in data["threads"]:
            self.pairs(thread["nativeAllocations"])

    def pairs(self, table):
        """Times do not go back; a deallocation undoes an allocation."""
        self.assertEqual(table["time"], sorted(table["time"]))
        alive = {}
        for address, weight, stack in zip(table["memoryAddress"],
                                          table["weight"], table["stack"]):
            if weight > 0:
                self.assertNotIn(address, alive)
                alive[address] = (weight, stack)
            else:
                self.assertEqual(alive.pop(address), (-weight, stack))

    def test_pairs(self):
        for name, trace in self.some():
            with open(self.file(trace, "firefox")) as f:
                for thread in json.load(f)["threads"]:
                    self.pairs(thread["nativeAllocations"])


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
        with open(self.file(trace, "firefox")) as f:
            data = json.load(f)
        weights = [w for t in data["threads"]
                   for w in t["nativeAllocations"]["weight"]]
        self.assertEqual(sum(weights), wanted["live_bytes"])
        self.assertEqual(sum(w for w in weights if w > 0),
                         wanted["allocated_bytes"])
        self.assertEqual(len({t["pid"] for t in data["threads"]}), 2)
        heights = list(itertools.accumulate(
            data["counters"][0]["sampleGroups"][0]["samples"]["count"]))
        self.assertGreater(max(heights), 0)
        self.assertLessEqual(abs(heights[-1] - alone[1]["live_bytes"]), 1)
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
        with open(self.file(trace, "firefox")) as f:
            threads = json.load(f)["threads"]
        self.assertEqual({t["stringArray"][i] for t in threads
                          for i in t["funcTable"]["name"]}, names)
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
