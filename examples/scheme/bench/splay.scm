; splay -- a search tree that is rebuilt at each access: what lives changes
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 60000))

; a node: key, left, right
(define (node key left right) (vector key left right))
(define (key t) (vector-ref t 0))
(define (left t) (vector-ref t 1))
(define (right t) (vector-ref t 2))

; The tree split at a key, as a pair: all smaller, all others.
(define (split t k)
  (cond ((null? t) (cons '() '()))
        ((< (key t) k)
         (let ((parts (split (right t) k)))
           (cons (node (key t) (left t) (car parts)) (cdr parts))))
        (else
         (let ((parts (split (left t) k)))
           (cons (car parts) (node (key t) (cdr parts) (right t)))))))

(define (insert t k)
  (let ((parts (split t k)))
    (node k (car parts) (cdr parts))))

(define (join a b)
  (cond ((null? a) b)
        ((null? b) a)
        (else (node (key a) (left a) (join (right a) b)))))

(define (remove t k)
  (cond ((null? t) t)
        ((= k (key t)) (join (left t) (right t)))
        ((< k (key t)) (node (key t) (remove (left t) k) (right t)))
        (else (node (key t) (left t) (remove (right t) k)))))

(define (count t) (if (null? t) 0 (+ 1 (count (left t)) (count (right t)))))
(define (sum t) (if (null? t) 0 (+ (key t) (sum (left t)) (sum (right t)))))

(define seed 12345)
(define (next)
  (set! seed (modulo (+ (* seed 69069) 1) 4294967296))
  (quotient seed 8))

(define keys (make-vector 1000 0))
(define t '())
(do ((i 0 (+ i 1))) ((= i 1000))
  (vector-set! keys i (next))
  (set! t (insert t (vector-ref keys i))))
(do ((i 0 (+ i 1))) ((= i size))
  (let ((at (modulo i 1000)))
    (set! t (remove t (vector-ref keys at)))
    (vector-set! keys at (next))
    (set! t (insert t (vector-ref keys at)))))
(display (list (count t) (modulo (sum t) 1000003)))
(newline)
