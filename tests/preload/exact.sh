#!/bin/bash
# exact.sh -- the exact mode says exactly what programs that count say
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
churn=$build/test/churn
deep=$build/test/deep

record() {
    "$aliquot" record -q -f --exact "$@" >want 2>err
    equal "$*: exit status" $? 0
    equal "$*: check" "$("$aliquot" check t.ctf | grep -c 'no findings')" 1
}

for threads in 1 2 5 16; do
    record -o t.ctf -- "$churn" "$threads" 40000 "$threads"
    equal "churn $threads" "$(of_churn)" "$(cat want)"
    equal "churn $threads: said" "$(cat err)" ""
    "$aliquot" info t.ctf >facts
    contains "churn $threads: info" "$(cat facts)" "every block"
    contains "churn $threads: info" "$(cat facts)" "nothing was dropped"
done

# What the library maps for itself is not the program's, and no drop.
record --mmap -o t.ctf -- "$churn" 5 40000 5
equal "mappings" "$(of_churn)" "$(cat want)"
"$aliquot" info t.ctf >facts
contains "mappings: info" "$(cat facts)" "nothing was dropped"

# Recordings are small: four bytes an event at most, stacks and all (spec
# malloc-profilers 5b item 7), of a program whose sizes are not random.
if command -v perl >/dev/null; then
    ALIQUOT=exact=1,out=$work/raw LD_PRELOAD=$build/lib/libaliquot-preload.so \
        perl "$source_dir/tests/workloads/words.pl" 1 >want
    n_events=$("$aliquot" info raw |
        awk '/^events/ { print $2 + $4 }')
    n_bytes=$((512 * $(stat -c %b raw))) # the rest are holes
    if [ "$n_events" -gt 1000000 ] && [ "$n_bytes" -le $((4 * n_events)) ]; then
        pass
    else
        fail "$n_bytes bytes for $n_events events"
    fi
    rm raw
fi

# Tables that are full: a line says so, sampling takes over, and frees of what
# was recorded before are still known.  The estimate of a fixed seed is within
# seven standard errors: one false alarm in 4e11 seeds.
record --max-memory 1M --interval 16K --seed 5 -o t.ctf -- "$deep" 14 60000
contains "deep: said" "$(cat err)" "sampled, one in 16384 bytes"
equal "deep: when" "$(grep -cE ' after [0-9]+\.[0-9]{3} s: ' err)" 1
equal "deep: lines" "$(wc -l <err)" 1
"$aliquot" report --json t.ctf >report.json
number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" report.json | head -n 1; }
near() { # NAME VALUE STDERR WANT
    if awk -v v="$2" -v s="$3" -v w="$4" \
        'BEGIN { exit !(s > 0 && (v - w) ^ 2 <= 49 * s ^ 2) }'; then
        pass
    else
        fail "$1: $2 +- $3, not $4"
    fi
}
near "deep: allocated" "$(number allocated_bytes)" \
    "$(number allocated_bytes_stderr)" "$(cut -d' ' -f2 want)"
near "deep: live" "$(number live_bytes)" "$(number live_bytes_stderr)" 128000
n=$("$aliquot" script t.ctf | awk -F '\t' '$2 == "alloc" { n++ } END { print n }')
if [ "$n" -gt 5000 ] && [ "$n" -lt 50000 ]; then
    pass
else
    fail "deep: $n blocks recorded of 60064"
fi

# A forked child's recording is exact, too, and knows its thread.
cat >forks.py <<'PYTHON'
import os
if os.fork() == 0:
    kept = [bytearray(5000) for i in range(100)]
    os._exit(0)
os.wait()
PYTHON
"$aliquot" record -q -f --exact -o f.ctf -- /usr/bin/python3 forks.py
for child in f.*.ctf; do
    "$aliquot" info "$child" >facts
    contains "child" "$(cat facts)" "every block"
    contains "child" "$(grep -c 'tid ' facts)" 1
    n=$("$aliquot" script "$child" | awk -F '\t' '
        $2 == "alloc" && $4 >= 5000 && $4 < 5010 { n++ } END { print n + 0 }')
    equal "child: its blocks" "$n" 100
done

# Read while it is written: what is there has no gap, however often the chunk
# in use begins anew meanwhile.
ALIQUOT=exact=1,out=$work/live LD_PRELOAD=$build/lib/libaliquot-preload.so \
    "$build/test/seq" &
writer=$!
read_live() { # sets got: gaps, and whether there was much; true: it says all
    got=$("$aliquot" script live 2>/dev/null | awk -F '\t' '
        $2 == "alloc" && $9 ~ /main@/ {
            gaps += before && $4 != before % 1000 + 1
            before = $4
            n++
        }
        END { print gaps + 0, (n > 10000) }')
    [ "$got" != "0 0" ]
}
for reading in 1 2 3 4; do
    await "live, reading $reading" read_live
    equal "live, reading $reading" "$got" "0 1"
done
touch stop
wait "$writer"
rm live stop

finish
