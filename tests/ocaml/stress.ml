(* stress SEED SECONDS -- domains, systhreads, effects, weak references,
   finalisers, lazy values, custom blocks, profiles and the Gc module, at
   random

   Each check is of the program's own: what a value must be is known from what
   it was made of.  Exits 1 and says what was wrong. *)

let seed = int_of_string Sys.argv.(1)
let seconds = float_of_string Sys.argv.(2)
let until = Unix.gettimeofday () +. seconds

let wrong what = Printf.eprintf "wrong: %s (seed %d)\n%!" what seed; exit 1
let check what b = if not b then wrong what

(* A value that says itself whether it is whole. *)
type item = { id : int; text : string; next : item option; sum : int;
              real : float; thunk : int Lazy.t; call : int -> int }

let item_of rng next =
  let id = Random.State.int rng 1_000_000 in
  let sum = id + (match next with Some i -> i.sum | None -> 0) in
  let rec even n = if n = 0 then id else odd (n - 1)
  and odd n = if n = 0 then -id else even (n - 1) in
  { id; text = String.make (1 + Random.State.int rng 40) 'x' ^ string_of_int id;
    next; sum; real = float_of_int id; thunk = lazy (id + 1);
    call = if id land 1 = 0 then even else odd }

let rec whole depth i =
  check "id" (i.real = float_of_int i.id);
  check "text" (String.length i.text > 0
                && String.ends_with ~suffix:(string_of_int i.id) i.text);
  (match Lazy.force i.thunk with
   | n -> check "thunk" (n = i.id + 1)
   | exception CamlinternalLazy.Undefined -> () (* another domain forces it *));
  check "call" (abs (i.call 6) = i.id);
  check "sum" (i.sum = i.id + (match i.next with Some n -> n.sum | None -> 0));
  match i.next with Some n when depth > 0 -> whole (depth - 1) n | _ -> ()

(* ---- shared by all domains ---------------------------------------------- *)

let slots = Array.init 256 (fun _ -> Atomic.make None)
let weak_lock = Mutex.create ()
let weak : item Weak.t = Weak.create 256
let ephes : (item, item) Ephemeron.K1.t array Atomic.t =
  Atomic.make [||]
let registered = Atomic.make 0
let finalised = Atomic.make 0

let chain rng =
  let rec go n next = if n = 0 then next
    else go (n - 1) (Some (item_of rng next)) in
  Option.get (go (1 + Random.State.int rng 20) None)

let put rng =
  let s = slots.(Random.State.int rng 256) in
  if Random.State.int rng 3 = 0 then begin
    match Atomic.get s with
    | Some i as old ->
      let n = Some (item_of rng (Some { i with next = None; sum = i.id })) in
      ignore (Atomic.compare_and_set s old n)
    | None -> ()
  end else Atomic.set s (Some (chain rng))

let get rng =
  match Atomic.get slots.(Random.State.int rng 256) with
  | Some i -> whole 30 i
  | None -> ()

let weak_work rng =
  let k = Random.State.int rng 256 in
  Mutex.protect weak_lock (fun () ->
    match Random.State.int rng 5 with
    | 0 -> Weak.set weak k (Some (chain rng))
    | 1 -> Weak.blit weak 0 weak 128 (Random.State.int rng 128)
    | 2 -> (match Weak.get_copy weak k with Some i -> whole 5 i | None -> ())
    | 3 -> ignore (Weak.check weak k)
    | _ -> (match Weak.get weak k with Some i -> whole 5 i | None -> ()))

let ephe_work rng =
  let keys = Array.init 50 (fun _ -> chain rng) in
  let es = Array.mapi (fun n k ->
    let e = Ephemeron.K1.make k (item_of rng (Some keys.((n + 1) mod 50))) in
    e) keys in
  Atomic.set ephes es;
  if Random.State.bool rng then Gc.minor ();
  if Random.State.int rng 10 = 0 then Gc.full_major ();
  Array.iteri (fun n k ->
    match Ephemeron.K1.query es.(n) k with
    | Some d ->
      whole 3 d;
      check "data" (Option.get d.next == keys.((n + 1) mod 50))
    | None -> wrong "an ephemeron lost its data") keys;
  Array.iter (fun e ->
    match Ephemeron.K1.query e keys.(0) with
    | Some d -> whole 2 d
    | None -> ()) (Atomic.get ephes)

