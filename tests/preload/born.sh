#!/bin/bash
# born.sh -- what is allocated before main is recorded, in every mode
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

finish
