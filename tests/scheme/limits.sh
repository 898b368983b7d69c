#!/bin/bash
# limits.sh SCHEME SMALL -- limits.scm is stopped where limits.out says
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
measured='s/(heap-bytes|seconds) \. [0-9.e+-]+\)/\1 . N)/g; s/prelude\.scm:[0-9]+/prelude.scm:N/'
status=0
small=${2#0}
out=$("$1" -m 64 limits.scm ${small:+small} 2>&1) || status=$?
sed -E "$measured" <<<"$out" | diff limits.out - ||
    { echo "not what limits.out has"; exit 1; }
[ $status = 1 ] || { echo "status $status, not 1"; exit 1; }
