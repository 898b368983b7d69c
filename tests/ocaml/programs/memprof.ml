(* Gc.Memprof: what is sampled, by whom, with which stack, until when. *)
module MP = Gc.Memprof

let say fmt = Printf.printf (fmt ^^ "\n%!")

(* ---- counts: each word is a sample ---------------------------------------- *)

let alloc = ref 0 and words = ref 0 and large = ref 0
let promoted = ref 0 and dead = ref 0 and dead_old = ref 0

let count =
  { MP.alloc_minor = (fun a ->
      incr alloc; words := !words + a.MP.n_samples; Some a.MP.size);
    alloc_major = (fun a -> incr large; Some a.MP.size);
    promote = (fun size -> incr promoted; Some size);
    dealloc_minor = (fun _ -> incr dead);
    dealloc_major = (fun _ -> incr dead_old) }

let[@inline never] pairs n = List.init n (fun i -> (i, float_of_int i))

let counts () =
  let p = MP.start ~sampling_rate:1. count in
  let kept = pairs 20 in
  let old = Array.make 1000 0 in
  Gc.minor ();
  ignore (Sys.opaque_identity (kept, old));
  Gc.full_major (); Gc.full_major ();
  MP.stop ();
  say "minor %d of %d words, major %d; promoted %d, dead %d and %d" !alloc
    !words !large !promoted !dead !dead_old;
  MP.discard p

(* ---- sources, stacks ------------------------------------------------------ *)

let sources () =
  let message = Marshal.to_string (pairs 3) [] in
  let n = Array.make 3 0 in
  let note a =
    let i = match a.MP.source with MP.Normal -> 0 | Marshal -> 1 | Custom -> 2
    in
    n.(i) <- n.(i) + 1; None in
  let p = MP.start ~sampling_rate:1.
      { MP.null_tracker with alloc_minor = note; alloc_major = note } in
  let v = (Marshal.from_string message 0 : (int * float) list) in
  let b = Bigarray.(Array1.create char c_layout 4096) in
  MP.stop ();
  ignore (Sys.opaque_identity (v, b));
  say "marshal %d, custom %d, normal %b" n.(1) n.(2) (n.(0) > 0);
  MP.discard p

let[@inline never] nested x = Some (x, [| x; x |])

let stacks () =
  let seen = ref [] in
  let p = MP.start ~sampling_rate:1. ~callstack_size:3
      { MP.null_tracker with
        alloc_minor = (fun a -> seen := (a.MP.size, a.MP.callstack) :: !seen;
                        None) } in
  ignore (Sys.opaque_identity (nested 1));
  MP.stop ();
  List.iter (fun (size, s) ->
      say "%d words: %s" size (Printexc.raw_backtrace_to_string s))
    (List.rev !seen);
  MP.discard p

(* Stacks from everywhere that code of OCaml runs, whole and cut. *)
type _ Effect.t += Ask : int Effect.t

let here name =
  List.iter (fun callstack_size ->
      let seen = ref [] in
      let p = MP.start ~sampling_rate:1. ~callstack_size
          { MP.null_tracker with
            alloc_minor = (fun a -> seen := a.MP.callstack :: !seen; None) } in
      ignore (Sys.opaque_identity (nested 1));
      MP.stop ();
      List.iter (fun s ->
          say "%s, at most %d: %d: %s" name callstack_size
            (Printexc.raw_backtrace_length s)
            (Printexc.raw_backtrace_to_string s))
        (List.rev !seen);
      MP.discard p)
    [0; 1; 2; 5; 1000]

let rec deep n f = if n = 0 then f () else 1 + deep (n - 1) f

let fiber f =
  Effect.Deep.match_with f ()
    { retc = Fun.id; exnc = raise;
      effc = fun (type a) (e : a Effect.t) ->
        match e with
        | Ask -> Some (fun (k : (a, _) Effect.Deep.continuation) ->
            here "handler"; Effect.Deep.continue k 1)
        | _ -> None }

let everywhere () =
  let in_fiber () = here "fiber"; Effect.perform Ask in
  here "plain";
  ignore (deep 20 (fun () -> here "deep"; 0));
  ignore (fiber in_fiber);
  ignore (deep 3 (fun () -> fiber (fun () -> deep 2 (fun () -> fiber in_fiber))));
  Gc.finalise (fun _ -> here "finaliser") (Sys.opaque_identity (ref 1));
  ignore (deep 2 (fun () -> Gc.full_major (); 0));
  ignore (fiber (fun () ->
      Gc.finalise (fun _ -> ignore (fiber in_fiber))
        (Sys.opaque_identity (ref 1));
      Gc.full_major (); 1))

(* ---- failures ------------------------------------------------------------- *)

let failing f = match f () with
  | () -> say "no exception"
  | exception e -> say "%s" (Printexc.to_string e)

(* What is raised while callbacks raise; nothing may be allocated to say so. *)
let raised = ref Not_found

let rec stopped () = try MP.stop () with Exit | End_of_file -> stopped ()

let raising f =
  let kept = ref None in
  let p = MP.start ~sampling_rate:1.
      { MP.alloc_minor = (fun a -> if a.MP.size = 2 then raise Exit; Some ());
        alloc_major = (fun _ -> raise End_of_file);
        promote = (fun () -> raise Exit);
        dealloc_minor = ignore; dealloc_major = ignore } in
  raised := Not_found;
  (try kept := Some (Sys.opaque_identity 1); f () with e -> raised := e);
  stopped ();
  ignore (Sys.opaque_identity !kept);
  say "%s" (Printexc.to_string !raised);
  MP.discard p

let failures () =
  failing (fun () -> MP.stop ());
  failing (fun () -> ignore (MP.start ~sampling_rate:1.1 MP.null_tracker));
  failing (fun () -> ignore (MP.start ~sampling_rate:nan MP.null_tracker));
  let p = MP.start ~sampling_rate:0. MP.null_tracker in
  failing (fun () -> ignore (MP.start ~sampling_rate:0. MP.null_tracker));
  failing (fun () -> MP.discard p);
  MP.stop ();
  MP.discard p;
  failing (fun () -> MP.discard p);
  raising (fun () -> ignore (Sys.opaque_identity (nested 2)));
  raising (fun () -> ignore (Sys.opaque_identity (Array.make 1000 0)));
  raising (fun () -> Gc.minor ())

(* ---- a profile of the threads of two domains ------------------------------ *)

let threads () =
  let lock = Mutex.create () in
  let of_thread = Hashtbl.create 8 in
  let me () = (Domain.self () :> int), Thread.id (Thread.self ()) in
  let note _ =
    Thread.yield ();
    Mutex.protect lock (fun () ->
        let n = try Hashtbl.find of_thread (me ()) with Not_found -> 0 in
        Hashtbl.replace of_thread (me ()) (n + 1));
    None in
  let p = MP.start ~sampling_rate:1. { MP.null_tracker with alloc_minor = note }
  in
  let work () =
    for i = 1 to 50 do ignore (Sys.opaque_identity (ref i)) done in
  let both () =
    let t = Thread.create work () in
    work (); Thread.join t in
  let d = Domain.spawn both in
  both ();
  Domain.join d;
  MP.stop ();
  let enough = Hashtbl.fold (fun _ n r -> r + Bool.to_int (n >= 50)) of_thread 0
  in
  say "threads with 50 blocks and more: %d" enough;
  MP.discard p

let () =
  counts (); sources (); stacks (); everywhere (); failures (); threads ()
