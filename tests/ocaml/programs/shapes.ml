(* Shapes of blocks that the collector must know: mutually recursive closures
   (infix headers), lazy values, floats, objects, strings, arrays, exceptions. *)
let rec even n = if n = 0 then true else odd (n - 1)
and odd n = if n = 0 then false else even (n - 1)

(* Closures that share a block and an environment. *)
let family seed =
  let state = ref seed in
  let rec a n = if n = 0 then !state else (incr state; b (n - 1))
  and b n = if n = 0 then !state + 1 else c (n - 1)
  and c n = if n = 0 then !state + 2 else a (n - 1) in
  [| a; b; c |]

class counter start = object
  val mutable n = start
  val cells = Array.make 3 (ref start)
  method next = n <- n + 1; cells.(n mod 3) := n; n
  method sum = Array.fold_left (fun s r -> s + !r) 0 cells
end

let kept = Array.make 1000 None

let () =
  let total = ref 0 in
  for round = 1 to 2000 do
    let fs = family round in
    kept.(round mod 1000) <- Some fs.(round mod 3);
    (match kept.((round * 7) mod 1000) with
     | Some f -> total := !total + f 10
     | None -> ());
    let l = lazy (List.init 20 (fun i -> float_of_int (i * round))) in
    total := !total + int_of_float (List.fold_left (+.) 0. (Lazy.force l));
    let o = new counter round in
    for _ = 1 to 5 do ignore o#next done;
    total := !total + o#sum;
    let s = String.concat "," (List.map string_of_int [round; !total]) in
    total := !total + String.length s;
    let m = Array.make_matrix 10 10 round in
    m.(3).(4) <- !total;
    total := (!total + m.(3).(4)) land 0xFFFFFFF;
    (try raise (Failure s) with Failure t -> total := !total + String.length t)
  done;
  Gc.compact ();
  Array.iter (function Some f -> total := !total + f 3 | None -> ()) kept;
  Printf.printf "%b %d\n" (even 1000) !total
