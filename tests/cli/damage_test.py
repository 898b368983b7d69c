"""Bad input: what is said, what is kept, what status ends the command."""
import glob
import os
import random
import re
import shutil

import common

SEED = int(os.environ.get("ALQ_TEST_SEED", 0))


class Damage(common.Case):
    def test_what_is_no_trace(self):
        with open(common.BIN, "rb") as f:
            program = f.read(4096)
        os.mkdir(os.path.join(self.dir, "empty-directory"))
        rows = [
            (os.path.join(self.dir, "missing"), "No such file"),
            (os.path.join(self.dir, "empty-directory"), "directory"),
            (self.write("empty", b""), "it is empty"),
            (self.write("text", b"hello, this is no trace\n" * 10),
             "is not a trace; it is text"),
            (self.write("x.sqlite", b"SQLite format 3\0" + 100 * b"\0"),
             "it is a database of SQLite"),
            (self.write("x.html", b"<!doctype html>\n<p>"), "it is a page"),
            (self.write("x.heap", b"ALQHEAP1" + 30 * b"\0"),
             "'aliquot heap' reads it"),
            (self.write("program", program), "it is a program"),
            (self.write("x.xz", b"\xfd7zXZ\0more of it"), "xzcat FILE"),
            (self.write("x.gz", b"\x1f\x8bmore of it"), "gzip data is damaged"),
            (self.write("raw", b"ALIQRAW1 and then nothing"),
             "cannot read the recording"),
        ]
        for path, part in rows:
            for verb in (["report"], ["report", "--json"], ["info"],
                         ["script"], ["check"],
                         ["export", "--format=csv", "-o", "-"]):
                result = common.run(*verb, path)
                self.assertEqual(result.returncode, 3, (verb, path))
                self.assertEqual(result.stdout, "")
                self.assertIn(part, result.stderr)
                self.assertIn(path, result.stderr)

    def test_faults(self):
        """No verb ends by a signal; check finds what the real tools refuse,
        and clean ones are clean."""
        with open(os.path.join(common.GOLDEN, "faults", "expected.tsv")) as f:
            head = f.readline().split("\t")
            rows = [dict(zip(head, line.split("\t"))) for line in f]
        n_found = 0
        for row in rows:
            paths = glob.glob(os.path.join(common.GOLDEN, "faults",
                                           row["file"] + ".ctf*"))
            if not paths:
                continue
            path = self.write("f.ctf", common.unpacked(paths[0]))
            for verb in (["report"], ["report", "--json", "--leaks"],
                         ["info"], ["script"],
                         ["script", "--format=memtrace"],
                         ["export", "--format=folded", "-o", "-"]):
                result = common.run(*verb, path)
                self.assertIn(result.returncode, (0, 3), (verb, row["file"]))
                if result.returncode == 3:
                    self.assertIn("f.ctf", result.stderr)
            result = common.run("check", path)
            if row["file"] in ("v2-ok", "v2-verifier-right",
                               "v3-empty-packet"):
                self.assertEqual(result.returncode, 0, row["file"])
            if row["old_rc"] != "0" and row["new_rc"] != "0":
                self.assertIn(result.returncode, (1, 3), row["file"])
                n_found += 1
        self.assertGreater(n_found, 15)

    def test_cut_anywhere(self):
        """The readable part is reported and repaired, whatever is cut."""
        data = common.trace("leakcache-1e-3.v2")
        whole = common.run("script", "-", stdin=data).stdout
        rng = random.Random(1 + SEED)
        for at in sorted(rng.randrange(100, len(data)) for _ in range(12)):
            path = self.write("cut.ctf", data[:at])
            out = os.path.join(self.dir, "repaired.ctf")
            found = common.run("check", path)
            result = common.run("check", "-f", "--repair", out, path)
            if result.returncode == 3:  # the cut is in the first packet
                self.assertLess(at, 300)
                continue
            self.assertEqual(result.returncode, found.returncode)
            self.assertIn("wrote ", result.stderr)
            clean = common.run("check", out)
            self.assertEqual(clean.returncode, 0, clean.stdout)
            text = self.ok("script", out)
            self.assertTrue(whole.startswith(text))
            self.assertEqual(text, common.run("script", path).stdout)
            self.ok("report", out)

    def test_cut_copy(self):
        """A trace of malloc is made whole: one that is cut has lost what every
        verb would else show as nothing."""
        whole = os.path.join(self.dir, "whole.ctf")
        self.assertEqual(common.run("merge", "-o", whole, self.made(
            20000, 500, 1e-2)).returncode, 0)
        with open(whole, "rb") as f:
            data = f.read()
        path = self.write("cut.ctf", data[:len(data) // 2])
        out = os.path.join(self.dir, "out")
        for verb in (["report"], ["report", "--json"], ["info"], ["script"],
                     ["export", "--format=csv", "-f", "-o", out],
                     ["merge", "-f", "-o", out]):
            result = common.run(*verb, path)
            self.assertEqual(result.returncode, 3, verb)
            self.assertIn("cut.ctf is damaged: its end is missing",
                          result.stderr)
        self.assertIn('"is_complete": false',
                      common.run("report", "--json", path).stdout)
        self.assertEqual(common.run("check", path).returncode, 1)
        self.assertEqual(
            common.run("check", "-f", "--repair", out, path).returncode, 1)
        self.ok("report", out)

    def test_cut_between_packets(self):
        """No byte is wrong, and each verb says what is missing; in a trace of
        several, also where only one of them lacks it."""
        whole = self.made(20000, 500, 1e-2, context="source=malloc")
        with open(whole, "rb") as f:
            data = f.read()
        said = common.run("check", self.write("cut", data[:len(data) // 2]))
        at = int(re.search(r"byte (\d+): the last packet", said.stdout)[1])
        os.mkdir(os.path.join(self.dir, "dir"))
        path = self.write("dir/cut.ctf", data[:at])
        shutil.copy(whole, os.path.join(self.dir, "dir"))
        both = os.path.join(self.dir, "both.ctf")
        out = os.path.join(self.dir, "out")
        wanted = "aliquot: %s has no end: it was cut short, or is still being " \
            "written\n"
        for verb, status in ((["info"], 0), (["info", "--modules"], 0),
                             (["script"], 0), (["script", "--no-stacks"], 0),
                             (["check"], 0),
                             (["export", "--format=csv", "-f", "-o", out], 0),
                             (["diff", whole], 3)):
            result = common.run(*verb, path)
            self.assertEqual(result.returncode, status, verb)
            self.assertEqual(result.stderr, wanted % path, verb)
            self.ok(*verb, whole)
        directory = os.path.dirname(path)
        for verb, status in ((["merge", "-o", both], 0), (["report"], 0),
                             (["info"], 0), (["diff", whole], 3)):
            result = common.run(*verb, directory)
            self.assertEqual(result.returncode, status, verb)
            self.assertEqual(result.stderr.count("no end"), 1, verb)
            self.assertIn(wanted % path, result.stderr)
        for again in both, self.merged_again(both, whole):
            self.assertEqual(common.run("check", again).stderr, wanted % again)
            self.assertIn("! the trace has no end", self.ok("report", again))
            self.assertFalse(self.json(again)["recording"]["is_complete"])
        self.assertTrue(self.json(whole)["recording"]["is_complete"])

    def merged_again(self, *paths):
        out = os.path.join(self.dir, "again.ctf")
        result = common.run("merge", "-f", "-o", out, *paths)
        self.assertEqual(result.returncode, 0)
        self.assertIn("%s has no end" % paths[0], result.stderr)
        return out

    def test_flipped_bytes(self):
        """Random damage never ends a verb by a signal, nor without a word."""
        data = common.trace("wordcount-1e-3.v2")
        rng = random.Random(2 + SEED)
        for _ in range(30):
            bad = bytearray(data)
            for _ in range(3):
                bad[rng.randrange(130, len(bad))] = rng.randrange(256)
            path = self.write("bad.ctf", bytes(bad))
            for verb in ("report", "check"):
                result = common.run(verb, path)
                self.assertIn(result.returncode,
                              (0, 1) if verb == "check" else (0, 3))
                if result.returncode == 3:
                    self.assertIn("is damaged: ", result.stderr)
                    self.assertIn("! the trace is damaged", result.stdout)

    def test_damage_is_in_json(self):
        data = common.trace("wordcount-1e-3.v2")
        bad = data[:20000] + b"\0\1\2\3" * 5000
        result = common.run("report", "--json", self.write("b.ctf", bad))
        self.assertEqual(result.returncode, 3)
        self.assertIn('"is_complete": false', result.stdout)

    def test_repair_overwrites_nothing(self):
        path = self.write("t.ctf", common.trace("synth-bytes.v2"))
        out = self.write("out.ctf", b"precious")
        result = common.run("check", "--repair", out, path)
        self.assertEqual(result.returncode, 2)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"precious")
        result = common.run("check", "-f", "--repair", out, path)
        self.assertEqual(result.returncode, 0)
        with open(out, "rb") as f, open(path, "rb") as g:
            self.assertEqual(f.read(), g.read())

    def test_repair_does_not_empty_what_it_reads(self):
        path = self.write("t.ctf", common.trace("synth-bytes.v2"))
        link = os.path.join(self.dir, "link.ctf")
        os.symlink(path, link)
        for out in (path, link):
            result = common.run("check", "-f", "--repair", out, path)
            self.assertEqual(result.returncode, 2)
            self.assertIn("is the trace to read", result.stderr)
            with open(path, "rb") as f:
                self.assertEqual(f.read(), common.trace("synth-bytes.v2"))

    def test_hostile_names_do_not_reach_the_terminal(self):
        data = common.trace("wordcount-1e-3.v2")
        self.assertIn(b"Stdlib__Bytes.sub\0", data)
        bad = data.replace(b"Stdlib__Bytes.sub\0", b"\033[2J\xff__Bytes\n\tbcd\0")
        self.assertEqual(len(bad), len(data))
        path = self.write("bad.ctf", bad)
        for verb in (["report"], ["report", "--json"], ["script"],
                     ["export", "--format=folded", "-o", "-"]):
            text = common.run(*verb, path).stdout
            self.assertNotIn("\033", text)
            self.assertIn("?[2J?__Bytes??bcd", text)


if __name__ == "__main__":
    common.main()
