#!/bin/bash
# seen.sh -- a program sees nothing of the recorder but what the manual lists
#
# Descriptors, mappings, environment, signals, limits, threads and settings, of
# the program, its forked child and what it becomes, alone and recorded.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

cd "$work" || exit 1
seen=$build/test/seen

# The last command's variable; how the libraries are mapped has no order.
tidy() {
    grep -v '	_=' | sort -u
}

# Runs a command as the child of a process that holds three descriptors: a
# process is born with a table as large as its parent's highest descriptor
# asks for, and bash keeps its script at 255.
alone() {
    sh -c '"$@"; exit $?' sh "$@"
}

# sees NAME OPTIONS...: all of it, but the mappings of ours
sees() {
    local name=$1
    shift
    alone "$aliquot" record -f -q -o t.ctf --rate=1 "$@" -- "$seen" \
        </dev/null 2>err >now
    equal "$name: status" $? 0
    mv now out
    grep -v '	mapped	.*/\(libaliquot-preload.so\|\.aliquot-raw[^/]*/[^/]*\)$' \
        out | allowed "$name" | tidy >as
    allowed "$name" <bare | tidy | diff - as >differs
    equal "$name" "$(cat differs)" ""
    contains "$name: what is mapped of ours" "$(cat out)" \
        /libaliquot-preload.so
    rm -f t*.ctf
}

# What aliquot-preload(7) lists for some options.
allowed() {
    case $1 in
    follow) grep -v '	\(variable\|environ\)	\(ALIQUOT\|LD_PRELOAD\)=' ;;
    control | off)
        # a thread, its socket, whose number is high, the signal by which
        # threads change their user
        grep -v '	descriptor	.* -> socket:' |
            sed -E 's/(	threads	|Threads:	)2$/\11/
                s/(SigCgt:	0000000)1/\10/; s/(FDSize:	)256$/\164/'
        ;;
    *) cat ;;
    esac
}

alone "$seen" </dev/null 2>err >now
equal "alone: status" $? 0
mv now out
contains "alone: says something" "$(cat out)" "forked	descriptor	0 -> /dev/null"
tidy <out >bare
sees plain
sees exact --exact
sees mmap --mmap
sees follow --follow
sees reserve --reserve=16M
sees limit --limit-live=1G
sees control --control
sees off --off

finish
