#!/bin/bash
# torture.sh -- awkward but legal programs, each with a known answer
#
# Every case runs bare and recorded, at rate 1 or, with the argument --exact, in
# exact mode: the same exit status, and what leaks from its leak_ functions
# exactly as the program says.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

torture=$build/test/torture
how=(--rate 1)
[ "${3-}" != --exact ] || how=(--exact)
plugin=$build/test/libtorture_plugin.so

run_case() {
    local name=$1 want=$2 pattern=${3:-leak_} bare status got
    bare=$(status_of "$work/bare" "$torture" "$name" "$plugin")
    status=$(status_of "$work/out" "$aliquot" record -q -f "${how[@]}" \
        -o "$work/t.ctf" -- "$torture" "$name" "$plugin")
    equal "$name: exit status" "$status" "$bare"
    [ -n "$want" ] || want=$(grep '^expect ' "$work/out" | tail -n 1)
    got="expect $(live "$work/t.ctf" "$pattern")"
    equal "$name" "$got" "$want"
    rm -f "$work"/*.ctf
}

for name in plain aligned fork forkexec vfork _exit sigkill \
    abort threads smallstack cross coroutine sigstorm dlclose deepbind \
    usable huge; do
    run_case "$name" ""
done
# Here main itself allocates.
run_case realloc "" main@
run_case realloc0 "" main@
# Of what it becomes; the image that is replaced leaks 100,000 bytes.
run_case exec ""
rm -f "$work"/*.torture.*.ctf

# A forked child has a trace of its own, with what it did after the fork.
"$aliquot" record "${how[@]}" -o "$work/f.ctf" -- "$torture" fork \
    >"$work/out" 2>&1
[ "${how[0]}" != --exact ] ||
    equal "fork: both are exact" "$(grep -c 'blocks\? of' "$work/out")" 2
for child in "$work"/f.*.ctf; do
    equal "fork: the child's trace" "$(live "$child" 'leak_')" "700000 1"
    "$aliquot" info "$child" >"$work/facts"
    contains "fork: the child's thread" "$(cat "$work/facts")" "threads           1"
done
rm -f "$work"/*.ctf

# Both images of an exec are there, the last with the name asked for.
"$aliquot" record -q "${how[@]}" -o "$work/x.ctf" -- "$torture" exec \
    >"$work/out" 2>&1
equal "exec: second image" "$(live "$work/x.ctf" 'leak_')" "1000000 1000"
for first in "$work"/x.*.ctf; do
    equal "exec: first image" "$(live "$first" 'leak_')" "100000 1"
done

# A static program is refused with a reason, not recorded as empty.
out=$("$aliquot" record -o "$work/s.ctf" -- "$build/test/torture_static" plain 2>&1)
equal "static: exit status" $? 125
contains "static" "$out" "statically linked"

finish
