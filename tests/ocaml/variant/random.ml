(* Random tasks in threads of several domains, in one another, with exceptions,
   masks, signals, finalisers and profiles between them.

   usage: random SEED SECONDS *)
module L = Aliquot.Limits
module R = Random.State

exception Mine
exception Wrong of string

let seed = int_of_string Sys.argv.(1)
let seconds = float_of_string Sys.argv.(2)
(* A heap that has had a profile collects in stops.  So half of the seeds have
   none, and no limit of live words, which is a profile, too. *)
let profiles = seed mod 2 = 0
let until = Unix.gettimeofday () +. seconds
let is_over () = Unix.gettimeofday () > until
let n_tasks = Atomic.make 0 and n_reached = Atomic.make 0
let acquired = Atomic.make 0 and released = Atomic.make 0
let shared = Atomic.make (L.Token.create ())
let check name b = if not b then raise (Wrong name)

type tree = Leaf | Node of tree * int * tree

let rec grow n = if n = 0 then Leaf else Node (grow (n - 1), n, grow (n - 1))
let rec size = function Leaf -> 0 | Node (l, _, r) -> 1 + size l + size r

(* What runs in a task whatever happens to it: whole or left by an exception. *)
let rec work r depth steps =
  for _ = 1 to steps do
    match R.int r 16 with
    | 0 -> check "a tree" (size (grow 8) = 255)
    | 1 -> Thread.yield ()
    | 2 -> ignore (Sys.opaque_identity (Bytes.create (R.int r 20_000)))
    | 3 -> if R.int r 20 = 0 then Gc.minor ()
    | 4 -> if R.int r 400 = 0 then Gc.full_major ()
    | 5 -> if R.int r 20 = 0 || is_over () then raise Mine
    | 6 -> if depth < 4 && not (is_over ()) then task r (depth + 1)
    | 7 -> (try work r depth (R.int r 10) with
        | Wrong _ as e -> raise e
        | _ when R.bool r -> ())
    | 8 ->
      L.Masking.with_resource ()
        ~acquire:(fun () -> ignore (grow 4); Atomic.incr acquired)
        ~scope:(fun () -> work r depth (R.int r 10))
        ~release:(fun () -> ignore (grow 4); Atomic.incr released)
    | 9 -> Gc.finalise (fun t -> if size t <> 3 then exit 3) (grow 2)
    | 10 -> L.Token.set (Atomic.get shared);
      Atomic.set shared (L.Token.create ())
    | 11 -> if R.int r 50 = 0 then Unix.kill (Unix.getpid ()) Sys.sigusr1
    | 12 -> if R.int r 10 = 0 then Unix.sleepf 1e-5
    | 13 ->
      ignore (Sys.opaque_identity
                Bigarray.(Array1.create char c_layout (R.int r 10_000)))
    | 14 ->
      let s = Marshal.to_string (grow 6) [] in
      check "a message" (size (Marshal.from_string s 0 : tree) = 63)
    | _ -> for i = 1 to R.int r 1000 do ignore (Sys.opaque_identity (ref i)) done
  done

and task r depth =
  let some p v = if R.int r 10 < p then Some (v ()) else None in
  let words = some 3 (fun () -> R.int r 200_000) in
  let token = some 2 (fun () -> Atomic.get shared) in
  let again =
    match R.int r 3 with
    | 0 -> L.Each
    | 1 -> L.Next_sample
    | _ -> L.After (R.int r 20_000) in
  match
    L.run ?words ?token ~again
      ?sampled_words:(some 2 (fun () -> R.int r 400_000))
      ?live_words:(if profiles then some 1 (fun () -> R.int r 400_000)
                   else None)
      ?time:(some 2 (fun () -> R.float r 0.005))
      ?cpu:(some 1 (fun () -> R.float r 0.005))
      ?heap_bytes:(some 1 (fun () -> 200_000_000))
      (fun () -> work r depth (R.int r 100); 42)
  with
  | o ->
    Atomic.incr n_tasks;
    if o.cause <> None then Atomic.incr n_reached;
    (match o.result with
     | Ok v ->
       check "a cause" (o.cause = None && v = 42);
       check "words" (match words with None -> true | Some w -> o.words <= w)
     | Error (Wrong _ as e) -> raise e
     | Error _ -> check "no cause" (o.cause <> None));
    check "sum" (o.words >= 0 && o.time >= 0.)
  | exception (Mine | L.Reached) -> Atomic.incr n_tasks

let rec thread r =
  task r 0;
  check "interrupted" (not (L.is_interrupted ()));
  check "blocked" (not (L.Masking.is_blocked ()));
  if not (is_over ()) then thread r

(* A profile for each domain, now and then. *)
let rec profile r =
  let keep = R.bool r in
  let note _ = if keep then Some () else None in
  let p =
    Gc.Memprof.start ~sampling_rate:1e-3 ~callstack_size:5
      { Gc.Memprof.null_tracker with alloc_minor = note; alloc_major = note } in
  for _ = 1 to 20 do Unix.sleepf 0.002; ignore (grow 6) done;
  Gc.Memprof.stop ();
  Gc.Memprof.discard p;
  if not (is_over ()) then profile r

let safely f r =
  try f r with
  | e ->
    Printf.eprintf "seed %d: %s\n%!" seed (Printexc.to_string e);
    exit 2

let domain i () =
  let start f k = Thread.create (safely f) (R.make [| seed; i; k |]) in
  List.iter Thread.join
    ((if profiles then [ start profile 0 ] else [])
     @ List.init 3 (fun k -> start thread (k + 1)))

let () =
  Sys.set_signal Sys.sigusr1
    (Sys.Signal_handle (fun _ -> check "a handler" (size (grow 5) = 31)));
  let all = List.init 2 (fun i -> Domain.spawn (domain (i + 1))) in
  domain 0 ();
  List.iter Domain.join all;
  check "released" (Atomic.get acquired = Atomic.get released);
  check "enough" (Atomic.get n_tasks > 100 && Atomic.get n_reached > 10);
  print_endline "whole"
