; ctak -- tak with a continuation for each call
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 18))

(define (ctak x y z)
  (call-with-current-continuation (lambda (k) (ctak-to k x y z))))

(define (ctak-to k x y z)
  (if (not (< y x))
      (k z)
      (call-with-current-continuation
       (lambda (k)
         (ctak-to k
                  (call-with-current-continuation
                   (lambda (k) (ctak-to k (- x 1) y z)))
                  (call-with-current-continuation
                   (lambda (k) (ctak-to k (- y 1) z x)))
                  (call-with-current-continuation
                   (lambda (k) (ctak-to k (- z 1) x y))))))))

(display (ctak size (quotient (* size 2) 3) (quotient size 3)))
(newline)
