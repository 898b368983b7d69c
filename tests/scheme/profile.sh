#!/bin/bash
# profile.sh SCHEME SMALL ALIQUOT -- traces say which Scheme functions allocate
set -euo pipefail
scheme=$1
small=$2
aliquot=$3
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# has TEXT FILE: the file has a line that matches, or all of it is shown
has() {
    grep -qE -- "$1" "$2" || { echo "no line matches $1 in $2:"; cat "$2"; exit 1; }
}

cat >lists.scm <<'END'
(define kept '())
(define (make-list-of n)
  (if (= n 0)
      '()
      (cons n (make-list-of (- n 1)))))
(define (keep! list)
  (set! kept (cons list kept)))
(define (rounds n)
  (if (> n 0)
      (begin
        (if (= (modulo n 10) 0)
            (keep! (make-list-of 20))
            (make-list-of 20))
        (rounds (- n 1)))))
(rounds 500)
(let loop ((i 0)) (if (< i 20) (begin (make-vector 5000 i) (loop (+ i 1)))))
END

# Every word, in two domains: what is counted is exact.
MEMTRACE=t.ctf MEMTRACE_RATE=1 "$scheme" -d 2 lists.scm
"$aliquot" check t.ctf >out
has 'no findings' out
"$aliquot" report --allocated --group line t.ctf >out
has 'make-list-of +lists\.scm:5 ← ' out
"$aliquot" report --allocated t.ctf >out
has 'make-list-of +lists\.scm:5 ← .*rounds' out
has 'keep! +lists\.scm:7 ← rounds' out
"$aliquot" script t.ctf >out
allocated=$(grep -cE 'alloc.*;make-list-of@lists\.scm:5\b' out)
[ "$allocated" = 20000 ] || { echo "$allocated cells of lists, not 20000"; exit 1; }
large=$(awk -F'\t' '$2 == "alloc" && $4 == 40008 && $6 == "major"' out | grep -c 'lists\.scm:16')
[ "$large" = 40 ] || { echo "$large vectors, not 40"; exit 1; }
has 'domain%202' out

# Code that is made anew, and gone: its frames keep their names.
cat >evals.scm <<'END'
(define (deep n) (if (= n 0) (make-string 10 #\a) (string-append (deep (- n 1)) "b")))
(define (again n)
  (if (> n 0)
      (begin (eval (list (list 'lambda '() (list 'deep (modulo n 7))))) (again (- n 1)))))
(again 300)
END
MEMTRACE=e.ctf MEMTRACE_RATE=1 "$scheme" evals.scm
"$aliquot" report --allocated e.ctf >out
has 'deep +evals\.scm:1 ← ' out
"$aliquot" script e.ctf >out
if grep -q 'unknown' out; then
    echo "a frame without a name:"
    grep -m3 unknown out
    exit 1
fi

# Who holds what is left: variables by their names, and the kinds between.
cat >held.scm <<'END'
(define index (make-vector 50 '()))
(define (index! n)
  (let ((i (modulo n 50)))
    (vector-set! index i (cons (make-string 20 #\a) (vector-ref index i)))))
(define (fill n) (if (> n 0) (begin (index! n) (fill (- n 1)))))
(define history (let loop ((n 300) (l '())) (if (= n 0) l (loop (- n 1) (cons n l)))))
(fill 500)
END
MEMTRACE=h.ctf MEMTRACE_RATE=1 MEMTRACE_HOLDERS=1 "$scheme" held.scm
"$aliquot" check h.ctf >out
has 'no findings' out
"$aliquot" heap --no-pager h.ctf.heap >out
has 'global index$' out
has 'global history$' out
if [ "$small" = 0 ]; then # the preload goes with no sanitizer
    "$aliquot" record -q --exact --leaks=leaks.json -o r.ctf "$scheme" held.scm
    [ "$(ls r.*)" = $'r.ctf\nr.heap.ctf' ] || { ls; exit 1; }
    COLUMNS=100 "$aliquot" report --leaks --top=0 r.heap.ctf >out
    # 450 pairs and 500 strings behind others; 50 pairs in the vector
    has ' 950  global index → vector → pair ×10$' out
    has ' 50  global index → vector$' out
    has ' 299  global history → pair ×299$' out
fi

# The demo: the index is what survives.
if [ "$small" = 0 ]; then
    MEMTRACE=d.ctf MEMTRACE_RATE=1e-3 "$scheme" -d 2 "$here/../../devtools/demo.scm" >said
    [ "$(uniq -c said | tr -s ' ')" = ' 2 (found 1003)' ] || { cat said; exit 1; }
    "$aliquot" report --live --tree none d.ctf >out
    grep -A2 '^LIVE' out >top
    has 'index-word +demo\.scm:[0-9]+ ← ' top
    "$aliquot" report --allocated --tree none d.ctf >out
    grep -A2 '^ALLOCATED' out >top
    has 'make-document +demo\.scm:[0-9]+ ← ' top
fi
