; demo.scm -- the Scheme program that ./dev demo records
;
; A small search engine: it makes documents of words, splits them, keeps an index
; from each word to the documents that have it, and answers questions.  The
; index lives on; documents, words and answers do not.  Words come from a
; generator with a fixed seed.

(define state 12345)

(define (dice sides)
  (set! state (modulo (* state 16807) 2147483647))
  (modulo (quotient state 64) sides))

(define syllables
  (vector "an" "ba" "cor" "du" "el" "fa" "gri" "ho" "in" "ju" "ka" "lo"))

(define (make-word)
  (string-append (vector-ref syllables (dice 12))
                 (vector-ref syllables (dice 12))
                 (vector-ref syllables (dice 12))))

(define (make-document words)
  (if (= words 0)
      ""
      (string-append (make-word) " " (make-document (- words 1)))))

(define (split-words text)
  (let loop ((at (- (string-length text) 1)) (end (string-length text)) (words '()))
    (cond ((< at 0) (if (< 0 end) (cons (substring text 0 end) words) words))
          ((char=? (string-ref text at) #\space)
           (loop (- at 1) at
                 (if (< (+ at 1) end)
                     (cons (substring text (+ at 1) end) words)
                     words)))
          (else (loop (- at 1) end words)))))

(define buckets 997)
(define index (make-vector buckets '()))

(define (hash word)
  (let loop ((i 0) (h 7))
    (if (= i (string-length word))
        (modulo h buckets)
        (loop (+ i 1)
              (modulo (+ (* h 31) (char->integer (string-ref word i))) 1000003)))))

(define (index-word word number)
  (let* ((bucket (hash word))
         (entry (assoc word (vector-ref index bucket))))
    (cond ((not entry)
           (vector-set! index bucket
                        (cons (list word number) (vector-ref index bucket))))
          ((not (= (cadr entry) number))
           (set-cdr! entry (cons number (cdr entry)))))))

(define (index-document number)
  (for-each (lambda (word) (index-word word number))
            (split-words (make-document 40))))

(define (documents-of word)
  (let ((entry (assoc word (vector-ref index (hash word)))))
    (if entry (cdr entry) '())))

(define (both a b)
  (cond ((null? a) '())
        ((memv (car a) b) (cons (car a) (both (cdr a) b)))
        (else (both (cdr a) b))))

(define (answer)
  (length (both (documents-of (make-word)) (documents-of (make-word)))))

(define (run documents)
  (let loop ((number 0) (found 0))
    (if (= number documents)
        found
        (begin
          (index-document number)
          (loop (+ number 1) (+ found (answer)))))))

(display (list 'found (run 2000)))
(newline)
