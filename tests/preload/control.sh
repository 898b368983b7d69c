#!/bin/bash
# control.sh -- a running process is started, stopped, asked, by socket, signal
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

preload=$build/lib/libaliquot-preload.so
victim=$build/test/control
python=/usr/bin/python3
cd "$work" || exit 1

# ready FILE: waits for the victim and leaves its process number in pid
ready() {
    await "$1: the victim gets ready" grep -qs '^ready .*' "$1"
    pid=$(awk '/^ready/ { print $2 }' "$1" | tail -n 1)
}

# appears WORD FILE
appears() {
    await "'$1' comes in $2" grep -qs "$1" "$2"
}

# run SETTINGS ARGUMENT...: the victim in the background, output in out
run() {
    local settings=$1
    shift
    rm -f stop free begin out
    env LD_PRELOAD="$preload" ALIQUOT="$settings" "$victim" "$@" >out 2>err &
    job=$!
    ready out
}

over() {
    touch stop
    wait "$job"
    status=$?
}

state() {
    "$aliquot" status -p "$pid" 2>&1
}

# Blocks that were sampled so far.
sampled() {
    state | sed -n 's/.* \([0-9]*\) sampled blocks.*/\1/p'
}

has_sampled() { # N
    [ "$(sampled)" -ge "$1" ]
}

report_has() { # TRACE WORD
    "$aliquot" report --allocated "$1" 2>/dev/null | grep "$2" >/dev/null
}

has_lines() { # N WORD FILE
    [ "$(grep -c "$2" "$3")" -ge "$1" ]
}

# ---- the verbs ---------------------------------------------------------------

run off,control,out="$work/verbs.%p" keep 1000
contains "dormant" "$(state)" "off, nothing is recorded"
contains "thread's name" "$(cat /proc/"$pid"/task/*/comm)" "aliquot"
contains "snapshot of nothing" \
    "$("$aliquot" snapshot -p "$pid" 2>&1)" "nothing is recorded yet"
contains "start" "$("$aliquot" start -p "$pid" --rate=1 2>&1)" \
    "sampling, 0 sampled blocks, one in 8 B"
touch begin
appears kept out
contains "exactly" "$(state)" "sampling, 10"
contains "stop" "$("$aliquot" stop -p "$pid" 2>&1)" "stopped"
contains "-o is for the first start" \
    "$("$aliquot" start -p "$pid" -o x.raw 2>&1)" "there is a recording already"
equal "snapshot" "$("$aliquot" snapshot -p "$pid" -o a.ctf >/dev/null; echo $?)" 0
mkfifo pipe
contains "a pipe stays" \
    "$("$aliquot" snapshot -f -p "$pid" -o pipe 2>&1)" "is not a regular file"
equal "and is one" "$(stat -c %F pipe)" fifo
contains "snapshot is no overwriting" \
    "$("$aliquot" snapshot -p "$pid" -o a.ctf 2>&1; echo "$?")" \
    "-f overwrites it
2"
equal "kept in the snapshot" "$(live a.ctf keep)" "1000000 1000"
contains "a running one" "$("$aliquot" info a.ctf)" "running"
"$aliquot" check a.ctf >/dev/null 2>&1 || fail "the snapshot is damaged"
touch free
appears freed out
equal "snapshot -f" \
    "$("$aliquot" snapshot -p "$pid" -f -o a.ctf >/dev/null; echo $?)" 0
equal "frees after stop" "$(live a.ctf keep)" "0 0"
"$aliquot" rate -p "$pid" --interval=64K >/dev/null
contains "a rate for the next start" "$(state)" "stopped, 10"
contains "started again" "$("$aliquot" start -p "$pid" 2>&1)" \
    "one in 64 KiB, in $work/verbs.$pid"
over
equal "its own exit status" "$status" 7
equal "one recording" "$(echo verbs.*)" "verbs.$pid"

run exact=1,control,out="$work/exact" spin 1
contains "exact" "$(state)" "every block is recorded to $work/exact"
contains "exact is not switched" "$("$aliquot" stop -p "$pid" 2>&1)" \
    "exact mode); that cannot be switched"
over

# Its tables are full: it samples, and says so.
ALIQUOT=exact=1,max_memory=1048576,control,out=$work/over LD_PRELOAD=$preload \
    "$build/test/deep" 14 2000000000 2>err &
pid=$!
until grep -q "tables are full" err; do sleep 0.05; done
contains "exact no more" "$(state)" ": sampling, "
contains "exact no more: not switched" "$("$aliquot" stop -p "$pid" 2>&1)" \
    "began in the exact mode"
kill "$pid"
wait "$pid" 2>/dev/null

# ---- who does not answer ---------------------------------------------------

contains "gone" "$(state)" "there is no process $pid"
sleep 10000 &
bare=$!
contains "no preload" "$("$aliquot" status -p "$bare" 2>&1)" \
    "process $bare is not recorded: 'aliquot record -p $bare' records it"
kill "$bare"
run rate=1e-5,out="$work/plain" spin 1
contains "no control" "$(state)" \
    "it is recorded from its start, without a control socket: 'aliquot snapshot"
