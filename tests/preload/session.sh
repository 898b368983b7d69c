#!/bin/bash
# session.sh -- what the README shows: a program, recorded before and after a
# change, by samples and exactly
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

python=/usr/bin/python3
[ -x $python ] || { echo "skipped: no $python"; exit 77; }
cd "$work" || exit 1
export PYTHONMALLOC=malloc

record() { # TRACE HOW OPTION...
    local trace=$1 how=$2
    shift 2
    "$aliquot" record -q "$@" -o "$trace" -- \
        $python "$source_dir/examples/orders.py" "$how" >"$trace.out"
    equal "$trace: exit status" $? 0
    "$aliquot" report --json --tree=none --stacks=1 "$trace" >"$trace.json"
}
number() { # TRACE KEY: of the totals
    sed -n "s/^ *\"$2\": \([0-9.]*\),*$/\1/p" "$1.json" | head -n 1
}
holds() { # WHAT EXPRESSION, of awk
    if awk "BEGIN { exit !($2) }"; then pass; else fail "$1: $2"; fi
}

record dicts.ctf dicts --seed 1
record pairs.ctf pairs --seed 2
record dicts.exact.ctf.zst dicts --exact
record pairs.exact.ctf.zst pairs --exact
equal "the same answer" "$(cat pairs.ctf.out)" "$(cat dicts.exact.ctf.zst.out)"

# Within seven standard errors: one false alarm in 4e11 seeds.  A sample that
# has none of the few blocks that are never freed has no error either.
for how in dicts pairs; do
    for key in allocated live; do
        holds "$how: $key" "($(number $how.ctf ${key}_bytes) - \
$(number $how.exact.ctf.zst ${key}_bytes))^2 <= \
49 * ($(number $how.ctf ${key}_bytes_stderr) + 2^17)^2"
    done
done
holds "exactly: the peak fell" "$(number dicts.exact.ctf.zst peak_bytes) > \
3 * $(number pairs.exact.ctf.zst peak_bytes)"

"$aliquot" diff --fail-over=5% pairs.ctf dicts.ctf >grown 2>&1
equal "grown: exit status" $? 1
contains "grown" "$(cat grown)" "peak: the total grew by"
"$aliquot" diff --fail-over=5% dicts.ctf pairs.ctf >fallen 2>&1
equal "fallen: exit status" $? 0

finish
