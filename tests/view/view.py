"""What the tests of the viewer share: a server of it, and a second opinion on
traces and filters from nothing but the columns of `aliquot script`."""
import collections
import json
import math
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tests", "cli"))
import common  # noqa: E402

VIEW_TRACE = os.environ["VIEW_TRACE"]
SMALL = not common.LONG


def much(n):
    return n // 10 if SMALL else n


SMALL_LETTERS = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}


def takes(text, name):
    """Whether a text of a filter takes a name: case counts with a capital."""
    if text[0] == "=":
        return name == text[1:]
    if not re.search("[A-Z]", text):
        name = name.translate(SMALL_LETTERS)
    return re.search(text[1:], name, re.S) is not None if text[0] == "~" \
        else text in name


class Server:
    """aliquot view of some traces; ask() gives an answer as a dictionary."""

    def __init__(self, *args, env=None):
        self.process = subprocess.Popen(
            [common.BIN, "view", "--no-open", *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**common.ENV,
                                                    **(env or {})})
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it, and returns (status, what it said)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=common.PATIENCE_S)[1]
        return self.process.returncode, said

    def get(self, path, headers=None, method="GET"):
        """(status, headers, body) of a path below the token."""
        request = urllib.request.Request(self.url + path, method=method,
                                         headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=common.PATIENCE_S) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def ask(self, name, query=""):
        status, _, body = self.get("api/%s?%s" % (name, query))
        assert status == 200, (name, query, body)
        assert len(body) <= 1000000
        return json.loads(body)


def query(**keys):
    """A query of keys whose values are texts or lists of them; _ ends a key
    that Python has taken, and b_ begins one of side B."""
    pairs = []
    for key, values in keys.items():
        key = key.rstrip("_").replace("b_", "b.", 1)
        for value in values if isinstance(values, list) else [values]:
            pairs.append("%s=%s" % (key, urllib.parse.quote(str(value))))
    return "&".join(pairs)


Row = collections.namedtuple(
    "Row", "number born end promoted size samples source thread domain stack"
           " p life chain_life at_peak colours")


def frames_of(text):
    """(function, file, line) of each frame, outermost first."""
    out = []
    for frame in text.split(";") if text else []:
        function, _, place = frame.rpartition("@")
        file, _, line = place.rpartition(":")
        if not function:
            function, file, line = frame, "", "0"
        elif not file:
            file, line = place, "0"
        out.append((function, file, int(line)))
    return out


def in_script(function):
    """Name and file of a function as frames_of gives them: between frames
    the script has semicolons, and so none within."""
    return function["name"].replace(";", ":"), function["file"]


