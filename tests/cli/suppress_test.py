"""Files of suppressions: which leaks a rule takes, beside what LeakSanitizer
and Valgrind themselves say of the same program and the same file."""
import os
import re
import shutil
import subprocess
import unittest

import common

CXX = os.environ["CXX"]
ROWS, POOL, NAMES, TEXTS = (10, 1000), (5, 1000), (3, 150), (4, 120)


def of(*leaks):
    """Blocks and bytes of some together."""
    return tuple(map(sum, zip(*leaks))) if leaks else (0, 0)


ALL = of(ROWS, POOL, NAMES, TEXTS)

TEMPLATES = {
    "keep_rows": ROWS,
    "ep_ro": ROWS,
    "^keep_rows$": ROWS,
    "^eep_rows": (0, 0),
    "^keep_": of(ROWS, TEXTS),
    "keep*s$": of(ROWS, TEXTS),
    "Pool::grow": POOL,
    "^make_names": NAMES,
    "k?ep_rows": (0, 0),
    "[k]eep_rows": (0, 0),
    "leaks.cpp": ALL,
    "^main": ALL,
    "the_program$": ALL,
    "the_prog*ram": ALL,
    "libc.so": ALL,  # main's caller is in it
}

VALGRIND = {
    "fun:malloc fun:keep_rows": ROWS,
    "fun:malloc fun:keep_*": of(ROWS),
    "fun:mall?c fun:keep_rows fun:main": ROWS,
    "fun:malloc fun:main": (0, 0),
    "fun:calloc fun:keep_rows": (0, 0),
    "fun:malloc ... fun:main": of(ROWS, TEXTS),
    "fun:*alloc ... fun:main": of(ROWS, POOL, TEXTS),
    "fun:calloc fun:_ZN4Pool4growEi": POOL,
    "fun:_Znam ... fun:main": NAMES,
    "... fun:_ZL10make_namesv": NAMES,
    "fun:malloc fun:*strdup fun:_ZL10keep_textsv": TEXTS,
    "fun:malloc obj:*/libc.so* ...": TEXTS,
    "fun:malloc obj:*/the_program": ROWS,
    "... obj:*/the_program fun:main": ALL,
    "... obj:*/the_program fun:nobody": (0, 0),
    "... obj:*/the_program obj:*": ALL,
    "... fun:keep_rows ... fun:main ...": ROWS,
    "fun:malloc fun:[k]eep_rows": (0, 0),
    "fun:malloc src:leaks.cpp:14": ROWS,
    "fun:malloc src:leaks.cpp:15": (0, 0),
    "fun:malloc src:leaks.cp?:* fun:main": ROWS,
    "... src:leaks.cpp": ALL,
    "... src:other.cpp": (0, 0),
}

# Where Aliquot says more: a trace does not tell malloc from calloc.
OURS = {
    "fun:malloc obj:*/the_program": of(ROWS, POOL),
    "fun:malloc src:leaks.cp?:* fun:main": of(ROWS, POOL),
    "... src:*/leaks.cpp": ALL,  # paths, too
    "fun:calloc fun:keep_rows": ROWS,
    "fun:malloc ... fun:main": of(ROWS, POOL, TEXTS),
}


