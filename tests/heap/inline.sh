#!/bin/bash
# inline.sh CC INCLUDE_DIR -- allocation of a constant size, disassembled
#
# In each function below, and all that the headers put into it, there is one
# comparison and one conditional branch; and so many instructions at the most,
# counted up to the return of the fast way.
set -euo pipefail
cc=$1
include=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/inline.c" <<'C'
#include <aliquot/heap.h>

alq_value
one_pair(struct alq_domain *d, alq_value a, alq_value b)
{
    alq_value pair = alq_alloc_small(d, 2, 0);

    alq_init_small(pair, 0, a);
    alq_init_small(pair, 1, b);
    return pair;
}

/* Two blocks, one check. */
int
two_at_once(struct alq_domain *d, alq_value out[2])
{
    static const uintptr_t headers[] = {ALQ_HEADER(2, 0), ALQ_HEADER(1, 253)};

    return alq_alloc_several(d, 2, headers, out);
}

void
poll(struct alq_domain *d)
{
    alq_poll(d);
}
C
"$cc" -O2 -fcf-protection=none -I"$include" -c "$work/inline.c" \
    -o "$work/inline.o"

bad=0

# count PATTERN: instructions of $code whose name begins so
count() {
    awk -v name="^($1)" '$1 ~ name { n++ } END { print n + 0 }' <<<"$code"
}

# check FUNCTION MOST: the function's instructions are counted
check() {
    local code compares branches all
    code=$(objdump -d --no-show-raw-insn --disassemble="$1" "$work/inline.o" |
        awk '$1 ~ /^[0-9a-f]+:$/ { $1 = ""; print }')
    case $(uname -m) in
    x86_64)
        compares=$(count 'cmp|test')
        branches=$(($(count 'j') - $(count 'jmp')))
        ;;
    aarch64)
        compares=$(count 'cmp|tst|cbn?z|tbn?z')
        branches=$(count 'b\\.|cbn?z|tbn?z')
        ;;
    *)
        echo "no rule for $(uname -m)"
        exit 1
        ;;
    esac
    all=$(sed '/^ *ret/q' <<<"$code" | wc -l)
    echo "$1: $compares comparisons, $branches branches," \
        "$all instructions up to the first return"
    if [ "$compares" != 1 ] || [ "$branches" != 1 ] || [ "$all" -gt "$2" ]; then
        echo "expected 1, 1, and at most $2:"
        echo "$code"
        bad=1
    fi
}

check one_pair 20 # with what the compiler saves for the slow way
check two_at_once 20
check poll 6
exit $bad
