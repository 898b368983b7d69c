"""Traces as tables: the rows are what the script of the trace says, those sent
to ClickHouse are those of SQLite, and what examples/fleet asks is answered as
by the rows counted here."""
import collections
import glob
import math
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tests", "export"))
import exported  # noqa: E402
import tables_file  # noqa: E402
from exported import common  # noqa: E402

from collector import Collector  # noqa: E402

EXAMPLES = os.path.join(common.SOURCE, "examples", "fleet")
HAS_CLICKHOUSE = os.environ.get("WITH_CLICKHOUSE") and shutil.which(
    "clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")
RELEASES = (("bintree-1e-4.v2", "1.0", "2026-11-01"),
            ("wordcount-1e-3.v2", "1.0", "2026-11-01"),
            ("bigarr-1e-2.v3", "1.1", "2026-11-02"),
            ("wordcount-1e-3.v3", "1.1", "2026-11-02"))
# Of a trace that names no threads.
SENT = [t for t in tables_file.TABLES if t != "threads"]
ASKED = ("growth_between_days", "lifetime_by_release", "live_by_host",
         "regressions", "top_sites")


def example(name):
    with open(os.path.join(EXAMPLES, name)) as f:
        return f.read()


def frame_text(frame):
    """As `aliquot script` writes it."""
    name, file, module, line = frame
    if module == "[unknown]":
        return name
    return "%s@%s:%d" % (name, file, line) if line > 0 else \
        "%s@%s" % (name, file or module)


def without(rows, *columns):
    return sorted((sorted((k, v) for k, v in row.items() if k not in columns)
                   for row in rows))


