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

many 100000 '(' >t.scm;                     says 1 't.scm:1: error: data nested more than 2000 deep'
many 100000 "'" >t.scm;                     says 1 'data nested more than 2000 deep'
many 100000 '`,@' >t.scm;                   says 1 'data nested more than 2000 deep'
printf '\n  "abc\ndef' >t.scm;              says 1 't.scm:2: error: the string that begins here has no end'
printf '\n (a (b c)' >t.scm;                says 1 't.scm:2: error: the list that begins here has no end'
printf '(a . ' >t.scm;                      says 1 't.scm:1: error: the text ends too early'
printf "(a ')" >t.scm;                      says 1 't.scm:1: error: a ) that closes nothing'
printf '"%s' "\\" >t.scm;                   says 1 't.scm:1: error: the string that begins here has no end'
printf ';' >t.scm;                          says 0 ''
printf '#' >t.scm;                          says 1 't.scm:1: error: unknown: #'
printf "#\\\\" >t.scm;                      says 1 't.scm:1: error: unknown: #'
many 70000 a >t.scm;                        says 1 't.scm:1: error: a name or number of more than 1000'
{ printf '(display '; many 900 9; echo ')'; } >t.scm; says 0 '+inf.0'
printf '(display "a\0b")\0' >t.scm;         says 1 'error'
printf '\377\376(\200)' >t.scm;             says 1 'error'
{ many 1500 '(if '; echo 1; } >t.scm;       says 1 'has no end'
{ many 1900 '(not '; many 1900 ')'; } >t.scm; says 1 't.scm:1: error: not: needs 1 argument, got 0'
if [ "$small" = 0 ]; then # macros, each at its depth
    { echo -n "(cond "; many 3000 '(#f 1) '; echo ')'; } >t.scm; says 1 'forms nested too deep'
    { echo -n "(let* ("; many 3000 '(x 1) '; echo ') x)'; } >t.scm; says 1 'forms nested too deep'
fi
{ echo -n "(let ("; many 9000 '(x 1) '; echo ') x)'; } >t.scm; says 1 'a form that is too large'
{ echo -n "(+ "; many 300 '1 '; echo ')'; } >t.scm; says 0 ''
{ echo -n "(display (+ "; many 3000 '1 '; echo '))'; } >t.scm; says 0 3000
{ echo -n "(list "; many 5000 'list '; echo ')'; } >t.scm; says 1 'a form that is too large'
{ echo -n "(lambda ("; many 300 'a '; echo ') 1)'; } >t.scm; says 0 ''
{ echo -n "(lambda ("; many 5000 'a '; echo ') 1)'; } >t.scm; says 1 'a form that is too large'
{ echo -n "(lambda ("; for i in $(seq 300); do echo -n "v$i "; done; echo -n ") (lambda () (list"; for i in $(seq 300); do echo -n " v$i"; done; echo ')))'; } >t.scm; says 1 'a form that is too large'
much=$((small ? 4000 : 200000))
echo "(define (nest n x) (if (= n 0) x (nest (- n 1) (list x))))
(define x (nest $much 1)) (define y (nest $much 1))
(display x) (define t (make-hash-table)) (hash-table-set! t x 1)
(display (guard (e (#t (error-object-message e))) (equal? x y)))
(eval x)" >t.scm;                           says 1 'equal?: data nested too deep'
grep -qF 't.scm:5: error: forms nested too deep' out
echo "(define x (list 1 2)) (set-cdr! (cdr x) x) (display x) (length x)" >t.scm; says 1 'length: not a list: (1 2 1 2'
echo "(define x '(+ 1)) (set-cdr! (cdr x) x) (eval x)" >t.scm; says 1 'a form that is no list'
echo "(define x (list 'lambda 1 2)) (set-cdr! (cdr x) x) (eval (list 'lambda x 1))" >t.scm; says 1 'a form that is too large'
echo "(define x (list 1)) (set-car! x x) (set-cdr! x x) (display x)" >t.scm; says 0 '...'
echo "(define x (list 1)) (set-car! x x) (equal? x (list (list (list 1))))
(define y (list 1)) (set-car! y y) (equal? x y)" >t.scm; says 1 'equal?: data nested too deep'
echo "(apply + (iota $((much / 20))))" >t.scm; says 0 ''
echo "(define l (vector->list (make-vector $much 1))) (display (apply + l))" >t.scm; says 0 $much
echo "(call-with-handler (lambda (e) (car e)) (lambda () (car 1)))" >t.scm; says 1 'error: car: not a pair'
echo "(define (f) (guard (e (#t (f))) (car 1))) (define n 0)
(define (g) (set! n (+ n 1)) (if (< n 100) (guard (e (#t (g))) (car 1)) (display n))) (g)" >t.scm; says 0 100
echo "(define k #f) (define-macro (m) (k 1))
(call/cc (lambda (c) (set! k c) (eval '(m))))" >t.scm; says 1 'call/cc: the call has ended already'
echo "(define s (make-string 100000000)) (string-append s s s)" >t.scm; says 1 'error'
echo "(%entry (vector 1 2 (vector 5 5)) 1) (%entry (vector 1 2 (vector)) 1)" >t.scm; says 1 'not a hash table'
echo "(%exit-drop 5)" >t.scm;               says 1 'error'
rm t.scm;                                   says 1 'scheme: t.scm: No such file'
mkdir t.scm;                                says 1 'scheme: t.scm: cannot be read'
rmdir t.scm

# used STATUS TEXT ARGUMENTS: what the command says of itself
used() {
    local status=$1 text=$2 got=0
    shift 2
    "$scheme" "$@" <<<'(display 7)' >out 2>&1 || got=$?
    if [ $got != "$status" ] || ! head -n 1 out | grep -qF -- "$text"; then
        echo "$*: status $got, not $status with '$text':"
        head -c 2000 out
        exit 1
    fi
}
used 0 'usage: scheme' --help
used 0 'usage: scheme' -h
used 2 "unrecognized option '--bad'" --bad
used 2 'not a number from 1 to 100' -d -18446744073709551615
used 2 '-d needs a file: a session has one domain' -d 2
used 0 '7' -d 1

# Damaged programs, in a session, which goes on after each error.  The seeds are
# fixed; each program is core.scm with 20 places changed.  It may loop: what it
# must not do is to die by a signal of its own.
for seed in $(seq $((small ? 4 : 20))); do
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
    timeout 2 "$scheme" -m 64 <damaged.scm >out 2>&1 || status=$?
    if [ $status -gt 1 ] && [ $status != 124 ]; then
        echo "seed $seed: status $status"
        tail -5 out
        exit 1
    fi
done
