#!/bin/bash
# hostile.sh SCHEME SMALL -- no text crashes it: an error with its place
set -euo pipefail
scheme=$1
small=$2
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# says STATUS TEXT: what the program in t.scm does
says() {
    local status=0
    "$scheme" -m 64 t.scm >out 2>&1 || status=$?
    if [ $status != "$1" ] || { [ -n "$2" ] && ! grep -qF -- "$2" out; }; then
        echo "status $status, not $1 with '$2':"
        head -c 2000 out
        head -c 200 t.scm
        exit 1
    fi
}
# many N TEXT
many() { awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) printf "%s", text }'; }

many 100000 '(' >t.scm;                     says 1 't.scm:1:2001: error: data nested more than 2000 deep'
many 100000 "'" >t.scm;                     says 1 'data nested more than 2000 deep'
many 100000 '#(' >t.scm;                    says 1 'data nested more than 2000 deep'
many 100000 '#;' >t.scm;                    says 1 'data nested more than 2000 deep'
many 100000 '#|' >t.scm;                    says 1 't.scm:1:1: error: the comment that begins here has no end'
printf '\n  "abc\ndef' >t.scm;              says 1 't.scm:2:3: error: the string that begins here has no end'
printf '\n (a (b c)' >t.scm;                says 1 't.scm:2:2: error: the list that begins here has no end'
printf '(a . ' >t.scm;                      says 1 't.scm:1:1: error: the list that begins here has no end'
printf "(a ')" >t.scm;                      says 1 't.scm:1:5: error: a ) that closes nothing'
printf "#\\\\" >t.scm;                      says 1 't.scm:1:1: error: no character behind'
many 70000 a >t.scm;                        says 1 't.scm:1:1: error: a name or number of more than 65536'
many 60000 9 >t.scm;                        says 0 ''
{ printf '(display '; many 60000 9; echo ')'; } >t.scm; says 0 '+inf.0'
printf '(display "a\0b")\0' >t.scm;         says 1 'error'
printf '\377\376(\200)' >t.scm;             says 1 'error'
{ many 1500 '(if '; echo 1; } >t.scm;       says 1 'has no end'
{ many 1900 '(not '; many 1900 ')'; } >t.scm; says 1 't.scm:1:9496: error: not: needs 1 arguments at least'
{ echo -n "(cond "; many 3000 '(#f 1) '; echo ')'; } >t.scm; says 1 'forms nested too deep'
{ echo -n "(let* ("; many 3000 '(x 1) '; echo ') x)'; } >t.scm; says 1 'error'
{ echo -n "(+ "; many 300 '1 '; echo ')'; } >t.scm; says 0 ''
{ echo -n "(lambda ("; many 300 'a '; echo ') 1)'; } >t.scm; says 1 'parameters that are no names, or too many'
echo "(define (nest n x) (if (= n 0) x (nest (- n 1) (list x))))
(define x (nest 200000 1)) (define y (nest 200000 1))
(display (equal? x y)) (display x) (define t (make-hash-table))
(hash-table-set! t x 1) (eval x)" >t.scm;   says 1 'forms nested too deep'
echo "(define x '(1 2)) (set-cdr! (cdr x) x) (display x) (length x)" >t.scm; says 1 'length: not a list: (1 2 ...)'
echo "(define x '(+ 1)) (set-cdr! (cdr x) x) (eval x)" >t.scm; says 1 'a form that is no list'
echo "(define l (iota 10000)) (apply + l)" >t.scm; says 1 'apply: more than 8000 arguments'
echo "(with-exception-handler (lambda (e) (car e)) (lambda () (car 1)))" >t.scm; says 1 'error: car: not a pair'
echo "(define (f) (guard (e (#t (f))) (car 1))) (define n 0)
(define (g) (set! n (+ n 1)) (if (< n 1000) (guard (e (#t (g))) (car 1)) (display n))) (g)" >t.scm; says 0 1000
echo "(define k #f) (define-syntax m (lambda (f) (k 1)))
(call/cc (lambda (c) (set! k c) (eval '(m))))" >t.scm;                          says 1 'a continuation of what a macro runs in'
rm t.scm;                                   says 1 'scheme: t.scm: No such file'

# Damaged programs: read, and compiled where they can be read, but not run.
# The seeds are fixed; each program is core.scm with 20 places changed.
cat >judge.scm <<'SCM'
(define port (open-input-file "damaged.scm"))
(define (next) (guard (e (#t 'unreadable)) (read port)))
(do ((form (next) (next))) ((eof-object? form))
  (guard (e (#t 'no-code)) (eval (list 'lambda '() form))))
(display "judged")
SCM
for seed in $(seq $((small ? 4 : 40))); do
    awk -v seed="$seed" '
        { text = text $0 "\n" }
        END {
            srand(seed)
            n = length(text)
            bad = "()()((\"\047`,#.;\\|@x0 9"
            for (i = 0; i < 20; i++) {
                at = 1 + int(rand() * n)
                text = substr(text, 1, at - 1) substr(bad, 1 + int(rand() * length(bad)), 1) substr(text, at + int(rand() * 3))
            }
            printf "%s", text
        }' "$here/core.scm" >damaged.scm
    status=0
    got=$("$scheme" -m 64 judge.scm 2>err) || status=$?
    if [ $status != 0 ] || [ "$got" != judged ]; then
        echo "seed $seed: status $status, '$got'"
        cat err
        exit 1
    fi
done
