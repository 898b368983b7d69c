"""aliquot view as a server: whom it answers, its index, how it ends."""
import json
import os
import shutil
import socket
import stat
import struct
import subprocess
import urllib.parse

import view
from view import common


class Serving(view.Case):
    def setUp(self):
        super().setUp()
        self.path = self.write("t.ctf", common.trace("leakcache-1e-3.v2"))
        self.index = self.path + ".aliquot-index"

    def raw(self, url, request):
        """The reply to bytes, up to the end of the connection."""
        at = urllib.parse.urlsplit(url)
        with socket.create_connection((at.hostname, at.port), 60) as s:
            s.sendall(request.replace("TOKEN", at.path).replace(
                "HOST", at.netloc).encode())
            s.shutdown(socket.SHUT_WR)
            reply = b""
            while chunk := s.recv(65536):
                reply += chunk
        return reply.decode(errors="replace")

    def status(self, url, request):
        return int(self.raw(url, request).split(" ", 2)[1])

    def test_the_page_and_its_policy(self):
        server = self.server(self.path)
        self.assertRegex(server.url,
                         r"^http://127\.0\.0\.1:\d+/[0-9A-Za-z_-]{20,}/$")
        status, headers, body = server.get("")
        self.assertEqual(status, 200)
        self.assertIn(b"<!DOCTYPE html>", body)
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self'",
                     "connect-src 'self'", "base-uri 'none'",
                     "form-action 'none'", "frame-ancestors 'none'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")
        self.assertIn("no-store", headers["Cache-Control"])
        for name in ("app.js", "app.css"):
            self.assertEqual(server.get(name)[0], 200)
        self.assertEqual(server.get("nothing.js")[0], 404)

    def test_who_is_refused(self):
        url = self.server(self.path).url
        good = "GET TOKENapi/info HTTP/1.1\r\nHost: HOST\r\n" \
               "Connection: close\r\n\r\n"
        self.assertEqual(self.status(url, good), 200)
        for what in (good.replace("Host: HOST", "Host: evil.example"),
                     good.replace("\r\nConnection",
                                  "\r\nOrigin: http://evil.example"
                                  "\r\nConnection"),
                     good.replace("\r\nConnection",
                                  "\r\nOrigin: null\r\nConnection"),
                     good.replace("GET", "POST"), good.replace("GET", "PUT"),
                     good.replace("GET", "DELETE"),
                     good.replace("GET", "OPTIONS"),
                     good.replace("TOKEN", "/"),
                     good.replace("TOKEN", "/wrong/"),
                     good.replace("TOKENapi/info", "TOKEN../api/info"),
                     good.replace("TOKENapi/info", "TOKENapi/../../x")):
            self.assertIn(self.status(url, what), (400, 403, 404, 405), what)
        same = good.replace("\r\nConnection",
                            "\r\nOrigin: http://HOST\r\nConnection")
        self.assertEqual(self.status(url, same), 200)

    def test_errors_name_what_is_wrong(self):
        server = self.server(self.path)
        for query, part in (
                ("tree?live=5..3", "live=5..3: the range is upside down"),
                ("tree?size=x", "size=x: write a range"),
                ("tree?t=1", "t=1: there is none of that number"),
                ("tree?alloc=1..&alloc=2..", "alloc=2..: it stands twice"),
                ("tree?heap=x", "heap=x: a list of minor, major, malloc"),
                ("tree?by=x", "by=x: one of: bytes blocks samples"),
                ("tree?zz=1", "zz: no such key"),
                ("tree?zz", "'zz' has no value"),
                ("tree?in=%2", "in: a % is no code of a byte"),
                ("tree?in=", "in=: write a name or a part"),
                ("tree?focus=1,x", "focus=1,x: numbers of functions"),
                ("tree?min=2", "min=2: a number from 0 to 1"),
                ("tree?" + 70 * "in=a&", "there are too many"),
                ("tree?" + 300 * "in=a&", "more than 256 conditions"),
                ("sites?limit=0", "limit=0: a whole number from 1"),
                ("sites?group=x", "group=x: one of: function line"),
                ("function", "id=N is missing"),
                ("function?id=99999", "id=99999: a whole number from 0 to"),
                ("samples?offset=99999", "offset=99999: a whole number"),
                ("timeline?n=0", "n=0: a whole number"),
                ("timeline?step=0", "step=0: a whole number from "),
                ("timeline?step=1000000&n=9", "n: no such key"),
                ("timeline?draw=x", "draw=x: one of: bytes blocks allocated"),
                ("timeline?stack=x", "stack=x: one of: none function thread"),
                ("diff?b.live=x", "b.live=x: write a range")):
            status, _, body = server.get("api/" + query)
            self.assertEqual(status, 400, query)
            self.assertIn(part, json.loads(body)["error"], query)
        for query in ("nothing", "", "info/x"):
            self.assertEqual(server.get("api/" + query)[0], 404)

    def test_the_index_is_kept_and_made_anew(self):
        with view.Server(self.path) as server:
            first = server.ask("sites")
        made = os.stat(self.index)
        self.assertEqual(stat.S_IMODE(made.st_mode),
                         stat.S_IMODE(os.stat(self.path).st_mode) & 0o666)
        with view.Server(self.path) as server:
            self.assertEqual(server.ask("sites"), first)
        self.assertEqual(os.stat(self.index).st_mtime_ns, made.st_mtime_ns)
        # Damaged anywhere, cut short, of another version, of another trace.
        with open(self.index, "rb") as f:
            good = f.read()
        bad = [good[:100], b"", good[:-8] + b"ALQVIEX\n",
               good[:-16] + b"\x63\0\0\0" + good[-12:],
               good[:-400] + bytes(300) + good[-100:]]
        for data in bad:
            with open(self.index, "wb") as f:
                f.write(data)
            with view.Server(self.path) as server:
                self.assertEqual(server.ask("sites"), first)
            with open(self.index, "rb") as f:
                self.assertEqual(f.read(), good)
        # The trace is another one now, of the same size.
        other = common.trace("leakcache-1e-3.v3")
        self.write("t.ctf", other)
        with view.Server(self.path) as server:
            self.assertNotEqual(server.ask("sites"), first)
        self.assertEqual(sorted(os.listdir(self.dir)),
                         ["t.ctf", "t.ctf.aliquot-index"])

    def test_without_an_index(self):
        with view.Server("--no-index", self.path) as server:
            server.ask("info")
        self.assertEqual(os.listdir(self.dir), ["t.ctf"])

    def test_a_pipe_is_read_once(self):
        """Nobody looks into it first to see what it is."""
        server = view.Server.__new__(view.Server)
        server.process = subprocess.Popen(
            ["bash", "-c", 'exec "$0" view --no-open <(cat "$1")', common.BIN,
             self.path], stdout=subprocess.PIPE, text=True)
        server.url = server.process.stdout.readline().strip()
        with server:
            piped, = server.ask("info")["traces"]
        with view.Server("--no-index", self.path) as server:
            self.assertEqual(server.ask("info")["traces"][0]["total"],
                             piped["total"])

    def test_an_index_in_the_cache(self):
        """Where the folder of the trace cannot be written."""
        folder = os.path.join(self.dir, "closed")
        cache = os.path.join(self.dir, "cache")
        os.mkdir(folder)
        path = shutil.move(self.path, folder)
        # Root may write anywhere, but a name of such length is nowhere.
        long = os.path.join(folder, 245 * "x")
        os.rename(path, long)
        env = {"XDG_CACHE_HOME": cache}
        with view.Server(long, env=env) as server:
            first = server.ask("info")
        index, = os.listdir(os.path.join(cache, "aliquot"))
        self.assertRegex(index, r"^[0-9a-f]{16}\.aliquot-index$")
        made = os.stat(os.path.join(cache, "aliquot", index)).st_mtime_ns
        with view.Server(long, env=env) as server:
            self.assertEqual(server.ask("info"), first)
        self.assertEqual(
            os.stat(os.path.join(cache, "aliquot", index)).st_mtime_ns, made)
        self.assertEqual(os.listdir(folder), [245 * "x"])

    def test_many_traces_and_directories(self):
        other = self.write("u.ctf", common.trace("bintree-1e-3.v2"))
        with view.Server("--no-index", self.path, other, self.dir) as server:
            traces = server.ask("info")["traces"]
            self.assertEqual([t["name"] for t in traces],
                             [self.path, other, self.dir])
            for t, trace in enumerate(traces):
                got = server.ask("sites", "t=%d" % t)
                self.assertEqual(got["total"], trace["total"])
            self.assertEqual(traces[2]["total"]["n"],
                             traces[0]["total"]["n"] + traces[1]["total"]["n"])

    def test_a_damaged_trace_is_shown_as_far_as_it_goes(self):
        with open(self.path, "rb") as f:
            data = f.read()
        starts, at = [], 0
        while at < len(data):
            starts.append(at)
            at += struct.unpack_from("<I", data, at + 4)[0] // 8
        at = starts[len(starts) // 2]
        for bad, is_damage, what in (
                (data[:at] + b"oops" + data[at + 4:], True, "is damaged"),
                (data[:len(data) // 2], False, "packet is cut short")):
            path = self.write("bad.ctf", bad)
            with view.Server("--no-index", path) as server:
                trace, = server.ask("info")["traces"]
                status, said = server.stop()
            self.assertGreater(trace["total"]["n"], 100)
            self.assertEqual(trace["damage"] != "", is_damage, trace)
            self.assertEqual(len(trace["notes"]), 1)
            self.assertRegex(trace["notes"][0], "damaged|warnings? of")
            self.assertEqual(status, 0)
            self.assertIn(what, said)

    def test_what_is_no_trace(self):
        for args in (["view", self.write("x.ctf", b"nothing")],
                     ["view", os.path.join(self.dir, "none.ctf")]):
            result = common.run(*args)
            self.assertEqual((result.returncode, result.stdout), (3, ""))
            self.assertIn("aliquot: ", result.stderr)

    def test_how_it_ends(self):
        server = self.server(self.path)
        server.ask("info")
        self.assertEqual(server.stop(), (0, ""))
        server = self.server("--idle=1", self.path)
        server.ask("info")
        server.process.wait(timeout=common.PATIENCE_S)
        status, said = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("no request for 1 s", said)

    def test_a_port_of_ones_choice(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        server = self.server("--port=%d" % port, self.path)
        self.assertIn(":%d/" % port, server.url)
        result = common.run("view", "--no-open", "--port=%d" % port, self.path)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(str(port), result.stderr)

    def test_a_link_survives_the_server(self):
        env = {"XDG_STATE_HOME": os.path.join(self.dir, "state")}
        urls = []
        for _ in range(2):
            with view.Server("--no-index", self.path, env=env) as server:
                urls.append(server.url)
        self.assertEqual(*urls)
        with view.Server("--no-index", self.path, env=env) as server, \
                view.Server("--no-index", self.path, env=env) as second:
            self.assertEqual(server.url, urls[0])
            self.assertNotEqual(second.url, urls[0])
            self.assertEqual(second.ask("info")["traces"][0]["name"],
                             self.path)

    def test_source_lines(self):
        text = ["line %d" % i for i in range(1, 500)]
        text[9] = "\tten <b>&amp;"
        os.makedirs(os.path.join(self.dir, "dir"))
        path = self.view_trace(functions=60)
        for i in range(50):
            name = os.path.join(self.dir, "dir", "file%d.c" % i)
            with open(name, "w") as f:
                f.write("\n".join(text))
        here = os.getcwd()
        os.chdir(self.dir)
        self.addCleanup(os.chdir, here)
        server = self.server("--no-index", path)
        got = server.ask("functions")
        row = got["rows"][0]
        f = got["functions"][row["function"]]
        self.assertRegex(f["file"], r"^dir/file\d+\.c$")
        source = server.ask("source", "file=%d&line=10" % f["id"])
        self.assertEqual(source["path"], f["file"])
        self.assertEqual(source["from"], 1)
        self.assertEqual(source["lines"][9], "\tten <b>&amp;")
        self.assertEqual(source["lines"][0], "line 1")
        lines = server.ask("function", "id=%d" % f["id"])["lines"]
        for line in lines:
            self.assertLessEqual(
                line["sum"]["n"],
                source["sums"][str(line["line"])]["n"])
        source = server.ask("source", "file=%d&line=400" % f["id"])
        self.assertEqual(source["lines"][400 - source["from"]], "line 400")
        os.remove(f["file"])
        os.mkfifo(f["file"])
        status, _, body = server.get("api/source?file=%d&line=1" % f["id"])
        self.assertEqual(status, 404)
        self.assertIn("cannot be read", json.loads(body)["error"])

    def test_a_recording_that_is_still_raw(self):
        victim = os.environ.get("VICTIM")
        if not victim:
            self.skipTest("no recordings here")
        raw = os.path.join(self.dir, "t.alqraw")
        result = common.subprocess.run(
            [victim], env={**common.ENV, "LD_PRELOAD": os.environ["PRELOAD"],
                           "ALIQUOT": "interval=4096,out=%s" % raw},
            capture_output=True, timeout=common.PATIENCE_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        with view.Server(raw) as server:
            trace, = server.ask("info")["traces"]
            self.assertGreater(trace["total"]["n"], 0)
            self.assertEqual(
                trace["total"]["n"],
                self.json("--top=1", raw)["allocated_sampled_blocks"])


if __name__ == "__main__":
    common.main()
