#!/bin/bash
# pooled.sh -- blocks of a program's own pools: sampled, shown by pool, freed one
# by one and all at once; chunks are not counted; unrecorded nothing changes
#
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

pooled=$build/test/pooled
cd "$work" || exit 1
n=3000

equal "unrecorded" "$("$pooled" $n)" no
equal "unrecorded, at a fixed address" "$("$pooled"_fixed $n)" no
equal "static" "$("$pooled"_static $n)" no
equal "fixed address, recorded" \
    "$("$aliquot" record -q -f -o it.ctf -- "$pooled"_fixed $n)" yes

# figures TRACE NAME: bytes and blocks allocated, then those that stay
figures() {
    "$aliquot" script --format=memtrace "$1" | awk -v name="$2" '
        $3 ~ /^alloc/ && index($0, name) {
            split($5, len, "="); all += len[2]; n_all++
            size[$2] = len[2]; n++; bytes += len[2]
        }
        $3 == "collect" && ($2 in size) { n--; bytes -= size[$2]; delete size[$2] }
        END { print all + 0, n_all + 0, bytes + 0, n + 0 }'
}

rm -f it.*ctf
for how in --exact --interval=8; do
    "$aliquot" record -q -f --mmap $how -o it.ctf -- "$pooled" $n >out.txt
    equal "$how: exit status" $? 0
    equal "$how: told" "$(cat out.txt)" yes
    equal "$how: first" "$(figures it.ctf '[first]')" \
        "$((n * 100)) $n $((n * 100 * 2 / 3)) $((n * 2 / 3))"
    equal "$how: second" "$(figures it.ctf '[second]')" \
        "$((2 * n * 200)) $((2 * n)) 0 0"
    equal "$how: shared" "$(figures it.ctf '[shared]')" \
        "$((4 * 2 * n * 50)) $((4 * 2 * n)) 0 0"
    equal "$how: chunks" "$(figures it.ctf chunk_take)" "0 0 0 0"
    equal "$how: mapped chunks" "$(figures it.ctf '[mmap]')" "0 0 0 0"
    "$aliquot" report it.ctf >report.txt
    contains "$how: in the report" "$(cat report.txt)" '[first]'
    equal "$how: remarks" "$(grep -c '^!\|but those' report.txt)" 0
    equal "$how: the child" "$(figures it.*.ctf '[child]')" \
        "$((n * 100)) $n $((n * 100)) $n"
    rm -f it.*ctf
done

# One in 4 KiB: an estimate within five standard errors (chance 1e-6, seed fixed).
"$aliquot" record -q -f --interval=4K --seed=1 -o it.ctf -- "$pooled" 30000 >out.txt
"$aliquot" report --allocated --json it.ctf >it.json
bytes=$(python3 -c '
import json, sys
print(int(sum(s["allocated_bytes"] for s in json.load(open("it.json"))["sites"]
              if s["function"] == "[shared]")))')
equal "sampled: $bytes of 12000000 bytes" \
    $((bytes > 11000000 && bytes < 13000000)) 1

"$aliquot" record -q -f --interval=64K -o it.ctf -- "$build"/bin/pools >out.txt
equal "example: exit status" $? 0
"$aliquot" report --group=file it.ctf >report.txt
contains "example: by file" "$(cat report.txt)" '[pool]'
"$aliquot" report --allocated --skip='[requests]',arena_take it.ctf >report.txt
contains "example: who asks" "$(cat report.txt)" word_insert
finish
