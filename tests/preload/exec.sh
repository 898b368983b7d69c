#!/bin/bash
# exec.sh -- what the program becomes, and what it executes
#
# The recorded process itself is followed over exec, one trace an image that
# allocated; children only with --follow.  What cannot be recorded runs as it
# would alone, and is said.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
becomes=$build/test/becomes
[ -x "$becomes" ] || fail "no $becomes"

record() {
    rm -f t*.ctf
    out=$("$aliquot" record -f -o t.ctf "$@" 2>err)
    status=$?
}

# Each call there is, with the environment given and with its own.
for call in execve execv execvp execvpe execl execlp execle fexecve execveat; do
    record --rate=1 -- "$becomes" $call "$becomes" last
    equal "$call: status" "$status" 3
    equal "$call: output" "$out" "last"
    contains "$call: the asked name" "$(live t.ctf 'become_last@')" "70000 1"
    equal "$call: the first image" "$(live t.becomes.*.ctf 'become_first@')" \
        "50000 1"
    equal "$call: two traces" "$(printf '%s ' t*.ctf | wc -w)" 2
    equal "$call: nothing else is said" "$(grep -vc 'sampled block' err)" 0
done

# An image that allocated nothing has none; a failed exec changes nothing.
record --seed=1 -- env env "$becomes" last
equal "env: status" "$status" 3
equal "env: one trace" "$(echo t*.ctf)" t.ctf
contains "env: of what it became" "$("$aliquot" info t.ctf)" "becomes last"
record --rate=1 -- "$becomes" execv /nonexistent last
equal "failed exec: status" "$status" 4
equal "failed exec: one trace" "$(echo t*.ctf)" t.ctf
contains "failed exec: went on" "$(live t.ctf 'become_first@')" "50000 1"
record --exact -- "$becomes" execvp "$becomes" last
contains "exact" "$(live t.ctf 'become_last@')" "70000 1"

# What it becomes sees the environment that it would see alone.
for call in execve execv execle; do
    record -- "$becomes" $call /usr/bin/env
    equal "$call: environment" "$(grep -v '^_=' <<<"$out")" \
        "$("$becomes" $call /usr/bin/env | grep -v '^_=')"
done

# Children: not unless asked.
record --rate=1 -- "$becomes" child "$becomes" last
equal "child: one trace" "$(echo t*.ctf)" t.ctf
record --rate=1 -- "$becomes" spawn "$becomes" last
equal "spawn: one trace" "$(echo t*.ctf)" t.ctf
for how in child spawn spawnp vfork; do
    record --rate=1 --follow -- "$becomes" $how "$becomes" last
    equal "$how: status" "$status" 3
    contains "$how: followed" "$(live t.becomes.*.ctf 'become_last@')" "70000 1"
done

# What cannot be recorded.  others: "NAME WHY"
cat >other.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int
main(void)
{
    void *volatile p = malloc(60000);
    puts(p != NULL && getenv("HOME") != NULL ? "other" : "bad");
    return 3;
}
EOF
cat >narrow.s <<'EOF'
        .globl _start
_start: movl $1, %eax
        movl $3, %ebx
        int $0x80
EOF
others=()
gcc -static -o static other.c && others+=("static:statically linked:other")
command -v musl-gcc >/dev/null && musl-gcc -o musl other.c &&
    others+=("musl:of another C library:other")
as --32 -o narrow.o narrow.s && ld -m elf_i386 -o narrow narrow.o &&
    others+=("narrow:a 32-bit program:")
[ "${#others[@]}" -ge 2 ] || fail "no program that cannot be recorded"
for other in "${others[@]}"; do
    IFS=: read -r name why says <<<"$other"
    if [ "$(status_of bare "./$name")" != 3 ]; then
        echo "skipped: $name (does not run here)"
        continue
    fi
    record -- "./$name"
    equal "$name, itself: refused" "$status" 125
    equal "$name, itself: one line" "$(wc -l <err)" 1
    contains "$name, itself" "$(cat err)" "$why"
    for how in child spawn vfork system sh; do
        record --follow -- "$becomes" $how "./$name"
        equal "$name, $how: status" "$status" 3
        equal "$name, $how: output" "$out" "$says"
        [ $how = system ] || contains "$name, $how" "$(cat err)" "$why"
        equal "$name, $how: nothing of the linker's" \
            "$(grep -vc '^aliquot' err)" 0
    done
    record -- "$becomes" child "./$name"
    equal "$name, not followed: nothing is said of it" \
        "$(grep -c "$why" err)" 0
    record --rate=1 -- "$becomes" execv "./$name"
    equal "$name, become: status" "$status" 3
    equal "$name, become: output" "$out" "$says"
    contains "$name, become" "$(cat err)" "$why"
    contains "$name, become: the image before" \
        "$(live t.ctf 'become_first@')" "50000 1"
done

# A dynamic linker that is called by name loads the profiler into its program,
# if it is the one of our C library.
linker=$(readelf -l "$becomes" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
record --rate=1 -- "$linker" "$becomes" last
equal "linker: status" "$status" 3
equal "linker: output" "$out" "last"
contains "linker: recorded" "$(live t.ctf 'become_last@')" "70000 1"
record --exact -- "$linker" "$(command -v gdb || command -v cmake)" --version
contains "linker: whole stacks, of constructors, too" \
    "$("$aliquot" info t.ctf)" "nothing was dropped"
(cd "$(dirname "$becomes")" && "$aliquot" record -q --rate=1 -f \
    -o "$work/t.ctf" -- "$linker" ./becomes last >/dev/null)
contains "linker: a relative name" "$(live t.ctf 'become_last@')" "70000 1"
for how in child spawn vfork; do
    record --rate=1 --follow -- "$becomes" $how "$linker" "$becomes" last
    equal "linker, $how: status" "$status" 3
    contains "linker, $how: followed" "$(live t.becomes.*.ctf 'become_last@')" \
        "70000 1"
    equal "linker, $how: not said to be unrecorded" "$(grep -c unrecorded err)" 0
done
for linker in /lib/ld-musl-*; do
    if [ ! -x musl ] || [ ! -x "$linker" ]; then
        continue
    fi
    why="another C library"
    record -- "$linker" ./musl
    equal "musl's linker, itself: refused" "$status" 125
    contains "musl's linker, itself" "$(cat err)" "$why"
    record --follow -- "$becomes" child "$linker" ./musl
    equal "musl's linker: status" "$status" 3
    equal "musl's linker: output" "$out" "other"
    contains "musl's linker" "$(cat err)" "$why"
done
equal "no directory stays" "$(ls -d .aliquot-raw.* 2>/dev/null)" ""

# The recording of an image that is gone by exec has ended, though its process
# runs, and a snapshot of it says so.
ALIQUOT=rate=1,out=$work/raw.%e LD_PRELOAD=$build/lib/libaliquot-preload.so \
    "$becomes" execv /bin/sleep 1000 &
pid=$!
disown
has_become() {
    [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f /bin/sleep)" ]
}
await "the exec" has_become
"$aliquot" snapshot -f -o t.ctf raw.becomes >out 2>&1 || fail "$(cat out)"
equal "a snapshot after an exec: ended by that" \
    "$("$aliquot" report --json t.ctf | grep -o '"ended": *"[a-z]*"')" \
    '"ended": "exec"'
equal "a snapshot after an exec: whole" "$(live t.ctf 'become_first@')" \
    "50000 1"
kill "$pid"

finish
