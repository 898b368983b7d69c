#!/bin/bash
# off.sh -- ALIQUOT=off leaves a process as it was
#
# Beside a preloaded library that does nothing: the same descriptors, threads,
# signal handlers and mappings, and, once the dynamic linker is done, the same
# system calls.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

preload=$build/lib/libaliquot-preload.so
nothing=$build/test/libnothing.so
victim=$build/test/control
cd "$work" || exit 1

# with LIBRARY ALIQUOT COMMAND...
with() {
    local library=$1 settings=$2
    shift 2
    env LD_PRELOAD="$library" ALIQUOT="$settings" "$@"
}

# At fixed addresses, where they may be had: the kernel joins mappings that
# happen to lie side by side.
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=()
with "$nothing" off "${fixed[@]}" "$victim" idle >bare.out
with "$preload" off "${fixed[@]}" "$victim" idle >off.out 2>&1
equal "off: what is left" "$(grep -v mappings off.out)" \
    "$(grep -v mappings bare.out)"
# At most one mapping more: the library's own data that begin as zeros, where
# they do not fit behind the others on their last page.
more=$(awk '/mappings/ { n[FILENAME] = $2 }
    END { print n["off.out"] - n["bare.out"] }' bare.out off.out)
case $more in
0 | 1) pass ;;
*) fail "off: $more mappings more" ;;
esac
contains "the test looks" "$(cat bare.out)" "SigCgt:"
# That the test can fail: recording and control are seen by it.
with "$preload" control,out="$work/r" "$victim" idle >on.out 2>/dev/null
equal "on: a descriptor or more" \
    "$(awk '/descr/ { n[FILENAME] = $2 } END { print (n["on.out"] > n["bare.out"]) }' \
        bare.out on.out)" 1
equal "control: a thread" "$(grep threads on.out)" "threads 4"

# The environment goes on to children, who are off, too.
contains "children" "$(with "$preload" off sh -c 'env')" "ALIQUOT=off"
equal "follow=0" \
    "$(with "$preload" off,follow=0 sh -c 'env' | grep -c ALIQUOT=)" 0
equal "unknown words are said" \
    "$(with "$preload" off,bogus true 2>&1 | grep -c "'bogus'")" 1

# calls LIBRARY: names of system calls behind the linker's last one
calls() {
    strace -f -o trace -E LD_PRELOAD="$1" -E ALIQUOT=off "$victim" idle \
        >/dev/null
    awk '{ sub(/^[0-9]+ +/, ""); sub(/\(.*/, "") }
         $1 == "munmap" && !begun { begun = 1; next }
         begun { print }' trace
}

if strace -o /dev/null true 2>/dev/null; then
    calls "$nothing" >bare.calls
    calls "$preload" >off.calls
    if cmp -s bare.calls off.calls && [ "$(wc -l <off.calls)" -gt 10 ]; then
        pass
    else
        fail "off: system calls: $(diff bare.calls off.calls | head -n 5)"
    fi
else
    echo "skipped: system calls: strace is not there, or may not trace"
fi

finish
