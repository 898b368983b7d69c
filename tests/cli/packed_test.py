"""Compressed traces: read as plain ones, damaged and cut ones, written ones.
zstd's own tool is the judge."""
import gzip
import json
import os
import random
import shutil
import subprocess
import unittest

import common


def zstd(data, *args):
    return subprocess.run(["zstd", "-q", "-c", *args], input=data,
                          stdout=subprocess.PIPE, check=True).stdout


def unzstd(path):
    return subprocess.run(["zstd", "-q", "-d", "-c", path],
                          stdout=subprocess.PIPE, check=True).stdout


def is_sound(path):
    return subprocess.run(["zstd", "-q", "-t", path],
                          stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(shutil.which("zstd"), "zstd is not installed")
class Packed(common.Case):
    def setUp(self):
        super().setUp()
        self.path = self.made(20000, 500, 1e-4)
        with open(self.path, "rb") as f:
            self.data = f.read()

    def test_read_as_plain(self):
        half = len(self.data) // 2
        cut = [self.data[:half], self.data[half:]]
        forms = {
            "a.zst": zstd(self.data),
            "frames.zst": b"".join(zstd(d, "-19") for d in cut),
            "long.zst": zstd(self.data, "--long=27"),
            "skippable.zst": b"\x50\x2a\x4d\x18\x03\0\0\0abc",
            "a.gz": gzip.compress(self.data),
            "members.gz": b"".join(gzip.compress(d) for d in cut),
        }
        forms["skippable.zst"] = forms["a.zst"] + forms["skippable.zst"]
        wanted = self.ok("script", self.path)
        self.assertGreater(len(wanted), 100000)
        for name, data in forms.items():
            path = self.write(name, data)
            self.assertEqual(self.ok("script", path), wanted, name)
            self.assertIn("no findings", self.ok("check", path))
            self.assertEqual(self.ok("script", "-", stdin=data), wanted)

    def test_golden(self):
        n = 0
        for name, data in common.traces():
            if len(data) > 2000000:
                continue
            plain = self.write(name + ".ctf", data)
            packed = self.write(name + ".ctf.zst", zstd(data))
            merged = os.path.join(self.dir, "m.ctf")
            self.assertEqual(common.run("info", packed).stdout.split("\n")[1:],
                             common.run("info", plain).stdout.split("\n")[1:])
            got = []
            for path in (plain, packed):  # streams of version 3, too
                common.run("merge", "-f", "-o", merged, path)
                got.append(common.run("script", merged).stdout)
            self.assertEqual(*got, name)
            n += 1
        self.assertGreater(n, 15)

    def test_cut(self):
        """What is there before the cut stays, and the cut is told."""
        self.path = self.made(100000, 500, 1e-4)
        with open(self.path, "rb") as f:
            data = f.read()
        events = self.ok("script", self.path).split("\n")
        for name, data in (("c.zst", zstd(data)),
                           ("c.gz", gzip.compress(data))):
            n_some = 0
            for part in range(1, 12):
                path = self.write(name, data[:len(data) * part // 12])
                result = common.run("script", path)
                self.assertEqual(result.returncode, 3)
                self.assertIn("ends too early", result.stderr)
                self.assertIn(path, result.stderr)
                got = result.stdout.split("\n")
                self.assertEqual(got[:-1], events[:len(got) - 1])
                n_some += len(got) > 1
                self.assertEqual(common.run("check", path).returncode,
                                 1 if len(got) > 1 else 3)
            self.assertGreater(n_some, 6, name)

    def test_damaged(self):
        """No verb ends by a signal; what zstd's tool refuses, we say."""
        r = random.Random(5)
        whole = zstd(self.data, "--check")
        n_refused = 0
        for _ in range(60):
            data = bytearray(whole)
            data[r.randrange(4, len(data))] ^= 1 << r.randrange(8)
            path = self.write("d.ctf.zst", bytes(data))
            result = common.run("report", "--json", path)
            self.assertIn(result.returncode, (0, 3))
            if not is_sound(path):
                self.assertEqual(result.returncode, 3)
                n_refused += 1
            if result.returncode == 3:
                self.assertIn("d.ctf.zst", result.stderr)
        self.assertGreater(n_refused, 50)
        whole = gzip.compress(self.data)
        for _ in range(40):
            data = bytearray(whole)
            data[r.randrange(10, len(data))] ^= 1 << r.randrange(8)
            path = self.write("d.ctf.gz", bytes(data))
            self.assertEqual(common.run("report", path).returncode, 3)

    def test_bombs(self):
        """Packets that say nothing, over and over: told and left."""
        head = self.data[:int.from_bytes(self.data[4:8], "little") // 8]
        empty = bytearray(self.data[len(head):len(head) + 66])
        empty[4:8] = (66 * 8).to_bytes(4, "little")
        data = zstd(head + bytes(empty) * (200000000 // 66))
        self.assertGreater(200000000 / len(data), 4096)
        result = common.run("info", self.write("bomb.zst", data))
        self.assertEqual(result.returncode, 3)
        self.assertIn("more than a trace could", result.stderr)
        zeros = self.data + bytes(300000000)
        result = common.run("info", self.write("zeros.zst", zstd(zeros)))
        self.assertEqual(result.returncode, 0)
        self.assertIn("the trace ends here", result.stderr)

    def test_what_is_refused(self):
        rows = [
            ("twice.zst", zstd(zstd(self.data)), "compressed twice"),
            ("raw.zst", zstd(b"ALIQRAW1" + bytes(9000)), "unpack it first"),
            ("nothing.zst", zstd(b""), "it is empty"),
            ("text.zst", zstd(b"not a trace at all" * 9), "it is text"),
            ("short.zst", zstd(self.data)[:5], "ends too early"),
            ("bad.gz", b"\x1f\x8bmore of it", "gzip data is damaged"),
        ]
        for name, data, part in rows:
            result = common.run("report", self.write(name, data))
            self.assertEqual(result.returncode, 3, name)
            self.assertEqual(result.stdout, "")
            self.assertIn(part, result.stderr)
            self.assertIn(name, result.stderr)

    def test_written(self):
        def out(name):
            return os.path.join(self.dir, name)

        rows = [
            ("r.ctf", ["check", self.path, "--repair"]),
            ("x.folded", ["export", self.path, "-o"]),
            ("x.csv", ["export", self.path, "-o"]),
            ("m.ctf", ["merge", self.path, self.path, "-o"]),
        ]
        for name, args in rows:
            for path in (out(name), out(name + ".zst")):
                result = common.run(*args, path)
                self.assertEqual(result.returncode, 0, result.stderr)
            with open(out(name), "rb") as f:
                self.assertEqual(unzstd(out(name + ".zst")), f.read(), name)
            result = common.run(*args, out(name + ".zst"))
            self.assertEqual(result.returncode, 2, name)
            self.assertIn("-f overwrites", result.stderr)
        self.assertLess(os.path.getsize(out("r.ctf.zst")),
                        len(self.data))
        self.assertEqual(self.ok("script", out("r.ctf.zst")),
                         self.ok("script", self.path))

    def test_in_a_directory(self):
        directory = os.path.join(self.dir, "traces")
        os.mkdir(directory)
        for name, data in (("a.ctf", self.data), ("b.ctf.zst",
                                                  zstd(self.data)),
                           ("c.gz", gzip.compress(self.data)),
                           ("other.zst", zstd(b"something else" * 10))):
            with open(os.path.join(directory, name), "wb") as f:
                f.write(data)
        one = self.json(self.path)
        result = common.run("report", "--json", directory)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["sampled_blocks"],
                         3 * one["sampled_blocks"])
        self.assertIn("1 file is no trace and was left out", result.stderr)

    def test_disk_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        link = os.path.join(self.dir, "full.csv.zst")
        os.symlink("/dev/full", link)
        result = common.run("export", "-f", self.path, "-o", link)
        self.assertEqual(result.returncode, 3)
        self.assertIn("No space left", result.stderr)


if __name__ == "__main__":
    common.main()
