"""What is said of a run: its resident memory as the kernel has it, how long it
was, and how it ended; over recordings of a program that knows it."""
import glob
import os
import re

import common

RUNS = os.environ["RUNS"]
MIB = 1 << 20
BYTES = 64 * MIB  # what a case allocates, or touches
HOW = ("--exact", "--rate=1", "--interval=16K")


class Runs(common.Case):
    def record(self, *words, options=("--exact",), status=0):
        """The trace, and what the program wrote."""
        path = os.path.join(self.dir, "t.ctf")
        result = common.run("record", "-q", "-f", "-o", path, *options, RUNS,
                            *words)
        self.assertEqual(result.returncode, status, result.stderr)
        return path, result.stdout

    def resident(self, path):
        """The lines on it of report, as one."""
        lines = re.search(r"(?m)^  resident +(\d.*(?:\n {14}.*)*)",
                          self.ok("report", path))
        return re.sub(r"\s+", " ", lines.group(1)) if lines else ""

    def test_at_most_is_the_kernels_maximum(self):
        for case in ("pieces", "touched", "pages"):
            for how in HOW:
                with self.subTest(case=case, how=how):
                    path, said = self.record(case, options=(how,))
                    got = self.json(path)
                    # The program's own includes what was before its exec, and
                    # the kernel counts in batches.
                    self.assertGreaterEqual(got["rss_most_bytes"], BYTES)
                    self.assertLess(got["rss_most_bytes"],
                                    int(said) * 1024 + 2 * MIB)
                    self.assertGreater(got["rss_most_bytes"],
                                       0.9 * int(said) * 1024 - 2 * MIB)
                    self.assertIn(" at most", self.resident(path))
                    self.assertIn(" at most", self.ok("info", path))

    def test_a_look_meets_the_heaps_peak(self):
        """However short the peak: the look comes before the block goes."""
        for case, least, most in (("pieces", 0.85, 1.5), ("touched", 0.9, 1.5),
                                  ("untouched", 0, 0.5)):
            for how in HOW:
                if (case, how) == ("untouched", "--exact"):
                    continue # such a look is at the earliest after 1 ms
                with self.subTest(case=case, how=how):
                    path, _ = self.record(case, options=(how,))
                    got = self.json(path)
                    self.assertIsNotNone(got["rss_at_peak_bytes"])
                    times = got["rss_at_peak_bytes"] / got["peak_bytes"]
                    self.assertGreaterEqual(times, least)
                    self.assertLess(times, most)
                    self.assertIn(" at the heap's peak, ", self.resident(path))
                    self.assertNotIn("explain", self.ok("report", path))

    def test_no_look_near(self):
        path, _ = self.record("pages", options=("--interval=1G",))
        got = self.json(path)
        self.assertIsNone(got["rss_at_peak_bytes"])
        self.assertIn("no look near the heap's peak", self.resident(path))
        self.assertIn("no look near the heap's peak", self.ok("info", path))
        self.assertNotIn("explain", self.ok("report", path))
        path, _ = self.record("pages", options=("--no-rss",))
        self.assertIsNone(self.json(path)["rss_most_bytes"])
        self.assertEqual(self.resident(path), "")

    def test_a_look_below_the_maximum_explains_nothing(self):
        """The pages came and went between two blocks, and no look met them."""
        path, _ = self.record("pages")
        got = self.json(path)
        self.assertLess(got["rss_peak_bytes"], BYTES / 2)
        self.assertIn(" at the highest look", self.resident(path))
        self.assertNotIn("explain", self.ok("report", path))

    def test_the_end_is_in_the_duration(self):
        for how in HOW:
            with self.subTest(how=how):
                path, _ = self.record("idle", "300", options=(how,))
                self.assertGreaterEqual(self.json(path)["duration_us"], 300000)

    def test_blocks_alive_at_the_end_live_to_it(self):
        path, _ = self.record("idle", "300")
        got = self.json("--live", path)
        site, = [s for s in got["sites"] if s["function"] == "idle"]
        self.assertEqual(site["live_bytes"], 100000)
        self.assertGreaterEqual(site["live_average_life_us"], 300000)

    def all_say(self, path, word, more=""):
        got = self.json(path)["recording"]
        self.assertEqual(got["ended"], word)
        self.assertRegex(self.ok("info", path), r"(?m)^ended +%s" % (
            re.escape(word + more)))
        return self.ok("report", path)

    def test_how_the_program_ended(self):
        for how, word in (("_exit", "exit"), ("_Exit", "exit"),
                          ("quick_exit", "exit"), ("exit", "exit"),
                          ("failed_exec", "exit"), ("bare", "exit")):
            with self.subTest(how=how):
                path, _ = self.record("end", how, status=3)
                said = self.all_say(path, word)
                self.assertNotIn("killed", said)
                self.assertNotIn("exec)", said)
        path, _ = self.record("end", "killed", status=-9)
        self.assertEqual(self.json(path)["recording"]["signal"], 9)
        said = self.all_say(path, "killed", " by signal 9")
        self.assertIn("the program was killed by signal 9; ", said)
        self.assertIn(" at most", self.resident(path))
        path, _ = self.record("end", "exec")
        path, = glob.glob(os.path.join(self.dir, "t.*.ctf"))
        self.assertIn("another program (exec)", self.all_say(path, "exec"))

    def children(self, *how):
        """Their traces, in order."""
        path = os.path.join(self.dir, "c.%p.ctf")
        result = common.run("record", "-q", "-f", "--exact", "-o", path, RUNS,
                            "children", *how)
        self.assertEqual(result.returncode, 0, result.stderr)
        paths = glob.glob(os.path.join(self.dir, "c.*.ctf"))
        start = lambda p: self.json(p)["program"]["start_us"]
        return sorted(paths, key=start)

    def test_how_children_ended(self):
        """Nobody that waits for them tells."""
        want = {"_exit": "exit", "_Exit": "exit", "quick_exit": "exit",
                "exit": "exit", "failed_exec": "exit", "exec": "exec",
                "killed": "killed", "bare": "killed"}
        paths = self.children(*want)
        by_pid = lambda p: int(p.rsplit(".", 2)[1])
        of_parent, = [p for p in paths if "forked=1" not in self.ok("info", p)]
        paths.remove(of_parent)
        self.assertEqual(len(paths), len(want))
        for path, (how, word) in zip(sorted(paths, key=by_pid), want.items()):
            with self.subTest(how=how):
                said = self.all_say(path, word, " (or a bare system call)"
                                    if word == "killed" else "")
                self.assertEqual("was killed (or a bare system call)" in said,
                                 word == "killed")

    def test_several_processes(self):
        """What is live is of each at its end; the peak is of one moment."""
        got = self.json(*self.children("_exit", "exec", "exit"))
        self.assertGreater(got["live_bytes"], got["peak_bytes"])
        self.assertEqual(sorted(p["ended"] for p in got["processes"]),
                         ["exec", "exit", "exit", "exit"])
        paths = glob.glob(os.path.join(self.dir, "c.*.ctf"))
        text = re.sub(r"\s+", " ", self.ok("report", *paths))
        self.assertIn("never freed, each process at its own end; the peak is "
                      "of one moment", text)
        self.assertNotIn("the peak was no less", text)
        self.assertEqual(got["recording"]["ended"], "exit")

    def test_several_processes_share_pages(self):
        one, _ = self.record("pieces")
        two = os.path.join(self.dir, "two.ctf")
        result = common.run("merge", "-f", "-o", two, one, one)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("pages that they share count in each",
                      self.resident(two))
        self.assertIn("pages that they share count in each",
                      self.ok("info", two))
        self.assertIsNone(self.json(two)["rss_most_bytes"])
        for process in self.json(two)["processes"]:
            self.assertGreaterEqual(process["rss_most_bytes"], BYTES)


if __name__ == "__main__":
    common.main()
