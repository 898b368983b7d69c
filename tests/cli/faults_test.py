"""What becomes of the command's work when the C library has no memory."""
import os
import sys

import common

sys.path.append(os.path.join(common.SOURCE, "tests", "view"))
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


if __name__ == "__main__":
    common.main()
