#!/usr/bin/python3
"""Stacks reach _start however a file is laid out, or the reason is said.

usage: layouts.py BUILD_DIR SOURCE_DIR [--all]

A program and its library are linked in many ways and changed by tools after;
layout_probe.c captures the stack of one request of theirs.  All its frames
must be there, and each module's build-id must be the file's.  Of the product
of all choices a part is tried that has each pair of them at least once; --all
tries the product.  A linker that is not installed is named; what a linker
cannot make is in IMPOSSIBLE.
"""
import itertools
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

CHOICES = {
    "linker": ["bfd", "gold", "lld", "mold"],
    "page": ["own", "0x10000", "0x200000"],
    "kind": ["pie", "no-pie"],
    "code": ["separate", "joined"],
    "relro": ["off", "partial", "full"],
    "relocations": ["plain", "packed"],
    "after": ["nothing", "strip", "patchelf", "sstrip", "no-hdr"],
}
FRAMES = 8  # malloc, 2 of the library, 2 of the program, 2 of libc, _start

# What a linker cannot do, or what the C library would not load.
IMPOSSIBLE = {
    ("gold", "packed"): "gold 1.16 has no -z pack-relative-relocs",
    ("lld", "packed"): "lld 14 does not ask for GLIBC_ABI_DT_RELR",
    ("mold", "packed"): "mold 1.10 does not ask for GLIBC_ABI_DT_RELR",
}
UNDERRUN = "virtual address space underrun"  # patchelf finds no room below


def pairs(row):
    return set(itertools.combinations(enumerate(row), 2))


def possible(absent):
    for row in itertools.product(*CHOICES.values()):
        if not absent & set(row) and not any(
                set(no) <= set(row) for no in IMPOSSIBLE):
            yield row


def covering(rows):
    """Those that have each pair of choices; the next is always the best."""
    wanted = set().union(*map(pairs, rows))
    while wanted:
        best = max(rows, key=lambda row: len(pairs(row) & wanted))
        wanted -= pairs(best)
        yield best


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, **more)


def flags(row):
    out = ["-fuse-ld=" + row["linker"], "-Wl,--build-id=sha1"]
    if row["page"] != "own":
        out.append("-Wl,-z,max-page-size=" + row["page"])
    if row["linker"] == "gold":  # it has another name for it
        out += ["-Wl,--rosegment"] if row["code"] == "separate" else []
    else:
        out.append("-Wl,-z," + ("separate-code" if row["code"] == "separate"
                                else "noseparate-code"))
    out += {"off": ["-Wl,-z,norelro", "-Wl,-z,lazy"],
            "partial": ["-Wl,-z,relro", "-Wl,-z,lazy"],
            "full": ["-Wl,-z,relro", "-Wl,-z,now"]}[row["relro"]]
    if row["relocations"] == "packed":
        out.append("-Wl,-z,pack-relative-relocs")
    if row["after"] == "no-hdr":
        out.append("-Wl,--no-eh-frame-hdr")
    return out


def sstrip(path):
    """Leaves what is loaded: no section headers, nothing behind the last."""
    with open(path, "r+b") as f:
        header = bytearray(f.read(64))
        at, size, n = (struct.unpack_from("<Q", header, 32)[0],
                       *struct.unpack_from("<HH", header, 54))
        f.seek(at)
        end = at + n * size
        for i in range(n):
            ph = struct.unpack("<IIQQQQQQ", f.read(size))
            end = max(end, ph[2] + ph[5])
        struct.pack_into("<Q", header, 40, 0)  # e_shoff
        struct.pack_into("<HHH", header, 58, 0, 0, 0)
        f.truncate(end)
        f.seek(0)
        f.write(header)


def finish(row, path):
    if row["after"] == "strip":
        return run("strip", path)
    if row["after"] == "patchelf":
        # far longer than before: the headers and tables have to move
        return run("patchelf", "--set-rpath", "$ORIGIN:/" + "x" * 4000, path)
    if row["after"] == "sstrip":
        sstrip(path)
    return None


