#!/bin/bash
# users.sh BUILD_DIR CC -- installs into a scratch prefix and uses it from there
set -euo pipefail
build=$1
cc=$2
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ok NAME COMMAND...: the command prints what program.c prints
ok() {
    local name=$1 got
    shift
    got=$("$@")
    if [ "$got" = "version matches, no heap without the preload" ]; then
        echo "ok: $name"
    else
        echo "$name prints: $got"
        exit 1
    fi
}

cmake --install "$build" --prefix "$work/first" >"$work/log"
mv "$work/first" "$work/moved" # nothing may remember where it was
lib=$(dirname "$(find "$work/moved" -name libaliquot.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig

read -ra flags < <(pkg-config --cflags --libs aliquot)
"$cc" -Wall -Werror -o "$work/shared" "$here/program.c" "${flags[@]}"
ok shared env LD_LIBRARY_PATH="$lib" "$work/shared"

read -ra flags < <(pkg-config --cflags aliquot)
"$cc" -Wall -Werror -o "$work/static" "$here/program.c" "${flags[@]}" \
    "$lib/libaliquot.a"
ok static "$work/static"

cmake -G Ninja -S "$here/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/moved" \
    -DCMAKE_C_COMPILER="$cc" >"$work/log"
cmake --build "$work/cmake" >>"$work/log"
ok "cmake, shared" "$work/cmake/with_aliquot"
ok "cmake, static" "$work/cmake/with_aliquot_static"

# The command finds its preload beside itself.
aliquot=$work/moved/bin/aliquot
[ "$("$aliquot" record -o "$work/t.ctf" --interval 1K -- \
    perl -e 'print length join ",", 1 .. 1000')" = 3892 ]
"$aliquot" report "$work/t.ctf" | grep perl >/dev/null
echo "ok: the installed command records and reports"

# Each file is in a Debian package, where it has the libraries' folder of its
# processor, and the preload one of its own.
read -r -d '' -a packaged < <(cat "$here"/../../debian/{*.install,not-installed}) ||
    true
while read -r file; do
    for pattern in "${packaged[@]}"; do
        # shellcheck disable=SC2254 # it is a pattern
        case $file in $pattern | $pattern/*) continue 2 ;; esac
    done
    echo "in no file of debian/: $file"
    exit 1
done < <(cd "$work/moved" && find . ! -type d | sed 's,^\./lib/,./lib/x/,;
    s,/libaliquot-preload,/aliquot&,; s,^\./,usr/,')
echo "ok: all of it is in a package"

# The pages and the completion of exactly this command.
for verb in record report script info check export; do
    [ -s "$work/moved/share/man/man1/aliquot-$verb.1" ] ||
        { echo "no manual page of $verb"; exit 1; }
done
for page in alq_memprof alq_memprof_start alq_version; do
    [ -s "$work/moved/share/man/man3/$page.3" ] ||
        { echo "no manual page $page(3)"; exit 1; }
done
grep -q aliquot "$work/moved/share/bash-completion/completions/aliquot"
