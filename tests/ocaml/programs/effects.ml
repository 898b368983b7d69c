(* Effects: fibers that live long, in old continuations, and are dropped. *)
open Effect
open Effect.Deep
type _ Effect.t += Yield : int -> unit Effect.t | Ask : int Effect.t

let rec produce n = if n > 0 then (perform (Yield n); produce (n - 1))

type thread = Done | More of int * (unit, thread) continuation

let start f =
  match_with f ()
    { retc = (fun () -> Done); exnc = raise;
      effc = (fun (type a) (e : a Effect.t) ->
        match e with
        | Yield n -> Some (fun (k : (a, _) continuation) -> More (n, k))
        | _ -> None) }

let () =
  let threads = Array.init 200 (fun i -> start (fun () -> produce (100 + i))) in
  let sum = ref 0 and live = ref 200 in
  while !live > 0 do
    live := 0;
    Array.iteri (fun i t ->
      match t with
      | Done -> ()
      | More (n, k) ->
        incr live;
        sum := !sum + n;
        let garbage = List.init 50 string_of_int in
        ignore (Sys.opaque_identity garbage);
        threads.(i) <- continue k ()) threads;
    if !live mod 50 = 0 then Gc.full_major () else Gc.minor ()
  done;
  Printf.printf "%d\n" !sum

let () =
  let depth = ref 0 in
  let rec nest n =
    if n = 0 then perform Ask
    else
      match_with (fun () -> nest (n - 1)) ()
        { retc = (fun v -> incr depth; v + 1); exnc = raise;
          effc = (fun (type a) (_ : a Effect.t) -> None) } in
  let v =
    match_with (fun () -> nest 1000) ()
      { retc = (fun v -> v); exnc = raise;
        effc = (fun (type a) (e : a Effect.t) ->
          match e with
          | Ask -> Some (fun (k : (a, _) continuation) ->
              Gc.full_major (); continue k 41)
          | _ -> None) } in
  Printf.printf "%d %d\n" v !depth;
  (match start (fun () -> produce 3) with
   | More (_, k) -> (try ignore (discontinue k Exit) with Exit -> print_endline "exit")
   | Done -> ())
