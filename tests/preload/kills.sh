#!/bin/bash
# kills.sh -- exact recordings of a program that is killed, or still runs
#
# At 24 moments, 8 in the brief form, the recording must read without a finding and without damage.
# Half of the programs are killed first: of those no free is of a block that is
# not known, and no block ends without its free.  The others are read while
# their threads write, each as it is at a moment of its own.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
RANDOM=${ALQ_TEST_SEED:-7}
n_events=0
n_moments=8
[ "${ALQ_TEST_LONG-}" != 1 ] || n_moments=24

# Each moment is when so many bytes were recorded: the file is longer, by holes.
has_recorded() { # BYTES
    [ $((512 * $(stat -c %b raw 2>/dev/null || echo 0))) -ge "$1" ]
}

start() { # THREADS
    rm -f raw
    # shellcheck disable=SC2016
    ALIQUOT=exact=1,out=$work/raw \
        LD_PRELOAD=$build/lib/libaliquot-preload.so \
        "$build/test/churn" "$1" 100000000 "$RANDOM" >/dev/null 2>&1 &
    pid=$!
    disown
    await "a recording" has_recorded $((1000000 + RANDOM * 64))
}

for i in $(seq $n_moments); do
    how=killed
    start $((1 + i % 4))
    if [ $((i % 2)) = 0 ]; then
        how=running
    else
        kill -KILL "$pid"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    fi
    "$aliquot" snapshot -f -o t.ctf raw >out 2>&1 || fail "$i, $how: $(cat out)"
    [ "$how" = killed ] || kill -KILL "$pid"
    "$aliquot" check t.ctf >checked
    equal "$i, $how: check" "$(grep -c 'no findings' checked)" 1
    "$aliquot" info t.ctf >facts
    contains "$i, $how: info" "$(cat facts)" "nothing was dropped"
    ended=$("$aliquot" script t.ctf |
        sed -n 's/.*unseen_frees=\([0-9]*\) unknown_frees=\([0-9]*\).*/\1 \2/p')
    read -r unseen unknown <<<"$ended"
    if [ "$how" = killed ]; then
        equal "$i: frees unseen and unknown" "$unseen $unknown" "0 0"
    fi
    n=$(awk '/^events/ { print $2 }' facts)
    n_events=$((n_events + n))
done
[ "$n_events" -gt $((n_moments * 40000)) ] || fail "only $n_events events were recorded"

finish
