#!/bin/bash
# marshal_ocaml.sh -- OCaml reads our messages, we read OCaml's
#
#   marshal_ocaml.sh MARSHAL_AGAIN
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")

if ! command -v ocaml >/dev/null; then
    echo "skipped: OCaml is the judge and there is none (install ocaml-nox)"
    exit 77
fi
ocaml -version
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ocaml "$here/marshal_values.ml" write "$scratch"
"$1" "$scratch"
ocaml "$here/marshal_values.ml" check "$scratch"
