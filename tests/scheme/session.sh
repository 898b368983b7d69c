#!/bin/bash
# session.sh SCHEME -- every error of session.in is told with its place, and the
# session goes on; session.out has it word for word
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
name=$(basename "$0" .sh) # memory.sh is this script, too
"$1" -m 24 <"$name.in" 2>&1 | diff "$name.out" - ||
    { echo "not what $name.out has"; exit 1; }
