#!/bin/bash
# born.sh -- what is allocated before main is recorded, in every mode, and what
# threads allocate when the profiler has left them; figures are called exact
# only where nothing is missing
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1

of_born() {
    "$aliquot" script t.ctf | awk -F '\t' '
        $2 == "alloc" && $9 ~ /born_block/ { n++; bytes += $4 }
        END { printf "%d %d\n", n, bytes }'
}

for program in born born_initfirst; do
    for how in --exact --rate=1; do
        "$aliquot" record -q -f "$how" -o t.ctf -- "$build/test/$program" >want
        equal "$program $how: status" $? 0
        equal "$program $how" "$(of_born)" "$(cat want)"
        contains "$program $how: stacks to the linker's entry" \
            "$("$aliquot" info t.ctf)" "nothing was dropped"
    done

    # Nothing else breaks where nothing is recorded.
    for how in "" off off,control off,signal=USR2 probes,off; do
        ALIQUOT=$how LD_PRELOAD=$build/lib/libaliquot-preload.so \
            "$build/test/$program" >got 2>err
        equal "$program ALIQUOT=$how: status" $? 0
        equal "$program ALIQUOT=$how" "$(cat got)" "$(cat want)"
    done

    # Neither in main nor before is a trace of ours in the environment.
    equal "$program: environment" "$(cd / && "$aliquot" record -q -f --exact \
        -o "$work/t.ctf" -- "$build/test/$program" environment)" "0"
done

# says WHAT TEXT: report, info and JSON, of one mind.
says() {
    local exact=false
    case $2 in *"figures are exact"*) exact=true ;; esac
    contains "$1: report" "$("$aliquot" report t.ctf)" "$2"
    contains "$1: info" "$("$aliquot" info t.ctf)" "$2"
    contains "$1: diff" "$("$aliquot" diff t.ctf t.ctf)" \
        "${2/: figures are exact/}"
    contains "$1: JSON" "$("$aliquot" report --json t.ctf)" \
        "\"is_exact\": $exact"
    contains "$1: diff JSON" "$("$aliquot" diff --json t.ctf t.ctf)" \
        "\"is_exact\": $exact"
    contains "$1: pprof" "$("$aliquot" export --format=pprof -o - t.ctf |
        gzip -dc | tr -c '[:print:]' ' ')" "$2"
}

"$aliquot" record -q -f --exact -o t.ctf -- "$build/test/born" ended >want
equal "ended" "$(of_born)" "$(cat want)"
says "ended" "every block recorded: figures are exact"

"$aliquot" record -q -f --rate 1 -o t.ctf -- "$build/test/born" ended >want
says "ended, sampled" "every block but those missing: 1 blocks of threads that"

# Handlers that allocate: where one came in the profiler's way, it is said.
for how in --exact --rate=1; do
    LD_PRELOAD=$build/test/libsafe_malloc.so "$aliquot" record -q -f "$how" \
        -o t.ctf -- "$build/test/born" handler >want 2>err
    if [ "$(of_born)" = "$(cat want)" ]; then
        says "handler $how" "every block recorded: figures are exact"
    else
        says "handler $how" "every block but those missing: "
        equal "handler $how: why" "$("$aliquot" info t.ctf | grep '^sampling' |
            grep -c 'the profiler was interrupted\|within the profiler')" 1
    fi
done

# Letters of a name; one that stands for nothing stays, and is told.
names() { # PATTERN
    rm -rf names && mkdir names
    ALIQUOT=exact=1,out=names/$1 LD_PRELOAD=$build/lib/libaliquot-preload.so \
        "$build/test/born" >/dev/null 2>err
    (cd names && echo *)
}
equal "name: host, program" "$(names %h.%e.%%n.alqraw)" \
    "$(uname -n).born.%n.alqraw"
equal "name: said" "$(cat err)" ""
equal "name: nothing's letter" "$(names %e.%q.%n)" "born.%q.0"
contains "name: nothing's letter is told" "$(cat err)" \
    "only %e, %h, %n, %p and %% stand for something, not '%q'"

# shellcheck disable=SC2016
"$aliquot" record -q -f --exact --follow -o t.%p.ctf -- \
    bash -c '(: $((1 + 1)); x=$(echo 1)); :' >want
n_whole=0
for child in t.*.ctf; do
    cp "$child" t.ctf
    if "$aliquot" info t.ctf | grep 'forked=1' >/dev/null; then
        says "fork" "every block but those missing: blocks from before the fork"
    else
        says "no fork" "every block recorded: figures are exact"
        n_whole=$((n_whole + 1))
    fi
done
equal "forks: whole ones" "$n_whole" 1

finish
