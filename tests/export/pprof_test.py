"""The pprof export, in the opinion of pprof, of its library, of protoc, and
of the rules that engines state."""
import collections
import os
import re
import shutil
import subprocess
import unittest

import exported
import pprof_file as profile
from exported import common

PROTO = os.path.join(common.SOURCE, "tests", "export")
GO_PPROF = "/usr/share/gocode/src/github.com/google/pprof"
TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"),
         ("inuse_objects", "count"), ("inuse_space", "bytes")]
KEYS = {"alloc_objects": "allocated_objects", "alloc_space": "allocated_bytes",
        "inuse_objects": "live_objects", "inuse_space": "live_bytes"}
# Deeper than Pyroscope keeps: it cuts such stacks, and refuses nothing.
DEEP = {"deepexn-1e-2.v2", "synth-deep.v3", "upstream-lists_and_sets.v1"}
GO = shutil.which("go")
PROTOC = shutil.which("protoc")
needs_go = unittest.skipUnless(GO, "no go: install golang-go")
needs_library = unittest.skipUnless(
    GO and os.path.isdir(GO_PPROF),
    "no pprof library: install golang-go golang-github-google-pprof-dev")


class Pprof(exported.Case):
    def profile(self, path, *options):
        return profile.read(self.export(path, "--format=pprof", *options))

    def file(self, path, *options):
        """The profile as a file, for a judge."""
        return self.write(os.path.basename(path) + ".pb.gz",
                          self.export(path, "--format=pprof", *options))

    def judge(self, *args, **environment):
        result = subprocess.run(
            args, capture_output=True, text=True, timeout=common.PATIENCE_S,
            env={**common.ENV, "HOME": self.dir,
                 "PPROF_TMPDIR": self.dir, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def built(self, package):
        """A Go program made of Debian's packages alone."""
        program = os.path.join(self.dir, "program")
        self.judge(GO, "build", "-o", program, package, GO111MODULE="off",
                   GOPATH="/usr/share/gocode", GOFLAGS="", CGO_ENABLED="0")
        return program

    # ---- the rules

    def test_rules(self):
        for name, path in self.traces():
            with self.subTest(name):
                p = self.profile(path)
                self.assertEqual({f[0] for f in profile.faults(p)},
                                 {"stack too deep"} if name in DEEP else set())
                self.assertEqual(profile.types(p), TYPES)
                text = p["string_table"]
                self.assertEqual(text[p["default_sample_type"]], "inuse_space")
                self.assertEqual((text[p["period_type"]["type"]],
                                  text[p["period_type"]["unit"]]),
                                 ("space", "bytes"))
                got = self.json(path)
                self.assertEqual(p["period"],
                                 got["recording"]["interval_bytes"])
                self.assertEqual(p["time_nanos"],
                                 got["program"]["start_us"] * 1000)
                self.assertEqual(p["duration_nanos"],
                                 got["duration_us"] * 1000)

    def test_rules_find_faults(self):
        """Each rule, against a profile that breaks it."""
        p = self.profile(self.made(2000, 100, 1e-4))
        self.assertEqual(profile.faults(p), [])

        def broken(wanted, breaks):
            copy = profile.read(self.export(self.dir + "/made.ctf",
                                            "--format=pprof"))
            breaks(copy)
            self.assertIn(wanted, [f[0] for f in profile.faults(copy)])
        broken("string 0 is not empty",
               lambda p: p["string_table"].insert(0, "x"))
        broken("location ids not in order",
               lambda p: p["location"].pop(0))
        broken("function ids not in order",
               lambda p: p["function"][1].update(id=1))
        broken("label without a key",
               lambda p: p["sample"][0]["label"][0].update(key=0))
        broken("not one value a type",
               lambda p: p["sample"][0]["value"].pop())
        broken("sample at no location",
               lambda p: p["sample"][0]["location_id"].append(0))
        broken("address outside of its mapping",
               lambda p: p["location"][0].update(address=1))
        broken("line in no function",
               lambda p: p["location"][0]["line"][0].update(function_id=0))
        broken("too many stacks", lambda p: p["sample"].extend(
            [p["sample"][0]] * 16000))

    # ---- what is in it

    def test_stacks_are_those_of_the_report(self):
        """Each stack's four values, within one of the report's."""
        for path in (self.golden("wordcount-1e-3.v3"),
                     self.made(12000, 500, 1e-4)):
            wanted = {}
            for site in self.json("--stacks=0", path)["sites"]:
                for s in site["stacks"]:
                    key = tuple((f["function"], f["line"])
                                for f in s["frames"])
                    sums = wanted.setdefault(key, collections.Counter())
                    sums.update({t: s[k] for t, k in KEYS.items()})
            got = {}
            n = collections.Counter()
            p = self.profile(path)
            for sample in p["sample"]:
                key = tuple((name, line) for name, _, line
                            in profile.stack(p, sample))
                sums = got.setdefault(key, collections.Counter())
                sums.update(dict(zip(KEYS, sample["value"])))
                n[key] += 1
            self.assertEqual(got.keys(), wanted.keys())
            for key, sums in got.items():
                for t in KEYS:
                    self.assertLessEqual(abs(sums[t] - wanted[key][t]),
                                         n[key], key)

    def test_addresses(self):
        """Every code of the made trace is MODULE_START + 16 k + 8; module 0
        has a build-id and is the main program."""
        p = self.profile(self.made(12000, 500, 1e-4))
        text = p["string_table"]
        self.assertEqual([text[m["filename"]] for m in p["mapping"]],
                         ["/bin/tree", "/lib/libdeep.so.1"])
        self.assertEqual([text[m["build_id"]] for m in p["mapping"]],
                         ["abcdef01", ""])
        self.assertTrue(all(m["has_functions"] and m["has_filenames"] and
                            m["has_line_numbers"] for m in p["mapping"]))
        n_inlined = 0
        for l in p["location"]:
            number, rest = divmod(l["address"] - 0x400000, 16)
            self.assertEqual(rest, 7)
            self.assertEqual(l["mapping_id"], 1 if number < 36 else 2)
            names = [text[p["function"][line["function_id"] - 1]["name"]]
                     for line in l["line"]]
            wanted = ["level%d_f%d(int)" % divmod(number, 3)]
            if number % 5 == 0:
                wanted.insert(0, "inlined%d" % number)
                n_inlined += 1
            self.assertEqual(names, wanted)
        self.assertGreater(n_inlined, 3)

    def test_ocaml_has_no_addresses(self):
        p = self.profile(self.golden("wordcount-1e-3.v3"))
        self.assertEqual({l["address"] for l in p["location"]}, {0})
        self.assertEqual({l["mapping_id"] for l in p["location"]}, {1})
        self.assertEqual(len(p["mapping"]), 1)
        self.assertTrue(p["mapping"][0]["has_functions"])

    def test_joined(self):
        """Places without a module have no addresses, beside those that do."""
        p = self.profile(self.joined(self.golden("synth-bytes.v3"),
                                     self.made(12000, 500, 1e-4)))
        text = p["string_table"]
        seen = set()
        for l in p["location"]:
            name = text[p["function"][l["line"][0]["function_id"] - 1]["name"]]
            is_c = name.startswith(("level", "inlined"))
            self.assertEqual((l["address"] != 0, l["mapping_id"] != 0),
                             (is_c, is_c), name)
            seen.add(is_c)
        self.assertEqual(seen, {True, False})

    def test_measures(self):
        path = self.made(12000, 500, 1e-4)
        got = self.json(path)
        peak = self.profile(path, "--peak")
        self.assertEqual(profile.totals(peak)["inuse_space"],
                         got["peak_bytes"])
        self.assertEqual(profile.totals(peak)["alloc_space"],
                         got["allocated_bytes"])
        p = self.profile(path, "--allocated")
        self.assertEqual(p["string_table"][p["default_sample_type"]],
                         "alloc_space")

    def test_mean_sizes(self):
        p = self.profile(self.made(20000, 300, 0.125))
        for sample in p["sample"]:
            label, = sample["label"]
            objects, size = sample["value"][:2]
            self.assertEqual(p["string_table"][label["key"]], "bytes")
            self.assertLessEqual(abs(label["num"] * objects - size),
                                 objects / 2)

    def test_what_was_dropped_is_told(self):
        p = self.profile(self.made(2000, 100, 1e-4))
        comments = "\n".join(p["string_table"][c] for c in p["comment"])
        self.assertIn("./a program --name=50%", comments)
        self.assertIn("7 samples dropped: no room in the file", comments)

    def test_same_bytes_each_time(self):
        path = self.made(2000, 100, 1e-4)
        self.assertEqual(self.export(path, "--format=pprof"),
                         self.export(path, "--format=pprof"))

    def test_suffix(self):
        path = self.made(2000, 100, 1e-4)
        out = os.path.join(self.dir, "heap.pb.gz")
        self.ok("export", "-o", out, path)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), self.export(path, "--format=pprof"))

    # ---- limits

    def test_tail_is_folded(self):
        path = self.made(12000, 500, 1e-4)
        whole = self.profile(path, "--max-stacks=0")
        n = len(whole["sample"])
        self.assertGreater(n, 40)
        result = common.run("export", "-o", "-", "--format=pprof",
                            "--max-stacks=20", path, text=False)
        self.assertEqual(result.returncode, 0)
        self.assertIn("%d of %d stacks are merged into [other], which has "
                      % (n - 19, n), result.stderr)
        p = profile.read(result.stdout)
        self.assertEqual(profile.faults(p), [])
        self.assertEqual(len(p["sample"]), 20)
        self.assertEqual(profile.totals(p), profile.totals(whole))
        other = [s for s in p["sample"]
                 if list(profile.stack(p, s)) == [("[other]", "", 0)]]
        self.assertEqual(len(other), 1)
        self.assertGreater(min(other[0]["value"]), 0)

        # The nineteen with the largest share of any total are kept.
        sums = profile.totals(whole)
        shares = {tuple(profile.stack(whole, s)):
                  max(v / t for v, t in zip(s["value"], sums.values()) if t)
                  for s in whole["sample"]}
        kept = [shares[tuple(profile.stack(p, s))] for s in p["sample"]
                if s is not other[0]]
        self.assertGreaterEqual(min(kept) * (1 + 1e-6),
                                sorted(shares.values())[-19])
        for limit in (n, n + 1):
            self.assertEqual(self.profile(path, "--max-stacks=%d" % limit),
                             whole)

    def test_many_stacks(self):
        """Above both limits of Pyroscope: one is kept, the other is told."""
        path = self.golden("upstream-ocamlopt-big.v1")
        result = common.run("export", "-o", "-", "--format=pprof", path,
                            text=False)
        self.assertRegex(result.stderr, r"^aliquot: \d+ of \d+ stacks are "
                         r"merged into \[other\], which has [0-9.]+% of what "
                         r"was allocated; --max-stacks=0 keeps all\n$")
        p = profile.read(result.stdout)
        self.assertEqual(profile.faults(p), [])
        self.assertEqual(len(p["sample"]), 16000)
        got = self.json(path)
        self.assertEqual(profile.totals(p),
                         {t: got[k] for t, k in KEYS.items()})
        result = common.run("export", "-o", "-", "--format=pprof",
                            "--max-stacks=0", path, text=False)
        self.assertIn("Pyroscope refuses more than 4 MiB", result.stderr)
        self.assertIn("12.6 MiB before compression", result.stderr)
        if not common.LONG:
            return  # ten seconds to read it
        p = profile.read(result.stdout)
        self.assertEqual({f[0] for f in profile.faults(p)},
                         {"too many stacks", "too large"})
        self.assertEqual(profile.totals(p),
                         {t: got[k] for t, k in KEYS.items()})

    def test_bad_limit(self):
        result = common.run("export", "-o", "-", "--max-stacks=many", "x")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--max-stacks=many: write a whole number",
                      result.stderr)

    # ---- judges

    @needs_go
    def test_pprof_reads_it(self):
        """The four totals and every function's flat value, from -top."""
        for path in (self.golden("wordcount-1e-3.v3"),
                     self.golden("bigarr-1e-2.v3"),
                     self.made(12000, 500, 1e-4),
                     *([self.recorded("--interval=4K", "--seed=5")]
                       if exported.VICTIM else [])):
            file = self.file(path)
            got = self.json("--stacks=0", path)
            raw = self.judge(GO, "tool", "pprof", "-symbolize=none", "-raw",
                             file)
            self.assertIn("PeriodType: space bytes\n", raw)
            self.assertIn("Period: %d\n" % got["recording"]["interval_bytes"],
                          raw)
            self.assertIn(" ".join("%s/%s" % t for t in TYPES) + "[dflt]\n",
                          raw)
            rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+): ", raw, re.M)
            self.assertEqual(
                [sum(map(int, column)) for column in zip(*rows)],
                [got[k] for k in KEYS.values()])
            for sample_type, key in KEYS.items():
                self.top(file, got, sample_type, key)

    def top(self, file, got, sample_type, key):
        wanted = collections.Counter()
        parts = collections.Counter()
        for site in got["sites"]:
            for s in site["stacks"]:
                # An address without a symbol: the tool names its module.
                name = re.sub(r"^(.*)\+0x[0-9a-f]+$", r"[\1]",
                              s["frames"][0]["function"])
                wanted[name] += s[key]
                parts[name] += 1
        text = self.judge(GO, "tool", "pprof", "-symbolize=none", "-top",
                          "-sample_index=" + sample_type, "-unit=bytes",
                          "-nodecount=1000000", "-nodefraction=0",
                          "-edgefraction=0", file)
        self.assertRegex(text, r"of %d(B|bytes)? total" % got[key])
        flat = collections.Counter()
        for value, name in re.findall(
                r"^ *(\d+)(?:B|bytes)? +[0-9.e-]+% +[0-9.]+% "
                r"+\d+(?:B|bytes)? +[0-9.e-]+% +(.*)$",
                text, re.M):
            flat[name.replace(" (inline)", "").replace(" (partial-inline)",
                                                       "")] += int(value)
        for name, value in wanted.items():
            self.assertLessEqual(abs(flat.pop(name, 0) - value), parts[name],
                                 (sample_type, name))
        self.assertEqual(sum(flat.values()), 0, sample_type)

    @needs_library
    def test_library_finds_it_valid(self):
        program = self.built(os.path.join(common.SOURCE, "tests", "export",
                                          "check_valid.go"))
        for name, path in self.traces():
            with self.subTest(name):
                n = len(self.profile(path)["sample"])
                self.assertEqual(self.judge(program, self.file(path)).split(),
                                 [str(n), "4", self.dir + "/" +
                                  os.path.basename(path) + ".pb.gz"])
        bad = self.write("bad.pb.gz", b"no profile")
        self.assertEqual(subprocess.run([program, bad],
                                        capture_output=True).returncode, 1)

    @unittest.skipUnless(PROTOC, "no protoc: install protobuf-compiler")
    def test_protoc_knows_every_field(self):
        for name, path in self.traces():
            with self.subTest(name):
                plain = profile.gzip.decompress(
                    self.export(path, "--format=pprof"))
                result = subprocess.run(
                    [PROTOC, "--decode=pprof.Profile", "--proto_path=" + PROTO,
                     "pprof.proto"], input=plain, capture_output=True)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                self.assertEqual(re.findall(rb"^ *[0-9]+(?::| \{).*",
                                            result.stdout, re.M), [])
                n = len(profile.message(plain, profile.PROFILE)["sample"])
                self.assertEqual(len(re.findall(rb"^sample \{", result.stdout,
                                                re.M)), n)

    # ---- real programs

    @unittest.skipUnless(exported.VICTIM, "no preload in this build")
    def test_recorded_program(self):
        path = self.recorded("--rate=1")
        p = self.profile(path)
        text = p["string_table"]
        main = p["mapping"][0]
        self.assertEqual(text[main["filename"]], exported.VICTIM)
        info = self.ok("info", path)
        for m in p["mapping"]:
            self.assertGreaterEqual(len(text[m["build_id"]]), 16)
            self.assertIn("%016x-%016x %s %s" % (
                m["start"], m["limit"], text[m["build_id"]],
                text[m["filename"]]), info)
        rows = [s for s in p["sample"]
                if next(profile.stack(p, s))[0] == "keep_rows"]
        self.assertEqual([s["value"] for s in rows],
                         [[300, 300000, 300, 300000]])

    @needs_library
    @unittest.skipUnless(exported.VICTIM, "no preload in this build")
    def test_program_without_symbols(self):
        """It is exported by address and build-id; a reader that has the
        symbols names the places then."""
        bare = os.path.join(self.dir, "bare")
        subprocess.run(["strip", "-o", bare, exported.VICTIM], check=True)
        path = os.path.join(self.dir, "bare.ctf")
        subprocess.run([common.BIN, "record", "-o", path, "--rate=1", bare],
                       check=True, capture_output=True, env=common.ENV)
        p = self.profile(path)
        self.assertEqual(profile.faults(p), [])
        main = p["mapping"][0]
        self.assertEqual(p["string_table"][main["filename"]], bare)
        self.assertFalse(main["has_functions"])
        places = [l for l in p["location"] if l["mapping_id"] == 1]
        self.assertGreater(len(places), 3)
        self.assertEqual([l for l in places if l["line"]], [])
        file = self.file(path)
        shutil.copy(exported.VICTIM, bare)
        text = self.judge(self.built("github.com/google/pprof"),
                          "-symbolize=local", "-top", "-unit=bytes", file)
        self.assertRegex(text, r" 300000B +[0-9.]+%.*% +keep_rows")


if __name__ == "__main__":
    common.main()
