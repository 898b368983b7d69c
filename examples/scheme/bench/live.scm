; live -- keeps MiB of lists, vectors and strings alive while it goes on
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 1024))

; A bundle is 1 MiB: 64 rows of 16 KiB, each of pairs, a vector and a string.
(define (row i)
  (list (let loop ((k 0) (list '())) (if (= k 340) list (loop (+ k 1) (cons (+ i k) list))))
        (make-vector 511 i)
        (make-string 4087 (integer->char (+ 65 (modulo i 26))))))

(define (bundle i)
  (let loop ((k 0) (rows '()))
    (if (= k 64) rows (loop (+ k 1) (cons (row (+ (* 64 i) k)) rows)))))

(define all (make-vector size '()))
(do ((i 0 (+ i 1))) ((= i size)) (vector-set! all i (bundle i)))

; One bundle in four is replaced, twice, among garbage; then all are read.
(do ((i 0 (+ i 1))) ((= i (quotient size 2)))
  (vector-set! all (modulo (* 4 i) size) (bundle (modulo (* 4 i) size))))

(define (check-row row)
  (+ (car (car row)) (vector-ref (cadr row) 510)
     (char->integer (string-ref (caddr row) 4086))))
(define (sum list f)
  (let loop ((list list) (n 0)) (if (null? list) n (loop (cdr list) (+ n (f (car list)))))))
(define total 0)
(do ((i 0 (+ i 1))) ((= i size))
  (set! total (+ total (sum (vector-ref all i) check-row))))
(display (list size total))
(newline)
