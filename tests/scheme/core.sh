#!/bin/bash
# core.sh SCHEME SMALL -- core.scm counts no failure
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
out=$("$1" core.scm $(($2 ? 100 : 1)))
[ "$out" = "149 checks, 0 failures" ] || { echo "$out"; exit 1; }
