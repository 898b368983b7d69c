"""The viewer's answers: beside an opinion from the script's columns, beside
the report of the same blocks, and beside the real tools."""
import collections
import itertools
import math
import os
import random
import re

import view
from view import common

GOLDEN = ("bintree-1e-3.v2", "leakcache-1e-3.v3", "wordcount-1e-3.v2",
          "synth-bytes.v2", "synth-domains.v3", "upstream-ocamlopt.v3",
          "bigarr-1e-2.v3")
MADE = (
    dict(events=6000, stacks=80, functions=40, moved=300, threads=4, rates=3,
         rss=20, seed=1),
    dict(events=6000, stacks=80, functions=40, heap=1, seed=2),
    dict(events=3000, stacks=50, functions=30, heap=1, domains=3, seed=3),
    dict(events=4000, stacks=50, functions=30, exact=1, ns=10, seed=4),
    dict(events=3000, stacks=50, functions=30, odd=1, ns=5000, seed=5),
)
LINES = itertools.cycle(itertools.product(
    ("bytes", "blocks", "allocated", "allocations", "temporary"),
    ("function", "none", "thread", "module")))
WRAPPERS = ("malloc",)
NO_STACK = ("[no stack]", "")
PRESETS = {
    "peak": dict(live="peak"),
    "live": dict(live="end"),
    "temporary": dict(life="..999", freed=".."),
    "allocated": {},
}


