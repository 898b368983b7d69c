"""Raw recordings read with an empty cache of symbols, with what that left, and
without one: each command says the same, byte for byte."""
import os
import shutil
import subprocess

import common

VICTIM, PRELOAD = os.environ["VICTIM"], os.environ["PRELOAD"]
COMMANDS = (["report"], ["report", "--json"], ["info"], ["script"],
            ["export", "--format=folded", "-o", "-"])


class SymbolCache(common.Case):
    def setUp(self):
        super().setUp()
        self.cache = os.path.join(self.dir, "cache")

    def program(self, name, *commands):
        """A copy of the program, as packagers make them."""
        shutil.copy(VICTIM, os.path.join(self.dir, name))
        for command in commands:
            subprocess.run(command, cwd=self.dir, shell=True, check=True)
        return os.path.join(self.dir, name)

    def recorded(self, program):
        """What the preload alone leaves of it."""
        raw = program + ".alqraw"
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL,
                       env={**common.ENV, "LD_PRELOAD": PRELOAD,
                            "ALIQUOT": f"interval=65536,seed=3,out={raw}"})
        return raw

    def said(self, raw, cache, *commands):
        return [common.run(*command, raw, env={"ALIQUOT_CACHE": cache})
                for command in commands or COMMANDS]

    def check_same(self, raw, wanted=None):
        """Cold, warm and without; what was said."""
        wanted = wanted or self.said(raw, "")
        for _ in range(2):
            for had, has in zip(wanted, self.said(raw, self.cache)):
                self.assertEqual(had.returncode, 0, had.stderr)
                self.assertEqual((had.returncode, had.stdout, had.stderr),
                                 (has.returncode, has.stdout, has.stderr))
        return wanted

    def test_no_test_has_the_users_cache(self):
        """CTest's environment is the one of cmake/test_environment.cmake."""
        self.assertEqual(os.environ.get("ALIQUOT_CACHE"), "/dev/null")
        home = os.path.join(self.dir, "home")
        os.mkdir(home)
        raw = self.recorded(self.program("whole"))
        env = {"HOME": home, "XDG_CACHE_HOME": ""}
        self.ok("report", raw, env=env)
        self.assertEqual(os.listdir(home), [])

    def test_each_kind_of_program(self):
        kinds = {
            "whole": [],
            "packed": ["objcopy --compress-debug-sections=zlib packed"],
            "stripped": ["strip stripped"],
            "nodebug": ["strip --strip-debug nodebug"],
            "linked": ["objcopy --only-keep-debug linked linked.debug",
                       "strip linked",
                       "objcopy --add-gnu-debuglink=linked.debug linked"],
        }
        for name, commands in kinds.items():
            with self.subTest(name):
                raw = self.recorded(self.program(name, *commands))
                said = self.check_same(raw)
                self.assertEqual("victim.cpp" in said[3].stdout,
                                 name in ("whole", "packed", "linked"))
        self.assertTrue(os.listdir(os.path.join(self.cache)))

    def test_a_warm_cache_reads_no_debug_section(self):
        """The debug file becomes zeros, but looks as it did to stat."""
        program = self.program(
            "linked", "objcopy --only-keep-debug linked linked.debug",
            "strip linked", "objcopy --add-gnu-debuglink=linked.debug linked")
        raw = self.recorded(program)
        debug = program + ".debug"
        wanted = self.check_same(raw)
        sections = subprocess.run(["readelf", "-SW", debug], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
        before, overwritten = os.stat(debug), 0
        with open(debug, "r+b") as f:
            for line in sections.splitlines():
                words = line.replace("[ ", "[").split()
                if len(words) > 5 and words[1].startswith(".debug_"):
                    f.seek(int(words[4], 16))
                    f.write(bytes(int(words[5], 16)))
                    overwritten += 1
        self.assertGreater(overwritten, 4)
        os.utime(debug, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.check_same(raw, wanted)
        # Without the cache the zeros show, and so they do with another time.
        self.assertNotIn("victim.cpp", self.said(raw, "")[3].stdout)
        os.utime(debug, ns=(0, 0))
        self.assertNotIn("victim.cpp", self.said(raw, self.cache)[3].stdout)

    def test_record_fills_it(self):
        program, folded = self.program("whole"), []
        for name in ("first", "second"):
            out = os.path.join(self.dir, name + ".ctf")
            result = common.run("record", "-o", out, "--interval=65536", "--seed=7",
                                program, env={"ALIQUOT_CACHE": self.cache})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(os.listdir(self.cache))
            folded.append(sorted(
                self.ok("export", "--format=folded", "-o", "-", out).splitlines()))
        self.assertIn("main", "".join(folded[0]))
        self.assertEqual(*folded)

    def test_damage_is_silent(self):
        raw = self.recorded(self.program("whole"))
        wanted = self.check_same(raw)
        for name in os.listdir(self.cache):
            path = os.path.join(self.cache, name)
            os.truncate(path, os.stat(path).st_size // 2)
        self.check_same(raw, wanted)


common.main()
