"""Recordings that become traces while their processes write them."""
import collections
import os
import re
import resource
import subprocess
import unittest

import common

HANDER = os.environ["HANDER"]
GROWING = os.environ["GROWING"]
PRELOAD = os.environ["PRELOAD"]


class Growing(common.Case):
    """A conversion in many steps, beside one at once, of the same recording."""

    def both(self, settings, *program):
        raw = os.path.join(self.dir, "x.alqraw")
        grown, whole = (os.path.join(self.dir, n) for n in ("grown", "whole"))
        growing = subprocess.Popen([GROWING, raw, grown, whole],
                                   stdout=subprocess.PIPE, text=True)
        subprocess.run(program, check=True, timeout=common.PATIENCE_S,
                       env={**os.environ, "LD_PRELOAD": PRELOAD,
                            "ALIQUOT": settings + ",out=" + raw})
        said, _ = growing.communicate(timeout=common.PATIENCE_S)
        self.assertEqual(growing.returncode, 0)
        n_grown, counts, counts_at_once = said.splitlines()
        self.assertGreater(int(n_grown), 3)
        self.assertEqual(counts, counts_at_once)
        return grown, whole

    def blocks(self, path):
        """What each thread allocated, in its order: bytes, stack, the block
        that it continues, and whether it ended. Threads are not in one order:
        one that stands still with an event comes later while it grows."""
        lines = self.ok("script", path).splitlines()
        names = lines[0].lstrip("#").split("\t")
        key, made = {}, collections.defaultdict(list)
        for line in lines[1:]:
            row = dict(zip(names, line.split("\t")))
            if row["event"] == "alloc":
                mine = made[row["thread"]]
                moved = row["more"].removeprefix("moved_from=")
                key[row["id"]] = row["thread"], len(mine)
                mine.append([row["bytes"], row["samples"], row["stack"],
                             key.get(moved, row["more"]), False])
            elif row["event"] == "free":
                thread, n = key[row["id"]]
                made[thread][n][-1] = True
        return made

    def equal(self, settings, least):
        grown, whole = self.both(settings, HANDER, "4", "700")
        self.assertIn("no findings", self.ok("check", grown))
        a, b = self.blocks(grown), self.blocks(whole)
        self.assertEqual(a.keys(), b.keys())
        self.assertGreater(sum(map(len, a.values())), least)
        for thread in a:
            self.assertEqual(a[thread], b[thread])

    def test_exact(self):
        self.equal("exact=1,rate=1", 10000)

    def test_samples(self):
        self.equal("rate=0.01", 1000)


class Record(common.Case):
    def test_the_trace_is_what_was_made_meanwhile(self):
        path = os.path.join(self.dir, "t.ctf.zst")
        done = common.run("record", "--exact", "-o", path, HANDER, "2", "600")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no findings", self.ok("check", path))
        self.assertEqual(sorted(os.listdir(self.dir)), ["t.ctf.zst"])
        said = re.search(r": ([\d.]+[kM]?) blocks", done.stderr).group(1)
        self.assertIn(said, self.ok("report", path))

    def test_more_processes_than_files_that_may_be_open(self):
        """Each process that has ended meanwhile has its trace; none keeps a
        file open."""
        n = 60
        path = os.path.join(self.dir, "t.ctf")
        done = subprocess.run(
            [common.BIN, "record", "--follow", "--rate=1", "-o", path, "sh",
             "-c", "for i in $(seq %d); do %s 1 10; done" % (n, HANDER)],
            capture_output=True, text=True, timeout=common.PATIENCE_S,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                  (40, 40)))
        self.assertEqual(done.returncode, 0, done.stderr)
        hander = os.path.basename(HANDER)
        made = [f for f in os.listdir(self.dir) if "." + hander + "." in f]
        self.assertEqual(len(made), n, done.stderr)
        for name in made[::10]:
            self.assertIn("no findings",
                          self.ok("check", os.path.join(self.dir, name)))


if __name__ == "__main__":
    unittest.main()
