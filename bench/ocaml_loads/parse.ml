(* parse LINES ROUNDS -- a parser with an explicit stack and positions, as
   parser generators make them, over a text of assignments and calls

   The stack is a list of cells, each with a state, a semantic value and two
   positions.  Each round reads the text anew; the last tree stays. *)
type position = { line : int; column : int; offset : int }
type token = Int of int | Name of string | Op of char | Open | Close | Comma
           | Equal | Semi | End
type expression =
  | Number of int
  | Variable of string
  | Binary of char * located * located
  | Call of string * located list
and located = { e : expression; from : position; upto : position }
type statement = { name : string; value : located; at : position }

(* ---- tokens ---- *)
type lexer = { text : string; mutable i : int; mutable line : int;
               mutable start : int }
let here l = { line = l.line; column = l.i - l.start; offset = l.i }
let is_name c = (c >= 'a' && c <= 'z') || c = '_'
let is_digit c = c >= '0' && c <= '9'
let rec skip l =
  if l.i < String.length l.text then
    match l.text.[l.i] with
    | ' ' -> l.i <- l.i + 1; skip l
    | '\n' -> l.i <- l.i + 1; l.line <- l.line + 1; l.start <- l.i; skip l
    | _ -> ()
let span l is =
  let from = l.i in
  while l.i < String.length l.text && is l.text.[l.i] do l.i <- l.i + 1 done;
  String.sub l.text from (l.i - from)
let next l =
  skip l;
  let from = here l in
  let single t = l.i <- l.i + 1; t in
  let token =
    if l.i >= String.length l.text then End
    else match l.text.[l.i] with
      | '(' -> single Open | ')' -> single Close | ',' -> single Comma
      | '=' -> single Equal | ';' -> single Semi
      | c when is_digit c -> Int (int_of_string (span l is_digit))
      | c when is_name c -> Name (span l is_name)
      | c -> single (Op c) in
  (token, from, here l)

(* ---- the stack ---- *)
type semantic = Expression of located | Operator of char
              | Arguments of string * located list | Mark
type state = Operand | After | Paren | Argument
type cell = { state : state; semantic : semantic; from : position;
              upto : position; below : cell option }

let strength = function '+' | '-' -> 1 | _ -> 2
exception Syntax of position

(* Reduces what binds at least as strongly. *)
let rec reduce strong stack = match stack with
  | Some { semantic = Expression r;
           below = Some { semantic = Operator op;
                          below = Some ({ semantic = Expression l; _ } as c);
                          _ }; _ }
    when strength op >= strong ->
    let e = { e = Binary (op, l, r); from = l.from; upto = r.upto } in
    reduce strong (Some { c with semantic = Expression e; upto = r.upto })
  | _ -> stack

let push state semantic from upto below =
  Some { state; semantic; from; upto; below }

let rec expression l stack (token, from, upto) = match token with
  | Int n ->
    let e = { e = Number n; from; upto } in
    after l (push Operand (Expression e) from upto stack) (next l)
  | Name name ->
    (match next l with
     | Open, _, _ ->
       expression l (push Argument (Arguments (name, [])) from upto stack)
         (next l)
     | following ->
       let e = { e = Variable name; from; upto } in
       after l (push Operand (Expression e) from upto stack) following)
  | Open -> expression l (push Paren Mark from upto stack) (next l)
  | _ -> raise (Syntax from)
and after l stack ((token, from, upto) as following) = match token with
  | Op c ->
    let stack = reduce (strength c) stack in
    expression l (push After (Operator c) from upto stack) (next l)
  | Close | Comma ->
    (match reduce 0 stack, token with
     | Some { semantic = Expression e;
              below = Some { semantic = Mark; below; from; _ }; _ }, Close ->
       after l (push Operand (Expression e) from upto below) (next l)
     | Some { semantic = Expression e;
              below = Some { semantic = Arguments (name, es); below; from; _ };
              _ }, Close ->
       let e = { e = Call (name, List.rev (e :: es)); from; upto } in
       after l (push Operand (Expression e) from upto below) (next l)
     | Some { semantic = Expression e;
              below = Some ({ semantic = Arguments (name, es); _ } as c); _ },
       Comma ->
       expression l (Some { c with semantic = Arguments (name, e :: es) })
         (next l)
     | _ -> raise (Syntax from))
  | Semi ->
    (match reduce 0 stack with
     | Some { semantic = Expression e; below = None; _ } -> e
     | _ -> raise (Syntax from))
  | _ -> ignore following; raise (Syntax from)

let rec statements l done_ = match next l with
  | End, _, _ -> List.rev done_
  | Name name, at, _ ->
    (match next l with
     | Equal, _, _ ->
       let value = expression l None (next l) in
       statements l ({ name; value; at } :: done_)
     | _, from, _ -> raise (Syntax from))
  | _, from, _ -> raise (Syntax from)

(* ---- the text ---- *)
let rec write b depth =
  match if depth = 0 then Kit.random 2 else Kit.random 6 with
  | 0 -> Buffer.add_string b (string_of_int (Kit.random 100000))
  | 1 ->
    for _ = 0 to Kit.random 8 do
      Buffer.add_char b (Char.chr (97 + Kit.random 26))
    done
  | 2 ->
    Buffer.add_char b '('; write b (depth - 1); Buffer.add_char b ')'
  | 3 ->
    Buffer.add_string b "call("; write b (depth - 1);
    for _ = 1 to Kit.random 3 do
      Buffer.add_string b ", "; write b (depth - 1)
    done;
    Buffer.add_char b ')'
  | k ->
    write b (depth - 1);
    Buffer.add_string b (if k = 4 then " + " else " * ");
    write b (depth - 1)

let text lines =
  let b = Buffer.create 65536 in
  for _ = 1 to lines do
    Buffer.add_string b "value = "; write b 5; Buffer.add_string b ";\n"
  done;
  Buffer.contents b

let rec size e = match e.e with
  | Number _ | Variable _ -> 1
  | Binary (_, l, r) -> 1 + size l + size r
  | Call (_, es) -> List.fold_left (fun n e -> n + size e) 1 es

let () =
  let text = text (Kit.arg 1) and last = ref [] in
  for _ = 1 to Kit.arg 2 do
    last := statements { text; i = 0; line = 1; start = 0 } []
  done;
  Printf.printf "statements %d nodes %d\n" (List.length !last)
    (List.fold_left (fun n s -> n + size s.value) 0 !last)
