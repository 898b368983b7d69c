"""Traces of a managed heap: by the environment, and by aliquot record; what the
verbs make of them; ends that nobody chose."""
import os
import re
import signal
import subprocess
import unittest

import common

PROGRAM = os.environ["HEAP_PROGRAM"]
IS_SANITIZED = os.environ.get("SANITIZED") == "1"
# Cells of 24 bytes, header included, in two domains.
BYTES = 2 * 1000 * 500 * 24


class Case(common.Case):
    def program(self, *args, env=None, code=0):
        """Runs it in the test's directory; what it said on stderr."""
        result = subprocess.run([PROGRAM, *args], cwd=self.dir, timeout=common.PATIENCE_S,
                                env={**common.ENV, **(env or {})},
                                capture_output=True)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr.decode()

    def path(self, name):
        return os.path.join(self.dir, name)

    def traced(self, *args, rate="1e-2", **more):
        env = {"MEMTRACE": self.path("t.ctf"), "MEMTRACE_RATE": rate,
               **more.pop("env", {})}
        said = self.program(*args, env=env, **more)
        return self.path("t.ctf"), said

    def is_sound(self, path):
        self.assertRegex(self.ok("check", path), "no findings")


class Environment(Case):
    def test_a_language_is_told_by_its_functions(self):
        path, said = self.traced("language")
        self.assertEqual(said, "")
        self.is_sound(path)
        text = self.ok("report", path, "--allocated")
        self.assertRegex(text, r"make-list +lists\.lang:7 ← main-loop")
        info = self.ok("info", path)
        self.assertRegex(info, r"domain 1")
        self.assertRegex(info, r"domain 2")
        self.assertRegex(info, r"ended +exit")

    def test_root_frames_are_functions(self):
        path, _ = self.traced("sites")
        self.is_sound(path)
        self.assertRegex(self.ok("report", path, "--allocated"),
                         r"make_list +heap_program\.c:\d+ ← main_loop")

    def test_the_machines_frames_are_functions(self):
        path, _ = self.traced("native")
        self.is_sound(path)
        # static, so from the symbol table; aliquot record has lines, too
        self.assertRegex(self.ok("report", path, "--allocated"),
                         r"make_list.*main_loop")

    def test_estimates_are_right(self):
        # 3000 samples: a standard error is 1.83 %, and 8 of them are allowed:
        # 1e-15 of false alarms.  (Below, 30,000 and 0.58 %.)
        path, _ = self.traced("language", rate="1e-3")
        total = self.json(path)["allocated_bytes"]
        self.assertLess(abs(total / BYTES - 1), 8 * 0.0183)

    def test_shares_of_the_heaps(self):
        path, _ = self.traced("language")
        info = self.ok("info", path)
        self.assertRegex(info, r"minor heap +2\d\.\d MiB")
        promoted = float(re.search(r"promoted +([\d.]+)%", info).group(1))
        self.assertTrue(0.1 < promoted < 50, promoted)

    def test_format_3_has_a_stream_a_domain(self):
        path, _ = self.traced("language", env={"MEMTRACE_FORMAT": "3"})
        self.is_sound(path)
        self.assertIn("memtrace version 3", self.ok("info", path))
        rows = [r.split("\t") for r in self.ok("script", path).splitlines()]
        column = rows[0].index("domain")
        self.assertEqual({r[column] for r in rows[1:] if r[1] == "alloc"},
                         {"0", "1"})

    def test_the_process_number(self):
        self.program("language", env={"MEMTRACE": self.path("t.%p.ctf")})
        names = os.listdir(self.dir)
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^t\.\d+\.ctf$")

    def test_programs_that_it_runs_are_not_traced(self):
        # The first image makes a heap and is replaced; the second is not
        # traced, or it would have overwritten the file with many events.
        path, said = self.traced("language", "exec")
        self.assertEqual(said, "")
        self.assertRegex(self.ok("info", path), r"events +0 allocations")

    def test_nothing_without_the_variable(self):
        self.assertEqual(self.program("language"), "")
        self.assertEqual(os.listdir(self.dir), [])


