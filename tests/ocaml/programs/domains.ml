(* Several domains: allocation, shared structures, effects, lazy values, ends. *)
type tree = Leaf | Node of tree * tree
let rec tree n = if n = 0 then Leaf else Node (tree (n - 1), tree (n - 1))
let rec count = function Leaf -> 1 | Node (l, r) -> 1 + count l + count r

let () =
  let work i () =
    let total = ref 0 in
    for _ = 1 to 20 do total := !total + count (tree (8 + i)) done;
    !total in
  let ds = List.init 4 (fun i -> Domain.spawn (work i)) in
  Printf.printf "%s\n"
    (String.concat " " (List.map (fun d -> string_of_int (Domain.join d)) ds))

let () =
  let shared = Atomic.make [] in
  let push x =
    let rec go () =
      let old = Atomic.get shared in
      if not (Atomic.compare_and_set shared old (x :: old)) then go () in
    go () in
  let ds = List.init 3 (fun i -> Domain.spawn (fun () ->
    for k = 1 to 5000 do push (string_of_int (k * 3 + i)) done)) in
  for _ = 1 to 5 do Gc.full_major () done;
  List.iter Domain.join ds;
  Printf.printf "%d %d\n" (List.length (Atomic.get shared))
    (List.fold_left (fun s x -> s + int_of_string x) 0 (Atomic.get shared))

let () =
  let lazies = Array.init 2000 (fun i -> lazy (i * 2)) in
  Gc.full_major ();
  let force i = Array.fold_left (fun s l ->
    s + Lazy.force l) i lazies in
  let sum = force 0 in
  let ds = List.init 2 (fun i -> Domain.spawn (fun () -> force i)) in
  Printf.printf "%d %s\n" sum
    (String.concat " " (List.map (fun d -> string_of_int (Domain.join d)) ds))

let () =
  let d = Domain.spawn (fun () -> failwith "in a domain") in
  (try Domain.join d with Failure s -> print_endline s);
  let key = Domain.DLS.new_key (fun () -> 5) in
  Domain.DLS.set key 7;
  let d = Domain.spawn (fun () -> Domain.DLS.get key) in
  let v = Domain.join d in
  Printf.printf "%d %d\n" v (Domain.DLS.get key);
  for i = 1 to 200 do
    ignore (Domain.join (Domain.spawn (fun () -> List.init i string_of_int)))
  done;
  print_endline "200 domains"

type _ Effect.t += Yield : unit Effect.t
let () =
  let open Effect.Deep in
  let run i () =
    let n = ref 0 in
    match_with (fun () -> for _ = 1 to 2000 do Effect.perform Yield done) ()
      { retc = (fun () -> ()); exnc = raise;
        effc = (fun (type a) (e : a Effect.t) ->
          match e with
          | Yield -> Some (fun (k : (a, _) continuation) ->
              incr n;
              ignore (Sys.opaque_identity (List.init 20 (fun x -> x + i)));
              continue k ())
          | _ -> None) };
    !n in
  let ds = List.init 3 (fun i -> Domain.spawn (run i)) in
  Printf.printf "%d\n" (List.fold_left (fun s d -> s + Domain.join d) 0 ds)

(* What a domain has stored into an old array, last of all, outlives it. *)
let () =
  let ok = ref true in
  for round = 1 to 100 do
    let a = Array.make 300 None in
    Gc.minor ();
    Domain.join (Domain.spawn (fun () ->
      Array.fill a 0 300 (Some (string_of_int round))));
    ignore (Sys.opaque_identity (List.init 1000 string_of_int));
    Gc.minor ();
    ignore (Sys.opaque_identity (List.init 1000 string_of_int));
    ok := !ok && Array.for_all (fun x -> x = Some (string_of_int round)) a
  done;
  Printf.printf "%b\n" !ok
