#!/bin/sh
# run.sh SPIN CC MODEL [BUG [HOW]] -- verify a model, or see that a planted bug
# is found; HOW: by an `assert` or as a `deadlock`
set -eu

spin=$1 cc=$2 model=$3 bug=${4-} how=${5-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$model" "$scratch/model.pml"
cp "$(dirname "$model")/weak.pml" "$scratch"
cd "$scratch"
optimise=-O1
[ -z "$bug" ] || sed -i "1i #define $bug" model.pml
case $bug$model in # soon found, or few states: it would not pay
BUG* | *_weak.pml) optimise=-O0 ;;
esac
"$spin" -a model.pml >spin.log
"$cc" $optimise -w -DSAFETY -DCOLLAPSE -DMEMLIM=1900 -o pan pan.c
./pan -m1000000 >pan.log
cat pan.log
if grep -q 'max search depth too small' pan.log; then
    echo "run.sh: the search was cut short" >&2
    exit 1
fi
found=1
grep -q 'errors: 0' pan.log && found=0
if [ "$found" = 0 ] && grep -q 'Search not completed' pan.log; then
    echo "run.sh: the search ran out of memory" >&2
    exit 1
fi
if [ -z "$bug" ]; then
    [ "$found" = 0 ]
    exit
fi
case $how in
deadlock) error='invalid end state' ;;
*) error='assertion violated' ;;
esac
[ "$found" = 1 ] && grep -q "^pan:1: $error" pan.log
