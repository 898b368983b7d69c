#!/bin/bash
# cgo.sh -- stacks of C go on through the Go code that has called it
#
# usage: cgo.sh BUILD_DIR SOURCE_DIR
# shellcheck source-path=SCRIPTDIR/../preload
. "$2/tests/preload/common.sh"
source_dir=$(cd "$source_dir" && pwd)
export GOCACHE=$work/cache GOFLAGS=-mod=mod GOPROXY=off

command -v go >/dev/null || { echo "skipped: no go"; exit 77; }
mkdir "$work/src"
cp "$source_dir/tests/unwind/cgo.go" "$work/src/main.go"
printf 'module cgo\n\ngo 1.19\n' >"$work/src/go.mod"
if ! (cd "$work/src" && go build -o ../program .) >"$work/out" 2>&1; then
    echo "skipped: go does not build: $(head -n 3 "$work/out")"
    exit 77
fi
"$aliquot" record --rate 1 -o "$work/t" -- "$work/program" >"$work/out" 2>&1 ||
    fail "record: $(cat "$work/out")"
"$aliquot" script "$work/t" >"$work/script" 2>"$work/out"

# stack BYTES: the functions of the block of this size, outermost first
stack() {
    awk -F '\t' -v n="$1" '$2 == "alloc" && $4 == n { print $9; exit }' \
        "$work/script" | sed 's/@[^;]*//g; s/_cgo_[0-9a-f]*_/_cgo_/g'
}

called="main.goOuter;main.goInner;main.goInner.func1;main._Cfunc_c_outer"
called+=";runtime.asmcgocall;_cgo_Cfunc_c_outer;c_outer;c_inner"
contains "from Go" "$(stack 100001)" "runtime.main;main.main;$called"
contains "from Go" "$(stack 100002)" "runtime.main;main.main;$called"
contains "from C" "$(stack 200002)" ";crosscall2;runtime.cgocallback;"
contains "from C" "$(stack 200002)" "runtime.main;main.main;main.viaC;"
contains "from C" "$(stack 200002)" ";main.goCallback;$called"
contains "goroutine" "$(stack 300001)" "main.main.func1;$called"
finish
