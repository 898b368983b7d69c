#!/bin/sh
# fail_over.sh -- the exit status of `aliquot diff --fail-over`, as a build job
# uses it
#
#   fail_over.sh ALIQUOT MAKE_TRACE
set -eu
aliquot=$1
make_trace=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# expect STATUS TEXT ARGUMENT...: diff ends so, and TEXT is on standard error;
# nothing is there when TEXT is empty
expect() {
    wanted=$1
    text=$2
    shift 2
    status=0
    "$aliquot" diff --allocated "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] ||
        { echo "diff $*: status $status, not $wanted"; cat err; exit 1; }
    if [ -z "$text" ]; then
        [ ! -s err ] || { echo "diff $*: says:"; cat err; exit 1; }
    else
        grep -qF -- "$text" err ||
            { echo "diff $*: no '$text' in:"; cat err; exit 1; }
    fi
}

"$make_trace" 9000 200 0.125 >before.ctf
"$make_trace" 9900 200 0.125 >after.ctf
mkdir before after
cp before.ctf before/1.ctf
cp before.ctf before/2.ctf
cp before.ctf after/1.ctf
cp after.ctf after/2.ctf

expect 0 '' --fail-over=0% before.ctf before.ctf
expect 1 'the total grew by' --fail-over=5% before.ctf after.ctf
expect 0 '' --fail-over=50% before.ctf after.ctf
expect 1 'the total grew by' --fail-over=1K before.ctf after.ctf
expect 0 '' --fail-over=1G before.ctf after.ctf
expect 1 'the total grew by' --fail-over=2% before after
# The last limit counts, whichever form the earlier one has.
expect 0 '' --fail-over=5% --fail-over=1G before.ctf after.ctf
expect 1 'the limit is 1K' --fail-over=50% --fail-over=1K before.ctf after.ctf
expect 1 'the limit is 0%' --fail-over=1G --fail-over=0% before.ctf after.ctf
expect 0 '' before.ctf after.ctf
expect 2 'write a percentage' --fail-over=lots before.ctf after.ctf
expect 3 'cannot open' --fail-over=5% before.ctf missing.ctf

# A build job: a step that fails when memory grew.
if "$aliquot" diff --fail-over=5% --allocated before.ctf after.ctf >out 2>err
then
    echo "the job went on"
    exit 1
fi
echo ok
