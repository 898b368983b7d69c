"""What becomes of the command's work when the C library has no memory."""
import os
import sys

import common

for folder in "fleet", "view":
    sys.path.append(os.path.join(common.SOURCE, "tests", folder))
from collector import Collector
import view

FAULTS = os.environ["FAULTS"]


class NoStream(common.Case):
    """fdopen() fails: neither a descriptor nor a file may stay behind."""
    env = {"LD_PRELOAD": FAULTS, "NO_FDOPEN": "1"}

    def test_view_goes_on_without_an_index(self):
        path = self.write("t.ctf", common.trace("leakcache-1e-3.v2"))
        env = {**self.env, "XDG_CACHE_HOME": os.path.join(self.dir, "cache")}
        with view.Server(path, env=env) as server:
            self.assertNotEqual(server.url, "")
            server.ask("info")
        self.assertEqual(sorted(os.listdir(self.dir)), ["cache", "t.ctf"])
        self.assertEqual(os.listdir(os.path.join(self.dir, "cache",
                                                 "aliquot")), [])

    def test_export_leaves_no_file(self):
        path = self.write("t.ctf", common.trace("leakcache-1e-3.v2"))
        out = os.path.join(self.dir, "t.csv")
        result = common.run("export", "-o", out, path, env=self.env)
        self.assertEqual(result.returncode, 3)
        self.assertIn("cannot create " + out, result.stderr)
        self.assertEqual(os.listdir(self.dir), ["t.ctf"])


class NoMemory(common.Case):
    """A block as large as what is sent is not had: nothing cut may go out."""

    def test_clickhouse_gets_whole_batches(self):
        path = self.made(120000, 500, 0.125)
        c = Collector(self, (200, {}, b"0\n"))
        result = common.run("export", "--to=clickhouse=" + c.url, path, env={
            "LD_PRELOAD": FAULTS, "LARGEST_BLOCK": "4000000"})
        self.assertEqual(result.returncode, 3)
        self.assertIn("out of memory for a batch of rows", result.stderr)
        for r in c.requests:
            self.assertTrue(r.body == b"" or r.body.endswith(b"\n"))


if __name__ == "__main__":
    common.main()
