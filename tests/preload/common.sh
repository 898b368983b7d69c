# shellcheck shell=bash disable=SC2034
# common.sh -- shared by the preload's system tests: sourced, not run
#
# usage: SCRIPT BUILD_DIR SOURCE_DIR

set -u
build=$1
source_dir=$2
aliquot=$build/bin/aliquot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_failed=0
n_checks=0

pass() {
    n_checks=$((n_checks + 1))
}

fail() {
    n_checks=$((n_checks + 1))
    n_failed=$((n_failed + 1))
    printf 'FAILED: %s\n' "$*"
}

# equal WHAT GOT WANTED
equal() {
    if [ "$2" = "$3" ]; then pass; else fail "$1: got '$2', wanted '$3'"; fi
}

# contains WHAT TEXT PATTERN
contains() {
    case $2 in
    *"$3"*) pass ;;
    *) fail "$1: '$3' is not in: $2" ;;
    esac
}

# status_of OUTPUT COMMAND...: prints the exit status; the shell says nothing
# of programs that a signal ends
status_of() {
    local to=$1
    shift
    { ("$@") >"$to" 2>&1; } 2>/dev/null
    echo $?
}

# await WHAT COMMAND...: until the command succeeds, for a quarter of an hour of
# whatever the machine does; then a failure and status 1
await() {
    local what=$1 end=$((SECONDS + 900))
    shift
    until "$@"; do
        if [ "$SECONDS" -gt "$end" ]; then
            fail "$what: waited for too long"
            return 1
        fi
        sleep 0.02
    done
}

# live TRACE [PATTERN]: "BYTES BLOCKS" of what was never freed and has PATTERN
# in its stack
live() {
    "$aliquot" script --format=memtrace "$1" | awk -v pattern="${2:-.}" '
        $3 ~ /^alloc/ && $0 ~ pattern {
            split($5, len, "="); size[$2] = len[2]; n++; bytes += len[2]
        }
        $3 == "collect" && ($2 in size) {
            n--; bytes -= size[$2]; delete size[$2]
        }
        END { print bytes + 0, n + 0 }'
}

# of_churn: of t.ctf, blocks, bytes, live blocks, live bytes, moves of churn's
# own functions; the C library allocates for each thread, too
of_churn() {
    "$aliquot" script t.ctf | awk -F '\t' '
        $2 == "alloc" && $9 ~ /(make|grow)_block/ {
            n++; bytes += $4; live[$3] = $4
            if ($10 ~ /moved_from=/) moves++
        }
        $2 == "free" { delete live[$3] }
        END {
            for (id in live) { m++; left += live[id] }
            printf "%d %d %d %d %d\n", n, bytes, m, left, moves
        }'
}

# innermost BYTES: of txt, functions innermost in the stacks of blocks of that
# size
innermost() {
    awk -v want="len=$1" '
        $3 ~ /^alloc/ && $5 == want {
            sub(/ \[mmap\][^ ]*$/, "")
            sub(/@.*/, "", $NF)
            print $NF
        }' txt |
        sort -u | paste -sd ' '
}

finish() {
    printf '%d checks, %d failed\n' "$n_checks" "$n_failed"
    [ "$n_checks" -gt 0 ] && [ "$n_failed" -eq 0 ]
}
