#!/bin/bash
# behaves.sh -- real programs do under the recorder what they do without it
#
# Same output, same exit status, signals included; and the trace of each is
# whole and has stacks that name the program's own functions.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

loads=$source_dir/tests/workloads
cd "$work" || exit 1

# same NAME WANT_FUNCTION COMMAND...: at 1 sample per 16 KiB
same() {
    local name=$1 function=$2 bare status
    shift 2
    "$@" >"$work/bare.out" 2>"$work/bare.err" </dev/null
    bare=$?
    "$aliquot" record -q -f --interval 16K -o "$work/t.ctf" -- "$@" \
        >"$work/rec.out" 2>"$work/rec.err" </dev/null
    status=$?
    equal "$name: exit status" "$status" "$bare"
    if cmp -s "$work/bare.out" "$work/rec.out" &&
        cmp -s "$work/bare.err" "$work/rec.err"; then
        pass
    else
        fail "$name: output differs:" \
            "$(diff "$work/bare.out" "$work/rec.out" | head -n 3)" \
            "$(diff "$work/bare.err" "$work/rec.err" | head -n 3)"
    fi
    check_trace "$name" "$work/t.ctf" "$function"
}

check_trace() {
    local n
    if "$aliquot" check "$2" >"$work/check" 2>&1; then
        pass
    else
        fail "$1: check: $(head -n 3 "$work/check")"
    fi
    n=$("$aliquot" script --format=memtrace "$2" | grep -c -F "$3")
    if [ "$n" -gt 0 ]; then pass; else fail "$1: no stack names $3"; fi
}

have() {
    command -v "$1" >/dev/null || { echo "skipped: no $1"; return 1; }
}

if have python3; then
    export PYTHONMALLOC=malloc
    same python "record@$loads/json_heavy.py:" \
        /usr/bin/python3 "$loads/json_heavy.py" 1
    python3 "$loads/gen_sql.py" 0.1 >work.sql
    have sqlite3 && same sqlite sqlite3_step@ sqlite3 :memory: '.read work.sql'
    python3 "$loads/gen_c.py" 20 >big.c
fi
have perl && same perl Perl_runops_standard@ perl "$loads/words.pl" 1
if have git; then
    git init -q repo && cp "$loads"/* repo/ && cd repo || exit 1
    git -c user.name=n -c user.email=e add -A
    # Debian's git is stripped of names: module and offset stand for them.
    same git git+0x git -c color.ui=never status --short
    cd "$work" || exit 1
fi
same mtmalloc worker@ "$build/test/mtmalloc_quiet" 100000 2

# A compiler driver: exec is followed into cc1, one trace a process.
if have gcc && [ -f big.c ]; then
    gcc -O2 -w -c big.c -o bare.o
    "$aliquot" record -q --follow --interval 16K -o g.ctf -- \
        gcc -O2 -w -c big.c -o rec.o
    equal "gcc: exit status" $? 0
    if cmp -s bare.o rec.o; then pass; else fail "gcc: objects differ"; fi
    check_trace gcc g.ctf __libc_start_main
    for t in g.cc1.*.ctf; do check_trace cc1 "$t" __libc_start_main; done
    for t in g.*-as.*.ctf; do
        if [ -s "$t" ]; then pass; else fail "as has no trace"; fi
    done
fi

# Nothing of ours is in the environment of a program that is not followed.
equal "environment" \
    "$("$aliquot" record -q -f -o e.ctf -- env | grep -v '^_=')" \
    "$(env | grep -v '^_=')"
# ... and a preload of the user's own stays.
out=$(LD_PRELOAD=libm.so.6 "$aliquot" record -q -f -o e.ctf -- env |
    grep '^LD_PRELOAD')
equal "LD_PRELOAD of the user" "$out" "LD_PRELOAD=libm.so.6"

# Endings.
for how in 'exit 7' 'kill -TERM $$' 'kill -SEGV $$' 'kill -KILL $$'; do
    equal "sh -c '$how'" \
        "$(status_of out "$aliquot" record -q -f -o s.ctf -- sh -c "$how")" \
        "$(status_of out sh -c "$how")"
done

# A signal to the recorder reaches the program.
"$aliquot" record -q -f -o sig.ctf -- sh -c \
    'trap "echo got; exit 3" TERM; echo ready; while :; do sleep 0.05; done' \
    >sig.out &
recorder=$!
until grep -q ready sig.out 2>/dev/null; do sleep 0.05; done
kill -TERM "$recorder"
wait "$recorder"
equal "TERM: exit status" $? 3
contains "TERM" "$(cat sig.out)" got
rm sig.out

# ... as one that somebody sends to the recorder alone, of those that end what
# they reach; and the trace is there.
for how in INT:2 QUIT:3 HUP:1 ALRM:14 XCPU:24 RTMIN:34; do
    # INT and QUIT are ignored in the background, HUP under nohup.
    # shellcheck disable=SC2016
    env --default-signal=INT,QUIT,HUP \
        "$aliquot" record -q -f -o sig.ctf -- sh -c \
        'ulimit -c 0; echo ready $$; while :; do sleep 0.05; done' \
        >sig.out 2>sig.err &
    recorder=$!
    until grep -q ready sig.out 2>/dev/null; do sleep 0.05; done
    kill -"${how%:*}" "$recorder"
    { wait "$recorder"; } 2>/dev/null
    equal "${how%:*}: exit status" $? $((128 + ${how#*:}))
    equal "${how%:*}: nothing else is said" "$(cat sig.err)" ""
    contains "${how%:*}" "$("$aliquot" info sig.ctf)" "killed"
    equal "${how%:*}: no directory stays" "$(ls -d .aliquot-raw.* 2>/dev/null)" ""
    rm sig.out
done

# A program that lists its directory sees nothing of the recording.
mkdir listed
: >listed/a
(cd listed && "$aliquot" record -q -- ls) >ls.out 2>ls.err
equal "ls: what it lists" "$(cat ls.out)" a
rm -r listed

# What cannot be run.
"$aliquot" record -o n.ctf -- no-such-program 2>err
equal "not found" $? 127
contains "not found" "$(cat err)" "no-such-program: not found"
cp /bin/true here && "$aliquot" record -o n.ctf -- here 2>err
equal "of this directory" $? 127
contains "of this directory" "$(cat err)" "write ./here"
: >plain && "$aliquot" record -o n.ctf -- ./plain 2>err
equal "not executable" $? 126

# A root without /proc: called by its path, by a link to it, by PATH.
hidden=(unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' -)
if "${hidden[@]}" true 2>/dev/null; then
    ln -s "$aliquot" link
    for called in "$aliquot" ./link aliquot; do
        out=$(PATH=$(dirname "$aliquot"):$PATH "${hidden[@]}" \
            "$called" record -q -f -o p.ctf -- echo there 2>&1)
        equal "no /proc: $called" "$out" there
        equal "no /proc: check" \
            "$("$aliquot" check p.ctf >/dev/null 2>&1; echo $?)" 0
        rm -f p.ctf
    done
else
    echo "skipped: no /proc (cannot hide it here)"
fi

# A place that LD_PRELOAD cannot name.
mkdir 'a b' && cp "$build/lib/libaliquot-preload.so" 'a b/'
out=$(ALIQUOT_PRELOAD_PATH='a b/libaliquot-preload.so' \
    "$aliquot" record -o b.ctf -- true 2>&1)
equal "blank in the path: status" $? 125
contains "blank in the path" "$out" "blank or a colon"

finish
