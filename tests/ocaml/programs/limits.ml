(* Gc.Memprof as libraries use it: limits by exceptions of callbacks, a tracer
   that follows each sample, a profile for each domain. *)
module MP = Gc.Memprof

let say fmt = Printf.printf (fmt ^^ "\n%!")

(* ---- a limit on what a function allocates --------------------------------- *)

exception Too_much

let stop p = MP.stop (); MP.discard p

(* Within the thread alone: other threads of the domain are not its concern. *)
let limited words f =
  let me = Thread.id (Thread.self ()) and left = ref words in
  let is_on = ref true in
  let note (a : MP.allocation) =
    if Thread.id (Thread.self ()) = me then begin
      left := !left - a.n_samples;
      if !left < 0 && !is_on then raise Too_much
    end;
    None in
  let p = MP.start ~sampling_rate:1.
      { MP.null_tracker with alloc_minor = note; alloc_major = note } in
  (* What f has left pending is raised by the reference. *)
  match let v = f () in ignore (Sys.opaque_identity (ref 0)); v with
  | v -> is_on := false; stop p; Ok v
  | exception Too_much -> is_on := false; stop p; Error "too much"

let rec sum = function [] -> 0 | x :: l -> x + sum l

let limits () =
  let work n () = sum (List.init n Fun.id) in
  List.iter (fun (limit, n) ->
      match limited limit (work n) with
      | Ok v -> say "%d words, list of %d: %d" limit n v
      | Error e -> say "%d words, list of %d: %s" limit n e)
    [ 100, 10; 100, 1000; 10_000, 1000; 0, 1 ];
  (match limited 100 (fun () -> Bytes.length (Bytes.create 100_000)) with
   | Ok n -> say "%d bytes" n
   | Error e -> say "large: %s" e);
  (* What is caught on the way is raised again at the next allocation. *)
  let caught = ref 0 in
  (match limited 100 (fun () ->
       for _ = 1 to 5 do
         try ignore (Sys.opaque_identity (work 1000 ())) with
         | Too_much -> incr caught
       done) with
   | Ok () -> say "caught %d times" !caught
   | Error e -> say "%s after %d" e !caught);
  (* Another thread goes on. *)
  let other = Thread.create (fun () -> work 100_000 ()) () in
  (match limited 1_000_000_000 (work 1000) with
   | Ok v -> say "beside another thread: %d" v
   | Error e -> say "%s" e);
  Thread.join other

(* ---- a tracer -------------------------------------------------------------- *)

type sample = { id : int; size : int; stack : Printexc.raw_backtrace }

let trace f =
  let live : (int, sample) Hashtbl.t = Hashtbl.create 64 in
  let last = ref 0 and promoted = ref 0 and events = ref 0 in
  let alloc (a : MP.allocation) =
    incr last; incr events;
    let s = { id = !last; size = a.size; stack = a.callstack } in
    Hashtbl.replace live s.id s;
    Some s in
  let free s =
    incr events;
    if not (Hashtbl.mem live s.id) then say "freed twice";
    Hashtbl.remove live s.id in
  let p = MP.start ~sampling_rate:1. ~callstack_size:2
      { alloc_minor = alloc; alloc_major = alloc;
        promote = (fun s -> incr promoted; incr events; Some s);
        dealloc_minor = free; dealloc_major = free } in
  let kept = f () in
  Gc.full_major ();
  MP.stop ();
  let words = Hashtbl.fold (fun _ s n -> n + s.size) live 0 in
  say "%d samples, %d promoted, %d live of %d words" !last !promoted
    (Hashtbl.length live) words;
  let named = Hashtbl.fold (fun _ s n ->
      match Printexc.backtrace_slots s.stack with
      | Some [||] | None -> n
      | Some slots ->
        match Printexc.Slot.location slots.(0) with
        | Some l when l.filename = "limits.ml" || l.filename = "list.ml" ->
          n + 1
        | _ -> n) live 0 in
  say "with a place: %d" named;
  ignore (Sys.opaque_identity kept);
  MP.discard p;
  let before = !events in
  Gc.full_major ();
  say "events after the end: %d" (!events - before)

let tracer () =
  trace (fun () ->
      let all = Array.init 100 (fun i -> [| i; i |]) in
      for i = 0 to 49 do all.(2 * i) <- [||] done;
      all)

(* ---- a profile for each domain -------------------------------------------- *)

let domains () =
  let count n =
    let blocks = ref 0 in
    let p = MP.start ~sampling_rate:1.
        { MP.null_tracker with alloc_minor = (fun a ->
              if a.size = n then incr blocks; None) } in
    for _ = 1 to 1000 do
      ignore (Sys.opaque_identity (Array.make n 0))
    done;
    MP.stop (); MP.discard p;
    !blocks in
  let all = List.init 3 (fun i -> Domain.spawn (fun () -> count (20 + i))) in
  let mine = count 30 in
  say "blocks: %d %s" mine
    (String.concat " " (List.map (fun d -> string_of_int (Domain.join d)) all))

(* ---- a callback that ends its profile and begins another ------------------- *)

let restart () =
  let second = ref None and seen = ref 0 in
  let first = ref None in
  let p = MP.start ~sampling_rate:1.
      { MP.null_tracker with alloc_minor = (fun _ ->
            if !second = None then begin
              MP.stop ();
              second := Some (MP.start ~sampling_rate:1.
                  { MP.null_tracker with
                    alloc_minor = (fun a ->
                        if a.MP.size = 7 then incr seen; None) })
            end;
            None) } in
  first := Some (Sys.opaque_identity 0);
  for _ = 1 to 10 do ignore (Sys.opaque_identity (Array.make 7 0)) done;
  MP.stop ();
  MP.discard p;
  Option.iter MP.discard !second;
  say "the second profile: %d blocks" !seen

let () = limits (); tracer (); domains (); restart ()
