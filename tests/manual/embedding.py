#!/usr/bin/env python3
"""embedding.py BUILD_DIR -- each snippet of doc/embedding.md is true

A line <!-- file: NAME -->, <!-- run -->, <!-- output --> or <!-- quote: PATH -->
in front of a block says what it is: a file to write, commands to run beside the
files with the installed library, what these printed, or lines of a file of ours.
"""
import os
import re
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
text = open(os.path.join(root, "doc/embedding.md")).read()
block = re.compile(r"^<!-- (file|run|output|quote)(?:: (\S+))? -->\n```\w*\n(.*?)^```$",
                   re.M | re.S)


def installed(build, prefix):
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    for folder, _, files in os.walk(prefix):
        if "aliquot.pc" in files:
            return os.path.dirname(folder)
    sys.exit("no aliquot.pc under " + prefix)


def main():
    done = {"file": 0, "run": 0, "output": 0, "quote": 0}
    with tempfile.TemporaryDirectory() as work:
        lib = installed(sys.argv[1], os.path.join(work, "prefix"))
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(lib, "pkgconfig"),
                   LD_LIBRARY_PATH=lib,
                   CMAKE_PREFIX_PATH=os.path.join(work, "prefix"))
        printed = None
        for kind, name, body in block.findall(text):
            done[kind] += 1
            if kind == "file":
                with open(os.path.join(work, name), "w") as out:
                    out.write(body)
            elif kind == "run":
                printed = subprocess.run(["bash", "-euc", body], cwd=work, env=env,
                                         check=True, text=True,
                                         stdout=subprocess.PIPE).stdout
            elif kind == "output" and printed != body:
                sys.exit(f"the page has\n{body}and the program printed\n{printed}")
            elif kind == "quote" and body not in open(os.path.join(root, name)).read():
                sys.exit(f"{name} does not have\n{body}")
    fences = len(re.findall(r"^```\w*c$|^```c$", text, re.M))
    unmarked = len(re.findall(r"(?<!-->)\n```c\n", text))
    if unmarked or min(done.values()) == 0:
        sys.exit(f"{unmarked} blocks of C without a mark; {done}, {fences} fences")
    print(done)


main()
