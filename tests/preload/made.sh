#!/bin/bash
# made.sh -- code that a program makes as it runs: its frames have names, and
# stacks go through it down to _start
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

made=$build/test/made
cd "$work" || exit 1
export ALIQUOT_DEBUG_PATH=/nowhere

# record HOW [OPTION...]: the stacks of the blocks of the made code, outermost first, in
# `stacks`, one a line, and the report in `report.txt`
record() {
    local how=$1
    shift
    "$aliquot" record -q -f "${@:---exact}" -o it.ctf -- "$made" "$how" </dev/null
    equal "$how: exit status" $? 0
    pid=$("$aliquot" info it.ctf | awk '$1 == "pid" { print $2 }')
    "$aliquot" export --format=folded -f -o folded it.ctf
    grep -F 'main;' folded >stacks
    "$aliquot" report it.ctf >report.txt
    rm -f /tmp/perf-"$pid".map{,.real} /tmp/jit-"$pid".dump
}

for how in map map0x lean; do
    record $how
    contains "$how: stack" "$(cat stacks)" \
        'run;outer with a blank;JS:*inner 100000'
    contains "$how: from the first frame on" "$(cat stacks)" '_start;'
    contains "$how: file and line" "$(cat report.txt)" 'it.js:7'
    cp it.ctf $how.ctf
    contains "$how: what makes no sense" "$(cat report.txt)" 'entries without sense: 1'
done
"$aliquot" script it.ctf >script.txt
contains "the module" "$(cat script.txt)" '[jit]'
"$aliquot" info it.ctf >info.txt
case $(cat info.txt) in
*incomplete*) fail "stacks end early: $(cat info.txt)" ;;
*) pass ;;
esac

"$aliquot" merge -o merged.ctf map.ctf lean.ctf 2>merged.txt
equal "merge: exit status" $? 0
"$aliquot" report --group=module merged.ctf >merged.txt
contains "merged: the module" "$(cat merged.txt)" '[jit]  JS:*inner'

record touch --interval=8
contains "what blocks explain" "$(cat report.txt)" 'these blocks explain'
contains "how to see the rest" "$(cat report.txt)" 'record --mmap shows'
record touch --interval=8 --mmap
equal "what mappings explain" "$(grep -c 'explain\|--mmap shows' report.txt)" 0
record plain
equal "what is explained" "$(grep -c explain report.txt)" 0
contains "without a list" "$(cat stacks)" 'run;[unknown]+0x'

record link
contains "a symbolic link: stack" "$(cat stacks)" 'run;[unknown]+0x'
contains "a symbolic link: said" "$(cat report.txt)" 'it is a symbolic link'

if [ "$(id -u)" = 0 ]; then
    record other
    contains "another user's: stack" "$(cat stacks)" 'run;[unknown]+0x'
    contains "another user's: said" "$(cat report.txt)" 'it belongs to another user'
else
    echo "skipped: a map of another user: not root"
fi

# A dump has times: the same place has two names, one after the other. Samples
# have times, blocks recorded exactly have not; an interval of 8 bytes samples
# every block.
for how in dump tmpdump; do
    record $how --interval=8
    contains "$how: at first" "$(cat stacks)" 'run;outer;first 100000'
    contains "$how: then" "$(cat stacks)" 'run;outer;second 100000'
    contains "$how: from the first frame on" "$(cat stacks)" '_start;'
    equal "$how: remarks" "$(grep '^!' report.txt)" ''
    rm -f jit-*.dump
done

# The recorder is elsewhere, or the process is: its own /tmp counts.
if unshare -m true 2>/dev/null; then
    mkfifo go
    mkfifo go
    here=$(mktemp -d -p "$build/test")
    trap 'rm -rf "$work" "$here"' EXIT
    unshare -m sh -c 'mount -t tmpfs none /tmp && exec "$@"' sh \
        env ALIQUOT="exact=1,out=$here/it.alqraw" \
        LD_PRELOAD="$build/lib/libaliquot-preload.so" \
        "$made" map wait <go &
    exec 3>go
    is_named() { "$aliquot" report "$here"/it.alqraw 2>&1 | grep -qF 'JS:*inner'; }
    await "elsewhere: the stack" is_named
    exec 3>&-
    wait $!
else
    echo "skipped: a map in another mount namespace: unshare -m is denied"
fi

finish
