; strings -- texts built, cut, and compared
(define size
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 20000))

(define (digits n) (number->string n))

(define (line i)
  (string-append "line " (digits i) ": " (digits (* i i)) "; "
                 (substring "abcdefghijklmnopqrstuvwxyz" (modulo i 20)
                            (+ (modulo i 20) 6))))

(define (reverse-string s) (list->string (reverse (string->list s))))

(define (count-char s c)
  (let loop ((i 0) (n 0))
    (if (= i (string-length s))
        n
        (loop (+ i 1) (if (char=? (string-ref s i) c) (+ n 1) n)))))

(define port (open-output-string))
(define sum 0)
(do ((i 0 (+ i 1))) ((= i size))
  (let* ((s (line i)) (r (reverse-string s)))
    (set! sum (+ sum (count-char r #\1) (if (string<? r s) 1 0)))
    (display r port)))
(define all (get-output-string port))
(display (list sum (string-length all) (count-char all #\e)))
(newline)
