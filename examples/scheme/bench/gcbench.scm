; gcbench -- trees made top down and bottom up, beside one that lives long
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 16))

(define (tree depth)
  (if (= depth 0) (vector '() '()) (vector (tree (- depth 1)) (tree (- depth 1)))))

(define (populate! node depth)
  (if (> depth 0)
      (begin
        (vector-set! node 0 (vector '() '()))
        (vector-set! node 1 (vector '() '()))
        (populate! (vector-ref node 0) (- depth 1))
        (populate! (vector-ref node 1) (- depth 1)))))

(define (nodes t)
  (if (null? (vector-ref t 0))
      1
      (+ 1 (nodes (vector-ref t 0)) (nodes (vector-ref t 1)))))

(define (tree-size depth) (- (expt 2 (+ depth 1)) 1))

(define long-lived (vector '() '()))
(populate! long-lived size)
(define numbers (make-vector (tree-size size) 0.))
(do ((i 0 (+ i 1))) ((= i (vector-length numbers)))
  (vector-set! numbers i (/ 1. (+ i 1))))

(define made 0)
(do ((depth 4 (+ depth 2))) ((> depth size))
  (do ((i (quotient (* 2 (tree-size size)) (tree-size depth)) (- i 1))) ((= i 0))
    (let ((top-down (vector '() '())))
      (populate! top-down depth)
      (set! made (+ made (nodes top-down) (nodes (tree depth)))))))

(display (list made (nodes long-lived) (vector-ref numbers 3)))
(newline)
