; nqueens -- lists that are made and dropped: all solutions, counted
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 10))

(define (safe? column distance placed)
  (or (null? placed)
      (let ((other (car placed)))
        (and (not (= other (+ column distance)))
             (not (= other (- column distance)))
             (safe? column (+ distance 1) (cdr placed))))))

; columns: still to try in this row; passed: those that were tried
(define (count columns passed placed)
  (if (null? columns)
      (if (null? passed) 1 0)
      (+ (if (safe? (car columns) 1 placed)
             (count (append (cdr columns) passed) '()
                    (cons (car columns) placed))
             0)
         (count-rest columns passed placed))))

(define (count-rest columns passed placed)
  (if (null? (cdr columns))
      0
      (count (cdr columns) (cons (car columns) passed) placed)))

(define (numbers n) (if (= n 0) '() (cons n (numbers (- n 1)))))

(display (count (numbers size) '() '()))
(newline)
