"""What recording every block costs, beside heaptrack: bench/malloc --exact."""
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys

import exact_files
import exact_redis
from sidebyside import TOP, Run, Variant, library, paired, peak

PROGRAMS = ("sqlite", "python", "cc1", "perl")
# Ratios to the bare program that are aimed at.
TARGETS = {"sqlite": 1.40, "python": 1.50, "cc1": 1.25, "perl": 1.40}
HEAPTRACK = "heaptrack (library)"
HEAPTRACK_WHOLE = "heaptrack (command)"
# Its interpreter took 18.5 GiB of one of these recordings.
WHOLE_MAX_BYTES = 8 << 30
WHOLE_MAX_S = 180


class Kit:
    """Where things are, and how thorough to be."""

    def __init__(self, table, opts, work):
        self.table, self.work = table, work
        self.rounds = 3 if opts.quick else max(opts.n, 5)
        self.whole_rounds = 1 if opts.quick else 3
        self.is_quick = opts.quick
        self.build = os.path.abspath(opts.build)
        self.preload = os.path.join(self.build, "lib", "libaliquot-preload.so")
        self.aliquot = os.path.join(self.build, "bin", "aliquot")
        self.raw = os.path.join(work, "exact")
        os.mkdir(self.raw)
        self.heaptrack = library("libheaptrack_preload.so*")
        self.bare = Variant("bare")
        self.exact = Variant("exact", {
            "LD_PRELOAD": self.preload,
            "ALIQUOT": "exact=1,out=%s/%%e.%%p.%%n.alqraw" % self.raw})
        self.peer = Variant(HEAPTRACK, {
            "LD_PRELOAD": self.heaptrack or "",
            "DUMP_HEAPTRACK_OUTPUT": os.path.join(self.raw, "peer.raw")})

    def variants(self):
        return [self.bare, self.exact] + ([self.peer] if self.heaptrack
                                          else [])

    def sweep(self, variants, rounds, run):
        """run(variant) in random order within a round: name -> results"""
        got = {v.name: [] for v in variants}
        for _ in range(rounds):
            order = variants[:]
            random.shuffle(order)
            for v in order:
                got[v.name].append(run(v))
                self.clean()
        return got

    def clean(self):
        for f in os.listdir(self.raw):
            os.unlink(os.path.join(self.raw, f))

    def against(self, program, metric, mine, peer, theirs, target=None):
        """One figure: ours, the peer's if it has one, and the aim."""
        if theirs is not None:
            self.table.row(program, metric, mine, peer, theirs, mine / theirs)
        if target is not None:
            self.table.row(program, metric, mine, "target", target,
                           mine / target)


def ratio_rows(kit, program, what, runs, name, peer, targets):
    """Wall and cpu over bare, round by round, ours and the peer's."""
    for key in ("wall", "cpu"):
        mine = paired(runs, "bare", name, key)
        if mine is None:
            kit.table.note("%s, %s: did not run" % (program, name))
            return
        bare = statistics.median(getattr(r, key) for r in runs["bare"])
        kit.table.row(program, "%s s, %s" % (key, what), bare * mine[0],
                      "bare", bare, mine[0])
        theirs = paired(runs, "bare", peer, key) if peer in runs else None
        kit.against(program, "%s over bare, %s" % (key, what), mine[0], peer,
                    theirs[0] if theirs else None,
                    targets.get(program) if key == "wall" else None)
        kit.table.note("      quartiles %.3f .. %.3f%s of %d pairs" % (
            mine[1], mine[2],
            ", %s %.3f .. %.3f" % (peer, theirs[1], theirs[2])
            if theirs else "", len(runs[name])))


