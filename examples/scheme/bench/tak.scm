; tak -- calls and small integers (Takeuchi's function, as in Gabriel's set)
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 24))

(define (tak x y z)
  (if (not (< y x))
      z
      (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y))))

(display (tak size (quotient (* size 2) 3) (quotient size 3)))
(newline)
