; prelude.scm -- what is written in Scheme itself; part of the program

(define (caar x) (car (car x)))
(define (cdar x) (cdr (car x)))
(define (cddr x) (cdr (cdr x)))
(define (caddr x) (car (cddr x)))
(define (cdddr x) (cdr (cddr x)))
(define (cadddr x) (car (cdddr x)))
(define (cddddr x) (cdr (cdddr x)))

;---- syntax; each macro is given its use as a form.  cons and append stand in
; what quasiquote makes as themselves, whatever the program calls by their names

(define-syntax let*
  (lambda (form)
    (if (null? (cadr form))
        (cons 'let (cons '() (cddr form)))
        (list 'let (list (car (cadr form)))
              (cons 'let* (cons (cdr (cadr form)) (cddr form)))))))

(define-syntax cond
  (lambda (form)
    (if (null? (cdr form))
        '(if #f #f)
        (let ((clause (cadr form)) (more (cons 'cond (cddr form))))
          (if (not (and (list? clause) (pair? clause)))
              (error "cond: a clause that is no list" form))
          (if (eq? (car clause) 'else)
              (cons 'begin (cdr clause))
              (if (null? (cdr clause))
                  (list 'or (car clause) more)
                  (if (eq? (cadr clause) '=>)
                      (list 'let (list (list '%value (car clause)))
                            (list 'if '%value (list (caddr clause) '%value)
                                  more))
                      (list 'if (car clause) (cons 'begin (cdr clause))
                            more))))))))

(define (%quasi x level)
  (cond ((not (pair? x)) (list 'quote x))
        ((and (eq? (car x) 'unquote) (pair? (cdr x)))
         (if (= level 1) (cadr x) (%quasi-pair x (- level 1))))
        ((and (eq? (car x) 'quasiquote) (pair? (cdr x)))
         (%quasi-pair x (+ level 1)))
        ((and (pair? (car x)) (eq? (caar x) 'unquote-splicing) (= level 1))
         (list append (cadr (car x)) (%quasi (cdr x) level)))
        (else (%quasi-pair x level))))

(define (%quotes? form x)
  (and (pair? form) (eq? (car form) 'quote) (eq? (cadr form) x)))

(define (%quasi-pair x level)
  (let ((first (%quasi (car x) level)) (rest (%quasi (cdr x) level)))
    (if (and (%quotes? first (car x)) (%quotes? rest (cdr x)))
        (list 'quote x)
        (list cons first rest))))

(define-syntax quasiquote (lambda (form) (%quasi (cadr form) 1)))

(define-syntax when
  (lambda (form) `(if ,(cadr form) (begin ,@(cddr form)))))

(define-syntax unless
  (lambda (form) `(if ,(cadr form) #f (begin ,@(cddr form)))))

(define-syntax case
  (lambda (form)
    `(let ((%key ,(cadr form)))
       (cond ,@(map (lambda (clause)
                      (if (not (and (list? clause) (pair? clause)))
                          (error "case: a clause that is no list" form))
                      (if (eq? (car clause) 'else)
                          clause
                          `((memv %key ',(car clause)) ,@(cdr clause))))
                    (cddr form))))))

(define-syntax do
  (lambda (form)
    (if (not (and (list? form) (> (length form) 2) (list? (cadr form))
                  (pair? (caddr form))))
        (error "do: needs ((name value step) ...) and (test result ...)" form))
    `(let %loop ,(map (lambda (b) (list (car b) (cadr b))) (cadr form))
       (if ,(car (caddr form))
           (begin ,@(cdr (caddr form)))
           (begin
             ,@(cdddr form)
             (%loop ,@(map (lambda (b)
                             (if (pair? (cddr b)) (caddr b) (car b)))
                           (cadr form))))))))

; ---- lists

(define (map f list . more)
  (if (null? more)
      (let loop ((list list) (done '()))
        (if (pair? list)
            (loop (cdr list) (cons (f (car list)) done))
            (reverse done)))
      (let loop ((lists (cons list more)) (done '()))
        (if (memq '() lists)
            (reverse done)
            (loop (map cdr lists) (cons (apply f (map car lists)) done))))))

(define (for-each f list . more)
  (if (null? more)
      (let loop ((list list))
        (if (pair? list) (begin (f (car list)) (loop (cdr list)))))
      (apply map f list more)))

; ---- macros

(define (%pairs list)
  (do ((list list (cdr list)) (n 0 (+ n 1))) ((not (pair? list)) n)))

(define (%pattern-vars p literals)
  (cond ((symbol? p) (if (or (memq p literals) (eq? p '...)) '() (list p)))
        ((pair? p) (append (%pattern-vars (car p) literals)
                           (%pattern-vars (cdr p) literals)))
        (else '())))

; What the names of a pattern stand for, added to `found`; #f: it does not fit.
(define (%match p form literals found)
  (cond ((symbol? p)
         (cond ((memq p literals) (if (eq? p form) found #f))
               ((eq? p '_) found)
               (else (cons (cons p form) found))))
        ((pair? p)
         (if (and (pair? (cdr p)) (eq? (cadr p) '...))
             (%match-many p form literals found)
             (and (pair? form)
                  (let ((found (%match (car p) (car form) literals found)))
                    (and found
                         (%match (cdr p) (cdr form) literals found))))))
        (else (if (equal? p form) found #f))))

(define (%match-many p form literals found)
  (let loop ((form form) (rows '())
             (n (- (%pairs form) (%pairs (cddr p)))))
    (cond ((> n 0)
           (let ((row (%match (car p) (car form) literals '())))
             (and row (loop (cdr form) (cons row rows) (- n 1)))))
          ((< n 0) #f)
          (else
           (let ((rows (reverse rows)))
             (%match (cddr p) form literals
                     (append
                      (map (lambda (name)
                             (cons name
                                   (cons '%many
                                         (map (lambda (row)
                                                (cdr (assq name row)))
                                              rows))))
                           (%pattern-vars (car p) literals))
                      found)))))))

(define (%fill t found)
  (cond ((symbol? t) (let ((x (assq t found))) (if x (cdr x) t)))
        ((not (pair? t)) t)
        ((and (eq? (car t) '...) (pair? (cdr t))) (cadr t))
        ((and (pair? (cdr t)) (eq? (cadr t) '...))
         (append (%fill-many (car t) found) (%fill (cddr t) found)))
        (else (cons (%fill (car t) found) (%fill (cdr t) found)))))

(define (%fill-many t found)
  (let ((names (%pattern-vars t '())))
    (let loop ((columns (map (lambda (x) (cons (car x) (cddr x)))
                             (filter (lambda (x)
                                       (and (memq (car x) names)
                                            (pair? (cdr x))
                                            (eq? (cadr x) '%many)))
                                     found)))
               (done '()))
      (if (or (null? columns) (assoc '() (map (lambda (x) (list (cdr x)))
                                              columns)))
          (reverse done)
          (loop (map (lambda (x) (cons (car x) (cddr x))) columns)
                (cons (%fill t (append (map (lambda (x)
                                              (cons (car x) (cadr x)))
                                            columns)
                                       found))
                      done))))))

(define (%expand form literals rules)
  (if (null? rules)
      (error "no rule of the macro fits" form)
      (let ((found (%match (cdr (caar rules)) (cdr form) literals '())))
        (if found
            (%fill (cadr (car rules)) found)
            (%expand form literals (cdr rules))))))

; Not hygienic: names that a template adds mean what they mean at the use.
(define-syntax syntax-rules
  (lambda (form)
    `(lambda (%form) (%expand %form ',(cadr form) ',(cddr form)))))

(define-syntax define-record-type
  (lambda (form)
    (let* ((type (if (pair? (cadr form)) (car (cadr form)) (cadr form)))
           (maker (caddr form))
           (fields (map (lambda (f) (if (pair? f) f (list f)))
                        (cddddr form)))
           (names (map car fields)))
      (define (index name)
        (let loop ((names names) (i 1))
          (cond ((null? names) (error "no such field" name))
                ((eq? (car names) name) i)
                (else (loop (cdr names) (+ i 1))))))
      `(begin
         (define ,type ',type)
         ,@(if (pair? maker)
               `((define ,maker
                   (%record ',type
                            ,@(map (lambda (name)
                                     (if (memq name (cdr maker)) name #f))
                                   names))))
               '())
         (define (,(cadddr form) x) (%record? x ',type))
         ,@(apply append
                  (map (lambda (field)
                         (let ((i (index (car field))))
                           (append
                            (if (pair? (cdr field))
                                `((define (,(cadr field) x)
                                    (%record-ref x ',type ,i)))
                                '())
                            (if (and (pair? (cdr field)) (pair? (cddr field)))
                                `((define (,(caddr field) x v)
                                    (%record-set! x ',type ,i v)))
                                '()))))
                       fields))))))

(define-syntax let-values
  (syntax-rules ()
    ((_ () body ...) (let () body ...))
    ((_ ((names producer) more ...) body ...)
     (call-with-values (lambda () producer)
       (lambda names (let-values (more ...) body ...))))))

(define-syntax delay
  (syntax-rules () ((_ x) (%record '%promise #f (lambda () x)))))

(define (force p)
  (if (%record-ref p '%promise 1)
      (%record-ref p '%promise 2)
      (let ((v ((%record-ref p '%promise 2))))
        (if (not (%record-ref p '%promise 1))
            (begin (%record-set! p '%promise 1 #t)
                   (%record-set! p '%promise 2 v)))
        (%record-ref p '%promise 2))))

(define-syntax assert
  (syntax-rules () ((_ x) (if (not x) (error "assertion failed" 'x)))))

; ---- errors

; The machine calls it with what was raised, if there is a handler.
(define (%signal condition)
  (let ((handlers (%handlers)))
    (%set-handlers! (cdr handlers))
    ((car handlers) condition)
    (error "a handler returned, of an error that it cannot continue"
           condition)))

(define (raise-continuable x)
  (let ((handlers (%handlers)))
    (if (null? handlers) (raise x))
    (%set-handlers! (cdr handlers))
    (let ((v ((car handlers) x)))
      (%set-handlers! handlers)
      v)))

(define (with-exception-handler handler thunk)
  (let ((before (%handlers)))
    (%set-handlers! (cons handler before))
    (let ((v (thunk)))
      (%set-handlers! before)
      v)))

(define (error-object-message c) (%condition-ref c 0))
(define (error-object-irritants c) (%condition-ref c 1))

(define-syntax guard
  (lambda (form)
    (let ((var (car (cadr form))) (clauses (cdr (cadr form))))
      `((call/cc
         (lambda (%k)
           (with-exception-handler
            (lambda (,var)
              (%k (lambda ()
                    (cond ,@clauses
                          ,@(if (assq 'else clauses)
                                '()
                                `((else (raise ,var))))))))
            (lambda ()
              (let ((%v (let () ,@(cddr form))))
                (lambda () %v))))))))))

; ---- continuations

(define %winds '())
(define %call/cc call/cc)

(define (%rewind to)
  (cond ((eq? %winds to) #t)
        ((< (length %winds) (length to))
         (%rewind (cdr to))
         ((caar to))
         (set! %winds to))
        (else
         (let ((after (cdar %winds)))
           (set! %winds (cdr %winds))
           (after)
           (%rewind to)))))

(define (call/cc f)
  (let ((winds %winds))
    (%call/cc (lambda (k)
                (f (lambda (v)
                     (if (not (eq? %winds winds)) (%rewind winds))
                     (k v)))))))
(define call-with-current-continuation call/cc)

(define (dynamic-wind before thunk after)
  (before)
  (set! %winds (cons (cons before after) %winds))
  (let ((v (thunk)))
    (set! %winds (cdr %winds))
    (after)
    v))

(define (call-with-values producer consumer)
  (let ((v (producer)))
    (if (%values? v) (apply consumer (vector->list v)) (consumer v))))

; ---- numbers

(define (zero? x) (= x 0))
(define (positive? x) (> x 0))
(define (negative? x) (< x 0))
(define (even? n) (= (remainder n 2) 0))
(define (odd? n) (not (= (remainder n 2) 0)))
(define (abs x) (if (< x 0) (- x) x))
(define (square x) (* x x))
(define (bitwise-ior a b) (- (+ a b) (bitwise-and a b)))
(define (max x . more)
  (do ((x x (if (> (car more) x) (car more) x)) (more more (cdr more)))
      ((null? more) x)))
(define (min x . more)
  (do ((x x (if (< (car more) x) (car more) x)) (more more (cdr more)))
      ((null? more) x)))
(define (gcd a b) (if (= b 0) (abs a) (gcd b (remainder a b))))
(define (lcm a b) (if (= b 0) 0 (* (quotient (abs a) (gcd a b)) (abs b))))
(define (expt x n)
  (cond ((not (and (exact? n) (>= n 0))) (exp (* n (log x))))
        ((= n 0) 1)
        ((even? n) (expt (* x x) (quotient n 2)))
        (else (* x (expt x (- n 1))))))

; ---- lists

(define (list-tail list n)
  (do ((list list (cdr list)) (n n (- n 1))) ((= n 0) list)))
(define (list-ref list n) (car (list-tail list n)))
(define (list-copy list) (append list '()))
(define (iota n)
  (do ((i (- n 1) (- i 1)) (list '() (cons i list))) ((< i 0) list)))
(define (filter keep? list)
  (let loop ((list list) (done '()))
    (cond ((null? list) (reverse done))
          ((keep? (car list)) (loop (cdr list) (cons (car list) done)))
          (else (loop (cdr list) done)))))
(define (fold-left f x list)
  (do ((x x (f x (car list))) (list list (cdr list))) ((null? list) x)))
(define (fold-right f x list)
  (do ((x x (f (car list) x)) (list (reverse list) (cdr list)))
      ((null? list) x)))

(define (%merge a b before?)
  (let loop ((a a) (b b) (done '()))
    (cond ((null? a) (append (reverse done) b))
          ((null? b) (append (reverse done) a))
          ((before? (car b) (car a)) (loop a (cdr b) (cons (car b) done)))
          (else (loop (cdr a) b (cons (car a) done))))))

(define (sort list before?)
  (let sort-first ((list list) (n (length list)))
    (if (< n 2)
        (if (= n 0) '() (cons (car list) '()))
        (let ((half (quotient n 2)))
          (%merge (sort-first list half)
                  (sort-first (list-tail list half) (- n half))
                  before?)))))

; ---- vectors, strings, tables

(define (list->vector list)
  (let ((v (make-vector (length list) #f)))
    (do ((i 0 (+ i 1)) (list list (cdr list))) ((null? list) v)
      (vector-set! v i (car list)))))
(define (vector-map f v) (list->vector (map f (vector->list v))))
(define (vector-for-each f v)
  (do ((i 0 (+ i 1))) ((= i (vector-length v))) (f (vector-ref v i))))

(define (string . chars) (list->string chars))
(define (string>? a b) (string<? b a))
(define (char>? a b) (char<? b a))
(define (call-with-output-string f)
  (let ((port (open-output-string)))
    (f port)
    (get-output-string port)))
(define (write-string s . port) (apply display s port))
(define (write-char c . port) (apply display c port))

(define (hash-table-update! table key f make)
  (let* ((none (list 'none)) (v (hash-table-ref/default table key none)))
    (hash-table-set! table key (f (if (eq? v none) (make) v)))))
(define (hash-table-update!/default table key f v)
  (hash-table-set! table key (f (hash-table-ref/default table key v))))
(define (hash-table-keys table) (map car (hash-table->alist table)))
(define (hash-table-values table) (map cdr (hash-table->alist table)))
(define (hash-table-walk table f)
  (for-each (lambda (x) (f (car x) (cdr x))) (hash-table->alist table)))

; ---- files

(define (load name)
  (let ((port (open-input-file name)))
    (do ((form (read port) (read port))) ((eof-object? form))
      (eval form))
    (close-port port)))
(define (command-line) %arguments)
