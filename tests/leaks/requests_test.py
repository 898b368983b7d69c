"""The example server, which stores values under keys: what it has is held by
its store, whatever was stored, dropped and read."""
import os
import re
import unittest
import urllib.request

import common
import leaks_test

SERVER = os.environ["SERVER"]
BYTES, STORED, DROPPED = 20000, 40, 15


class RequestsTest(leaks_test.Case):
    def ask(self, what):
        with urllib.request.urlopen(self.server + what,
                                    timeout=common.PATIENCE_S) as answer:
            return answer.read()

    def held(self, *args):
        """Blocks and bytes of the stored values, after some requests."""
        _, pid = self.start(*args, program=(SERVER, "--rate", "0.01"),
                            says="listening on http://127.0.0.1:")
        with open(os.path.join(self.dir, "out"), encoding="utf-8") as f:
            self.server = re.search(r"http://\S+", f.read()).group()
        for k in range(STORED):
            self.ask(f"/put/key{k}?bytes={BYTES}")
        for k in range(DROPPED):
            self.ask(f"/drop/key{k}")
            self.ask(f"/get/key{DROPPED + k}")
        found = self.leaks(pid)
        self.ask("/quit")
        rows = [h for h in found["holders"] if h["function"] == "block_new"]
        for row in rows:  # a step more where two keys have one bucket
            self.assertEqual((row["class"], row["root"]),
                             ("held", "store (request_server)"))
            self.assertLessEqual({s["function"] for s in row["steps"]},
                                 {"block_new"})
        return [sum(row[what] for row in rows) for what in ("blocks", "bytes")]

    def test_exact(self):
        n_blocks, n_bytes = self.held("--exact")
        self.assertEqual(n_blocks, STORED - DROPPED)
        self.assertGreater(n_bytes, (STORED - DROPPED) * BYTES)

    def test_sampled(self):
        """None of the blocks is seen one time in e^488."""
        self.assertGreater(self.held("--interval=1K")[0], 0)


if __name__ == "__main__":
    common.main()