def memory(kit, program, cmd, env):
    got = kit.sweep(kit.variants(), kit.whole_rounds,
                    lambda v: peak(kit.build, kit.work, cmd, env, v))
    for i, text in enumerate(("RSS MiB", "page faults")):
        value = {name: statistics.median(x[i] for x in both)
                 for name, both in got.items()}
        bare = value["bare"]
        kit.table.row(program, text, value["exact"], "bare", bare,
                      value["exact"] / bare)
        other = value.get(HEAPTRACK)
        if other is not None and other > bare:
            kit.against(program, "extra " + text, value["exact"] - bare,
                        HEAPTRACK, other - bare)


def in_program(kit, program, cmd, env):
    runs = kit.sweep(kit.variants(), kit.rounds,
                     lambda v: Run(cmd, {**env, **v.env}, kit.work))
    ratio_rows(kit, program, "library", runs, "exact", HEAPTRACK, TARGETS)
    memory(kit, program, cmd, env)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (WHOLE_MAX_BYTES, WHOLE_MAX_BYTES))


def whole(kit, program, cmd, env):
    """From the command to a finished file, ours and heaptrack's."""
    trace = os.path.join(kit.raw, "trace.ctf")
    mine = Variant("record", front=[kit.aliquot, "record", "-q", "-f",
                                    "--exact", "-o", trace, "--"])
    packed = Variant("record, zstd", front=[
        kit.aliquot, "record", "-q", "-f", "--exact", "-o", trace + ".zst",
        "--"])
    peer = Variant(HEAPTRACK_WHOLE, front=[
        "heaptrack", "-o", os.path.join(kit.raw, "peer")])
    vs = [kit.bare, mine, packed]
    if shutil.which("heaptrack") and kit.heaptrack:
        vs.append(peer)
    runs = kit.sweep(vs, kit.whole_rounds, lambda v: Run(
        v.front + cmd, env, kit.work,
        limit_memory if v is peer else None, WHOLE_MAX_S))
    for v in (mine, packed):
        ratio_rows(kit, program, "whole, " + v.name, runs, v.name,
                   HEAPTRACK_WHOLE, {})
    if peer.name in runs and not any(r.ok for r in runs[peer.name]):
        kit.table.note("%s: heaptrack did not finish in %d GiB and %d s"
                       % (program, WHOLE_MAX_BYTES >> 30, WHOLE_MAX_S))


EVENTS = ("instructions:u", "cycles:u", "cycles:k")


def counters_work():
    """None, or why there are no counters."""
    if shutil.which("perf") is None:
        return "no perf"
    got = subprocess.run(["perf", "stat", "-x,", "-e", ",".join(EVENTS),
                          "true"], capture_output=True, text=True)
    if got.returncode != 0 or "<not" in got.stderr:
        return "perf counts nothing here: " + got.stderr.strip()[:200]
    return None


def counted(kit, cmd, env, v):
    """The program comes after env, so that perf is not preloaded."""
    path = os.path.join(kit.work, "perf.csv")
    front = ["perf", "stat", "-x,", "-o", path, "-e", ",".join(EVENTS), "--",
             "env"] + ["%s=%s" % x for x in v.env.items()]
    Run(front + cmd, env, kit.work)
    counts = {}
    with open(path) as f:
        for line in f:
            words = line.split(",")
            if len(words) > 2 and words[0].isdigit():
                counts[words[2].split("/")[0]] = int(words[0])
    return counts


def counters(kit, program, cmd, env):
    got = kit.sweep(kit.variants(), 1 if kit.is_quick else 3,
                    lambda v: counted(kit, cmd, env, v))
    for event in EVENTS:
        value = {name: statistics.median(c.get(event, 0) for c in counts) / 1e9
                 for name, counts in got.items()}
        if not value["bare"]:
            kit.table.note("%s: no %s counted" % (program, event))
            continue
        metric = "G " + event
        for name in ("bare", HEAPTRACK):
            if value.get(name):
                kit.table.row(program, metric + ", exact", value["exact"],
                              name, value[name], value["exact"] / value[name])


