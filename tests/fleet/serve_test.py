"""aliquot serve: what it gives is what the report says, to the clients that
ask for it, while the program goes on."""
import gzip
import http.client
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest
import urllib.parse

import steady
from steady import common, exported
import pprof_file as profile
from pprof_test import GO, KEYS, needs_go

PROMTOOL = shutil.which("promtool")
needs_program = unittest.skipUnless(steady.STEADY, "no preload in this build")


class Serve(exported.Case):
    def serve(self, *args):
        self.server = steady.Background(self, "serve", *map(str, args))
        self.url = urllib.parse.urlsplit(self.server.first)
        return self.server

    def ask(self, path, method="GET", **headers):
        """(status, body)"""
        c = http.client.HTTPConnection(self.url.hostname, self.url.port,
                                       timeout=steady.PATIENCE_S)
        self.addCleanup(c.close)
        c.request(method, self.url.path.rstrip("/") + path, headers=headers)
        answer = c.getresponse()
        self.headers = answer.headers
        return answer.status, answer.read()

    def profile(self, path):
        status, body = self.ask(path)
        self.assertEqual(status, 200, body)
        self.assertEqual(self.headers["Content-Type"],
                         "application/octet-stream")
        self.assertNotIn("Content-Encoding", self.headers)
        return profile.read(body)

    def of(self, p, function):
        """The values of all stacks that have it innermost."""
        rows = [s["value"] for s in p["sample"]
                if next(profile.stack(p, s))[0] == function]
        return [sum(column) for column in zip(*rows)] or [0, 0, 0, 0]

    def metrics(self):
        status, body = self.ask("/metrics")
        self.assertEqual(status, 200)
        return steady.metrics(body.decode())

    # ---- a file

    def test_a_trace_that_is_over(self):
        for name, path in list(self.traces())[:4]:
            with self.subTest(name):
                got = self.json(path)
                self.serve(path)
                p = self.profile("/debug/pprof/heap")
                self.assertEqual(profile.totals(p),
                                 {t: got[k] for t, k in KEYS.items()})
                text = p["string_table"]
                self.assertEqual(text[p["default_sample_type"]],
                                 "inuse_space")
                self.assertEqual(p["time_nanos"], 1000 * (
                    got["program"]["start_us"] + got["duration_us"]))
                self.assertEqual(p["duration_nanos"], 0)
                allocs = self.profile("/debug/pprof/allocs")
                self.assertEqual(profile.totals(allocs), profile.totals(p))
                self.assertEqual(
                    allocs["string_table"][allocs["default_sample_type"]],
                    "alloc_space")
                m = self.metrics()
                self.near(m["aliquot_allocated_bytes_total"],
                          got["allocated_bytes"], name)
                self.near(m["aliquot_live_bytes"], got["live_bytes"], name)
                self.near(m["aliquot_live_bytes_standard_error"],
                          got["live_bytes_stderr"], name)
                self.near(m["aliquot_peak_live_bytes"], got["peak_bytes"],
                          name)
                self.near(m["aliquot_live_objects"], got["live_objects"],
                          name)
                self.assertEqual(m["aliquot_recording_is_live"], 0)
                self.assertEqual(self.server.end(signal.SIGTERM), (0, "", ""))

    def test_metrics_are_well_formed(self):
        if PROMTOOL is None:
            self.skipTest("no promtool: install prometheus")
        for name, path in self.traces():
            with self.subTest(name):
                self.serve(path)
                text = self.ask("/metrics")[1]
                judge = subprocess.run([PROMTOOL, "check", "metrics"],
                                       input=text, capture_output=True)
                self.assertEqual((judge.returncode, judge.stderr), (0, b""))
                names = re.findall(r"^# TYPE (\S+) ", text.decode(), re.M)
                self.assertEqual(len(names), len(set(names)))
                self.server.end(signal.SIGINT)

    def test_a_file_that_grows(self):
        path = self.made(2000, 100, 1e-4)
        self.serve(path)
        before = profile.totals(self.profile("/debug/pprof/heap"))
        shutil.copy(path, path + ".small")
        self.made(4000, 100, 1e-4)
        after = profile.totals(self.profile("/debug/pprof/heap"))
        self.assertGreater(after["alloc_space"], before["alloc_space"])
        self.assertEqual(after["alloc_space"],
                         self.json(path)["allocated_bytes"])
        os.remove(path)
        self.assertEqual(profile.totals(self.profile("/debug/pprof/heap")),
                         after)

    def test_a_file_that_cannot_be_read_is_tried_again(self):
        """A compressed trace is read at once, or not at all."""
        path = os.path.join(self.dir, "t.ctf.gz")

        def put(data):
            with open(path + ".new", "wb") as f:
                f.write(data)
            os.rename(path + ".new", path)
            return self.ask("/metrics")[0]

        good = gzip.compress(common.trace("synth-bytes.v2"))
        with open(path, "wb") as f:
            f.write(good)
        self.serve(path)
        self.assertEqual(self.ask("/metrics")[0], 200)
        self.assertEqual(put(gzip.compress(b"no trace")), 503)
        self.assertEqual(self.ask("/metrics")[0], 503)
        self.assertEqual(put(good), 200)

    def test_counters_are_of_the_recording(self):
        """Another recording at the path begins them anew."""
        counters = ("aliquot_allocated_bytes_total",
                    "aliquot_allocated_objects_total")
        path = os.path.join(self.dir, "t.ctf")
        traces = [[common.trace(n)] for n in ("synth-bytes.v2",
                                              "bintree-1e-3.v2")]
        for t in traces:
            self.write("t.ctf", t[0])
            got = self.json(path)
            t.append((got["allocated_bytes"], got["allocated_objects"]))
        traces.sort(key=lambda t: t[1])
        (small, sums), (large, _) = traces
        self.write("t.ctf", large)
        self.serve(path)
        before = self.metrics()
        self.write("t.ctf", small)
        after = self.metrics()
        self.assertGreater(before[counters[0]], after[counters[0]])
        for name, wanted in zip(counters, sums):
            self.near(after[name], wanted, name)

    def test_what_is_not_there(self):
        self.serve(self.made(2000, 100, 1e-4))
        status, body = self.ask("/debug/pprof/goroutine")
        self.assertEqual(status, 404)
        self.assertIn(b"/debug/pprof/delta_heap", body)
        self.assertEqual(self.ask("/")[0], 200)
        for path in ("heap?debug=1", "allocs?seconds=x", "heap?seconds=-1",
                     "heap?seconds=3601", "delta_heap?reader=" + 64 * "x"):
            self.assertEqual(self.ask("/debug/pprof/" + path)[0], 400, path)
        self.assertEqual(self.ask("/debug/pprof/heap?debug=0")[0], 200)
        self.assertEqual(self.ask("/metrics", method="POST")[0], 405)
        self.assertEqual(self.ask("/metrics", method="PUT")[0], 405)
        self.assertEqual(self.ask("/metrics", Host="evil.example")[0], 403)
        self.assertEqual(self.ask("/metrics",
                                  Origin="http://evil.example")[0], 403)
        for i in range(16):
            self.assertEqual(
                self.ask("/debug/pprof/delta_heap?reader=%d" % i)[0], 200)
        self.assertEqual(self.ask("/debug/pprof/delta_heap")[0], 429)

    def test_token_and_port(self):
        path = self.made(2000, 100, 1e-4)
        self.serve("--token", path)
        self.assertRegex(self.url.path, r"^/[0-9a-f]{32}/$")
        self.assertEqual(self.ask("/metrics")[0], 200)
        port, self.url = self.url.port, self.url._replace(path="/")
        self.assertEqual(self.ask("/metrics")[0], 404)
        result = common.run("serve", "--port=%d" % port, path)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("port %d is taken" % port, result.stderr)
        self.server.end(signal.SIGTERM)
        self.serve("--port=%d" % port, path)
        self.assertEqual(self.url.port, port)

    def test_mistakes(self):
        path = self.made(2000, 100, 1e-4)
        for status, part, *args in (
                (2, "of what?"),
                (2, "'other' is too many", path, "other"),
                (2, "from 0 to 65535", "--port=70000", path),
                (2, "not the number of a process", "99999999999999999999"),
                (3, "cannot open", os.path.join(self.dir, "none")),
                (3, "not a trace", common.BIN),
                (1, "there is no process", "1073741823"),
                (1, "is not recorded", str(os.getpid()))):
            result = common.run("serve", *args)
            self.assertEqual((result.returncode, result.stdout),
                             (status, ""), args)
            self.assertIn(part, result.stderr)

    # ---- a program that runs

    @needs_program
    def test_a_program_while_it_runs(self):
        program = steady.Steady(self, "--rate=1", "--control")
        program.tell("keep", 100, 1000)
        program.tell("brief", 50, 300)
        self.serve(program.pid)
        p = self.profile("/debug/pprof/heap")
        self.assertEqual(profile.faults(p), [])
        self.assertEqual(self.of(p, "keep_blocks"), [100, 100000] * 2)
        self.assertEqual(self.of(p, "brief_blocks"), [50, 15000, 0, 0])
        self.assertLess(abs(p["time_nanos"] / 1e9 - time.time()),
                        steady.PATIENCE_S)
        snapshot = os.path.join(self.dir, "snapshot.ctf")
        self.ok("snapshot", "-p", str(program.pid), "-o", snapshot)
        got = self.json(snapshot)
        self.assertEqual(profile.totals(p),
                         {t: got[k] for t, k in KEYS.items()})

        before = self.metrics()
        self.assertEqual(before["aliquot_recording_is_live"], 1)
        program.tell("keep", 10, 2000)
        program.tell("drop")

        def has_told():
            m = self.metrics()
            return m["aliquot_live_bytes"] < before["aliquot_live_bytes"]
        steady.wait_until(has_told, "live bytes fall")
        after = self.metrics()
        self.assertEqual(after["aliquot_allocated_bytes_total"] -
                         before["aliquot_allocated_bytes_total"], 20000)
        self.assertEqual(before["aliquot_live_bytes"] -
                         after["aliquot_live_bytes"], 100000)
        program.end()
        status, _, err = self.server.end()
        self.assertEqual(status, 0)
        self.assertIn("process %d has ended" % program.pid, err)

    @needs_program
    def test_an_exact_recording(self):
        program = steady.Steady(self, "--exact")
        program.tell("keep", 100, 1000)
        self.serve(program.pid)
        steady.wait_until(lambda: self.of(self.profile("/debug/pprof/heap"),
                                          "keep_blocks") == [100, 100000] * 2,
                          "what was kept")
        self.profile("/debug/pprof/delta_heap")
        program.tell("brief", 5, 50)
        program.tell("drop")
        got = [0, 0, 0, 0]

        def has_come():
            p = self.profile("/debug/pprof/delta_heap")
            brief = self.of(p, "brief_blocks")
            got[:2] = map(sum, zip(got[:2], brief[:2]))
            got[2:] = self.of(p, "keep_blocks")[2:]
            return got[0] > 0 and got[3] == 0
        steady.wait_until(has_come, "the delta comes")
        self.assertEqual(got, [5, 250, 0, 0])

    def test_deltas_are_of_the_recording(self):
        """Another recording of the same program at the path: all that it has
        is new, though the one before it had the same call stacks."""
        path = self.made(4000, 100, 1e-4)
        self.serve(path)
        self.profile("/debug/pprof/delta_heap")
        self.made(2000, 100, 1e-4, pid=4712)
        delta = profile.totals(self.profile("/debug/pprof/delta_heap"))
        self.assertEqual(delta["alloc_space"],
                         self.json(path)["allocated_bytes"])

    @needs_program
    def test_deltas(self):
        program = steady.Steady(self, "--rate=1")
        program.tell("keep", 100, 1000)
        self.serve(program.pid)
        first = self.profile("/debug/pprof/delta_heap")
        self.assertEqual(self.of(first, "keep_blocks"), [100, 100000] * 2)
        program.tell("keep", 7, 1000)
        program.tell("brief", 5, 50)
        got = [0, 0, 0, 0]
        brief = [0, 0, 0, 0]

        def has_grown():
            p = self.profile("/debug/pprof/delta_heap")
            got[:2] = map(sum, zip(got[:2], self.of(p, "keep_blocks")))
            got[2:] = self.of(p, "keep_blocks")[2:]
            brief[:] = map(sum, zip(brief, self.of(p, "brief_blocks")))
            return got[0] == 7 and brief[0] == 5
        steady.wait_until(has_grown, "the delta comes")
        self.assertEqual(got, [7, 7000, 107, 107000])
        self.assertEqual(brief, [5, 250, 0, 0])
        other = self.profile("/debug/pprof/delta_heap?reader=other")
        self.assertEqual(self.of(other, "keep_blocks"), [107, 107000] * 2)

    @needs_program
    def test_a_window_of_seconds(self):
        """It holds up no one else, and has all four differences."""
        for seconds in 2, 20, 200:
            if self.window_has_all(seconds):
                break
        else:
            self.fail("no window had what was done in its middle")
        self.assertEqual(self.server.end(signal.SIGTERM)[0], 0)

    def window_has_all(self, seconds):
        """False: this machine was too slow for such a window."""
        program = steady.Steady(self, "--rate=1")
        program.tell("keep", 100, 1000)
        self.serve(program.pid)
        window = []
        waiting = threading.Thread(target=lambda: window.append(
            self.profile("/debug/pprof/heap?seconds=%d" % seconds)))
        waiting.start()
        time.sleep(seconds / 4)
        begun = time.time()
        program.tell("drop")
        program.tell("keep", 3, 500)
        self.assertIn("aliquot_live_bytes", self.metrics())
        was_before_its_end = waiting.is_alive()
        waiting.join()
        p, = window
        self.assertGreaterEqual(p["duration_nanos"], seconds * 1e9)
        began = (p["time_nanos"] - p["duration_nanos"]) / 1e9
        if not was_before_its_end or began > begun:
            return False
        self.assertEqual(self.of(p, "keep_blocks"),
                         [3, 1500, -97, -98500])
        return True

    @needs_program
    def test_a_window_ends_with_the_server(self):
        program = steady.Steady(self, "--rate=1")
        program.tell("keep", 100, 1000)
        self.serve(program.pid)
        c = http.client.HTTPConnection(self.url.hostname, self.url.port,
                                       timeout=steady.PATIENCE_S)
        self.addCleanup(c.close)
        c.request("GET", "/debug/pprof/heap?seconds=3600")
        self.metrics()  # it came behind, and is answered
        self.assertEqual(self.server.end(signal.SIGTERM)[0], 0)

    @needs_program
    @needs_go
    def test_pprof_fetches_it(self):
        program = steady.Steady(self, "--rate=1")
        program.tell("keep", 100, 1000)
        self.serve(program.pid)
        for path, sample_type in (("heap", "inuse_space"),
                                  ("allocs", "alloc_space")):
            out = subprocess.run(
                [GO, "tool", "pprof", "-top", "-unit=bytes",
                 self.server.first + "debug/pprof/" + path],
                capture_output=True, text=True, timeout=steady.PATIENCE_S,
                env={**common.ENV, "HOME": self.dir,
                     "PPROF_TMPDIR": self.dir})
            self.assertEqual(out.returncode, 0, out.stderr)
            self.assertIn("Type: " + sample_type, out.stdout)
            self.assertRegex(out.stdout, r" 100000B .* keep_blocks\n")

    @needs_program
    def test_no_recording(self):
        program = steady.Steady(self, "--off", "--control")
        result = common.run("serve", str(program.pid))
        self.assertEqual(result.returncode, 1)
        self.assertIn("records nothing now: 'aliquot start -p %d'"
                      % program.pid, result.stderr)


if __name__ == "__main__":
    common.main()
