"""What a trace tells of the holders of its blocks: `record --leaks` puts them
in, merge keeps them, and the report groups by them."""
import json
import os
import unittest

import common

HELD = os.environ["HELD"]
CACHE = f"the_cache ({os.path.basename(HELD)})"
SOURCE = "held.c"
# By class, and the names of the way: bytes by site.
WANTED = {
    ("held", (CACHE,)): {"cache_make": 16},
    ("held", (CACHE, "cache_make")):
        {"node_push": 2000 * 16, "table_fill": 1000 * 500 + 1000 * 8},
    ("held", (CACHE, "cache_make", "node_push")): {"payload_new": 2000 * 200},
    ("lost", ()): {"pair_lose": 300 * 64},
    ("indirect", ("pair_lose",)): {"child_new": 300 * 128},
}


class HeldTest(common.Case):
    def recorded(self, name, *args):
        path = os.path.join(self.dir, name)
        common.run("record", "-q", *args, "--leaks", "-o", path, "--", HELD)
        self.ok("check", path)
        return path

    def holders(self, path, *args):
        report = self.json("--leaks", *args, path)
        self.assertEqual(report["recording"]["strange_events"], 0)
        return report, report["holders"]

    def by_way(self, holders):
        """Bytes by site, by class and way; each way is there once, and each sum
        is that of its sites."""
        found = {}
        for h in holders:
            way = tuple(s["name"].split(" (" + SOURCE)[0] for s in h["way"])
            sites = {s["function"]: s["live_bytes"] for s in h["sites"]}
            self.assertNotIn((h["class"], way), found)
            self.near(sum(sites.values()), h["live_bytes"], way)
            found[h["class"], way] = sites
        return found

    def test_exact(self):
        path = self.recorded("a.ctf", "--exact")
        report, holders = self.holders(path)
        self.assertEqual(self.by_way(holders), WANTED)
        most = {s["name"].split(" (")[0]: s["most"]
                for h in holders for s in h["way"]}
        self.assertEqual(most["node_push"], 2000)
        self.assertEqual(most["cache_make"], 1)
        for c in ("held", "lost", "indirect"):
            self.assertEqual(report[c + "_bytes"],
                             sum(h["live_bytes"] for h in holders
                                 if h["class"] == c))

    def test_text(self):
        path = self.recorded("a.ctf", "--exact")
        text = self.ok("report", "--leaks", "--no-pager", path,
                       env={"COLUMNS": "200"})
        lines = text.split("NEVER FREED, HELD by holder\n")[1].splitlines()
        self.assertIn("527 KiB", lines[1])
        self.assertTrue(lines[1].endswith(CACHE + " → cache_make (held.c)"),
                        lines[1])
        self.assertEqual(lines[2].split("  ")[-1],
                         "94.1% table_fill, 5.9% node_push")
        self.assertTrue(lines[3].endswith("→ node_push (held.c) ×2000"),
                        lines[3])
        self.assertIn("NEVER FREED, INDIRECT by holder", text)

    def test_filter(self):
        path = self.recorded("a.ctf", "--exact")
        _, holders = self.holders(path, "--filter=in=payload_new")
        self.assertEqual(
            self.by_way(holders),
            {k: v for k, v in WANTED.items() if "payload_new" in v})

    def test_sampled(self):
        """The root holds, as steps between are known by chance."""
        path = self.recorded("a.ctf", "--interval=1K")
        report, holders = self.holders(path)
        found = self.by_way(holders)
        held = [w for c, w in found if c == "held"]
        self.assertEqual(held, [(CACHE,)])
        self.near(sum(found["held", (CACHE,)].values()), report["held_bytes"],
                  "held")
        whole = holders[0]
        self.assertLess(whole["live_bytes_low"], whole["live_bytes"])
        self.assertGreater(whole["live_bytes_high"], whole["live_bytes"])

    def test_merged(self):
        """Ways of the same names are one, those of another program's are not."""
        paths = [self.recorded(n, "--exact") for n in ("a.ctf", "b.ctf")]
        merged = os.path.join(self.dir, "m.ctf")
        self.assertEqual(common.run("merge", "-o", merged, *paths).returncode,
                         0)
        self.ok("check", merged)
        _, holders = self.holders(merged)
        self.assertEqual(
            self.by_way(holders),
            {k: {s: 2 * n for s, n in v.items()} for k, v in WANTED.items()})


if __name__ == "__main__":
    common.main()
