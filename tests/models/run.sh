#!/bin/sh
# run.sh SPIN CC MODEL [BUG] -- verify a model, or see that a planted bug is found
set -eu

spin=$1 cc=$2 model=$3 bug=${4-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$model" "$scratch/model.pml"
cd "$scratch"
if [ -n "$bug" ]; then
    sed -i "1i #define $bug" model.pml
fi
"$spin" -a model.pml >spin.log
"$cc" -O0 -w -DSAFETY -o pan pan.c
./pan -m1000000 >pan.log
cat pan.log
if grep -q 'max search depth too small' pan.log; then
    echo "run.sh: the search was cut short" >&2
    exit 1
fi
found=1
grep -q 'errors: 0' pan.log && found=0
if [ -n "$bug" ]; then
    [ "$found" = 1 ]
else
    [ "$found" = 0 ]
fi
