(* effects LENGTH ROUNDS -- sequences with effects: generators turned into
   sequences, merged, beside a scheduler with many fibers that wait *)
open Effect
open Effect.Deep

type _ Effect.t += Yield : int -> unit Effect.t | Pause : unit Effect.t

let sequence generate () =
  match_with generate ()
    { retc = (fun () -> Seq.Nil); exnc = raise;
      effc = (fun (type a) (e : a Effect.t) -> match e with
        | Yield x ->
          Some (fun (k : (a, _) continuation) ->
              Seq.Cons (x, fun () -> continue k ()))
        | _ -> None) }

type tree = Empty | Node of tree * int * tree
let rec tree from upto =
  if from > upto then Empty
  else
    let m = (from + upto) / 2 in
    let l = tree from (m - 1) in
    Node (l, m, tree (m + 1) upto)
let rec walk = function
  | Empty -> ()
  | Node (l, x, r) -> walk l; perform (Yield x); walk r

let rec merge a b () = match a (), b () with
  | Seq.Nil, _ | _, Seq.Nil -> Seq.Nil
  | Seq.Cons (x, a), Seq.Cons (y, b) -> Seq.Cons (x + y, merge a b)

(* Round robin: each fiber keeps a little list while it waits. *)
let scheduler fibers steps =
  let ready = Queue.create () and sum = ref 0 in
  let fiber i () =
    let kept = ref [] in
    for s = 1 to steps do
      kept := (i + s) :: !kept;
      perform Pause
    done;
    sum := !sum + List.fold_left ( + ) 0 !kept in
  let run f =
    match_with f ()
      { retc = ignore; exnc = raise;
        effc = (fun (type a) (e : a Effect.t) -> match e with
          | Pause ->
            Some (fun (k : (a, _) continuation) ->
                Queue.add (fun () -> continue k ()) ready)
          | _ -> None) } in
  for i = 1 to fibers do Queue.add (fun () -> run (fiber i)) ready done;
  while not (Queue.is_empty ready) do (Queue.pop ready) () done;
  !sum

let () =
  let length = Kit.arg 1 and sum = ref 0 in
  let t = tree 1 length in
  for _ = 1 to Kit.arg 2 do
    let walks () = sequence (fun () -> walk t) in
    sum := Seq.fold_left ( + ) !sum (merge (walks ()) (walks ()));
    sum := !sum + scheduler (length / 20) 20
  done;
  Printf.printf "sum %d\n" !sum
