#!/usr/bin/env python3
"""embedding.py BUILD_DIR -- each snippet of doc/embedding.md is true

A line <!-- install -->, <!-- file: NAME -->, <!-- run -->, <!-- output --> or
<!-- quote: PATH --> in front of a block says what it is: commands that install
BUILD_DIR under a new HOME and set the environment of the rest, a file to write
(a program compiles with ALQ_STRICT_VALUES, too), commands to run beside the
files, what these printed, or lines of a file of ours.
"""
import os
import re
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
text = open(os.path.join(root, "doc/embedding.md")).read()
block = re.compile(r"^<!-- (install|file|run|output|quote)(?:: (\S+))? -->\n"
                   r"```\w*\n(.*?)^```$", re.M | re.S)
STRICT = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-DALQ_STRICT_VALUES", "-fsyntax-only",
          "-I" + os.path.join(root, "include")]


def installed(build, home, body):
    """The environment after the commands of body, but for the build."""
    body = body.replace("./dev build\n", "").replace("build/rel", build)
    out = subprocess.run(["bash", "-euc", "{\n" + body + "} >/dev/null\nenv -0"],
                         cwd=root, check=True, env=dict(os.environ, HOME=home),
                         text=True, stdout=subprocess.PIPE).stdout
    return dict(v.split("=", 1) for v in out.split("\0") if v)


def main():
    done = {"install": 0, "file": 0, "run": 0, "output": 0, "quote": 0}
    with tempfile.TemporaryDirectory() as work:
        env = printed = None
        for kind, name, body in block.findall(text):
            done[kind] += 1
            if kind == "install":
                env = installed(sys.argv[1], work, body)
            elif kind == "file":
                with open(os.path.join(work, name), "w") as out:
                    out.write(body)
                if name.endswith(".c"):
                    subprocess.run(STRICT + [os.path.join(work, name)], check=True)
            elif kind == "run":
                printed = subprocess.run(["bash", "-euc", body], cwd=work, env=env,
                                         check=True, text=True,
                                         stdout=subprocess.PIPE).stdout
            elif kind == "output" and printed != body:
                sys.exit(f"the page has\n{body}and the program printed\n{printed}")
            elif kind == "quote" and body not in open(os.path.join(root, name)).read():
                sys.exit(f"{name} does not have\n{body}")
        for name in re.findall(r"`man (\w+)`", text):
            page = os.path.join(work, ".local/share/man/man3", name + ".3")
            if not os.path.exists(page):
                sys.exit("there is no page " + name + "(3)")
    fences = len(re.findall(r"^```\w*c$|^```c$", text, re.M))
    unmarked = len(re.findall(r"(?<!-->)\n```c\n", text))
    if unmarked or min(done.values()) == 0:
        sys.exit(f"{unmarked} blocks of C without a mark; {done}, {fences} fences")
    print(done)


main()
