"""What the tests of exports share: the traces they are held to."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE_DIR"], "tests", "cli"))
import common  # noqa: E402

VICTIM = os.environ.get("VICTIM")

GOLDEN = ("bigarr-1e-2.v3", "bintree-1e-4.v2", "deepexn-1e-2.v2",
          "extra-side-records.v2", "leakcache-1e-3.v2", "synth-bytes.v3",
          "synth-deep.v3", "synth-domains.v3", "synth-edges.v2",
          "synth-evict.v2", "upstream-lists_and_sets.v1",
          "upstream-ocamlopt.v3", "wordcount-1e-3.v3")
LARGE = ("leakcache", "upstream", "wordcount")  # each is like others


class Case(common.Case):
    def golden(self, name):
        return self.write(name + ".ctf", common.trace(name))

    def recorded(self, *options):
        path = os.path.join(self.dir, "victim.ctf")
        subprocess.run([common.BIN, "record", "-f", "-o", path, *options,
                        VICTIM], check=True, capture_output=True,
                       env=common.ENV, timeout=common.PATIENCE_S)
        return path

    def joined(self, *paths):
        path = os.path.join(self.dir, "joined.ctf")
        self.assertEqual(
            common.run("merge", "-f", "-o", path, *paths).returncode, 0)
        return path

    def traces(self):
        """(name, path): OCaml's, sampled and complete ones of malloc; the
        large ones in the long form only."""
        return self.all_traces() if common.LONG else self.small()

    def all_traces(self):
        for name in GOLDEN:
            yield name, self.golden(name)
        yield "made, sampled", self.made(12000, 500, 1e-4)
        yield "made, every block", self.made(12000, 500, 0.125)
        yield "made, rate changes", self.made(12000, 500, 0.125, 1e-3, 1e-2)
        yield "joined", self.joined(self.golden("synth-bytes.v3"),
                                    self.made(12000, 500, 1e-4))
        if VICTIM:
            yield "recorded, sampled", self.recorded("--interval=4K",
                                                     "--seed=3")
            yield "recorded, every block", self.recorded("--rate=1")
            yield "recorded, exact", self.recorded("--exact")

    def small(self):
        for name, path in self.all_traces():
            if name.split("-")[0] not in LARGE:
                yield name, path

    def export(self, path, *options):
        """The bytes of an export; nothing is said on the way."""
        return self.ok("export", "-o", "-", *options, path, text=False)