let final_work rng =
  for _ = 1 to 20 do
    let i = chain rng in
    Atomic.incr registered;
    if Random.State.bool rng then
      Gc.finalise (fun i -> whole 3 i; Atomic.incr finalised) i
    else Gc.finalise_last (fun () -> Atomic.incr finalised) i
  done

(* ---- effects ------------------------------------------------------------ *)

type _ Effect.t += Yield : item -> item Effect.t
exception Drop

let fiber_work rng =
  let open Effect.Deep in
  let waiting = Array.make 32 None in
  let spawn k =
    match_with (fun () ->
        let mine = chain rng in
        for _ = 1 to 20 do
          let got = Effect.perform (Yield mine) in
          whole 3 mine; whole 3 got
        done) ()
      { retc = (fun () -> waiting.(k) <- None);
        exnc = (function Drop -> waiting.(k) <- None | e -> raise e);
        effc = (fun (type a) (e : a Effect.t) ->
          match e with
          | Yield i -> Some (fun (c : (a, unit) continuation) ->
              whole 2 i; waiting.(k) <- Some (i, (Obj.magic c
                : (item, unit) continuation)))
          | _ -> None) } in
  for _ = 1 to 200 do
    let k = Random.State.int rng 32 in
    (match waiting.(k) with
     | None -> spawn k
     | Some (_, c) ->
       waiting.(k) <- None;
       if Random.State.int rng 30 = 0 then discontinue c Drop
       else if Random.State.int rng 60 > 0 then continue c (chain rng));
    if Random.State.int rng 100 = 0 then Gc.minor ()
  done

(* ---- the rest ----------------------------------------------------------- *)

let big_work rng =
  let n = 1 + Random.State.int rng 3000 in
  let a = Array.init n (fun i -> string_of_int i) in
  let b = Bigarray.Array1.create Bigarray.int Bigarray.c_layout n in
  for i = 0 to n - 1 do b.{i} <- i done;
  Array.blit a 0 a (n / 2) (n - n / 2);
  let s = Marshal.to_string a [] in
  if Random.State.int rng 20 = 0 then Gc.compact ();
  let c : string array = Marshal.from_string s 0 in
  check "array" (c = a);
  check "bigarray" (b.{n - 1} = n - 1);
  let t = Hashtbl.create 16 in
  for i = 1 to n do Hashtbl.replace t (string_of_int (i land 255)) i done;
  check "table" (Hashtbl.length t = min n 256)

let thread_work rng =
  let total = Atomic.make 0 in
  let ts = List.init 3 (fun k ->
    let rng = Random.State.make [| seed; Random.State.bits rng; k |] in
    Thread.create (fun () ->
      for _ = 1 to 30 do
        get rng; put rng;
        if Random.State.int rng 5 = 0 then Thread.yield ()
      done;
      Atomic.incr total) ()) in
  List.iter Thread.join ts;
  check "threads" (Atomic.get total = 3)

(* Nothing of it escapes: no field of an old block gets a young value. *)
module Ids = Map.Make (Int)
exception Found of item

let alone_weak rng i =
  let w = Weak.create 3 in
  if Random.State.int rng 500 = 0 then Weak.set w 1 (Some i);
  match Weak.get w 1 with Some k -> check "weak" (k == i) | None -> ()

let alone_fiber rng i =
  let open Effect.Deep in
  let n = Random.State.int rng 10 in
  let rec go k before =
    if k > 0 then begin
      let got = Effect.perform (Yield i) in
      whole 2 before;
      go (k - 1) got
    end in
  try go n i with effect Yield i, c -> whole 2 i; continue c (chain rng)

let alone_work rng =
  let rec go n ids =
    if n > 0 then begin
      let i = chain rng in
      let few = Array.init (1 + Random.State.int rng 40)
          (fun _ -> item_of rng None) in
      Array.fill few 0 (Array.length few / 2) i;
      Array.iter (whole 2) few;
      alone_weak rng i;
      alone_fiber rng i;
      (match Ids.iter (fun id k -> if id = 255 then raise (Found k)) ids with
       | () -> ()
       | exception Found k -> whole 10 k);
      go (n - 1) (Ids.add (i.id land 255) i ids)
    end else Ids.iter (fun _ k -> whole 1 k) ids in
  go (Random.State.int rng 400) Ids.empty

