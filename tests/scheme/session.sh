#!/bin/bash
# session.sh SCHEME -- every error of session.in is told with its place, and the
# session goes on; session.out has it word for word, but for what is measured
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
name=$(basename "$0" .sh) # memory.sh and limited.sh are this script, too
measured='s/(words|heap-bytes|seconds) \. [0-9.e+-]+\)/\1 . N)/g
s/[0-9]+ % allocated/N % allocated/; s/prelude\.scm:[0-9]+/prelude.scm:N/'
"$1" -m 24 <"$name.in" 2>&1 | sed -E "$measured" | diff "$name.out" - ||
    { echo "not what $name.out has"; exit 1; }
