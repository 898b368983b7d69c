;; Limits on procedures: what each is stopped by, and what is not stopped
(define (build n)
  (let loop ((l '()) (i 0)) (if (= i n) l (loop (cons i l) (+ i 1)))))
(define (forever) (forever))
(define small? (pair? (cdr (command-line)))) ; where each step is slow
(define much (if small? 1000000 20000000))
(define (grow l) (grow (cons l l)))
(define (say x) (write x) (newline))
(define (try limits thunk) ; its value, or by what it was stopped
  (guard (e ((limit-reached? e) (list 'by (car (error-object-irritants e)))))
    (with-limits limits thunk)))
(define (message thunk) (guard (e (#t (error-object-message e))) (thunk)))

; Each kind.
(say (try '((words . 1000)) (lambda () (length (build 1000)))))
(say (try '((seconds . .05)) forever))
(say (try '((cpu-seconds . .05)) forever))
(say (try '((polls . 1000)) forever))
(say (try (list (cons 'heap-bytes much)) (lambda () (grow '()))))
(say (try (list (cons 'live-words (quotient much 20)))
          (lambda () (grow '()))))
(say (try '((seconds . 1000) (words . 10000)) (lambda () (grow '()))))

; Not reached: the value, or what the procedure throws.
(say (try '((words . 1000000)) (lambda () (length (build 1000)))))
(say (try '((words . 1e30)) (lambda () (length (build 10000)))))
(say (try '((words . 0)) (lambda () 5)))
(say (try '() (lambda () 'no-limits)))
(say (call/cc (lambda (k)
                (with-limits '((words . 1000)) (lambda () (k 'left) 'not)))))
(say (message (lambda () (with-limits '((words . 9999)) (lambda () (car 1))))))

; Words are exact: a pair has three, and the next would be one too many.
(say (guard (e (#t (assq 'words (cdr (error-object-irritants e)))))
       (with-limits '((words . 100)) (lambda () (grow '())))))

; No handler of the procedure itself gets it.
(say (try '((words . 10000))
          (lambda () (guard (e (#t 'caught)) (grow '())) 'goes-on)))
(say (try '((words . 10000))
          (lambda ()
            (call-with-handler (lambda (e) (forever)) (lambda () (grow '()))))))

; One in the other: the inner one is stopped, or both are.
(define reached '())
(say (try '((words . 1000000))
          (lambda ()
            (set! reached (try '((words . 1000)) (lambda () (grow '()))))
            'goes-on)))
(say reached)
(say (try '((words . 1000))
          (lambda ()
            (try '((words . 1000000)) (lambda () (grow '())))
            'goes-on)))

; Again and again, and the memory comes back.
(do ((i 0 (+ i 1))) ((= i (if small? 3 10)))
  (if (not (equal? (try (list (cons 'heap-bytes much)) (lambda () (grow '())))
                   '(by heap-bytes)))
      (say 'not-stopped)))

; A table that is left anywhere is whole: no key is lost, none counted twice.
(define (whole? table)
  (let ((n (hash-table-count table)))
    (let loop ((i 0) (good? (= n (length (hash-table->alist table)))))
      (if (= i n)
          good?
          (loop (+ i 1)
                (and good? (eqv? (hash-table-ref/default table i #f) i)))))))
(define (fill! table i) (hash-table-set! table i i) (fill! table (+ i 1)))
(define (empty! table i) (hash-table-delete! table i) (empty! table (- i 1)))
(define (leave-after polls)
  (define table (make-hash-table))
  (define limits (list (cons 'polls polls)))
  (try limits (lambda () (fill! table 0)))
  (if (not (whole? table)) (say (list 'not-filled polls)))
  (try limits (lambda () (empty! table (- (hash-table-count table) 1))))
  (if (not (whole? table)) (say (list 'not-emptied polls)))
  (hash-table-count table))
(do ((polls 0 (+ polls 1))) ((= polls (if small? 100 1000)))
  (leave-after polls))
(say (> (leave-after 100000) 100))

; What is no limit.
(say (message (lambda () (with-limits '((words . -1)) forever))))
(say (message (lambda () (with-limits '((pages . 1)) forever))))
(say (message (lambda () (with-limits '((words . many)) forever))))
(say (message (lambda () (with-limits 5 forever))))

; A script ends where a limit is reached that nobody handles.
(with-limits '((words . 1000)) (lambda () (grow '())))
(say 'never)
