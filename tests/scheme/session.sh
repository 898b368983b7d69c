#!/bin/bash
# session.sh SCHEME SMALL NAME -- every error of NAME.in is told with its place,
# and the session goes on; NAME.out has it word for word, but for what is
# measured
set -euo pipefail
cd "$(dirname "$0")"
name=$3
measured='s/(words|heap-bytes|seconds) \. [0-9.e+-]+\)/\1 . N)/g
s/[0-9]+ % allocated/N % allocated/; s/prelude\.scm:[0-9]+/prelude.scm:N/'
"$1" -m 24 <"$name.in" 2>&1 | sed -E "$measured" | diff "$name.out" - ||
    { echo "not what $name.out has"; exit 1; }