let control_work rng =
  match Random.State.int rng 6 with
  | 0 -> Gc.set { (Gc.get ()) with
                  minor_heap_size = 4096 lsl Random.State.int rng 7 }
  | 1 -> Gc.set { (Gc.get ()) with
                  space_overhead = 20 + Random.State.int rng 200 }
  | 2 -> ignore (Gc.major_slice (Random.State.int rng 10000))
  | 3 -> ignore (Gc.quick_stat ())
  | 4 -> let s = Gc.stat () in check "stat" (s.live_words > 0)
  | _ -> Gc.major ()

(* What becomes of a sampled block: each event may follow only some others. *)
type fate = Minor | Promoted | Major | Dead

let profiled = Atomic.make 0

let tracker =
  let busy () =
    ignore (Sys.opaque_identity (List.init 3 string_of_int));
    if Random.int 32 = 0 then Thread.yield () in
  let born fate (a : Gc.Memprof.allocation) =
    check "samples" (a.n_samples > 0);
    if a.source = Gc.Memprof.Normal then
      check "samples of a block" (a.n_samples <= a.size + 1);
    if Random.int 64 = 0 then
      ignore (Printexc.raw_backtrace_to_string a.callstack);
    Atomic.incr profiled;
    busy ();
    if Random.int 8 = 0 then None else Some (ref fate) in
  let die from r =
    check "death" (List.mem !r from);
    r := Dead;
    busy () in
  { Gc.Memprof.alloc_minor = born Minor;
    alloc_major = born Major;
    promote = (fun r ->
        check "promotion" (!r = Minor);
        r := Promoted;
        busy ();
        if Random.int 8 = 0 then None else Some r);
    dealloc_minor = die [ Minor ];
    dealloc_major = die [ Promoted; Major ] }

(* A heap that has had a profile collects in stops: half of the seeds have
   none. *)
let profile rng =
  let sampling_rate = 10. ** -.(1. +. Random.State.float rng 4.) in
  if seed land 2 = 0 then None else
  match Gc.Memprof.start ~sampling_rate ~callstack_size:20 tracker with
  | exception Failure _ -> None (* the domain has its parent's *)
  | p -> Some p

let profile_end p =
  Gc.Memprof.stop ();
  if Random.int 2 = 0 then Gc.minor ();
  Gc.Memprof.discard p

(* Of each fifth of a second the last part is for what stays with a domain. *)
let rec step rng =
  if Float.rem (Unix.gettimeofday ()) 0.2 > 0.12 then alone_work rng
  else step_any rng

and step_any rng =
  match Random.State.int rng 40 with
  | 0 | 1 -> ephe_work rng
  | 2 | 3 -> final_work rng
  | 4 | 5 -> fiber_work rng
  | 6 -> big_work rng
  | 7 -> thread_work rng
  | 8 -> control_work rng
  | 15 -> profile_work rng
  | 9 | 10 | 11 | 12 | 13 | 14 -> weak_work rng
  | n when n < 27 -> put rng
  | _ -> get rng

and profile_work rng =
  match profile rng with
  | None -> ()
  | Some p ->
    for _ = 1 to Random.State.int rng 200 do step rng done;
    profile_end p

let work n () =
  let rng = Random.State.make [| seed; n |] in
  for _ = 1 to 100 + Random.State.int rng 2000 do
    if Unix.gettimeofday () < until then step rng
  done

(* Bytecode's debug information is read when it is first wanted, and OCaml's
   code for that knows one domain: so it is wanted here. *)
let () =
  ignore (Printexc.raw_backtrace_to_string (Printexc.get_callstack 3));
  let n = ref 0 in
  let rng = Random.State.make [| seed |] in
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle (fun _ ->
    ignore (Sys.opaque_identity (List.init 10 string_of_int))));
  ignore (Unix.setitimer Unix.ITIMER_REAL
            { Unix.it_interval = 0.003; it_value = 0.003 });
  while Unix.gettimeofday () < until do
    let p = if Random.State.bool rng then profile rng else None in
    let ds = List.init (1 + Random.State.int rng 5) (fun _ ->
      incr n; Domain.spawn (work !n)) in
    incr n; work !n ();
    List.iter Domain.join ds;
    Option.iter profile_end p
  done;
  Gc.full_major ();
  Gc.full_major ();
  let late = Atomic.get registered - Atomic.get finalised in
  check "finalisers" (late >= 0 && late < 100 + Atomic.get registered / 2);
  Printf.printf "%d domains, %d finalised, %d profiled\n" !n
    (Atomic.get finalised) (Atomic.get profiled)
