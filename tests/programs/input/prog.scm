(define (squares n) (if (= n 0) '() (cons (* n n) (squares (- n 1)))))
(display (apply + (squares 2000)))
(newline)
(display (string-length (apply string-append
  (map number->string (squares 500)))))
(newline)
