"""An index of the viewer's engine, read after src/view/index.h alone."""
import struct

VERSION = 8
BLOCK_ROWS = 1024
SECTIONS = ("meta", "data", "slices", "events", "chains", "classes", "origins",
            "stacks", "nodes", "functions", "threads", "resident", "marks",
            "notes", "steps", "text_at", "texts")
COLUMNS = ("born", "life", "class", "stack", "origin", "samples", "flags",
           "promoted", "holder")
PEAK, LEFT = 7, 32  # bits of flags; the peak has one for each colour
COLOURS = 3
FOOT_BYTES = 16 * len(SECTIONS) + 8 + 40 + 4 + 4 + 8


def column(data, slices, number, n):
    """n numbers of one block: its least, and what each has above it."""
    least, _, at = slices[number]
    width = at & 15
    if width == 0:
        return [least] * n
    at -= width
    kind = {1: "B", 2: "H", 4: "I", 8: "Q"}[width]
    return [least + v for v in struct.unpack_from("<%d%s" % (n, kind), data,
                                                  at)]


def read(index):
    """Its rows, and what each stands for in bytes and blocks; life is that of
    the whole chain of reallocs."""
    foot = index[-FOOT_BYTES:]
    if foot[-8:] != b"ALQVIEW\n":
        raise AssertionError("no index", foot[-8:])
    version, foot_bytes = struct.unpack_from("<II", foot, len(foot) - 16)
    if (version, foot_bytes) != (VERSION, FOOT_BYTES):
        raise AssertionError("read for another version of view/index.h",
                             version, foot_bytes)
    part = {}
    for i, name in enumerate(SECTIONS):
        at, n_bytes = struct.unpack_from("<QQ", foot, 16 * i)
        part[name] = index[at:at + n_bytes]
    n_rows, = struct.unpack_from("<Q", foot, 16 * len(SECTIONS))
    classes = list(struct.iter_unpack("<QQdd", part["classes"]))
    slices = list(struct.iter_unpack("<QQQ", part["slices"]))
    rows = []
    for first in range(0, n_rows, BLOCK_ROWS):
        n = min(BLOCK_ROWS, n_rows - first)
        here = slices[first // BLOCK_ROWS * len(COLUMNS):]
        block = {name: column(part["data"], here, number, n)
                 for number, name in enumerate(COLUMNS)}
        for i in range(n):
            row = {name: numbers[i] for name, numbers in block.items()}
            size_bytes, _, p, colour_p = classes[row["class"]]
            n = bin(row["flags"] & PEAK).count("1") / COLOURS
            row["objects"] = 1 / p
            row["bytes"] = size_bytes / p
            row["peak_objects"] = n / colour_p
            row["peak_bytes"] = n * size_bytes / colour_p
            row["peak_samples"] = row["samples"] if row["flags"] >> (
                row["flags"] >> 3 & 3) & 1 else 0
            rows.append(row)
    for number, life_us in struct.iter_unpack("<QQ", part["chains"]):
        rows[number]["life"] = life_us
    return rows
