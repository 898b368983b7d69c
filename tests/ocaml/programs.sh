#!/bin/bash
# programs.sh -- OCaml programs on the heap say what they say on OCaml's own
#
# usage: programs.sh BUILD_DIR SOURCE_DIR
#
# Each program of programs/ is built four times: native and bytecode, with
# OCaml's runtime and with the variant.  Its output with the variant must be
# that without it.  Those of variant/ run with the variant alone: they use the
# library `aliquot`, or do what OCaml's own runtime dies of.  Then: what both sides know of Caml_state, and the
# script that installs.  Skips unless `tests/ocaml/prepare` has been run.
. "$(dirname "${BASH_SOURCE[0]}")/../preload/common.sh"

here=$source_dir/tests/ocaml
folder=${ALQ_OCAML:-${XDG_CACHE_HOME:-$HOME/.cache}/aliquot/ocaml-5.3.0}
if [ ! -e "$folder/whole" ]; then
    echo "skipped: no OCaml in $folder: tests/ocaml/prepare builds it"
    exit 77
fi
lib=$work/ocaml
cp -a "$folder/prefix/lib/ocaml" "$lib"
export OCAMLLIB=$lib PATH=$folder/prefix/bin:$PATH
variant=$build/bin/aliquot-ocaml
cd "$work" || exit 1

# ---- installing --------------------------------------------------------------

list() { (cd "$lib" && find . -type f | sort | xargs md5sum); }
before=$(list)
equal "install" "$(status_of out "$variant" install --where "$lib")" 0
contains "install" "$(cat out)" "-runtime-variant _aliquot"
equal "other files" "$(list | grep -v aliquot)" "$before"
equal "ocamlrun" "$(status_of out test -x "$lib/ocamlrun_aliquot")" 0
equal "no folder" "$(status_of out "$variant" install --where "$work/none")" 1
contains "no folder" "$(cat out)" "is no folder"
mkdir -p other/caml
echo '#define OCAML_VERSION_STRING "5.2.1"' >other/caml/version.h
equal "version" "$(status_of out "$variant" install --where other)" 1
contains "version" "$(cat out)" "OCaml 5.2.1 is not known"
equal "usage" "$(status_of out "$variant" frob)" 2

# ---- the contract ------------------------------------------------------------

cc -D_GNU_SOURCE -I"$source_dir/src" -I"$source_dir/include" \
    "$here/contract_ours.c" -o ours && ./ours >ours.txt
cc -D_GNU_SOURCE -DCAML_INTERNALS -I"$lib" "$here/contract_theirs.c" \
    -o theirs && ./theirs >theirs.txt
equal "contract" "$(diff ours.txt theirs.txt)" ""
equal "contract: fields" "$(wc -l <ours.txt)" 101

# ---- programs ----------------------------------------------------------------

# built NAME COMPILER FLAGS...: the program, with its stubs in C if it has any;
# or a failure
built() {
    local name=$1 stubs=()
    shift
    [ ! -e "${name%.*}_stubs.c" ] || stubs=("${name%.*}_stubs.c")
    "$@" -g -w -a -I +unix -I +threads -I +aliquot -o "$name" "${stubs[@]}" \
        "${name%.*}.ml" >log 2>&1 ||
        fail "building $name: $(head -n 5 log)"
}

# run_by_ocamlrun NAME: NAME.run runs NAME.byte
run_by_ocamlrun() {
    printf '#!/bin/sh\nexec "%s/ocamlrun_aliquot" "%s/%s.byte" "$@"\n' "$lib" \
        "$work" "$1" >"$1.run"
    chmod +x "$1.run"
}

