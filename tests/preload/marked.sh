#!/bin/bash
# marked.sh -- marks of a program, and from outside: in every mode, in a forked
# child, with libaliquot and without; what info, script, merge, check and report
# make of them
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

marked=$build/test/marked
preload=$build/lib/libaliquot-preload.so
cd "$work" || exit 1
n=500

# phases TRACE...: "name allocated kept live" a line, in blocks of 100 bytes.
phases() {
    "$aliquot" report --phases --json "$@" | python3 -c '
import json, sys
for p in json.load(sys.stdin)["phases"]:
    print(p["name"], p["number"], *(int(p[k + "_objects"])
          for k in ("allocated", "kept", "live")))'
}
names() {
    "$aliquot" script "$1" | sed -n 's/.*\tmark .*name=\([^\t]*\).*/\1/p' | xargs
}

for program in marked marked_fixed marked_static marked_both; do
    rm -f own.ctf
    "$build/test/$program" $n >out.txt 2>&1
    status=$?
    [ "$program" = marked_both ] || equal "$program, unrecorded" $status 0
done

# Other blocks than the program's own (stdio, the child's list) are large.
for program in marked marked_fixed; do
    for how in --exact --interval=8; do
        [ "$program $how" != "marked_fixed --interval=8" ] || continue
        rm -f it.*ctf
        "$aliquot" record -q -f $how -o it.ctf -- "$build/test/$program" $n
        equal "$program $how: exit status" $? 0
        equal "$program $how: marks" "$(names it.ctf)" "loaded work work"
        equal "$program $how: marks of the child" "$(names it.*.ctf)" child
        # The list of blocks is of the phase "start".
        equal "$program $how: phases" "$(phases it.ctf)" "start 1 $((n + 1)) 1 $((n + 1))
loaded 1 $((2 * n)) $((2 * n)) $((2 * n + 1))
work 1 $((3 * n)) 0 $((2 * n + 1))
work 2 $n $n $((3 * n + 1))"
        "$aliquot" merge -q -f -o both.ctf it.ctf it.*.ctf 2>/dev/null ||
            "$aliquot" merge -f -o both.ctf it.ctf it.*.ctf 2>/dev/null
        equal "$program $how: merged" "$(names both.ctf)" \
            "loaded work work child"
        equal "$program $how: merged, the child" \
            "$(phases both.ctf | sed -n 's/^child 1 \([0-9]*\).*/\1/p')" $((4 * n))
        equal "$program $how: check" \
            "$("$aliquot" check it.ctf | grep -c 'no findings')" 1
        equal "$program $how: info" "$("$aliquot" info it.ctf |
            awk '/^marks/ { print $2 }')" 3
    done
done

# The peak of each phase, exactly.
rm -f it.*ctf
"$aliquot" record -q -f --exact -o it.ctf -- "$marked" $n
equal "peaks" "$("$aliquot" report --phases --json it.ctf | python3 -c '
import json, sys
print(*(p["peak_objects"] for p in json.load(sys.stdin)["phases"]))')" \
    "$((n + 1)) $((3 * n + 1)) $((2 * n + 2)) $((3 * n + 1))"

# One phase, all of a name, one of them; none of that name.
blocks() {
    "$aliquot" report --json "$@" it.ctf | python3 -c '
import json, sys
print(int(json.load(sys.stdin)["allocated_objects"]))'
}
equal "phase loaded" "$(blocks --phase=loaded)" $((2 * n))
equal "phase work" "$(blocks --phase=work)" $((4 * n))
equal "phase work#2" "$(blocks --phase='work#2')" $n
equal "phase start" "$(blocks --phase=start)" $((n + 1))
equal "phase and filter" "$(blocks --phase=work --filter=freed=never)" $n
"$aliquot" report --phase=nothing it.ctf >out.txt 2>err.txt
equal "no such phase: status" $? 2
contains "no such phase" "$(cat err.txt)" "no phase has that name"
"$aliquot" report --phases it.ctf >out.txt
contains "table" "$(cat out.txt)" "work#2"

# With libaliquot, in a library and within the program: both have the marks.
for program in marked_both marked_both_static; do
    rm -f own.ctf it.*ctf
    "$aliquot" record -q -f -o it.ctf -- "$build/test/$program" $n
    equal "$program: exit status" $? 0
    equal "$program: recording" "$(names it.ctf)" "loaded work work"
    equal "$program: trace" "$(names own.ctf)" "loaded work work"
    # The last is the list of modules or the like, of libaliquot's own.
    equal "$program: phases of the trace" \
        "$(phases own.ctf | awk '{ print $1, $3 }' | xargs)" \
        "start $n loaded $((2 * n)) work $((3 * n)) work $n"
done

# From outside, by the socket.
mkfifo go
rm -f it.*ctf
env LD_PRELOAD="$preload" ALIQUOT=control,rate=1,out=it.alqraw \
    "$marked" $n wait <go >out &
job=$!
exec 5>go
await "the program waits" grep -q '^ready' out
pid=$(awk '/^ready/ { print $2 }' out)
"$aliquot" mark -p "$pid" 'from outside' >said.txt
equal "mark: exit status" $? 0
contains "mark: said" "$(cat said.txt)" "the phase 'from outside' begins"
"$aliquot" mark -p "$pid" '' >said.txt 2>&1
equal "an empty name" $? 2
"$aliquot" mark -p "$pid" "$(printf 'x%.0s' {1..128})" >said.txt 2>&1
equal "a name too long" $? 2
echo >&5
exec 5>&-
wait "$job"
# The second block more is the buffer of standard output.
equal "phases with that of outside" "$(phases it.alqraw | tail -n 1)" \
    "from outside 1 $n $n $((4 * n + 2))"

# Nothing is recorded: nothing is marked.
env LD_PRELOAD="$preload" ALIQUOT=off,control "$marked" $n wait <go >out &
job=$!
exec 5>go
await "the program waits, off" grep -q '^ready' out
pid=$(awk '/^ready/ { print $2 }' out)
"$aliquot" mark -p "$pid" name >said.txt 2>&1
equal "mark without a recording" $? 1
contains "mark without a recording: why" "$(cat said.txt)" "nothing is recorded"
exec 5>&-
wait "$job"

# A process that was attached to.
"$marked" $n wait <go >out &
job=$!
exec 5>go
await "the program waits, unprepared" grep -q '^ready' out
pid=$(awk '/^ready/ { print $2 }' out)
if "$aliquot" start -p "$pid" --rate=1 -o late.alqraw >said.txt 2>&1; then
    "$aliquot" mark -p "$pid" late >said.txt
    equal "mark of an attached process" $? 0
    echo >&5
    exec 5>&-
    wait "$job"
    equal "phase of an attached process" \
        "$(phases late.alqraw | sed -n 's/^late 1 \([0-9]*\) .*/\1/p')" $n
else
    echo "skipped: a mark of an attached process: $(head -n 1 said.txt)"
    exec 5>&-
    wait "$job"
fi
finish