def filters(opinion, seed, n):
    """Filters at random, of what the trace has."""
    rng = random.Random(
        seed + int(os.environ.get("ALQ_TEST_SEED", 0)))
    end = opinion.end
    # A colon of the script may have been a semicolon.
    names = sorted({f[0] for r in opinion.rows for f in r.stack
                    if "&amp:" not in f[0]}) or ["x"]
    files = sorted({f[1] for r in opinion.rows for f in r.stack
                    if f[1] and ":" not in f[1]}) or ["x"]

    def span(most):
        a, b = sorted(rng.randrange(most + 1) for _ in range(2))
        return rng.choice(["%d..%d" % (a, b), "%d.." % a, "..%d" % b, ".."])

    def words(names=names):
        word = rng.choice(names)
        start, end = (re.sub("[^A-Za-z0-9_]", ".+", part)
                      for part in (word[:3], word[-3:]))
        return rng.choice([word, "=" + word, word[:3] or word, "~^" + start,
                           "~(%s|%s)$" % (end, start), word.lower(),
                           "~^" + start.lower(), word.swapcase()])

    for _ in range(n):
        f = {}
        if rng.random() < 0.3:
            f["alloc"] = span(end)
        if rng.random() < 0.4:
            f["live"] = rng.choice(["peak", "end", str(rng.randrange(end + 1)),
                                    span(end)])
        if rng.random() < 0.3:
            f["freed"] = rng.choice(["never", span(end)])
        if rng.random() < 0.3:
            f["size"] = span(3000)
        if rng.random() < 0.3:
            f["life"] = span(end // 2)
        if rng.random() < 0.4:
            heaps = [h for h in ("minor", "major", "malloc")
                     if rng.random() < 0.6]
            if heaps:
                f["heap"] = ",".join(heaps)
        if rng.random() < 0.2:
            f["thread"] = [rng.randrange(4), rng.randrange(4)]
        if rng.random() < 0.2:
            f["domain"] = [rng.randrange(3)]
        if rng.random() < 0.3:
            f["in_"] = [words() for _ in range(rng.randrange(1, 3))]
        if rng.random() < 0.3:
            f["notin"] = [words()]
        if rng.random() < 0.2:
            f[rng.choice(["infile", "notinfile"])] = [words(files)]
        yield f


def site_of(row):
    """Name and file of the innermost frame that is no allocation wrapper; the
    trace's word for no stack."""
    frames = [f for f in row.stack if f[0] not in WRAPPERS]
    return frames[-1][:2] if frames else NO_STACK


class Answers(view.Case):
    def check_filter(self, server, opinion, f):
        query = view.query(**f)
        rows = [r for r in opinion.rows if opinion.passes(r, f)]
        wanted = opinion.total(f, rows)
        for name in ("timeline", "tree", "sites", "functions", "hot", "heat",
                     "samples"):
            self.sum_is(server.ask(name, query)["total"], wanted,
                        (name, query))
        sites = server.ask("sites", query)
        self.assertEqual(sum(r["sum"]["n"] for r in sites["rows"])
                         + sites["rest"]["sum"]["n"], wanted["n"], query)
        self.check_functions(server, opinion, query, rows, f)
        self.check_tree(server, opinion, query, rows, f)
        self.check_line(server, opinion, query, f, *next(LINES))

    def check_line(self, server, opinion, query, f, draw, stack):
        """Its bands, by a count of the events; they add up to the line."""
        n_most = 23
        got = server.ask("timeline", "&".join(filter(None, (
            query, "n=%d&draw=%s&stack=%s" % (n_most, draw, stack)))))
        self.assertEqual((got["draw"], got["stack"]), (draw, stack))
        what, n, step_us = (query, draw, stack), len(got["part"]), got["step_us"]
        self.assertLessEqual(n, n_most)
        self.assertGreater(n * step_us, opinion.end)

        def key(row):
            return {"function": site_of(row), "thread": row.thread,
                    "module": None}.get(stack)

        def line(f, draw):
            by = "blocks" if draw in ("blocks", "allocations") else "bytes"
            if draw in ("bytes", "blocks"):
                return opinion.levels(f, by, step_us, n, key)
            return opinion.births(f, by, step_us, n, key, draw == "temporary")

        def same(values, steps):
            self.assertEqual(len(values), n, what)
            for value, (total, _) in zip(values, steps):
                self.near(value, total, what)

        steps = line(f, draw)
        same(got["part"], steps)
        same(got["all"], line({}, draw))
        if draw == "temporary":
            same(got["part_of"], line(f, "allocated"))
            same(got["all_of"], line({}, "allocated"))
        if draw in ("allocated", "allocations"):
            total = got["total"]["bytes" if draw == "allocated" else "blocks"]
            self.assertLessEqual(abs(sum(got["part"]) - total), 1 + n / 2, what)
        if stack == "none":
            self.assertNotIn("bands", got)
            return
        self.check_bands(got, steps, stack, what)

    def check_bands(self, got, steps, stack, what):
        bands = got["bands"]
        for i, value in enumerate(got["part"]):
            self.assertEqual(sum(b["values"][i] for b in bands), value, what)
            self.assertTrue(all(b["values"][i] >= 0 for b in bands), what)
        named = [b for b in bands if "others" not in b]
        self.assertLessEqual(len(named), 10)
        if len(named) < len(bands):
            self.assertEqual((len(named), bands.index(named[-1])), (10, 9))
        area = [sum(b["values"]) for b in named]
        for a, b in zip(area, area[1:]):
            self.assertGreaterEqual(a + len(steps), b, what)
        if stack == "module":
            self.assertEqual(len({b["module"] for b in named}), len(named))
            return
        # Functions of two modules may have one name.
        labels = [view.in_script(got["functions"][b["function"]])
                  if stack == "function" else b["thread"] for b in named]
        for i, (_, moments) in enumerate(steps):
            mine = collections.Counter()
            for label, b in zip(labels, named):
                mine[label] += b["values"][i]
            self.assertTrue(any(
                all(abs(mine[label] - keys.get(label, 0)) <= 2 + 1e-9 * mine[label]
                    for label in mine) for keys in moments), (what, i))
        if len(moments) == 1 and len(named) < len(bands) and \
                all(len(m) == 1 for _, m in steps):
            sums = collections.Counter()
            for _, (keys,) in steps:
                sums.update(keys)
            self.assertLessEqual(
                max(v for k, v in sums.items() if k not in labels),
                min(sums[k] for k in labels) * (1 + 1e-9) + 1e-3, what)

    def check_functions(self, server, opinion, query, rows, filter_):
        got = server.ask("functions", query)
        wanted = {}
        for row in rows:
            for function in view.folded(row):
                wanted.setdefault(function, []).append(row)
        self.assertEqual(got["rest"]["rows"] + len(got["rows"]), len(wanted),
                         query)
        for row in got["rows"]:
            f = got["functions"][row["function"]]
            self.sum_is(row["all"],
                        opinion.total(filter_, wanted[view.in_script(f)]),
                        (query, f))

    def check_tree(self, server, opinion, query, rows, filter_):
        self.check_nodes(server, opinion, query, filter_,
                         [(tuple(view.folded(r)), r) for r in rows])

    def check_nodes(self, server, opinion, query, filter_, stacks):
        """Each path of the tree has what the stacks that begin so have."""
        got = server.ask("tree", query + ("&" if query else "") + "min=0.02")
        paths = [()]
        for i, (function, parent, own, all_, _, n, *_) in \
                enumerate(got["nodes"]):
            if i > 0:
                f = got["functions"][function]
                paths.append(paths[parent] + (view.in_script(f),))
            here = [r for s, r in stacks if s[:len(paths[i])] == paths[i]]
            wanted = opinion.total(filter_, here)
            self.assertEqual(n, wanted["n"], (query, paths[i]))
            self.near(all_, wanted["bytes"], query)
            self.near(own, opinion.total(
                filter_, [r for s, r in stacks if s == paths[i]])["bytes"],
                query)
        # Nothing that is large enough is missing.
        least = 0.02 * got["focus"]["bytes"]
        wanted = {s[:k] for s, _ in stacks for k in range(len(s) + 1)}
        for path in wanted - set(paths):
            self.assertLess(opinion.total(
                filter_, [r for s, r in stacks if s[:len(path)] == path])
                ["bytes"], least * 1.0001 + 1, (query, path))

    def check_drawn(self, server, opinion, names, f, look):
        """Trees of stacks as they are drawn, whole and of a focus."""
        query = view.query(**f, **look)
        stacks = [(names.drawn(r, **look), r) for r in opinion.rows
                  if opinion.passes(r, f)]
        self.check_nodes(server, opinion, query, f, stacks)
        self.check_nodes(server, opinion, query + "&dir=up", f,
                         [(s[::-1], r) for s, r in stacks])
        got = server.ask("graph", query + "&nodes=1000&min=0&edge=0")
        ids = {view.in_script(fn): fn["id"] for fn in got["functions"]}
        often = [fn for fn in ids if any(s.count(fn) > 1 for s, _ in stacks)]
        for fn in (often + sorted(ids))[:3]:
            # Where a stack comes to it more than once, the innermost counts.
            ends = [(s, len(s) - 1 - s[::-1].index(fn), r)
                    for s, r in stacks if fn in s]
            focus = "%s&focus=%d" % (query, ids[fn])
            self.check_nodes(server, opinion, focus, f,
                             [(s[at + 1:], r) for s, at, r in ends])
            self.check_nodes(server, opinion, focus + "&dir=up", f,
                             [(s[:at][::-1], r) for s, at, r in ends])
            for more in ("", "&nodes=3"):
                self.check_graph(server, opinion, focus + more, f,
                                 [(s, r) for s, r in stacks if fn in s], fn)
        for more in ("", "&nodes=1000&min=0&edge=0", "&nodes=7&min=0.01"):
            self.check_graph(server, opinion, query + more, f, stacks)

    def check_graph(self, server, opinion, query, filter_, stacks,
                    focus=None):
        """A stack counts once for each function on it and for each call."""
        got = server.ask("graph", query)
        keys = dict(p.split("=") for p in query.split("&") if "=" in p)
        weight = [opinion.total(filter_, [r])["bytes"] for _, r in stacks]
        whole = sum(weight)
        self.near(got["focus"]["bytes"], whole, query)
        every = {fn for s, _ in stacks for fn in s}

        def merge(kept):
            of, own, calls, ways = ({} for _ in range(4))
            for (stack, _), w in zip(stacks, weight):
                shown = [(i, fn) for i, fn in enumerate(stack) if fn in kept]
                for fn in {fn for _, fn in shown}:
                    of[fn] = of.get(fn, 0) + w
                if stack and stack[-1] in kept:
                    own[stack[-1]] = own.get(stack[-1], 0) + w
                here = {}
                for (i, a), (k, b) in zip(shown, shown[1:]):
                    here[a, b] = here.get((a, b)) or k > i + 1
                for call, is_way in here.items():
                    calls[call] = calls.get(call, 0) + w
                    ways[call] = ways.get(call) or is_way
            return of, own, calls, ways

        of, own, calls, _ = merge(every)

        def entropy(part, all_):
            return -part * math.log2(part / all_) if 0 < part < all_ else 0

        def score(fn):
            if fn == focus or fn[0].startswith("thread "):
                return math.inf
            return own.get(fn, 0) + entropy(own.get(fn, 0), of[fn]) + \
                sum(entropy(w, of[fn]) for (a, _), w in calls.items()
                    if a == fn) + \
                sum(entropy(w, of[fn]) for (_, b), w in calls.items()
                    if b == fn)

        least = float(keys.get("min", 0.005)) * whole
        large = sorted((fn for fn in every if of[fn] >= least), key=score,
                       reverse=True)[:int(keys.get("nodes", 80))]
        names = [view.in_script(got["functions"][n[0]]) for n in got["nodes"]]
        scores = [score(fn) for fn in large]
        for mine, theirs in zip(scores, sorted(map(score, names),
                                               reverse=True)):
            if mine != theirs:
                self.near(theirs, mine, query)
        self.assertEqual(len(names), len(large), query)
        of, own, calls, ways = merge(set(names))
        for fn, (_, self_, all_, *_) in zip(names, got["nodes"]):
            self.near(all_, of[fn], (query, fn))
            self.near(self_, own.get(fn, 0), (query, fn))
        least = float(keys.get("edge", 0.001)) * whole
        seen = set()
        for a, b, value, is_way in got["edges"]:
            call = names[a], names[b]
            seen.add(call)
            self.near(value, calls[call], (query, call))
            self.assertEqual(bool(is_way), bool(ways[call]), (query, call))
        for call in set(calls) - seen:
            self.assertLess(calls[call], least * 1.0001 + 1, (query, call))
        self.assertEqual(got["rest"]["edges"], len(calls) - len(seen), query)
        self.assertEqual(got["rest"]["nodes"], len(every) - len(names), query)
        self.near(got["rest"]["self"], sum(
            w for (s, _), w in zip(stacks, weight)
            if s and s[-1] not in names), query)

    def check_traces(self, name, path, n):
        opinion = self.opinion(path)
        with view.Server("--no-index", path) as server:
            for f in PRESETS.values():
                self.check_filter(server, opinion, f)
            for f in filters(opinion, 1, n):
                self.check_filter(server, opinion, f)

    def test_golden(self):
        for name in GOLDEN[:3] if view.SMALL else GOLDEN:
            self.check_traces(name, self.write("t.ctf", common.trace(name)),
                              2 if view.SMALL else 8)

    def test_made_up(self):
        for keys in MADE:
            keys = {**keys, "events": view.much(keys["events"])}
            self.check_traces(str(keys), self.view_trace(**keys), 10)

    def test_pictures(self):
        """Recursion kept, threads apart, libraries folded, and the graph."""
        path = self.view_trace(**{**MADE[0], "events": 600})
        opinion = self.opinion(path)
        looks = (dict(), dict(recursion="keep"), dict(threads="split"),
                 dict(fold=["inline"]), dict(fold=["library:"]),
                 dict(fold=["file:~file[0-9].c", "function:~f[12]", "=f30"],
                      threads="split"),
                 dict(fold=["module:~^.+"], recursion="keep"),
                 dict(fold=["=f34", "file:inline.h"], hide=["f2"],
                      recursion="keep", threads="split"))
        with view.Server("--no-index", path) as server:
            names = view.Names(server)
            for i, look in enumerate(looks):
                self.check_drawn(server, opinion, names,
                                 dict(live="peak") if i % 2 else {}, look)
            # Both sides of a difference are drawn as the first.
            both = server.ask("difftree", view.query(
                **looks[-1], b_hide="f2", b_recursion="fold", min=0.01))
            tree = server.ask("tree", view.query(**looks[-1], min=0.01))
            for node, one in zip(both["nodes"], tree["nodes"]):
                self.assertEqual(node[8:], one[3:5] + [one[2], one[5]])
                self.assertEqual(node[2:6], one[2:6])
            self.assertEqual(len(both["nodes"]), len(tree["nodes"]))
            # What is drawn plays no part elsewhere.
            for name in ("sites", "functions", "hot", "groups"):
                self.assertEqual(
                    server.ask(name),
                    server.ask(name, "fold=f&recursion=keep&threads=split"))

    def test_namesakes(self):
        """Threads of one name are told apart."""
        path = self.view_trace(events=2000, threads=3, namesakes=1)
        with view.Server("--no-index", path) as server:
            got = server.ask("tree", "threads=split&depth=1")
        threads = [f for f in got["functions"] if f.get("whole") == "thread"]
        self.assertEqual(sorted(f.get("short", f["name"]) for f in threads),
                         ["thread t0 (%d)" % tid for tid in (100, 101, 102)])

    def check_callers(self, got, row, site):
        """They call the site, on a stack of it that has most."""
        def key(f):
            return f["function"], f["file"]

        most = max(s["allocated_bytes"] for s in site["stacks"])
        wanted = []
        for stack in site["stacks"]:
            frames = [key(f) for f in stack["frames"]]
            outward = frames[frames.index(key(site)):]
            # A function that calls itself stands at its outermost place.
            folded = list(dict.fromkeys(reversed(outward)))[::-1]
            if stack["allocated_bytes"] >= most * (1 - 1e-9):
                wanted.append([f for f in folded if f != key(site)][:2])
        callers = [got["functions"][f] for f in row["callers"]]
        self.assertIn([(f["name"], f["file"]) for f in callers], wanted, site)

    def test_presets_are_the_report_s(self):
        """Of all golden traces, and of files that ALQ_TEST_TRACES names: the
        totals of its measures, and its sites."""
        paths = [(name, self.write(name + ".ctf", data))
                 for name, data in common.traces()
                 if "big" not in name and "evict" not in name]
        more = os.environ.get("ALQ_TEST_TRACES", "").split()
        for name, path in paths + [(path, path) for path in more]:
            with view.Server("--no-index", path) as server:
                for measure, f in PRESETS.items():
                    self.check_report(
                        server, view.query(**f), measure,
                        self.json("--top=0", "--stacks=1",
                                  *(["--" + measure] if measure != "temporary"
                                    else []), path), name)

    def check_report(self, server, query, measure, report, what):
        def same(sum_, where):
            self.assertEqual(sum_["n"], where[measure + "_sampled_blocks"],
                             (what, query))
            self.assertEqual(sum_["samples"], where[measure + "_samples"])
            self.near(sum_["bytes"], where[measure + "_bytes"], what)
            self.near(sum_["bytes_se"], where[measure + "_bytes_stderr"],
                      what)
            self.near(sum_["blocks"], where[measure + "_objects"], what)
            self.near(sum_["blocks_se"], where[measure + "_objects_stderr"],
                      what)

        got = server.ask("sites", query)
        same(got["total"], report)
        wanted = {(s["function"], s["file"], s["module"], s["is_mapping"]): s
                  for s in report["sites"]}
        for row in got["rows"]:
            f = got["functions"][row["function"]]
            site = wanted[f["name"], f["file"], f["module"],
                          row.get("is_mapping", False)]
            same(row["sum"], site)
            if measure == "allocated" and len(site["stacks"]) > 1:
                self.check_callers(got, row, site)
            self.near(row["life_us"], site[measure + "_average_life_us"], what)

    def test_filters_are_the_report_s(self):
        """report --filter, of the same query: all four measures."""
        for keys in MADE[:3]:
            path = self.view_trace(**keys)
            opinion = self.opinion(path)
            with view.Server("--no-index", path) as server:
                some = [*filters(opinion, 2, 2 if view.SMALL else 6),
                        {"site": "~[24680]$"}]
                for f in some:
                    query = view.query(**f)
                    report = self.json("--top=0", "--stacks=1000",
                                       "--allocated", "--filter", query, path)
                    self.assertEqual(report["filter"], query)
                    self.check_report(server, query, "allocated", report, keys)
                    if "live" not in f and "heap" not in f:
                        self.check_report(
                            server, view.query(**f, live="peak"), "peak",
                            report, keys)
                    self.check_timeline(server, query, report)

    def check_timeline(self, server, query, report):
        """The report's steps are twice, four times ... as long or short."""
        got = server.ask("timeline", query + "&n=300")
        most = max(got["part"])
        self.near(max(report["timeline"]["live_bytes"]), most, query)

    def test_the_real_tools_totals(self):
        """Samples in all, as hotspots tells."""
        n = 0
        for name, data in common.traces():
            wanted = common.report(name + ".hotspots")
            if wanted is None or " samples of " not in wanted or "big" in name:
                continue
            path = self.write("t.ctf", data)
            with view.Server("--no-index", path) as server:
                info, = server.ask("info")["traces"]
                tree = server.ask("tree", "by=samples")
            samples = int(re.search(r"(\d+) samples of", wanted)[1])
            self.assertEqual(info["total"]["samples"], samples, name)
            self.assertEqual(tree["nodes"][0][3], samples, name)
            n += 1
        self.assertGreater(n, 15)

    def test_the_real_tools_flame_graph(self):
        """Folded stacks by samples, as the real tool prints them: functions by
        name, without nameless frames and stacks of a single name."""
        n = 0
        for name, data in common.traces():
            wanted = common.report(name + ".folded")
            if wanted is None or not re.match(r"[^\n]+ \d+\n", wanted) or \
                    re.search("edges|big|deep|evict", name):
                continue
            path = self.write("t.ctf", data)
            with view.Server("--no-index", path) as server:
                tree = server.ask("tree", "by=samples&min=0")
            paths, lines = [()], {}
            for i, (function, parent, own, *_) in enumerate(tree["nodes"]):
                if i > 0:
                    f = tree["functions"][function]["name"]
                    paths.append(paths[parent] + (f,))
                stack = ";".join(dict.fromkeys(
                    f for f in paths[i]
                    if not re.fullmatch("0x[0-9a-f]+", f)))
                if ";" in stack and own > 0:
                    lines[stack] = lines.get(stack, 0) + own
            self.assertEqual(sorted("%s %d" % l for l in lines.items()),
                             sorted(wanted.splitlines()), name)
            n += 1
        self.assertGreater(n, 8)

    def test_two_traces(self):
        """diff of two, beside aliquot diff."""
        a = self.view_trace("a.ctf", events=20000, stacks=60, functions=30)
        b = self.view_trace("b.ctf", events=20000, stacks=60, functions=30,
                            seed=7, sizes=6000)
        wanted = common.json.loads(self.ok("diff", "--allocated", "--json",
                                           a, b))
        with view.Server("--no-index", a, b) as server:
            got = server.ask("diff", "b.t=1&limit=1000")
        self.compare(got, wanted, "allocated")

    def test_two_times(self):
        path = self.view_trace(events=20000, stacks=60, functions=30,
                               moved=200)
        wanted = common.json.loads(self.ok("diff", "--json", "--at=1ms,4ms",
                                           path))
        with view.Server("--no-index", path) as server:
            got = server.ask("diff", "live=1000&b.live=4000&limit=1000")
        self.compare(got, wanted, "live")

    def check_samples(self, server, opinion, f):
        """Each row has the site that the table of sites counts it for, and
        what the filter finds of its site and of its stack is theirs."""
        query = view.query(**f)
        got = server.ask("samples", query + "&limit=1000")
        self.assertEqual(len(got["rows"]), got["n"])
        rows = sorted((r for r in opinion.rows if opinion.passes(r, f)),
                      key=lambda r: (r.born, r.number))
        of_site, of_stack, moved = {}, {}, 0
        for row, sample in zip(rows, got["rows"]):
            self.assertEqual((sample["at_us"], sample["end_us"],
                              sample["bytes"], sample["thread"]),
                             (row.born, row.end, row.size, row.thread))
            site = got["functions"][sample["site"][0]]
            self.assertEqual(sample["site"] in sample["stack"],
                             sample["stack"] != [])
            of_site.setdefault(site["name"], []).append(row)
            of_stack.setdefault(sample["node"], []).append(row)
            place = opinion.generation(row)
            self.assertEqual(sample.get("generation"), place, row)
            moved += (place or 0) > 1
            if place:
                self.assertEqual(sample["chain_us"], row.chain_life)
        sites, by_name = server.ask("sites", query + "&limit=100000"), {}
        for r in sites["rows"]:
            name = sites["functions"][r["function"]]["name"]
            by_name[name] = by_name.get(name, 0) + r["sum"]["n"]
        self.assertEqual(by_name, {name: len(theirs) for name, theirs
                                   in of_site.items()})
        for name, theirs in of_site.items():
            if not re.fullmatch("[ -~]+", name):
                continue  # the text of an answer is not the trace's bytes
            total = server.ask("heat", query + "&" + view.query(
                site="=" + name))["total"]
            self.sum_is(total, opinion.total(f, theirs), name)
        for node, theirs in list(of_stack.items())[:20]:
            self.assertEqual(len({tuple(r.stack) for r in theirs}), 1)
            total = server.ask("heat", query + "&node=%d" % node)["total"]
            self.sum_is(total, opinion.total(f, theirs), node)
        return of_site, moved

    def test_samples_have_their_site_and_their_like(self):
        for keys in (dict(moved=300), dict(heap=1), dict(odd=1)):
            path = self.view_trace(events=900, stacks=30, functions=12,
                                   seed=11, **keys)
            opinion = self.opinion(path)
            with view.Server("--no-index", path) as server:
                sites, moved = self.check_samples(server, opinion, {})
                self.check_samples(server, opinion,
                                   dict(life="5..", size="16.."))
                all_ = server.ask("samples", "order=name&limit=1000")
            names = [all_["functions"][r["site"][0]]["name"].encode()
                     for r in all_["rows"]]
            self.assertEqual(names, sorted(names))
            self.assertEqual(moved > 0, "moved" in keys)
        innermost = {r.stack[-1][0] for r in opinion.rows if r.stack}
        self.assertIn("malloc", innermost, "no stack has a wrapper")
        self.assertNotIn("malloc", sites)

    def compare(self, got, wanted, measure):
        def same(row, change):
            self.near(row["a"]["bytes"], change["a_bytes"], change)
            self.near(row["b"]["bytes"], change["b_bytes"], change)
            self.near(row["delta_bytes"], change["change_bytes"], change)
            self.near(row["delta_se"], change["change_bytes_stderr"], change)
            self.assertAlmostEqual(row["z"], change["sigmas"] or 0, 3)

        same(got, wanted["totals"][measure])
        sites = {(s["function"], s["file"], s["is_mapping"]): s
                 for s in wanted["sites"]}
        self.assertEqual(len(sites), len(wanted["sites"]))
        self.assertEqual(len(got["rows"]), len(sites))
        for row in got["rows"]:
            f = got["functions"][row["function"]]
            site = sites[f["name"], f["file"], row.get("is_mapping", False)]
            same(row, site)
            self.assertAlmostEqual(row["chance"], site["p"], 6)


if __name__ == "__main__":
    common.main()
