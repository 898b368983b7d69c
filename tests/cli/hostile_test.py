"""No text from a trace reaches a terminal as it is.

What a terminal would obey (controls, C1 controls) or what turns the writing
round or hides in it (format characters) stands in every text of these traces
and recordings, and in the names of their files' programs."""
import json
import os
import re
import shutil
import subprocess
import unicodedata
import unittest

import common
from output_test import in_terminal

STYLES = re.compile(r"\033\[[0-9;]*[mK]")


def obeyed(text):
    """Characters of it that a terminal is not to be given."""
    return sorted({"U+%04X" % ord(c) for c in STYLES.sub("", text)
                   if c not in "\n\t" and
                   unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")})


class Hostile(common.Case):
    def setUp(self):
        super().setUp()
        os.environ["HOSTILE_TEXTS"] = "1"
        self.addCleanup(os.environ.pop, "HOSTILE_TEXTS")
        self.a = os.path.join(self.dir, "a.ctf")
        shutil.move(self.made(3000, 200, 1e-3), self.a)
        os.environ["MAKE_TRACE_MOVES"] = "1"
        self.addCleanup(os.environ.pop, "MAKE_TRACE_MOVES")
        self.b = self.made(2500, 300, 1e-3)

    def see(self, *args, wanted=None):
        status, text, errors = in_terminal(args, {"PAGER": "cat"})
        for stream in (text, errors.decode()):
            self.assertEqual(obeyed(stream), [], args)
        if wanted is not None:
            self.assertEqual(status, wanted, (args, text[-300:], errors))
        return text

    def test_reports(self):
        for options in ([], ["--leaks", "-g", "line"], ["-g", "file"],
                        ["-g", "module"], ["--tree=bottom-up"],
                        ["--allocated", "--top=0"], ["--json"]):
            text = self.see("report", *options, self.a, wanted=0)
            self.assertIn("level", text if "-g" not in options else "level")
        self.see("report", self.a, self.b)
        self.see("report", "--function=\033[2J\u202e", self.a)
        self.see("report", "--thread=\033[2J\u202e", self.a)

    def test_comparisons(self):
        for options in ([], ["--json"], ["-g", "file"]):
            self.see("diff", *options, self.a, self.b, wanted=0)
        named = os.path.join(self.dir, "e\033[31mred\u202e.ctf")
        shutil.copy(self.a, named)
        self.assertIn("e?", self.see("diff", named, self.b, wanted=0))

    def test_other_verbs(self):
        for verb in (["info"], ["script"],
                     ["script", "--format=memtrace"], ["check"]):
            self.see(*verb, self.a)

    def test_exports_to_the_terminal(self):
        for form in ("folded", "csv", "speedscope", "dhat",
                     "massif", "callgrind", "html-summary"):
            text = self.see("export", "--format=" + form, "-o", "-", self.a,
                            wanted=0)
            self.assertGreater(len(text), 100, form)

    def test_a_pipe_has_what_the_dump_tool_writes(self):
        done = subprocess.run([common.BIN, "script", "--format=memtrace",
                               self.a], stdout=subprocess.PIPE, check=True)
        self.assertIn("\u202e".encode(), done.stdout)

    def test_errors(self):
        with open(self.a, "rb") as file:
            whole = file.read()
        for name, data in (("half", whole[:len(whole) // 2]),
                           ("spoilt", whole[:2000] + b"\xff" * 300 +
                            whole[2300:])):
            path = self.write(name + "\033[2J\u202e\u2066.ctf", data)
            for verb in ("report", "info", "check", "script"):
                self.see(verb, path)
        for verb in ("report", "info", "check", "script", "no\033[2Jverb"):
            self.see(verb, "/nowhere/\033[2J\u202e")
        self.see("report", "--\033[2J\u202e=3", self.a)

    @unittest.skipUnless(
        os.path.exists(os.path.join(os.path.dirname(common.BIN), "..", "lib",
                                    "libaliquot-preload.so")), "no preload")
    def test_a_program_with_such_a_name(self):
        name = os.path.join(self.dir, "evil\033[2J\u202e\u200b")
        shutil.copy("/bin/true", name)
        out = os.path.join(self.dir, "o.ctf")
        self.see("record", "--rate=1", "-f", "-o", out, "--", name, "a\033[2J",
                 wanted=0)
        for verb in ("report", "info"):
            self.see(verb, out, wanted=0)
        self.see("record", "-o", out, "--", name + "2", wanted=127)

    def test_json_keeps_its_form(self):
        json.loads(self.ok("report", "--json", self.a))


if __name__ == "__main__":
    unittest.main()