class Ends(Case):
    def test_exit_without_dropping_the_heap(self):
        path, _ = self.traced("language", "exit")
        self.is_sound(path)
        self.assertRegex(self.ok("info", path), r"ended +exit")

    def test_killed(self):
        path, _ = self.traced("language", "kill", code=-signal.SIGKILL)
        self.is_sound(path)  # what was flushed is whole
        total = self.json(path)["allocated_bytes"]
        self.assertLess(abs(total / BYTES - 1), 8 * 0.0058)

    def test_a_forked_child_adds_nothing(self):
        path, _ = self.traced("language", "fork")
        self.is_sound(path)
        total = self.json(path)["allocated_bytes"]
        self.assertLess(abs(total / BYTES - 1), 8 * 0.0058)

    def test_no_room(self):
        said = self.program("language", env={"MEMTRACE": "/dev/full"})
        self.assertRegex(said, r"^aliquot: MEMTRACE=/dev/full: No space left "
                         r"on device; the heap is not traced\n$")

    def test_no_room_later(self):
        command = f'ulimit -f 40; exec "{PROGRAM}" language exit 3000'
        result = subprocess.run(
            ["bash", "-c", command], capture_output=True, timeout=common.PATIENCE_S,
            env={**common.ENV, "MEMTRACE": self.path("t.ctf"),
                 "MEMTRACE_RATE": "1e-2"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, b"done\n")
        self.assertRegex(result.stderr.decode(),
                         r"^aliquot: cannot write \S+: File too large; the "
                         r"trace ends here\n$")
        self.assertLessEqual(os.path.getsize(self.path("t.ctf")), 40 * 1024)
        self.is_sound(self.path("t.ctf"))

    def test_no_such_place(self):
        said = self.program("language", env={"MEMTRACE": "/no/such"})
        self.assertIn("MEMTRACE=/no/such: No such file or directory", said)
        self.assertEqual(len(said.splitlines()), 1)


@unittest.skipIf(IS_SANITIZED, "the preload does not go with sanitizers")
class Record(Case):
    def record(self, *args, code=0, program=("language",), env=None):
        result = subprocess.run(
            [common.BIN, "record", *args, PROGRAM, *program], cwd=self.dir,
            env={**common.ENV, **(env or {})}, capture_output=True,
            timeout=common.PATIENCE_S)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr.decode()

    def test_the_heap_has_a_trace_of_its_own(self):
        said = self.record("--interval", "8K", "-o", "out.ctf")
        self.assertEqual(sorted(os.listdir(self.dir)),
                         ["out.ctf", "out.heap.ctf"])
        self.assertRegex(said, r"heap: \S+ sampled blocks of 2[0-9.]+ MiB "
                         r"allocated -> out\.heap\.ctf")
        path = self.path("out.heap.ctf")
        self.is_sound(path)
        text = self.ok("report", path, "--allocated")
        self.assertRegex(text, r"make-list +lists\.lang:7 ← main-loop")
        self.assertRegex(self.ok("info", path), "minor heap")
        malloc = self.ok("script", self.path("out.ctf"))
        self.assertNotIn("make-list", malloc)

    def test_the_machines_frames_have_lines(self):
        self.record("--interval", "8K", "-o", "out.ctf", program=("native",))
        text = self.ok("script", self.path("out.heap.ctf"))
        self.assertRegex(text, r"main_loop@\S*heap_program\.c:\d+")
        self.assertRegex(text, r"make_list@\S*heap_program\.c:\d+")
        # what is inlined of ours is in the stack, but no site
        self.assertRegex(text, r"alq_alloc_small@")
        sites = self.ok("report", self.path("out.heap.ctf"), "--allocated")
        self.assertRegex(sites, r"make_list +heap_program\.c:\d+ ← main_loop")
        self.assertNotRegex(sites, r"alq_alloc_\w+ +\S+ ←")

    def test_names_of_files(self):
        self.record()
        names = sorted(os.listdir(self.dir))
        self.assertRegex(names[0], r"^aliquot\.\S+\.\d+\.ctf$")
        self.assertEqual(names[1], names[0][:-3] + "heap.ctf")
        self.record("-o", "z.ctf.zst")
        self.assertIn("z.heap.ctf.zst", os.listdir(self.dir))
        self.is_sound(self.path("z.heap.ctf.zst"))
        before = os.stat(self.path("z.heap.ctf.zst")).st_mtime_ns
        self.record("-f", "-o", "z.ctf.zst")
        self.assertGreater(os.stat(self.path("z.heap.ctf.zst")).st_mtime_ns,
                           before)
        self.assertEqual(len(os.listdir(self.dir)), 4)

    def test_every_block(self):
        said = self.record("--exact", "-o", "out.ctf",
                           program=("language", "drop", "20"))
        self.assertIn(", heap: 20k sampled blocks of ", said)
        script = self.ok("script", self.path("out.heap.ctf"))
        self.assertEqual(sum("\talloc\t" in line
                             for line in script.splitlines()), 2 * 20 * 500)

    def test_killed(self):
        self.record("--interval", "8K", "-o", "out.ctf",
                    program=("language", "kill"), code=-signal.SIGKILL)
        info = self.ok("info", self.path("out.heap.ctf"))
        self.assertRegex(info, r"ended +killed")
        self.is_sound(self.path("out.heap.ctf"))

    def test_exec_and_fork(self):
        self.record("--follow", "--interval", "8K", "-o", "out.ctf",
                    program=("language", "exec"))
        names = sorted(os.listdir(self.dir))
        heaps = [n for n in names if ".heap" in n]
        self.assertEqual(len(heaps), 2, names)  # of both images
        for name in names:
            os.unlink(self.path(name))
        self.record("--interval", "8K", "-o", "out.ctf",
                    program=("language", "exec"))
        names = sorted(os.listdir(self.dir))
        heaps = [n for n in names if ".heap" in n]
        self.assertEqual(len(heaps), 2, names)  # exec is followed unasked

    def test_memtrace_is_left_alone(self):
        self.record("-o", "out.ctf", env={"MEMTRACE": "inner.ctf"})
        self.assertEqual(sorted(os.listdir(self.dir)),
                         ["out.ctf", "out.heap.ctf"])

    def test_what_memtrace_names_goes_if_it_is_a_trace(self):
        """... and so with the heap's trace beside it."""
        env = {"MEMTRACE": "t.ctf"}
        for _ in range(2):
            self.record(env=env)
            self.assertEqual(sorted(os.listdir(self.dir)),
                             ["t.ctf", "t.heap.ctf"])
        self.write("t.heap.ctf", b"precious")
        self.record(env=env)
        with open(self.path("t.heap.ctf"), "rb") as f:
            self.assertEqual(f.read(), b"precious")
        self.assertEqual(len(os.listdir(self.dir)), 3)

    def test_malloc_may_be_traced_too(self):
        path = self.path("m.ctf")
        self.program("malloc", path, code=7)  # there is no preload
        preload = os.path.join(os.path.dirname(common.BIN), "..", "lib",
                               "libaliquot-preload.so")
        result = subprocess.run([PROGRAM, "malloc", path], timeout=common.PATIENCE_S,
                                capture_output=True, cwd=self.dir,
                                env={**common.ENV, "LD_PRELOAD": preload,
                                     "ALIQUOT": "control"})
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        n_allocs, n_frees = map(int, result.stdout.split())
        # The C library keeps what it allocates for a thread, one block each.
        self.assertIn(n_allocs - n_frees, range(3))
        self.is_sound(path)
        info = self.ok("info", path)
        self.assertRegex(info, r"context .*source=malloc")
        self.assertRegex(info, rf"events +{n_allocs} allocations, "
                         rf"{n_frees} frees")
        # Bytes: 2 * 100,000 blocks of 249.5; a sample in 8000 bytes, so 6,400
        # of them and 1.25 %: 8 standard errors are 1e-15.
        total = self.json(path)["allocated_bytes"]
        self.assertLess(abs(total / (2 * 100000 * 249.5) - 1), 0.1)
        self.assertRegex(self.ok("report", "--allocated", path), "allocate")

    def test_not_of_programs_without_a_heap(self):
        subprocess.run([common.BIN, "record", "-o", "out.ctf", "ls"],
                       cwd=self.dir, check=True, capture_output=True)
        self.assertEqual(os.listdir(self.dir), ["out.ctf"])


if __name__ == "__main__":
    common.main()