class Tables(exported.Case):
    def path(self, name):
        return os.path.join(self.dir, name)

    def tables(self, *args):
        """Of a new file."""
        path = self.path("new.sqlite")
        self.ok("export", "-f", "-o", path, *args)
        return tables_file.of_file(path)

    def refused(self, status, said, *args, **more):
        result = common.run("export", *args, **more)
        self.assertEqual(result.returncode, status, (args, result.stderr))
        self.assertRegex(result.stderr, said)
        return result

    def fleet(self, *where):
        """Four traces, two of each release, to where they are told."""
        for name, release, day in RELEASES:
            self.ok("export", "--release=" + release, "--day=" + day, *where,
                    self.golden(name))

    # ---- the rows

    def test_rows_are_what_the_script_says(self):
        for name in ("wordcount-1e-3.v3", "synth-bytes.v3", "synth-deep.v3",
                     "synth-domains.v3", "synth-evict.v2"):
            with self.subTest(name):
                path = self.golden(name)
                t = self.tables(path)
                row, = t["traces"]
                start = row["start_us"]
                is_bytes = name == "synth-bytes.v3"
                wanted = collections.Counter()
                for b in common.Opinion(self.ok("script", path), 1.0, 64,
                                        {"start_us": 0, "pid": 0}).blocks:
                    source = b.source
                    if is_bytes and source == "external":
                        source = "malloc"
                    wanted[start + b.born,
                           0 if b.died is None else start + b.died,
                           b.bytes, b.samples, source, b.stack] += 1
                stacks = {i: ";".join(map(frame_text, reversed(s)))
                          for i, s in tables_file.stacks(t).items()}
                got = collections.Counter(
                    (s["alloc_us"], s["free_us"], s["size_bytes"],
                     s["sampled_words"], s["source"], stacks[s["stack_id"]])
                    for s in t["samples"])
                self.assertEqual(list((got - wanted).items())[:2], [])
                self.assertEqual(list((wanted - got).items())[:2], [])
                self.assertEqual(row["sampled_blocks"], len(t["samples"]))
                self.assertEqual({s["trace_id"] for s in t["samples"]},
                                 {row["trace_id"]})

    def test_the_place_is_one_of_the_stack(self):
        t = self.tables(self.golden("wordcount-1e-3.v3"))
        frames, stacks = tables_file.frames(t), tables_file.stacks(t)
        for s in t["samples"]:
            self.assertIn(frames[s["site_id"]], stacks[s["stack_id"]])

    def test_the_trace(self):
        path = self.golden("wordcount-1e-3.v3")
        row, = self.tables("--release=2.1", "--service=words",
                           "--day=2026-01-31", path)["traces"]
        self.assertEqual(
            [row[k] for k in ("release", "service", "day", "host", "schema")],
            ["2.1", "words", "2026-01-31", "golden", 2])
        row, = self.tables(path)["traces"]
        self.assertEqual(
            [row[k] for k in ("release", "service", "day")],
            ["", "wordcount", "2026-11-21"])

    @unittest.skipUnless(exported.VICTIM, "no preload in this build")
    def test_the_build_of_a_recording(self):
        row, = self.tables(self.recorded("--interval=4K"))["traces"]
        with open(exported.VICTIM, "rb") as f:
            self.assertIn(bytes.fromhex(row["build_id"]), f.read())
        self.assertGreaterEqual(len(row["build_id"]), 16)
        self.assertEqual(row["host"], os.uname().nodename)

    def test_numbers_are_of_what_they_stand_for(self):
        """Two traces of one program share what they have in common."""
        one = self.tables(self.golden("wordcount-1e-3.v2"))
        both = self.path("both.sqlite")
        for name in ("wordcount-1e-3.v2", "wordcount-1e-3.v3"):
            self.ok("export", "--append", "-o", both, self.golden(name))
        both = tables_file.of_file(both)
        for table, key in (("functions", "function_id"),
                           ("frames", "frame_id")):
            known = {row[key]: row for row in both[table]}
            self.assertEqual(len(known), len(both[table]))
            for row in one[table]:
                self.assertEqual(known[row[key]], row)
        texts = [(f["name"], f["file"], f["module"])
                 for f in both["functions"]]
        self.assertEqual(len(texts), len(set(texts)))
        self.assertEqual(len(both["traces"]), 2)

    def test_names_that_might_break_a_format(self):
        path = self.path("hostile.ctf")
        with open(path, "wb") as f:
            subprocess.run([common.MAKE_TRACE, "2000", "100", "0.125"],
                           stdout=f, check=True,
                           env={**common.ENV, "HOSTILE_NAMES": "1"})
        t = self.tables(path)
        self.assertTrue(any("'" in f["name"] or '"' in f["name"]
                            for f in t["functions"]))
        self.same_in_clickhouse(t, path)

    # ---- the file

    def test_a_file_that_is_there(self):
        a, b = self.golden("wordcount-1e-3.v2"), self.golden("synth-deep.v3")
        path = self.path("x.sqlite")
        self.ok("export", "-o", path, a)
        before = tables_file.of_file(path)
        self.refused(2, "x.sqlite exists; --append adds the trace, -f",
                     "-o", path, b)
        self.refused(1, "has this trace already; -f adds it once more",
                     "--append", "-o", path, a)
        self.assertEqual(tables_file.of_file(path), before)
        self.ok("export", "--append", "-f", "-o", path, a)
        again = tables_file.of_file(path)
        self.assertEqual(len(again["traces"]), 2)
        self.assertEqual(len({t["fingerprint"] for t in again["traces"]}), 1)
        self.assertEqual(len(again["samples"]), 2 * len(before["samples"]))
        self.assertEqual(again["functions"], before["functions"])
        self.ok("export", "-f", "-o", path, b)
        self.assertEqual(len(tables_file.of_file(path)["traces"]), 1)
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(
            map(os.path.basename, (a, b, path))))

    def test_a_pipe_stays(self):
        pipe = self.path("x.sqlite")
        os.mkfifo(pipe)
        self.refused(2, "is not a regular file", "-f", "-o", pipe,
                     self.golden("synth-deep.v3"))
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_what_is_not_ours_stays(self):
        trace = self.golden("synth-deep.v3")
        path = self.path("other.sqlite")
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE functions (x)")
        database.commit()
        database.close()
        with open(path, "rb") as f:
            before = f.read()
        self.refused(3, "other.sqlite is not a database that aliquot made",
                     "--append", "-o", path, trace)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), before)
        self.refused(3, "file is not a database", "--append",
                     "--format=sqlite", "-o", self.golden("bintree-1e-4.v3"), trace)
        self.ok("export", "-o", self.path("later.sqlite"), trace)
        database = sqlite3.connect(self.path("later.sqlite"))
        database.execute("PRAGMA user_version = 99")
        database.close()
        self.refused(3, "was made by another version", "--append", "-o",
                     self.path("later.sqlite"), trace)

    def test_standard_output_and_compressed(self):
        trace = self.golden("synth-deep.v3")
        wanted = without(self.tables(trace)["samples"], "trace_id")
        out = self.ok("export", "--format=sqlite", "-o", "-", trace,
                      text=False)
        self.assertEqual(without(tables_file.of_bytes(out)["samples"],
                                 "trace_id"), wanted)
        packed = self.path("x.sqlite.zst")
        self.ok("export", "-o", packed, trace)
        out = subprocess.run(["zstd", "-dc", packed], check=True,
                             capture_output=True).stdout
        self.assertEqual(without(tables_file.of_bytes(out)["samples"],
                                 "trace_id"), wanted)

    def test_mistakes(self):
        trace = self.golden("synth-deep.v3")
        for said, args in (
                ("--append adds to a file of SQLite",
                 ("--append", "-o", self.path("x.csv"))),
                ("--append adds to a file of SQLite",
                 ("--append", "-o", self.path("x.sqlite.zst"))),
                ("--append adds to a file of SQLite",
                 ("--append", "--to=clickhouse=http://127.0.0.1:1")),
                ("--to stands in place of -o and --format",
                 ("--to=clickhouse=http://127.0.0.1:1", "-o", "x")),
                ("--to stands in place of -o and --format",
                 ("--to=clickhouse=http://127.0.0.1:1", "--format=csv")),
                ("--to=postgres=x: write clickhouse=http",
                 ("--to=postgres=x",)),
                ("--day=2026-02-30: write YYYY-MM-DD",
                 ("--day=2026-02-30", "-o", self.path("x.sqlite"))),
                ("--day=2026-1-3: write", ("--day=2026-1-3", "-o", "x")),
                ("--timeout=5: write a number and a unit",
                 ("--timeout=5", "--to=clickhouse=http://127.0.0.1:1"))):
            self.refused(2, said, *args, trace)
        self.refused(3, "cannot create a file for /no/such/x.sqlite",
                     "-o", "/no/such/x.sqlite", trace)
        self.assertEqual(os.listdir(self.dir), [os.path.basename(trace)])

    def test_a_pipe_gives_the_rows_of_the_file(self):
        path = self.golden("synth-deep.v3")
        file = without(self.tables(path)["samples"], "trace_id")
        with open(path, "rb") as f:
            self.ok("export", "-f", "-o", self.path("new.sqlite"), "-",
                    stdin=f.read())
        pipe = tables_file.of_file(self.path("new.sqlite"))["samples"]
        self.assertTrue(file)
        self.assertEqual(file, without(pipe, "trace_id"))

    # ---- what is asked of it

    def test_the_questions(self):
        path = self.path("fleet.sqlite")
        self.fleet("--append", "-o", path)
        t = tables_file.of_file(path)
        database = tables_file.connect(path)
        self.addCleanup(database.close)
        rows = {name: [dict(r) for r in database.execute(
            example("sqlite/%s.sql" % name))] for name in ASKED}
        frames = tables_file.frames(t)
        trace = {r["trace_id"]: r for r in t["traces"]}

        def sums(is_of, key_of, weight_of=lambda s: 1):
            found = collections.defaultdict(float)
            for s in t["samples"]:
                if is_of(s):
                    found[key_of(s)] += s["bytes"] * weight_of(s)
            return {k: math.floor(v + 0.5) for k, v in found.items()}

        def site(s):
            return frames[s["site_id"]][:3]

        def named(name, column):
            return {(r["name"], r["file"], r["module"]): r[column]
                    for r in rows[name]}
        live = sums(lambda s: s["free_us"] == 0, site)
        top = named("top_sites", "live_bytes")
        self.assertEqual(top, {k: live[k] for k in top})
        self.assertEqual(max(live.values()), max(top.values()))
        self.assertGreater(len(top), 3)
        hosts = sums(lambda s: s["free_us"] == 0,
                     lambda s: (trace[s["trace_id"]]["host"], s["release"]))
        self.assertEqual({(r["host"], r["release"]): r["live_bytes"]
                          for r in rows["live_by_host"]}, hosts)
        self.assertEqual([r["n_traces"] for r in rows["live_by_host"]],
                         [2, 2])

        def sign(s):
            return 0.5 if s["release"] == "1.1" else -0.5
        grown = sums(lambda s: s["free_us"] == 0, site, sign)
        for key, value in named("growth_between_days",
                                "growth_bytes").items():
            self.assertAlmostEqual(value, grown[key], delta=1)
        more = sums(lambda s: True, site, sign)
        got = named("regressions", "growth_bytes")
        self.assertGreater(len(got), 0)
        for key, value in got.items():
            self.assertAlmostEqual(value, more[key], delta=1)
            self.assertGreater(value, 0)
        self.assertIn(max(more, key=more.get), got)
        for r in rows["lifetime_by_release"]:
            of = [s for s in t["samples"]
                  if site(s) == (r["name"], r["file"], r["module"])
                  and s["release"] == r["release"]]
            self.assertEqual(r["sampled_blocks"], len(of))
            self.assertAlmostEqual(
                r["average_life_us"],
                sum(s["life_us"] * s["objects"] for s in of)
                / sum(s["objects"] for s in of), delta=1)

    # ---- ClickHouse

    def told(self, collector):
        """(statements, {table: rows}) of what was sent."""
        types = tables_file.schema(example("schema.sql"))
        asked, rows = [], {t: [] for t in tables_file.TABLES}
        order = []
        for r in collector.requests:
            query = urllib.parse.parse_qs(
                urllib.parse.urlsplit(r.path).query)["query"][0]
            if not query.startswith("INSERT"):
                asked.append(query)
                continue
            table, more = tables_file.of_insert(query, r.body, types)
            rows[table] += more
            order.append(table)
        return asked, rows, order

    def same_in_clickhouse(self, tables, path, *options):
        c = Collector(self, (200, {}, b"0\n"))
        self.ok("export", "--to=clickhouse=" + c.url, *options, path)
        asked, rows, order = self.told(c)
        self.assertEqual(order[-1], "traces")
        self.assertEqual(len(asked), 1)
        for table in tables_file.TABLES:
            self.assertEqual(len(rows[table]), len(tables[table]), table)
            for got, wanted in zip(without(rows[table], "trace_id"),
                                   without(tables[table], "trace_id")):
                self.assertEqual(got, wanted, table)
        self.assertEqual(tables_file.totals(rows), tables_file.totals(tables))
        return c

    def test_the_same_rows(self):
        for name, path in self.small():
            with self.subTest(name):
                t = self.tables(path)
                self.same_in_clickhouse(t, path)
                wanted = self.json(path)
                for key, value in tables_file.totals(t).items():
                    self.assertEqual(value, wanted[key], key)

    def test_figures_are_those_of_the_report(self):
        for name in ("synth-bytes.v3", "wordcount-1e-3.v3", "synth-deep.v3"):
            path = self.golden(name)
            for options in ((), ("--min-life=1ms",)):
                with self.subTest(name, options=options):
                    got = tables_file.figures(self.tables(*options, path))
                    wanted = tables_file.reported(
                        self.json("--group=line", *options, path))
                    self.assertEqual(got, wanted)
                    if not options:
                        self.assertTrue(any(
                            f["peak_bytes_low"] < f["peak_bytes"]
                            < f["peak_bytes_high"] for f in got.values()))

    @unittest.skipUnless(exported.VICTIM, "no preload in this build")
    def test_figures_of_mappings(self):
        path = self.recorded("--interval=4K")
        self.assertEqual(
            tables_file.figures(self.tables(path)),
            tables_file.reported(self.json("--group=line", path)))

    def test_batches(self):
        path = self.made(120000, 500, 0.125)
        c = self.same_in_clickhouse(self.tables(path), path)
        sizes = [len(r.body) for r in c.requests]
        self.assertGreater(len([n for n in sizes if n > 4000000]), 1)
        self.assertLess(max(sizes), 5000000)

    def test_the_schema_is_the_documented_one(self):
        c = Collector(self, (200, {}, b"0\n"))
        self.ok("export", "--create", "--to=clickhouse=%s/?database=mine"
                % c.url, self.golden("synth-deep.v3"))
        asked, _, _ = self.told(c)
        text = re.sub(r"^--.*\n", "", example("schema.sql"), flags=re.M)
        statements = [s.strip() for s in text.split(";") if s.strip()]
        self.assertEqual(asked[:-1], statements)
        for r in c.requests:
            self.assertRegex(r.path, r"^/\?database=mine&query=")
        with open(os.path.join(common.SOURCE, "doc", "man",
                               "aliquot-fleet.7")) as f:
            manual = f.read()
        for table, columns in tables_file.schema(text).items():
            self.assertIn(".Ss %s\n" % table, manual)
            for column in columns:
                self.assertRegex(manual, r"\.It Va (\w+ , )*%s\b" % column)

    def test_what_clickhouse_refuses(self):
        trace = self.golden("synth-deep.v3")
        c = Collector(self, (200, {}, b"1\n"))
        to = "--to=clickhouse=http://me:secret@" + c.url[len("http://"):]
        result = self.refused(1, "has this trace already; -f adds", to, trace)
        self.assertNotIn("secret", result.stderr)
        self.assertEqual(len(c.requests), 1)
        self.ok("export", "-f", to, trace)
        c.answers = [(404, {}, b"Table traces doesn't exist\nmore")]
        result = self.refused(
            3, r"answers 404: Table traces doesn't exist\n"
            r".*if its tables are not there: --create makes", to, trace)
        self.assertNotIn("secret", result.stderr)
        c.answers = [(200, {}, b"0\n"), (200, {}, b""), (500, {}, b"no\n")]
        n = len(c.requests)
        result = self.refused(3, "answers 500: no", "--retries=0", to, trace)
        self.assertEqual(len(c.requests), n + 3)
        self.assertNotIn("ALTER", result.stderr)
        c.close()
        result = self.refused(3, r"export: http://127.*: ", to, trace)
        self.assertNotIn("--create", result.stderr)

    # ---- ClickHouse, when something fails

    def queries(self, collector):
        return [urllib.parse.parse_qs(urllib.parse.urlsplit(r.path).query)
                ["query"][0] for r in collector.requests]

    def removed_from(self, statements, number):
        """The tables of statements that remove rows of that number."""
        found = [re.fullmatch(r" *ALTER TABLE (\w+) DELETE WHERE trace_id = (\d+)"
                              r";?", s) for s in statements]
        self.assertEqual({int(m[2]) for m in found if m}, {number}, statements)
        return [m[1] for m in found if m]

    def failing(self, at, *failures, more=(200, {}, b"")):
        """A server that fails so when rows of that table come."""
        before = SENT.index(at)
        return Collector(self, (200, {}, b"0\n"), *[(200, {}, b"")] * before,
                         *failures, more)

    def test_what_may_pass_is_sent_again(self):
        trace = self.golden("wordcount-1e-3.v2")
        tables = self.tables(trace)
        c = self.failing("frames", 503, None, 500)
        self.ok("export", "--to=clickhouse=" + c.url, trace)
        _, rows, order = self.told(c)
        self.assertEqual(order, ["functions"] + 4 * ["frames"] +
                         SENT[2:])
        self.assertEqual(len({r.body for r in c.requests[2:6]}), 1)
        for table in SENT[2:]:
            self.assertEqual(len(rows[table]), len(tables[table]), table)
        c = self.failing("samples", 503, 429)
        self.ok("export", "--to=clickhouse=" + c.url, trace)
        _, rows, order = self.told(c)
        self.assertEqual(order.count("samples"), 3)
        self.assertEqual(len({r["trace_id"] for r in rows["samples"]}), 1)

    def test_rows_without_a_key_are_not_told_twice(self):
        trace = self.golden("wordcount-1e-3.v2")
        tables = self.tables(trace)
        c = self.failing("samples", None)
        result = common.run("export", "--to=clickhouse=" + c.url, trace)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sent anew", result.stderr)
        _, rows, order = self.told(c)
        self.assertEqual(order, SENT[:4] + SENT)
        lost, = {r["trace_id"] for r in rows["samples"]} - {
            r["trace_id"] for r in rows["traces"]}
        at = [i for i, q in enumerate(self.queries(c)) if q[:5] == "ALTER"]
        self.assertEqual(at, [5])
        self.assertEqual(self.removed_from(self.queries(c), lost),
                         ["samples"])
        self.assertEqual(self.removed_from(result.stderr.split("\n"), lost),
                         ["samples"])
        for table in SENT[3:]:
            self.assertEqual(len([r for r in rows[table]
                                  if r["trace_id"] != lost]),
                             len(tables[table]), table)

    def test_a_failed_export_leaves_nothing_or_says_what(self):
        trace = self.golden("wordcount-1e-3.v2")
        to = "--to=clickhouse="
        wanted = ["figures", "samples"]

        def failed(c, said):
            result = self.refused(3, said, "--retries=1", to + c.url, trace)
            _, rows, _ = self.told(c)
            self.assertEqual(rows["traces"], [])
            number, = {r["trace_id"] for r in rows["samples"]}
            return number, result.stderr.split("\n")

        c = self.failing("figures", (403, {}, b"you may not\n"))
        number, said = failed(c, "answers 403: you may not\n$")
        self.assertEqual(self.removed_from(self.queries(c), number), wanted)

        # What had no answer may come in later.
        c = self.failing("figures", 504, (504, {}, b"late\n"))
        number, said = failed(c, "answers 504: late\n.*may be left in http")
        self.assertEqual(self.removed_from(self.queries(c), number), wanted)
        self.assertEqual(self.removed_from(said, number), wanted)

        # Nothing is removed by a server that is dead.
        c = self.failing("figures", None, more=None)
        number, said = failed(c, "may be left in http")
        self.assertEqual(self.removed_from(self.queries(c), number),
                         wanted[:1])
        self.assertEqual(self.removed_from(said, number), wanted)

    def test_an_interrupted_export(self):
        trace = self.golden("wordcount-1e-3.v2")
        c = self.failing("samples", math.inf)
        export = subprocess.Popen(
            [common.BIN, "export", "--to=clickhouse=" + c.url, trace],
            env=common.ENV, stderr=subprocess.PIPE, text=True)
        while len(c.requests) < 5:  # the samples are under way
            self.assertIsNone(export.poll())
            time.sleep(0.01)
        export.send_signal(signal.SIGINT)
        said = export.communicate(timeout=common.PATIENCE_S)[1].split("\n")
        self.assertEqual((export.returncode, said[0]),
                         (3, "aliquot: export: interrupted"))
        _, rows, _ = self.told(c)
        number, = {r["trace_id"] for r in rows["samples"]}
        for statements in (self.queries(c), said):
            self.assertEqual(self.removed_from(statements, number),
                             ["samples"])
        self.assertEqual(len(c.requests), 6)

    def test_headers(self):
        c = Collector(self, (200, {}, b"0\n"))
        self.write("h", b"X-ClickHouse-User: me\nX-ClickHouse-Key: k\n")
        self.ok("export", "--header=@" + self.path("h"),
                "--to=clickhouse=" + c.url, self.golden("synth-deep.v3"))
        for r in c.requests:
            self.assertEqual((r.headers["X-ClickHouse-User"],
                              r.headers["X-ClickHouse-Key"]), ("me", "k"))

    @unittest.skipUnless(HAS_CLICKHOUSE, "no ClickHouse, or another build")
    def test_two_shards(self):
        """A real server's answers are those of SQLite."""
        cluster = os.path.join(EXAMPLES, "cluster")
        where = self.path("cluster")
        env = {**common.ENV, "PATIENCE_S": str(common.PATIENCE_S)}
        port = free_ports(6)

        def stop():
            subprocess.run([cluster, "stop", where], env=env, check=True,
                           capture_output=True)
        started = subprocess.run(
            [cluster, "start", where, str(port)], env=env,
            capture_output=True, text=True)
        self.addCleanup(lambda: os.path.exists(where + "/pids") and stop())
        self.assertEqual((started.returncode, started.stderr), (0, ""))
        url = started.stdout.strip()
        path = self.path("fleet.sqlite")
        self.fleet("--append", "-o", path)
        self.fleet("--timeout=5m", "--to=clickhouse=" + url)
        self.refused(1, "has this trace already", "--to=clickhouse=" + url,
                     self.golden(RELEASES[0][0]))
        database = tables_file.connect(path)
        self.addCleanup(database.close)
        for name in ASKED:
            wanted = [list(map(str, r)) for r in database.execute(
                example("sqlite/%s.sql" % name))]
            self.same_answers(self.ask(url, example(name + ".sql")), wanted,
                              name)
        wanted = [r[0] for r in database.execute(
            "SELECT count(*) FROM samples")]
        counts = [int(self.ask("http://127.0.0.1:%d/?database=shard"
                               % (port + 3 * i),
                               "SELECT count() FROM samples")[0][0])
                  for i in (0, 1)]
        self.assertEqual(sum(counts), wanted[0])
        self.assertGreater(min(counts), 0)
        self.rows_are_removed("http://127.0.0.1:%d/?database=shard" % port)
        stop()
        self.assertFalse(os.path.exists(where + "/pids"))

    def rows_are_removed(self, url):
        """By the statement that a failed export sends or prints."""
        number = int(self.ask(url, "SELECT trace_id FROM samples LIMIT 1")
                     [0][0])
        of_it = "SELECT count() FROM samples WHERE trace_id = %d" % number
        of_others = "SELECT count() FROM samples WHERE trace_id != %d" % number
        others = self.ask(url, of_others)
        self.assertNotEqual(self.ask(url, of_it), [["0"]])
        self.ask(url, "ALTER TABLE samples DELETE WHERE trace_id = %d" % number)
        until = time.monotonic() + common.PATIENCE_S
        while self.ask(url, of_it) != [["0"]]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        self.assertEqual(self.ask(url, of_others), others)

    def ask(self, url, query):
        request = urllib.request.Request(url, data=query.encode())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=common.PATIENCE_S) as answer:
            lines = answer.read().decode().split("\n")[:-1]
        return [list(map(tables_file.unescaped, line.split("\t")))
                for line in lines]

    def same_answers(self, got, wanted, name):
        """Rows in any order; numbers may be rounded another way."""
        def split(row):
            texts, numbers = [], []
            for cell in row:
                try:
                    numbers.append(float(cell))
                    if "." in cell and not cell.endswith(".0"):
                        raise ValueError
                except ValueError:
                    texts.append(cell)
            return texts, numbers
        got, wanted = (sorted(map(split, rows))
                       for rows in (got[1:], wanted))
        self.assertEqual(len(got), len(wanted), name)
        for (gt, gn), (wt, wn) in zip(got, wanted):
            self.assertEqual(gt, wt, name)
            self.assertEqual(len(gn), len(wn), name)
            for g, w in zip(gn, wn):
                self.near(g, w, name)


def free_ports(n):
    """The first of n ports in a row that nobody has now."""
    import random
    import socket
    while True:
        first = random.randrange(20000, 30000)
        try:
            held = []
            for port in range(first, first + n):
                s = socket.socket()
                held.append(s)
                s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()


if __name__ == "__main__":
    common.main()
