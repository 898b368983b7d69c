; words -- a hash table of counts, keyed by symbols, strings and lists
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 100000))

(define seed 42)
(define (random n)
  (set! seed (modulo (+ (* seed 69069) 1) 4294967296))
  (modulo (quotient seed 65536) n))

(define syllables (vector "ba" "ke" "li" "mo" "nu" "ra" "se" "ti" "wo" "xu"))
(define (word)
  (string-append (vector-ref syllables (random 10))
                 (vector-ref syllables (random 10))
                 (vector-ref syllables (random 10))))

(define table (make-hash-table))
(define (count! key)
  (hash-table-set! table key (+ 1 (hash-table-ref/default table key 0))))

(do ((i 0 (+ i 1))) ((= i size))
  (let ((w (word)))
    (count! w)
    (if (= 0 (modulo i 3)) (count! (string->symbol w)))
    (if (= 0 (modulo i 7)) (count! (list (substring w 0 2) i)))))

(define (total)
  (let loop ((list (hash-table->alist table)) (n 0) (largest 0))
    (if (null? list)
        (cons n largest)
        (loop (cdr list) (+ n (cdar list))
              (if (> (cdar list) largest) (cdar list) largest)))))
(display (list (hash-table-count table) (total)))
(newline)
