#!/bin/bash
# requests.sh -- the example that keeps a table of live bytes by request, under
# several clients: alone and beside the recorder
# shellcheck disable=SC2154 # common.sh sets them
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

server=$build/bin/request_server
client=$build/test/request_client
preload=$build/lib/libaliquot-preload.so

# serve WHAT COMMAND...: the server under clients, to its end
serve() {
    local what=$1 pid port='' judged
    shift
    : >"$work/out" # the last server's port goes before this one begins
    "$@" >"$work/out" 2>"$work/err" &
    pid=$!
    await "$what: a port" grep -q '^listening on .*' "$work/out"
    port=$(sed -n 's,^listening on http://127.0.0.1:,,p' "$work/out")
    timeout 900 "$client" "$port" 5 400 7 >"$work/judged" 2>&1
    judged=$?
    equal "$what: the judge says $(tail -n 1 "$work/judged")" "$judged" 0
    [ "$judged" = 0 ] || kill "$pid" 2>/dev/null
    wait "$pid"
    equal "$what: status" $? 0
    equal "$what: stderr" "$(cat "$work/err")" ""
    head -n 1 "$work/judged"
}

for rate in 1 0.02 0.002; do
    serve "rate $rate" env LD_PRELOAD="$preload" \
        "$server" --rate "$rate" --seed 11
done
serve "recorded" "$aliquot" record -q --rate 0.05 -o "$work/r.ctf" -- \
    "$server" --rate 0.004 --seed 11

status=$(status_of "$work/out" "$server")
equal "without the preload" "$status" 1
contains "without the preload" "$(cat "$work/out")" "the preload is not loaded, or is off"
for wrong in "--rate 0" "--rate 2" "--rate" "--speed 1"; do
    # shellcheck disable=SC2086 # two words
    status=$(status_of "$work/out" "$server" $wrong)
    equal "$wrong" "$status" 2
    contains "$wrong" "$(cat "$work/out")" usage
done

finish
