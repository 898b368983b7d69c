#!/bin/bash
# packages.sh -- the packages of ./dev deb, installed and used in a bare root
#
# Beside it lie the packages, *.deb, and program.c, a user of the library:
#   devtools/bare-root DIR bookworm build/deb/*.deb tests/install/packages.sh \
#       tests/install/program.c -- ./packages.sh
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
export DEBIAN_FRONTEND=noninteractive

install() {
    apt-get -q -y install --no-install-recommends "$@" >>apt.log 2>&1 ||
        { tail -n 20 apt.log >&2; exit 1; }
}

# ok NAME PROGRAM: it prints what program.c prints
ok() {
    [ "$("$2")" = "version matches, no heap without the preload" ] ||
        { echo "$1 prints: $("$2")"; exit 1; }
    echo "ok: $1"
}

apt-get -q update >apt.log 2>&1
install ./aliquot_*.deb
[ "$(aliquot record -o t.ctf --interval 1K -- \
    perl -e 'print length join ",", 1 .. 1000')" = 3892 ]
aliquot report t.ctf | grep Perl_ >/dev/null
aliquot view --help >/dev/null
echo "ok: the command records and reports"

install ./libaliquot0_*.deb ./libaliquot-dev_*.deb ./aliquot-doc_*.deb \
    gcc libc6-dev pkg-config
read -ra flags < <(pkg-config --cflags --libs aliquot)
gcc -Wall -Werror -o shared program.c "${flags[@]}"
ok shared ./shared
gcc -Wall -Werror -o static program.c -l:libaliquot.a -lm
ok static ./static
[ -e "$(pkg-config --variable=preload aliquot)" ]
LD_PRELOAD=$(pkg-config --variable=preload aliquot) ALIQUOT=out=own.alqraw ./shared \
    >/dev/null
aliquot check own.alqraw >/dev/null
for page in man1/aliquot-record.1 man1/aliquot-ocaml.1 man3/alq_memprof.3 \
    man7/aliquot.7; do
    dpkg -S "/usr/share/man/$page.gz" >/dev/null
done
dpkg --verify
apt-get -q -y purge 'aliquot*' 'libaliquot*' >>apt.log 2>&1
! find / -xdev -path "$PWD" -prune -o -path /proc -prune -o \
    -name '*aliquot*' -print | grep . || exit 1
echo "ok: nothing of them is left"
