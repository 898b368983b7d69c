#!/bin/bash
# confined.sh -- programs that forbid themselves system calls live on
#
# A filter that kills at every call but malloc's own, write and exit; the
# kernel's strict mode, which costs samples and not the program.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
confined=$build/test/confined
for how in few nomap strict bare threads; do
    equal "$how, alone" "$(status_of out "$confined" $how)" 0
done

# lives NAME HOW OPTIONS...: as it does alone, and what it allocated is there
lives() {
    local name="$1, ${*:3}" how=$2
    shift 2
    equal "$name: status" \
        "$(status_of out "$aliquot" record -f -q -o t.ctf "$@" -- \
            "$confined" "$how")" 0
    equal "$name: output" "$(grep -v '^aliquot' out)" "done"
    equal "$name: check" "$("$aliquot" check t.ctf >/dev/null 2>&1; echo $?)" 0
    rm -rf .aliquot-raw.*
}

for mode in "--rate=1" "--exact" "--interval=4K" "--rate=1 --follow" \
    "--rate=1 --control" "--exact --control"; do
    # shellcheck disable=SC2086
    for how in few threads; do
        lives "$how" "$how" $mode
        case $mode in
        *rate=1* | --exact*)
            equal "$how, $mode: recorded" "$(live t.ctf 'work@')" \
                "6000000 20000"
            ;;
        esac
    done
    # shellcheck disable=SC2086
    lives strict strict $mode
    # shellcheck disable=SC2086
    lives bare bare $mode --reserve=64M
    # shellcheck disable=SC2086
    lives nomap nomap $mode --reserve=64M
done
equal "reserved: recorded" "$(live t.ctf 'work@')" "6000000 20000"

# What does not fit is counted and said.
out=$("$aliquot" record -f -o t.ctf --rate=1 --reserve=1M -- \
    "$confined" few 2>&1)
equal "little reserved: status" $? 0
contains "little reserved" "$out" "--reserve"

finish