for source in "$here"/programs/*.ml; do
    name=$(basename "$source" .ml)
    cp "$here/programs/$name"* .
    built "$name.theirs" ocamlopt unix.cmxa threads.cmxa
    built "$name.native" ocamlopt unix.cmxa threads.cmxa \
        -runtime-variant _aliquot
    built "$name.custom" ocamlc -custom unix.cma threads.cma
    built "$name.bytecode" ocamlc -custom unix.cma threads.cma \
        -runtime-variant _aliquot
    pairs=(theirs:native custom:bytecode)
    # A program that any ocamlrun runs, with the stubs of its libraries loaded.
    if [ ! -e "${name}_stubs.c" ]; then
        built "$name.byte" ocamlc unix.cma threads.cma
        run_by_ocamlrun "$name"
        pairs+=(custom:run)
    fi
    for pair in "${pairs[@]}"; do
        wanted=$(status_of wanted.txt timeout 300 "./$name.${pair%:*}")
        equal "$name.${pair#*:}: status" \
            "$(status_of got.txt timeout 300 "./$name.${pair#*:}")" "$wanted"
        equal "$name.${pair#*:}" "$(diff wanted.txt got.txt | head -n 5)" ""
    done
    equal "$name: verified" \
        "$(OCAMLRUNPARAM=V=1 status_of got.txt timeout 300 "./$name.native")" \
        "$wanted"
done

# With threads that want four tebibytes for their stacks, none is to be had.
for kind in theirs native custom bytecode; do
    (ulimit -s 4294967296 && timeout 300 "./refused.$kind") >"$kind.txt" 2>&1
    equal "$kind: no thread" "$(diff theirs.txt "$kind.txt")" ""
done
contains "no thread" "$(cat native.txt)" "over"

# ---- a trace without a line of code ------------------------------------------

for kind in native bytecode; do
    equal "trace: $kind" "$(status_of out env MEMTRACE="$work/$kind.ctf" \
        MEMTRACE_RATE=1 "./memprof.$kind")" 0
    "$build/bin/aliquot" script "$kind.ctf" >script.txt
    contains "trace: $kind" "$(cat script.txt)" "Memprof.nested"
    contains "trace: $kind" "$(cat script.txt)" "memprof.ml:"
done

# ---- the variant alone ----------------------------------------------------------

# Where the copied folder's shared stubs are; ld.conf names the original's.
export CAML_LD_LIBRARY_PATH=$lib/stublibs
native=(unix.cmxa threads.cmxa aliquot.cmxa)
bytecode=(unix.cma threads.cma aliquot.cma)
cp "$here"/variant/* .
for name in limits traces random memory discard; do
    built "$name.native" ocamlopt "${native[@]}" -runtime-variant _aliquot
    built "$name.bytecode" ocamlc -custom "${bytecode[@]}" \
        -runtime-variant _aliquot
    built "$name.byte" ocamlc "${bytecode[@]}"
    run_by_ocamlrun "$name"
done
for kind in native bytecode run; do
    equal "limits.$kind" "$(status_of got.txt timeout 300 "./limits.$kind")" 0
    equal "limits.$kind" "$(diff limits.expected got.txt | head -n 5)" ""
    equal "traces.$kind" "$(status_of got.txt "./traces.$kind" "$kind.ctf")" 0
    equal "traces.$kind" "$(diff traces.expected got.txt | head -n 5)" ""
    # The last trace, of with_trace.
    contains "traces.$kind" "$("$build/bin/aliquot" report "$kind.ctf")" \
        "Traces.grow"
    equal "discard.$kind" "$(status_of got.txt "./discard.$kind")" 0
    contains "discard.$kind" "$(cat got.txt)" "beside another domain"
    equal "random.$kind" \
        "$(status_of got.txt timeout 300 "./random.$kind" "$$" 2)" 0
    equal "random.$kind $$" "$(cat got.txt)" "whole"
done
equal "limits: verified" \
    "$(OCAMLRUNPARAM=V=1 status_of got.txt timeout 300 ./limits.native)" 0
equal "limits: verified" "$(diff limits.expected got.txt | head -n 5)" ""
# OCaml 5.3's own runtime waits for ever in it, now and then.
built globals.native ocamlopt "${native[@]}" -runtime-variant _aliquot
built globals.bytecode ocamlc -custom "${bytecode[@]}" -runtime-variant _aliquot
for kind in native bytecode; do
    equal "globals.$kind" "$(status_of got.txt timeout 300 "./globals.$kind")" 0
    equal "globals.$kind" "$(cat got.txt)" "done"
    (ulimit -v 300000 && timeout 300 "./memory.$kind") >got.txt 2>&1
    equal "memory.$kind" "$(sort got.txt | uniq -c | xargs)" "3 out of memory"
done
built ring.native ocamlopt -I +runtime_events runtime_events.cmxa \
    "${native[@]}" -runtime-variant _aliquot
built ring.bytecode ocamlc -custom -I +runtime_events runtime_events.cma \
    "${bytecode[@]}" -runtime-variant _aliquot
for kind in native bytecode; do
    for ((i = 0; i < 20; i++)); do
        equal "ring.$kind" "$(status_of got.txt timeout 300 "./ring.$kind")" 0
    done
done

# ---- who holds it --------------------------------------------------------------

# snapshot_of KIND: the roots of a program that runs, with what each holds alone
snapshot_of() {
    local i
    rm -f go
    ALIQUOT_CONTROL=1 "./held.$1" >held.txt 2>&1 &
    for ((i = 0; i < 3000; i++)); do
        grep -q ready held.txt && break
        sleep 0.02
    done
    "$build/bin/aliquot" snapshot --graph -p $! -o "$1.heap" >snapshot.txt 2>&1
    equal "snapshot: $1" $? 0
    touch go
    wait $!
    contains "snapshot: $1: the program" "$(cat held.txt)" "5000 20000 12"
    "$build/bin/aliquot" heap --no-pager --top=0 "$1.heap" | tr -s ' ' >held.txt
}

built held.native ocamlopt "${native[@]}" -runtime-variant _aliquot
built held.bytecode ocamlc -custom "${bytecode[@]}" -runtime-variant _aliquot
snapshot_of native
for wanted in "735 KiB 10.0k module Held, value 2" \
    "1.22 MiB 40.0k module Held, value 3" "128 KiB 4096 module Held, value 4" \
    "module Stdlib.Random, value" "caml_signal_handlers (held.native)"; do
    contains "held: native" "$(cat held.txt)" "$wanted"
done
snapshot_of bytecode
# The values of a module that still runs are on the stack.
contains "held: bytecode" "$(cat held.txt)" "stacks of domain 1"
contains "held: bytecode" "$(cat held.txt)" "caml_global_data (held.bytecode)"

# At its end, of a program that is recorded: `go` is there.
for program in native bytecode; do
    "$build/bin/aliquot" record -q --exact --leaks=leaks.json -o "held.$program.ctf" \
        "./held.$program" >held.txt 2>&1
    equal "recorded: $program" $? 0
    contains "recorded: $program" "$(cat held.txt)" "5000 20000 12"
    "$build/bin/aliquot" check "held.$program.heap.ctf" >held.txt 2>&1
    equal "recorded: $program: sound" $? 0
    COLUMNS=120 "$build/bin/aliquot" report --leaks --top=0 --tree=none \
        "held.$program.heap.ctf" >"held.$program.txt"
    contains "recorded: $program" "$(cat "held.$program.txt")" "held      roots lead to them"
done
for wanted in "value 2 → block of tag 0 ×" "value 3 → block of tag 0 ×20001" \
    "value 4 → block of tag 0 ×12"; do
    contains "recorded: held" "$(cat held.native.txt)" "module Held, $wanted"
done

# With OCaml's own runtime it is there, and says so.
built limits.theirs ocamlopt "${native[@]}"
for program in ./limits.theirs ./limits.byte; do
    equal "their runtime" "$(status_of got.txt "$program")" 2
    contains "their runtime" "$(cat got.txt)" "available: false"
    contains "their runtime" "$(cat got.txt)" "link with -runtime-variant _aliquot"
done

# A library that is loaded while the program runs; dune and findlib.
cat >plugin.ml <<'END'
let () = print_endline (string_of_bool (Aliquot.is_available ()))
END
cat >loads.ml <<'END'
let () = List.iter Dynlink.loadfile (List.tl (Array.to_list Sys.argv))
END
ocamlopt -shared -I +aliquot plugin.ml -o plugin.cmxs >log 2>&1
built loads.native ocamlopt -I +dynlink dynlink.cmxa -linkall \
    -runtime-variant _aliquot
equal "loaded" "$(./loads.native "$lib/aliquot/aliquot.cmxs" ./plugin.cmxs 2>&1)" \
    "true"
if command -v ocamlfind >/dev/null; then
    equal "ocamlfind" "$(OCAMLPATH=$lib ocamlfind query aliquot)" "$lib/aliquot"
    equal "ocamlfind: native" "$(OCAMLPATH=$lib ocamlfind query -format %a \
        -predicates native aliquot)" "aliquot.cmxa"
else
    echo "skipped: META by ocamlfind: there is none"
fi

equal "uninstall" "$(status_of out "$variant" uninstall --where "$lib")" 0
equal "uninstalled" "$(list)" "$before"

echo "$n_checks checks, $n_failed failed"
[ "$n_failed" = 0 ]
