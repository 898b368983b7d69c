; parses -- all parses of an ambiguous sentence, by a chart (after Earley)
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 13))

; sentence: n times "a"; grammar: S -> S S | a.  The chart has, for each span,
; the list of its trees.
(define (span-index i j) (+ (* i (+ size 1)) j))
(define chart (make-vector (* (+ size 1) (+ size 1)) '()))

(define (combine lefts rights done)
  (if (null? lefts)
      done
      (let loop ((r rights) (done done))
        (if (null? r)
            (combine (cdr lefts) rights done)
            (loop (cdr r) (cons (cons (car lefts) (car r)) done))))))

(define (fill! i j)
  (vector-set! chart (span-index i j)
               (if (= j (+ i 1))
                   '(a)
                   (let loop ((k (+ i 1)) (trees '()))
                     (if (= k j)
                         trees
                         (loop (+ k 1)
                               (combine (vector-ref chart (span-index i k))
                                        (vector-ref chart (span-index k j))
                                        trees)))))))

(define (parse!)
  (do ((width 1 (+ width 1))) ((> width size))
    (do ((i 0 (+ i 1))) ((> (+ i width) size))
      (fill! i (+ i width)))))

(define (depth t)
  (if (pair? t)
      (let ((l (depth (car t))) (r (depth (cdr t)))) (+ 1 (if (> l r) l r)))
      0))

(parse!)
(let ((trees (vector-ref chart (span-index 0 size))))
  (display (list (length trees)
                 (let loop ((t trees) (sum 0))
                   (if (null? t) sum (loop (cdr t) (+ sum (depth (car t))))))))
  (newline))
