"""Chains of realloc, threads, resident memory and mappings, over recordings of
a program that does known things."""
import os

import common

MOVER = os.environ["MOVER"]


class Moves(common.Case):
    def record(self, case, *options):
        path = os.path.join(self.dir, case + ".ctf")
        result = common.run("record", "-f", "-o", path, *options, MOVER, case)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no findings", self.ok("check", path))
        return path

    def lines(self, path):
        """The script's lines as dictionaries by column."""
        text = self.ok("script", path).splitlines()
        names = text[0].lstrip("#").split("\t")
        for line in text[1:]:
            columns = line.split("\t")
            self.assertEqual(len(columns), len(names), line)
            yield dict(zip(names, columns))

    def moves(self, path, function):
        """(from, to) of each linked allocation of the function, and all its
        allocations, by number."""
        allocs, links, freed = {}, [], None
        for line in self.lines(path):
            if line["event"] == "free":
                freed = line["id"]
            if line["event"] != "alloc":
                continue
            if line["more"].startswith("moved_from="):
                # The block that goes is the last one that went.
                self.assertEqual(line["more"], "moved_from=" + freed)
                links.append((int(freed), int(line["id"])))
            if ";" + function + "@" in line["stack"]:
                allocs[int(line["id"])] = int(line["bytes"])
        return [(a, b) for a, b in links if b in allocs], allocs

    def test_every_realloc_is_linked(self):
        links, allocs = self.moves(self.record("doubled", "--rate=1"),
                                   "doubled")
        self.assertEqual(list(allocs.values()),
                         [100 << i for i in range(12)])
        # The one that failed is no link, and frees nothing.
        ids = list(allocs)
        self.assertEqual(links, list(zip(ids, ids[1:])))
        links, allocs = self.moves(self.record("many", "--rate=1"), "many")
        self.assertEqual(len(links), 19 * 1000)
        for old, new in links:
            self.assertEqual(allocs[new], allocs[old] + 64)

    def test_a_block_that_another_thread_reallocates(self):
        links, allocs = self.moves(self.record("across", "--rate=1"),
                                   "handed_over")
        self.assertEqual(list(allocs.values()), [70000])
        self.assertEqual(len(links), 1)

    def test_a_sample_links_what_it_has(self):
        links, allocs = self.moves(
            self.record("many", "--interval=1K", "--seed=3"), "many")
        self.assertGreater(len(links), 100)
        for old, new in links:
            self.assertEqual(allocs[new], allocs[old] + 64)

    def test_other_readers_pass_over_the_links(self):
        path = self.record("doubled", "--rate=1")
        text = self.ok("script", "--format=memtrace", path)
        self.assertEqual(text.count("doubled@"), 12)
        self.assertNotIn("moved", text)
        self.assertNotIn("rss", text)

    def test_resident_memory_over_time(self):
        rss = [int(line["stack"].split("bytes=")[1])
               for line in self.lines(self.record("touched"))
               if line["stack"].startswith("rss ")]
        # A twentieth of a second each, and the last one at the exit.
        self.assertGreater(len(rss), 5)
        self.assertLess(rss[0], 16 << 20)
        self.assertGreater(max(rss), 48 << 20)
        self.assertLess(rss[-1], 16 << 20)
        for line in self.lines(self.record("touched", "--no-rss")):
            self.assertFalse(line["stack"].startswith("rss "))

    def test_names_of_threads(self):
        names = {}
        for line in self.lines(self.record("threads", "--rate=1")):
            if line["stack"].startswith("thread "):
                words = dict(w.split("=") for w in line["stack"].split()[1:])
                names.setdefault(words["index"], []).append(words["name"])
        self.assertEqual(list(names.values())[1:],
                         [["small"], ["large"], ["small"],
                          ["cli_mover", "in%20between", "at%20last"]])


if __name__ == "__main__":
    common.main()