contains "no control, stop" "$("$aliquot" stop -p "$pid" 2>&1)" \
    "aliquot record --control"
over
run off,control spin 1
equal "status of errors" \
    "$("$aliquot" rate -p "$pid" --rate=0 >/dev/null 2>&1; echo $?)" 2
if [ "$(id -u)" = 0 ] && setpriv --reuid=1 --clear-groups true 2>/dev/null; then
    cp "$aliquot" "$work/aliquot-copy" 2>/dev/null
    chmod -R a+rx "$work"
    contains "another user, the command" \
        "$(setpriv --reuid=1 --clear-groups "$work/aliquot-copy" \
            status -p "$pid" 2>&1)" "only that user and root may control it"
    contains "another user, the process" \
        "$(setpriv --reuid=1 --clear-groups "$work/aliquot-copy" \
            stop --control="@aliquot.$pid" 2>&1)" \
        "only the process's own user and root may control it"
    [ -x "$python" ] && contains "another user, asking by hand" \
        "$(setpriv --reuid=1 --clear-groups "$python" -c "
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('\0aliquot.$pid')
print(s.recv(999))" 2>&1)" "own%20user%20and%20root"
else
    echo "skipped: another user: only root can be one"
fi

# ---- hostile clients ---------------------------------------------------------

if [ -x "$python" ]; then
    "$python" - "$pid" <<'END' || fail "hostile clients"
import random, socket, sys
name = "\0aliquot." + sys.argv[1]
random.seed(1)
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(900)
    s.connect(name)
    return s
def ask(data):
    s = connect()
    try:
        s.sendall(data)
        return s.recv(99999)
    except OSError:
        return b""
for data in (b"\n", b"aliquot/2 stop\n", b"aliquot/1\n", b"aliquot/1 \n",
             b"aliquot/1 rate\n", b"aliquot/1 rate rate=nan\n",
             b"aliquot/1 start rate=7\n", b"aliquot/1 " + b"x" * 4000 + b"\n",
             b"aliquot/1 start out=" + b"%41" * 1300 + b"\n"):
    assert ask(data).startswith(b"aliquot/1 error text="), data
assert ask(b"x" * 100000) == b""
for _ in range(200):
    ask(random.randbytes(random.randrange(1, 300)) + b"\n")
silent = [connect() for _ in range(3)]  # each is dropped after 2 s
assert ask(b"aliquot/1 status\n").startswith(b"aliquot/1 ok state=off")
END
    contains "after hostile clients" "$(state)" "off"
fi
over
equal "exit after hostile clients" "$status" 0

# ---- fork, exec, the last thread -----------------------------------------------

run off,control fork
contains "a forked child has its own" "$(state)" "$pid: off"
equal "and its parent" "$("$aliquot" status -p "$job" >/dev/null; echo $?)" 0
over
equal "fork: exit status" "$status" 3
run off,control exec "$victim" spin 1
contains "the next program has its own" "$(state)" "$pid: off"
over
equal "main() ends first" \
    "$(timeout 900 env LD_PRELOAD="$preload" ALIQUOT=off,control \
        "$victim" last; echo $?)" 0
run control="$work/socket.%p" spin 1
equal "a path: mode" "$(stat -c %a "$work/socket.$pid")" 600
contains "a path" \
    "$("$aliquot" status --control="$work/socket.$pid" 2>&1)" "off"
over
equal "a path is removed" "$(ls "$work"/socket.* 2>/dev/null)" ""

# ---- the signal ----------------------------------------------------------------

run signal=USR2,out="$work/signal" spin 4
await "signal: blocks" report_has signal churn
for n in 1 2 3; do
    kill -USR2 "$pid"
    await "signal: stopped $n times" has_lines "$n" 'stopped;' err
    kill -USR2 "$pid"
    await "signal: said $n times" has_lines "$n" 'sampling, recorded to' err
done
over
contains "said" "$(cat err)" "sampling, recorded to"
contains "recorded by signal" "$("$aliquot" report --allocated signal)" "churn"
(trap '' USR2 && env LD_PRELOAD="$preload" ALIQUOT=signal=USR2 true 2>err)
contains "an ignored signal is left" "$(cat err)" "is handled or ignored"
contains "no such signal" "$(env LD_PRELOAD="$preload" ALIQUOT=signal=KILL \
    true 2>&1)" "signal=KILL"

# ---- all at once ---------------------------------------------------------------

# Verbs from two sides and signals, while threads allocate: nothing hangs, and
# each block that was recorded has its free.
run control,signal=USR2,rate=1e-3,out="$work/storm" spin 6
verbs() {
    local i
    for i in $(seq 25); do
        "$aliquot" stop -p "$pid" >/dev/null || fail "stop"
        "$aliquot" rate -p "$pid" --rate="1e-$((2 + i % 3))" >/dev/null ||
            fail "rate"
        "$aliquot" start -p "$pid" >/dev/null || fail "start"
    done
}
verbs &
one=$!
for _ in $(seq 300); do kill -USR2 "$pid"; done
verbs
wait "$one"
await "storm: many blocks" has_sampled 1000
over
equal "storm: exit status" "$status" 0
equal "storm: many blocks" \
    "$("$aliquot" info storm | awk '/^events/ { print ($2 > 1000) }')" 1
