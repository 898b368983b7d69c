"""aliquot push: what engines get, what becomes of failures.  The engines are a
server of ours that holds what it gets to their published rules."""
import base64
import collections
import json
import math
import os
import signal
import time
import unittest
import urllib.parse

import steady
from collector import Collector
from steady import common, exported
import otlp_file as otlp
import pprof_file as profile
from pprof_test import KEYS

needs_program = unittest.skipUnless(steady.STEADY, "no preload in this build")
ENGINES = ("pyroscope", "parca", "otlp")
SUMS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")


def flat(p, function):
    """{type: value} of the stacks that have it innermost."""
    sums = collections.Counter()
    for s in p["sample"]:
        if next(profile.stack(p, s))[0] == function:
            sums.update(dict(zip((t for t, _ in profile.types(p)),
                                 s["value"])))
    return dict(sums)


class Push(exported.Case):
    def push(self, engine, url, *args):
        return common.run("push", "--to=%s=%s" % (engine, url), *map(str, args))

    def sums_of(self, engine, request):
        """Each type's total."""
        if engine == "pyroscope":
            return profile.totals(profile.read(request.body))
        if engine == "parca":
            sums = {}
            for p in self.parca(request)[1]:
                sums.update(profile.totals(p))
            return sums
        return {t: sum(s["values"][0] for s in p["samples"])
                for t, p in otlp.profiles(otlp.read(request.body)).items()}

    def parca(self, request):
        """(labels, profiles)"""
        body = json.loads(request.body)
        self.assertEqual(set(body), {"series", "normalized"})
        series, = body["series"]
        labels = {l["name"]: l["value"] for l in series["labels"]["labels"]}
        self.assertEqual(len(labels), len(series["labels"]["labels"]))
        return labels, [profile.read(base64.b64decode(s["rawProfile"],
                                                      validate=True))
                        for s in series["samples"]]

    # ---- what is sent

    def test_totals_are_those_of_the_report(self):
        for name, path in self.small():
            got = self.json(path)
            wanted = {t: got[k] for t, k in KEYS.items() if got[k] != 0}
            for engine in ENGINES:
                with self.subTest(name + " to " + engine):
                    c = Collector(self)
                    result = self.push(engine, c.url, path)
                    self.assertEqual((result.returncode, result.stderr),
                                     (0, ""))
                    self.assertIn("1 profile sent to " + c.url, result.stdout)
                    request, = c.requests
                    self.assertEqual(
                        {t: v for t, v in self.sums_of(
                            engine, request).items() if v}, wanted)
                    c.close()

    def test_pyroscope(self):
        c = Collector(self)
        path = self.made(12000, 500, 1e-4)
        result = self.push("pyroscope", c.url + "/", "--label=env=a b/c",
                           "--label=zone=eu-1", "--name=my shop", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        request, = c.requests
        url = urllib.parse.urlsplit(request.path)
        query = urllib.parse.parse_qs(url.query, strict_parsing=True)
        got = self.json(path)
        start_us = got["program"]["start_us"]
        self.assertEqual(url.path, "/ingest")
        self.assertEqual(query, {
            "format": ["pprof"], "spyName": ["aliquot"],
            "name": ["my_shop{env=a b/c,zone=eu-1}"],
            "from": [str(start_us // 1000000)],
            "until": [str((start_us + got["duration_us"]) // 1000000)]})
        self.assertEqual(request.headers["Content-Type"],
                         "application/octet-stream")
        self.assertRegex(request.headers["User-Agent"], r"^aliquot/\d")
        p = profile.read(request.body)
        self.assertEqual(profile.faults(p), [])
        self.assertEqual(profile.types(p), [
            ("alloc_objects", "count"), ("alloc_space", "bytes"),
            ("inuse_objects", "count"), ("inuse_space", "bytes")])

    def test_parca(self):
        c = Collector(self)
        path = self.made(12000, 500, 1e-4)
        result = self.push("parca", c.url, "--label=env=a<b>", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        request, = c.requests
        self.assertEqual(request.path, "/api/profiles/writeraw")
        self.assertEqual(request.headers["Content-Type"], "application/json")
        labels, (allocated, in_use) = self.parca(request)
        self.assertEqual(labels, {"__name__": "memory", "job": "tree",
                                  "env": "a<b>"})
        # A profile with a duration is one of differences.
        self.assertGreater(allocated["duration_nanos"], 0)
        self.assertEqual(in_use["duration_nanos"], 0)
        for p, prefix in ((allocated, "alloc"), (in_use, "inuse")):
            self.assertEqual(profile.faults(p), [])
            self.assertEqual(profile.types(p), [
                (prefix + "_objects", "count"), (prefix + "_space", "bytes")])
            self.assertEqual(
                p["string_table"][p["default_sample_type"]],
                prefix + "_space")

    def test_otlp(self):
        for name, path in self.small():
            with self.subTest(name):
                c = Collector(self)
                result = self.push("otlp", c.url, "--label=deployment.env=x",
                                   "--name=svc", path)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                request, = c.requests
                self.assertEqual(request.path, "/v1development/profiles")
                self.assertEqual(request.headers["Content-Type"],
                                 "application/x-protobuf")
                r = otlp.read(request.body)
                self.assertEqual(otlp.faults(r), [])
                facts = {a["key"].decode(): a["value"]["string"] or a["value"]["int"]
                         for a in r["resources"][0]["resource"]["attributes"]}
                self.assertEqual(facts["service.name"], b"svc")
                self.assertEqual(facts["deployment.env"], b"x")
                start_ns = self.json(path)["program"]["start_us"] * 1000
                for t, p in otlp.profiles(r).items():
                    is_in_use = t.startswith("inuse")
                    self.assertEqual(p["duration"] == 0, is_in_use)
                    self.assertEqual(p["time"] == start_ns, not is_in_use)
                c.close()

    def test_otlp_stacks(self):
        """Each stack's names and values, as pprof has them."""
        path = self.made(12000, 500, 1e-4)
        p = profile.read(self.export(path, "--format=pprof"))
        c = Collector(self)
        self.push("otlp", c.url, path)
        r = otlp.read(c.requests[0].body)
        for k, t in enumerate(SUMS):
            wanted = collections.Counter()
            for s in p["sample"]:
                wanted[tuple(n for n, _, _ in profile.stack(p, s))] += \
                    s["value"][k]
            got = collections.Counter()
            for s in otlp.profiles(r)[t]["samples"]:
                got[tuple(otlp.names(r, s))] += s["values"][0]
            self.assertEqual(+got, +wanted)
        d = r["dictionary"]
        self.assertEqual(
            [(d["strings"][m["filename"]],
              [d["attributes"][a]["value"]["string"] for a in m["attributes"]])
             for m in d["mappings"][1:]],
            [("/bin/tree", [b"abcdef01"]), ("/lib/libdeep.so.1", [])])
        self.assertEqual(d["strings"][d["attributes"][1]["key"]],
                         "process.executable.build_id.gnu")

    def test_headers(self):
        c = Collector(self)
        path = self.made(2000, 100, 1e-4)
        secret = self.write("headers", b"Authorization: Bearer s3cret\n\n"
                                       b"X-Scope-OrgID: team\n")
        result = self.push("pyroscope", c.url, "--header=@" + secret,
                           "--header=X-More: a", path)
        self.assertEqual(result.returncode, 0)
        headers = c.requests[0].headers
        self.assertEqual([headers[h] for h in ("Authorization",
                                               "X-Scope-OrgID", "X-More")],
                         ["Bearer s3cret", "team", "a"])
        url = c.url.replace("http://", "http://user:s3cret@")
        c.answers = [403]
        result = self.push("pyroscope", url, path)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(c.requests[1].headers["Authorization"],
                         "Basic " + base64.b64encode(b"user:s3cret").decode())
        self.assertNotIn("s3cret", result.stdout + result.stderr)

    # ---- caps

    def test_stacks_are_folded(self):
        path = self.made(12000, 500, 1e-4)
        whole = profile.read(self.export(path, "--format=pprof"))
        for engine in ENGINES:
            c = Collector(self)
            result = self.push(engine, c.url, "--max-stacks=20", path)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(self.sums_of(engine, c.requests[0]),
                             profile.totals(whole))
            if engine == "pyroscope":
                p = profile.read(c.requests[0].body)
                self.assertEqual(len(p["sample"]), 20)

    def test_size_is_capped(self):
        path = self.golden("upstream-ocamlopt-big.v1")
        got = self.json(path)
        for engine in ENGINES:
            c = Collector(self)
            result = self.push(engine, c.url, "--max-stacks=0",
                               "--max-bytes=400000", path)
            self.assertEqual(result.returncode, 0)
            self.assertIn("above --max-bytes: stacks are merged",
                          result.stderr)
            sums = self.sums_of(engine, c.requests[0])
            self.assertEqual(sums["alloc_space"], got["allocated_bytes"])
            if engine == "pyroscope":
                p = profile.read(c.requests[0].body)
                self.assertLessEqual(p["bytes"], 400000)
                self.assertGreater(len(p["sample"]), 100)
            if engine == "otlp":
                self.assertLessEqual(len(c.requests[0].body), 400000)

    # ---- failures

    def test_what_may_pass_is_tried_again(self):
        path = self.made(2000, 100, 1e-4)
        wanted = profile.totals(profile.read(
            self.export(path, "--format=pprof")))
        for first in (429, 500, 502, 503, 504, 408, None,
                      (429, {"Retry-After": "1"}, b"slow down\n")):
            with self.subTest(first):
                c = Collector(self, first, 503, 200)
                result = self.push("pyroscope", c.url, "--timeout=15m", path)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("2 requests repeated", result.stdout)
                self.assertEqual(len(c.requests), 3)
                for request in c.requests:
                    self.assertEqual(self.sums_of("pyroscope", request),
                                     wanted)
                if isinstance(first, tuple):
                    self.assertGreaterEqual(
                        c.requests[1].at - c.requests[0].at, 0.99)
                c.close()

    def test_silence_is_tried_again(self):
        """A collector that is too slow for the other answers has more time."""
        path = self.made(2000, 100, 1e-4)
        for timeout_s in 1, 10, 100:
            c = Collector(self, math.inf, 503, 200)
            begun = time.monotonic()
            result = self.push("pyroscope", c.url,
                               "--timeout=%ds" % timeout_s, path)
            self.assertGreaterEqual(time.monotonic() - begun, timeout_s)
            c.close()
            if "2 requests repeated" in result.stdout:
                break
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("2 requests repeated", result.stdout)
        self.assertEqual(len(c.requests), 3)

    def test_retries_end(self):
        path = self.made(2000, 100, 1e-4)
        c = Collector(self, (503, {}, b"no room\nfor it"))
        result = self.push("pyroscope", c.url, "--retries=2", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn(c.url + "/ingest answers 503: no room; given up",
                      result.stderr)
        self.assertIn("0 profiles sent", result.stdout)
        self.assertEqual(len(c.requests), 3)
        gaps = [b.at - a.at for a, b in zip(c.requests, c.requests[1:])]
        self.assertGreaterEqual(gaps[0], 0.24)
        self.assertGreaterEqual(gaps[1], 0.49)
        c.close()
        result = self.push("otlp", c.url, "--retries=0", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("onnect", result.stderr)
        c = Collector(self, math.inf)
        result = self.push("parca", c.url, "--retries=0", "--timeout=500ms",
                           path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("timed out", result.stderr)

    def test_refusals_are_final(self):
        path = self.made(2000, 100, 1e-4)
        for status in (301, 400, 401, 404, 413, 422):
            c = Collector(self, (status, {"Location": "http://127.0.0.1:1/"},
                                 b"stack \x1b[31mtoo deep\n"))
            result = self.push("pyroscope", c.url, path)
            self.assertEqual(result.returncode, 1)
            self.assertIn("answers %d: stack ?[31mtoo deep; it is not sent "
                          "again" % status, result.stderr)
            self.assertEqual(len(c.requests), 1)

    def test_otlp_takes_a_part(self):
        path = self.made(2000, 100, 1e-4)
        part = b"\x0a\x0c\x08\x02\x12\x08too many"
        c = Collector(self, (200, {}, part))
        result = self.push("otlp", c.url, path)
        self.assertEqual(result.returncode, 0)
        self.assertIn("2 profiles were refused: too many", result.stderr)
        for hostile in (b"\x0a", b"\x0a\xff", b"\x0a\x02\x12\xff", b"\xff" * 50,
                        b"\x0a\x04\x08\x01\x12\x7fx", b"{}"):
            c = Collector(self, (200, {}, hostile))
            self.assertEqual(self.push("otlp", c.url, path).returncode, 0)

    def test_mistakes(self):
        path = self.made(2000, 100, 1e-4)
        to = "--to=pyroscope=http://127.0.0.1:1"
        for status, part, *args in (
                (2, "where to?", path),
                (2, "write pyroscope=URL", "--to=http://x", path),
                (2, "write pyroscope=URL", "--to=jaeger=http://x", path),
                (2, "http:// or https://", "--to=parca=x:1", path),
                (2, "http:// or https://", "--to=parca=file:///etc", path),
                (2, "http:// or https://", "--to=parca=http://a b", path),
                (2, "of what?", to),
                (2, "too many", to, path, path),
                (2, "write NAME=VALUE", to, "--label=x", path),
                (2, "begins with a letter", to, "--label=1a=b", path),
                (2, "digits and '_' alone", to, "--label=a-b=c", path),
                (2, "digits and '_' alone", to, "--label=a.b=c", path),
                (2, "may not have any of", to, "--label=a=b,c=d", path),
                (2, "not plain text", to, "--label=a=b\nc", path),
                (2, "given twice", to, "--label=a=b", "--label=a=c", path),
                (2, "the engine's own", to, "--label=__x__=b", path),
                (2, "--name says it", to, "--label=service_name=b", path),
                (2, "1 s at least", to, "--every=10ms", path),
                (2, "ms s m h", to, "--timeout=5", path),
                (2, "whole number", to, "--retries=-1", path),
                (2, "'Name: value'", to, "--header=nothing", path),
                (2, "'Name: value'", to, "--header=a: b\nc: d", path),
                (1, "there is no process", to, "1073741823"),
                (3, "cannot open", to, "/nowhere/at/all")):
            result = common.run("push", *args)
            self.assertEqual((result.returncode, result.stdout),
                             (status, ""), args)
            self.assertIn(part, result.stderr, args)
        result = self.push("pyroscope", "http://127.0.0.1:1",
                           "--header=@/nowhere", path)
        self.assertIn("No such file", result.stderr)
        c = Collector(self)
        result = self.push("pyroscope", c.url, "--every=1s", path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing is being recorded", result.stderr)

    # ---- a program that runs

    def of(self, engine, request, function):
        """{type: value} of the stacks that have it innermost."""
        sums = collections.Counter()
        if engine == "pyroscope":
            sums.update(flat(profile.read(request.body), function))
        elif engine == "parca":
            for p in self.parca(request)[1]:
                sums.update(flat(p, function))
        else:
            r = otlp.read(request.body)
            for t, p in otlp.profiles(r).items():
                for s in p["samples"]:
                    if otlp.names(r, s)[0] == function:
                        sums[t] += s["values"][0]
        return sums

    @needs_program
    def test_deltas_add_up(self):
        """What was allocated arrives once, whatever the engine does
        meanwhile; what is in use is as it was then."""
        for engine in ENGINES:
            with self.subTest(engine):
                program = steady.Steady(self, "-f", "--rate=1")
                program.tell("keep", 100, 1000)
                c = Collector(self)
                pushing = steady.Background(
                    self, "push", "--to=%s=%s" % (engine, c.url),
                    "--every=1s", "--retries=0", str(program.pid),
                    first_line=False)
                sums = collections.Counter()

                def arrived():
                    taken = c.requests[:len(c.requests)]
                    sums.clear()
                    for r in taken:
                        if r not in refused:
                            got = self.of(engine, r, "keep_blocks")
                            sums["alloc_space"] += got["alloc_space"]
                            sums["inuse_space"] = got["inuse_space"]
                    return sums
                refused = []
                steady.wait_until(
                    lambda: arrived()["alloc_space"] == 100000, "the first")
                c.answers = [503]
                program.tell("keep", 10, 2000)
                before = len(c.requests)
                steady.wait_until(lambda: len(c.requests) > before + 1,
                                  "refused ones")
                program.tell("keep", 1, 500)
                c.answers = [200]
                n = len(c.requests)
                refused = c.requests[before:n]
                steady.wait_until(
                    lambda: arrived()["alloc_space"] == 120500, "the rest")
                self.assertEqual(sums["inuse_space"], 120500)
                program.tell("drop")
                program.tell("brief", 3, 70)
                program.end()
                status, out, err = pushing.end()
                self.assertEqual(status, 0)
                self.assertIn("the next profile has it, too", err)
                self.assertRegex(out, r"^\d+ profiles sent to .*; "
                                 r"\d+ times it could not be sent in time")
                self.assertEqual(arrived()["alloc_space"], 120500)
                brief = collections.Counter()
                for r in c.requests:
                    if r not in refused:
                        brief += self.of(engine, r, "brief_blocks")
                self.assertEqual(dict(brief), {"alloc_objects": 3,
                                               "alloc_space": 210})
                self.assertEqual(
                    self.of(engine, c.requests[-1],
                            "keep_blocks")["inuse_space"], 0)

    @needs_program
    def test_the_end_of_an_exact_recording(self):
        """It is read now and then, but always when the program has ended."""
        program = steady.Steady(self, "--exact")
        program.tell("brief", 1000000, 10)
        c = Collector(self)
        pushing = steady.Background(
            self, "push", "--to=pyroscope=" + c.url, "--every=1s",
            str(program.pid), first_line=False)
        steady.wait_until(lambda: len(c.requests) > 0, "the first")
        program.tell("keep", 100, 1000)
        program.end()
        status, out, err = pushing.end()
        self.assertEqual((status, err), (0, ""))
        kept = collections.Counter()
        for r in c.requests:
            kept += self.of("pyroscope", r, "keep_blocks")
        self.assertEqual(kept["alloc_space"], 100000)

    @needs_program
    def test_windows_meet(self):
        program = steady.Steady(self, "--rate=1")
        program.tell("keep", 100, 1000)
        c = Collector(self)
        pushing = steady.Background(
            self, "push", "--to=otlp=" + c.url, "--every=1s",
            str(program.pid), first_line=False)
        for i in range(3):
            n = len(c.requests)
            steady.wait_until(lambda: len(c.requests) > n, "a window")
            program.tell("brief", 1, 100)
        status, out, err = pushing.end(signal.SIGTERM)
        self.assertEqual((status, err), (0, ""))
        windows = [otlp.profiles(otlp.read(r.body)).get("alloc_space")
                   for r in c.requests]
        windows = [(w["time"], w["time"] + w["duration"])
                   for w in windows if w]
        self.assertGreater(len(windows), 2)
        for (_, end), (begin, _) in zip(windows, windows[1:]):
            self.assertGreaterEqual(begin, end)
        self.assertIn("%d profiles sent" % len(c.requests), out)


if __name__ == "__main__":
    common.main()
