; floats -- n bodies in doubles, each of which is a block
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 40000))

(define n 5)
(define position (make-vector (* 3 n) 0.))
(define speed (make-vector (* 3 n) 0.))
(define mass (vector 39.47 .0377 .0113 .0017 .002))
(do ((i 0 (+ i 1))) ((= i (* 3 n)))
  (vector-set! position i (* 10. (sin (+ i 1.))))
  (vector-set! speed i (* .5 (cos (* 2. i)))))

(define (attract! a b dt)
  (let* ((dx (- (vector-ref position (* 3 a)) (vector-ref position (* 3 b))))
         (dy (- (vector-ref position (+ (* 3 a) 1))
                (vector-ref position (+ (* 3 b) 1))))
         (dz (- (vector-ref position (+ (* 3 a) 2))
                (vector-ref position (+ (* 3 b) 2))))
         (d2 (+ (* dx dx) (* dy dy) (* dz dz) .01))
         (f (/ dt (* d2 (sqrt d2)))))
    (define (push! i k by)
      (vector-set! speed (+ (* 3 i) k) (+ (vector-ref speed (+ (* 3 i) k)) by)))
    (let ((fa (* f (vector-ref mass b))) (fb (* f (vector-ref mass a))))
      (push! a 0 (- (* dx fa)))
      (push! a 1 (- (* dy fa)))
      (push! a 2 (- (* dz fa)))
      (push! b 0 (* dx fb))
      (push! b 1 (* dy fb))
      (push! b 2 (* dz fb)))))

(define (step! dt)
  (do ((a 0 (+ a 1))) ((= a n))
    (do ((b (+ a 1) (+ b 1))) ((= b n)) (attract! a b dt)))
  (do ((i 0 (+ i 1))) ((= i (* 3 n)))
    (vector-set! position i
                 (+ (vector-ref position i) (* dt (vector-ref speed i))))))

; The sum of all momenta stays what it is: the check.
(define (momentum k)
  (let loop ((i 0) (sum 0.))
    (if (= i n)
        sum
        (loop (+ i 1) (+ sum (* (vector-ref mass i)
                                (vector-ref speed (+ (* 3 i) k))))))))

(define before (momentum 0))
(do ((i 0 (+ i 1))) ((= i size)) (step! .001))
(display (list size (< (abs (- (momentum 0) before)) 1e-6)))
(newline)
