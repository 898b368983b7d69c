"""Which holders grow: a server that leaks in three ways amid other memory.

The server is driven by requests between looks, and looks are given moments of
their own, a minute apart: no figure depends on the machine's speed."""
import json
import os
import subprocess
import unittest

import common
import leaks_test
import load

SERVER = os.environ["SERVER"]
STRIPPED = os.environ["STRIPPED"]
MIB = 1 << 20
REQUESTS = MIB // 256  # for 1 MiB of each leak
NAME = os.path.basename(SERVER)
LEAKS = {("lost", None, "header_copy"),
         ("held", f"results ({NAME})", "result_put"),
         ("held", f"reload ({NAME})", "listener_add")}


def key(row):
    return row["class"], row.get("root"), row["function"]


class Case(leaks_test.Case):
    def serve(self, *args, server=SERVER):
        """The server's number, once it has had some requests."""
        self.socket = os.path.join(self.dir, "socket")
        run, pid = self.start(*args, program=(server, self.socket))
        self.addCleanup(self.quit)
        for _ in range(8):
            self.addCleanup(load.stay(self.socket).close)
        for _ in range(500):
            load.request(self.socket)
        return run, pid

    def quit(self):
        load.request(self.socket, "quit")

    def look(self, pid, minute):
        """A look in a file, as if it had been taken at that minute."""
        look = self.leaks(pid)
        look["at_us"] = int(60e6 * (1 + minute))
        return self.keep(f"{minute}.json", look)

    def keep(self, name, look):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            json.dump(look, f)
        return path

    def looks(self, pid, n, line="get", n_requests=REQUESTS):
        paths = [self.look(pid, 0)]
        for minute in range(1, n):
            for _ in range(n_requests):
                load.request(self.socket, line)
            paths.append(self.look(pid, minute))
        return paths

    def growth(self, *args):
        result = common.run("leaks", "--json", *args)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)


class ServerTest(Case):
    def test_exact(self):
        """Each leak to the byte, by name, and nothing else."""
        _, pid = self.serve("--exact")
        paths = self.looks(pid, 4)
        for files in (paths, paths[:2], [paths[0], paths[3]]):
            found = self.growth(*files)
            growing = {key(r): r for r in found["rows"] if r["grows"]}
            self.assertEqual(set(growing), LEAKS)
            for row in growing.values():
                self.assertEqual([row["bytes_per_min" + end] for end in
                                  ("", "_low", "_high")], [MIB] * 3)
            self.assertEqual([r for r in found["rows"] if r["shrinks"]], [])
        self.assertEqual({r["function"] for r in found["rows"]} -
                         {f for _, _, f in LEAKS} >=
                         {"route_make", "recent_put"}, True)
        text = common.run("leaks", *paths, env={"COLUMNS": "100"}).stdout
        self.assertIn("process %d, 4 looks in 3m00s" % pid, text)
        self.assertRegex(text, r"\n +1.00 MiB/min +[\d.]+ MiB +LOST +header_copy  "
                         r"server\.c\n")
        self.assertRegex(text, r"HELD +result_put  server\.c\n +← results \(")
        self.assertRegex(text, r"\n\d+ other rows do not grow beyond chance\n$")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_sampled(self):
        """The chance that sampling hides a leak of some 190 samples is that of
        12 standard errors, below 1e-30.  Any other row may be named by chance,
        but not with one below 1e-12."""
        _, pid = self.serve("--interval=16K")
        rows = self.growth(*self.looks(pid, 4))["rows"]
        found = {key(r): r for r in rows}
        for leak in LEAKS:
            row = found.pop(leak)
            self.assertTrue(row["grows"], row)
            self.assertLess(row["bytes_per_min_low"],
                            row["bytes_per_min_high"])
        for row in found.values():
            self.assertGreater(row["chance"], 1e-12, row)
        # What stays is the same in all looks, sampled or not.
        kept = [r for r in rows if r["function"] == "route_make"]
        self.assertGreater(len(kept), 0)
        for row in kept:
            self.assertEqual(row["bytes_per_min"], 0)
            self.assertEqual(len(set(row["bytes"])), 1)
        for row in rows:
            self.assertTrue(row["now_bytes_low"] <= row["bytes"][-1] <
                            row["now_bytes_high"], row)

    def test_sampled_text(self):
        """Estimates have their errors, growth that nobody saw its upper end:
        some samples' worth.  Of two looks there are no ups and downs; that
        fewer than 10 of a leak's 64 samples are there has a chance below
        1e-15."""
        _, pid = self.serve("--interval=16K")
        paths = self.looks(pid, 2)
        text = common.run("leaks", *paths, env={"COLUMNS": "100"}).stdout
        self.assertRegex(text, r"\n +grows by +95 % +now +±  class")
        self.assertRegex(text, r"\n[^\n]*[KM]iB/min +\[[^\n]*\] +\S+ [KM]iB +"
                         r"(\d+%|-\d+\+\d+%)  LOST +header_copy  server")
        self.assertRegex(text, r"\nwhat has no sample in any look grows by "
                         r"\S+ KiB/min at most\n$")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        unseen = self.growth(*paths)["unseen_bytes_per_min_high"]
        self.assertTrue(16384 < unseen < 10 * 16384, unseen)

    def test_mapped(self):
        """A mapping that grows has another begin, but no other name."""
        _, pid = self.serve("--exact")
        found = self.growth(*self.looks(pid, 4, "map"))
        self.assertEqual([(key(r), r["bytes_per_min"]) for r in found["rows"]
                          if r["grows"] or r["shrinks"]],
                         [(("held", "mapped memory", "mapped_put"), MIB)])

    def test_threads(self):
        """Each has memory of its own, and all of it one name."""
        _, pid = self.serve("--exact")
        found = self.growth(*self.looks(pid, 4, "thread", 32))
        growing = {key(r): r["bytes_per_min"] for r in found["rows"]
                   if r["grows"]}
        self.assertEqual(growing.pop(
            ("held", "thread-local memory", "thread_put")), 32 * 256)
        # What the C library makes for a thread.
        self.assertLessEqual({root for _, root, _ in growing},
                             {"thread-local memory", "stacks of threads"})

    def test_stripped(self):
        """Without symbols all of a section is one holder, or a table would be
        as many as it has words."""
        _, pid = self.serve("--exact", server=STRIPPED)
        found = self.growth(*self.looks(pid, 4))
        growing = [r for r in found["rows"] if r["grows"]]
        self.assertEqual([r["bytes_per_min"] for r in growing], [MIB] * 3)
        root = os.path.basename(STRIPPED) + " .bss"
        self.assertEqual(sorted((r["class"], r.get("root"))
                                for r in growing if r["class"] == "held"),
                         [("held", root)] * 2)

    def test_live(self):
        """The command takes the looks itself."""
        _, pid = self.serve("--exact")
        command = subprocess.Popen(
            [common.BIN, "leaks", "--json", "-p", str(pid), "--growth=1s",
             "--looks=3"], stdout=subprocess.PIPE, env=common.ENV)
        n_requests = 500
        while command.poll() is None:
            load.request(self.socket)
            n_requests += 1
        found = json.loads(command.communicate()[0])
        self.assertEqual((command.returncode, found["looks"]), (0, 3))
        self.assertGreater(found["duration_us"], 0)
        # A request in work may have a block in its hands still.
        for row in found["rows"]:
            if key(row) in LEAKS:
                for less, more in zip([500 * 256, *row["bytes"]],
                                      [*row["bytes"], n_requests * 256]):
                    self.assertLessEqual(less - 2 * 256, more, row)
        self.assertLessEqual(LEAKS, {key(row) for row in found["rows"]})


