"""Wrong command lines, help, completion and manual pages."""
import os
import re
import shutil
import subprocess

import common

VERBS = ("record", "report", "view", "info", "script", "export", "serve",
         "push", "check", "gc-trace", "limits", "top", "help")
BAD_RATES = ("0", "-1", "1.5", "0x1p-3", "0X1", "inf", "nan", "", " 1", "1e-3x",
             "1K")
BAD_INTERVALS = ("0", "7", "-8", "1025G", "1e30", "0x100", "inf", "nan", "",
                 " 64K", "64X", "64KK")


class Usage(common.Case):
    def test_mistakes_name_what_is_wrong(self):
        path = self.write("t.ctf", common.trace("synth-bytes.v2"))
        rows = [
            (["bogus"], "no command 'bogus'"),
            (["./bogus"], "to record a program: aliquot record ./bogus"),
            (["--bogus", "report"], "no option '--bogus' before a command"),
            (["help", "bogus"], "no command 'bogus'"),
            (["report"], "which trace?"),
            (["script", path, "other"], "'other' is too many"),
            (["report", "--bogus", path], "no option '--bogus'"),
            (["report", "-z", path], "no option '-z'"),
            (["report", "--group=colour", path],
             "choose one of: function line file module"),
            (["report", "--json=1", path], "--json takes no value"),
            (["report", path, "--top"], "--top needs a value: N"),
            (["report", "--top=many", path], "--top=many: write a whole"),
            (["report", "--top=-1", path], "--top=-1: write a whole"),
            (["report", "--top=18446744073709551616", path],
             "--top=18446744073709551616: write a whole number below 2^64"),
            (["top", "-n", "99999999999999999999", path],
             "--iterations 99999999999999999999: a whole number below 2^64"),
            (["push", "--to=parca=http://h", "--to=bogus=http://h", path],
             "--to=bogus=http://h: write pyroscope=URL"),
            (["report", "--min-life=5", path], "ns us ms s m h"),
            (["report", "--min-share=0", path], "above 0, up to 100"),
            (["report", "--filter=live=5..3", path], "upside down"),
            (["report", "--filter=hide=f", path], "for the viewer"),
            (["report", "--filter=in=~a(", path], "in=~a(: "),
            (["report", "--filter=infile=~\\w", path], "backslash"),
            (["report", "--filter=life=1..", "--min-life=1s", path],
             "--filter cannot be used with"),
            (["report", "--phase=x", "--min-life=1s", path],
             "--phase cannot be used with"),
            (["report", "--phase=", path], "write the name of a phase"),
            (["mark"], "give the process by -p, and one name"),
            (["mark", "a", "b"], "give the process by -p, and one name"),
            (["diff", "--at=5", path], "--at=5: write two moments"),
            (["diff", "--at=5ms,end", path, path], "name one"),
            (["diff", "--at=5ms,end", "--peak", path], "leave out --peak"),
            (["view"], "which trace?"),
            (["view", "--port=70000", path], "a whole number up to 65535"),
            (["view", "--idle=x", path], "--idle=x: write a whole number"),
            (["export", path], "where to?"),
            (["export", "-o", "x.unknown", path], "--format=F"),
            (["export", "--format=pdf", "-o", "-", path],
             "choose one of: folded csv"),
            (["export", "--format=firefox", "-o", "-", path],
             "--format=firefox: use dhat: the Firefox Profiler opens it"),
            (["check", "--repair=x", "-"], "--repair needs a file"),
            (["script", "--format=x", path], "choose one of: columns memtrace"),
            (["record"], "no program to run"),
            (["top", "--delay=0", path], "--delay 0: a time from 100ms"),
            (["top", "-n", "-1", path], "--iterations -1: a whole number"),
            (["top", "--sort=size", path], "choose one of: live rate"),
            (["top", "--filter=" + 200 * "x", path], "at most 127 bytes"),
            (["top", "-p", "1", path], "one process, or one recording"),
        ]
        for args, part in rows:
            result = common.run(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertEqual(result.stdout, "", args)
            self.assertIn(part, result.stderr, args)
            self.assertRegex(result.stderr, r"Try 'aliquot .*'\.\n$")
            self.assertFalse(os.path.exists("x.unknown"))

    def test_measures_exclude_each_other(self):
        path = self.write("t.ctf", common.trace("synth-bytes.v2"))
        for verb, first, second in (
                ("report", "--leaks", "--peak"), ("report", "--live", "--leaks"),
                ("export", "--peak", "--allocated"), ("diff", "--live", "--peak"),
                ("start", "--rate=1", "--interval=4K")):
            result = common.run(verb, first, second, path)
            self.assertEqual(result.returncode, 2, verb)
            self.assertIn("exclude each other: give one", result.stderr)
        self.assertEqual(self.ok("report", "--leaks", "--leaks", path),
                         self.ok("report", "--leaks", path))

    def test_operands_that_are_values_of_options(self):
        for args, part in ((["rate", "-p", "1", "4K"], "write --interval=4K"),
                           (["status", "4711"], "write -p 4711")):
            result = common.run(*args)
            self.assertEqual(result.returncode, 2, args)
            self.assertIn(part, result.stderr)

    def test_standard_output_is_closed(self):
        path = self.write("t.ctf", common.trace("synth-bytes.v2"))
        done = subprocess.run(["sh", "-c", '"$0" report "$1" >&-', common.BIN,
                               path], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output: it is closed", done.stderr)

    def test_no_such_signal(self):
        result = common.run("record", "--on-limit=signal=FOO", "true")
        self.assertIn("there is no signal FOO", result.stderr)

    def test_record_refuses_before_the_program_runs(self):
        ran = os.path.join(self.dir, "ran")
        there = self.write("there.ctf", b"precious")
        pipe = os.path.join(self.dir, "pipe")
        os.mkfifo(pipe)
        rows = [
            (["-o", self.dir], 2, "is a directory"),
            (["-f", "-o", self.dir + "/"], 2, "is a directory"),
            (["-o", there], 2, "-f overwrites it"),
            (["-o", pipe], 2, "is a pipe or a socket"),
            (["-f", "-o", pipe], 2, "is a pipe or a socket"),
            (["-o", ran + "/x.ctf"], 2, "No such file"),
            (["--seed=-1"], 2, "a whole number below 2^64"),
            (["--seed="], 2, "a whole number below 2^64"),
            (["--depth=1.5"], 2, "a whole number from 1 to 4096"),
            (["--depth=4097"], 2, "a whole number from 1 to 4096"),
            (["--allocator=" + "a" * 49], 2, "at most 48"),
            (["--allocator=a,"], 2, "names of functions begin with"),
            (["--allocator="], 2, "names of functions begin with"),
            (["--allocator=x=y,z"], 2, "names of functions begin with"),
            (["--allocator=" + ",".join("abcdefghi")], 2, "takes at most 8"),
        ]
        rows += [(["--rate=" + bad], 2, "a number above 0, and 1 at most")
                 for bad in BAD_RATES]
        rows += [(["--interval=" + bad], 2, "a size from 8 to 1024G")
                 for bad in BAD_INTERVALS]
        for options, status, part in rows:
            result = common.run("record", *options, "touch", ran,
                                env={"ALIQUOT_PRELOAD_PATH": common.BIN})
            self.assertEqual(result.returncode, status, options)
            self.assertIn(part, result.stderr, options)
            self.assertFalse(os.path.exists(ran), options)
        self.assertEqual(sorted(os.listdir(self.dir)), ["pipe", "there.ctf"])

    def test_memtrace_rate_is_a_rate(self):
        for bad in BAD_RATES:
            if bad == "":
                continue  # as if it were not there
            result = common.run("record", "true", env={
                "MEMTRACE": os.path.join(self.dir, "t.ctf"),
                "MEMTRACE_RATE": bad})
            self.assertEqual(result.returncode, 2, bad)
            self.assertIn("record: MEMTRACE_RATE=%s: a number above 0" % bad,
                          result.stderr)
        self.assertEqual(os.listdir(self.dir), [])

    def test_control_refuses_rates_that_are_none(self):
        for verb in "start", "rate":
            for option, values, part in (
                    ("--rate", BAD_RATES, "a number above 0, and 1 at most"),
                    ("--interval", BAD_INTERVALS, "a size from 8 to 1024G")):
                for bad in values:
                    result = common.run(verb, "-p", "1", option, bad)
                    self.assertEqual(result.returncode, 2, (verb, bad))
                    self.assertIn("%s: %s %s: %s" % (verb, option, bad, part),
                                  result.stderr)

    def test_help(self):
        text = self.ok("--help")
        self.assertEqual(text, self.ok("help"))
        for verb in VERBS:
            self.assertIn("  %s " % verb, text)
            self.assertEqual(self.ok(verb, "--help"), self.ok("help", verb))
            for line in self.ok("help", verb).splitlines():
                self.assertLessEqual(len(line), 80, line)
        bare = common.run()
        self.assertEqual((bare.returncode, bare.stdout), (2, text))

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^aliquot \d+\.\d+\.\d+\n$")

    def options(self, verb):
        return re.findall(r"--([a-z-]+)", "\n".join(
            re.findall(r"^  .{4}--\S+", self.ok("help", verb), re.M)))

    def test_manual_pages(self):
        man = os.path.join(common.SOURCE, "doc", "man")
        for verb in VERBS:
            with open(os.path.join(man, "aliquot-%s.1" % verb)) as f:
                page = f.read()
            options = [o for o in self.options(verb) if o != "help"]
            for option in options:
                self.assertIn("Fl -" + option, page, verb)
            for option in re.findall(r"^\.It .*Fl -([a-z][a-z-]+)", page, re.M):
                self.assertIn(option, options, verb)
        if shutil.which("mandoc"):
            for name in sorted(os.listdir(man)):
                lint = subprocess.run(
                    ["mandoc", "-Tlint", "-Wwarning",
                     os.path.join(man, name)], capture_output=True)
                self.assertEqual(lint.stdout, b"")

    def complete(self, *words, others=""):
        """What bash would offer for the last of the words."""
        script = others + "%s\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\n_aliquot\n%s" % (
            self.ok("help", "--completion"),
            " ".join("'%s'" % w for w in words), len(words) - 1,
            'printf "%s\\n" "${COMPREPLY[@]}"')
        shell = subprocess.run(["bash", "-c", script], capture_output=True,
                               cwd=self.dir, check=True)
        self.assertEqual(shell.stderr, b"")
        return shell.stdout.decode().split()

    def test_completion(self):
        self.write("my.ctf", b"")
        self.assertEqual(self.complete("aliquot", "rep"), ["report"])
        self.assertEqual(set(VERBS) - set(self.complete("aliquot", "")),
                         set())
        self.assertEqual(self.complete("aliquot", "report", "--gr"),
                         ["--group="])
        self.assertEqual(
            self.complete("aliquot", "report", "--group", "=", "f"),
            ["function", "file"])
        self.assertEqual(
            self.complete("aliquot", "export", "--format", "="),
            ["folded", "csv", "pprof", "speedscope", "dhat",
             "massif", "callgrind", "html", "html-summary",
             "sqlite", "memtrace"])
        self.assertEqual(self.complete("aliquot", "report", "m"), ["my.ctf"])
        self.assertEqual(self.complete("aliquot", "help", "in"), ["info"])
        for verb in VERBS:
            offered = self.complete("aliquot", verb, "--")
            self.assertEqual([o.rstrip("=") for o in offered],
                             ["--" + o for o in self.options(verb)])

    def test_completion_of_what_record_runs(self):
        self.write("my.ctf", b"")
        record = "aliquot", "record"
        for options in ([], ["-q", "--mmap"], ["-o", "x"], ["--output", "x"],
                        ["--interval", "=", "4K", "-f"], ["--probes", "--"],
                        ["--probes", "=", "1M"], ["--interval=4K"]):
            words = [*record, *options]
            self.assertIn("bash", self.complete(*words, "bas"), words)
            self.assertEqual(self.complete(*words, "./m"), ["./my.ctf"])
            self.assertEqual(self.complete(*words, "sh", "m"), ["my.ctf"])
            self.assertEqual(self.complete(*words, "sh", "--"), [])
            self.assertEqual(self.complete(*words, "sh", "--group", ""),
                             ["my.ctf"])
            for other in "_command_offset", "_comp_command_offset":
                self.assertEqual(
                    self.complete(*words, "ls", "-l", "--", others="""
                        %s() { COMPREPLY=("${COMP_WORDS[$1]}"); }
                        """ % other), ["ls"])
        self.assertEqual(self.complete(*record, "-q", "--ex"), ["--exact"])
        self.assertEqual(self.complete(*record, "-o", "m"), ["my.ctf"])
        self.assertEqual(self.complete(*record, "--output", "=", "m"),
                         ["my.ctf"])
        self.assertEqual(self.complete(*record, "--", "--ex"), [])


if __name__ == "__main__":
    common.main()