def threads(kit):
    """mtmalloc: what a pair costs more, and whether two threads do more."""
    program = os.path.join(kit.build, "test", "mtmalloc")
    ops = "500000" if kit.is_quick else "4000000"
    total = {}
    for n in (1, 2):
        cmd = [program, ops, str(n)]

        def measure(v):
            m = re.search(r"([0-9.]+) ns/pair/thread +([0-9.]+) Mpairs",
                          Run(cmd, v.env, kit.work).text)
            return float(m[1]), float(m[2])

        got = kit.sweep(kit.variants(), kit.rounds, measure)
        name = "mtmalloc %d thread%s" % (n, "s"[:n - 1])
        added, total[n] = {}, {}
        for v in kit.variants():
            added[v.name] = statistics.median(
                a[0] - b[0] for a, b in zip(got[v.name], got["bare"]))
            total[n][v.name] = statistics.median(x[1] for x in got[v.name])
        kit.against(name, "ns added a pair", added["exact"], HEAPTRACK,
                    added.get(HEAPTRACK), 150)
        for peer in ("bare", HEAPTRACK):
            if peer in total[n]:
                kit.table.row(name, "M pairs/s in all", total[n]["exact"],
                              peer, total[n][peer],
                              total[n]["exact"] / total[n][peer])
    gain = {name: total[2][name] / total[1][name] for name in total[1]}
    for peer in ("bare", HEAPTRACK):
        if peer in gain:
            kit.table.row("mtmalloc", "2 threads' throughput over 1's",
                          gain["exact"], peer, gain[peer],
                          gain["exact"] / gain[peer])
    kit.against("mtmalloc", "2 threads' throughput over 1's", gain["exact"],
                HEAPTRACK, None, 1.8)


def torture(kit):
    """Awkward programs whose leaks are known, checked by their test."""
    script = os.path.join(TOP, "tests", "preload", "torture.sh")
    got = subprocess.run(["bash", script, kit.build, TOP, "--exact"],
                         capture_output=True, text=True)
    wrong = {re.match(r"FAILED: ([^:]+)", x)[1]
             for x in got.stdout.splitlines() if x.startswith("FAILED")}
    for line in got.stdout.splitlines():
        if line.startswith("FAILED"):
            kit.table.note(line)
    kit.against("torture", "cases right of 20, exact", 20 - len(wrong), "-",
                None, 20)


def analysis(kit):
    """20 million events reported: bench/analysis, its rows as they are."""
    script = os.path.join(TOP, "bench", "analysis")
    words = [sys.executable, script, "--tsv"]
    if kit.is_quick:
        words += ["-n", "1", "--rounds-of-work", "1"]
    got = subprocess.run(words, capture_output=True, text=True)
    if got.returncode != 0:
        kit.table.note("analysis: did not run: " + got.stderr.strip()[-300:])
    for line in got.stdout.splitlines():
        program, metric, value, peer, other, ratio = line.split("\t")
        if other != "-":
            kit.table.row("analysis, " + program, metric, float(value), peer,
                          float(other), float(ratio))


def bench(table, opts, programs, work, only):
    kit = Kit(table, opts, work)
    if not kit.heaptrack:
        table.note("heaptrack is not installed: its columns are left out")
    no_counters = counters_work()
    if no_counters:
        table.note("counts of instructions and cycles left out: "
                   + no_counters)

    def is_wanted(*names):
        return not only or any(n in only for n in names)

    for name in PROGRAMS:
        cmd, env = programs[name]
        if is_wanted("programs", name):
            in_program(kit, name, cmd, env)
            whole(kit, name, cmd, env)
            if not no_counters:
                counters(kit, name, cmd, env)
        if is_wanted("files", name):
            exact_files.bench(kit, name, cmd, env, limit_memory)
    if is_wanted("threads", "mtmalloc"):
        threads(kit)
    if is_wanted("redis"):
        exact_redis.bench(kit, HEAPTRACK)
    if is_wanted("torture"):
        torture(kit)
    if is_wanted("analysis"):
        analysis(kit)