equal "storm: each with its free" "$(live storm churn)" "0 0"
contains "storm: nothing dropped" "$("$aliquot" info storm)" \
    "nothing was dropped"

# ---- MEMTRACE ------------------------------------------------------------------

touch begin free stop
echo precious >precious
MEMTRACE=m.ctf MEMTRACE_RATE=1 LD_PRELOAD=$preload "$victim" keep 100 >out 2>err
contains "MEMTRACE" "$(cat err)" "aliquot snapshot -f -o $work/m.ctf $work/m.ctf"
equal "MEMTRACE is read as it is" "$(live m.ctf keep)" "4096 1" # stdout's
"$aliquot" snapshot -f -o m.ctf m.ctf >/dev/null || fail "snapshot of a file"
equal "a trace then" "$(head -c 4 m.ctf | od -An -tx1)" " c1 1f fc c1"
MEMTRACE=m.ctf LD_PRELOAD=$preload "$victim" idle >out 2>err
equal "a trace is overwritten" "$(head -c 8 m.ctf)" ALIQRAW1
MEMTRACE=precious LD_PRELOAD=$preload "$victim" idle >/dev/null 2>err
equal "what is no trace is not" "$(cat precious)" precious
contains "what is no trace: said" "$(cat err)" "precious: it exists and is no trace"
for bad in 0 -1 2 x; do
    MEMTRACE=bad MEMTRACE_RATE=$bad LD_PRELOAD=$preload "$victim" idle \
        >/dev/null 2>err
    contains "MEMTRACE_RATE=$bad" "$(cat err)" "not recording: MEMTRACE_RATE is not a number"
    equal "MEMTRACE_RATE=$bad: no file" "$(ls bad 2>/dev/null)" ""
done
equal "children are not traced" "$(MEMTRACE=s.ctf LD_PRELOAD=$preload \
    sh -c env 2>/dev/null | grep -c MEMTRACE)" 0
MEMTRACE=r.ctf MEMTRACE_RATE=1 "$aliquot" record -q -- "$victim" keep 100 >out
equal "record honours it" "$(head -c 4 r.ctf | od -An -tx1)" " c1 1f fc c1"
MEMTRACE=r.ctf MEMTRACE_RATE=1 "$aliquot" record -q -- "$victim" keep 100 >out
equal "record overwrites a trace" $? 7 # as it does
for packed in '' .zst; do
    MEMTRACE=p.ctf$packed "$aliquot" record -q -- "$victim" idle >out
    MEMTRACE=p.ctf$packed "$aliquot" record -q -- "$victim" idle >out
    equal "record overwrites p.ctf$packed" $? 0
done
MEMTRACE=precious "$aliquot" record -q -- sh -c 'echo it ran' >out 2>err
equal "record: what is no trace is not: status" $? 2
equal "record: what is no trace is not" "$(cat precious out)" precious
contains "record: what is no trace: said" "$(cat err)" \
    "record: MEMTRACE=precious: that exists and is no trace; -f overwrites it"
MEMTRACE=late "$aliquot" record -q -- sh -c 'echo precious >late' 2>err
equal "record: made meanwhile" "$(cat late)" precious
contains "record: made meanwhile" "$(cat err)" "1 recording stays in"
rm -r .aliquot-raw.*
MEMTRACE=late "$aliquot" record -qf -- true
equal "record -f: whatever it is" "$(head -c 4 late | od -An -tx1)" " c1 1f fc c1"
equal "all of it" "$("$aliquot" report --json r.ctf | grep -c '"is_exact": true')" 1
ALIQUOT=off MEMTRACE=o.ctf LD_PRELOAD=$preload "$victim" idle >out
equal "off wins" "$(ls o.ctf 2>/dev/null)" ""

# ---- the law, at changing rates ------------------------------------------------

# The estimate is within 7 standard errors of the truth; it is not, by chance,
# with a probability below 1e-11.  A change loses at most the gaps under way.
# Each rate is in force for so many blocks that one error is below 2 %.
run control,rate=1e-3,out="$work/law" spin 4
for rate in 2e-3 1e-4 1e-2 3e-4 5e-3 1e-3; do
    for other in 4e-4 1e-2 "$rate"; do
        "$aliquot" rate -p "$pid" --rate="$other" >/dev/null || fail "rate"
        await "the law: blocks" has_sampled $(($(sampled) + 1000))
    done
done
over
"$aliquot" report --json --top=1 law >law.json
"$python" - "$(awk '/^bytes/ { print $2 }' out)" <<'END' || fail "the law"
import json, sys
got = json.load(open("law.json"))
truth, estimate = int(sys.argv[1]), got["allocated_bytes"]
error = got["allocated_bytes_stderr"]
z = (estimate - truth) / error
print("rates: %d, truth %d, estimate %d, z %.2f, one error is %.2f%%"
      % (got["recording"]["rates"], truth, estimate, z, 100 * error / truth))
sys.exit(not (abs(z) < 7 and got["recording"]["rates"] == 7
              and error / truth < 0.02))
END
finish