class Opinion(common.Opinion):
    """Rows with all that filters ask for, of a trace of one process."""

    def __init__(self, script, rate, word_bits, program):
        super().__init__(script, rate, word_bits, program)
        promoted, moved, alive, domains = {}, {}, {}, []
        threads = {}
        last_free, n = None, 0
        self.events = []  # (us, kind, row) as in the file
        for line in script.split("\n")[1:-1]:
            (time, event, ident, _, _, _, domain, thread, _, more) = \
                line.split("\t")
            if event in ("alloc", "free", "promote"):
                self.events.append((int(time), event,
                                    n if event == "alloc" else alive[ident]))
            if event == "alloc":
                alive[ident] = n
                domains.append(int(domain))
                threads[n] = int(thread) if thread else int(domain)
                if more.startswith("moved_from="):
                    moved[n] = last_free
                n += 1
            elif event == "free":
                last_free = alive.pop(ident)
            elif event == "promote":
                promoted[alive[ident]] = int(time)
        self.peaks_us = [us for us, _ in self.moments()]
        _, at_peak = self.peak()
        self.newer = {old: new for new, old in moved.items()}
        self.older = moved
        chain = self.chain_lives(moved)
        self.rows = [
            Row(i, b.born, b.died, promoted.get(i), b.bytes, b.samples,
                b.source, threads[i], domains[i], frames_of(b.stack),
                self.p(b), self.life(b), chain.get(i, self.life(b)),
                at_peak.get(i, set()), self.colours(i))
            for i, b in enumerate(self.blocks)]

    def generation(self, row):
        """The row's place in its chain of realloc, from 1; None: it is in
        none."""
        place, number = 1, row.number
        while number in self.older:
            place, number = place + 1, self.older[number]
        return place if place > 1 or row.number in self.newer else None

    def chain_lives(self, moved):
        """Of blocks that realloc made of one another: from the first one's
        birth to the last one's end."""
        lives = {}
        for first in set(moved.values()) - set(moved):
            chain = [first]
            while chain[-1] in self.newer:
                chain.append(self.newer[chain[-1]])
            died = self.blocks[chain[-1]].died
            life = max(0, (self.end if died is None else died)
                       - self.blocks[first].born)
            lives.update(dict.fromkeys(chain, life))
        return lives

    def span(self, row, heaps):
        """(born, end or None, life, at the peak) as a filter with some heaps
        sees the row; None: not at all."""
        if row.source == "external":
            seen = "malloc" in heaps
        elif row.source in ("major", "mmap"):
            seen = "major" in heaps
        elif row.promoted is None:
            seen = "minor" in heaps
        else:
            seen = "minor" in heaps or "major" in heaps
        if not seen:
            return None
        born, end = row.born, row.end
        if row.source != "minor" or row.promoted is None or \
                ("minor" in heaps and "major" in heaps):
            return born, end, row.chain_life, row.at_peak
        if "major" not in heaps:
            end = row.promoted
        else:
            born = row.promoted
        at_peak = {k for k in row.at_peak if born <= self.peaks_us[k] and
                   (end is None or end > self.peaks_us[k])}
        life = max(0, (self.end if end is None else end) - born)
        return born, end, life, at_peak

    @staticmethod
    def heaps(f):
        return f.get("heap", "minor,major,malloc").split(",")

    def passes(self, row, f):
        span = self.span(row, self.heaps(f))
        if span is None:
            return False
        born, end, life, at_peak = span

        def within(key, value):
            return key not in f or value_in(f[key], value)

        def named(text, at=0):
            return any(takes(text, frame[at]) for frame in row.stack)

        live = f.get("live")
        if live == "peak" and not at_peak or live == "end" and end is not None:
            return False
        if live not in (None, "peak", "end"):
            least, most = range_of(live)
            if most is not None and born > most:
                return False
            if least is not None and end is not None and end <= least:
                return False
        freed = f.get("freed")
        if freed == "never" and end is not None:
            return False
        if freed not in (None, "never"):
            if range_of(freed)[0] is None and end is None:
                return False
            if not value_in(freed, self.end if end is None else end):
                return False
        if "thread" in f and row.thread not in f["thread"]:
            return False
        if "domain" in f and row.domain not in f["domain"]:
            return False
        return within("alloc", born) and within("size", row.size) and \
            within("life", life) and all(map(named, f.get("in_", []))) and \
            not any(map(named, f.get("notin", []))) and \
            all(named(text, 1) for text in f.get("infile", [])) and \
            not any(named(text, 1) for text in f.get("notinfile", []))

    def weight(self, row, f, by):
        """What the row stands for, in bytes or blocks."""
        p, n, of = row.p, 1, 1
        if f.get("live") == "peak":
            p, of = common.colour_chance(p), common.COLOURS
            n = len(self.span(row, self.heaps(f))[3])
        return n * (row.size if by == "bytes" else 1) / p / of

    def levels(self, f, by, step_us, n, key):
        """For each step: the greatest level of what is live, and what each key
        had at each moment of that level."""
        heaps = self.heaps(f)
        passes = [self.passes(r, f) for r in self.rows]
        now, level, steps = collections.Counter(), 0.0, []

        def enter(step):
            if level > steps[step][0] * (1 + 1e-9) + 1e-6:
                steps[step] = (level, [])
            if level >= steps[step][0] * (1 - 1e-9) - 1e-6:
                steps[step][1].append(dict(now))

        def seek(step):
            while len(steps) <= step:
                steps.append((level, [dict(now)]))

        for us, kind, i in self.events:
            row, sign = self.rows[i], 1 if kind == "alloc" else -1
            is_young = row.source == "minor"
            if kind == "alloc" and is_young and "minor" not in heaps or \
                    kind == "free" and is_young and \
                    row.promoted is not None and "major" not in heaps:
                continue
            if kind == "promote":
                if not is_young or ("minor" in heaps) == ("major" in heaps):
                    continue
                sign = 1 if "major" in heaps else -1
            if not passes[i]:
                continue
            seek(min(us // step_us, n - 1))
            value = (row.size if by == "bytes" else 1) / row.p
            level += sign * value
            now[key(row)] += sign * value
            enter(min(us // step_us, n - 1))
        seek(n - 1)
        return steps

    def births(self, f, by, step_us, n, key, is_temporary=False):
        """For each step: the sum of what was allocated in it, and its keys."""
        steps = [[0.0, collections.Counter()] for _ in range(n)]
        for row in self.rows:
            if not self.passes(row, f):
                continue
            born, end, life, _ = self.span(row, self.heaps(f))
            if is_temporary and (end is None or life >= 1000):
                continue
            step = steps[min(born // step_us, n - 1)]
            value = self.weight(row, f, by)
            step[0] += value
            step[1][key(row)] += value
        return [(total, [keys]) for total, keys in steps]

    def total(self, f, rows=None):
        out = dict.fromkeys(("bytes", "bytes_se", "blocks", "blocks_se", "n",
                             "samples"), 0)
        for r in self.rows if rows is None else rows:
            if rows is None and not self.passes(r, f):
                continue
            p, n, of, is_one = r.p, 1, 1, True
            if f.get("live") == "peak":
                at_peak = self.span(r, self.heaps(f))[3]
                p, n, of = common.colour_chance(p), len(at_peak), common.COLOURS
                is_one = min(r.colours) in at_peak
            out["bytes"] += n * r.size / p / of
            out["bytes_se"] += n * r.size ** 2 * (1 - p) / p ** 2 / of ** 2
            out["blocks"] += n / p / of
            out["blocks_se"] += n * (1 - p) / p ** 2 / of ** 2
            out["n"] += is_one
            out["samples"] += r.samples * is_one
        for key in ("bytes_se", "blocks_se"):
            out[key] = math.sqrt(out[key])
        return out


def range_of(text):
    """(least, most), None where it is open."""
    if ".." not in text:
        return int(text), int(text)
    least, most = text.split("..")
    return int(least) if least else None, int(most) if most else None


def value_in(text, value):
    least, most = range_of(text)
    return (least is None or value >= least) and \
        (most is None or value <= most)


def folded(row):
    """Each function of the stack once, outermost first."""
    return list(dict.fromkeys((function, file)
                              for function, file, _ in row.stack))


class Names:
    """What a server knows of functions that the script does not tell."""

    def __init__(self, server):
        functions = server.ask("functions", "limit=5000")["functions"]
        self.of = {in_script(f): f for f in functions}
        self.modules = {}
        for f in functions:
            self.modules.setdefault(f["module"], []).append(
                "library" in f)
        self.threads = {t["index"]: t for t in
                        server.ask("info")["traces"][0]["threads"]}

    def rule_takes(self, rule, key):
        f = self.of[key]
        if rule == "library:":
            return "library" in f
        names = {"function:": f["name"], "file:": f["file"],
                 "module:": f["module"]}
        for prefix, name in names.items():
            if rule.startswith(prefix):
                return takes(rule[len(prefix):], name)
        return any(takes(rule, name) for name in names.values())

    def whole(self, rule, key):
        """The frame in the place of those that a rule takes."""
        f = self.of[key]
        slash = f["file"].rfind("/")
        if slash > 0 and not rule.startswith("module:") and \
                not (all(self.modules[f["module"]]) and
                     "/" not in f["module"]):
            return "[%s]" % f["file"][:slash], f["file"][:slash]
        return "[%s]" % (f["module"] or "unknown module"), ""

    def thread(self, row):
        t = self.threads.get(row.thread)
        name = (t["name"] or t["tid"]) if t else row.thread
        names = [other["name"] for other in self.threads.values()]
        if t and t["name"] and names.count(name) > 1:
            name = "%s (%d)" % (name, t["tid"])
        return "thread %s" % name, ""

    def drawn(self, row, fold=(), hide=(), recursion="fold", threads="merge"):
        """The stack as pictures show it, by the words of .inv.drawn."""
        out = [self.thread(row)] if threads == "split" else []
        bottom, seen, run = len(out), set(), None
        for function, file, _ in row.stack:
            key = function, file
            rule = next((r for r in fold if self.rule_takes(r, key)), None)
            if any(takes(text, self.of[key]["name"]) for text in hide):
                continue
            if rule is not None:
                whole = self.whole(rule, key)
                if run != rule and out[bottom:][-1:] != [whole]:
                    out.append(whole)
                run = rule
            elif recursion == "keep" or key not in seen:
                seen.add(key)
                out.append(key)
                run = None
        return tuple(out)


class Case(common.Case):
    def server(self, *args, **more):
        server = Server(*args, **more)
        self.addCleanup(server.stop)
        return server

    def view_trace(self, name="made.ctf", **keys):
        path = os.path.join(self.dir, name)
        subprocess.run([VIEW_TRACE, path,
                        *("%s=%s" % item for item in keys.items())],
                       check=True)
        return path

    def opinion(self, path):
        got = self.json("--top=1", "--stacks=1", path)
        head = got["recording"]
        return Opinion(self.ok("script", path), head["samples_per_word"],
                       head["word_bits"], got["program"])

    def sum_is(self, got, wanted, what):
        for key in ("n", "samples"):
            self.assertEqual(got[key], wanted[key], (what, key))
        for key in ("bytes", "bytes_se", "blocks", "blocks_se"):
            self.near(got[key], wanted[key], (what, key))
