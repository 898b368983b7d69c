"""Files of the exact mode: bytes an event, and what making them costs."""
import os
import shutil
import subprocess

from sidebyside import Run

INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"
STEP_US = "10000"


def size(path):
    return os.path.getsize(path)


def record(kit, cmd, env, v):
    """Runs the program as v; the file it left."""
    kit.clean()
    Run(cmd, {**env, **v.env}, kit.work)
    files = [os.path.join(kit.raw, f) for f in os.listdir(kit.raw)]
    path = os.path.join(kit.work, v.name.split()[0] + ".recording")
    os.replace(max(files, key=size), path)
    kit.clean()
    return path


def convert(kit, raw, out, *step):
    """events, CPU seconds, peak MiB of the conversion"""
    text = subprocess.run(
        [os.path.join(kit.build, "bench", "convert"), raw, out,
         "1" if kit.is_quick else "3", *step],
        check=True, capture_output=True, text=True).stdout
    events, cpu, peak = text.split()
    return int(events), float(cpu), float(peak)


def peer_events(raw):
    return int(subprocess.run(["grep", "-c", "^[+-]", raw],
                              capture_output=True, text=True).stdout)


def peer_figures(kit, cmd, env, limits):
    """Of heaptrack's files and its interpreter, by metric; None: it failed."""
    raw = record(kit, cmd, env, kit.peer)
    events = peer_events(raw)
    finished = os.path.join(kit.work, "peer.finished")
    run = Run(["sh", "-c", 'exec "$0" <"$1" >"$2"', INTERPRET, raw, finished],
              {}, kit.work, limits, 180)
    got = {"raw": size(raw) / events}
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-qf", raw], check=True)
        got["raw, zstd"] = size(raw + ".zst") / events
        os.unlink(raw + ".zst")
    if run.ok:
        got["finished"] = size(finished) / events
        got["ns"] = run.cpu * 1e9 / events
        got["MiB"] = run.peak
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-qf", finished], check=True)
            got["finished, zstd"] = size(finished + ".zst") / events
    else:
        kit.table.note("      heaptrack_interpret did not finish")
    os.unlink(raw)
    return got


def bench(kit, name, cmd, env, limits):
    raw = record(kit, cmd, env, kit.exact)
    plain = os.path.join(kit.work, "files.ctf")
    n, cpu_s, peak = convert(kit, raw, plain)
    packed = plain + ".zst"
    _, packed_s, packed_peak = convert(kit, raw, packed)
    stepped = os.path.join(kit.work, "stepped.ctf.zst")
    convert(kit, raw, stepped, STEP_US)
    peer = {}
    if kit.heaptrack and os.path.exists(INTERPRET):
        peer = peer_figures(kit, cmd, env, limits)

    def row(metric, mine, peer_name, key, target=None):
        kit.against(name, metric, mine, peer_name, peer.get(key), target)
        if peer.get(key) is None and target is None:
            kit.table.row(name, metric, mine)

    row("bytes an event, raw", size(raw) / n, "heaptrack raw", "raw", 4)
    row("bytes an event, trace", size(plain) / n, "heaptrack finished",
        "finished")
    row("bytes an event, trace .zst", size(packed) / n,
        "heaptrack finished .zst", "finished, zstd", 0.5)
    row("bytes an event, trace .zst", size(packed) / n,
        "heaptrack raw .zst", "raw, zstd")
    row("bytes an event, .zst, --time-step 10ms", size(stepped) / n,
        "heaptrack finished .zst", "finished, zstd", 0.5)
    row("conversion, ns an event", cpu_s * 1e9 / n, "heaptrack_interpret",
        "ns")
    row("conversion to .zst, ns an event", packed_s * 1e9 / n,
        "heaptrack_interpret", "ns")
    row("conversion, peak MiB", peak, "heaptrack_interpret", "MiB")
    if name == "sqlite":
        report(kit, name, plain, peer)
    for path in (raw, plain, packed, stepped):
        os.unlink(path)


def report(kit, name, trace, peer):
    """What a person waits for after the program has ended."""
    mine = Run([kit.aliquot, "report", "--no-pager", trace], {}, kit.work)
    finished = os.path.join(kit.work, "peer.finished.zst")
    other = None
    if "finished, zstd" in peer and shutil.which("heaptrack_print"):
        other = Run(["heaptrack_print", finished], {}, kit.work)
    kit.against(name, "report, cpu s", mine.cpu, "heaptrack_print",
                other.cpu if other else None, None)
    kit.against(name, "report, peak MiB", mine.peak, "heaptrack_print",
                other.peak if other else None, None)
