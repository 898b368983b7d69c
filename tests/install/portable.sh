#!/bin/bash
# portable.sh ARCHIVE [PRELOAD...] -- what ./dev tarball makes, unpacked and used
#
# Wants bash, coreutils, tar, gzip and perl alone, so that it runs in a bare root:
#   devtools/bare-root DIR bullseye build/tarball/*.gz tests/install/portable.sh \
#       -- ./portable.sh ./*.gz
# Each PRELOAD is tried, too, instead of the archive's own.
set -euo pipefail
archive=$(readlink -f "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/anywhere"
tar -xf "$archive" -C "$work/anywhere"
aliquot=$(echo "$work"/anywhere/*/bin/aliquot)
cd "$work"

fail() {
    echo "portable: $*" >&2
    exit 1
}

# has WHAT FILE TEXT
has() {
    grep -q -e "$3" "$2" || fail "$1: no '$3' in: $(head -c 2000 "$2")"
}

# The stacks of a program: named, and whole.
stacks() {
    local out
    out=$("$aliquot" record -f -o t.ctf --interval 1K -- \
        perl -e 'print length join ",", 1 .. 1000' 2>err) || fail "$(cat err)"
    [ "$out" = 3892 ] || fail "perl prints: $out"
    "$aliquot" report --top=0 --tree=top-down t.ctf >report.txt
    has report report.txt Perl_
    has report report.txt perl_run
    "$aliquot" check t.ctf >/dev/null
}

# Children, threads of no kind, and what a shell does.
children() {
    rm -f f.*
    "$aliquot" record --follow -f -o 'f.%e.ctf' --interval 1K -- \
        bash -c 'ls -l /usr | cat; exit 3' >out 2>err &&
        fail "the status is lost"
    [ -e f.bash.ctf ] || fail "$(cat err)"
    [ -e "$(echo f.ls.*.ctf)" ] || fail "$(ls; cat err)"
}

# What glibc has names for since 2.32, and pidfd_open.
limits() {
    # shellcheck disable=SC2016 # perl's own variables
    "$aliquot" record -f -o l.ctf --limit-alloc=1M --on-limit=signal=USR1 -- \
        perl -e '$SIG{USR1} = sub { print "told\n"; exit }; my @a = map { "x" x 99 } 1 .. 99999; sleep 1 while 1' \
        >out 2>err || fail "$(cat err)"
    has limit out told
    has limit err SIGUSR1
    ALIQUOT=out=/nowhere/x LD_PRELOAD=$(echo "${aliquot%/bin/*}"/lib/*.so) \
        /bin/ls >out 2>err || fail "$(cat err)"
    has "no folder" err 'No such file or directory'
}

# The server, without TLS.
server() {
    local port line
    "$aliquot" view --no-open --idle=60 t.ctf >url 2>&1 &
    until [ -s url ]; do sleep 0.1; done
    port=$(sed -n 's,.*:\([0-9]*\)/.*,\1,p' url)
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n' "$port" >&3
    read -r line <&3
    exec 3<&-
    kill $!
    [[ $line == "HTTP/1.1 "* ]] || fail "the server says $line"
}

exports() {
    local format
    for format in pprof sqlite html speedscope; do
        "$aliquot" export -f --format=$format -o out.$format t.ctf >/dev/null
        [ -s out.$format ] || fail "$format"
    done
}

stacks
children
limits
server
exports
echo "ok: the archive's own preload"
for preload in "$@"; do
    export ALIQUOT_PRELOAD_PATH=$preload
    stacks
    children
    echo "ok: $preload"
done
