#!/bin/bash
# secure.sh -- ALIQUOTPARAM is not read by a program with others' rights
#
#   secure.sh TUNED
set -euo pipefail

no_rights() {
    echo "skipped: the system gives no rights here"
    exit 77
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
cp "$1" "$scratch/tuned"
cd "$scratch"
export ALIQUOTPARAM=o=33

[ "$(./tuned)" = "33 0" ] || { echo "ALIQUOTPARAM is not read at all"; exit 1; }

if [ "$(id -u)" = 0 ]; then
    { chown 65534 tuned && chmod u+s tuned; } || no_rights
else # of another group of this user
    group=$(id -G | tr ' ' '\n' | grep -vx "$(id -g)" | head -1 || true)
    [ -n "$group" ] || { echo "skipped: there is one group only"; exit 77; }
    { chgrp "$group" tuned && chmod g+s tuned; } || no_rights
fi
said=$(./tuned)
case $said in
*" 0") no_rights ;;
"120 1") ;;
*) echo "with rights of others: $said"; exit 1 ;;
esac
