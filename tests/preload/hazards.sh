#!/bin/bash
# hazards.sh -- limits, full disks, lost descriptors, foreign allocators
#
# At rate 1 or, with the argument --exact, in exact mode.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
hazard=$build/test/hazard
how=(--rate 1)
[ "${3-}" != --exact ] || how=(--exact)

# record OPTIONS... -- COMMAND: output and status into out and status
record() {
    out=$("$aliquot" record -f -o t.ctf "${how[@]}" "$@" 2>&1)
    status=$?
}

# Memory limit: the program goes on, what was not recorded is said.
record -- bash -c "ulimit -v 200000; exec $hazard eat"
equal "ulimit -v: status" "$status" 0
contains "ulimit -v" "$out" "eaten"

record -- "$hazard" nomem
equal "no memory: status" "$status" 0
[ "${how[0]}" = --exact ] || # which has no table of blocks
    contains "no memory" "$out" "samples dropped: no memory"

# File size limit: no SIGXFSZ, drops are counted and said.  One that the
# program sets itself is of files it makes: the recording is there.
record -- bash -c "ulimit -f 200; exec $hazard churn"
equal "RLIMIT_FSIZE: status" "$status" 0
contains "RLIMIT_FSIZE" "$out" "no room in"
record -- "$hazard" fsize
equal "RLIMIT_FSIZE, its own: status" "$status" 0
equal "RLIMIT_FSIZE, its own: said" "$(printf '%s' "$out" | grep -c dropped)" 0

# A full disk.
if mkdir small && mount -t tmpfs -o size=600k tmpfs small 2>/dev/null; then
    out=$("$aliquot" record -o small/t.ctf "${how[@]}" -- "$hazard" churn 2>&1)
    equal "disk full: status" $? 125
    contains "disk full" "$out" "making room in"
    umount small
else
    echo "skipped: disk full (cannot mount a small file system here)"
fi

# The program closes every descriptor, or puts a file of its own there.
record -- "$hazard" closeall
equal "closeall: status" "$status" 0
equal "closeall: recorded" "$(live t.ctf 'keep_one')" "3000000 3000"
record -- "$hazard" hijack
equal "hijack: status" "$status" 0
equal "hijack: recorded" "$(live t.ctf 'keep_one')" "3000000 3000"
contains "hijack: its file" "$out" "file intact"

# Forks that run no handler.
rm -f t.*.ctf # of what became the programs above
record -- "$hazard" rawfork
equal "_Fork: status" "$status" 0
equal "_Fork: the parent" "$(live t.ctf 'keep_one')" "200000 2"
for child in t.*.ctf; do
    equal "_Fork: the child" "$(live "$child" 'keep_one')" "700000 1"
done
rm -f t.*.ctf
for case in rawrealloc rawfree; do
    record -- "$hazard" "$case"
    equal "$case: the parent" "$(live t.ctf 'keep_one')" "100000 1"
    rm -f t.*.ctf
done
record --mmap -- "$hazard" rawunmap
equal "rawunmap: the parent" "$(live t.ctf 'rawunmap')" "100000 1"
rm -f t.*.ctf

# Fork handlers of a library that was there before the profiler.
out=$(LD_PRELOAD=$build/test/libearly.so timeout 900 "$aliquot" record -q -f \
    -o t.ctf "${how[@]}" -- "$hazard" forkhandlers 2>&1)
equal "fork handlers: status" $? 0
equal "fork handlers" "$(live t.ctf 'keep_one')" "100000 200"
rm -f t.*.ctf

# A fork while other threads allocate.
record --interval 64 -- "$hazard" forkstorm
equal "fork storm: status" "$status" 0
rm -f t.*.ctf

# Threads that end while they allocate, destructors that allocate.
record -- "$hazard" destructors
equal "destructors: status" "$status" 0
equal "destructors" "$(live t.ctf 'keep_one')" "300000 300"

# Handlers that allocate and free, at rate 1, while the profiler is inside.
out=$(LD_PRELOAD=$build/test/libsafe_malloc.so "$aliquot" record -f -o t.ctf \
    "${how[@]}" -- "$hazard" handlers 2>&1)
status=$?
equal "handlers: status" "$status" 0
equal "handlers" "$(live t.ctf 'keep_one')" "1000 1"
# A handler may cost its own events, and the sampled mode those near them; the
# exact mode loses none of what was interrupted.
if [ "${how[0]}" = --exact ]; then
    n=$("$aliquot" script --format=memtrace t.ctf |
        grep ' alloc' | grep 'handlers@' | grep -Evc 'on_alarm@|keep_one@')
    equal "handlers: none is lost" "$n" 400000
fi

# An address that dlclose gave up and another library got is a new code.
record -- "$hazard" reuse "$build/test"
equal "reuse: status" "$status" 0
contains "reuse" "$out" "same address"
for name in reuse_first reuse_second; do
    n=$("$aliquot" script --format=memtrace t.ctf | grep -c "$name@")
    equal "reuse: stacks of $name" "$n" 10
done

# A program with a malloc of its own is told so.
record -- "$build/test/own_malloc"
equal "own malloc: status" "$status" 0
contains "own malloc" "$out" "brings its own malloc"
for verb in report info; do # ... also who reads the trace later
    contains "own malloc: $verb" "$("$aliquot" $verb t.ctf)" "malloc of its own"
done
contains "own malloc: JSON" "$("$aliquot" report --json t.ctf)" '"own_malloc": 1'

# More rights than the user: off, in one line.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$hazard" suid && chown 1:1 suid && chmod 6755 suid && chmod 755 .
    out=$("$aliquot" record -o s.ctf -- ./suid churn 2>&1)
    equal "set-user-ID: status" $? 0
    contains "set-user-ID" "$out" "not recording"
    equal "set-user-ID: lines of ours" \
        "$(printf '%s\n' "$out" | grep -c '^aliquot')" 1
else
    echo "skipped: set-user-ID (not root)"
fi

# The recorder dies: what is there is readable.
"$aliquot" record -q "${how[@]}" -o k.ctf -- "$hazard" linger >linger.out 2>&1 &
recorder=$!
disown
until grep -q lingering linger.out 2>/dev/null; do sleep 0.05; done
kill -KILL "$recorder"
while kill -0 "$recorder" 2>/dev/null; do sleep 0.05; done
raw=$(echo .aliquot-raw.*/*.alqraw)
equal "recorder killed" "$(live "$raw" 'keep_one')" "1000000 1000"
kill "$("$aliquot" info "$raw" | awk '$1 == "pid" { print $2 }')"
equal "recorder killed: the program was there still" $? 0
rm -rf .aliquot-raw.*

# A program starts a profile of its own, alone and beside the recorder.
LD_PRELOAD=$build/lib/libaliquot-preload.so "$build/bin/own_profile" >own.out
equal "own profile" $? 0
record -- "$build/bin/own_profile"
equal "own profile, recorded" "$status" 0
"$build/bin/own_profile" >own.out 2>&1
equal "own profile without the preload" $? 1
contains "own profile without the preload" "$(cat own.out)" "preload is not loaded"

finish
