#!/bin/bash
# programs.sh -- programs for aarch64 are recorded there, and read there
#
# usage: programs.sh BUILD_DIR SOURCE_DIR ROOT EMULATOR... -p PAGE_BYTES
#
# The emulator starts no other program of its machine.  So each is begun with
# the preload, as aliquot-preload(7) says, and what it has recorded is made a
# trace by `aliquot snapshot`, under the emulator, too.
# shellcheck source-path=SCRIPTDIR/../preload source=common.sh
. "$(dirname "$0")/../preload/common.sh"
root=$3
emulator=("${@:4}")
cat >"$work/aliquot" <<END
#!/bin/sh
exec ${emulator[*]} $build/bin/aliquot "\$@"
END
chmod +x "$work/aliquot"
aliquot=$work/aliquot
cd "$work" || exit 1
page_bytes=${emulator[-1]}
header_bytes=$((page_bytes > 8192 ? page_bytes : 8192))

# recorded TRACE SETTINGS PROGRAM ARGS...
recorded() {
    local trace=$1 settings=$2 status
    shift 2
    rm -f raw
    ALIQUOT=$settings,out=$work/raw \
        "${emulator[@]}" -E "LD_PRELOAD=$build/lib/libaliquot-preload.so" \
        "$@" >out 2>err </dev/null
    status=$?
    equal "$1: status" $status 0
    equal "$1: header's bytes" "$(od -An -tu4 -j8 -N4 raw | tr -d ' ')" \
        "$header_bytes"
    "$aliquot" snapshot -f -o "$trace" raw >/dev/null 2>err ||
        fail "$1: snapshot: $(head -n 3 err)"
    "$aliquot" check "$trace" >facts 2>&1 || fail "$1: check: $(cat facts)"
}

# Each way into malloc, by its caller.
recorded t.ctf rate=1,mmap=1 "$build/test/callers"
"$aliquot" script --format=memtrace t.ctf >txt
while read -r function bytes; do
    equal "$function" "$(innermost "$bytes")" "$function"
done <out
equal "ways in" "$(wc -l <out)" 12

# Blocks, bytes, live blocks, live bytes, moves, by threads, every one.
recorded t.ctf exact=1 "$build/test/churn" 3 4000 3
equal "churn" "$(of_churn)" "$(cat out)"
"$aliquot" info t.ctf >facts
contains "churn: info" "$(cat facts)" "every block"
contains "churn: info" "$(cat facts)" "nothing was dropped"

# Stacks are whole: out to the thread's first frame.
recorded t.ctf interval=4096 "$build/test/deep" 14 2000
"$aliquot" info t.ctf >facts
equal "deep: stacks that end early" "$(grep -c incomplete facts)" 0
"$aliquot" script --format=memtrace t.ctf >txt
equal "deep: stacks without main" \
    "$(grep ' alloc' txt | grep descend | grep -vc ' main@')" 0

# What Debian has built.
for program in "python3.11 -c 'import json; json.loads(json.dumps([[i] for i in range(20000)]))'" \
    "perl -e '@a = map { { n => \$_ } } 1 .. 20000; print scalar @a'"; do
    eval "recorded t.ctf interval=16384 $root/usr/bin/$program"
    "$aliquot" report t.ctf >facts 2>&1
    contains "${program%% *}" "$(cat facts)" "allocated"
done
finish