class Suppress(common.Case):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.dir, "the_program")
        self.built(self.program)
        self.trace = os.path.join(self.dir, "t.ctf")
        result = common.run("record", "-q", "--exact", "-o", self.trace,
                            self.program)
        self.assertEqual(result.returncode, 0, result.stderr)

    def built(self, path, *options):
        subprocess.run([CXX, "-O1", "-g", "-fno-builtin",
                        "-fno-optimize-sibling-calls", *options,
                        os.path.join(common.SOURCE, "tests/cli/leaks.cpp"),
                        "-o", path], check=True)

    def file(self, text):
        return self.write("rules.supp", text.encode())

    def report(self, text, *options):
        return self.json("--leaks", "--suppressions=" + self.file(text),
                         *options, self.trace)

    def taken(self, text, *options):
        """(blocks, bytes) of each rule."""
        got = self.report(text, *options)
        for key, whole in ("objects", self.whole["live_objects"]), \
                          ("bytes", self.whole["live_bytes"]):
            self.assertEqual(
                got["live_" + key] + sum(r["suppressed_" + key]
                                         for r in got["suppressions"]), whole)
            self.assertEqual(got["live_" + key], sum(
                s["live_" + key] for s in got["sites"]))
        return [(r["suppressed_objects"], r["suppressed_bytes"])
                for r in got["suppressions"]]

    @property
    def whole(self):
        return self.json("--leaks", self.trace)

    def test_leak_sanitizer(self):
        for template, wanted in TEMPLATES.items():
            text = "# a comment\n\n  leak:%s  \n" % template
            self.assertEqual(self.taken(text), [wanted], template)
            self.assertEqual(self.taken(text, "--filter=size=0.."), [wanted])
        self.assertEqual(self.taken("leak:keep_rows\nleak:main\nleak:keep_\n"),
                         [ROWS, of(POOL, NAMES, TEXTS), (0, 0)])
        other = self.write("other.supp", b"leak:keep_\n")
        self.assertEqual(self.taken("leak:rows\n", "--suppressions=" + other),
                         [ROWS, TEXTS])

    def test_as_leak_sanitizer_says(self):
        program = os.path.join(self.dir, "sanitized", "the_program")
        os.mkdir(os.path.dirname(program))
        try:
            self.built(program, "-fsanitize=leak")
        except subprocess.CalledProcessError:
            self.skipTest("no -fsanitize=leak")
        for template, wanted in TEMPLATES.items():
            path = self.file("leak:%s\n" % template)
            result = subprocess.run(
                [program], capture_output=True, text=True,
                env={**os.environ, "LSAN_OPTIONS":
                     "fast_unwind_on_malloc=0:suppressions=" + path})
            if "fatal error" in result.stderr:
                self.skipTest("LeakSanitizer cannot run here")
            used = re.search(r"count +bytes template\n +(\d+) +(\d+) ",
                             result.stderr)
            got = (int(used[1]), int(used[2])) if used else (0, 0)
            self.assertEqual(got, wanted, template + result.stderr)

    @staticmethod
    def block(frames, name="a name", tool="Memcheck:Leak", more=()):
        lines = [name, tool, *more, *frames.split()]
        return "{\n" + "".join("   %s\n" % line for line in lines) + "}\n"

    def test_valgrind(self):
        for frames, wanted in {**VALGRIND, **OURS}.items():
            self.assertEqual(self.taken(self.block(frames)), [wanted], frames)
        for more, n in ("match-leak-kinds: definite,possible", 1), \
                       ("match-leak-kinds:all", 1), ("match-leak-kinds: none", 0):
            self.assertEqual(self.taken(self.block("... fun:main",
                                                   more=[more])), n * [ALL])

    def test_as_valgrind_says(self):
        if not shutil.which("valgrind"):
            self.skipTest("no valgrind")
        for frames, wanted in VALGRIND.items():
            path = self.file(self.block(frames))
            said = subprocess.run(
                ["valgrind", "--leak-check=full", "--show-leak-kinds=all",
                 "--suppressions=" + path, "--default-suppressions=no",
                 self.program], capture_output=True, text=True).stderr
            used = re.search(r"suppressed: ([\d,]+) bytes in ([\d,]+) blocks",
                             said)
            self.assertTrue(used, said)
            self.assertEqual((int(used[2].replace(",", "")),
                              int(used[1].replace(",", ""))), wanted, frames)

    def test_what_is_printed(self):
        text = self.block("fun:x", tool="Memcheck:Cond") + \
            self.block("fun:malloc fun:keep_rows", name="rows") + \
            "leak:nobody\n" + self.block("fun:x", tool="Helgrind:Race")
        path = self.file(text)
        lines = self.ok("report", "--leaks", "--suppressions=" + path,
                        self.trace, env={"COLUMNS": "300"}).splitlines()
        at = lines.index("SUPPRESSIONS USED, leaks that are not in the above")
        self.assertRegex(lines[at + 2], r"^ +1000 B +10  rows  %s:6$" %
                         re.escape(path))
        self.assertEqual(lines[at + 3:], [
            "   1 used, 1 not; 2 of something else than leaks"])
        self.assertNotIn("keep_rows", "\n".join(lines[:at]))
        got = self.report(text)
        self.assertEqual(got["suppressions_skipped"], 2)
        self.assertEqual([(r["name"], r["line"]) for r in got["suppressions"]],
                         [("rows", 6), ("nobody", 12)])
        self.assertNotIn("suppressions", self.whole)

    def test_wrong_files(self):
        begin = "{\n  x\n  Memcheck:Leak\n"
        for text, line, said in (
                ("leak:a\nrace:b\n", 2, "'race:b': neither leak:"),
                ("\nleak:\n", 2, "behind leak:"),
                (begin + "  fun:a\n", 1, "no } that ends it"),
                ("leak:a\n" + begin + "}\n", 2, "no frames"),
                (begin + "  function:a\n}\n", 4, "'function:a': write fun:"),
                (begin + "  match-leak-kinds: sure\n", 4, "definite"),
                ("{\n  x\n  Leak\n", 3, "Memcheck:Leak"),
                ("{\n  x\n  Memcheck:Cond\n  fun:a\n", 1, "no } ")):
            path = self.file(text)
            result = common.run("report", "--leaks", "--suppressions=" + path,
                                self.trace)
            self.assertEqual((result.returncode, result.stdout), (2, ""), text)
            self.assertIn("report: %s:%d: " % (path, line), result.stderr)
            self.assertIn(said, result.stderr)
        missing = os.path.join(self.dir, "missing")
        result = common.run("report", "--leaks", "--suppressions=" + missing,
                            self.trace)
        self.assertEqual(result.returncode, 2)
        self.assertIn(missing + ": No such file", result.stderr)
        result = common.run("report", "--suppressions=" + self.file(""),
                            self.trace)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--suppressions is for --leaks", result.stderr)


if __name__ == "__main__":
    unittest.main()