class RefusedTest(Case):
    LOOK = {"pid": 1, "recorded_since_us": 1, "at_us": 1, "interval_bytes": 8,
            "holders": [{"class": "lost", "steps": [], "bytes": 8,
                         "certain_bytes": 0, "samples": [[16, 1, 8, 0.5]]}]}

    def refused(self, said, later):
        first = self.keep("a.json", self.LOOK)
        second = self.keep("b.json", later)
        result = common.run("leaks", first, second)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertRegex(result.stderr, said)

    def test_looks(self):
        later = {**self.LOOK, "at_us": 2}
        self.growth(self.keep("a.json", self.LOOK), self.keep("b.json", later))
        self.refused("not of a later moment", self.LOOK)
        self.refused("of process 2, and the first", {**later, "pid": 2})
        self.refused("another recording", {**later, "recorded_since_us": 2})
        row = self.LOOK["holders"][0]
        self.refused("line 1: '\\[' or '{' expected", None)
        for wrong in ([], {}, {**later, "pid": "1"},
                      {**later, "holders": {}}, {**later, "at_us": -1},
                      {**later, "at_us": 1e300}, {**later, "holders": [1]}):
            self.refused("is missing, or not as", wrong)
        for wrong in ({"class": 1}, {"root": 1}, {"steps": [1]}, {"steps": 1},
                      {"steps": [{"function": 1}]}, {"bytes": -1},
                      {"certain_bytes": None}, {"samples": None},
                      {"samples": [[16, 1, 8]]}, {"samples": [[16, 1, 8, 0]]},
                      {"samples": [[16, 1, 8, 1]]},
                      {"samples": [[16.5, 1, 8, 0.5]]},
                      {"samples": [["", 1, 8, 0.5]]}):
            self.refused(r'"holders"\[0\] is missing',
                         {**later, "holders": [{**row, **wrong}]})

    def test_texts(self):
        """What a file says is shown clean."""
        row = {**self.LOOK["holders"][0], "function": "f\x1b[31m", "root":
               "r\n\x07", "file": "/a\x1b/b\x1b.c", "class": "held\x1b",
               "samples": [], "steps": [{"function": "s\x9b"}]}
        later = {**self.LOOK, "at_us": 2,
                 "holders": [{**row, "bytes": 80, "certain_bytes": 80}]}
        result = common.run("leaks", self.keep("a.json", self.LOOK),
                            self.keep("b.json", later))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("f?[31m", result.stdout)
        for letter in "\x1b\x07\x9b":
            self.assertNotIn(letter, result.stdout)

    def test_usage(self):
        for args in (["a.json"], ["-p", "1", "a.json", "b.json"],
                     ["--growth=1s", "a.json", "b.json"],
                     ["-p", "1", "--growth=1"], ["-p", "1", "--looks=1"],
                     ["-p", "1", "--growth=1s", "--looks=1001"],
                     ["-p", "1", "--looks=3"], ["--looks=3", "a", "b"]):
            self.assertEqual(common.run("leaks", *args).returncode, 2, args)
        result = common.run("leaks", "/nowhere/a", "/nowhere/b")
        self.assertEqual(result.returncode, 3)
        self.assertIn("/nowhere/a", result.stderr)


if __name__ == "__main__":
    unittest.main()