def build(row, work):
    """None, or what went wrong."""
    library, program = work + "/liblayout.so", work + "/layout"
    common = ["gcc", *flags(row)]
    for command in (
            [*common, "-shared", work + "/layout_lib.o", "-o", library],
            [*common, "-" + row["kind"], work + "/layout.o", "-L" + work,
             "-llayout", "-Wl,-rpath,$ORIGIN", "-o", program]):
        done = run(*command)
        if done.returncode != 0 or "unknown" in done.stdout:
            return done.stdout.strip()
    for path in (library, program):
        done = finish(row, path)
        if done is not None and done.returncode != 0:
            return done.stdout.strip()
    return None


def build_id(path):
    found = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n",
                                                    path).stdout)
    return found.group(1) if found else ""


def census(build_dir, path):
    return run(build_dir + "/test/unwind_census", path).stdout


def judge(row, work, build_dir):
    """None, or what is wrong."""
    library, program = work + "/liblayout.so", work + "/layout"
    done = run(program, env={
        **os.environ, "LD_PRELOAD": build_dir + "/test/liblayout_probe.so"})
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        return "does not run: " + done.stdout.strip()
    if row["after"] == "no-hdr":
        said = census(build_dir, library)
        return None if (" cut " in lines[0] and
                        "no .eh_frame_hdr" in said) else lines[0] + "; " + said
    if not re.fullmatch(rf"frames {FRAMES} complete at .* entry yes", lines[0]):
        return lines[0]
    met = dict(line.split(" ")[1:3] for line in lines[1:])
    if met.get(".") != build_id(program) or not met.get("."):
        return "another build-id of the program: " + str(met)
    if met.get(library) != build_id(library) or not met.get(library):
        return "another build-id of the library: " + str(met)
    return None


def is_spoilt(wrong, work):
    """What a tool did to the files, where they do not run by themselves."""
    if wrong:
        return wrong if UNDERRUN in wrong else None
    done = run(work + "/layout")
    return (f"does not run bare: status {done.returncode}"
            if done.returncode != 0 else None)


def objects(source_dir, work):
    for name, mode in (("layout", "-fPIE"), ("layout_lib", "-fPIC")):
        subprocess.run(["gcc", "-O1", mode, "-fomit-frame-pointer", "-c",
                        f"{source_dir}/tests/unwind/{name}.c", "-o",
                        f"{work}/{name}.o"], check=True)


def main():
    build_dir, source_dir = sys.argv[1:3]
    absent = {name for name, tool in
              [(n, "ld." + n) for n in CHOICES["linker"]] +
              [("patchelf", "patchelf")] if shutil.which(tool) is None}
    for name in sorted(absent):
        print("absent:", name)
    for no, why in IMPOSSIBLE.items():
        print("not made:", *no, "-", why)
    rows = list(possible(absent))
    if "--all" not in sys.argv:
        rows = list(covering(rows))
    n_good = n_bad = 0
    made = set()
    with tempfile.TemporaryDirectory() as work:
        objects(source_dir, work)
        for choice in rows:
            row = dict(zip(CHOICES, choice))
            wrong = build(row, work)
            spoilt = is_spoilt(wrong, work)
            if spoilt:
                print("not made:", *choice, "-", spoilt)
                continue
            made |= set(choice)
            wrong = wrong or judge(row, work, build_dir)
            n_good, n_bad = n_good + (not wrong), n_bad + bool(wrong)
            if wrong:
                print("WRONG:", *choice, wrong)
    for choice in sorted(set().union(*rows) - made):
        print("WRONG: no file was made with", choice)
        n_bad += 1
    print(f"{n_good} layouts right, {n_bad} wrong")
    sys.exit(n_bad > 0 or n_good == 0)


if __name__ == "__main__":
    main()
