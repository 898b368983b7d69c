; destruct -- old lists that are changed in place: stores, the barrier
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 3000))

(define (make-row n)
  (let loop ((i 0) (row '()))
    (if (= i n) row (loop (+ i 1) (cons i row)))))

(define rows
  (let loop ((i 0) (rows '()))
    (if (= i 40) rows (loop (+ i 1) (cons (make-row 50) rows)))))

; The first half of a row gets new cells, the second is turned round in place.
(define (turn! list)
  (let loop ((list list) (done '()))
    (if (null? list)
        done
        (let ((rest (cdr list)))
          (set-cdr! list done)
          (loop rest list)))))

(define (change! row step)
  (let loop ((cell row) (i 0))
    (if (= i 25)
        (set-cdr! cell (turn! (cdr cell)))
        (begin
          (set-car! cell (modulo (+ (car cell) step i) 1009))
          (set-cdr! cell (cons (modulo (* (cadr cell) 3) 1009) (cddr cell)))
          (loop (cdr cell) (+ i 1))))))

(define (sum list) (let loop ((l list) (n 0)) (if (null? l) n (loop (cdr l) (+ n (car l))))))

(do ((step 0 (+ step 1))) ((= step size))
  (for-each (lambda (row) (change! row step)) rows))
(display (sum (map sum rows)))
(newline)
