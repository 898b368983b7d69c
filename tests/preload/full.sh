#!/bin/bash
# full.sh -- no room, no file, no time to begin: messages are true, nothing is
# left behind that is not said, nothing is called exact, no signal of ours
# reaches the program
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

churn=$build/test/churn
mkdir "$work/in"
cd "$work/in" || exit 1

# after WHAT [FILE...]: only these are here, and no message is a guess
after() {
    local what=$1
    shift
    equal "$what: files" "$(find . -mindepth 1 | sort | tr '\n' ' ')" \
        "$(printf '%s ' "$@" | sed 's/^ $//')"
    for wrong in Success "allocated little" "allocated nothing" "not a record" \
        "the preload was not" "input or output failed" "figures are exact"; do
        if grep -q "$wrong" "$work/err"; then
            fail "$what: says '$wrong': $(cat "$work/err")"
        fi
    done
    rm -rf ./*
}

says() { # WHAT TEXT
    contains "$1" "$(cat "$work/err")" "$2"
}

# A limit on the size of files.  The program's own messages go to one that may
# not grow, too: no SIGXFSZ.
(
    ulimit -f 0
    exec "$aliquot" record --exact -o t.ctf -- "$churn" 1 2000 1
) >/dev/null 2>"$work/err"
equal "no file may grow: status" $? 125
after "no file may grow"
(
    ulimit -f 0
    exec "$aliquot" record --exact -o t.ctf -- bash -c "$churn 1 2000 1; exit 7"
) >/dev/null 2>"$work/err"
equal "no file may grow: the program's status" $? 7
after "no file may grow, another status"

# Its directory is gone when the program begins.
"$aliquot" record --exact -o t.ctf -- bash -c \
    "rm -rf .aliquot-raw.*; exec $churn 1 2000 1" >/dev/null 2>"$work/err"
equal "no directory: status" $? 125
says "no directory" "cannot record: creating"
after "no directory"

# limited BLOCKS ARGUMENT...
limited() {
    (
        ulimit -f "$1"
        shift
        "$aliquot" record "$@" -- "$churn" 1 20000 1
        echo $? >"$work/status"
    ) 2>&1 >/dev/null | cat >"$work/err"
}

for how in --exact --rate=1; do
    limited 0 "$how" -o t.ctf
    equal "$how, limit 0: status" "$(cat "$work/status" 2>/dev/null)" ""
    says "$how, limit 0" "cannot record: making room in"
    says "$how, limit 0" "(ulimit -f)"
    equal "$how, limit 0: lines" "$(wc -l <"$work/err")" 1
    after "$how, limit 0"

    limited 200 "$how" -o t.ctf.zst
    says "$how, limit 200 KiB" "dropped: no room in the file"
    contains "$how, limit 200 KiB" "$("$aliquot" report t.ctf.zst)" \
        "every block but those missing: "
    "$aliquot" check t.ctf.zst >/dev/null
    equal "$how, limit 200 KiB: check" $? 0
    after "$how, limit 200 KiB" ./t.ctf.zst
done

# Room for a header and one chunk: no call stack can be written.
limited 72 --exact -o t.ctf
says "limit 72 KiB" "blocks are dropped for now: making room in"
says "limit 72 KiB" "left no trace: "
after "limit 72 KiB"

# Other verbs: an error, no signal, no half of a file.
"$aliquot" record -q --exact -o "$work/t.ctf" -- "$churn" 1 20000 1 >/dev/null
for verb in "merge -o out.ctf $work/t.ctf $work/t.ctf" \
    "export --format=dhat -o out $work/t.ctf"; do
    (
        ulimit -f 1
        # shellcheck disable=SC2086
        "$aliquot" $verb
    ) 2>&1 | cat >"$work/err"
    says "$verb" "File too large"
    after "$verb"
done

# A full device, which stays.
"$aliquot" record -f --exact -o /dev/full -- "$churn" 1 2000 1 2>"$work/err" \
    >/dev/null
equal "/dev/full: status" $? 125
says "/dev/full" "writing /dev/full: No space left on device"
[ -c /dev/full ] || fail "/dev/full is gone"
raw=$(sed -n 's/.* stays in \(.*aliquot-raw[^;]*\);.*/\1/p' "$work/err")
equal "/dev/full: what stays" "$(find "$raw" -name '*.alqraw' | wc -l)" 1
rm -rf "$raw"
after "/dev/full"

# A full file system.
on_tmpfs() { # SIZE
    unshare -rm bash -c "mount -t tmpfs -o size=$1 none . && cd . &&
        cd '$work/in' && '$aliquot' record --exact -o t.ctf -- \
        '$churn' 1 20000 1; echo \$? >'$work/status'
        find . -mindepth 1 >'$work/found'" 2>"$work/err" >/dev/null
}
if unshare -rm true 2>/dev/null; then
    on_tmpfs 4k
    says "tmpfs of 4 KiB" "No space left on device"
    equal "tmpfs of 4 KiB: lines" "$(wc -l <"$work/err")" 1
    equal "tmpfs of 4 KiB: files" "$(cat "$work/found")" ""
    after "tmpfs of 4 KiB"
    on_tmpfs 100k
    says "tmpfs of 100 KiB" "left no trace: "
    equal "tmpfs of 100 KiB: status" "$(cat "$work/status")" 125
    equal "tmpfs of 100 KiB: files" "$(cat "$work/found")" ""
    after "tmpfs of 100 KiB"
    on_tmpfs 300k
    says "tmpfs of 300 KiB" "writing t.ctf: No space left on device"
    says "tmpfs of 300 KiB" "1 recording stays in "
    equal "tmpfs of 300 KiB: status" "$(cat "$work/status")" 125
    equal "tmpfs of 300 KiB: no half of a trace" \
        "$(grep -c 't\.ctf' "$work/found")" 0
    after "tmpfs of 300 KiB"
else
    echo "skipped: a full file system: none can be mounted here"
fi

# Where nothing can be made, the program is not run.
"$aliquot" record -o /proc/t.ctf -- "$churn" 1 20 1 2>"$work/err" >/dev/null
equal "/proc: status" $? 2
says "/proc" "record: cannot create /proc/t.ctf: "
after "/proc"

# The directory goes away.
"$aliquot" record --exact -o t.ctf -- \
    bash -c 'rm -r .aliquot-raw.*' 2>"$work/err" >/dev/null
says "gone" "and what was recorded in it: No such file or directory"
equal "gone: lines" "$(wc -l <"$work/err")" 1
after "gone"

# Killed before the header was whole: as such a moment leaves the file.
for size in 0 8192; do
    # shellcheck disable=SC2016
    "$aliquot" record --exact -q -o t.ctf -- bash -c 'cd .aliquot-raw.* &&
        exec truncate -s '$size' x.4194304.0.alqraw' 2>"$work/err" >/dev/null
    rm -f t.bash.*.ctf # which executed the other
    says "killed at $size" "process 4194304 was killed as its recording began"
    after "killed at $size" ./t.ctf
done

# Killed at once, at whatever moment that is.
for i in 0 1 2 3 4 5 6 7; do
    status_of "$work/err" "$aliquot" record --exact --follow -o t.ctf -- \
        timeout -s KILL "0.00$i" "$churn" 1 90000 1 >/dev/null
    for trace in t*.ctf; do
        "$aliquot" check "$trace" >/dev/null || fail "kill -9 $i: $trace"
        rm "$trace"
    done
    after "kill -9 $i"
done

finish
