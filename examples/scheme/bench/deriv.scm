; deriv -- symbolic derivatives: small lists, assq, recursion
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 300000))

(define (derive-all list) (map derive list))

(define (derive e)
  (cond ((not (pair? e)) (if (eq? e 'x) 1 0))
        ((eq? (car e) '+) (cons '+ (derive-all (cdr e))))
        ((eq? (car e) '-) (cons '- (derive-all (cdr e))))
        ((eq? (car e) '*)
         (list '* e
               (cons '+ (map (lambda (f) (list '/ (derive f) f)) (cdr e)))))
        ((eq? (car e) '/)
         (list '- (list '/ (derive (cadr e)) (caddr e))
               (list '/ (cadr e)
                     (list '* (caddr e) (caddr e) (derive (caddr e))))))
        (else (error "cannot derive" e))))

(define (atoms e)
  (cond ((pair? e) (+ (atoms (car e)) (atoms (cdr e))))
        ((null? e) 0)
        (else 1)))

(let loop ((i 0) (sum 0))
  (if (< i size)
      (loop (+ i 1)
            (+ sum (atoms (derive '(+ (* 3 x x) (* a x x) (* b x) (/ 5 x))))))
      (begin (display sum) (newline))))
