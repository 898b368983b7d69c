#!/bin/bash
# inside.sh -- a program switches its recorder by <aliquot/control.h>
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

preload=$build/lib/libaliquot-preload.so
python=/usr/bin/python3
cd "$work" || exit 1

# run PROGRAM SETTINGS STEP...: statuses in one line
run() {
    local program=$build/test/$1 settings=$2
    shift 2
    LD_PRELOAD=$preload ALIQUOT=$settings "$program" "$@" 2>err |
        tr '\n' ' '
}

# sites FILE: "keep_a 100 keep_b 3", what was allocated where
sites() {
    "$aliquot" report --json --allocated "$1" 2>/dev/null | "$python" -c '
import json, sys
print(*sorted("%s %d" % (s["function"], s["allocated_objects"])
              for s in json.load(sys.stdin)["sites"]
              if s["function"].startswith("keep_")))'
}

# ---- without the preload -----------------------------------------------------
equal "weak, without the preload" "$("$build/test/inside_weak" a:5 start stop \
    end forget free | tr '\n' ' ')" "start none stop none end none forget none "
for program in inside inside_static; do
    equal "$program without the preload" "$("$build/test/$program" a:5 start \
        stop end forget free | tr '\n' ' ')" "start 7 stop 7 end 7 forget 7 "
done
equal "off for good" "$(run inside_weak off a:5 start stop end forget)" \
    "start 7 stop 7 end 7 forget 7 "

# ---- each of the calls -------------------------------------------------------
for program in inside_weak inside inside_static; do
    every=rate=1,out=r.alqraw
    rm -f ./*.alqraw
    equal "$program: stop and start" \
        "$(run $program $every a:100 stop b:100 start c:100)" "stop 0 start 0 "
    equal "$program: what is sampled" "$(sites r.alqraw)" "keep_a 100 keep_c 100"

    rm -f ./*.alqraw
    equal "$program: forget" \
        "$(run $program $every a:100 forget b:50 free c:3)" "forget 0 "
    equal "$program: after it" "$(sites r.alqraw)" "keep_b 50 keep_c 3"
    equal "$program: one file" "$(ls ./*.alqraw)" ./r.alqraw
    contains "$program: what is left" "$("$aliquot" report --leaks r.alqraw)" \
        "keep_c"
    contains "$program: it is said" "$("$aliquot" report r.alqraw)" \
        "from some time after its start"

    rm -f ./*.alqraw
    equal "$program: another file" "$(run $program $every a:100 end b:50 \
        start:1:new.%e.alqraw c:9 start:1:third.alqraw free)" \
        "end 0 start 0 start 2 "
    equal "$program: the first" "$(sites r.alqraw)" "keep_a 100"
    equal "$program: the second" "$(sites "new.$program.alqraw")" "keep_c 9"
    equal "$program: no third" "$(find . -name third.alqraw)" ""
done

# ---- what is refused, and other states ---------------------------------------
rm -f ./*.alqraw
equal "later" "$(run inside_weak off,control=@alq.test.%p a:5 end forget \
    start:1:r.alqraw b:7 stop c:7 forget start c:2)" \
    "end 4 forget 4 start 0 stop 0 forget 0 start 0 "
rm -f ./*.alqraw
equal "stopped and forgotten" "$(run inside_weak rate=1,out=r.alqraw a:5 stop \
    forget b:7 start c:2)" "stop 0 forget 0 start 0 "
equal "what was then" "$(sites r.alqraw)" "keep_c 2"
rm -f ./*.alqraw
equal "rates" "$(run inside_weak rate=1,out=r.alqraw start:2 start:-1 start::x \
    start:0.5 a:100)" "start 1 start 1 start 2 start 0 "
contains "a rate" "$("$aliquot" info r.alqraw)" "later one for each 16 B"
equal "exact" "$(run inside_weak exact=1,out=e.alqraw a:5 start stop end forget)" \
    "start 12 stop 12 end 12 forget 12 "
equal "no file" "$(run inside_weak rate=1,out=r2.alqraw end \
    start:1:/nowhere/x.alqraw)" "end 0 start 9 "
contains "why" "$(cat err)" /nowhere/x.alqraw

# ---- threads -----------------------------------------------------------------
rm -f ./*.alqraw
equal "beside threads" "$(run inside_weak rate=0.01,out=r.alqraw churn:4 \
    forgets:50 start:1 c:10)" "forgets 0 start 0 "
equal "of the last" "$(sites r.alqraw)" "keep_c 10"
equal "it is whole" "$(status_of check "$aliquot" check r.alqraw)" 0

# ---- under aliquot record ----------------------------------------------------
equal "record" "$(status_of out "$aliquot" record --rate=1 -o t.ctf -- \
    "$build/test/inside_weak" a:100 end start b:50)" 0
equal "the last recording has the name" "$(sites t.ctf)" "keep_b 50"
equal "the first is there, too" "$(sites "$(find . -name 't.*.ctf')")" \
    "keep_a 100"
finish
