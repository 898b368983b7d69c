"""Which holder of a managed heap grows: a Scheme program with a list that is
never emptied, beside a full cache and a table that stays.

A snapshot has every block that roots lead to, so what grew is exact."""
import json
import os
import subprocess
import tempfile
import unittest

BIN = os.environ["ALIQUOT_BIN"]
SCHEME = os.environ["SCHEME"]
PROGRAM = """
(define sessions '())
(define routes (make-vector 5000 'route))
(define cache (make-vector 100 #f))
(define (session-add! n)
  (set! sessions (cons (list n (number->string n)) sessions)))
(define (cache-put! n)
  (vector-set! cache (modulo n 100) (list n (number->string n))))
(define (serve from to)
  (if (< from to)
      (begin (session-add! from) (cache-put! from) (serve (+ from 1) to))))
(define (idle n) (if (> n 0) (begin (make-vector 10 n) (idle (- n 1)))))
"""
# Of a session: the pair of the list, two of its own, a string of two words.
PAIR_BYTES, STRING_BYTES = 3 * 24, 16


class Test(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="aliquot-scheme-")
        self.addCleanup(self.dir.cleanup)
        self.program = subprocess.Popen(
            [SCHEME], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "ALIQUOT_CONTROL": "1"})
        self.addCleanup(self.program.communicate)
        self.tell(PROGRAM)

    def tell(self, text):
        self.program.stdin.write(text + "\n")
        self.program.stdin.flush()

    def serve(self, first, last):
        """Returns when the program has done it."""
        self.tell("(serve %d %d) (display 'served) (newline)" % (first, last))
        self.assertIn("served", self.program.stdout.readline())

    def snapshot(self, name):
        """The program allocates meanwhile, and keeps nothing of it."""
        path = os.path.join(self.dir.name, name)
        command = [BIN, "snapshot", "--graph", "-p", str(self.program.pid),
                   "-o", path]
        while True:
            taking = subprocess.Popen(command, stderr=subprocess.PIPE,
                                      text=True)
            while taking.poll() is None:
                self.tell("(idle 100)")
            error = taking.communicate()[1]
            if taking.returncode == 0:
                return path
            if "no domain" not in error and "no control" not in error:
                raise AssertionError(error)

    def test_list_grows(self):
        self.serve(1000, 2000)
        a = self.snapshot("a.heap")
        self.serve(2000, 5000)
        b = self.snapshot("b.heap")
        out = subprocess.run([BIN, "heap", "--json", a, b],
                             capture_output=True, text=True, check=True).stdout
        found = json.loads(out)
        self.assertGreater(found["duration_us"], 0)
        sessions, *others = found["groups"]
        self.assertEqual((sessions["name"], sessions["change_bytes"]),
                         ("global sessions",
                          3000 * (PAIR_BYTES + STRING_BYTES)))
        # A call of idle is at another place; it holds some blocks at most.
        for group in others:
            self.assertLess(abs(group["change_bytes"]), 4096, group)
        pairs, = sessions["below"]
        self.assertEqual(pairs["name"], "pair")
        self.assertEqual([(g["name"], g["change_bytes"])
                          for g in pairs["below"]],
                         [("string", 3000 * STRING_BYTES)])
        names = {g["name"] for g in found["groups"]}
        self.assertLessEqual({"global cache", "global routes"}, names)
        text = subprocess.run([BIN, "heap", a, b], capture_output=True,
                              text=True, check=True).stdout
        self.assertRegex(text, r"B is .* later: held blocks grow by .*/min\n")
        self.assertRegex(text, r"root, then kinds\n +\+258 KiB .* global "
                         r"sessions\n +\+258 KiB .*  pair\n")


if __name__ == "__main__":
    unittest.main()
